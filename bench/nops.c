/* SPDX-License-Identifier: MIT */
/*
 * COUNT nops through the liburing front in batches of BATCH, for counting
 * instructions: what is done once is the same whatever COUNT is, so that the
 * difference of two runs is the nops' alone.
 *
 *   nops COUNT BATCH [drain|links|overflow|timers]
 *
 * The third word has the ring use a feature once beforehand; the cost of such
 * a feature must go when it is no longer used. With `timers` pairs of a timeout
 * and its removal take the nops' place. Every completion is checked.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi/liburing.h"
#include "base/atomic.h"

#define ENTRIES 64U

static struct io_uring ring;
static uint64_t next_data, reaped;

static struct io_uring_sqe *nop(void)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (!sqe)
		abort();
	sqe->opcode = IORING_OP_NOP;
	sqe->fd = -1;
	sqe->off = 0;
	sqe->addr = 0;
	sqe->len = 0;
	sqe->user_data = next_data++;
	return sqe;
}

static void submit(unsigned int nr)
{
	if (io_uring_submit_and_wait(&ring, nr) != (int)nr)
		abort();
}

static void reap(unsigned int nr)
{
	unsigned int head = *ring.cq.khead;

	if (au_load_acquire(ring.cq.ktail) - head < nr)
		abort();
	for (unsigned int i = 0; i < nr; i++) {
		const struct io_uring_cqe *cqe =
			&ring.cq.cqes[(head + i) & ring.cq.ring_mask];

		if (cqe->user_data != reaped++ || cqe->res)
			abort();
	}
	au_store_release(ring.cq.khead, head + nr);
}

static void batch(unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		nop();
	submit(nr);
	reap(nr);
}

/* Timeouts of an hour, each removed in the submit that arms it. */
static void pairs(unsigned int nr)
{
	const struct au_timespec hour = { .tv_sec = 3600 };
	unsigned int head = *ring.cq.khead;

	for (unsigned int i = 0; i < nr; i++) {
		struct io_uring_sqe *sqe = nop();

		sqe->opcode = IORING_OP_TIMEOUT;
		sqe->addr = (uintptr_t)&hour;
		sqe->len = 1;
		sqe = nop();
		sqe->opcode = IORING_OP_TIMEOUT_REMOVE;
		sqe->addr = next_data - 2;
	}
	submit(2 * nr);
	for (unsigned int i = 0; i < 2 * nr; i++) {
		const struct io_uring_cqe *cqe =
			&ring.cq.cqes[(head + i) & ring.cq.ring_mask];

		/* Either may come first. */
		if (cqe->res != ((cqe->user_data - reaped) & 1 ? 0 : -ECANCELED))
			abort();
	}
	reaped += 2 * nr;
	au_store_release(ring.cq.khead, head + 2 * nr);
}

/* More CQEs than the ring holds, reaped once they have overflowed. */
static void overflow(void)
{
	struct io_uring_cqe *cqe[ENTRIES];
	unsigned int left = 4 * ENTRIES;

	for (unsigned int i = 0; i < 4; i++) {
		for (unsigned int j = 0; j < ENTRIES; j++)
			nop();
		if (io_uring_submit(&ring) != (int)ENTRIES)
			abort();
	}
	while (left) {
		unsigned int nr = io_uring_peek_batch_cqe(&ring, cqe, ENTRIES);

		if (!nr)
			abort();
		reap(nr);
		left -= nr;
	}
}

static int feature(const char *name)
{
	if (!strcmp(name, "drain")) {
		nop();
		nop()->flags |= IOSQE_IO_DRAIN;
		nop();
	} else if (!strcmp(name, "links")) {
		nop()->flags |= IOSQE_IO_LINK;
		nop()->flags |= IOSQE_IO_LINK;
		nop();
	} else if (!strcmp(name, "overflow")) {
		overflow();
		return 0;
	} else {
		return -1;
	}
	submit(3);
	reap(3);
	return 0;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 0;
	long by = argc > 2 ? atol(argv[2]) : 0;
	bool timers = argc > 3 && !strcmp(argv[3], "timers");

	if (count <= 0 || by <= 0 || by > (long)ENTRIES || argc > 4) {
		fputs("usage: nops COUNT BATCH [drain|links|overflow|timers]\n",
		      stderr);
		return 2;
	}
	if (io_uring_queue_init(ENTRIES, &ring, 0)) {
		fputs("nops: no ring\n", stderr);
		return 1;
	}
	if (argc > 3 && !timers && feature(argv[3])) {
		fprintf(stderr, "nops: no feature '%s'\n", argv[3]);
		return 2;
	}
	for (; count > 0; count -= by) {
		if (timers)
			pairs((unsigned int)by);
		else
			batch((unsigned int)by);
	}
	io_uring_queue_exit(&ring);
	return 0;
}
