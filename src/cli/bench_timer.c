/* SPDX-License-Identifier: MIT */
/*
 * The suite timer: arming and cancelling a timeout while others are pending,
 * and how late a short one fires. The rival is a timerfd in an epoll set; as
 * many are armed as timeouts are pending, as long as descriptors last.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "cli/bench_ring.h"
#include "sys/clock.h"
#include "sys/syscall.h"

#define ENTRIES 512U
#define PAIRS   8U /* of timeout and removal in one submit */
#define HOUR    3600
/* Both engines' share of a million timeouts, with room to spare. */
#define MEMORY_NEEDED ((uint64_t)2 << 30)
#define MANY          1000000U

struct timers {
	struct bench_ring ring[BENCH_RIVAL];
	bool open[BENCH_RIVAL];
	int epoll;
	int *fd; /* the rival's pending ones, then the one measured */
	unsigned int nr_fds;
};

/* Somewhere in the second after an hour from now. */
static struct au_timespec far_away(uint64_t i)
{
	return (struct au_timespec){
		.tv_sec = HOUR,
		.tv_nsec = (long long)(i * 7919 * 7919 % AU_NSEC_PER_SEC),
	};
}

/* Arms the pending timeouts, whose CQEs never come. */
static bool arm_pending(struct bench_job *job, struct bench_ring *r)
{
	struct au_timespec ts[ENTRIES];
	unsigned int left = job->c->arg;

	while (left) {
		unsigned int nr = au_min_u32(left, ENTRIES);

		for (unsigned int i = 0; i < nr; i++, r->next++) {
			ts[i] = far_away(r->next);
			bench_prep(bench_ring_sqe(r), IORING_OP_TIMEOUT, -1,
				   &ts[i], 1, 0, r->next);
		}
		if (r->b->submit(&r->io) != (int)nr)
			return bench_bad(job, r->b, "cannot arm %u timeouts",
					 job->c->arg);
		left -= nr;
	}
	if (bench_ring_ready(r))
		return bench_ring_wrong(job, r, bench_ring_cqe(r, 0), 0);
	return true;
}

/*
 * A pair is a timeout and the removal of it; either may complete first, the
 * timeout with ECANCELED.
 */
static bool pairs_reap(struct bench_job *job, struct bench_ring *r)
{
	uint64_t base = r->next - 2 * (uint64_t)PAIRS;
	uint32_t seen = 0;

	for (unsigned int i = 0; i < 2 * PAIRS; i++) {
		const struct io_uring_cqe *cqe = bench_ring_cqe(r, i);
		uint64_t n = cqe->user_data - base;
		int res = n & 1 ? 0 : -ECANCELED;

		if (au_unlikely(n >= 2 * PAIRS || seen & (1U << n) ||
				cqe->res != res))
			return bench_ring_wrong(job, r, cqe, res);
		seen |= 1U << n;
	}
	bench_ring_advance(r, 2 * PAIRS);
	return true;
}

static bool pairs_turn(struct bench_job *job, struct bench_ring *r)
{
	struct au_timespec ts[PAIRS];

	for (unsigned int i = 0; i < PAIRS; i++) {
		uint64_t timeout = r->next++;

		ts[i] = far_away(timeout);
		bench_prep(bench_ring_sqe(r), IORING_OP_TIMEOUT, -1, &ts[i], 1,
			   0, timeout);
		bench_prep(bench_ring_sqe(r), IORING_OP_TIMEOUT_REMOVE, -1,
			   au_ptr(timeout), 0, 0, r->next++);
	}
	return bench_ring_submit(job, r, 2 * PAIRS) && pairs_reap(job, r);
}

