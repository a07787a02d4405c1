/* SPDX-License-Identifier: MIT */
/*
 * Completion: CQEs, overflow, and what a request's end sets free (its chain,
 * counted timeouts, drained requests). Everything here runs with the ring's
 * lock held, by whichever thread holds it.
 */
#include "core/complete.h"

#include <stdlib.h>
#include "core/housekeeper.h"
#include "core/issue.h"
#include "core/notify.h"
#include "core/op.h"
#include "core/register.h"

static bool overflow_keep(struct au_ring *ring, const struct au_overflow *o)
{
	struct au_overflow *copy;

	if (au_unlikely(ring->common))
		return au_common_spill(ring, o);
	copy = malloc(sizeof(*copy));
	if (!copy)
		return false;
	*copy = *o;
	au_slist_push(&ring->overflow, &copy->node);
	ring->nr_overflow++;
	return true;
}

static struct au_overflow *overflow_first(struct au_ring *ring)
{
	if (au_unlikely(ring->common))
		return au_common_spilled(ring);
	return au_container_of(ring->overflow.head, struct au_overflow, node);
}

static void overflow_pop(struct au_ring *ring)
{
	if (au_unlikely(ring->common)) {
		au_cq_publish(ring);
		au_common_spill_pop(ring);
		return;
	}
	free(au_container_of(au_slist_pop(&ring->overflow), struct au_overflow,
			     node));
	ring->nr_overflow--;
}

static void cqe_overflow(struct au_ring *ring, uint64_t user_data, int32_t res,
			 uint32_t flags, const uint64_t *extra)
{
	struct au_overflow o = {
		.user_data = user_data,
		.res = res,
		.flags = flags,
		.extra = { extra ? extra[0] : 0, extra ? extra[1] : 0 },
	};

	if (!overflow_keep(ring, &o)) {
		/* What the kernel does when it cannot keep it either. */
		AU_WRITE_ONCE(ring->shared->cq_overflow,
			      ring->shared->cq_overflow + 1);
		return;
	}
	ring->cq_limit = ring->cq_tail;
	if (ring->nr_overflow == 1)
		au_fetch_or(&ring->shared->sq_flags, IORING_SQ_CQ_OVERFLOW);
}

/* False unless `nr` more slots are free. */
static bool cq_has_room(struct au_ring *ring, uint32_t nr)
{
	if (ring->cq_tail + nr - ring->cq_head_seen <= ring->cq_entries)
		return true;
	/* pairs with the application's release of the head */
	ring->cq_head_seen = au_load_acquire(&ring->shared->cq_head);
	return ring->cq_tail + nr - ring->cq_head_seen <= ring->cq_entries;
}

/*
 * CQE_MIXED: a 32-byte CQE takes two slots, which must not wrap: a filler takes
 * a last one left alone.
 */
static bool cqe_write_wide(struct au_ring *ring, uint64_t user_data,
			   int32_t res, uint32_t flags, const uint64_t *extra)
{
	struct io_uring_cqe *cqe;

	if ((ring->cq_tail & ring->cq_mask) == ring->cq_mask) {
		if (!cq_has_room(ring, 1))
			return false;
		cqe = &ring->cqes[ring->cq_tail++ & ring->cq_mask];
		cqe->user_data = 0;
		cqe->res = 0;
		cqe->flags = IORING_CQE_F_SKIP;
	}
	if (!cq_has_room(ring, 2))
		return false;
	cqe = &ring->cqes[ring->cq_tail & ring->cq_mask];
	ring->cq_tail += 2;
	cqe->user_data = user_data;
	cqe->res = res;
	cqe->flags = flags;
	cqe->big_cqe[0] = extra[0];
	cqe->big_cqe[1] = extra[1];
	return true;
}

static bool cq_mixed(const struct au_ring *ring)
{
	return ring->setup_flags & IORING_SETUP_CQE_MIXED;
}

/* False if the CQ is full. */
static bool cqe_write(struct au_ring *ring, uint64_t user_data, int32_t res,
		      uint32_t flags, const uint64_t *extra)
{
	struct io_uring_cqe *cqe;

	if (au_unlikely(extra && cq_mixed(ring)))
		return cqe_write_wide(ring, user_data, res, flags, extra);
	if (!cq_has_room(ring, 1))
		return false;
	cqe = &ring->cqes[(ring->cq_tail++ & ring->cq_mask) << ring->cqe_shift];
	cqe->user_data = user_data;
	cqe->res = res;
	cqe->flags = flags;
	if (ring->cqe_shift) {
		cqe->big_cqe[0] = extra ? extra[0] : 0;
		cqe->big_cqe[1] = extra ? extra[1] : 0;
	}
	return true;
}

