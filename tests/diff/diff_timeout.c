/* SPDX-License-Identifier: MIT */
/* Description: TIMEOUT, TIMEOUT_REMOVE and their updates. */
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "diff.h"

static struct io_uring_sqe *timeout(struct ring *r, struct au_timespec *ts,
				    uint64_t count, uint32_t flags)
{
	struct io_uring_sqe *s =
		ring_sqe(r, IORING_OP_TIMEOUT, -1, ts, 1, count);

	s->timeout_flags = flags;
	return s;
}

static struct io_uring_sqe *timeout_remove(struct ring *r, uint64_t user_data,
					   uint32_t flags,
					   struct au_timespec *ts)
{
	struct io_uring_sqe *s =
		ring_sqe(r, IORING_OP_TIMEOUT_REMOVE, -1, NULL, 0, 0);

	s->addr = user_data;
	s->timeout_flags = flags;
	s->addr2 = (uintptr_t)ts;
	return s;
}

static void arguments(struct diff *d)
{
	static const struct au_timespec bad[] = {
		{ -1, 0 }, { 0, -1 }, { 0, 2000000 }, { -1, 2000000000 }
	};
	struct au_timespec ts = { .tv_sec = 4000000000 }, t;
	struct io_uring_sqe *s;
	struct ring r;

	ring_open(d, &r, 8, 0);
	for (int bit = 0; bit < 32; bit++) {
		for (int bit2 = bit; bit2 < 12; bit2++) {
			uint32_t f = 1U << bit | 1U << bit2;

			if (f & IORING_TIMEOUT_IMMEDIATE_ARG)
				continue;
			diff_say(d, "flags %#x", f);
			s = timeout(&r, &ts, 1, f);
			ring_nop(&r);
			ring_submit(&r);
			ring_settle(&r, RING_SORTED);
			timeout_remove(&r, s->user_data, 0, NULL);
			ring_submit(&r);
			ring_settle(&r, RING_SORTED);
		}
	}
	ts = (struct au_timespec){ .tv_nsec = 1000 };
	for (size_t i = 0; i < AU_ARRAY_SIZE(bad); i++) {
		t = bad[i];
		timeout(&r, &t, 0, 0);
		ring_run(&r, 1, RING_SORTED);
	}
	timeout(&r, diff_bad_ptr(), 0, 0);
	ring_run(&r, 1, RING_SORTED);
	timeout(&r, NULL, 0, 0);
	ring_run(&r, 1, RING_SORTED);
	timeout(&r, &ts, 0, 0)->len = 0;
	ring_run(&r, 1, RING_SORTED);
	timeout(&r, &ts, 0, 0)->len = 2;
	ring_run(&r, 1, RING_SORTED);
	timeout(&r, &ts, 0, 0)->buf_index = 1;
	ring_run(&r, 1, RING_SORTED);
	timeout(&r, &ts, 0, 0)->splice_fd_in = 1;
	ring_run(&r, 1, RING_SORTED);
	timeout(&r, &ts, 0, 0)->fd = 5;
	ring_run(&r, 1, RING_SORTED);
	timeout(&r, &ts, 0, 0)->ioprio = 5;
	ring_run(&r, 1, RING_SORTED);
	timeout(&r, &ts, 0, 0)->flags = IOSQE_FIXED_FILE;
	ring_run(&r, 1, RING_SORTED);
	timeout(&r, &ts, 0, 0)->flags = IOSQE_BUFFER_SELECT;
	ring_run(&r, 1, RING_SORTED);
	timeout(&r, &ts, 0, 0)->flags = IOSQE_ASYNC;
	ring_run(&r, 1, RING_SORTED);
	timeout(&r, &ts, 0, 0)->personality = 7;
	ring_run(&r, 1, RING_SORTED);
	ring_close(&r);
}

enum other_ends {
	OTHER_REMOVED,
	OTHER_CANCELLED,
	OTHER_FIRED,
	OTHER_LAST
};

