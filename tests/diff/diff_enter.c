/* SPDX-License-Identifier: MIT */
/* Description: io_uring_enter(2): flags, arguments, waiting, signals. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>
#include "diff.h"

static void flag_matrix(struct diff *d)
{
	struct ring r;

	ring_open(d, &r, 4, 0);
	for (int i = 0; i < 32; i++) {
		for (int j = i; j < 32; j++) {
			unsigned int f = 1U << i | 1U << j;

			/* Says something else with each argument: below. */
			if (f &
			    (IORING_ENTER_REGISTERED_RING |
			     IORING_ENTER_EXT_ARG_REG | IORING_ENTER_NO_IOWAIT))
				continue;
			diff_res(d, ring_enter(&r, 0, 0, f), "flags %#x", f);
		}
	}
	diff_want(d, ring_enter(&r, 0, 0, ~0U), -EINVAL, "all flags");
	ring_close(&r);
}

static void bad_descriptors(struct diff *d)
{
	int p[2];

	diff_pipe(d, p);
	diff_want(d, d->be->enter((unsigned int)-1, 0, 0, 0, NULL, 0), -EBADF,
		  "-1");
	diff_want(d, d->be->enter(9999, 0, 0, 0, NULL, 0), -EBADF, "9999");
	diff_want(d, d->be->enter((unsigned int)p[0], 0, 0, 0, NULL, 0),
		  -EOPNOTSUPP, "pipe");
	diff_want(d,
		  d->be->enter((unsigned int)p[0], 1, 1, IORING_ENTER_GETEVENTS,
			       NULL, 0),
		  -EOPNOTSUPP, "pipe, submit");
	diff_want(d, d->be->enter((unsigned int)p[0], 0, 0, 1U << 20, NULL, 0),
		  -EINVAL, "pipe, bad flags");
	for (unsigned int i = 0; i < 20; i++)
		diff_res(d,
			 d->be->enter(i, 0, 0, IORING_ENTER_REGISTERED_RING,
				      NULL, 0),
			 "index %u", i);
	close(p[0]);
	close(p[1]);
}

static void counts(struct diff *d)
{
	struct ring r;

	ring_open(d, &r, 4, 0);
	diff_want(d, ring_enter(&r, 1, 0, 0), 0, "submit 1 of 0");
	diff_want(d, ring_enter(&r, ~0U, 0, 0), 0, "submit ~0 of 0");
	diff_res(d, ring_enter(&r, 1, 1, IORING_ENTER_GETEVENTS),
		 "submit 1 of 0 and wait");
	ring_nop(&r);
	ring_nop(&r);
	__atomic_store_n(r.sq_tail, r.tail, __ATOMIC_RELEASE);
	diff_want(d, ring_enter(&r, 1, 0, 0), 1, "submit 1 of 2");
	diff_want(d, ring_enter(&r, 100, 0, 0), 1, "submit 100 of 1");
	ring_settle(&r, RING_ORDER);
	/* More than all wait for what the CQ holds. */
	for (int i = 0; i < 4; i++)
		ring_nop(&r);
	ring_submit(&r);
	for (int i = 0; i < 4; i++)
		ring_nop(&r);
	ring_submit(&r);
	diff_want(d, ring_enter(&r, 0, 1000, IORING_ENTER_GETEVENTS), 0,
		  "wait for 1000");
	ring_reap(&r, RING_ORDER);
	diff_res(d, ring_enter(&r, 0, 5, 0), "min without GETEVENTS");
	/* A tail that runs away is bounded. */
	__atomic_store_n(r.sq_tail, r.tail + 1000, __ATOMIC_RELEASE);
	ring_nop(&r);
	memset(r.sqes, 0, r.sqes_len);
	diff_res(d, ring_enter(&r, 2000, 0, 0), "submit 2000 of 1000");
	diff_say(d, "head moved by %u",
		 __atomic_load_n(r.sq_head, __ATOMIC_ACQUIRE) - (r.tail - 1));
	diff_say(d, "%u CQEs", ring_settle(&r, RING_QUIET));
	ring_close(&r);
}

