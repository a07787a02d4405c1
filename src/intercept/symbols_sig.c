/* SPDX-License-Identifier: MIT */
/*
 * libc's signal functions, while inline calls are trapped: SIGSYS is never
 * blocked (the kernel kills a process that blocks a forced signal) and its
 * handler stays ours; the application's is remembered and gets what is not
 * ours. Any thread. With the trap off every function here is libc's.
 */
#include "intercept/intercept.h"

#include <string.h>

int __sigaction(int sig, const struct sigaction *act, struct sigaction *old);
sighandler_t ssignal(int sig, sighandler_t fn);
sighandler_t bsd_signal(int sig, sighandler_t fn);
sighandler_t sysv_signal(int sig, sighandler_t fn);
sighandler_t __sysv_signal(int sig, sighandler_t fn);

AU_EXPORT int sigaction(int sig, const struct sigaction *act,
			struct sigaction *old)
{
	struct sigaction copy;

	if (!au_trap_on())
		return au_real()->sigaction(sig, act, old);
	if (sig == SIGSYS) {
		au_trap_sigaction(act, old);
		return 0;
	}
	if (act && sigismember(&act->sa_mask, SIGSYS) == 1) {
		copy = *act;
		sigdelset(&copy.sa_mask, SIGSYS);
		act = &copy;
	}
	return au_real()->sigaction(sig, act, old);
}

AU_EXPORT int __sigaction(int sig, const struct sigaction *act,
			  struct sigaction *old) AU_ALIAS(sigaction);

static sighandler_t sig_sigsys(sighandler_t fn, int flags)
{
	struct sigaction act, old;

	memset(&act, 0, sizeof(act));
	act.sa_handler = fn;
	act.sa_flags = flags;
	au_trap_sigaction(&act, &old);
	return old.sa_handler;
}

AU_EXPORT sighandler_t signal(int sig, sighandler_t fn)
{
	if (au_trap_on() && sig == SIGSYS)
		return sig_sigsys(fn, SA_RESTART);
	return au_real()->signal(sig, fn);
}

AU_EXPORT sighandler_t ssignal(int sig, sighandler_t fn) AU_ALIAS(signal);
AU_EXPORT sighandler_t bsd_signal(int sig, sighandler_t fn) AU_ALIAS(signal);

AU_EXPORT sighandler_t __sysv_signal(int sig, sighandler_t fn)
{
	if (au_trap_on() && sig == SIGSYS)
		return sig_sigsys(fn, (int)SA_RESETHAND | SA_NODEFER);
	return au_real()->sysv_signal(sig, fn);
}

AU_EXPORT sighandler_t sysv_signal(int sig, sighandler_t fn)
	AU_ALIAS(__sysv_signal);

AU_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t copy;

	if (how != SIG_UNBLOCK)
		set = au_mask(set, &copy);
	return au_real()->sigprocmask(how, set, old);
}

AU_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t copy;

	if (how != SIG_UNBLOCK)
		set = au_mask(set, &copy);
	return au_real()->pthread_sigmask(how, set, old);
}

AU_EXPORT int sigsuspend(const sigset_t *mask)
{
	sigset_t copy;

	return au_real()->sigsuspend(au_mask(mask, &copy));
}

AU_EXPORT int pthread_attr_setsigmask_np(pthread_attr_t *attr,
					 const sigset_t *mask)
{
	sigset_t copy;

	if (!au_real()->attr_setsigmask)
		return ENOSYS;
	return au_real()->attr_setsigmask(attr, au_mask(mask, &copy));
}
