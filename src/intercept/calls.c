/* SPDX-License-Identifier: MIT */
/*
 * Calls that may concern the engine, by number: the common path of libc's
 * syscall() and of the trap. Also the care taken around closes and polls,
 * which the functions of symbols_fd.c and symbols_poll.c share.
 *
 * Any thread, and the SIGSYS handler. Memory that a call names is copied by
 * the kernel, so a bad pointer is EFAULT here as it is there; when it cannot
 * be read the call goes on unchanged and whoever serves it answers.
 */
#include "intercept/intercept.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "anyuring.h"
#include "core/hooks.h"
#include "uapi/io_uring.h"

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup    425
#define SYS_io_uring_enter    426
#define SYS_io_uring_register 427
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

/* The kernel's sigset_t; libc's is larger but begins with it. */
#define KSIG_SIZE   8
#define KSIG_SIGSYS (1ULL << (SIGSYS - 1))

AU_TLS int au_in_vfork;

/* ---- memory of the application ---- */

static int copy_vm(long nr, void *local, void *remote, size_t len)
{
	struct iovec l = { local, len };
	struct iovec r = { remote, len };
	long pid = au_syscall(SYS_getpid);
	long ret = au_syscall(nr, pid, &l, 1L, &r, 1L, 0L);

	if (ret == (long)len)
		return 0;
	return ret >= 0 || ret == -EFAULT ? -EFAULT : ret;
}

int au_copy_in(void *to, const void *from, size_t len)
{
	int ret = copy_vm(SYS_process_vm_readv, to, (void *)from, len);

	if (!ret || ret == -EFAULT)
		return ret;
	/* Refused by a sandbox: trust the pointer, as libc would. */
	memcpy(to, from, len);
	return 0;
}

int au_copy_out(void *to, const void *from, size_t len)
{
	int ret = copy_vm(SYS_process_vm_writev, (void *)from, to, len);

	if (!ret || ret == -EFAULT)
		return ret;
	memcpy(to, from, len);
	return 0;
}

/* ---- descriptors ---- */

bool au_fds_matter(void)
{
	return au_hooks_active() && !au_in_vfork;
}

int au_fd_close_begin(int fd)
{
	if (fd < 0)
		return 0;
	if (au_hooks_fd_hidden(fd))
		return -EBADF;
	au_hooks_fd_closing(fd);
	return 0;
}

void au_fd_close_end(int fd)
{
	if (fd >= 0)
		au_hooks_fd_closed(fd);
}

static void close_visible(int fd)
{
	if (au_fd_close_begin(fd))
		return;
	au_syscall(SYS_close, (long)fd);
	au_fd_close_end(fd);
}