/* Which ends of another timeout does a counted one count as completions? */
static void counted_with(struct diff *d, enum other_ends how, uint32_t count)
{
	struct au_timespec hour = { .tv_sec = 3600 }, soon = { .tv_nsec = 1 };
	struct io_uring_sqe *s;
	struct ring r;

	ring_open(d, &r, 16, 0);
	diff_say(d, "the other's end %d, count %u", how, count);
	timeout(&r, &hour, count, 0);
	timeout(&r, how == OTHER_FIRED ? &soon : &hour, 0, 0)->user_data = 500;
	ring_submit(&r);
	if (how == OTHER_REMOVED) {
		timeout_remove(&r, 500, 0, NULL);
	} else if (how == OTHER_CANCELLED) {
		s = ring_sqe(&r, IORING_OP_ASYNC_CANCEL, -1, NULL, 0, 0);
		s->addr = 500;
	}
	if (how == OTHER_FIRED)
		ring_timed_wait(&r, 1, 1000);
	else
		ring_submit(&r);
	ring_settle(&r, RING_SORTED);
	for (int i = 0; i < 2; i++) {
		ring_nop(&r);
		ring_submit(&r);
		ring_settle(&r, RING_SORTED);
	}
	ring_close_quiet(&r);
}

static void counted_others(struct diff *d)
{
	for (enum other_ends how = 0; how < OTHER_LAST; how++) {
		for (uint32_t count = 1; count < 5; count++)
			counted_with(d, how, count);
	}
}

static void counted(struct diff *d)
{
	struct au_timespec ts = { .tv_sec = 100 };
	struct ring r;

	ring_open(d, &r, 16, 0);
	timeout(&r, &ts, 2, 0);
	ring_nop(&r);
	ring_run(&r, 1, RING_ORDER);
	ring_nop(&r);
	ring_run(&r, 2, RING_ORDER);
	/* Two of them; they do not count each other. */
	timeout(&r, &ts, 1, 0);
	timeout(&r, &ts, 1, 0);
	ring_submit(&r);
	ring_settle(&r, RING_ORDER);
	ring_nop(&r);
	ring_run(&r, 3, RING_SORTED);
	/* In decreasing order of count. */
	timeout(&r, &ts, 3, 0);
	timeout(&r, &ts, 2, 0);
	timeout(&r, &ts, 1, 0);
	ring_submit(&r);
	for (int i = 0; i < 3; i++) {
		ring_nop(&r);
		ring_run(&r, 2, RING_SORTED);
	}
	/* All of one batch. */
	timeout(&r, &ts, 3, 0);
	for (int i = 0; i < 5; i++)
		ring_nop(&r);
	ring_run(&r, 6, RING_SORTED);
	/* Removed while it counts. */
	timeout(&r, &ts, 3, 0)->user_data = 500;
	ring_submit(&r);
	timeout_remove(&r, 500, 0, NULL);
	ring_run(&r, 2, RING_SORTED);
	/* In a chain behind others. */
	ring_nop(&r)->flags = IOSQE_IO_LINK;
	timeout(&r, &ts, 1, 0)->flags = IOSQE_IO_LINK;
	ring_nop(&r);
	ring_submit(&r);
	ring_settle(&r, RING_SORTED);
	ring_nop(&r);
	ring_run(&r, 3, RING_SORTED);
	ring_close(&r);
}

static void removal(struct diff *d)
{
	struct au_timespec ts = { .tv_sec = 100 };
	struct io_uring_sqe *s;
	struct ring r;

	ring_open(d, &r, 16, 0);
	timeout_remove(&r, 77, 0, NULL);
	ring_run(&r, 1, RING_ORDER);
	timeout(&r, &ts, 0, 0)->user_data = 77;
	ring_submit(&r);
	timeout_remove(&r, 77, 0, NULL);
	ring_run(&r, 2, RING_SORTED);
	for (int bit = 0; bit < 32; bit++) {
		if (bit == 7)
			continue;
		timeout(&r, &ts, 0, 0)->user_data = 77;
		ring_submit(&r);
		timeout_remove(&r, 77, 1U << bit, &ts);
		ring_submit(&r);
		ring_settle(&r, RING_SORTED);
		timeout_remove(&r, 77, 0, NULL);
		ring_submit(&r);
		ring_settle(&r, RING_SORTED);
	}
	/* Two of the same name: which goes? */
	for (int i = 0; i < 2; i++)
		timeout(&r, &ts, 0, 0)->user_data = 77;
	ring_submit(&r);
	timeout_remove(&r, 77, 0, NULL);
	ring_run(&r, 2, RING_SORTED);
	timeout_remove(&r, 77, 0, NULL);
	ring_run(&r, 2, RING_SORTED);
	/* Fields that should be zero. */
	s = timeout_remove(&r, 77, 0, NULL);
	s->len = 1;
	ring_run(&r, 1, RING_ORDER);
	s = timeout_remove(&r, 77, 0, NULL);
	s->buf_index = 1;
	ring_run(&r, 1, RING_ORDER);
	s = timeout_remove(&r, 77, 0, NULL);
	s->splice_fd_in = 1;
	ring_run(&r, 1, RING_ORDER);
	s = timeout_remove(&r, 77, 0, &ts);
	ring_run(&r, 1, RING_ORDER);
	s = timeout_remove(&r, 77, IORING_TIMEOUT_UPDATE, NULL);
	ring_run(&r, 1, RING_ORDER);
	s = timeout_remove(&r, 77, IORING_TIMEOUT_UPDATE, diff_bad_ptr());
	ring_run(&r, 1, RING_ORDER);
	ts.tv_nsec = -1;
	s = timeout_remove(&r, 77, IORING_TIMEOUT_UPDATE, &ts);
	ring_run(&r, 1, RING_ORDER);
	s = timeout_remove(&r, 77, 0, NULL);
	s->flags = IOSQE_FIXED_FILE;
	ring_run(&r, 1, RING_ORDER);
	/* Another kind of request is not found. */
	ring_close(&r);
}

