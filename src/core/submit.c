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
#include <string.h>
#include "core/complete.h"
#include "core/issue.h"
#include "core/op.h"
#include "core/register.h"
#include "core/setup.h"
#include "core/run.h"

/* The next SQE, or NULL if the application's index is out of bounds. */
static const struct io_uring_sqe *sq_next(struct au_ring *ring)
{
	uint32_t i = ring->sq_head++ & ring->sq_mask;

	if (ring->sq_array) {
		i = AU_READ_ONCE(ring->sq_array[i]);
		if (au_unlikely(i >= ring->sq_entries)) {
			AU_WRITE_ONCE(ring->shared->sq_dropped,
				      ring->shared->sq_dropped + 1);
			return NULL;
		}
	}
	return (const void *)(ring->sqes + ((size_t)i << ring->sqe_shift));
}

/*
 * A drain in the middle of a chain drains the chain's head, and whatever comes
 * after the chain.
 */
static void drain_begin(struct au_ring *ring)
{
	ring->drain_active = true;
	if (ring->link_head) {
		au_req_set(ring->link_head,
			   AU_REQ_F_IO_DRAIN | AU_REQ_F_DEFERRED);
		ring->drain_next = true;
	}
}

/* Flags that most SQEs do not carry. */
static au_cold int req_init_rare_flags(struct au_ring *ring, struct au_req *req,
				       const struct au_op *op,
				       const struct io_uring_sqe *sqe)
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

static void req_init_drain(struct au_ring *ring, struct au_req *req)
{
	/* Of a chain the head waits; the others follow it, not the queue. */
	if (ring->link_head)
		return;
	if (ring->drain_next) {
		ring->drain_next = false;
		ring->drain_active = true;
		au_req_set(req, AU_REQ_F_IO_DRAIN);
	}
	au_req_set(req, AU_REQ_F_DEFERRED);
}

/*
 * The first word of an SQE holds opcode, flags, ioprio and fd: one load, so the
 * four belong together whatever the application does to the SQE meanwhile.
 */
struct sqe_head {
	uint8_t opcode, flags;
	uint16_t ioprio;
	int32_t fd;
};

static inline struct sqe_head sqe_head(const struct io_uring_sqe *sqe)
{
	uint64_t word = AU_READ_ONCE(*(const uint64_t *)(const void *)sqe);
	struct sqe_head h;

	_Static_assert(sizeof(h) == sizeof(word), "one word");
	memcpy(&h, &word, sizeof(h));
	return h;
}

static inline int req_init(struct au_ring *ring, struct au_req *req,
			   const struct io_uring_sqe *sqe,
			   const struct au_op **opp)
{
	struct sqe_head head = sqe_head(sqe);
	const struct au_op *op = *opp = &au_ops[IORING_OP_NOP];
	int r;

	req->flags = head.flags;
	req->fd = head.fd;
	req->res = 0;
	req->cqe_flags = 0;
	req->opcode = IORING_OP_NOP;
	req->at = AU_AT_NONE;
	req->cancelled = false;
	req->user_data = AU_READ_ONCE(sqe->user_data);
	req->link = NULL;
	if (au_unlikely(head.opcode >= IORING_OP_LAST))
		return -EINVAL;
	req->opcode = head.opcode;
	op = *opp = &au_ops[head.opcode];
	if (au_unlikely(head.flags & ~AU_SQE_COMMON_FLAGS)) {
		r = req_init_rare_flags(ring, req, op, sqe);
		if (r < 0)
			return r;
	}
	if (au_unlikely(ring->restrictions.active) &&
	    !au_restrict_sqe(ring, req->opcode, (uint8_t)req->flags))
		return -EACCES;
	if (au_unlikely(ring->drain_active || ring->drain_next))
		req_init_drain(ring, req);
	if (au_unlikely(head.ioprio) && !(op->traits & AU_OP_IOPRIO))
		return -EINVAL;
	if (au_unlikely(ring->setup_flags & IORING_SETUP_IOPOLL) &&
	    !(op->traits & AU_OP_IOPOLL))
		return -EINVAL;
	if (au_unlikely(AU_READ_ONCE(sqe->personality)))
		return -EINVAL; /* none can be registered */
	return op->prep(req, sqe);
}

