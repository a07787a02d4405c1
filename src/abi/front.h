/* SPDX-License-Identifier: MIT */
/*
 * Private to the liburing front: what its files share.
 *
 * The front is a thin layer in the caller's thread: it fills the caller's
 * struct io_uring, encodes arguments, and passes on to the anyuring_*
 * functions. It has no lock, no thread and no state of its own. As in
 * liburing, one thread at a time may use the submission side of a ring and one
 * the completion side.
 */
#ifndef AU_ABI_FRONT_H
#define AU_ABI_FRONT_H

#include "abi/liburing.h"

/*
 * io_uring.int_flags. The values are liburing's, since a process may hold
 * both libraries (one linked statically into some plugin) and pass a ring
 * between them. The two that have IORING_ENTER_* values go to enter as is.
 */
enum {
	FRONT_REG_REG = 1U << 0, /* register by registered index, too */
	FRONT_APP_MEM = 1U << 1, /* the application owns the ring's memory */
	FRONT_CQ_ENTER = 1U << 2, /* IOPOLL: CQEs come only by entering */
	FRONT_REG_RING = IORING_ENTER_REGISTERED_RING,
	FRONT_NO_IOWAIT = IORING_ENTER_NO_IOWAIT,
};

#define FRONT_ENTER_MASK (FRONT_REG_RING | FRONT_NO_IOWAIT)

/* The kernel's sigset_t, not libc's: one bit a signal. */
#define FRONT_SIGSET_SIZE (_NSIG / 8)

static inline unsigned int front_enter_flags(const struct io_uring *ring)
{
	return ring->int_flags & FRONT_ENTER_MASK;
}

/* A ring's two memory regions, the SQEs and the rings proper, in bytes. */
struct front_size {
	unsigned int sq_entries;
	size_t sqes; /* whole pages */
	size_t rings;
};

/* Sizes for `entries` and p's flags; 0, or -EINVAL as setup would say. */
int au_front_size(unsigned int entries, const struct io_uring_params *p,
		  struct front_size *size);
size_t au_front_sqes_bytes(unsigned int flags, unsigned int entries);
size_t au_front_cqes_bytes(unsigned int flags, unsigned int entries);
size_t au_front_page_align(size_t bytes);

/* anyuring_register() on `ring`, by its descriptor or by its index. */
int au_front_register(struct io_uring *ring, unsigned int opcode,
		      const void *arg, unsigned int nr_args);
int au_front_unregister_ring_fd(struct io_uring *ring);

int au_front_queue_init(unsigned int entries, struct io_uring *ring,
			struct io_uring_params *p, void *buf, size_t buf_size);
void au_front_queue_exit(struct io_uring *ring);

/* mmap(2) of shared or private anonymous memory; `flags` adds to MAP_ANONYMOUS.
 * The address, or -errno (ANYURING_IS_ERR). */
void *au_front_map(size_t bytes, int flags);
void au_front_unmap(void *addr, size_t bytes);

#endif
