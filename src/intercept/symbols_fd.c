/* SPDX-License-Identifier: MIT */
/*
 * libc's mmap, munmap, closes and sendmsg: a ring's memory is mapped by the
 * engine, and goes when that has no more use for it, the engine hears of every
 * descriptor that goes, and no ring goes by SCM_RIGHTS. Any thread; before the
 * first ring each costs one load more than libc's. libc's own function makes
 * the call where that is a cancellation point.
 */
/* Large files by default would give our mmap the name mmap64. */
#undef _FILE_OFFSET_BITS
#include "intercept/intercept.h"

#include <limits.h>
#include <sys/mman.h>

#include "anyuring.h"
#include "core/hooks.h"

static int fd_fail(int err)
{
	errno = -err;
	return -1;
}

AU_EXPORT void *mmap(void *addr, size_t len, int prot, int flags, int fd,
		     off_t off)
{
	void *p;

	if (au_likely(fd < 0 || (flags & MAP_ANONYMOUS) || !au_fds_matter() ||
		      !anyuring_is_ring(fd)))
		return au_real()->mmap(addr, len, prot, flags, fd, off);
	p = anyuring_mmap(addr, len, prot, flags, fd, off);
	if (ANYURING_IS_ERR(p)) {
		errno = (int)-(long)p;
		return MAP_FAILED;
	}
	return p;
}

#if __SIZEOF_POINTER__ == 8
AU_EXPORT void *mmap64(void *addr, size_t len, int prot, int flags, int fd,
		       off64_t off) AU_ALIAS(mmap);
#endif

AU_EXPORT int munmap(void *addr, size_t len)
{
	int ret;

	if (au_likely(!au_fds_matter()))
		return au_real()->munmap(addr, len);
	ret = anyuring_munmap(addr, len);
	return ret < 0 ? fd_fail(ret) : 0;
}

AU_EXPORT int close(int fd)
{
	int ret;

	if (au_likely(!au_fds_matter()))
		return au_real()->close(fd);
	ret = au_fd_close_begin(fd);
	if (ret)
		return fd_fail(ret);
	ret = au_real()->close(fd);
	au_fd_close_end(fd);
	return ret;
}

AU_EXPORT int __close(int fd) AU_ALIAS(close);

static int dup_begin(int old, int new)
{
	if (old >= 0 && au_hooks_fd_hidden(old))
		return -EBADF;
	return old == new ? 0 : au_fd_close_begin(new);
}

AU_EXPORT int dup2(int old, int new)
{
	int ret;

	if (au_likely(!au_fds_matter()))
		return au_real()->dup2(old, new);
	ret = dup_begin(old, new);
	if (ret)
		return fd_fail(ret);
	ret = au_real()->dup2(old, new);
	if (ret >= 0 && old != new)
		au_fd_close_end(new);
	return ret;
}

AU_EXPORT int __dup2(int old, int new) AU_ALIAS(dup2);

AU_EXPORT int dup3(int old, int new, int flags)
{
	int ret;

	if (au_likely(!au_fds_matter()))
		return au_real()->dup3(old, new, flags);
	ret = dup_begin(old, new);
	if (ret)
		return fd_fail(ret);
	ret = au_real()->dup3(old, new, flags);
	if (ret >= 0)
		au_fd_close_end(new);
	return ret;
}

AU_EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
	const struct au_real *real = au_real();
	int ret;

	if (au_likely(!au_fds_matter())) {
		if (real->close_range)
			return real->close_range(first, last, flags);
		return (int)real->syscall(436, (long)first, (long)last,
					  (long)flags);
	}
	ret = au_fd_close_range(first, last, (unsigned int)flags);
	return ret < 0 ? fd_fail(ret) : 0;
}

AU_EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	if (au_unlikely(au_fds_matter()) && au_hooks_msg_passes_ring(msg)) {
		errno = EINVAL;
		return -1;
	}
	return au_real()->sendmsg(fd, msg, flags);
}

AU_EXPORT void closefrom(int first)
{
	if (au_likely(!au_fds_matter()) && au_real()->closefrom)
		au_real()->closefrom(first);
	else
		au_fd_close_range(first < 0 ? 0 : (unsigned int)first, UINT_MAX,
				  0);
}
