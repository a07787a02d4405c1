/* SPDX-License-Identifier: MIT */
/*
 * The liburing front's fast path: get an SQE, submit, wait, peek.
 *
 * Barrier contract, the application's half of the ring: the SQ tail is stored
 * with release after the SQEs are filled in, and the CQ tail is loaded with
 * acquire before CQEs are read; both pair with the ring's server. With SQPOLL
 * one full fence stands between the store of the tail and the load of the
 * flags word: the server's thread sets NEED_WAKEUP, fences, and looks at the
 * tail once more, so that one of the two sees the other. The CQ head is
 * written here (skipped entries) and by the caller, never by the server.
 *
 * Nothing here makes a system call of its own: work goes to anyuring_enter(),
 * once, and only if there is any.
 */
#include <errno.h>

#include "abi/front.h"
#include "anyuring.h"
#include "base/atomic.h"

static inline bool cq_has_work(const struct io_uring *ring)
{
	return AU_READ_ONCE(*ring->sq.kflags) &
	       (IORING_SQ_CQ_OVERFLOW | IORING_SQ_TASKRUN);
}

static inline bool cq_needs_enter(const struct io_uring *ring)
{
	return (ring->int_flags & FRONT_CQ_ENTER) || cq_has_work(ring);
}

/*
 * Must the server be entered for `submit` new SQEs? An SQPOLL ring's thread
 * finds them by itself unless it sleeps; then *flags asks to wake it.
 */
static inline bool sq_needs_enter(const struct io_uring *ring,
				  unsigned int submit, unsigned int *flags)
{
	if (!submit)
		return false;
	if (__builtin_expect(!(ring->flags & IORING_SETUP_SQPOLL), 1))
		return true;

	au_fence_full();
	if (!(AU_READ_ONCE(*ring->sq.kflags) & IORING_SQ_NEED_WAKEUP))
		return false;
	*flags |= IORING_ENTER_SQ_WAKEUP;
	return true;
}

/*
 * Publish what io_uring_get_sqe() handed out. Returns the number of entries
 * that the server has not consumed, those of an earlier short submit included.
 *
 * The SQ array, if there is one, was filled with the identity at setup and is
 * never touched again.
 */
static inline unsigned int sq_flush(struct io_uring *ring)
{
	struct io_uring_sq *sq = &ring->sq;
	unsigned int tail = sq->sqe_tail;

	/* Such a ring starts over at entry 0 with each submit and has no use
	 * for the shared head and tail. */
	if (__builtin_expect(ring->flags & IORING_SETUP_SQ_REWIND, 0)) {
		sq->sqe_tail = 0;
		return tail;
	}

	if (sq->sqe_head != tail) {
		sq->sqe_head = tail;
		au_store_release(sq->ktail, tail);
	}
	/* The head only tells which entries are free again: no acquire. */
	return tail - AU_READ_ONCE(*sq->khead);
}

struct io_uring_sqe *io_uring_get_sqe(struct io_uring *ring)
{
	struct io_uring_sq *sq = &ring->sq;
	unsigned int tail = sq->sqe_tail;
	struct io_uring_sqe *sqe;
	unsigned int head, shift;

	/* Pairs with the poll thread's release of the head; without such a
	 * thread the head moves only inside our own calls. */
	if (ring->flags & IORING_SETUP_SQPOLL)
		head = au_load_acquire(sq->khead);
	else
		head = *sq->khead;
	if (tail - head >= sq->ring_entries)
		return NULL;

	shift = !!(ring->flags & IORING_SETUP_SQE128);
	sqe = &sq->sqes[(size_t)(tail & sq->ring_mask) << shift];
	sq->sqe_tail = tail + 1;

