/* SPDX-License-Identifier: MIT */
/*
 * libc's own functions, found once with RTLD_NEXT, and the engine's gate.
 *
 * Runs in the constructor, or in whichever thread calls earlier. Two threads
 * may resolve at once: both store the same pointers. A call made by dlsym()
 * itself (an allocator that maps memory) meets the raw fallbacks.
 */
#include "intercept/intercept.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "intercept/arch.h"

struct au_real au_real_fns = {
	.syscall = au_arch_syscall,
	.mmap = au_arch_mmap,
	.munmap = au_arch_munmap,
	.close = au_arch_close,
};
int au_real_ready;
static AU_TLS int real_resolving;

void au_real_resolve(void)
{
	struct au_real *r = &au_real_fns;
	void *p;

	if (real_resolving)
		return;
	real_resolving = 1;
#define REAL(field, name)                                           \
	do {                                                        \
		p = dlsym(RTLD_NEXT, name);                         \
		if (p)                                              \
			__builtin_memcpy(&r->field, &p, sizeof(p)); \
	} while (0)
	REAL(syscall, "syscall");
	REAL(mmap, "mmap");
	REAL(munmap, "munmap");
	REAL(close, "close");
	REAL(dup2, "dup2");
	REAL(dup3, "dup3");
	REAL(close_range, "close_range");
	REAL(closefrom, "closefrom");
	REAL(sendmsg, "sendmsg");
	REAL(poll, "poll");
	REAL(ppoll, "ppoll");
	REAL(poll_chk, "__poll_chk");
	REAL(ppoll_chk, "__ppoll_chk");
	REAL(select, "select");
	REAL(pselect, "pselect");
	REAL(epoll_wait, "epoll_wait");
	REAL(epoll_pwait, "epoll_pwait");
	REAL(epoll_pwait2, "epoll_pwait2");
	REAL(epoll_ctl, "epoll_ctl");
	REAL(sigaction, "sigaction");
	REAL(sigprocmask, "sigprocmask");
	REAL(pthread_sigmask, "pthread_sigmask");
	REAL(sigsuspend, "sigsuspend");
	REAL(attr_setsigmask, "pthread_attr_setsigmask_np");
	REAL(signal, "signal");
	REAL(sysv_signal, "__sysv_signal");
	REAL(pthread_create, "pthread_create");
	REAL(thrd_create, "thrd_create");
	REAL(fork_raw, "_Fork");
	REAL(clone, "clone");
	REAL(execve, "execve");
	REAL(execvpe, "execvpe");
	REAL(fexecve, "fexecve");
	REAL(spawn, "posix_spawn");
	REAL(spawnp, "posix_spawnp");
	REAL(syscall, "syscall");
#undef REAL
	au_arch_set_vfork(dlsym(RTLD_NEXT, "vfork"));
	AU_WRITE_ONCE(au_syscall_gate, r->syscall);
	au_store_release(&au_real_ready, 1);
	real_resolving = 0;
}
