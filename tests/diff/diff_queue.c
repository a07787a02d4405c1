/* SPDX-License-Identifier: MIT */
/* Description: the SQ and the CQ: indices, batches, overflow, wide entries. */
#include <string.h>
#include <unistd.h>
#include "diff.h"

static void bad_in_batch(struct diff *d)
{
	static const uint8_t op[] = { 250, 65, 255 };
	struct ring r;

	ring_open(d, &r, 32, 0);
	for (size_t i = 0; i < AU_ARRAY_SIZE(op); i++) {
		for (int k = 0; k < 4; k++)
			ring_nop(&r);
		ring_nop(&r)->opcode = op[i];
		ring_nop(&r)->opcode = op[i];
		ring_submit(&r);
		ring_submit(&r);
		ring_submit(&r);
		ring_settle(&r, RING_SORTED);
		for (int k = 0; k < 17; k++)
			ring_nop(&r)->opcode = k == 8 ? op[i] : 0;
		ring_submit(&r);
		ring_submit(&r);
		ring_settle(&r, RING_SORTED);
	}
	ring_close(&r);
}

/* Which kinds of bad SQE stop the submit call? */
static void what_stops_submit(struct diff *d)
{
	struct io_uring_sqe *s;
	struct ring r;
	char c;

	ring_open(d, &r, 32, 0);
	for (int kind = 0; kind < 14; kind++) {
		diff_say(d, "kind %d", kind);
		s = ring_nop(&r);
		switch (kind) {
		case 0:
			s->flags = 0x80;
			break;
		case 1:
			s->flags = IOSQE_FIXED_FILE;
			break;
		case 2:
			s->ioprio = 1;
			break;
		case 3:
			s->personality = 99;
			break;
		case 4:
			s->flags = IOSQE_BUFFER_SELECT;
			break;
		case 5: /* fails when issued */
			s->opcode = IORING_OP_READ;
			s->fd = -1;
			break;
		case 6:
			s->opcode = IORING_OP_READV;
			s->addr = (uintptr_t)diff_bad_ptr();
			s->len = 1;
			s->fd = 0;
			break;
		case 7:
			s->opcode = IORING_OP_OPENAT;
			s->addr = (uintptr_t)diff_bad_ptr();
			break;
		case 8:
			s->opcode = IORING_OP_SENDMSG;
			s->addr = (uintptr_t)diff_bad_ptr();
			s->fd = 0;
			break;
		case 9:
			s->opcode = IORING_OP_CONNECT;
			s->addr = (uintptr_t)diff_bad_ptr();
			s->off = 16;
			s->fd = 0;
			break;
		case 10:
			s->opcode = IORING_OP_TIMEOUT;
			s->addr = (uintptr_t)diff_bad_ptr();
			s->len = 1;
			break;
		case 11:
			s->opcode = IORING_OP_READ;
			s->fd = -1;
			s->flags = IOSQE_FIXED_FILE;
			break;
		case 12:
			s->opcode = IORING_OP_READ_FIXED;
			s->fd = 0;
			s->addr = (uintptr_t)&c;
			s->len = 1;
			break;
		case 13:
			s->opcode = IORING_OP_READV;
			s->addr = (uintptr_t)&c;
			s->len = 2000;
			s->fd = 0;
			break;
		default:
			break;
		}
		ring_nop(&r);
		ring_submit(&r);
		ring_submit(&r);
		ring_settle(&r, RING_SORTED);
	}
	ring_close(&r);
}

static void sq_array_indices(struct diff *d)
{
	struct ring r;

	ring_open(d, &r, 8, 0);
	/* The same SQE twice, then in reverse. */
	ring_nop(&r);
	ring_nop(&r);
	r.sq_array[1] = 0;
	ring_submit(&r);
	ring_settle(&r, RING_SORTED);
	for (int i = 0; i < 4; i++)
		ring_nop(&r);
	r.sq_array[2] = 5;
	r.sq_array[3] = 4;
	r.sq_array[4] = 3;
	r.sq_array[5] = 2;
	ring_submit(&r);
	ring_settle(&r, RING_SORTED);
	/* One that is out of bounds is dropped. */
	for (int i = 0; i < 3; i++)
		ring_nop(&r);
	r.sq_array[7] = 8;
	ring_submit(&r);
	diff_say(d, "dropped %u", *r.sq_dropped);
	ring_submit(&r);
	diff_say(d, "dropped %u", *r.sq_dropped);
	ring_settle(&r, RING_SORTED);
	for (int i = 0; i < 3; i++) {
		ring_nop(&r);
		r.sq_array[(r.tail - 1) & 7] = ~0U;
	}
	ring_nop(&r);
	for (int i = 0; i < 5; i++)
		ring_submit(&r);
	diff_say(d, "dropped %u", *r.sq_dropped);
	ring_settle(&r, RING_SORTED);
	/* In the middle of a chain. */
	ring_nop(&r)->flags = IOSQE_IO_LINK;
	ring_nop(&r)->flags = IOSQE_IO_LINK;
	r.sq_array[(r.tail - 1) & 7] = 99;
	ring_nop(&r);
	for (int i = 0; i < 3; i++)
		ring_submit(&r);
	ring_settle(&r, RING_SORTED);
	ring_close(&r);
}