static void sigmask_argument(struct diff *d)
{
	static const size_t sizes[] = { 0, 1, 4, 8, 16, 128 };
	sigset_t set;
	struct ring r;

	sigemptyset(&set);
	ring_open(d, &r, 4, 0);
	for (size_t i = 0; i < AU_ARRAY_SIZE(sizes); i++) {
		for (int ready = 0; ready < 2; ready++) {
			unsigned int fd = (unsigned int)r.fd;
			size_t n = sizes[i];

			if (ready) {
				ring_nop(&r);
				ring_submit(&r);
			}
			diff_res(d,
				 d->be->enter(fd, 0, ready ? 1 : 0, 1, &set, n),
				 "size %zu", n);
			diff_res(d,
				 d->be->enter(fd, 0, ready ? 1 : 0, 1,
					      diff_bad_ptr(), n),
				 "bad pointer, size %zu", n);
			diff_res(d,
				 d->be->enter(fd, 0, ready ? 1 : 0, 1, NULL, n),
				 "NULL, size %zu", n);
			diff_res(d,
				 d->be->enter(fd, 0, 0, 0, diff_bad_ptr(), n),
				 "not looked at, size %zu", n);
			ring_settle(&r, RING_QUIET);
		}
	}
	ring_close(&r);
}

static void ext_argument(struct diff *d)
{
	static const size_t sizes[] = { 0, 8, 23, 24, 25, 64 };
	static const uint32_t masks[] = { 0, 1, 7, 8, 9, 128 };
	struct io_uring_getevents_arg arg;
	struct au_timespec ts = { 0 };
	unsigned int fd;
	sigset_t set;
	struct ring r;

	sigemptyset(&set);
	ring_open(d, &r, 4, 0);
	fd = (unsigned int)r.fd;
	for (size_t i = 0; i < AU_ARRAY_SIZE(sizes); i++) {
		memset(&arg, 0, sizeof(arg));
		diff_res(d,
			 d->be->enter(fd, 0, 0, 1 | IORING_ENTER_EXT_ARG, &arg,
				      sizes[i]),
			 "size %zu", sizes[i]);
		diff_res(d,
			 d->be->enter(fd, 0, 0, 1 | IORING_ENTER_EXT_ARG, NULL,
				      sizes[i]),
			 "NULL, size %zu", sizes[i]);
		diff_res(d,
			 d->be->enter(fd, 0, 0, 1 | IORING_ENTER_EXT_ARG,
				      diff_bad_ptr(), sizes[i]),
			 "bad, size %zu", sizes[i]);
		diff_res(d,
			 d->be->enter(fd, 0, 0, IORING_ENTER_EXT_ARG, NULL,
				      sizes[i]),
			 "not waiting, size %zu", sizes[i]);
	}
	for (size_t i = 0; i < AU_ARRAY_SIZE(masks); i++) {
		for (int p = 0; p < 3; p++) {
			memset(&arg, 0, sizeof(arg));
			arg.sigmask_sz = masks[i];
			arg.sigmask = p == 0 ? 0 :
				      p == 1 ? (uintptr_t)&set :
					       (uintptr_t)diff_bad_ptr();
			diff_res(d,
				 d->be->enter(fd, 0, 0, 9, &arg, sizeof(arg)),
				 "sigmask size %u pointer %d", masks[i], p);
		}
	}
	for (int p = 0; p < 6; p++) {
		static const struct au_timespec bad[] = { { 0, 0 },
							  { -1, 0 },
							  { 0, -1 },
							  { 0, 1000000000 },
							  { -5, 2000000000 } };
		memset(&arg, 0, sizeof(arg));
		ts = bad[p % 5];
		arg.ts = p == 5 ? (uintptr_t)diff_bad_ptr() : (uintptr_t)&ts;
		if (p == 3)
			continue;
		diff_res(d, d->be->enter(fd, 0, 1, 9, &arg, sizeof(arg)),
			 "timespec %d", p);
		diff_res(d, d->be->enter(fd, 0, 0, 9, &arg, sizeof(arg)),
			 "timespec %d, wait for none", p);
	}
	ring_close(&r);
}

