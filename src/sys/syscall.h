/* SPDX-License-Identifier: MIT */
/*
 * The one gate through which the engine enters the kernel, and the only
 * reader of errno: everything above sees values >= 0 or -errno, and a caller's
 * errno survives.
 *
 * The gate is libc's syscall(), reached through a pointer, so that every
 * system call of the engine is issued from libc's text: syscall user dispatch
 * and the seccomp trap let that text pass. The preload, which interposes
 * syscall() itself, points the gate at libc's own.
 */
#ifndef AU_SYS_SYSCALL_H
#define AU_SYS_SYSCALL_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef long (*au_syscall_fn)(long nr, ...);

extern au_syscall_fn au_syscall_gate;

static inline long au_sys_ret(long r, int saved_errno)
{
	if (__builtin_expect(r == -1, 0)) {
		r = -errno;
		errno = saved_errno;
	}
	return r;
}

#define au_syscall(nr, ...)                                              \
	({                                                               \
		int au_saved_errno = errno;                              \
		au_sys_ret(au_syscall_gate((nr), ##__VA_ARGS__),         \
			   au_saved_errno);                              \
	})

#endif
