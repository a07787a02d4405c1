/* SPDX-License-Identifier: MIT */
/*
 * A pool a ring: two queues, and threads that take from either. A thread is
 * started when work arrives and none is idle, up to the kind's limit, and
 * leaves after WORKER_IDLE without work.
 *
 * Lock order: the ring's lock, then the pool's. A worker takes the pool's lock
 * to get work, none while it works, and only tries the ring's.
 */
#include "core/workers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "core/issue.h"
#include "core/ring.h"
#include "sys/clock.h"
#include "sys/futex.h"
#include "sys/syscall.h"
#include "sys/thread.h"

#define WORKER_IDLE         (5 * AU_NSEC_PER_SEC)
#define WORKERS_PER_CPU     4 /* bounded: as io-wq */
#define WORKERS_UNBOUND_MAX 4096

struct au_worker {
	struct au_list node; /* in the pool */
	struct au_workers *pool;
	struct au_req *req; /* running; pool lock */
	pid_t tid;
	enum au_work_kind kind; /* of req */
};

struct work_queue {
	struct au_list reqs; /* of au_req.queued */
	uint32_t nr_running, max;
};

struct au_workers {
	struct au_lock lock;
	struct au_ring *ring; /* NULL: the ring is gone, leave */
	struct work_queue queue[AU_WORK_LAST];
	struct au_list workers;
	uint32_t nr, nr_idle;
	uint32_t nr_starting; /* of nr, have not looked for work yet */
	uint32_t nr_parked; /* requests queued or running; ring lock */
	uint32_t nr_interrupted; /* cancelled while running */
	uint32_t work_seq; /* futex: bumped when work arrives */
	bool has_affinity;
	unsigned long affinity[16];
};

static struct au_workers *pool_new(struct au_ring *ring)
{
	struct au_workers *p = calloc(1, sizeof(*p));
	struct rlimit lim = { .rlim_cur = 1024 };

