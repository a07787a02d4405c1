/* SPDX-License-Identifier: MIT */
/*
 * Inline system calls: the SIGSYS handler, and the two ways of getting one,
 * syscall user dispatch and a seccomp filter.
 *
 * The handler runs in whichever thread made the call, on its own stack (on
 * the signal stack in a Go program, whose stacks are tiny) with no signal
 * blocked, so that a wait inside the engine is interrupted as the kernel's is.
 * It serves what concerns the engine and bends the context for the rest (see
 * arch_x86_64.h). Invariant: no call of the engine or of the handler traps,
 * for all of them leave from libc's text.
 */
#include "base/atomic.h"
#include "intercept/intercept.h"

#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

#include "core/hooks.h"
#include "intercept/arch.h"

int au_trap_mode = AU_TRAP_OFF;
unsigned long au_trap_count;

#if AU_ARCH_TRAP

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#ifndef PR_SYS_DISPATCH_ON
#define PR_SYS_DISPATCH_ON 1
#endif
#ifndef CLONE_CLEAR_SIGHAND
#define CLONE_CLEAR_SIGHAND 0x100000000ULL
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif

enum {
	TRAP_SI_SECCOMP = 1, /* si_code SYS_SECCOMP */
	TRAP_SI_DISPATCH = 2, /* si_code SYS_USER_DISPATCH */
	TRAP_ALLOW = 0, /* values of the selector */
	TRAP_BLOCK = 1,
};

/* Shared with arch_x86_64.S. */
extern unsigned long au_libc_start, au_libc_len;
extern int au_forked_raw;
extern AU_TLS char au_selector;
extern AU_TLS uintptr_t au_clone_home, au_vfork_home;

unsigned long au_libc_start, au_libc_len;
int au_forked_raw; /* a child of inline fork: the engine does not know yet */
AU_TLS char au_selector;
AU_TLS uintptr_t au_clone_home, au_vfork_home;

static uintptr_t trap_gadget;
static struct sigaction trap_app; /* the application's SIGSYS action */

void au_trap_sigaction(const struct sigaction *act, struct sigaction *old)
{
	struct sigaction was = trap_app;

	/* A vfork child changes its own actions, and goes to exec. */
	if (act && !au_in_vfork)
		trap_app = *act;
	if (old)
		*old = was;
}

/* A SIGSYS that is not ours: what would have happened without us. */
static void trap_foreign(int sig, siginfo_t *info, void *ctx)
{
	const struct au_real *real = au_real();
	struct sigaction act = trap_app;
	sigset_t mask, was;
	long pid, tid;

	if (act.sa_handler == SIG_IGN && info->si_code <= 0)
		return;
	if (act.sa_handler == SIG_DFL || act.sa_handler == SIG_IGN) {
		memset(&act, 0, sizeof(act));
		act.sa_handler = SIG_DFL;
		real->sigaction(SIGSYS, &act, NULL);
		pid = au_syscall(SYS_getpid);
		tid = au_syscall(SYS_gettid);
		au_syscall(SYS_tgkill, pid, tid, (long)SIGSYS);
		return;
	}
	if (act.sa_flags & (int)SA_RESETHAND)
		memset(&trap_app, 0, sizeof(trap_app));
	mask = act.sa_mask;
	sigdelset(&mask, SIGSYS);
	real->pthread_sigmask(SIG_BLOCK, &mask, &was);
	if (act.sa_flags & SA_SIGINFO)
		act.sa_sigaction(sig, info, ctx);
	else
		act.sa_handler(sig);
	real->pthread_sigmask(SIG_SETMASK, &was, NULL);
}

/* Is the handler on the signal stack, the application on another? */
static bool trap_on_sigstack(const ucontext_t *uc)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t stack = (uintptr_t)uc->uc_stack.ss_sp;

	return here - stack < uc->uc_stack.ss_size &&
	       au_arch_sp(uc) - stack >= uc->uc_stack.ss_size;
}

