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

/*
 * Every argument is widened to a long: the gate is variadic and its callee
 * reads whole words, of which an int on the stack fills only half.
 */
#define AU_SYS_0(nr)       au_syscall_gate(nr)
#define AU_SYS_1(nr, a)    au_syscall_gate(nr, (long)(a))
#define AU_SYS_2(nr, a, b) au_syscall_gate(nr, (long)(a), (long)(b))
#define AU_SYS_3(nr, a, b, c) \
	au_syscall_gate(nr, (long)(a), (long)(b), (long)(c))
#define AU_SYS_4(nr, a, b, c, d) \
	au_syscall_gate(nr, (long)(a), (long)(b), (long)(c), (long)(d))
#define AU_SYS_5(nr, a, b, c, d, e)                                     \
	au_syscall_gate(nr, (long)(a), (long)(b), (long)(c), (long)(d), \
			(long)(e))
#define AU_SYS_6(nr, a, b, c, d, e, f)                                  \
	au_syscall_gate(nr, (long)(a), (long)(b), (long)(c), (long)(d), \
			(long)(e), (long)(f))
#define AU_SYS_PICK(x0, x1, x2, x3, x4, x5, x6, pick, ...) pick
#define AU_SYS_CALL(nr, ...)                                                  \
	AU_SYS_PICK(0, ##__VA_ARGS__, AU_SYS_6, AU_SYS_5, AU_SYS_4, AU_SYS_3, \
		    AU_SYS_2, AU_SYS_1, AU_SYS_0, 0)                          \
	((nr), ##__VA_ARGS__)

#define au_syscall(nr, ...)                                                 \
	({                                                                  \
		int au_saved_errno = errno;                                 \
		au_sys_ret(AU_SYS_CALL(nr, ##__VA_ARGS__), au_saved_errno); \
	})

#endif