static void overflow(struct diff *d)
{
	struct ring r;

	ring_open(d, &r, 4, 0);
	for (int k = 0; k < 5; k++) {
		for (int i = 0; i < 4; i++)
			ring_nop(&r);
		ring_submit(&r);
		diff_say(d, "ready %u overflow %u flags %#x", ring_ready(&r),
			 *r.cq_overflow, *r.sq_flags & IORING_SQ_CQ_OVERFLOW);
	}
	ring_reap(&r, RING_ORDER);
	/* New ones go behind the old. */
	ring_nop(&r);
	ring_submit(&r);
	ring_enter(&r, 0, 0, IORING_ENTER_GETEVENTS);
	ring_reap(&r, RING_ORDER);
	diff_say(d, "flags %#x", *r.sq_flags & IORING_SQ_CQ_OVERFLOW);
	ring_enter(&r, 0, 0, IORING_ENTER_GETEVENTS);
	ring_reap(&r, RING_ORDER);
	diff_say(d, "overflow %u flags %#x", *r.cq_overflow,
		 *r.sq_flags & IORING_SQ_CQ_OVERFLOW);
	ring_nop(&r);
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
}

/* Overflowed CQEs move when room is made, a few at a time. */
static void overflow_in_parts(struct diff *d)
{
	struct ring r;

	ring_open(d, &r, 2, 0);
	for (int k = 0; k < 4; k++) {
		ring_nop(&r);
		ring_nop(&r);
		ring_submit(&r);
	}
	for (int k = 0; k < 6; k++) {
		if (ring_ready(&r))
			diff_res(d, ring_one(&r, NULL), "one");
		diff_res(d, ring_enter(&r, 0, 0, IORING_ENTER_GETEVENTS),
			 "flush");
		diff_say(d, "ready %u flags %#x", ring_ready(&r),
			 *r.sq_flags & IORING_SQ_CQ_OVERFLOW);
	}
	ring_close(&r);
}

static void overflow_wait(struct diff *d)
{
	struct ring r;

	ring_open(d, &r, 2, 0);
	for (int k = 0; k < 4; k++) {
		ring_nop(&r);
		ring_nop(&r);
		ring_submit(&r);
	}
	/* More wanted than the CQ holds. */
	diff_res(d, ring_enter(&r, 0, 8, IORING_ENTER_GETEVENTS), "wait 8");
	ring_reap(&r, RING_ORDER);
	diff_res(d, ring_enter(&r, 0, 4, IORING_ENTER_GETEVENTS), "wait 4");
	ring_reap(&r, RING_ORDER);
	diff_res(d, ring_timed_wait(&r, 1, 5), "wait 1");
	ring_close(&r);
}

