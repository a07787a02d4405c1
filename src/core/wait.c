/* SPDX-License-Identifier: MIT */
/*
 * One thread at a time, the leader, sleeps in the poller for the ring; any
 * others that wait follow: they sleep on a futex that every commit of CQEs
 * bumps, and one of them takes over when the leader leaves. A ring with an
 * SQPOLL thread has that as its leader for good.
 */
#include "core/wait.h"

#include <errno.h>
#include <limits.h>
#include "core/aio.h"
#include "core/cancel.h"
#include "core/complete.h"
#include "core/issue.h"
#include "sys/clock.h"
#include "sys/futex.h"
#include "sys/poll.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

#define FOLLOW_TICK_NS AU_NSEC_PER_MSEC

int au_ring_sleep(struct au_ring *ring, uint64_t deadline_ns,
		  const sigset_t *sigmask)
{
	struct epoll_event ev[AU_POLLER_EVENTS];
	int r = au_poller_open(ring);
	bool spins, hit = false;

	if (r < 0)
		return r;
	deadline_ns = au_min_u64(deadline_ns, au_timers_next(&ring->timers));
	/* pairs with the exchange in au_ring_kick(): it shows the poller */
	au_store_release(&ring->asleep, 1);
	/* pairs with the fence in issue.c:au_ring_kick() */
	au_fence_full();
	if (!au_mpscq_empty(&ring->done) || au_aio_ready(ring) ||
	    !au_slist_empty(&ring->poller.again)) {
		au_store_relaxed(&ring->asleep, 0);
		return 0;
	}
	/* An SQPOLL thread has spun for long. */
	spins = !ring->sqpoll && au_spin_pays(&ring->spin);
	ring->has_leader = true;
	au_cq_update_notify(ring);
	ring->poller.sleeper = true;
	if (au_unlikely(ring->common))
		ring->common->asleep = true;
	au_ring_release(ring);
	if (spins)
		r = au_spin_epoll_wait(ring->poller.epfd, ev, AU_POLLER_EVENTS,
				       deadline_ns, sigmask, &hit);
	else
		r = au_epoll_wait_ns(ring->poller.epfd, ev, AU_POLLER_EVENTS,
				     deadline_ns, sigmask);
	au_ring_lock(ring);
	if (spins)
		au_spin_learn(&ring->spin, hit);
	au_store_relaxed(&ring->asleep, 0);
	ring->poller.sleeper = false;
	ring->has_leader = ring->sqpoll;
	if (ring->nr_followers) {
		au_fetch_add(&ring->cq_seq, 1);
		au_futex_wake(&ring->cq_seq, INT_MAX);
	}
	au_cq_update_notify(ring);
	if (r > 0 && au_poller_dispatch(ring, ev, r)) {
		au_cancelled_complete(ring);
		au_ring_after_complete(ring);
		au_cq_commit(ring);
	}
	return r < 0 ? r : 0;
}

/*
 * No futex call takes a mask, and setting it first would lose a signal that
 * comes in between. Rare enough for short sleeps.
 */
static au_cold int follow_masked(uint64_t deadline_ns, const sigset_t *sigmask)
{
	uint64_t now = au_now_ns(), ns = 0;
	struct timespec ts = { 0 };

	if (deadline_ns > now)
		ns = au_min_u64(deadline_ns - now, FOLLOW_TICK_NS);
	ts.tv_nsec = (long)ns;
	return (int)au_syscall(SYS_ppoll, NULL, 0, &ts, sigmask, _NSIG / 8);
}

static int ring_follow(struct au_ring *ring, uint64_t deadline_ns,
		       const sigset_t *sigmask)
{
	uint32_t seq = au_load_relaxed(&ring->cq_seq);
	/* With some deadline a signal ends the wait even under SA_RESTART. */
	uint64_t end = au_min_u64(deadline_ns, INT64_MAX);
	struct timespec ts = {
		.tv_sec = (time_t)(end / AU_NSEC_PER_SEC),
		.tv_nsec = (long)(end % AU_NSEC_PER_SEC),
	};
	int r;

	ring->nr_followers++;
	au_cq_update_notify(ring);
	au_ring_release(ring);
	if (au_unlikely(sigmask))
		r = follow_masked(deadline_ns, sigmask);
	else
		r = au_futex_wait(&ring->cq_seq, seq, &ts);
	au_ring_lock(ring);
	ring->nr_followers--;
	au_cq_update_notify(ring);
	return r == -EINTR ? -EINTR : 0;
}

static au_cold int wait_sigmask(const struct au_wait *w, sigset_t *set)
{
	if (w->sigmask_size != _NSIG / 8)
		return -EINVAL;
	sigemptyset(set);
	if (au_copy_from_user(set, w->sigmask, _NSIG / 8))
		return -EFAULT;
	/* The way in of inline calls is not the application's to block. */
	sigdelset(set, SIGSYS);
	return 0;
}

int au_ring_wait(struct au_ring *ring, const struct au_wait *w)
{
	const sigset_t *sigmask = NULL;
	sigset_t set;
	uint32_t min = au_min_u32(w->min_complete, ring->cq_entries);
	uint32_t timeouts = ring->nr_timeouts;
	uint64_t min_wait_ns = w->min_wait_ns;
	int r = 0;

	for (;;) {
		uint64_t deadline = w->deadline_ns;

		if (au_unlikely(ring->common)) {
			au_common_run(ring);
			au_cq_commit(ring);
		}
		au_ring_run(ring);
		if (au_unlikely(ring->nr_overflow)) {
			au_cq_flush_overflow(ring);
			au_cq_commit(ring);
		}
		if (au_cq_ready(ring) >= min || ring->nr_timeouts != timeouts)
			break;
		if (r == -EINTR)
			break;
		if (au_unlikely(w->sigmask && !sigmask)) {
			r = wait_sigmask(w, &set);
			if (r < 0)
				return r;
			sigmask = &set;
		}
		if (min_wait_ns) {
			if (au_now_ns() >= min_wait_ns) {
				/* From here on any one will do. */
				min = 1;
				min_wait_ns = 0;
				continue;
			}
			deadline = min_wait_ns;
		} else if (deadline != AU_NSEC_FOREVER &&
			   au_now_ns() >= deadline) {
			r = -ETIME;
			break;
		}
		if (ring->has_leader)
			r = ring_follow(ring, deadline, sigmask);
		else
			r = au_ring_sleep(ring, deadline, sigmask);
		if (r < 0 && r != -EINTR)
			break;
	}
	return au_cq_ready(ring) ? 0 : r;
}