	/* The fields that prep helpers may leave alone. */
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

static inline int submit(struct io_uring *ring, unsigned int wait_nr,
			 unsigned int flags)
{
	unsigned int nr = sq_flush(ring);

	if (wait_nr || cq_needs_enter(ring))
		flags |= IORING_ENTER_GETEVENTS;
	if (!sq_needs_enter(ring, nr, &flags) && !flags)
		return (int)nr;
	return anyuring_enter((unsigned int)ring->enter_ring_fd, nr, wait_nr,
			      flags | front_enter_flags(ring), NULL,
			      FRONT_SIGSET_SIZE);
}

int io_uring_submit(struct io_uring *ring)
{
	return submit(ring, 0, 0);
}

int io_uring_submit_and_wait(struct io_uring *ring, unsigned int wait_nr)
{
	return submit(ring, wait_nr, 0);
}

int io_uring_submit_and_get_events(struct io_uring *ring)
{
	return submit(ring, 0, IORING_ENTER_GETEVENTS);
}

static inline int enter_for(struct io_uring *ring, unsigned int flags)
{
	return anyuring_enter((unsigned int)ring->enter_ring_fd, 0, 0,
			      flags | front_enter_flags(ring), NULL,
			      FRONT_SIGSET_SIZE);
}

int io_uring_get_events(struct io_uring *ring)
{
	return enter_for(ring, IORING_ENTER_GETEVENTS);
}

int __io_uring_sqring_wait(struct io_uring *ring)
{
	return enter_for(ring, IORING_ENTER_SQ_WAIT);
}

/* Ring slots a CQE takes, on a ring that mixes both sizes. */
static inline unsigned int cqe_slots(const struct io_uring_cqe *cqe)
{
	return cqe->flags & IORING_CQE_F_32 ? 2 : 1;
}

static inline void cq_advance(struct io_uring *ring, unsigned int slots)
{
	au_store_release(ring->cq.khead, *ring->cq.khead + slots);
}

/*
 * The first CQE, or NULL. *available becomes the number of filled slots.
 * Entries that only pad the ring before it wraps are consumed on the way.
 */
static inline struct io_uring_cqe *cq_first(struct io_uring *ring,
					    unsigned int *available)
{
	struct io_uring_cq *cq = &ring->cq;
	unsigned int shift = !!(ring->flags & IORING_SETUP_CQE32);
	struct io_uring_cqe *cqe;
	unsigned int head;

	for (;;) {
		/* Pairs with the server's release of the tail. */
		unsigned int tail = au_load_acquire(cq->ktail);

		head = *cq->khead;
		*available = tail - head;
		if (tail == head)
			return NULL;
		cqe = &cq->cqes[(size_t)(head & cq->ring_mask) << shift];
		if (__builtin_expect(!(cqe->flags & IORING_CQE_F_SKIP), 1))
			return cqe;
		cq_advance(ring, cqe_slots(cqe));
	}
}

/* Does the wait described by `flags` and `arg` end by itself? */
static inline bool wait_has_timeout(unsigned int flags, const void *arg)
{
	const struct io_uring_getevents_arg *ext = arg;

	if (flags & IORING_ENTER_EXT_ARG_REG)
		return true;
	return (flags & IORING_ENTER_EXT_ARG) && ext->ts;
}

static inline size_t wait_arg_size(unsigned int flags)
{
	if (flags & IORING_ENTER_EXT_ARG_REG)
		return sizeof(struct io_uring_reg_wait);
	if (flags & IORING_ENTER_EXT_ARG)
		return sizeof(struct io_uring_getevents_arg);
	return FRONT_SIGSET_SIZE;
}

/*
 * Submit `nr` published SQEs and wait until `wait_nr` CQEs are there; *cqe_ptr
 * becomes the first CQE, or NULL. `wait_flags` says what `arg` is: a signal
 * mask, a getevents argument, or the offset of a registered one.
 *
 * The result is liburing's, also where it surprises: the number submitted if
 * the first look found no CQE, 0 if it found one, a negative error only if
 * nothing was submitted before. A wait with a timeout is entered once: if
 * nothing came, time is up.
 */
static int get_cqe(struct io_uring *ring, struct io_uring_cqe **cqe_ptr,
		   unsigned int nr, unsigned int wait_nr,
		   unsigned int wait_flags, const void *arg)
{
	struct io_uring_cqe *cqe;
	unsigned int available;
	bool entered = false;
	int result = 0;
	int error = 0;

	for (;;) {
		unsigned int flags = 0;
		int ret;

		cqe = cq_first(ring, &available);
		if (available < wait_nr) {
			flags = IORING_ENTER_GETEVENTS | wait_flags;
		} else if (!cqe && !nr) {
			/* Nothing to hand in and nothing to wait for: enter
			 * at most once, to let the server post. */
			if (entered || !cq_needs_enter(ring)) {
				error = -EAGAIN;
				break;
			}
			flags = IORING_ENTER_GETEVENTS | wait_flags;
		}
		if (!sq_needs_enter(ring, nr, &flags) && !flags)
			break;
		if (entered && wait_has_timeout(wait_flags, arg)) {
			if (!cqe)
				error = -ETIME;
			break;
		}

		flags |= front_enter_flags(ring);
		ret = anyuring_enter((unsigned int)ring->enter_ring_fd, nr,
				     wait_nr, flags, arg,
				     wait_arg_size(wait_flags));
		if (ret < 0) {
			error = ret;
			break;
		}
		nr -= (unsigned int)ret;
		if (cqe)
			break;
		if (!entered) {
			entered = true;
			result = ret;
		}
	}

	*cqe_ptr = cqe;
	return result ? result : error;
}

int __io_uring_get_cqe(struct io_uring *ring, struct io_uring_cqe **cqe_ptr,
		       unsigned int submit, unsigned int wait_nr,
		       sigset_t *sigmask)
{
	return get_cqe(ring, cqe_ptr, submit, wait_nr, 0, sigmask);
}

/* As get_cqe(), with a timeout and a minimum wait. */
static int get_cqe_timed(struct io_uring *ring, struct io_uring_cqe **cqe_ptr,
			 unsigned int nr, unsigned int wait_nr,
			 struct au_timespec *ts, unsigned int min_wait_usec,
			 sigset_t *sigmask)
{
	struct io_uring_getevents_arg arg = {
		.sigmask = (uintptr_t)sigmask,
		.sigmask_sz = FRONT_SIGSET_SIZE,
		.min_wait_usec = min_wait_usec,
		.ts = (uintptr_t)ts,
	};

	return get_cqe(ring, cqe_ptr, nr, wait_nr, IORING_ENTER_EXT_ARG, &arg);
}

int io_uring_wait_cqes(struct io_uring *ring, struct io_uring_cqe **cqe_ptr,
		       unsigned int wait_nr, struct au_timespec *ts,
		       sigset_t *sigmask)
{
	if (!ts)
		return get_cqe(ring, cqe_ptr, 0, wait_nr, 0, sigmask);
	return get_cqe_timed(ring, cqe_ptr, 0, wait_nr, ts, 0, sigmask);
}

int io_uring_wait_cqe_timeout(struct io_uring *ring,
			      struct io_uring_cqe **cqe_ptr,
			      struct au_timespec *ts)
{
	return io_uring_wait_cqes(ring, cqe_ptr, 1, ts, NULL);
}

int io_uring_wait_cqes_min_timeout(struct io_uring *ring,
				   struct io_uring_cqe **cqe_ptr,
				   unsigned int wait_nr, struct au_timespec *ts,
				   unsigned int min_wait_usec,
				   sigset_t *sigmask)
{
	if (!(ring->features & IORING_FEAT_MIN_TIMEOUT))
		return -EINVAL;
	return get_cqe_timed(ring, cqe_ptr, 0, wait_nr, ts, min_wait_usec,
			     sigmask);
}

/* Without a timeout the minimum wait has no meaning and is dropped. */
static int submit_and_wait_timed(struct io_uring *ring,
				 struct io_uring_cqe **cqe_ptr,
				 unsigned int wait_nr, struct au_timespec *ts,
				 unsigned int min_wait_usec, sigset_t *sigmask)
{
	unsigned int nr = sq_flush(ring);

	if (!ts)
		return get_cqe(ring, cqe_ptr, nr, wait_nr, 0, sigmask);
	return get_cqe_timed(ring, cqe_ptr, nr, wait_nr, ts, min_wait_usec,
			     sigmask);
}

int io_uring_submit_and_wait_timeout(struct io_uring *ring,
				     struct io_uring_cqe **cqe_ptr,
				     unsigned int wait_nr,
				     struct au_timespec *ts, sigset_t *sigmask)
{
	return submit_and_wait_timed(ring, cqe_ptr, wait_nr, ts, 0, sigmask);
}

int io_uring_submit_and_wait_min_timeout(struct io_uring *ring,
					 struct io_uring_cqe **cqe_ptr,
					 unsigned int wait_nr,
					 struct au_timespec *ts,
					 unsigned int min_wait_usec,
					 sigset_t *sigmask)
{
	if (!(ring->features & IORING_FEAT_MIN_TIMEOUT))
		return -EINVAL;
	return submit_and_wait_timed(ring, cqe_ptr, wait_nr, ts, min_wait_usec,
				     sigmask);
}

/* `reg_index` selects an argument in the region registered for waiting. */
int io_uring_submit_and_wait_reg(struct io_uring *ring,
				 struct io_uring_cqe **cqe_ptr,
				 unsigned int wait_nr, int reg_index)
{
	uintptr_t offset =
		(uintptr_t)reg_index * sizeof(struct io_uring_reg_wait);
	unsigned int nr = sq_flush(ring);

	if (!(ring->features & IORING_FEAT_EXT_ARG))
		return -EINVAL;
	return get_cqe(ring, cqe_ptr, nr, wait_nr,
		       IORING_ENTER_EXT_ARG | IORING_ENTER_EXT_ARG_REG,
		       (const void *)offset);
}

int io_uring_set_iowait(struct io_uring *ring, bool enable_iowait)
{
	if (!(ring->features & IORING_FEAT_NO_IOWAIT))
		return -EOPNOTSUPP;
	if (enable_iowait)
		ring->int_flags &= (uint8_t)~FRONT_NO_IOWAIT;
	else
		ring->int_flags |= FRONT_NO_IOWAIT;
	return 0;
}

/* Pointers to `nr` CQEs that lie in one run, `step` apart. */
static inline struct io_uring_cqe **peek_run(struct io_uring_cqe **cqes,
					     struct io_uring_cqe *cqe,
					     size_t step, unsigned int nr)
{
	struct io_uring_cqe **end = cqes + nr;

	for (; cqes != end; cqe += step)
		*cqes++ = cqe;
	return cqes;
}

/* Up to `count` CQEs of a ring whose entries all have one size. */
static unsigned int peek_uniform(const struct io_uring *ring,
				 struct io_uring_cqe **cqes, unsigned int count)
{
	const struct io_uring_cq *cq = &ring->cq;
	unsigned int head = *cq->khead;
	unsigned int ready = au_load_acquire(cq->ktail) - head;
	size_t step = ring->flags & IORING_SETUP_CQE32 ? 2 : 1;
	unsigned int first = head & cq->ring_mask;
	unsigned int to_wrap = cq->ring_mask + 1 - first;

