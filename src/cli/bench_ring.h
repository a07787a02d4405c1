/* SPDX-License-Identifier: MIT */
/*
 * The application's half of a ring, inlined as liburing's header inlines it
 * into a program, and a checked way to reap: CQEs come in the order of their
 * user_data with the result that was expected, or the case fails.
 */
#ifndef AU_CLI_BENCH_RING_H
#define AU_CLI_BENCH_RING_H

#include "base/atomic.h"
#include "base/util.h"
#include "cli/bench.h"

struct bench_ring {
	struct io_uring io;
	const struct bench_backend *b;
	uint64_t next; /* user_data of the next SQE */
	uint64_t reaped; /* user_data expected next */
};

/* False after bench_bad(). `flags`: IORING_SETUP_*. */
bool bench_ring_open(struct bench_job *job, struct bench_ring *r,
		     const struct bench_backend *b, unsigned int entries,
		     unsigned int flags);
void bench_ring_close(struct bench_ring *r);

/* Submits `nr` SQEs and waits for as many CQEs. False after bench_bad(). */
bool bench_ring_submit(struct bench_job *job, struct bench_ring *r,
		       unsigned int nr);

au_cold bool bench_ring_wrong(struct bench_job *job, const struct bench_ring *r,
			      const struct io_uring_cqe *cqe, int res);

static inline bool bench_ring_full(const struct bench_ring *r)
{
	const struct io_uring_sq *sq = &r->io.sq;
	unsigned int head;

	/* The poll thread moves the head; this pairs with its release. */
	if (r->io.flags & IORING_SETUP_SQPOLL)
		head = au_load_acquire(sq->khead);
	else
		head = AU_READ_ONCE(*sq->khead);
	return sq->sqe_tail - head >= sq->ring_entries;
}

/*
 * Callers keep within the ring, so the SQ is full only while a poll thread has
 * posted a CQE but not yet freed its entry. Fields that a prep leaves alone are
 * zero.
 */
static inline struct io_uring_sqe *bench_ring_sqe(struct bench_ring *r)
{
	struct io_uring_sq *sq = &r->io.sq;
	unsigned int tail = sq->sqe_tail;
	struct io_uring_sqe *sqe;

	while (au_unlikely(bench_ring_full(r)))
		au_cpu_relax();
	sqe = &sq->sqes[tail & sq->ring_mask];
	sq->sqe_tail = tail + 1;
	sqe->flags = 0;
	sqe->ioprio = 0;
	sqe->rw_flags = 0;
	sqe->buf_index = 0;
	sqe->personality = 0;
	sqe->file_index = 0;
	sqe->addr3 = 0;
	sqe->pad2[0] = 0;
	return sqe;
}

static inline void bench_prep(struct io_uring_sqe *sqe, uint8_t opcode, int fd,
			      const void *addr, unsigned int len, uint64_t off,
			      uint64_t user_data)
{
	sqe->opcode = opcode;
	sqe->fd = fd;
	sqe->off = off;
	sqe->addr = (uintptr_t)addr;
	sqe->len = len;
	sqe->user_data = user_data;
}

static inline unsigned int bench_ring_ready(const struct bench_ring *r)
{
	/* pairs with the server's release of the tail */
	return au_load_acquire(r->io.cq.ktail) - *r->io.cq.khead;
}

static inline const struct io_uring_cqe *
bench_ring_cqe(const struct bench_ring *r, unsigned int i)
{
	const struct io_uring_cq *cq = &r->io.cq;

	return &cq->cqes[(*cq->khead + i) & cq->ring_mask];
}

static inline void bench_ring_advance(struct bench_ring *r, unsigned int nr)
{
	au_store_release(r->io.cq.khead, *r->io.cq.khead + nr);
}

/* Takes the `nr` CQEs that are there, each checked. */
static inline bool bench_ring_reap(struct bench_job *job, struct bench_ring *r,
				   unsigned int nr, int res)
{
	for (unsigned int i = 0; i < nr; i++) {
		const struct io_uring_cqe *cqe = bench_ring_cqe(r, i);

		if (au_unlikely(cqe->user_data != r->reaped || cqe->res != res))
			return bench_ring_wrong(job, r, cqe, res);
		r->reaped++;
	}
	bench_ring_advance(r, nr);
	return true;
}

#endif
