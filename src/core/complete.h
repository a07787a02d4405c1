/* SPDX-License-Identifier: MIT */
/* Posting CQEs and ending requests. All with the ring's lock held. */
#ifndef AU_CORE_COMPLETE_H
#define AU_CORE_COMPLETE_H

#include "core/ring.h"

void au_cqe_post_slow(struct au_ring *ring, uint64_t user_data, int32_t res,
		      uint32_t flags, const uint64_t *extra);

/*
 * Writes a CQE behind the private tail; the application sees it at the next
 * au_cq_commit(). Never fails to keep it: a full CQ overflows into a list.
 */
static inline void au_cqe_post(struct au_ring *ring, uint64_t user_data,
			       int32_t res, uint32_t flags)
{
	struct io_uring_cqe *cqe;

	if (au_unlikely((int32_t)(ring->cq_tail - ring->cq_limit) >= 0)) {
		au_cqe_post_slow(ring, user_data, res, flags, NULL);
		return;
	}
	cqe = &ring->cqes[ring->cq_tail++ & ring->cq_mask];
	cqe->user_data = user_data;
	cqe->res = res;
	cqe->flags = flags;
}

void au_cq_commit_slow(struct au_ring *ring);

/* Nobody is told; that is au_cq_commit()'s. */
static inline void au_cq_publish(struct au_ring *ring)
{
	ring->cq_tail_shared = ring->cq_tail;
	/* pairs with the application's acquire of the tail */
	au_store_release(&ring->shared->cq_tail, ring->cq_tail);
}

/* Publishes everything posted with one store of the tail. */
static inline void au_cq_commit(struct au_ring *ring)
{
	if (ring->cq_tail_shared == ring->cq_tail)
		return;
	au_cq_publish(ring);
	if (au_unlikely(ring->notify))
		au_cq_commit_slow(ring);
}

/* CQEs the application has not consumed yet (of those published). */
static inline uint32_t au_cq_ready(struct au_ring *ring)
{
	/* pairs with the application's release of the head */
	return ring->cq_tail_shared - au_load_acquire(&ring->shared->cq_head);
}

/* Moves overflowed CQEs, oldest first, into what room there is. */
void au_cq_flush_overflow(struct au_ring *ring);

/* Recomputes ring->notify after one of its reasons changed. */
void au_cq_update_notify(struct au_ring *ring);

/* A request with one of these ends by more than a CQE. */
#define AU_REQ_F_ENDS_SLOW                                                   \
	(AU_REQ_F_LINKS | AU_REQ_F_CQE_SKIP | AU_REQ_F_COMPLETE_SLOW |       \
	 AU_REQ_F_NEED_CLEANUP | AU_REQ_F_NODE_FILE | AU_REQ_F_NODE_BUF)

void au_req_complete_slow(struct au_ring *ring, struct au_req *req);

/*
 * The request is over: its CQE (unless skipped), then whatever waited for it.
 * The request is gone afterwards.
 */
static inline void au_req_complete(struct au_ring *ring, struct au_req *req)
{
	if (au_unlikely(req->flags & AU_REQ_F_ENDS_SLOW)) {
		au_req_complete_slow(ring, req);
		return;
	}
	au_cqe_post(ring, req->user_data, req->res, req->cqe_flags);
	ring->nr_inflight--;
	au_req_free(ring, req);
}

static inline void au_req_complete_res(struct au_ring *ring, struct au_req *req,
				       int res)
{
	au_req_set_res(req, res);
	au_req_complete(ring, req);
}

/* A CQE of a request that goes on (IORING_CQE_F_MORE). False: it overflowed. */
bool au_req_post_more(struct au_ring *ring, struct au_req *req, int res,
		      uint32_t flags);

void au_ring_after_complete_slow(struct au_ring *ring);

/* Fires counted timeouts and releases drained requests, if it is time. */
static inline void au_ring_after_complete(struct au_ring *ring)
{
	if (au_unlikely(ring->run_counted || ring->nr_deferred))
		au_ring_after_complete_slow(ring);
}

#endif