void au_cqe_post_slow(struct au_ring *ring, uint64_t user_data, int32_t res,
		      uint32_t flags, const uint64_t *extra)
{
	/* Behind what overflowed before, or the order would change. */
	if (ring->nr_overflow || !cqe_write(ring, user_data, res, flags, extra))
		cqe_overflow(ring, user_data, res, flags, extra);
	else if (!ring->cqe_shift)
		ring->cq_limit = ring->cq_head_seen + ring->cq_entries;
}

void au_cq_flush_overflow(struct au_ring *ring)
{
	uint32_t before = ring->nr_overflow;

	while (ring->nr_overflow) {
		struct au_overflow *o = overflow_first(ring);
		bool wide = !cq_mixed(ring) || (o->flags & IORING_CQE_F_32);

		if (!cqe_write(ring, o->user_data, o->res, o->flags,
			       wide ? o->extra : NULL))
			break;
		overflow_pop(ring);
		if (!ring->nr_overflow)
			au_fetch_and(&ring->shared->sq_flags,
				     ~IORING_SQ_CQ_OVERFLOW);
	}
	/* These were published one by one. */
	if (au_unlikely(ring->common && ring->nr_overflow != before))
		au_cq_commit_slow(ring);
}

void au_cq_commit_slow(struct au_ring *ring)
{
	if (ring->nr_followers) {
		au_fetch_add(&ring->cq_seq, 1);
		au_notify_followers(ring);
	}
	if (au_unlikely(ring->common))
		au_common_wake(ring);
	if (ring->has_leader)
		au_ring_kick(ring);
	if (ring->eventfd >= 0 && (!ring->eventfd_async || ring->eventfd_due))
		au_notify_eventfd(ring);
	ring->eventfd_due = false;
	if (ring->watched)
		au_notify_readable(ring);
}

void au_cq_update_notify(struct au_ring *ring)
{
	ring->notify = ring->nr_followers || ring->has_leader ||
		       ring->eventfd >= 0 || ring->watched || ring->common;
}

/* A CQE of the request, with what it carries. */
static void req_post(struct au_ring *ring, struct au_req *req)
{
	if (req->flags & AU_REQ_F_NOTIF) {
		au_cqe_post(ring, req->user_data, req->res,
			    req->cqe_flags | IORING_CQE_F_MORE);
		au_cqe_post(ring, req->user_data, (int32_t)req->extra[0],
			    IORING_CQE_F_NOTIF);
		return;
	}
	if (req->flags & AU_REQ_F_CQE32)
		au_cqe_post_slow(ring, req->user_data, req->res, req->cqe_flags,
				 req->extra);
	else
		au_cqe_post(ring, req->user_data, req->res, req->cqe_flags);
}

bool au_req_post_more(struct au_ring *ring, struct au_req *req, int res,
		      uint32_t flags)
{
	if (ring->nr_overflow || !cqe_write(ring, req->user_data, res,
					    flags | IORING_CQE_F_MORE, NULL))
		return false;
	return true;
}

void au_req_complete_slow(struct au_ring *ring, struct au_req *req)
{
	struct au_req *next = NULL;

	if (!(req->flags & AU_REQ_F_CQE_SKIP))
		req_post(ring, req);
	if (req->flags & (AU_REQ_F_LINKS | AU_REQ_F_FAIL |
			  AU_REQ_F_ARM_LTIMEOUT | AU_REQ_F_LINK_TIMEOUT))
		next = au_links_next(ring, req);
	if (req->flags & AU_REQ_F_NEED_CLEANUP)
		au_ops_cold[req->opcode].cleanup(req);
	if (req->flags & AU_REQ_F_NODE_FILE)
		au_node_put(ring, req->file_node);
	if (req->flags & AU_REQ_F_HIDDEN_FD)
		au_fd_close_hidden(req->fd);
	if (req->flags & AU_REQ_F_NODE_BUF)
		au_node_put(ring, req->buf_node);
	ring->nr_inflight--;
	req->link = NULL;
	au_req_free(ring, req);
	if (next)
		au_links_start(ring, next);
}

void au_ring_after_complete_slow(struct au_ring *ring)
{
	if (ring->run_counted)
		ring->run_counted(ring);
	if (ring->nr_deferred)
		au_drain_run(ring);
}