static void update_flags(struct diff *d)
{
	struct au_timespec ts = { .tv_sec = 100 }, soon = { .tv_nsec = 1000 };
	struct ring r;

	ring_open(d, &r, 16, 0);
	for (uint32_t f = 0; f < 256; f++) {
		if (f & IORING_TIMEOUT_IMMEDIATE_ARG)
			continue;
		timeout(&r, &ts, 0, 0)->user_data = 700;
		timeout_remove(&r, 700, f, &soon)->user_data = 701;
		diff_say(d, "flags %#x", f);
		ring_submit(&r);
		ring_settle(&r, RING_SORTED);
		timeout_remove(&r, 700, 0, NULL)->user_data = 702;
		ring_submit(&r);
		ring_settle(&r, RING_QUIET);
	}
	ring_close(&r);
}

static void updates(struct diff *d)
{
	struct au_timespec ts = { .tv_sec = 100 },
			   soon = { .tv_nsec = 5000000 };
	struct ring r;
	char buf[8];
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 16, 0);
	timeout(&r, &ts, 0, 0)->user_data = 70;
	ring_submit(&r);
	timeout_remove(&r, 70, IORING_TIMEOUT_UPDATE, &soon);
	ring_run(&r, 2, RING_SORTED);
	/* A counted one goes on counting. */
	timeout(&r, &ts, 2, 0)->user_data = 71;
	ring_submit(&r);
	timeout_remove(&r, 71, IORING_TIMEOUT_UPDATE, &ts);
	ring_submit(&r);
	ring_settle(&r, RING_SORTED);
	ring_nop(&r);
	ring_submit(&r);
	ring_settle(&r, RING_SORTED);
	timeout_remove(&r, 71, 0, NULL);
	ring_submit(&r);
	ring_settle(&r, RING_SORTED);
	/* A link timeout. */
	ring_sqe(&r, IORING_OP_READ, p[0], buf, 8, 0)->flags = IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->user_data = 72;
	ring_submit(&r);
	timeout_remove(&r, 72, IORING_TIMEOUT_UPDATE, &soon);
	ring_run(&r, 1, RING_SORTED);
	timeout_remove(&r, 72,
		       IORING_TIMEOUT_UPDATE | IORING_LINK_TIMEOUT_UPDATE,
		       &soon);
	ring_run(&r, 3, RING_SORTED);
	/* Remove does not take a link timeout. */
	ring_sqe(&r, IORING_OP_READ, p[0], buf, 8, 0)->flags = IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->user_data = 73;
	ring_submit(&r);
	timeout_remove(&r, 73, 0, NULL);
	ring_run(&r, 1, RING_SORTED);
	ring_sqe(&r, IORING_OP_ASYNC_CANCEL, -1, (void *)73, 0, 0);
	ring_run(&r, 1, RING_SORTED);
	diff_must(d, write(p[1], "12345678", 8), "write");
	ring_wait(&r, 2, RING_SORTED);
	/* One in a chain breaks it when it fires, and not when updated. */
	timeout(&r, &ts, 0, 0)->user_data = 74;
	ring_submit(&r);
	timeout_remove(&r, 74, IORING_TIMEOUT_UPDATE, &soon)->flags =
		IOSQE_IO_LINK;
	ring_nop(&r);
	ring_run(&r, 3, RING_SORTED);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static void multishot(struct diff *d)
{
	struct au_timespec ts = { .tv_nsec = 2000000 };
	struct ring r;

	ring_open(d, &r, 8, 0);
	timeout(&r, &ts, 3, IORING_TIMEOUT_MULTISHOT);
	ring_submit(&r);
	for (unsigned int n = 0; n < 3;)
		n += ring_wait(&r, 1, RING_ORDER);
	ring_settle(&r, RING_ORDER);
	timeout(&r, &ts, 1, IORING_TIMEOUT_MULTISHOT);
	ring_run(&r, 1, RING_ORDER);
	/* For ever, until removed. */
	ts.tv_nsec = 100000000;
	timeout(&r, &ts, 0, IORING_TIMEOUT_MULTISHOT)->user_data = 9;
	ring_run(&r, 1, RING_ORDER);
	timeout_remove(&r, 9, 0, NULL);
	ring_run(&r, 2, RING_SORTED);
	/* And updated. */
	ts.tv_sec = 100;
	timeout(&r, &ts, 2, IORING_TIMEOUT_MULTISHOT)->user_data = 10;
	ring_submit(&r);
	ts.tv_sec = 0;
	ts.tv_nsec = 1000000;
	timeout_remove(&r, 10, IORING_TIMEOUT_UPDATE, &ts);
	/* From now on it counts no more, and does not end. */
	ring_submit(&r);
	diff_want(d, ring_wait(&r, 5, RING_QUIET) >= 5, 1, "goes on");
	timeout_remove(&r, 10, 0, NULL);
	ring_submit(&r);
	diff_sleep_ms(d, 20);
	ring_settle(&r, RING_QUIET);
	diff_want(d, ring_settle(&r, RING_QUIET), 0, "is over");
	ring_close(&r);
}

