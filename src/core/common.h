/* SPDX-License-Identifier: MIT */
/*
 * Rings across fork(2): what the processes that have a ring hold in common.
 *
 * A process serves a ring by what is its own: requests, workers, timers, an
 * epoll instance. Before a fork each ring gets a common block, in memory that
 * both processes share, and has it from then on. Whoever takes the ring's lock
 * takes the block's as well, and finds the ring as the last holder left it:
 * the block's words are loaded into struct au_ring, and stored back when the
 * lock is given up. In between nothing else knows of other processes.
 *
 * Who waits sleeps in the epoll instance of its own process; all of these hold
 * the one eventfd that is inherited (the poller's wakefd). Whoever posts CQEs
 * writes to it if the block says that somebody sleeps.
 */
#ifndef AU_CORE_COMMON_H
#define AU_CORE_COMMON_H

#include <stdbool.h>
#include <stdint.h>
#include "base/util.h"
#include "sys/clock.h"
#include "uapi/io_uring.h"

struct au_ring;
struct au_req;
struct au_cancel;
struct au_overflow;
struct au_common_batch;

enum {
	AU_COMMON_PROCESSES = 8, /* of those with requests that wait */
	AU_COMMON_LEGACIES = 16,
};

/* A cancel on its way to another process, or its answer on the way back. */
struct au_common_mail {
	int32_t from, to; /* process ids */
	bool asked, answered;
	uint8_t opcode;
	uint32_t flags; /* IORING_ASYNC_CANCEL_* */
	uint64_t user_data;
	int32_t res;
};

/* A request that outlives its process; the SQE's address is set to `ts`. */
struct au_common_legacy {
	struct io_uring_sqe sqe;
	struct au_timespec ts;
};

/*
 * What must be true at each instruction, because the holder may die there, is
 * one word, stored whole and in its turn.
 */

/* Overflowed CQEs, in the spill area. */
union au_common_overflow {
	struct {
		uint32_t first, nr;
	};

	uint64_t word;
};

/* One of them on its way into the CQ, where it comes to lie behind `tail`. */
union au_common_move {
	struct {
		uint32_t which, tail;
	};

	uint64_t word;
};

/* All under `lock`. */
struct au_common {
	uint32_t lock; /* see sys/robust.h */
	uint32_t sq_head, cq_tail, cq_tail_shared;
	uint32_t nr_timeouts;
	union au_common_overflow overflow;
	union au_common_move move;
	int32_t owner_tid;
	int32_t sqpoll_pid, sqpoll_tid; /* its SQPOLL thread */
	bool disabled, readable, watched;
	bool asleep; /* somebody waits for the wakefd to be written to */
	struct au_common_mail mail;

	struct {
		int32_t pid; /* 0: free */
		uint32_t nr_pending;
	} processes[AU_COMMON_PROCESSES];

	uint32_t nr_legacies;
	struct au_common_legacy legacies[AU_COMMON_LEGACIES];
} au_aligned_cacheline;

/*
 * Part of a ring's lock: its own is held, and `common` set. Try may give up
 * although nobody holds the block for long.
 */
void au_common_enter(struct au_ring *ring);
bool au_common_try_enter(struct au_ring *ring) au_must_check;
void au_common_leave(struct au_ring *ring);

/* Lock held: threads that sleep for the ring, in any process, look again. */
void au_common_wake(struct au_ring *ring);

/* Keeps a CQE that found the CQ full; false: there are too many of them. */
bool au_common_spill(struct au_ring *ring,
		     const struct au_overflow *o) au_must_check;
/*
 * The oldest of them, of which there must be one. It is to be published before
 * it is popped: who dies in between has done both.
 */
struct au_overflow *au_common_spilled(struct au_ring *ring);
void au_common_spill_pop(struct au_ring *ring);

/* Does the thread live that submits for an SQPOLL ring? */
bool au_common_sqpoll_alive(const struct au_ring *ring);

/*
 * ASYNC_CANCEL found nothing here, or not all: asks the next process that has
 * requests, after *at of them, and parks `req` until it answers or dies; then
 * it is issued again. False if there is none to ask. Lock held.
 */
bool au_common_cancel(struct au_ring *ring, struct au_req *req,
		      const struct au_cancel *what, uint32_t *at) au_must_check;
/* It waits no longer. False: without an answer, the other one is gone. */
bool au_common_cancel_end(struct au_ring *ring, struct au_req *req, int *res);

/* Does what other processes ask for, or left behind. Lock held. */
void au_common_run(struct au_ring *ring);

/*
 * The process ends by exit(3). As in the kernel, what waits for a worker or for
 * a ring ends with it, and what waits for a time goes on, in other processes.
 */
void au_common_exit(void);

/* The process becomes another program: all its requests end. */
void au_common_exec(void);

/*
 * Before fork(2): gives each ring that has none a common block. A ring that
 * cannot have one is not the child's: its memory is private to the process, or
 * its lock is not to be had.
 */
void au_common_fork_prepare(void);

/*
 * In the child: the ring starts afresh with what is common, or if it is not to
 * be kept is none of ours. No lock held.
 */
void au_common_fork_child(struct au_ring *ring, bool keeps);

/* This process has done with the ring. Lock held; the block's is given up. */
void au_common_drop(struct au_ring *ring);

#endif