/* Not for the engine: let the application make the call. */
static void trap_pass(ucontext_t *uc, long nr, const long a[6])
{
	if (trap_gadget && !trap_on_sigstack(uc))
		au_arch_redirect(uc, trap_gadget);
	else
		au_arch_set_ret(uc, au_syscall(nr, a[0], a[1], a[2], a[3], a[4],
					       a[5]));
}

/* A new mask takes effect when the handler returns, without SIGSYS. */
static void trap_sigprocmask(ucontext_t *uc, const long a[6])
{
	const uint64_t sigsys = 1ULL << (SIGSYS - 1);
	uint64_t set, now;
	long ret;

	if (a[0] == SIG_UNBLOCK || !a[1] || a[3] != sizeof(set) ||
	    (a[0] != SIG_BLOCK && a[0] != SIG_SETMASK) ||
	    au_copy_in(&set, (void *)a[1], sizeof(set)) || !(set & sigsys)) {
		trap_pass(uc, SYS_rt_sigprocmask, a);
		return;
	}
	if (a[2]) {
		ret = au_syscall(SYS_rt_sigprocmask, 0L, 0L, a[2], a[3]);
		if (ret) {
			au_arch_set_ret(uc, ret);
			return;
		}
	}
	memcpy(&now, &uc->uc_sigmask, sizeof(now));
	now = (a[0] == SIG_BLOCK ? now | set : set) & ~sigsys;
	memcpy(&uc->uc_sigmask, &now, sizeof(now));
	au_arch_set_ret(uc, 0);
}

/* The words of clone3's argument that matter here. */
struct trap_clone_args {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal;
	uint64_t stack, stack_size, tls;
};

/*
 * A call that makes a task returns twice. The thread's dispatch is switched
 * off for the few instructions of arch_x86_64.S that make it and find the way
 * home. A thread made this way is not dispatched: its TLS is not libc's, so
 * the handler could not run there.
 */
static void trap_clone(ucontext_t *uc, long nr, const long a[6])
{
	struct trap_clone_args c = { 0 };
	uintptr_t home = au_arch_pc(uc);
	void (*via)(void);

	if (nr == SYS_vfork)
		c.flags = CLONE_VM | CLONE_VFORK;
	if (nr == SYS_clone) {
		c.flags = (unsigned long)a[0];
		c.stack = (unsigned long)a[1];
	}
	if (nr == SYS_clone3 && (a[1] < (long)sizeof(c) ||
				 au_copy_in(&c, (void *)a[0], sizeof(c)))) {
		trap_pass(uc, nr, a); /* to be refused */
		return;
	}
	c.stack += c.stack_size;
	if (c.stack) {
		if (au_copy_out((char *)c.stack - sizeof(home), &home,
				sizeof(home))) {
			au_arch_set_ret(uc, -EFAULT);
			return;
		}
		via = au_arch_clone_thread;
	} else if (c.flags & CLONE_SETTLS) {
		/* Nothing is known of the child: run without dispatch. */
		au_selector = TRAP_ALLOW;
		au_arch_set_pc(uc, home - AU_ARCH_INSN_LEN);
		return;
	} else {
		via = c.flags & CLONE_VM ? au_arch_clone_vfork :
					   au_arch_clone_fork;
	}
	if (!(c.flags & CLONE_VM))
		au_hooks_fork_prepare();
	if ((c.flags & (CLONE_VM | CLONE_VFORK | CLONE_FILES)) ==
	    (CLONE_VM | CLONE_VFORK))
		au_in_vfork = 1;
	au_clone_home = home;
	au_selector = TRAP_ALLOW;
	au_arch_set_pc(uc, (uintptr_t)via);
}

