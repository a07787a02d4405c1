/* SPDX-License-Identifier: MIT */
#include "sys/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <linux/kcmp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "base/atomic.h"
#include "sys/syscall.h"

/* Bits for descriptors below this; any above it are not worth hiding. */
#define FD_HIDDEN_MAX 65536
#define FD_HIDDEN_MIN 4096 /* a larger table costs the kernel memory */

static uint64_t fd_hidden_bits[FD_HIDDEN_MAX / 64];
static uint64_t fd_kept_bits[FD_HIDDEN_MAX / 64]; /* across this fork */

static void fd_mark(int fd)
{
	if (fd < FD_HIDDEN_MAX)
		au_fetch_or(&fd_hidden_bits[fd / 64], 1ULL << (fd % 64));
}

bool au_fd_hidden(int fd)
{
	return fd >= 0 && fd < FD_HIDDEN_MAX &&
	       (au_load_relaxed(&fd_hidden_bits[fd / 64]) >> (fd % 64) & 1);
}

/* Half of what the soft limit allows is the program's. */
static int fd_hidden_base(void)
{
	struct rlimit lim = { .rlim_cur = 1024 };

	(void)au_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &lim);
	return (int)au_min_u64(lim.rlim_cur / 2, FD_HIDDEN_MIN);
}

int au_fd_dup_hidden(int fd)
{
	int r = (int)au_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC,
				fd_hidden_base());

	if (r == -EMFILE || r == -EINVAL)
		r = (int)au_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
	if (r >= 0)
		fd_mark(r);
	return r;
}

int au_fd_hide(int fd)
{
	int hidden;

	if (fd < 0)
		return fd;
	hidden = (int)au_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC,
				 fd_hidden_base());
	if (hidden >= 0) {
		(void)au_syscall(SYS_close, fd);
		fd = hidden;
	}
	fd_mark(fd);
	return fd;
}

void au_fd_close_hidden(int fd)
{
	if (fd < 0)
		return;
	if (fd < FD_HIDDEN_MAX)
		au_fetch_and(&fd_hidden_bits[fd / 64], ~(1ULL << (fd % 64)));
	(void)au_syscall(SYS_close, fd);
}

/* A sandbox without memfd_create may have a file without a name. */
int au_fd_memory(const char *name)
{
	static const char *const folder[] = { "/dev/shm", "/tmp", "/var/tmp" };
	int fd = (int)au_syscall(SYS_memfd_create, name, MFD_CLOEXEC);

	if (fd != -ENOSYS && fd != -EPERM)
		return au_fd_hide(fd);
	for (size_t i = 0; i < AU_ARRAY_SIZE(folder); i++) {
		int file = (int)au_syscall(SYS_openat, AT_FDCWD, folder[i],
					   O_TMPFILE | O_RDWR | O_EXCL |
						   O_CLOEXEC,
					   0600);

		if (file >= 0)
			return au_fd_hide(file);
	}
	return fd;
}

int au_fd_identify(int fd, struct au_fd_id *id)
{
	struct stat st;
	int r = (int)au_syscall(SYS_fstat, fd, &st);

	if (r < 0)
		return r;
	id->dev = st.st_dev;
	id->ino = st.st_ino;
	return 0;
}

int au_fd_find(const struct au_fd_id *id)
{
	_Alignas(struct dirent64) char buf[2048];
	struct au_fd_id it;
	int dir, found = -ENOENT;
	long n;

	dir = (int)au_syscall(SYS_openat, AT_FDCWD, "/proc/self/fd",
			      O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (dir < 0)
		return dir;
	while (found < 0 &&
	       (n = au_syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0) {
		struct dirent64 *e;

		for (long at = 0; at < n && found < 0; at += e->d_reclen) {
			int fd = 0;

			e = (void *)(buf + at);
			for (const char *c = e->d_name; fd >= 0 && *c; c++)
				fd = *c >= '0' && *c <= '9' ?
					     fd * 10 + *c - '0' :
					     -1;
			if (fd >= 0 && fd != dir && !au_fd_hidden(fd) &&
			    au_fd_identify(fd, &it) >= 0 && it.ino == id->ino &&
			    it.dev == id->dev)
				found = fd;
		}
	}
	(void)au_syscall(SYS_close, dir);
	return found;
}

bool au_fd_same(int a, int b)
{
	long pid = au_syscall(SYS_getpid);

	return a >= 0 && b >= 0 &&
	       au_syscall(SYS_kcmp, pid, pid, KCMP_FILE, a, b) == 0;
}

void au_fd_keep(int fd)
{
	if (fd >= 0 && fd < FD_HIDDEN_MAX)
		fd_kept_bits[fd / 64] |= 1ULL << (fd % 64);
}

void au_fd_close_all_hidden(void)
{
	for (int i = 0; i < FD_HIDDEN_MAX / 64; i++) {
		uint64_t kept = fd_kept_bits[i], go;

		if (kept)
			fd_kept_bits[i] = 0;
		while ((go = fd_hidden_bits[i] & ~kept))
			au_fd_close_hidden(i * 64 + __builtin_ctzll(go));
	}
}
