/* SPDX-License-Identifier: MIT */
/*
 * The second half of the probe: what the user engine would find here. Ways
 * to catch inline system calls are tried end to end, up to a handler that
 * ran, and each in a child of its own, which they leave spoilt.
 */
#include "cli/probe.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include "cli/child.h"
#include "cli/filter.h"
#include "sys/syscall.h"

/* Kernel headers older than the kernel we may run on. */
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON           1
#endif
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif
#define NR_EPOLL_PWAIT2 441

enum {
	DISPATCH_ALLOW,
	DISPATCH_BLOCK
};

static volatile char dispatch_selector;
static volatile sig_atomic_t trapped;

static void on_sigsys(int sig)
{
	/* First: sigreturn is a system call too. */
	dispatch_selector = DISPATCH_ALLOW;
	trapped = 1;
}

static long trap_catch(void)
{
	struct sigaction sa = { .sa_handler = on_sigsys };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSYS);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return sigaction(SIGSYS, &sa, NULL);
}

static int user_dispatch_try(void *data)
{
	long r = trap_catch();

	if (!r)
		r = au_syscall(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH,
			       PR_SYS_DISPATCH_ON, 0, 0, &dispatch_selector);
	if (r)
		return (int)r;
	dispatch_selector = DISPATCH_BLOCK;
	syscall(SYS_getpid);
	dispatch_selector = DISPATCH_ALLOW;
	return trapped ? 0 : -ENOTSUP;
}

int probe_user_dispatch(void)
{
	return cli_in_child(user_dispatch_try, NULL, 0);
}

static int seccomp_trap_try(void *data)
{
	long r = cli_filter_action_avail(SECCOMP_RET_TRAP);

	if (!r)
		r = trap_catch();
	if (!r)
		r = cli_filter_install(SECCOMP_RET_TRAP);
	if (r)
		return (int)r;
	/* Shows too that the trap wins over a filter that denies. */
	syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0);
	return trapped ? 0 : -ENOTSUP;
}

int probe_seccomp_trap(void)
{
	return cli_in_child(seccomp_trap_try, NULL, 0);
}

static int try_epoll_pwait2(void *data)
{
	long r = au_syscall(NR_EPOLL_PWAIT2, -1, NULL, 0, NULL, NULL, 0);

	/* Arguments are looked at only where the call exists. */
	return r == -EBADF || r == -EINVAL || r == -EFAULT ? 0 : (int)r;
}

static int try_process_vm_readv(void *data)
{
	char from = 1, to = 0;
	struct iovec local = { &to, 1 }, remote = { &from, 1 };
	long r = au_syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote,
			    1, 0);

	return r < 0 ? (int)r : 0;
}

static int try_preadv2_nowait(void *data)
{
	char byte;
	struct iovec iov = { &byte, 1 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	long r;

	if (fd < 0)
		return -ENOENT;
	r = au_syscall(SYS_preadv2, fd, &iov, 1, 0, 0, RWF_NOWAIT);
	close(fd);
	return r < 0 && r != -EAGAIN ? (int)r : 0;
}

static int try_memfd_create(void *data)
{
	long fd = au_syscall(SYS_memfd_create, "anyuring-probe", 0);

	return fd < 0 ? (int)fd : 0;
}

static int try_io_setup(void *data)
{
	unsigned long aio = 0;

	return (int)au_syscall(SYS_io_setup, 1, &aio);
}

static int try_close_range(void *data)
{
	return (int)au_syscall(SYS_close_range, ~0U, ~0U, 0);
}

void probe_features(struct probe_feature feature[PROBE_FEATURES])
{
	static const struct {
		const char *name;
		int (*try)(void *data);
	} tries[PROBE_FEATURES] = {
		{ "epoll_pwait2", try_epoll_pwait2 },
		{ "process_vm_readv", try_process_vm_readv },
		{ "preadv2_nowait", try_preadv2_nowait },
		{ "memfd_create", try_memfd_create },
		{ "io_setup", try_io_setup },
		{ "close_range", try_close_range },
	};

	int i;

	for (i = 0; i < PROBE_FEATURES; i++) {
		feature[i].name = tries[i].name;
		feature[i].result = cli_in_child(tries[i].try, NULL, 0);
	}
}