static void trap_serve(ucontext_t *uc)
{
	long nr = au_arch_nr(uc);
	long a[6], ret;

	au_arch_args(uc, a);
	switch (nr) {
	case SYS_rt_sigreturn:
		/* Reads its frame at the stack pointer and never returns. */
		if (trap_gadget)
			au_arch_set_pc(uc, trap_gadget);
		return;
	case SYS_rt_sigprocmask:
		trap_sigprocmask(uc, a);
		return;
	case SYS_fork:
	case SYS_vfork:
	case SYS_clone:
	case SYS_clone3:
		trap_clone(uc, nr, a);
		return;
	default:
		if (au_call(nr, a, &ret))
			au_arch_set_ret(uc, ret);
		else
			trap_pass(uc, nr, a);
	}
}

/* The first call after an inline fork tells the engine of it. */
static void trap_note_fork(void)
{
	if (au_likely(!au_forked_raw))
		return;
	au_forked_raw = 0;
	au_hooks_fork_child();
}

static void trap_sigsys(int sig, siginfo_t *info, void *ctx)
{
	int saved_errno = errno;

	if (info->si_code == TRAP_SI_DISPATCH) {
		if (info->si_arch != AU_ARCH_AUDIT) {
			/* A 32-bit call: unknown to us, so made as it is. */
			au_selector = TRAP_ALLOW;
			au_arch_set_pc(ctx, au_arch_pc(ctx) - AU_ARCH_INSN_LEN);
			return;
		}
	} else if (info->si_code != TRAP_SI_SECCOMP ||
		   info->si_errno != AU_SECCOMP_COOKIE) {
		trap_foreign(sig, info, ctx);
		errno = saved_errno;
		return;
	}
	(void)au_fetch_add(&au_trap_count, 1);
	trap_note_fork();
	trap_serve(ctx);
	errno = saved_errno;
}

long au_patch_call(long nr, const long a[6])
{
	int saved_errno = errno;
	long ret = -ENOSYS;

	trap_note_fork();
	au_call(nr, a, &ret);
	errno = saved_errno;
	return ret;
}

static long trap_dispatch_on(void)
{
	au_selector = TRAP_BLOCK;
	return au_syscall(SYS_prctl, (long)PR_SET_SYSCALL_USER_DISPATCH,
			  (long)PR_SYS_DISPATCH_ON, au_libc_start, au_libc_len,
			  &au_selector);
}

void au_trap_thread(void)
{
	if (AU_READ_ONCE(au_trap_mode) == AU_TRAP_SUD)
		trap_dispatch_on();
}

int au_trap_start(const struct au_scan *s, enum au_trap_mode mode)
{
	const struct au_real *real = au_real();
	struct sigaction act;
	sigset_t set;
	void *gadget;
	long ret;

	if (!s->libc.end)
		return -ENOEXEC; /* libc's calls cannot be told apart */
	au_libc_start = s->libc.start;
	au_libc_len = s->libc.end - s->libc.start;
	gadget = memmem((void *)au_libc_start, au_libc_len, au_arch_gadget,
			sizeof(au_arch_gadget));
	if (!gadget)
		return -ENOEXEC;
	trap_gadget = (uintptr_t)gadget;

	memset(&act, 0, sizeof(act));
	act.sa_sigaction = trap_sigsys;
	act.sa_flags = SA_SIGINFO | SA_NODEFER | (s->go ? SA_ONSTACK : 0);
	real->sigaction(SIGSYS, &act, &trap_app);
	sigemptyset(&set);
	sigaddset(&set, SIGSYS);
	real->pthread_sigmask(SIG_UNBLOCK, &set, NULL);

	AU_WRITE_ONCE(au_trap_mode, (int)mode);
	ret = mode == AU_TRAP_SUD ? trap_dispatch_on() : au_seccomp_install(s);
	if (ret < 0) {
		AU_WRITE_ONCE(au_trap_mode, AU_TRAP_OFF);
		real->sigaction(SIGSYS, &trap_app, NULL);
	}
	return (int)ret;
}

#else

void au_trap_sigaction(const struct sigaction *act, struct sigaction *old)
{
}

void au_trap_thread(void)
{
}

int au_trap_start(const struct au_scan *s, enum au_trap_mode mode)
{
	return -ENOSYS;
}

#endif