	if (count > ready)
		count = ready;
	if (__builtin_expect(count <= to_wrap, 1)) {
		peek_run(cqes, cq->cqes + first * step, step, count);
	} else {
		cqes = peek_run(cqes, cq->cqes + first * step, step, to_wrap);
		peek_run(cqes, cq->cqes, step, count - to_wrap);
	}
	return count;
}

/*
 * The same on a ring of mixed entries. The caller advances the head by what
 * the returned CQEs take, so padding may be consumed in front of them only;
 * padding behind one ends the batch.
 */
static unsigned int peek_mixed(struct io_uring *ring,
			       struct io_uring_cqe **cqes, unsigned int count)
{
	struct io_uring_cq *cq = &ring->cq;
	unsigned int tail = au_load_acquire(cq->ktail);
	unsigned int head = *cq->khead;
	unsigned int nr = 0;

	while (head != tail && nr < count) {
		struct io_uring_cqe *cqe = &cq->cqes[head & cq->ring_mask];

		if (cqe->flags & IORING_CQE_F_SKIP) {
			if (nr)
				break;
			cq_advance(ring, 1);
			head++;
			continue;
		}
		head += cqe_slots(cqe);
		cqes[nr++] = cqe;
	}
	return nr;
}

static inline unsigned int peek_batch(struct io_uring *ring,
				      struct io_uring_cqe **cqes,
				      unsigned int count)
{
	if (__builtin_expect(ring->flags & IORING_SETUP_CQE_MIXED, 0))
		return peek_mixed(ring, cqes, count);
	return peek_uniform(ring, cqes, count);
}

unsigned int io_uring_peek_batch_cqe(struct io_uring *ring,
				     struct io_uring_cqe **cqes,
				     unsigned int count)
{
	unsigned int nr = peek_batch(ring, cqes, count);

	if (nr || !cq_has_work(ring))
		return nr;

	/* Overflown CQEs, or work that posts some, wait for us to enter. */
	io_uring_get_events(ring);
	return peek_batch(ring, cqes, count);
}