static void order_by_time(struct diff *d)
{
	struct au_timespec ts[3] = { { .tv_nsec = 60000000 },
				     { .tv_nsec = 20000000 },
				     { .tv_nsec = 40000000 } };
	struct ring r;

	ring_open(d, &r, 8, 0);
	for (int i = 0; i < 3; i++)
		timeout(&r, &ts[i], 0, 0);
	ring_run(&r, 3, RING_ORDER);
	ring_close(&r);
}

static void absolute(struct diff *d)
{
	static const struct {
		int clock;
		uint32_t flag;
	} c[] = { { CLOCK_MONOTONIC, 0 },
		  { CLOCK_BOOTTIME, IORING_TIMEOUT_BOOTTIME },
		  { CLOCK_REALTIME, IORING_TIMEOUT_REALTIME } };
	struct au_timespec ts;
	struct timespec now;
	struct ring r;

	ring_open(d, &r, 8, 0);
	for (size_t i = 0; i < AU_ARRAY_SIZE(c); i++) {
		uint64_t t = diff_now_ms();

		clock_gettime(c[i].clock, &now);
		ts.tv_sec = now.tv_sec;
		ts.tv_nsec = now.tv_nsec + 30000000;
		timeout(&r, &ts, 0, IORING_TIMEOUT_ABS | c[i].flag);
		ring_run(&r, 1, RING_ORDER);
		t = diff_now_ms() - t;
		diff_say(d, "in time %d", t >= 29 && t < 300 * d->scale);
		ts.tv_sec -= 100;
		timeout(&r, &ts, 0, IORING_TIMEOUT_ABS | c[i].flag);
		ring_run(&r, 1, RING_ORDER);
	}
	ring_close(&r);
}

/* CQEs, and the overflow flag, appear without an enter. */
static void comes_by_itself(struct diff *d)
{
	struct au_timespec ts = { .tv_nsec = 5000000 };
	struct ring r;

	ring_open(d, &r, 2, 0);
	timeout(&r, &ts, 0, 0);
	ring_submit(&r);
	for (int i = 0; i < 1000 && !ring_ready(&r); i++)
		diff_sleep_ms(d, 1);
	ring_reap(&r, RING_ORDER);
	/* A full CQ. */
	for (int i = 0; i < 4; i++) {
		ring_nop(&r);
		ring_submit(&r);
	}
	timeout(&r, &ts, 0, 0);
	ring_submit(&r);
	for (int i = 0;
	     i < 1000 && !(__atomic_load_n(r.sq_flags, __ATOMIC_RELAXED) &
			   IORING_SQ_CQ_OVERFLOW);
	     i++)
		diff_sleep_ms(d, 1);
	diff_say(d, "flags %#x", *r.sq_flags & IORING_SQ_CQ_OVERFLOW);
	ring_reap(&r, RING_ORDER);
	ring_settle(&r, RING_ORDER);
	diff_say(d, "flags %#x", *r.sq_flags & IORING_SQ_CQ_OVERFLOW);
	ring_close(&r);
}

