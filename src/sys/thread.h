/* SPDX-License-Identifier: MIT */
/* The engine's own threads. */
#ifndef AU_SYS_THREAD_H
#define AU_SYS_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/util.h"

/*
 * Starts a detached thread with every signal blocked and a small stack. 0 or
 * -errno.
 */
int au_thread_start(void *(*main)(void *), void *arg) au_must_check;

void au_thread_name(const char *name); /* at most 15 characters */
void au_thread_pin(int cpu);

/* `mask` as sched_setaffinity(2) takes it. 0 or -errno. */
int au_thread_affinity(pid_t tid, const void *mask, size_t size);

/*
 * The signal that interrupts a worker's system call: its handler does nothing.
 * Found and installed at the first call: a real-time signal the program does
 * not use. Returns its number, or -EAGAIN if there is none.
 */
int au_interrupt_signal(void);

/* Lets the calling thread be interrupted. */
void au_thread_interruptible(int sig);
int au_thread_interrupt(pid_t tid, int sig);

#endif
