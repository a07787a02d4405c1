/* SPDX-License-Identifier: MIT */
/* Finding requests and ending them early. Ring lock held. */
#ifndef AU_CORE_CANCEL_H
#define AU_CORE_CANCEL_H

#include "core/ring.h"

/* What ASYNC_CANCEL and SYNC_CANCEL may be told. */
#define AU_CANCEL_FLAGS                                           \
	(IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_FD |       \
	 IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_FD_FIXED | \
	 IORING_ASYNC_CANCEL_USERDATA | IORING_ASYNC_CANCEL_OP)

struct au_cancel {
	uint32_t flags; /* IORING_ASYNC_CANCEL_* */
	uint64_t user_data;
	int32_t fd; /* descriptor, or table slot with FD_FIXED */
	uint8_t opcode;
	const struct au_req *self; /* never cancelled */
	bool same_file; /* FD: other descriptors of the file match too */
};

/* Does FD, or FD_FIXED, name a file? If not the answer is -EBADF. */
bool au_cancel_fd_valid(struct au_ring *ring, const struct au_cancel *c);

/*
 * Cancels one request, or all with CANCEL_ALL or CANCEL_ANY. Returns 0 (one
 * cancelled), the number (all), -ENOENT, or -EALREADY: found, but running
 * where it cannot be stopped at once.
 */
int au_cancel(struct au_ring *ring, struct au_cancel *c);

/* Takes a parked request out of its place: 0, or -EALREADY. */
int au_cancel_take(struct au_ring *ring, struct au_req *req);

/*
 * Ends one parked request: 0, or -EALREADY (a worker runs it). Its CQE comes
 * later, behind that of whoever cancels and what was submitted with it, where
 * the kernel's task work would post it.
 */
int au_cancel_req(struct au_ring *ring, struct au_req *req);

/* Posts those CQEs. */
void au_cancelled_complete_slow(struct au_ring *ring);

static inline void au_cancelled_complete(struct au_ring *ring)
{
	if (au_unlikely(!au_slist_empty(&ring->cancelled)))
		au_cancelled_complete_slow(ring);
}

/* Is something that matches interrupted, but not back yet? */
bool au_cancel_running(struct au_ring *ring, const struct au_cancel *c);

/* The oldest parked request of that opcode and user_data, or NULL. */
struct au_req *au_pending_find(struct au_ring *ring, uint64_t user_data,
			       uint8_t opcode);

/* Teardown: everything that waits is dropped. */
void au_cancel_all(struct au_ring *ring);

#endif