struct dirent_raw {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

/* Closes what /proc/self/fd lists in the range; false if it is not there. */
static bool close_listed(unsigned int first, unsigned int last)
{
	_Alignas(struct dirent_raw) char buf[1024];
	struct dirent_raw *d;
	unsigned int fd;
	long dir, len, at;
	const char *s;

	dir = au_syscall(SYS_openat, (long)AT_FDCWD, "/proc/self/fd",
			 (long)(O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0L);
	if (dir < 0)
		return false;
	for (;;) {
		len = au_syscall(SYS_getdents64, dir, buf, sizeof(buf));
		if (len <= 0)
			break;
		for (at = 0; at < len; at += d->reclen) {
			d = (void *)(buf + at);
			if (d->name[0] < '0' || d->name[0] > '9')
				continue;
			fd = 0;
			for (s = d->name; *s; s++)
				fd = fd * 10 + (unsigned int)(*s - '0');
			if (fd >= first && fd <= last && fd != dir)
				close_visible((int)fd);
		}
	}
	au_syscall(SYS_close, dir);
	return true;
}

int au_fd_close_range(unsigned int first, unsigned int last, unsigned int flags)
{
	struct {
		uint64_t cur, max;
	} lim = { 1024, 1024 };

	long ret;

	if (flags & ~(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC))
		return -EINVAL;
	if (first > last)
		return -EINVAL;
	if (flags & CLOSE_RANGE_CLOEXEC) /* hidden ones have it already */
		return (int)au_syscall(SYS_close_range, (long)first, (long)last,
				       (long)flags);
	if (flags & CLOSE_RANGE_UNSHARE) {
		ret = au_syscall(SYS_unshare, (long)CLONE_FILES);
		if (ret < 0)
			return (int)ret;
	}
	if (close_listed(first, last))
		return 0;
	/* No /proc: every number up to the limit. */
	au_syscall(SYS_prlimit64, 0L, 7L /* RLIMIT_NOFILE */, 0L, &lim);
	if (last >= lim.cur)
		last = (unsigned int)lim.cur - 1;
	for (; first <= last; first++)
		if (au_syscall(SYS_fcntl, (long)first, (long)F_GETFD) >= 0)
			close_visible((int)first);
	return 0;
}

/* ---- polls ---- */

void au_watch_poll(const struct pollfd *fds, nfds_t nr)
{
	for (nfds_t i = 0; fds && i < nr; i++)
		if (fds[i].fd >= 0 && anyuring_is_ring(fds[i].fd))
			au_hooks_fd_watched(fds[i].fd);
	au_hooks_before_poll();
}

void au_watch_select(int nr, const fd_set *r, const fd_set *w, const fd_set *e)
{
	const int bits = 8 * sizeof(unsigned long);
	const unsigned long *set[] = { (const unsigned long *)r,
				       (const unsigned long *)w,
				       (const unsigned long *)e };
	unsigned long word;
	int fd;

	for (int at = 0; at < nr; at += bits) {
		word = 0;
		for (int i = 0; i < 3; i++)
			if (set[i])
				word |= set[i][at / bits];
		for (; word; word &= word - 1) {
			fd = at + __builtin_ctzl(word);
			if (fd < nr && anyuring_is_ring(fd))
				au_hooks_fd_watched(fd);
		}
	}
	au_hooks_before_poll();
}

/* As above, with memory that may not be there. */
static void call_watch_poll(const struct pollfd *fds, unsigned long nr)
{
	struct pollfd some[32];
	unsigned long n;

	for (; nr; nr -= n, fds += n) {
		n = nr < 32 ? nr : 32;
		if (au_copy_in(some, fds, n * sizeof(*fds)))
			break;
		au_watch_poll(some, n);
	}
	au_hooks_before_poll();
}

static void call_watch_select(int nr, void *const user[3])
{
	unsigned long set[3][1024 / (8 * sizeof(unsigned long))];
	const int word = 8 * sizeof(unsigned long);
	size_t len;

	if (nr < 0)
		return;
	if (nr > 1024)
		nr = 1024;
	len = (size_t)((nr + word - 1) / word) * sizeof(unsigned long);
	memset(set, 0, sizeof(set));
	for (int i = 0; i < 3; i++)
		if (user[i] && len && au_copy_in(set[i], user[i], len))
			return;
	au_watch_select(nr, (void *)set[0], (void *)set[1], (void *)set[2]);
}

/* ---- by number ---- */

/*
 * A call that blocks with a signal mask of its own must not block SIGSYS: a
 * handler that runs meanwhile may make inline calls. True if `copy` is to
 * take the place of the mask.
 */
static bool call_unmask(const void *set, long size, uint64_t *copy)
{
	if (!au_trap_on() || !set || size != KSIG_SIZE)
		return false;
	if (au_copy_in(copy, set, KSIG_SIZE) || !(*copy & KSIG_SIGSYS))
		return false;
	*copy &= ~KSIG_SIGSYS;
	return true;
}

static long call_enter(const long a[6])
{
	struct io_uring_getevents_arg ext;
	unsigned int flags = (unsigned int)a[3];
	const void *arg = (const void *)a[4];
	uint64_t set;

	if (flags & IORING_ENTER_EXT_ARG) {
		if (au_trap_on() && !(flags & IORING_ENTER_EXT_ARG_REG) &&
		    arg && a[5] == sizeof(ext) &&
		    !au_copy_in(&ext, arg, sizeof(ext)) &&
		    call_unmask((void *)ext.sigmask, ext.sigmask_sz, &set)) {
			ext.sigmask = (uint64_t)(uintptr_t)&set;
			arg = &ext;
		}
	} else if (call_unmask(arg, a[5], &set)) {
		arg = &set;
	}
	return anyuring_enter((unsigned int)a[0], (unsigned int)a[1],
			      (unsigned int)a[2], flags, arg, (size_t)a[5]);
}

static long call_close(long nr, const long a[6])
{
	bool dup = nr != SYS_close;
	int fd = (int)a[dup];
	long ret;

	if (dup && (int)a[0] == fd)
		return au_syscall(nr, a[0], a[1], a[2]);
	if (dup && a[0] >= 0 && au_hooks_fd_hidden((int)a[0]))
		return -EBADF;
	ret = au_fd_close_begin(fd);
	if (ret)
		return ret;
	ret = au_syscall(nr, a[0], a[1], a[2]);
	if (dup ? ret >= 0 : ret != -EBADF)
		au_fd_close_end(fd);
	return ret;
}

/* Waits whose mask is argument `at`, followed by its size. */
static bool call_masked(long nr, const long a[6], int at, long *ret)
{
	long b[6] = { a[0], a[1], a[2], a[3], a[4], a[5] };
	uint64_t set;

	if (!call_unmask((void *)a[at], a[at + 1], &set))
		return false;
	b[at] = (long)&set;
	*ret = au_syscall(nr, b[0], b[1], b[2], b[3], b[4], b[5]);
	return true;
}

/* pselect6's last argument is a pointer to a mask's pointer and size. */
static bool call_pselect(long nr, const long a[6], long *ret)
{
	struct {
		const void *set;
		long size;
	} m;

	uint64_t set;

	if (!au_trap_on() || !a[5] || au_copy_in(&m, (void *)a[5], sizeof(m)) ||
	    !call_unmask(m.set, m.size, &set))
		return false;
	m.set = &set;
	*ret = au_syscall(nr, a[0], a[1], a[2], a[3], a[4], &m);
	return true;
}

/* rt_sigaction in the kernel's layout. */
struct ksigaction {
	void *handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

static long call_sigaction_sigsys(const long a[6])
{
	struct sigaction act = { 0 }, old = { 0 };
	struct ksigaction k;

	if (a[3] != KSIG_SIZE)
		return -EINVAL;
	if (a[1]) {
		if (au_copy_in(&k, (void *)a[1], sizeof(k)))
			return -EFAULT;
		memcpy(&act.sa_handler, &k.handler, sizeof(k.handler));
		act.sa_flags = (int)k.flags;
		memcpy(&act.sa_mask, &k.mask, sizeof(k.mask));
	}
	au_trap_sigaction(a[1] ? &act : NULL, &old);
	if (!a[2])
		return 0;
	memset(&k, 0, sizeof(k));
	memcpy(&k.handler, &old.sa_handler, sizeof(k.handler));
	k.flags = (unsigned int)old.sa_flags;
	memcpy(&k.mask, &old.sa_mask, sizeof(k.mask));
	return au_copy_out((void *)a[2], &k, sizeof(k));
}

static bool call_sigaction(const long a[6], long *ret)
{
#if defined(__x86_64__)
	struct ksigaction k;

	if (!au_trap_on())
		return false;
	if ((int)a[0] == SIGSYS) {
		*ret = call_sigaction_sigsys(a);
		return true;
	}
	if (!a[1] || au_copy_in(&k, (void *)a[1], sizeof(k)) ||
	    !(k.mask & KSIG_SIGSYS))
		return false;
	k.mask &= ~KSIG_SIGSYS;
	*ret = au_syscall(SYS_rt_sigaction, a[0], &k, a[2], a[3]);
	return true;
#else
	return false;
#endif
}

static bool call_sigprocmask(const long a[6], long *ret)
{
	uint64_t set;

	if ((int)a[0] == SIG_UNBLOCK || !call_unmask((void *)a[1], a[3], &set))
		return false;
	*ret = au_syscall(SYS_rt_sigprocmask, a[0], &set, a[2], a[3]);
	return true;
}

static bool call_fd(long nr, const long a[6], long *ret)
{
	if (!au_fds_matter())
		return false;
	switch (nr) {
	case SYS_mmap:
		if ((int)a[4] < 0 || (a[3] & MAP_ANONYMOUS) ||
		    !anyuring_is_ring((int)a[4]))
			return false;
		*ret = (long)anyuring_mmap((void *)a[0], (size_t)a[1],
					   (int)a[2], (int)a[3], (int)a[4],
					   a[5]);
		return true;
	case SYS_munmap:
		*ret = anyuring_munmap((void *)a[0], (size_t)a[1]);
		return true;
	case SYS_close_range:
		*ret = au_fd_close_range((unsigned int)a[0], (unsigned int)a[1],
					 (unsigned int)a[2]);
		return true;
	case SYS_sendmsg:
		*ret = -EINVAL;
		return au_hooks_msg_passes_ring((void *)a[1]);
	default:
		*ret = call_close(nr, a);
		return true;
	}
}

static void call_watch(long nr, const long a[6])
{
	switch (nr) {
	case SYS_epoll_ctl:
		if (a[1] != EPOLL_CTL_DEL && a[2] >= 0 &&
		    anyuring_is_ring((int)a[2]))
			au_hooks_fd_watched((int)a[2]);
		break;
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_ppoll:
		call_watch_poll((void *)a[0], (unsigned int)a[1]);
		break;
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_pselect6:
		call_watch_select((int)a[0],
				  (void *[]){ (void *)a[1], (void *)a[2],
					      (void *)a[3] });
		break;
	default:
		au_hooks_before_poll();
	}
}

bool au_call(long nr, const long a[6], long *ret)
{
	switch (nr) {
	case SYS_io_uring_setup:
		*ret = anyuring_setup((unsigned int)a[0], (void *)a[1]);
		return true;
	case SYS_io_uring_enter:
		*ret = call_enter(a);
		return true;
	case SYS_io_uring_register:
		*ret = anyuring_register((unsigned int)a[0], (unsigned int)a[1],
					 (void *)a[2], (unsigned int)a[3]);
		return true;
	case SYS_mmap:
	case SYS_munmap:
	case SYS_close:
	case SYS_dup3:
	case SYS_close_range:
	case SYS_sendmsg:
#ifdef SYS_dup2
	case SYS_dup2:
#endif
		return call_fd(nr, a, ret);
	case SYS_epoll_ctl:
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
#ifdef SYS_poll
	case SYS_poll:
#endif
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
		if (au_fds_matter())
			call_watch(nr, a);
		if (nr == SYS_ppoll)
			return call_masked(nr, a, 3, ret);
		if (nr == SYS_pselect6)
			return call_pselect(nr, a, ret);
		if (nr == SYS_epoll_pwait || nr == SYS_epoll_pwait2)
			return call_masked(nr, a, 4, ret);
		return false;
	case SYS_execve:
	case SYS_execveat:
		if (au_fds_matter())
			au_hooks_exec(nr == SYS_execve ? (void *)a[0] : NULL);
		return false;
	case SYS_rt_sigsuspend:
		return call_masked(nr, a, 0, ret);
	case SYS_rt_sigaction:
		return call_sigaction(a, ret);
	case SYS_rt_sigprocmask:
		return call_sigprocmask(a, ret);
	default:
		return false;
	}
}
