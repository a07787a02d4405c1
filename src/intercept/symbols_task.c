/* SPDX-License-Identifier: MIT */
/*
 * New threads and processes. Dispatch is per thread and not inherited: a
 * thread enables it for itself before its start routine runs, a fork's child
 * when it begins. vfork(3) is in arch_x86_64.S.
 */
#include "intercept/intercept.h"

#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>

#include "core/hooks.h"

struct task_start {
	union {
		void *(*fn)(void *);
		thrd_start_t thrd;
	};

	void *arg;
};

static struct task_start *task_new(void *arg)
{
	struct task_start *t = malloc(sizeof(*t));

	if (t)
		t->arg = arg;
	return t;
}

static void *task_pthread(void *arg)
{
	struct task_start t = *(struct task_start *)arg;

	au_trap_thread();
	free(arg);
	return t.fn(t.arg);
}

static int task_thrd(void *arg)
{
	struct task_start t = *(struct task_start *)arg;

	au_trap_thread();
	free(arg);
	return t.thrd(t.arg);
}

/* The engine's own threads call the kernel through libc only. */
static bool task_plain(const void *caller)
{
	return AU_READ_ONCE(au_trap_mode) != AU_TRAP_SUD ||
	       au_scan_own_text(caller);
}

AU_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			     void *(*fn)(void *), void *arg)
{
	const struct au_real *real = au_real();
	struct task_start *t;
	int ret;

	if (task_plain(__builtin_return_address(0)))
		return real->pthread_create(thread, attr, fn, arg);
	t = task_new(arg);
	if (!t)
		return EAGAIN;
	t->fn = fn;
	ret = real->pthread_create(thread, attr, task_pthread, t);
	if (ret)
		free(t);
	return ret;
}

AU_EXPORT int thrd_create(thrd_t *thread, thrd_start_t fn, void *arg)
{
	const struct au_real *real = au_real();
	struct task_start *t;
	int ret;

	if (!real->thrd_create)
		return thrd_error;
	if (task_plain(__builtin_return_address(0)))
		return real->thrd_create(thread, fn, arg);
	t = task_new(arg);
	if (!t)
		return thrd_nomem;
	t->thrd = fn;
	ret = real->thrd_create(thread, task_thrd, t);
	if (ret != thrd_success)
		free(t);
	return ret;
}

void au_forked(void)
{
	if (AU_READ_ONCE(au_trap_mode) == AU_TRAP_SUD)
		au_trap_thread();
	au_hooks_fork_child();
}

pid_t _Fork(void);

struct task_clone {
	int (*fn)(void *);
	void *arg;
};

static int task_cloned(void *arg)
{
	struct task_clone t = *(struct task_clone *)arg;

	au_forked();
	return t.fn(t.arg);
}

/*
 * A child with memory of its own is a fork's; what it is to run it finds in
 * its copy of our stack. The words behind `arg` are there or are not looked at.
 */
AU_EXPORT int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
	struct task_clone t = { fn, arg };
	void *parent_tid, *tls, *child_tid;
	va_list ap;

	va_start(ap, arg);
	parent_tid = va_arg(ap, void *);
	tls = va_arg(ap, void *);
	child_tid = va_arg(ap, void *);
	va_end(ap);
	if (!(flags & CLONE_VM) && fn) {
		au_hooks_fork_prepare();
		fn = task_cloned;
		arg = &t;
	}
	return au_real()->clone(fn, stack, flags, arg, parent_tid, tls,
				child_tid);
}

/* fork(3) calls its own _Fork and then the handler of pthread_atfork(3). */
AU_EXPORT pid_t _Fork(void)
{
	pid_t pid;

	if (!au_real()->fork_raw) {
		errno = ENOSYS;
		return -1;
	}
	au_hooks_fork_prepare();
	pid = au_real()->fork_raw();
	if (!pid)
		au_forked();
	return pid;
}
