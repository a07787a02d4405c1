/* SPDX-License-Identifier: MIT */
/*
 * IORING_REGISTER_RESIZE_RINGS: other memory for the SQ and the CQ, with what
 * is pending in either. Heads and tails count on, so whatever the application
 * keeps of them stays right; it maps the descriptor anew. As in the kernel only
 * a DEFER_TASKRUN ring can be resized: nobody but the caller uses its memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/complete.h"
#include "core/register.h"
#include "core/setup.h"
#include "sys/uaccess.h"

#define RESIZE_FLAGS (IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP)
/* What stays as it was set up. */
#define RESIZE_KEPT                                                           \
	(IORING_SETUP_NO_SQARRAY | IORING_SETUP_SQE128 | IORING_SETUP_CQE32 | \
	 IORING_SETUP_NO_MMAP | IORING_SETUP_CQE_MIXED)

/* SQEs from the true head to the application's tail: false if too many. */
static bool resize_sq(const struct au_ring *from, struct au_ring *to)
{
	uint32_t tail = AU_READ_ONCE(from->shared->sq_tail);
	unsigned int shift = from->sqe_shift;

	if (tail - from->sq_head > to->sq_entries)
		return false;
	for (uint32_t i = from->sq_head; i != tail; i++)
		memcpy(to->sqes + ((size_t)(i & to->sq_mask) << shift),
		       from->sqes + ((size_t)(i & from->sq_mask) << shift),
		       1U << shift);
	to->shared->sq_head = from->sq_head;
	to->shared->sq_tail = tail;
	return true;
}

static bool resize_cq(const struct au_ring *from, struct au_ring *to)
{
	uint32_t head = AU_READ_ONCE(from->shared->cq_head);
	uint32_t tail = from->cq_tail_shared, shift = from->cqe_shift;

	if (tail - head > to->cq_entries)
		return false;
	for (uint32_t i = head; i != tail; i++)
		memcpy(&to->cqes[(i & to->cq_mask) << shift],
		       &from->cqes[(i & from->cq_mask) << shift],
		       sizeof(struct io_uring_cqe) << shift);
	to->shared->cq_head = head;
	to->shared->cq_tail = tail;
	return true;
}

/* The rest of the header, which goes along as it is. */
static void resize_header(const struct au_ring *from, struct au_ring *to)
{
	to->shared->sq_dropped = AU_READ_ONCE(from->shared->sq_dropped);
	to->shared->sq_flags = AU_READ_ONCE(from->shared->sq_flags);
	to->shared->cq_flags = AU_READ_ONCE(from->shared->cq_flags);
	to->shared->cq_overflow = AU_READ_ONCE(from->shared->cq_overflow);
}

static void resize_take(struct au_ring *ring, const struct au_ring *fresh)
{
	ring->shared = fresh->shared;
	ring->cqes = fresh->cqes;
	ring->sqes = fresh->sqes;
	ring->sq_array = fresh->sq_array;
	ring->sq_entries = fresh->sq_entries;
	ring->sq_mask = fresh->sq_mask;
	ring->cq_entries = fresh->cq_entries;
	ring->cq_mask = fresh->cq_mask;
	ring->memory = fresh->memory;
	/* How much room there is has to be seen. */
	ring->cq_head_seen = fresh->shared->cq_head;
	ring->cq_limit = ring->cq_tail;
}

static int resize(struct au_ring *ring, struct au_ring *fresh,
		  struct io_uring_params *p, uint64_t arg)
{
	int r;

	fresh->sq_entries = p->sq_entries;
	fresh->sq_mask = p->sq_entries - 1;
	fresh->cq_entries = p->cq_entries;
	fresh->cq_mask = p->cq_entries - 1;
	fresh->sqe_shift = ring->sqe_shift;
	fresh->cqe_shift = ring->cqe_shift;
	fresh->memory.fd = -1;
	r = au_memory_make(fresh, p);
	if (r >= 0)
		r = au_copy_to_user(arg, p, sizeof(*p));
	if (r >= 0 && (!resize_sq(ring, fresh) || !resize_cq(ring, fresh)))
		r = -EOVERFLOW;
	if (r < 0) {
		au_memory_free(fresh);
		return r;
	}
	resize_header(ring, fresh);
	au_memory_free(ring);
	resize_take(ring, fresh);
	return 0;
}

int au_register_resize(struct au_ring *ring, uint64_t arg)
{
	struct io_uring_params p;
	struct au_ring *fresh;
	int r;

	if (!au_ring_defer(ring))
		return -EINVAL;
	if (au_copy_from_user(&p, arg, sizeof(p)))
		return -EFAULT;
	if (p.flags & ~(uint32_t)RESIZE_FLAGS)
		return -EINVAL;
	p.flags |= ring->setup_flags & RESIZE_KEPT;
	r = au_setup_sizes(p.sq_entries, &p);
	if (r < 0)
		return r;
	fresh = aligned_alloc(AU_CACHELINE, sizeof(*fresh));
	if (!fresh)
		return -ENOMEM;
	memset(fresh, 0, sizeof(*fresh));
	au_cq_commit(ring);
	r = resize(ring, fresh, &p, arg);
	free(fresh);
	return r;
}