static void multishot_overflow(struct diff *d)
{
	struct au_timespec ts = { .tv_nsec = 1000000 };
	struct ring r;

	ring_open(d, &r, 1, 0);
	timeout(&r, &ts, 0, IORING_TIMEOUT_MULTISHOT);
	ring_submit(&r);
	diff_sleep_ms(d, 50);
	ring_reap(&r, RING_ORDER);
	ring_settle(&r, RING_ORDER);
	ring_settle(&r, RING_ORDER);
	ring_close(&r);
}

static void etime_success(struct diff *d)
{
	struct au_timespec ts = { .tv_nsec = 1000000 };
	struct io_uring_sqe *s;
	struct ring r;

	ring_open(d, &r, 8, 0);
	s = timeout(&r, &ts, 0, IORING_TIMEOUT_ETIME_SUCCESS);
	s->flags = IOSQE_CQE_SKIP_SUCCESS;
	ring_submit(&r);
	diff_sleep_ms(d, 10);
	ring_settle(&r, RING_ORDER);
	s = timeout(&r, &ts, 0, 0);
	s->flags = IOSQE_CQE_SKIP_SUCCESS;
	ring_submit(&r);
	ring_wait(&r, 1, RING_ORDER);
	ring_close(&r);
}

/* TIMEOUT_REMOVE finds timeouts only; ASYNC_CANCEL finds them too. */
static void found_by_cancel(struct diff *d)
{
	struct au_timespec ts = { .tv_sec = 100 };
	struct ring r;
	char c;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	ring_sqe(&r, IORING_OP_READ, p[0], &c, 1, 0)->user_data = 40;
	ring_submit(&r);
	timeout_remove(&r, 40, 0, NULL);
	ring_run(&r, 1, RING_ORDER);
	timeout(&r, &ts, 0, 0)->user_data = 41;
	timeout(&r, &ts, 5, 0)->user_data = 42;
	ring_submit(&r);
	ring_sqe(&r, IORING_OP_ASYNC_CANCEL, -1, (void *)41, 0, 0);
	ring_run(&r, 2, RING_SORTED);
	ring_sqe(&r, IORING_OP_ASYNC_CANCEL, -1, (void *)42, 0, 0);
	ring_run(&r, 2, RING_SORTED);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

/* Which CQE comes first: the remover's, or that of what it ends. */
static void order_of_removal(struct diff *d)
{
	struct au_timespec ts = { .tv_sec = 100 };
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 16, 0);
	ring_sqe(&r, IORING_OP_TIMEOUT, -1, &ts, 1, 0);
	ring_submit(&r);
	timeout_remove(&r, 1, 0, NULL);
	ring_nop(&r);
	ring_run(&r, 3, RING_ORDER);

	ring_sqe(&r, IORING_OP_TIMEOUT, -1, &ts, 1, 0);
	ring_submit(&r);
	ring_sqe(&r, IORING_OP_ASYNC_CANCEL, -1, (void *)4, 0, 0);
	ring_nop(&r);
	ring_run(&r, 3, RING_ORDER);

	ring_sqe(&r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0)->poll32_events =
		POLLIN;
	ring_submit(&r);
	ring_sqe(&r, IORING_OP_ASYNC_CANCEL, -1, (void *)7, 0, 0);
	ring_nop(&r);
	ring_run(&r, 3, RING_ORDER);

	ring_sqe(&r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0)->poll32_events =
		POLLIN;
	ring_submit(&r);
	ring_sqe(&r, IORING_OP_POLL_REMOVE, -1, (void *)10, 0, 0);
	ring_nop(&r);
	ring_run(&r, 3, RING_ORDER);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static const struct diff_test tests[] = {
	{ "order_of_removal", order_of_removal, DIFF_PLAIN | DIFF_DEFER },
	{ "arguments", arguments, 0 },
	{ "counted", counted, DIFF_SYNC },
	{ "counted-others", counted_others, DIFF_SYNC },
	{ "removal", removal, 0 },
	{ "update_flags", update_flags, 0 },
	{ "updates", updates, DIFF_SYNC },
	{ "multishot", multishot, DIFF_SYNC },
	{ "order_by_time", order_by_time, DIFF_ALL },
	{ "absolute", absolute, DIFF_SYNC },
	{ "comes_by_itself", comes_by_itself, DIFF_PLAIN },
	{ "multishot_overflow", multishot_overflow, DIFF_SYNC },
	{ "etime_success", etime_success, DIFF_SYNC },
	{ "found_by_cancel", found_by_cancel, DIFF_SYNC },
};

DIFF_MAIN(tests)