static double timer_cancel(struct bench_job *job, const struct bench_backend *b)
{
	struct timers *t = job->state;
	struct bench_ring *r = &t->ring[b->is];
	uint64_t start, now, done = 0;

	/* Arming many takes its time: once, before the first slice. */
	if (!t->open[b->is]) {
		if (!bench_ring_open(job, r, b, ENTRIES, 0))
			return -1;
		t->open[b->is] = true;
		r->next = 1;
		if (!arm_pending(job, r))
			return -1;
	}
	if (job->c->arg < MANY && !pairs_turn(job, r))
		return -1;
	start = au_now_ns();
	do {
		if (!pairs_turn(job, r))
			return -1;
		done += PAIRS;
		now = au_now_ns();
	} while (now - start < job->slice_ns);
	return (double)done * 1e9 / (double)(now - start);
}

/* Lateness: in microseconds of the timeout, in nanoseconds of the answer. */

#define LATE_SAMPLES 20000U

static bool late_once(struct bench_job *job, struct bench_ring *r, double *ns)
{
	uint64_t wanted = job->c->arg * AU_NSEC_PER_USEC;
	struct au_timespec ts = { .tv_nsec = (long long)wanted };
	uint64_t start = au_now_ns();

	bench_prep(bench_ring_sqe(r), IORING_OP_TIMEOUT, -1, &ts, 1, 0,
		   r->next++);
	if (!bench_ring_submit(job, r, 1))
		return false;
	*ns = (double)(au_now_ns() - start) - (double)wanted;
	if (*ns < 0)
		return bench_bad(job, r->b, "a timeout was early by %.0f ns",
				 -*ns);
	return bench_ring_reap(job, r, 1, -ETIME);
}

static double late_ring(struct bench_job *job, const struct bench_backend *b)
{
	double *ns = calloc(LATE_SAMPLES, sizeof(*ns)), p50 = -1;
	unsigned int nr = 0;
	struct bench_ring r;
	bool ok = true;
	uint64_t end;

	if (!ns)
		return bench_fail(job, "no memory");
	if (!bench_ring_open(job, &r, b, 8, 0))
		goto out_free;
	end = au_now_ns() + job->slice_ns;
	while (ok && nr < LATE_SAMPLES && (!nr || au_now_ns() < end))
		ok = late_once(job, &r, &ns[nr++]);
	if (ok)
		p50 = bench_median(ns, nr);
	bench_ring_close(&r);
out_free:
	free(ns);
	return p50;
}

/* The rival */

static struct itimerspec in_ns(uint64_t ns)
{
	return (struct itimerspec){
		.it_value = { (time_t)(ns / AU_NSEC_PER_SEC),
			      (long)(ns % AU_NSEC_PER_SEC) },
	};
}

static int rival_timer(struct timers *t, uint64_t ns)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct itimerspec in = in_ns(ns);
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		return -1;
	t->fd[t->nr_fds++] = fd;
	if (epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &ev) ||
	    (ns && timerfd_settime(fd, 0, &in, NULL)))
		return -1;
	return fd;
}

