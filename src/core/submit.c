/* SPDX-License-Identifier: MIT */
/*
 * Submission: from the SQ to issued requests.
 *
 * An SQE is the application's memory: it may change while it is read. Each
 * field is read once, into the request, by init and prep; issue works on the
 * copy. After a request that failed in prep the submit call stops (it counts,
 * and has its CQE), unless the ring was set up with SUBMIT_ALL or a chain is
 * being built, which then fails as a whole.
 */
#include "core/submit.h"

#include <errno.h>
#include "core/aio.h"
#include "core/cancel.h"
#include "core/complete.h"
#include "core/issue.h"
#include "core/op.h"
#include "core/register.h"
#include "core/setup.h"
#include "core/run.h"

/* The next SQE. False if the application's index is out of bounds. */
static inline bool sq_next(struct au_ring *ring,
			   const struct io_uring_sqe **sqe)
{
	uint32_t i = ring->sq_head++ & ring->sq_mask;

	if (ring->sq_array) {
		i = AU_READ_ONCE(ring->sq_array[i]);
		if (au_unlikely(i >= ring->sq_entries)) {
			AU_WRITE_ONCE(ring->shared->sq_dropped,
				      ring->shared->sq_dropped + 1);
			return false;
		}
	}
	*sqe = (const void *)(ring->sqes + ((size_t)i << ring->sqe_shift));
	return true;
}

/* The chain being built; while there is one no SQE is a plain one. */
static void chain_set(struct au_ring *ring, struct au_req *head)
{
	ring->link_head = head;
	if (head)
		ring->special |= AU_SPECIAL_CHAIN;
	else
		ring->special &= ~(uint32_t)AU_SPECIAL_CHAIN;
}

/*
 * A drain in the middle of a chain drains the chain's head, and whatever comes
 * after the chain.
 */
static void drain_begin(struct au_ring *ring)
{
	ring->special |= AU_SPECIAL_DRAIN;
	if (ring->link_head) {
		au_req_set(ring->link_head, AU_REQ_F_IO_DRAIN |
						    AU_REQ_F_DEFERRED |
						    AU_REQ_F_ASYNC);
		ring->special |= AU_SPECIAL_DRAIN_NEXT;
	}
}

/* Flags that most SQEs do not carry. */
static int init_flags(struct au_ring *ring, struct au_req *req,
		      const struct au_op *op, const struct io_uring_sqe *sqe)
{
	if (req->flags & ~(uint64_t)AU_SQE_FLAGS)
		return -EINVAL;
	if (req->flags & IOSQE_BUFFER_SELECT) {
		if (!(op->traits & AU_OP_BUFFER_SELECT))
			return -EOPNOTSUPP;
		req->buf_index = AU_READ_ONCE(sqe->buf_group);
	}
	if (req->flags & IOSQE_CQE_SKIP_SUCCESS)
		ring->drain_disabled = true;
	/* Here it may run inline; an async eventfd is told all the same. */
	if (req->flags & IOSQE_ASYNC)
		ring->eventfd_due = true;
	if (req->flags & IOSQE_IO_DRAIN) {
		if (ring->drain_disabled)
			return -EOPNOTSUPP;
		drain_begin(ring);
	}
	return 0;
}

static void init_drain(struct au_ring *ring, struct au_req *req)
{
	/* Of a chain the head waits; the others follow it, not the queue. */
	if (ring->link_head)
		return;
	if (ring->special & AU_SPECIAL_DRAIN_NEXT) {
		ring->special &= ~(uint32_t)AU_SPECIAL_DRAIN_NEXT;
		ring->special |= AU_SPECIAL_DRAIN;
		au_req_set(req, AU_REQ_F_IO_DRAIN);
	}
	/* What had to wait is the kernel's workers' to begin. */
	au_req_set(req, AU_REQ_F_DEFERRED | AU_REQ_F_ASYNC);
}

