/* SPDX-License-Identifier: MIT */
/*
 * How the housekeeper looks after a ring:
 *
 *   ticking   the application comes and goes: a look every millisecond, for as
 *             long as threads enter and leave;
 *   nested    it stayed away: the housekeeper sleeps on the ring's own epoll
 *             instance and its nearest timer, and acts at once;
 *   left      a thread sleeps inside enter and serves the ring itself, or
 *             nothing is pending.
 *
 * The application pays one load on its way out while the ring is ticking, and
 * a wake-up of this thread when it was not. The housekeeper only ever tries a
 * ring's lock: whoever has it does the work.
 *
 * A DEFER_TASKRUN ring is not run here: its owner does that. What becomes
 * ready is announced, by IORING_SQ_TASKRUN and the registered eventfd.
 *
 * Lock order: a ring's lock, then hk.lock.
 */
#include "core/housekeeper.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include "core/complete.h"
#include "core/issue.h"
#include "core/notify.h"
#include "sys/clock.h"
#include "sys/poll.h"
#include "sys/syscall.h"
#include "sys/thread.h"

#define HK_TICK_NS     AU_NSEC_PER_MSEC
#define HK_QUIET_TICKS 3 /* looks without an enter before nesting */
#define HK_EVENTS      64
/* A ring that is entered all the time is looked at as seldom as that. */
#define HK_BUSY_TICKS 1024

static struct {
	struct au_lock lock;
	bool running;
	int epfd, wakefd;
	uint32_t asleep; /* sleeps for longer than a tick */
	uint32_t busy_ticks; /* looks that were not worth it */
	struct au_list rings; /* of au_ring.hk_node, under lock */
} hk = { .epfd = -1, .wakefd = -1, .rings = { &hk.rings, &hk.rings } };

static void hk_wake(void)
{
	uint64_t one = 1;

	/* pairs with the fence in hk_main() */
	au_fence_full();
	if (au_load_relaxed(&hk.asleep) && au_xchg(&hk.asleep, 0))
		(void)au_syscall(SYS_write, hk.wakefd, &one, sizeof(one));
}

static void hk_nest(struct au_ring *ring)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };

	/* Other processes' CQEs may end a timeout that counts. */
	if (au_unlikely(ring->common) && ring->run_counted)
		ring->common->asleep = true;
	ev.data.ptr = ring;
	if (!ring->nested && ring->poller.epfd >= 0 &&
	    !au_syscall(SYS_epoll_ctl, hk.epfd, EPOLL_CTL_ADD,
			ring->poller.epfd, &ev))
		ring->nested = true;
}

static void hk_unnest(struct au_ring *ring)
{
	if (ring->nested)
		(void)au_syscall(SYS_epoll_ctl, hk.epfd, EPOLL_CTL_DEL,
				 ring->poller.epfd, NULL);
	ring->nested = false;
}

/* Ring lock held. */
static void hk_leave(struct au_ring *ring)
{
	hk_unnest(ring);
	au_lock(&hk.lock);
	au_list_del(&ring->hk_node);
	au_unlock(&hk.lock);
	ring->attended = false;
}

/* Says that the owner has something to run, once. */
static void hk_announce(struct au_ring *ring)
{
	struct pollfd p = { .fd = ring->poller.epfd, .events = POLLIN };
	bool ready = !au_mpscq_empty(&ring->done) ||
		     !au_slist_empty(&ring->poller.again) ||
		     au_timers_next(&ring->timers) <= au_now_ns();

	if (!ready && p.fd >= 0)
		ready = au_poll_fds(&p, 1, 0) > 0;
	if (ready)
		au_ring_announce(ring);
}

/* Was it entered since the last look? Called without its lock. */
static bool hk_busy(struct au_ring *ring)
{
	uint32_t seq = au_load_relaxed(&ring->enter_seq);

	if (seq == au_load_relaxed(&ring->hk_seq))
		return false;
	au_store_relaxed(&ring->hk_seq, seq);
	au_store_relaxed(&ring->hk_quiet, 0);
	return ++hk.busy_ticks % HK_BUSY_TICKS;
}

/*
 * One look at a ring. Returns when to look again: a tick, its next timer, or
 * never (its nested events tell).
 */
