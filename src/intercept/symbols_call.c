/* SPDX-License-Identifier: MIT */
/*
 * libc's syscall(). Any thread; a number that cannot concern the engine costs
 * a compare and a jump through a pointer.
 */
#include "intercept/intercept.h"

#include <sched.h>

#include "core/hooks.h"

/* syscall() without its `...`: a seventh word is there or is not looked at. */
long au_sym_syscall(long nr, long a, long b, long c, long d, long e,
		    long f) __asm__("syscall");

static bool sym_concerns(long nr)
{
	switch (nr) {
	case 425 ... 427:
	case SYS_mmap:
	case SYS_munmap:
	case SYS_close:
	case SYS_dup3:
	case SYS_sendmsg:
	case 436: /* close_range */
	case 441: /* epoll_pwait2 */
	case SYS_epoll_ctl:
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
	case SYS_rt_sigsuspend:
	case SYS_rt_sigaction:
	case SYS_rt_sigprocmask:
	case SYS_clone:
	case SYS_execve:
	case SYS_execveat:
#ifdef SYS_fork
	case SYS_fork:
	case SYS_dup2:
	case SYS_poll:
	case SYS_select:
	case SYS_epoll_wait:
#endif
		return true;
	default:
		return false;
	}
}

static bool sym_is_fork(long nr, long flags)
{
#ifdef SYS_fork
	if (nr == SYS_fork)
		return true;
#endif
	return nr == SYS_clone && !(flags & CLONE_VM);
}

AU_EXPORT long au_sym_syscall(long nr, long a, long b, long c, long d, long e,
			      long f)
{
	const struct au_real *real = au_real();
	long args[6] = { a, b, c, d, e, f };
	long ret;

	if (au_likely(!sym_concerns(nr)))
		return real->syscall(nr, a, b, c, d, e, f);
	if (!au_call(nr, args, &ret)) {
		bool forks = sym_is_fork(nr, a);

		if (forks)
			au_hooks_fork_prepare();
		ret = real->syscall(nr, a, b, c, d, e, f);
		if (!ret && forks)
			au_forked();
		return ret;
	}
	if ((unsigned long)ret >= (unsigned long)-4095) {
		errno = (int)-ret;
		return -1;
	}
	return ret;
}