/* All that an SQE may be refused for before its op looks at it, in order. */
static int init_special(struct au_ring *ring, struct au_req *req,
			const struct io_uring_sqe *sqe, uint16_t ioprio)
{
	const struct au_op *op = &au_ops[req->opcode];
	int r;

	if (req->opcode >= IORING_OP_LAST)
		return -EINVAL;
	r = init_flags(ring, req, op, sqe);
	if (r < 0)
		return r;
	if ((ring->special & AU_SPECIAL_RESTRICTED) &&
	    !au_restrict_sqe(ring, req->opcode, (uint8_t)req->flags))
		return -EACCES;
	if (ring->special & (AU_SPECIAL_DRAIN | AU_SPECIAL_DRAIN_NEXT))
		init_drain(ring, req);
	if (ioprio && !(op->traits & AU_OP_IOPRIO))
		return -EINVAL;
	if ((ring->special & AU_SPECIAL_IOPOLL) && !(op->traits & AU_OP_IOPOLL))
		return -EINVAL;
	if (AU_READ_ONCE(sqe->personality))
		return -EINVAL; /* none can be registered */
	return op->prep(req, sqe);
}

/* What became of the request an SQE was fetched into. */
enum submitted {
	SUBMIT_ENDED, /* it is over, and can take the next SQE */
	SUBMIT_TAKEN, /* somebody else has it now */
	SUBMIT_STOP, /* the same, and no further SQE may follow */
};

/* The SQE was bad: fails it, and the chain it stands in. */
static au_cold enum submitted submit_failed(struct au_ring *ring,
					    struct au_req *req, int err)
{
	struct au_req *head = ring->link_head;

	au_run_flush(ring);
	au_req_set_res(req, err);
	if (head && !(head->flags & AU_REQ_F_FAIL))
		au_req_set_res(head, -ECANCELED);
	if (head) {
		ring->link_tail->link = req;
		ring->link_tail = req;
	}
	if (req->flags & AU_REQ_F_LINKS) {
		if (!head) {
			chain_set(ring, req);
			ring->link_tail = req;
		}
		return SUBMIT_TAKEN;
	}
	chain_set(ring, NULL);
	au_req_queue(ring, head ? head : req);
	return SUBMIT_STOP;
}

/* Appends to the chain being built, or begins or ends one. */
static enum submitted submit_chained(struct au_ring *ring, struct au_req *req)
{
	struct au_req *head = ring->link_head;
	int r = au_req_stabilise(req);

	if (au_unlikely(r < 0))
		return submit_failed(ring, req, r);
	au_req_set(req, AU_REQ_F_COMPLETE_SLOW);
	if (!head) {
		chain_set(ring, req);
		ring->link_tail = req;
		return SUBMIT_TAKEN;
	}
	ring->link_tail->link = req;
	ring->link_tail = req;
	if (req->flags & AU_REQ_F_LINKS)
		return SUBMIT_TAKEN;
	chain_set(ring, NULL);
	au_req_queue(ring, head);
	return SUBMIT_TAKEN;
}

/* Pointers that turned out bad at issue end the submit call as in prep. */
static enum submitted submit_issued(struct au_ring *ring)
{
	if (au_likely(!ring->prep_failed))
		return SUBMIT_TAKEN;
	ring->prep_failed = false;
	return SUBMIT_STOP;
}

/* A prepared request that can be issued right away. */
static enum submitted submit_lone(struct au_ring *ring, struct au_req *req,
				  const struct au_op *op)
{
	if ((op->traits & AU_OP_RUN) &&
	    !(req->flags & ~(uint64_t)AU_REQ_F_ASYNC)) {
		au_run_add(ring, req);
		return SUBMIT_TAKEN;
	}
	au_run_flush(ring);
	au_req_issue(ring, req);
	return submit_issued(ring);
}

/* Of an op on a file, or behind a run that is to be issued first. */
static au_noinline enum submitted submit_plain(struct au_ring *ring,
					       struct au_req *req,
					       const struct io_uring_sqe *sqe)
{
	const struct au_op *op = &au_ops[req->opcode];
	int r = op->prep(req, sqe);

	ring->nr_inflight++;
	if (au_unlikely(r < 0))
		return submit_failed(ring, req, r);
	return submit_lone(ring, req, op);
}

static au_noinline enum submitted submit_special(struct au_ring *ring,
						 struct au_req *req,
						 const struct io_uring_sqe *sqe)
{
	uint16_t ioprio = req->buf_index;
	int r;

	req->buf_index = 0;
	r = init_special(ring, req, sqe, ioprio);
	ring->nr_inflight++;
	if (au_unlikely(r < 0))
		return submit_failed(ring, req, r);
	if (!ring->link_head &&
	    !(req->flags & (AU_REQ_F_LINKS | AU_REQ_F_DEFERRED)))
		return submit_lone(ring, req, &au_ops[req->opcode]);
	au_run_flush(ring);
	if (ring->link_head || (req->flags & AU_REQ_F_LINKS))
		return submit_chained(ring, req);
	/* It is to wait for others: what it points to is read now. */
	r = au_req_stabilise(req);
	if (r < 0)
		return submit_failed(ring, req, r);
	au_req_queue(ring, req);
	return SUBMIT_TAKEN;
}