static void wait_times_out(struct diff *d)
{
	struct ring r;
	uint64_t t;

	ring_open(d, &r, 4, 0);
	t = diff_now_ms();
	diff_want(d, ring_timed_wait(&r, 1, 30), -ETIME, "30 ms");
	t = diff_now_ms() - t;
	diff_say(d, "in time: %d", t >= 29 && t < 300 * d->scale);
	ring_nop(&r);
	ring_submit(&r);
	/* One is there, two are wanted: what is there is no error. */
	diff_res(d, ring_timed_wait(&r, 2, 10), "1 of 2");
	ring_reap(&r, RING_ORDER);
	diff_want(d, ring_timed_wait(&r, 1, 0), -ETIME, "0 ms");
	ring_close(&r);
}

static void submit_and_timed_wait(struct diff *d)
{
	struct au_timespec ts = { .tv_nsec = 10000000 };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	struct ring r;

	ring_open(d, &r, 4, 0);
	ring_nop(&r);
	__atomic_store_n(r.sq_tail, r.tail, __ATOMIC_RELEASE);
	diff_want(d,
		  d->be->enter((unsigned int)r.fd, 1, 2, 9, &arg, sizeof(arg)),
		  1, "submit 1, wait for 2");
	ring_reap(&r, RING_ORDER);
	ring_close(&r);
}

static void absolute_wait(struct diff *d)
{
	struct au_timespec ts;
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	struct timespec now;
	struct ring r;

	ring_open(d, &r, 4, 0);
	clock_gettime(CLOCK_MONOTONIC, &now);
	ts.tv_sec = now.tv_sec;
	ts.tv_nsec = now.tv_nsec;
	diff_want(d,
		  d->be->enter((unsigned int)r.fd, 0, 1, 9 | 32, &arg,
			       sizeof(arg)),
		  -ETIME, "now");
	ts.tv_sec = 0;
	diff_want(d,
		  d->be->enter((unsigned int)r.fd, 0, 1, 9 | 32, &arg,
			       sizeof(arg)),
		  -ETIME, "long ago");
	ring_close(&r);
}

static void *late_write(void *arg)
{
	usleep(20000);
	(void)!write(*(int *)arg, "x", 1);
	return NULL;
}

static void min_wait(struct diff *d)
{
	struct au_timespec ts = { .tv_nsec = 400000000 };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts,
					      .min_wait_usec = 10000 };
	unsigned int fd;
	struct ring r;
	pthread_t th;
	char c[2];
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 4, 0);
	fd = (unsigned int)r.fd;
	diff_want(d, d->be->enter(fd, 0, 4, 9, &arg, sizeof(arg)), -ETIME,
		  "nothing");
	ring_nop(&r);
	ring_submit(&r);
	diff_res(d, d->be->enter(fd, 0, 4, 9, &arg, sizeof(arg)), "one there");
	ring_reap(&r, RING_ORDER);
	ring_sqe(&r, IORING_OP_READ, p[0], c, 1, 0);
	ring_submit(&r);
	pthread_create(&th, NULL, late_write, &p[1]);
	diff_res(d, d->be->enter(fd, 0, 4, 9, &arg, sizeof(arg)),
		 "one after the minimum");
	pthread_join(th, NULL);
	ring_settle(&r, RING_ORDER);
	/* The minimum is longer than the whole. */
	arg.min_wait_usec = 30000;
	ts.tv_nsec = 1000000;
	diff_res(d, d->be->enter(fd, 0, 1, 9, &arg, sizeof(arg)),
		 "minimum above total");
	/* Without a timespec it is not looked at, or is it? */
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static void on_signal(int sig)
{
}

