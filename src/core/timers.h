/* SPDX-License-Identifier: MIT */
/*
 * Timers: requests that wait for a time. One heap a clock, because CLOCK_REALTIME
 * can be set and CLOCK_BOOTTIME goes on in suspend. Ring lock held.
 */
#ifndef AU_CORE_TIMERS_H
#define AU_CORE_TIMERS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/heap.h"
#include "core/req.h"

struct au_ring;

enum {
	AU_CLOCK_MONOTONIC,
	AU_CLOCK_BOOTTIME,
	AU_CLOCK_REALTIME,
	AU_CLOCK_LAST,
};

struct au_timers {
	struct au_heap heaps[AU_CLOCK_LAST];
};

/* The clockid_t behind a heap. */
int au_timers_clockid(uint32_t clock);

/* What time it is on a clock, for the holder of the ring. */
uint64_t au_timers_now(struct au_ring *ring, uint32_t clock);

/* Parks `req` until req->deadline_ns on req->clock. 0 or -ENOMEM. */
int au_timers_arm(struct au_ring *ring, struct au_req *req) au_must_check;

static inline void au_timers_cancel(struct au_timers *t, struct au_req *req)
{
	au_heap_remove(&t->heaps[req->clock], &req->timer);
}

/* Fires what is due, in order of deadline. True if there was anything. */
bool au_timers_expire(struct au_ring *ring);

/* When the next one is due, in CLOCK_MONOTONIC; AU_NSEC_FOREVER if none. */
uint64_t au_timers_next(const struct au_timers *t);

static inline bool au_timers_idle(const struct au_timers *t)
{
	return au_heap_empty(&t->heaps[0]) && au_heap_empty(&t->heaps[1]) &&
	       au_heap_empty(&t->heaps[2]);
}

void au_timers_destroy(struct au_timers *t);

#endif