/* The SQE was bad: fails it, and the chain it stands in. */
static au_cold int submit_failed(struct au_ring *ring, struct au_req *req,
				 int err)
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
		if (!head)
			ring->link_head = ring->link_tail = req;
		return 0;
	}
	ring->link_head = NULL;
	au_req_queue(ring, head ? head : req);
	return err;
}

/* Appends to the chain being built, or begins or ends one. */
static int submit_chained(struct au_ring *ring, struct au_req *req)
{
	struct au_req *head = ring->link_head;
	int r = au_req_stabilise(req);

	if (au_unlikely(r < 0))
		return submit_failed(ring, req, r);
	au_req_set(req, AU_REQ_F_COMPLETE_SLOW);
	if (!head) {
		ring->link_head = ring->link_tail = req;
		return 0;
	}
	ring->link_tail->link = req;
	ring->link_tail = req;
	if (req->flags & AU_REQ_F_LINKS)
		return 0;
	ring->link_head = NULL;
	au_req_queue(ring, head);
	return 0;
}

/* Whatever is not a lone request that can be issued right away. */
static au_cold int submit_rare(struct au_ring *ring, struct au_req *req)
{
	au_run_flush(ring);
	if (ring->link_head || (req->flags & AU_REQ_F_LINKS))
		return submit_chained(ring, req);
	au_req_queue(ring, req);
	return 0;
}

static inline int submit_one(struct au_ring *ring, struct au_req *req,
			     const struct io_uring_sqe *sqe)
{
	const struct au_op *op;
	int r = req_init(ring, req, sqe, &op);

	ring->nr_inflight++;
	if (au_unlikely(r < 0))
		return submit_failed(ring, req, r);
	if (au_unlikely(ring->link_head ||
			(req->flags & (AU_REQ_F_LINKS | AU_REQ_F_DEFERRED))))
		return submit_rare(ring, req);
	if ((op->traits & AU_OP_RUN) &&
	    !(req->flags & ~(uint64_t)AU_REQ_F_ASYNC)) {
		au_run_add(ring, req);
		return 0;
	}
	au_run_flush(ring);
	if (op->traits & (AU_OP_NEEDS_FILE | AU_OP_BLOCKING)) {
		au_req_issue(ring, req);
	} else {
		enum au_issue out = op->issue(req, AU_ISSUE_NONBLOCK);

		if (au_likely(out == AU_DONE))
			au_req_complete(ring, req);
		else
			au_req_issued(ring, req, out);
	}
	if (au_unlikely(ring->prep_failed)) {
		ring->prep_failed = false;
		return -EFAULT;
	}
	return 0;
}

int au_submit_sqes(struct au_ring *ring, uint32_t nr)
{
	uint32_t left = nr = au_min_u32(nr, au_sq_ready(ring));

	while (left) {
		struct au_req *req = au_req_alloc(ring);
		const struct io_uring_sqe *sqe;

		if (au_unlikely(!req))
			break;
		sqe = sq_next(ring);
		if (au_unlikely(!sqe)) {
			au_req_free(ring, req);
			break;
		}
		left--;
		if (au_unlikely(submit_one(ring, req, sqe) < 0) &&
		    !(ring->setup_flags & IORING_SETUP_SUBMIT_ALL))
			break;
	}
	au_run_flush(ring);
	/* A chain ends with the submit call, whatever its last flag says. */
	if (au_unlikely(ring->link_head)) {
		struct au_req *head = ring->link_head;

		ring->link_head = NULL;
		au_req_queue(ring, head);
	}
	/* pairs with the application's acquire: the slots are free again */
	au_store_release(&ring->shared->sq_head, ring->sq_head);
	au_ring_after_complete(ring);
	au_cq_commit(ring);
	if (au_unlikely(nr && left == nr && !ring->free_reqs))
		return -EAGAIN;
	return (int)(nr - left);
}
