/* SPDX-License-Identifier: MIT */
/*
 * Spinning before sleeping. A thread that sleeps leaves its processor idle, and
 * an idle processor takes 20 to 50 us to wake: longer than many an answer takes
 * to come. So whoever is about to sleep for a ring looks for events a while
 * first, as long as that pays.
 *
 * It pays where most waits end while it looks; each wait that did not weighs
 * against it, recent ones most. When it does not pay, one wait in a while looks
 * all the same, in case things have changed. Where the process has only one
 * processor nobody ever spins: what is waited for would need it.
 */
#ifndef AU_CORE_SPIN_H
#define AU_CORE_SPIN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

/* A ring's experience; under its lock. */
struct au_spin {
	uint8_t misses; /* how much speaks against it: 0 nothing, 255 all */
	uint8_t waits; /* that slept without looking, since one that looked */
};

/* Shall this wait spin first? Counts it. */
bool au_spin_pays(struct au_spin *s);

/* A wait that spun got what it waited for, or did not. */
void au_spin_learn(struct au_spin *s, bool hit);

/*
 * au_epoll_wait_ns(), with a spin in front. Signals wait meanwhile, and end the
 * sleep as they would have ended one without a spin. *hit: it did not sleep.
 */
int au_spin_epoll_wait(int epfd, struct epoll_event *ev, int max,
		       uint64_t deadline_ns, const sigset_t *sigmask,
		       bool *hit);

#endif
