/* SPDX-License-Identifier: MIT */
#include "core/timers.h"

#include <time.h>
#include "core/issue.h"
#include "core/op.h"
#include "core/ring.h"
#include "sys/clock.h"

static const int timers_clockid[AU_CLOCK_LAST] = {
	[AU_CLOCK_MONOTONIC] = CLOCK_MONOTONIC,
	[AU_CLOCK_BOOTTIME] = CLOCK_BOOTTIME,
	[AU_CLOCK_REALTIME] = CLOCK_REALTIME,
};

int au_timers_clockid(uint32_t clock)
{
	return timers_clockid[clock];
}

uint64_t au_timers_now(struct au_ring *ring, uint32_t clock)
{
	return clock == AU_CLOCK_MONOTONIC ? au_ring_now(ring) :
					     au_clock_ns(timers_clockid[clock]);
}

int au_timers_arm(struct au_ring *ring, struct au_req *req)
{
	struct au_heap *h = &ring->timers.heaps[req->clock];
	int r = au_heap_reserve(h);

	if (r >= 0)
		r = au_req_park(ring, req, AU_AT_TIMERS);
	if (r < 0)
		return r;
	au_heap_push(h, &req->timer, req->deadline_ns);
	/* Whoever sleeps for the ring sleeps until the one before. */
	if (ring->has_leader && au_heap_first(h) == &req->timer)
		au_ring_kick(ring);
	return 0;
}

bool au_timers_expire(struct au_ring *ring)
{
	bool any = false;

	for (uint32_t c = 0; c < AU_CLOCK_LAST; c++) {
		struct au_heap *h = &ring->timers.heaps[c];
		uint64_t now = au_heap_empty(h) ? 0 : au_timers_now(ring, c);

		/* What fires may arm anew, but not for a time gone by. */
		while (!au_heap_empty(h) && au_heap_first_key(h) <= now) {
			struct au_req *req = au_container_of(
				au_heap_first(h), struct au_req, timer);

			au_heap_remove(h, &req->timer);
			au_req_unpark(ring, req);
			au_ops_cold[req->opcode].ready(ring, req, 0);
			any = true;
		}
	}
	return any;
}

uint64_t au_timers_next(const struct au_timers *t)
{
	uint64_t next = AU_NSEC_FOREVER;

	for (uint32_t c = 0; c < AU_CLOCK_LAST; c++) {
		const struct au_heap *h = &t->heaps[c];
		uint64_t key, there;

		if (au_heap_empty(h))
			continue;
		key = au_heap_first_key(h);
		if (c != AU_CLOCK_MONOTONIC && key != AU_NSEC_FOREVER) {
			there = au_clock_ns(timers_clockid[c]);
			key = au_now_ns() + (key > there ? key - there : 0);
		}
		next = au_min_u64(next, key);
	}
	return next;
}

void au_timers_destroy(struct au_timers *t)
{
	for (uint32_t c = 0; c < AU_CLOCK_LAST; c++)
		au_heap_free(&t->heaps[c]);
}