/* The usual soft limit is just too small for 1 000 of them. */
static void raise_open_files(void)
{
	struct rlimit lim;

	if (!getrlimit(RLIMIT_NOFILE, &lim)) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

/* The descriptor to measure, with the pending ones armed; -1 on failure. */
static int rival_open(struct bench_job *job)
{
	struct timers *t = job->state;
	unsigned int pending = job->c->less ? 0 : job->c->arg;

	if (t->nr_fds)
		return t->fd[t->nr_fds - 1];
	raise_open_files();
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	t->fd = calloc(pending + 1, sizeof(*t->fd));
	if (t->epoll < 0 || !t->fd)
		return -1;
	for (unsigned int i = 0; i < pending; i++) {
		if (rival_timer(t, HOUR * AU_NSEC_PER_SEC + i) < 0)
			return -1;
	}
	return rival_timer(t, 0);
}

static double rival_cancel(struct bench_job *job)
{
	struct itimerspec on = in_ns(HOUR * AU_NSEC_PER_SEC), off = in_ns(0);
	uint64_t start, now, done = 0;
	int fd = rival_open(job);

	if (fd < 0)
		return bench_fail(job, "timerfd: no descriptor");
	start = au_now_ns();
	do {
		for (unsigned int i = 0; i < PAIRS; i++) {
			if (timerfd_settime(fd, 0, &on, NULL) ||
			    timerfd_settime(fd, 0, &off, NULL))
				return bench_fail(job, "timerfd: refused");
		}
		done += PAIRS;
		now = au_now_ns();
	} while (now - start < job->slice_ns);
	return (double)done * 1e9 / (double)(now - start);
}

/* A ring that the kernel tidies up behind the last slice interrupts waits. */
static bool rival_fired(const struct timers *t, int fd)
{
	struct epoll_event ev;
	uint64_t fired = 0;
	long n;

	do
		n = au_syscall(SYS_epoll_wait, t->epoll, &ev, 1, -1);
	while (n == -EINTR);
	return n == 1 && read(fd, &fired, sizeof(fired)) == sizeof(fired) &&
	       fired == 1;
}

static double rival_late(struct bench_job *job)
{
	double *ns = calloc(LATE_SAMPLES, sizeof(*ns)), p50 = -1;
	uint64_t wanted = job->c->arg * AU_NSEC_PER_USEC;
	struct timers *t = job->state;
	int fd = rival_open(job);
	unsigned int nr = 0;
	uint64_t end;

	if (fd < 0 || !ns) {
		bench_fail(job, "timerfd: no descriptor");
		goto out_free;
	}
	end = au_now_ns() + job->slice_ns;
	while (nr < LATE_SAMPLES && (!nr || au_now_ns() < end)) {
		struct itimerspec in = in_ns(wanted);
		uint64_t start = au_now_ns();

		if (timerfd_settime(fd, 0, &in, NULL) || !rival_fired(t, fd)) {
			bench_fail(job, "timerfd: did not fire once");
			goto out_free;
		}
		ns[nr++] = (double)(au_now_ns() - start) - (double)wanted;
	}
	p50 = bench_median(ns, nr);
out_free:
	free(ns);
	return p50;
}

static bool timer_open(struct bench_job *job)
{
	struct timers *t;

	if (!job->c->less && job->c->arg >= MANY) {
		uint64_t free_bytes = (uint64_t)sysconf(_SC_AVPHYS_PAGES) *
				      (uint64_t)sysconf(_SC_PAGESIZE);

		if (free_bytes < MEMORY_NEEDED) {
			bench_fail(job, "needs 2 GiB of free memory");
			return false;
		}
	}
	t = calloc(1, sizeof(*t));
	if (!t) {
		bench_fail(job, "no memory");
		return false;
	}
	t->epoll = -1;
	job->state = t;
	return true;
}

static void timer_close(struct bench_job *job)
{
	struct timers *t = job->state;

	for (int i = 0; i < BENCH_RIVAL; i++) {
		if (t->open[i])
			bench_ring_close(&t->ring[i]);
	}
	while (t->nr_fds)
		close(t->fd[--t->nr_fds]);
	if (t->epoll >= 0)
		close(t->epoll);
	free(t->fd);
	free(t);
}

#define CANCEL_CASE(key, title, pending, name, rival)                  \
	{                                                              \
		"timer", key, title, false, pending, name, timer_open, \
			timer_cancel, rival, timer_close               \
	}

/* The largest last: the kernel tidies up behind it for a while. */
const struct bench_case bench_timer_cases[] = {
	{ "timer", "timer_lateness", "lateness of 100 us, p50", true, 100,
	  "timerfd", timer_open, late_ring, rival_late, timer_close },
	CANCEL_CASE("timer_cancel_0", "arm and cancel, none pending", 0,
		    "timerfd", rival_cancel),
	CANCEL_CASE("timer_cancel_1k", "arm and cancel, 1 000 pending", 1000,
		    "timerfd", rival_cancel),
	CANCEL_CASE("timer_cancel_100k", "arm and cancel, 100 000 pending",
		    100000, NULL, NULL),
	CANCEL_CASE("timer_cancel_1m", "arm and cancel, 1 000 000 pending",
		    MANY, NULL, NULL),
	{ .suite = NULL },
};