	if (!p)
		return NULL;
	(void)au_syscall(SYS_prlimit64, 0, RLIMIT_NPROC, NULL, &lim);
	p->ring = ring;
	au_list_init(&p->workers);
	for (int k = 0; k < AU_WORK_LAST; k++)
		au_list_init(&p->queue[k].reqs);
	p->queue[AU_WORK_BOUND].max = au_min_u32(
		ring->sq_entries,
		WORKERS_PER_CPU * (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
	p->queue[AU_WORK_UNBOUND].max =
		(uint32_t)au_min_u64(lim.rlim_cur, WORKERS_UNBOUND_MAX);
	return p;
}

static struct au_workers *pool_get(struct au_ring *ring)
{
	if (!ring->workers)
		ring->workers = pool_new(ring);
	return ring->workers;
}

/* The next request that a limit allows to run. Pool lock held. */
static struct au_req *pool_take(struct au_workers *p, struct au_worker *w)
{
	for (int k = 0; k < AU_WORK_LAST; k++) {
		struct work_queue *q = &p->queue[k];
		struct au_req *req;

		if (au_list_empty(&q->reqs) || q->nr_running >= q->max)
			continue;
		req = au_container_of(q->reqs.next, struct au_req, queued);
		au_list_del(&req->queued);
		req->worker = w;
		q->nr_running++;
		w->req = req;
		w->kind = (enum au_work_kind)k;
		return req;
	}
	return NULL;
}

/* Hands a finished request back; the pool's lock is not held. */
static void worker_post(struct au_workers *p, struct au_ring *ring,
			struct au_req *req)
{
	if (au_ring_hand_back(ring, req))
		return;
	/* A ring cannot let go of its poller while its pool is locked. */
	au_lock(&p->lock);
	if (p->ring == ring)
		au_ring_kick(ring);
	au_unlock(&p->lock);
}

static void worker_run(struct au_workers *p, struct au_worker *w)
{
	struct au_req *req = w->req;
	struct au_ring *ring = p->ring;

	au_unlock(&p->lock);
	au_req_run_in_worker(req);
	au_lock(&p->lock);
	p->queue[w->kind].nr_running--;
	w->req = NULL;
	au_unlock(&p->lock);
	worker_post(p, ring, req);
	au_lock(&p->lock);
}

/* Pool lock held. False: idle for too long, and nothing came at the end. */
static bool worker_wait(struct au_workers *p)
{
	uint64_t deadline = au_now_ns() + WORKER_IDLE;
	struct timespec ts = { .tv_sec = (time_t)(deadline / AU_NSEC_PER_SEC),
			       .tv_nsec = (long)(deadline % AU_NSEC_PER_SEC) };
	uint32_t seq = p->work_seq;
	int r;

	p->nr_idle++;
	au_unlock(&p->lock);
	r = au_futex_wait(&p->work_seq, seq, &ts);
	au_lock(&p->lock);
	p->nr_idle--;
	return r != -ETIMEDOUT || p->work_seq != seq;
}

static void *worker_main(void *arg);

/* Pool lock held. */
static int pool_spawn(struct au_workers *p)
{
	struct au_worker *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->pool = p;
	au_list_add_tail(&p->workers, &w->node);
	p->nr++;
	p->nr_starting++;
	r = au_thread_start(worker_main, w);
	if (r < 0) {
		p->nr--;
		p->nr_starting--;
		au_list_del(&w->node);
		free(w);
	}
	return r;
}

/*
 * Several requests may count on the one worker that is idle or starting: when
 * it comes and takes one, it sees to it that the others are not left behind.
 */
static void pool_share(struct au_workers *p)
{
	if (p->nr_idle || p->nr_starting)
		return;
	for (int k = 0; k < AU_WORK_LAST; k++) {
		struct work_queue *q = &p->queue[k];

		if (au_list_empty(&q->reqs) || q->nr_running >= q->max)
			continue;
		/* Failing that, the work is done one by one. */
		(void)!pool_spawn(p);
		return;
	}
}

static void *worker_main(void *arg)
{
	struct au_worker *w = arg;
	struct au_workers *p = w->pool;
	int sig = au_interrupt_signal();
	bool last;
	char name[16];

	snprintf(name, sizeof(name), "iou-wrk-%d", getpid());
	au_thread_name(name);
	if (sig > 0)
		au_thread_interruptible(sig);
	au_lock(&p->lock);
	w->tid = (pid_t)au_syscall(SYS_gettid);
	p->nr_starting--;
	if (p->has_affinity)
		(void)au_thread_affinity(0, p->affinity, sizeof(p->affinity));
	for (;;) {
		if (pool_take(p, w)) {
			pool_share(p);
			worker_run(p, w);
		} else if (!p->ring || !worker_wait(p)) {
			break;
		}
	}
	au_list_del(&w->node);
	last = !--p->nr && !p->ring;
	au_unlock(&p->lock);
	free(w);
	if (last)
		free(p);
	return NULL;
}

int au_workers_queue(struct au_ring *ring, struct au_req *req,
		     enum au_work_kind kind)
{
	struct au_workers *p = pool_get(ring);
	struct work_queue *q;
	bool wake;
	int r;

	if (!p)
		return -ENOMEM;
	r = au_req_park(ring, req, AU_AT_WORKERS);
	if (r < 0)
		return r;
	req->worker = NULL;
	q = &p->queue[kind];
	au_lock(&p->lock);
	au_list_add_tail(&q->reqs, &req->queued);
	p->nr_parked++;
	p->work_seq++;
	wake = p->nr_idle;
	if (!wake && !p->nr_starting && q->nr_running < q->max)
		r = pool_spawn(p);
	/* Somebody there will come to it; with nobody there, it fails. */
	if (r < 0 && !p->nr) {
		au_list_del(&req->queued);
		p->nr_parked--;
	} else {
		r = 0;
	}
	au_unlock(&p->lock);
	if (r < 0)
		au_req_unpark(ring, req);
	else if (wake)
		au_futex_wake(&p->work_seq, 1);
	return r;
}

void au_workers_returned(struct au_ring *ring, struct au_req *req)
{
	ring->workers->nr_parked--;
	if (req->cancelled)
		ring->workers->nr_interrupted--;
}

bool au_workers_busy(struct au_ring *ring)
{
	return ring->workers && ring->workers->nr_parked;
}

static void worker_interrupt(const struct au_worker *w)
{
	int sig = au_interrupt_signal();

	if (sig > 0 && w->tid)
		(void)au_thread_interrupt(w->tid, sig);
}

int au_workers_cancel(struct au_ring *ring, struct au_req *req)
{
	struct au_workers *p = ring->workers;
	int r = 0;

	au_lock(&p->lock);
	if (!req->worker) {
		au_list_del(&req->queued);
		p->nr_parked--;
	} else {
		r = -EALREADY;
		if (!req->cancelled) {
			req->cancelled = true;
			p->nr_interrupted++;
		}
		if (req->worker->req == req)
			worker_interrupt(req->worker);
	}
	au_unlock(&p->lock);
	return r;
}

bool au_workers_interrupt_again(struct au_ring *ring)
{
	struct au_workers *p = ring->workers;
	struct au_list *pos;

	if (!p || !p->nr_interrupted)
		return false;
	/* A signal that came just before the system call did nothing. */
	au_lock(&p->lock);
	for (pos = p->workers.next; pos != &p->workers; pos = pos->next) {
		struct au_worker *w =
			au_container_of(pos, struct au_worker, node);

		if (w->req && w->req->cancelled)
			worker_interrupt(w);
	}
	au_unlock(&p->lock);
	return true;
}

void au_workers_fd_closing(struct au_ring *ring, int fd)
{
	struct au_workers *p = ring->workers;

	if (!au_workers_busy(ring))
		return;
	au_lock(&p->lock);
	for (int k = 0; k < AU_WORK_LAST; k++) {
		struct au_list *pos;

		for (pos = p->queue[k].reqs.next; pos != &p->queue[k].reqs;
		     pos = pos->next)
			au_req_keep_fd(au_container_of(pos, struct au_req,
						       queued),
				       fd);
	}
	au_unlock(&p->lock);
}

void au_workers_destroy(struct au_ring *ring)
{
	struct au_workers *p = ring->workers;
	bool last;

	if (!p)
		return;
	ring->workers = NULL;
	au_lock(&p->lock);
	p->ring = NULL;
	p->work_seq++;
	last = !p->nr;
	au_unlock(&p->lock);
	if (last)
		free(p);
	else
		au_futex_wake(&p->work_seq, (int)WORKERS_UNBOUND_MAX);
}

int au_workers_limits(struct au_ring *ring, uint32_t limits[AU_WORK_LAST])
{
	struct au_workers *p = pool_get(ring);

	if (!p)
		return -ENOMEM;
	au_lock(&p->lock);
	for (int k = 0; k < AU_WORK_LAST; k++) {
		uint32_t old = p->queue[k].max;

		if (limits[k])
			p->queue[k].max = limits[k];
		limits[k] = old;
	}
	au_unlock(&p->lock);
	return 0;
}

int au_workers_affinity(struct au_ring *ring, const void *mask, size_t size)
{
	struct au_workers *p = pool_get(ring);
	struct au_list *pos;
	int r = 0;

	if (!p)
		return -ENOMEM;
	au_lock(&p->lock);
	memset(p->affinity, mask ? 0 : 0xff, sizeof(p->affinity));
	if (mask)
		memcpy(p->affinity, mask,
		       size < sizeof(p->affinity) ? size : sizeof(p->affinity));
	p->has_affinity = mask;
	for (pos = p->workers.next; pos != &p->workers; pos = pos->next) {
		struct au_worker *w =
			au_container_of(pos, struct au_worker, node);

		if (w->tid)
			r = au_thread_affinity(w->tid, p->affinity,
					       sizeof(p->affinity));
	}
	au_unlock(&p->lock);
	return r;
}
