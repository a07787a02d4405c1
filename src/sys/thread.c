/* SPDX-License-Identifier: MIT */
#include "sys/thread.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include "base/atomic.h"
#include "sys/syscall.h"

#define THREAD_STACK (128 * 1024)

struct thread_start {
	void *(*main)(void *);
	void *arg;
};

static void *thread_main(void *p)
{
	struct thread_start s = *(struct thread_start *)p;

	free(p);
	return s.main(s.arg);
}

int au_thread_start(void *(*main)(void *), void *arg)
{
	struct thread_start *s = malloc(sizeof(*s));
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	if (!s)
		return -ENOMEM;
	*s = (struct thread_start){ .main = main, .arg = arg };
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	/* A new thread inherits the mask: none of ours takes a signal. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, &attr, thread_main, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (r)
		free(s);
	return -r;
}

void au_thread_name(const char *name)
{
	(void)au_syscall(SYS_prctl, PR_SET_NAME, name, 0, 0, 0);
}

int au_thread_affinity(pid_t tid, const void *mask, size_t size)
{
	long r = au_syscall(SYS_sched_setaffinity, tid, size, mask);

	return r < 0 ? (int)r : 0;
}

void au_thread_pin(int cpu)
{
	unsigned long mask[1024 / (8 * sizeof(long))] = { 0 };

	mask[(unsigned int)cpu / (8 * sizeof(long))] |=
		1UL << ((unsigned int)cpu % (8 * sizeof(long)));
	(void)au_thread_affinity(0, mask, sizeof(mask));
}

static void interrupted(int sig)
{
}

int au_interrupt_signal(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static int found;
	struct sigaction sa = { .sa_handler = interrupted }, old;

	/* The child of a fork must not find the mutex held: seldom taken. */
	if (au_load_relaxed(&found))
		return au_load_relaxed(&found);
	pthread_mutex_lock(&mutex);
	for (int sig = SIGRTMAX; !found && sig >= SIGRTMIN; sig--) {
		/* No SA_RESTART: the interrupted call must return. */
		if (!sigaction(sig, NULL, &old) && old.sa_handler == SIG_DFL &&
		    !sigaction(sig, &sa, NULL))
			au_store_relaxed(&found, sig);
	}
	pthread_mutex_unlock(&mutex);
	return found ? found : -EAGAIN;
}

void au_thread_interruptible(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int au_thread_interrupt(pid_t tid, int sig)
{
	return (int)au_syscall(SYS_tgkill, getpid(), tid, sig);
}
