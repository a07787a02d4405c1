/* SPDX-License-Identifier: MIT */
/*
 * The liburing front: how much memory a ring takes, and how much of it would
 * count against RLIMIT_MEMLOCK.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "abi/front.h"

/* The ABI's limits; more is an error, or cut down with IORING_SETUP_CLAMP. */
#define SQ_ENTRIES_MAX 32768U
#define CQ_ENTRIES_MAX (2 * SQ_ENTRIES_MAX)

/* Heads, tails, masks and flags of both rings, in front of the CQEs. */
#define RINGS_HEADER_SIZE 64

static unsigned int round_up_pow2(unsigned int n)
{
	return n <= 1 ? 1 : 1U << (32 - __builtin_clz(n - 1));
}

size_t au_front_page_align(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) & ~(page - 1);
}

size_t au_front_sqes_bytes(unsigned int flags, unsigned int entries)
{
	return (size_t)entries * sizeof(struct io_uring_sqe)
	       << !!(flags & IORING_SETUP_SQE128);
}

size_t au_front_cqes_bytes(unsigned int flags, unsigned int entries)
{
	return (size_t)entries * sizeof(struct io_uring_cqe)
	       << !!(flags & IORING_SETUP_CQE32);
}

/* Bring *entries under `max` if the ring's flags allow that. */
static int clamp_entries(unsigned int *entries, unsigned int max,
			 unsigned int flags)
{
	if (!*entries)
		return -EINVAL;
	if (*entries > max) {
		if (!(flags & IORING_SETUP_CLAMP))
			return -EINVAL;
		*entries = max;
	}
	return 0;
}

int au_front_size(unsigned int entries, const struct io_uring_params *p,
		  struct front_size *size)
{
	unsigned int cq_entries = p->cq_entries;
	int ret;

	ret = clamp_entries(&entries, SQ_ENTRIES_MAX, p->flags);
	if (ret)
		return ret;
	entries = round_up_pow2(entries);

	if (p->flags & IORING_SETUP_CQSIZE) {
		ret = clamp_entries(&cq_entries, CQ_ENTRIES_MAX, p->flags);
		if (ret)
			return ret;
		cq_entries = round_up_pow2(cq_entries);
		if (cq_entries < entries)
			return -EINVAL;
	} else {
		cq_entries = 2 * entries;
	}

	size->sq_entries = entries;
	size->sqes =
		au_front_page_align(au_front_sqes_bytes(p->flags, entries));
	size->rings =
		RINGS_HEADER_SIZE + au_front_cqes_bytes(p->flags, cq_entries);
	if (!(p->flags & IORING_SETUP_NO_SQARRAY))
		size->rings += entries * sizeof(unsigned int);
	return 0;
}

ssize_t io_uring_memory_size_params(unsigned int entries,
				    struct io_uring_params *p)
{
	struct front_size size;
	int ret = au_front_size(entries, p, &size);

	if (ret)
		return ret;
	return (ssize_t)(size.sqes + au_front_page_align(size.rings));
}

ssize_t io_uring_memory_size(unsigned int entries, unsigned int ring_flags)
{
	struct io_uring_params p = { .flags = ring_flags };

	return io_uring_memory_size_params(entries, &p);
}

/*
 * A server with native workers (kernel 5.12, and anyuring) does not charge
 * rings to RLIMIT_MEMLOCK. Only making one tells; if that fails, assume the
 * server is an old one and that this limit is why.
 */
ssize_t io_uring_mlock_size_params(unsigned int entries,
				   struct io_uring_params *p)
{
	struct io_uring_params trial;
	struct io_uring ring;

	memset(&trial, 0, sizeof(trial));
	if (au_front_queue_init(entries, &ring, &trial, NULL, 0) >= 0)
		au_front_queue_exit(&ring);
	if (trial.features & IORING_FEAT_NATIVE_WORKERS)
		return 0;
	return io_uring_memory_size_params(entries, p);
}

ssize_t io_uring_mlock_size(unsigned int entries, unsigned int flags)
{
	struct io_uring_params p = { .flags = flags };

	return io_uring_mlock_size_params(entries, &p);
}