static void nop_flags(struct diff *d)
{
	static char buf[4096];

	struct iovec {
		void *base;
		size_t len;
	} iov = { buf, sizeof(buf) };

	int fds[2] = { -1, -1 }, p[2];
	struct ring r;

	diff_pipe(d, p);
	fds[0] = p[0];
	ring_open(d, &r, 8, 0);
	for (int table = 0; table < 2; table++) {
		for (uint32_t f = 0; f < 64; f++) {
			for (int bad = 0; bad < 3; bad++) {
				struct io_uring_sqe *s = ring_nop(&r);

				if ((f & IORING_NOP_TW) && bad)
					s->flags = 0;
				s->nop_flags = f;
				s->len = 123;
				s->fd = f & IORING_NOP_FIXED_FILE ? bad :
					bad                       ? 9999 :
								    p[0];
				s->buf_index = (uint16_t)bad;
				s->off = 0x1111;
				s->addr = 0x2222;
				if (bad == 2)
					s->flags = IOSQE_FIXED_FILE;
				diff_say(d, "table %d flags %#x bad %d", table,
					 f, bad);
				ring_submit(&r);
				ring_wait(&r, 1, RING_ORDER);
			}
		}
		d->be->reg((unsigned int)r.fd, IORING_REGISTER_FILES, fds, 2);
		d->be->reg((unsigned int)r.fd, IORING_REGISTER_BUFFERS, &iov,
			   1);
	}
	for (int bit = 6; bit < 32; bit++) {
		ring_nop(&r)->nop_flags = 1U << bit;
		ring_submit(&r);
		ring_settle(&r, RING_ORDER);
	}
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

/* A NOP says nothing about fields it does not use. */
static void nop_fields(struct diff *d)
{
	struct ring r;

	ring_open(d, &r, 8, 0);
	for (int i = 0; i < 10; i++) {
		struct io_uring_sqe *s = ring_nop(&r);

		diff_say(d, "field %d", i);
		s->buf_index = i == 0;
		s->off = i == 1;
		s->addr = i == 2;
		s->len = i == 3;
		s->splice_fd_in = i == 4;
		s->addr3 = i == 5;
		s->pad2[0] = i == 6;
		s->ioprio = i == 7;
		s->personality = i == 8;
		s->flags = i == 9 ? IOSQE_ASYNC : 0;
		ring_submit(&r);
		ring_settle(&r, RING_ORDER);
	}
	ring_close(&r);
}

/* The upper half of a wide CQE is zero, whatever was there. */
static void wide_cqes_are_clean(struct diff *d)
{
	struct ring r;

	ring_open(d, &r, 2, 0);
	if (r.cqe_size == 32)
		memset(r.cqes, 0x5a, 4 * 32);
	for (int i = 0; i < 6; i++) {
		ring_nop(&r);
		ring_run(&r, 1, RING_ORDER);
	}
	ring_close(&r);
}

static void many_laps(struct diff *d)
{
	struct ring r;

	ring_open(d, &r, 4, 0);
	for (int i = 0; i < 1000; i++) {
		for (int k = 0; k < 1 + i % 4; k++)
			ring_nop(&r);
		__atomic_store_n(r.sq_tail, r.tail, __ATOMIC_RELEASE);
		if (ring_enter(&r, 1 + (unsigned int)i % 4,
			       1 + (unsigned int)i % 4,
			       IORING_ENTER_GETEVENTS) != 1 + i % 4)
			diff_say(d, "lap %d is short", i);
		if (ring_reap(&r, RING_QUIET) != 1U + (unsigned int)i % 4)
			diff_say(d, "lap %d lacks CQEs", i);
	}
	diff_say(d, "tail %u head %u", *r.cq_tail, *r.sq_head);
	ring_close(&r);
}

/* The SQE may change as soon as submit returns. */
static void sqe_is_copied(struct diff *d)
{
	struct io_uring_sqe *s;
	struct ring r;
	char c = 0;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 4, 0);
	s = ring_sqe(&r, IORING_OP_READ, p[0], &c, 1, 0);
	ring_submit(&r);
	memset(s, 0xff, sizeof(*s));
	diff_must(d, write(p[1], "x", 1), "write");
	ring_wait(&r, 1, RING_ORDER);
	diff_bytes(d, "read", &c, 1);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static const struct diff_test tests[] = {
	{ "bad_in_batch", bad_in_batch, DIFF_SYNC },
	{ "what_stops_submit", what_stops_submit, DIFF_SYNC },
	{ "sq_array_indices", sq_array_indices,
	  DIFF_PLAIN | DIFF_DEFER | DIFF_COOP },
	{ "overflow", overflow, DIFF_SYNC },
	{ "overflow_in_parts", overflow_in_parts, DIFF_SYNC },
	{ "overflow_wait", overflow_wait, DIFF_SYNC },
	{ "nop_flags", nop_flags, DIFF_PLAIN | DIFF_WIDE },
	{ "nop_fields", nop_fields, 0 },
	{ "wide_cqes_are_clean", wide_cqes_are_clean, DIFF_SYNC },
	{ "many_laps", many_laps, DIFF_SYNC },
	{ "sqe_is_copied", sqe_is_copied, DIFF_SYNC },
};

DIFF_MAIN(tests)
