/* SPDX-License-Identifier: MIT */
/*
 * The SQPOLL thread looks at the SQ tail without the lock, and takes the lock
 * only when there is something to do. After its idle time without SQEs it says
 * NEED_WAKEUP, looks once more, and sleeps in the poller until an enter with
 * SQ_WAKEUP kicks it or a waiting request needs it.
 *
 * The flag and the tail cross: the thread stores the flag and loads the tail,
 * the application stores the tail and loads the flag, each with a full fence
 * between, so one of them sees the other.
 */
#include "core/sqpoll.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include "core/aio.h"
#include "core/complete.h"
#include "core/issue.h"
#include "core/notify.h"
#include "core/submit.h"
#include "core/wait.h"
#include "sys/clock.h"
#include "sys/futex.h"
#include "sys/syscall.h"
#include "sys/thread.h"

#define SQPOLL_YIELD_EVERY 64 /* empty looks between two sched_yield() */
#define SQPOLL_ALIVE_NS    (100 * AU_NSEC_PER_MSEC)

struct au_sqpoll {
	struct au_ring *ring;
	uint64_t idle_ns;
	int cpu;
	uint32_t tid; /* futex: 0 until it has begun */
	bool stop; /* ring lock */
	uint32_t taken; /* futex: bumped when SQ slots were freed */
	uint32_t nr_waiting; /* threads in SQ_WAIT; ring lock */
};

/* Submits and runs what is there; false if nothing was. Lock held. */
static bool sqpoll_work(struct au_sqpoll *sp)
{
	struct au_ring *ring = sp->ring;
	bool any = false;

	if (au_sq_ready(ring)) {
		any = au_submit_sqes(ring, ring->sq_entries) > 0;
		if (sp->nr_waiting) {
			au_fetch_add(&sp->taken, 1);
			au_futex_wake(&sp->taken, INT_MAX);
		}
		if (au_unlikely(ring->common))
			au_common_wake(ring);
	}
	any |= au_ring_run(ring);
	return any;
}

static bool sqpoll_has_work(struct au_ring *ring)
{
	return au_sq_ready(ring) || !au_mpscq_empty(&ring->done) ||
	       au_load_relaxed(&ring->poller.nr_waiters) ||
	       au_aio_ready(ring) || !au_timers_idle(&ring->timers);
}

/* No housekeeper looks after those whose interrupt came too early. */
static uint64_t sqpoll_deadline(struct au_ring *ring)
{
	return au_workers_interrupt_again(ring) ?
		       au_now_ns() + AU_NSEC_PER_MSEC :
		       AU_NSEC_FOREVER;
}

/* Lock held. */
static void sqpoll_sleep(struct au_sqpoll *sp)
{
	struct au_ring *ring = sp->ring;

	au_fetch_or(&ring->shared->sq_flags, IORING_SQ_NEED_WAKEUP);
	/* pairs with the application's fence between tail and flags */
	au_fence_full();
	/* A disabled ring takes no SQE; enabling it wakes. */
	if ((ring->disabled || !au_sq_ready(ring)) && !sp->stop)
		(void)au_ring_sleep(ring, sqpoll_deadline(ring), NULL);
	au_fetch_and(&ring->shared->sq_flags, ~IORING_SQ_NEED_WAKEUP);
}