static void *late_signal(void *arg)
{
	usleep(20000);
	pthread_kill(*(pthread_t *)arg, SIGUSR1);
	return NULL;
}

static void interrupted(struct diff *d)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pthread_t self = pthread_self(), th;
	struct ring r;

	ring_open(d, &r, 4, 0);
	for (int restart = 0; restart < 2; restart++) {
		sa.sa_flags = restart ? SA_RESTART : 0;
		sigaction(SIGUSR1, &sa, NULL);
		pthread_create(&th, NULL, late_signal, &self);
		diff_want(d, ring_enter(&r, 0, 1, IORING_ENTER_GETEVENTS),
			  -EINTR, "restart %d", restart);
		pthread_join(th, NULL);
	}
	ring_close(&r);
}

static void interrupted_after_submit(struct diff *d)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pthread_t self = pthread_self(), th;
	struct ring r;

	sigaction(SIGUSR1, &sa, NULL);
	ring_open(d, &r, 4, 0);
	/* Something was submitted: that is the answer. */
	ring_nop(&r);
	__atomic_store_n(r.sq_tail, r.tail, __ATOMIC_RELEASE);
	pthread_create(&th, NULL, late_signal, &self);
	diff_want(d, ring_enter(&r, 1, 2, IORING_ENTER_GETEVENTS), 1,
		  "submit and wait");
	pthread_join(th, NULL);
	/* One CQE is there, two are waited for. */
	pthread_create(&th, NULL, late_signal, &self);
	diff_res(d, ring_enter(&r, 0, 2, IORING_ENTER_GETEVENTS), "1 of 2");
	pthread_join(th, NULL);
	ring_reap(&r, RING_ORDER);
	ring_close(&r);
}

/* The mask lets a pending signal through only while waiting. */
static void sigmask_lets_in(struct diff *d)
{
	struct sigaction sa = { .sa_handler = on_signal };
	sigset_t block, none;
	struct ring r;

	sigaction(SIGUSR1, &sa, NULL);
	sigemptyset(&none);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	ring_open(d, &r, 4, 0);
	pthread_sigmask(SIG_BLOCK, &block, NULL);
	raise(SIGUSR1);
	diff_want(d, ring_timed_wait(&r, 1, 10), -ETIME, "blocked");
	diff_want(d,
		  d->be->enter((unsigned int)r.fd, 0, 1, IORING_ENTER_GETEVENTS,
			       &none, 8),
		  -EINTR, "let in");
	/* Blocked by the mask, open outside. */
	pthread_sigmask(SIG_UNBLOCK, &block, NULL);
	ring_close(&r);
}

static void disabled_ring(struct diff *d)
{
	unsigned int fd;
	struct ring r;

	ring_open(d, &r, 4, IORING_SETUP_R_DISABLED);
	fd = (unsigned int)r.fd;
	ring_nop(&r);
	diff_want(d, ring_submit(&r), -EBADFD, "disabled");
	diff_want(d, ring_enter(&r, 0, 0, IORING_ENTER_GETEVENTS), -EBADFD,
		  "get events");
	diff_want(d, ring_enter(&r, 0, 0, 0), -EBADFD, "nothing");
	diff_want(d, d->be->reg(fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0), 0,
		  "enable");
	diff_want(d, d->be->reg(fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0),
		  -EBADFD, "enable again");
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
}

struct other {
	struct ring *r;
	struct diff *d;
	int submit, wait, plain, reg;
};

static void *other_thread(void *arg)
{
	struct other *o = arg;
	int fd = -1;

	/* An SQPOLL thread may be asleep by now, or not yet. */
	o->submit = ring_enter(o->r, 1, 0, IORING_ENTER_SQ_WAKEUP);
	o->wait = ring_enter(o->r, 0, 0, IORING_ENTER_GETEVENTS);
	o->plain = ring_enter(o->r, 0, 0, 0);
	o->reg = o->d->be->reg((unsigned int)o->r->fd, IORING_REGISTER_FILES,
			       &fd, 1);
	return NULL;
}