static uint64_t hk_visit(struct au_ring *ring)
{
	uint64_t now = au_now_ns(), next = now + HK_TICK_NS;

	/* Whoever entered meanwhile served it, and is not to be disturbed. */
	if (hk_busy(ring) || !au_ring_trylock(ring))
		return next;
	if (!ring->alive || !ring->pending.nr) {
		hk_leave(ring);
		au_ring_unlock(ring);
		return AU_NSEC_FOREVER;
	}
	if (ring->hk_quiet < HK_QUIET_TICKS)
		ring->hk_quiet++;
	if (ring->nr_inside) {
		/* A whole tick inside: that thread serves the ring. */
		if (ring->hk_quiet)
			hk_leave(ring);
		au_ring_unlock(ring);
		return next;
	}
	if (au_ring_defer(ring) && !ring->ending)
		hk_announce(ring);
	else
		au_ring_run(ring);
	if (au_workers_interrupt_again(ring) ||
	    !au_slist_empty(&ring->poller.again))
		ring->hk_quiet = 0;
	if (ring->hk_quiet == HK_QUIET_TICKS) {
		hk_nest(ring);
		next = au_timers_next(&ring->timers);
		if (au_ring_defer(ring) && next <= now)
			next = AU_NSEC_FOREVER;
		/* Any enter may add a timer: it has to tell again. */
		ring->attended = false;
	}
	if (ring->closing)
		au_ring_maybe_destroy(ring);
	au_ring_unlock(ring);
	return next;
}

static uint64_t hk_visit_all(void)
{
	uint64_t next = AU_NSEC_FOREVER;
	struct au_ring *rings[HK_EVENTS];
	size_t n = 0;
	struct au_list *pos;

	/* Rings are never freed, so the pointers outlive the lock. */
	au_lock(&hk.lock);
	for (pos = hk.rings.next; pos != &hk.rings && n < HK_EVENTS;
	     pos = pos->next)
		rings[n++] = au_container_of(pos, struct au_ring, hk_node);
	/* More rings than that take turns. */
	if (pos != &hk.rings && n) {
		au_list_del(&hk.rings);
		au_list_add_tail(pos, &hk.rings);
		next = au_now_ns() + HK_TICK_NS;
	}
	au_unlock(&hk.lock);
	for (size_t i = 0; i < n; i++)
		next = au_min_u64(next, hk_visit(rings[i]));
	return next;
}

static void *hk_main(void *arg)
{
	uint64_t next = 0;

	au_thread_name("anyuring-hk");
	for (;;) {
		struct epoll_event ev[HK_EVENTS];
		bool long_sleep = next > au_now_ns() + HK_TICK_NS;

		if (long_sleep) {
			au_store_relaxed(&hk.asleep, 1);
			/* pairs with the fence in hk_wake() */
			au_fence_full();
			/* A ring may have come between the visit and now. */
			next = au_min_u64(next, hk_visit_all());
		}
		(void)au_epoll_wait_ns(hk.epfd, ev, HK_EVENTS, next, NULL);
		au_store_relaxed(&hk.asleep, 0);
		next = hk_visit_all();
	}
	return NULL;
}

/* hk.lock held. */
static int hk_start(void)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	int r;

	hk.epfd = au_fd_hide((int)au_syscall(SYS_epoll_create1, EPOLL_CLOEXEC));
	hk.wakefd = au_fd_hide(
		(int)au_syscall(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK));
	r = hk.epfd < 0 ? hk.epfd : hk.wakefd;
	if (r >= 0)
		r = (int)au_syscall(SYS_epoll_ctl, hk.epfd, EPOLL_CTL_ADD,
				    hk.wakefd, &ev);
	if (r >= 0)
		r = au_thread_start(hk_main, NULL);
	if (r < 0) {
		au_fd_close_hidden(hk.epfd);
		au_fd_close_hidden(hk.wakefd);
		hk.epfd = hk.wakefd = -1;
		return r;
	}
	hk.running = true;
	return 0;
}

void au_housekeeper_attend_slow(struct au_ring *ring)
{
	int r = 0;

	hk_unnest(ring);
	au_store_relaxed(&ring->hk_seq, ring->enter_seq);
	au_store_relaxed(&ring->hk_quiet, 0);
	au_lock(&hk.lock);
	if (!hk.running)
		r = hk_start();
	/* Without the thread, completions appear at the next enter. */
	if (r >= 0 && au_list_empty(&ring->hk_node))
		au_list_add_tail(&hk.rings, &ring->hk_node);
	au_unlock(&hk.lock);
	if (r >= 0) {
		ring->attended = true;
		hk_wake();
	}
}

void au_housekeeper_hurry(void)
{
	hk_wake();
}

void au_housekeeper_forget(struct au_ring *ring)
{
	hk_leave(ring);
}

void au_housekeeper_reset(void)
{
	hk.lock.word = 0;
	hk.running = false;
	hk.epfd = hk.wakefd = -1;
	hk.asleep = 0;
	au_list_init(&hk.rings);
}