static void *sqpoll_main(void *arg)
{
	struct au_sqpoll *sp = arg;
	struct au_ring *ring = sp->ring;
	uint64_t last_work_ns = au_now_ns();
	unsigned int empty = 0;
	char name[16];

	au_store_release(&sp->tid, (uint32_t)au_gettid());
	au_futex_wake(&sp->tid, 1);
	snprintf(name, sizeof(name), "iou-sqp-%d", getpid());
	au_thread_name(name);
	if (sp->cpu >= 0)
		au_thread_pin(sp->cpu);

	au_ring_lock(ring);
	while (!sp->stop) {
		bool quiet;

		if (!ring->disabled && sqpoll_work(sp))
			last_work_ns = au_now_ns();
		quiet = ring->disabled ||
			au_now_ns() - last_work_ns >= sp->idle_ns;
		if (quiet) {
			sqpoll_sleep(sp);
			/* An SQE, not the sleep, starts the idle time anew. */
			if (au_sq_ready(ring))
				last_work_ns = au_now_ns();
			continue;
		}
		au_ring_release(ring);
		while (!sqpoll_has_work(ring)) {
			au_cpu_relax();
			if (++empty % SQPOLL_YIELD_EVERY)
				continue;
			sched_yield();
			if (au_load_relaxed(&sp->stop) ||
			    au_now_ns() - last_work_ns >= sp->idle_ns)
				break;
		}
		au_ring_lock(ring);
	}
	ring->sqpoll = NULL;
	ring->has_leader = false;
	au_fetch_add(&ring->cq_seq, 1);
	au_futex_wake(&ring->cq_seq, INT_MAX);
	au_ring_maybe_destroy(ring);
	au_ring_unlock(ring);
	free(sp);
	return NULL;
}

int au_sqpoll_start(struct au_ring *ring, uint32_t idle_ms, int cpu)
{
	struct au_sqpoll *sp = calloc(1, sizeof(*sp));
	int r;

	if (!sp)
		return -ENOMEM;
	sp->ring = ring;
	sp->cpu = cpu;
	sp->idle_ns = (idle_ms ? idle_ms : 1000) * AU_NSEC_PER_MSEC;
	au_ring_lock(ring);
	ring->sqpoll = sp;
	ring->has_leader = true;
	r = au_thread_start(sqpoll_main, sp);
	if (r < 0) {
		ring->sqpoll = NULL;
		ring->has_leader = false;
		free(sp);
	}
	au_ring_unlock(ring);
	/* Who forks then tells the child which thread that is. */
	while (r >= 0 && !au_load_acquire(&sp->tid))
		(void)au_futex_wait(&sp->tid, 0, NULL);
	return r;
}

int au_sqpoll_tid(const struct au_ring *ring)
{
	return ring->sqpoll ? (int)au_load_relaxed(&ring->sqpoll->tid) : 0;
}

static bool sq_full(struct au_ring *ring)
{
	return au_load_acquire(&ring->shared->sq_tail) - ring->sq_head >=
	       ring->sq_entries;
}

/* The thread is another process's: it is woken as any sleeper there is. */
static au_cold int sqpoll_enter_foreign(struct au_ring *ring,
					unsigned int flags)
{
	int r = 0;

	if (!au_common_sqpoll_alive(ring))
		return -EOWNERDEAD;
	if (flags & IORING_ENTER_SQ_WAKEUP)
		au_common_wake(ring);
	while ((flags & IORING_ENTER_SQ_WAIT) && sq_full(ring) && r >= 0) {
		if (!au_common_sqpoll_alive(ring))
			return -EOWNERDEAD;
		/* Its end raises no event: that is asked for from time to time. */
		r = au_ring_sleep(ring, au_now_ns() + SQPOLL_ALIVE_NS, NULL);
	}
	return 0;
}

int au_sqpoll_enter(struct au_ring *ring, unsigned int flags)
{
	struct au_sqpoll *sp = ring->sqpoll;

	if (au_unlikely(!sp))
		return sqpoll_enter_foreign(ring, flags);
	if (flags & IORING_ENTER_SQ_WAKEUP)
		au_ring_kick(ring);
	if (!(flags & IORING_ENTER_SQ_WAIT))
		return 0;
	/* nr_inside keeps the ring, and with it the thread, alive. */
	while (ring->sqpoll == sp && sq_full(ring)) {
		uint32_t taken = au_load_relaxed(&sp->taken);

		sp->nr_waiting++;
		au_ring_kick(ring);
		au_ring_release(ring);
		(void)au_futex_wait(&sp->taken, taken, NULL);
		au_ring_lock(ring);
		sp->nr_waiting--;
	}
	return 0;
}

void au_sqpoll_stop(struct au_ring *ring)
{
	au_store_relaxed(&ring->sqpoll->stop, true);
	au_ring_kick(ring);
}
