/* SPDX-License-Identifier: MIT */
/* Description: SQPOLL: NEED_WAKEUP, SQ_WAKEUP, SQ_WAIT, and going idle. */
#include <string.h>
#include <unistd.h>
#include "diff.h"

static uint32_t sq_flags(struct ring *r)
{
	return __atomic_load_n(r->sq_flags, __ATOMIC_ACQUIRE);
}

static bool await_flag(struct ring *r, uint32_t want)
{
	for (int i = 0; i < 2000; i++) {
		if ((sq_flags(r) & IORING_SQ_NEED_WAKEUP) == want)
			return true;
		diff_sleep_ms(r->d, 1);
	}
	return false;
}

static void goes_idle(struct diff *d)
{
	struct ring r;

	ring_open(d, &r, 4, IORING_SETUP_SQPOLL);
	diff_want(d, await_flag(&r, IORING_SQ_NEED_WAKEUP), 1, "idle");
	/* Nothing happens before it is woken. */
	ring_nop(&r);
	__atomic_store_n(r.sq_tail, r.tail, __ATOMIC_SEQ_CST);
	diff_res(d, ring_enter(&r, 1, 0, IORING_ENTER_SQ_WAKEUP), "wake");
	ring_wait(&r, 1, RING_ORDER);
	diff_want(d, await_flag(&r, IORING_SQ_NEED_WAKEUP), 1, "idle again");
	ring_close(&r);
}

/* While it looks, no call is needed. */
static void busy_needs_no_call(struct diff *d)
{
	struct io_uring_params p = { .flags = IORING_SETUP_SQPOLL };
	struct ring r;

	ring_open_params(d, &r, 4, &p);
	for (int i = 0; i < 20; i++) {
		ring_nop(&r);
		__atomic_store_n(r.sq_tail, r.tail, __ATOMIC_SEQ_CST);
		if (sq_flags(&r) & IORING_SQ_NEED_WAKEUP)
			ring_enter(&r, 1, 0, IORING_ENTER_SQ_WAKEUP);
		for (int k = 0; k < 2000 && !ring_ready(&r); k++)
			diff_sleep_ms(d, 1);
		ring_reap(&r, RING_ORDER);
	}
	ring_close(&r);
}

static void sq_wait(struct diff *d)
{
	struct ring r;

	ring_open(d, &r, 4, IORING_SETUP_SQPOLL);
	for (int lap = 0; lap < 5; lap++) {
		for (int i = 0; i < 4; i++)
			ring_nop(&r);
		__atomic_store_n(r.sq_tail, r.tail, __ATOMIC_SEQ_CST);
		diff_res(d,
			 ring_enter(&r, 4, 0,
				    IORING_ENTER_SQ_WAKEUP |
					    IORING_ENTER_SQ_WAIT),
			 "wait for room");
		ring_wait(&r, 4, RING_ORDER);
	}
	diff_res(d, ring_enter(&r, 7, 0, IORING_ENTER_SQ_WAIT), "room enough");
	ring_close(&r);
}

static void disabled(struct diff *d)
{
	struct ring r;

	ring_open(d, &r, 4, IORING_SETUP_SQPOLL | IORING_SETUP_R_DISABLED);
	ring_nop(&r);
	__atomic_store_n(r.sq_tail, r.tail, __ATOMIC_SEQ_CST);
	diff_res(d, ring_enter(&r, 1, 0, IORING_ENTER_SQ_WAKEUP), "enter");
	diff_sleep_ms(d, 20);
	diff_say(d, "%u done", ring_ready(&r));
	diff_res(d,
		 d->be->reg((unsigned int)r.fd, IORING_REGISTER_ENABLE_RINGS,
			    NULL, 0),
		 "enable");
	diff_res(d, ring_enter(&r, 1, 0, IORING_ENTER_SQ_WAKEUP), "enter");
	ring_wait(&r, 1, RING_ORDER);
	ring_close(&r);
}

static void closed_while_busy(struct diff *d)
{
	char buf[8];
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 4, IORING_SETUP_SQPOLL);
	ring_sqe(&r, IORING_OP_READ, p[0], buf, 8, 0);
	ring_submit(&r);
	ring_close(&r);
	d->be->close(p[0]);
	close(p[1]);
}

static const struct diff_test tests[] = {
	{ "goes_idle", goes_idle, 0 },
	{ "busy_needs_no_call", busy_needs_no_call, 0 },
	{ "sq_wait", sq_wait, 0 },
	{ "disabled", disabled, 0 },
	{ "closed_while_busy", closed_while_busy, 0 },
};

DIFF_MAIN(tests)