/*
 * The first word of an SQE holds opcode, flags, ioprio and fd: one load, so the
 * four belong together whatever the application does to the SQE meanwhile.
 * Special are a priority, and any flag but the one for registered files.
 */
#define SQE_HEAD_FLAGS(word) ((word) >> 8 & 0xff)
#define SQE_HEAD_SPECIAL     (0xffffff00U & ~((uint32_t)IOSQE_FIXED_FILE << 8))

/*
 * A plain SQE, on a ring where nothing special is under way, goes straight
 * through. It counts as in flight only when it stays: nobody looks meanwhile.
 */
static inline enum submitted submit_one(struct au_ring *ring,
					struct au_req *req,
					const struct io_uring_sqe *sqe)
{
	uint64_t word = AU_READ_ONCE(*(const uint64_t *)(const void *)sqe);
	au_straight_fn straight;
	enum au_issue out;

	au_store_relaxed(&req->flags, SQE_HEAD_FLAGS(word));
	req->sqe_head = word;
	req->res = 0;
	req->cqe_flags = 0;
	req->user_data = AU_READ_ONCE(sqe->user_data);
	if (au_unlikely(((uint32_t)word & SQE_HEAD_SPECIAL) |
			AU_READ_ONCE(sqe->personality) | ring->special))
		return submit_special(ring, req, sqe);

	straight = au_ops_straight[(uint8_t)word];
	if (!straight || ring->run.nr)
		return submit_plain(ring, req, sqe);
	out = straight(req, sqe);
	if (au_likely(out == AU_DONE && !(req->flags & AU_REQ_F_ENDS_SLOW))) {
		au_cqe_post(ring, req->user_data, req->res, req->cqe_flags);
		return SUBMIT_ENDED;
	}
	ring->nr_inflight++;
	if (au_likely(out == AU_QUEUED))
		return SUBMIT_TAKEN;
	if (au_unlikely(out == AU_REFUSED))
		return submit_failed(ring, req, req->res);
	au_req_issued(ring, req, out);
	return submit_issued(ring);
}

void au_submit_own(struct au_ring *ring, const struct io_uring_sqe *sqe)
{
	struct au_req *req = au_req_alloc(ring);

	if (req && submit_one(ring, req, sqe) == SUBMIT_ENDED)
		au_req_free(ring, req);
	au_run_flush(ring);
}

int au_submit_sqes(struct au_ring *ring, uint32_t nr)
{
	uint32_t left = nr = au_min_u32(nr, au_sq_ready(ring));
	struct au_req *req = NULL; /* for the next SQE */

	ring->submitting = ring->aio;
	while (left) {
		enum submitted out;
		const struct io_uring_sqe *sqe;

		if (!req)
			req = au_req_alloc(ring);
		if (au_unlikely(!req))
			break;
		if (au_unlikely(!sq_next(ring, &sqe)))
			break;
		left--;
		out = submit_one(ring, req, sqe);
		if (au_likely(out == SUBMIT_ENDED))
			continue;
		req = NULL;
		if (au_unlikely(out == SUBMIT_STOP) &&
		    !(ring->setup_flags & IORING_SETUP_SUBMIT_ALL))
			break;
	}
	if (req)
		au_req_free(ring, req);
	au_run_flush(ring);
	/* A chain ends with the submit call, whatever its last flag says. */
	if (au_unlikely(ring->link_head)) {
		struct au_req *head = ring->link_head;

		chain_set(ring, NULL);
		/* The kernel leaves it to a worker. */
		au_req_set(head, AU_REQ_F_ASYNC);
		au_req_queue(ring, head);
	}
	if (au_unlikely(ring->submitting)) {
		ring->submitting = false;
		au_aio_flush(ring);
	}
	au_cancelled_complete(ring);
	/* pairs with the application's acquire: the slots are free again */
	au_store_release(&ring->shared->sq_head, ring->sq_head);
	au_ring_after_complete(ring);
	au_cq_commit(ring);
	if (au_unlikely(nr && left == nr && !ring->free_reqs))
		return -EAGAIN;
	return (int)(nr - left);
}
