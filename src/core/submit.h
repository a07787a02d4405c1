/* SPDX-License-Identifier: MIT */
#ifndef AU_CORE_SUBMIT_H
#define AU_CORE_SUBMIT_H

#include "core/ring.h"

/*
 * Consumes up to `nr` SQEs and issues what they ask for. Returns how many were
 * consumed. Ring lock held, by the submitter or the SQPOLL thread.
 */
int au_submit_sqes(struct au_ring *ring, uint32_t nr);

/* An SQE of the engine's own, in its memory. Lock held. */
void au_submit_own(struct au_ring *ring, const struct io_uring_sqe *sqe);

/* SQEs the application has added and nobody has fetched. */
static inline uint32_t au_sq_ready(struct au_ring *ring)
{
	/* pairs with the application's release of the tail */
	return au_min_u32(au_load_acquire(&ring->shared->sq_tail) -
				  ring->sq_head,
			  ring->sq_entries);
}

#endif
