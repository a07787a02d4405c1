/* SPDX-License-Identifier: MIT */
/* Waiting for CQEs in the caller's thread. */
#ifndef AU_CORE_WAIT_H
#define AU_CORE_WAIT_H

#include <signal.h>
#include "core/ring.h"

struct au_wait {
	uint32_t min_complete;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; AU_NSEC_FOREVER for none */
	uint64_t min_wait_ns; /* when one CQE is enough; 0 is not used */
	uint64_t sigmask; /* the application's, applied while asleep; or 0 */
	size_t sigmask_size;
};

/*
 * Returns 0 once min_complete CQEs are there, a timeout request has fired, or
 * any are there when the wait ends otherwise; else -ETIME or -EINTR. The mask
 * is read only if there is something to wait for, as the kernel does it: -EFAULT
 * or -EINVAL then. Ring lock held; released while asleep.
 */
int au_ring_wait(struct au_ring *ring, const struct au_wait *w);

/*
 * Sleeps as the ring's one leader: until the poller has something, a timer is
 * due, a kick, a signal (-EINTR), or the deadline. Lock held, released while
 * asleep.
 */
int au_ring_sleep(struct au_ring *ring, uint64_t deadline_ns,
		  const sigset_t *sigmask);

#endif