/* SINGLE_ISSUER: what another thread may do. */
static void another_thread(struct diff *d)
{
	static const uint32_t flags[] = {
		0, IORING_SETUP_SINGLE_ISSUER,
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_R_DISABLED,
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_SQPOLL
	};

	for (size_t i = 0; i < AU_ARRAY_SIZE(flags); i++) {
		struct other o = { .d = d };
		struct ring r;
		pthread_t th;

		ring_open(d, &r, 4, flags[i]);
		o.r = &r;
		if (flags[i] & IORING_SETUP_R_DISABLED)
			d->be->reg((unsigned int)r.fd,
				   IORING_REGISTER_ENABLE_RINGS, NULL, 0);
		ring_nop(&r);
		__atomic_store_n(r.sq_tail, r.tail, __ATOMIC_RELEASE);
		pthread_create(&th, NULL, other_thread, &o);
		pthread_join(th, NULL);
		diff_res(d, o.submit, "flags %#x submit", flags[i]);
		diff_res(d, o.wait, "wait");
		diff_res(d, o.plain, "plain");
		diff_res(d, o.reg, "register");
		if (flags[i] & IORING_SETUP_SQPOLL)
			ring_wait(&r, 1, RING_ORDER);
		else
			ring_settle(&r, RING_ORDER);
		ring_close(&r);
	}
}

/* An enter that waits ends when a timeout request does. */
static void timeout_ends_wait(struct diff *d)
{
	struct au_timespec ts = { .tv_nsec = 5000000 };
	struct ring r;

	ring_open(d, &r, 4, 0);
	ring_sqe(&r, IORING_OP_TIMEOUT, -1, &ts, 1, 0);
	ring_submit(&r);
	diff_want(d, ring_enter(&r, 0, 4, IORING_ENTER_GETEVENTS), 0,
		  "wait for 4");
	ring_reap(&r, RING_ORDER);
	ring_close(&r);
}

/* The ring closed by another thread while this one waits in it. */
static void *late_nop(void *arg)
{
	struct ring *r = arg;

	usleep(20000);
	ring_nop(r);
	__atomic_store_n(r->sq_tail, r->tail, __ATOMIC_RELEASE);
	(void)ring_enter(r, 1, 0, 0);
	return NULL;
}

static void two_threads_wait(struct diff *d)
{
	pthread_t th;
	struct ring r;

	ring_open(d, &r, 4, 0);
	pthread_create(&th, NULL, late_nop, &r);
	diff_want(d, ring_enter(&r, 0, 1, IORING_ENTER_GETEVENTS), 0, "wait");
	pthread_join(th, NULL);
	ring_reap(&r, RING_ORDER);
	ring_close(&r);
}

static const struct diff_test tests[] = {
	{ "flag_matrix", flag_matrix, DIFF_SYNC },
	{ "bad_descriptors", bad_descriptors, 0 },
	{ "counts", counts, DIFF_PLAIN | DIFF_DEFER | DIFF_WIDE },
	{ "sigmask_argument", sigmask_argument, DIFF_SYNC },
	{ "ext_argument", ext_argument, DIFF_SYNC },
	{ "wait_times_out", wait_times_out, DIFF_ALL },
	{ "submit_and_timed_wait", submit_and_timed_wait, DIFF_SYNC },
	{ "absolute_wait", absolute_wait, DIFF_SYNC },
	{ "min_wait", min_wait, DIFF_SYNC },
	{ "interrupted", interrupted, DIFF_ALL },
	{ "interrupted_after_submit", interrupted_after_submit, DIFF_SYNC },
	{ "sigmask_lets_in", sigmask_lets_in, DIFF_ALL },
	{ "disabled_ring", disabled_ring, DIFF_SYNC },
	{ "another_thread", another_thread, 0 },
	{ "timeout_ends_wait", timeout_ends_wait, DIFF_SYNC },
	{ "two_threads_wait", two_threads_wait, DIFF_PLAIN | DIFF_COOP },
};

DIFF_MAIN(tests)
