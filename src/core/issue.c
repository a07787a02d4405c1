/* SPDX-License-Identifier: MIT */
/*
 * Issue: trying a request, and finding it a place to wait when it would block.
 *
 * The way of a request that cannot be done at once: its op says AU_RETRY, it
 * waits in the poller for its file, and is issued again when the file is
 * ready. Where the file has no readiness (epoll answers EPERM: a regular file),
 * or the op says AU_PUNT, a worker does it.
 */
#include "core/issue.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include "core/aio.h"
#include "core/cancel.h"
#include "core/complete.h"
#include "core/message.h"
#include "core/notify.h"
#include "core/register.h"
#include "sys/syscall.h"

uint64_t au_req_pending_key(const struct au_hash_node *n)
{
	return au_container_of(n, struct au_req, pending)->user_data;
}

int au_req_stabilise(struct au_req *req)
{
	int r;

	if (req->flags & AU_REQ_F_STABLE)
		return 0;
	if (au_ops[req->opcode].traits & AU_OP_LAZY) {
		r = au_ops_cold[req->opcode].stabilise(req);
		if (r < 0)
			return r;
	}
	au_req_set(req, AU_REQ_F_STABLE);
	return 0;
}

int au_req_assign_file(struct au_ring *ring, struct au_req *req)
{
	struct au_rsrc_node *n;

	if (!(req->flags & AU_REQ_F_FIXED_FILE) ||
	    (req->flags & AU_REQ_F_NODE_FILE))
		return 0;
	n = au_rsrc_lookup(&ring->files, (uint32_t)req->fd);
	if (!n)
		return -EBADF;
	n->refs++;
	req->file_node = n;
	req->fd = n->fd;
	au_req_set(req, AU_REQ_F_NODE_FILE);
	return 0;
}

void au_req_parked(struct au_ring *ring, struct au_req *req)
{
	if (au_unlikely(req->flags & AU_REQ_F_ARM_LTIMEOUT))
		au_links_arm_timeout(ring, req);
}

/* A file system's work: it ends by itself, and nothing ends it before. */
static bool work_is_brief(const struct au_op *op)
{
	return (op->traits & (AU_OP_BLOCKING | AU_OP_UNBOUND)) ==
	       AU_OP_BLOCKING;
}

static void req_punt(struct au_ring *ring, struct au_req *req,
		     enum au_work_kind kind)
{
	int r = au_req_stabilise(req);

	if (r >= 0) {
		/* Before it is handed over: its flags are the worker's then. */
		if (!work_is_brief(&au_ops[req->opcode]))
			au_req_parked(ring, req);
		r = au_workers_queue(ring, req, kind);
	} else {
		ring->prep_failed = true;
	}
	if (r < 0)
		au_req_complete_res(ring, req, r);
}

static enum au_work_kind work_kind(const struct au_op *op)
{
	return op->traits & AU_OP_UNBOUND ? AU_WORK_UNBOUND : AU_WORK_BOUND;
}

static uint32_t poll_mask(const struct au_op *op)
{
	return op->traits & AU_OP_POLLOUT ? EPOLLOUT : EPOLLIN | EPOLLRDHUP;
}

static void req_wait_for_file(struct au_ring *ring, struct au_req *req,
			      const struct au_op *op, bool again)
{
	int r;

	if ((req->flags & AU_REQ_F_NOWAIT) && !again) {
		au_req_complete_res(ring, req, -EAGAIN);
		return;
	}
	r = au_req_stabilise(req);
	if (r < 0)
		ring->prep_failed = true;
	else
		r = au_poller_arm(ring, req, req->fd, poll_mask(op));
	if (r == -EPERM)
		req_punt(ring, req, work_kind(op));
	else if (r < 0)
		au_req_complete_res(ring, req, r);
	else
		au_req_parked(ring, req);
	/* A new registration reports by itself what is there. */
	if (au_unlikely(again) && r == 0 && req->at == AU_AT_POLLER)
		au_poller_again(ring, req);
}

/*
 * A lazy op's pointers were used as they are, and it failed. If they turn out
 * bad, it fails as it would have in prep: that ends the submit call.
 */
static au_cold void req_check_lazy(struct au_ring *ring, struct au_req *req)
{
	int r;

	if (req->flags & AU_REQ_F_STABLE)
		return;
	r = au_req_stabilise(req);
	if (r >= 0)
		return;
	req->res = r;
	ring->prep_failed = true;
}

/* A ring's descriptor is one end of a socket pair, which nobody shall see. */
static bool req_is_ring(const struct au_req *req)
{
	return !(req->flags & AU_REQ_F_NODE_FILE) &&
	       au_ring_lookup_fast((unsigned int)req->fd);
}

void au_req_issue(struct au_ring *ring, struct au_req *req)
{
	const struct au_op *op = &au_ops[req->opcode];

	if (op->traits & AU_OP_NEEDS_FILE) {
		int r = au_req_assign_file(ring, req);

		if (au_unlikely(r < 0)) {
			au_req_set_res(req, r);
			au_req_issued(ring, req, AU_DONE);
			return;
		}
	}
	if ((op->traits & AU_OP_SOCKET) && au_unlikely(req_is_ring(req))) {
		au_req_set_res(req, -ENOTSOCK);
		au_req_issued(ring, req, AU_DONE);
		return;
	}
	if (op->traits & AU_OP_BLOCKING) {
		req_punt(ring, req, work_kind(op));
		return;
	}

	au_req_issued(ring, req, op->issue(req, AU_ISSUE_NONBLOCK));
}

void au_req_issued(struct au_ring *ring, struct au_req *req, enum au_issue out)
{
	const struct au_op *op = &au_ops[req->opcode];

	switch (out) {
	case AU_DONE:
		if (au_unlikely(req->res < 0) && (op->traits & AU_OP_LAZY))
			req_check_lazy(ring, req);
		au_req_complete(ring, req);
		break;
	case AU_QUEUED:
		/* A worker may be at it, and end it, by now. */
		if (req->at != AU_AT_WORKERS)
			au_req_parked(ring, req);
		break;
	case AU_REFUSED:
		break; /* not from issue */
	case AU_RETRY:
		req_wait_for_file(ring, req, op, false);
		break;
	case AU_REQUEUE:
		req_wait_for_file(ring, req, op, true);
		break;
	case AU_PUNT:
		req_punt(ring, req,
			 op->traits & AU_OP_NEEDS_FILE ? AU_WORK_UNBOUND :
							 work_kind(op));
		break;
	}
}

bool au_req_poll_ready(struct au_ring *ring, struct au_req *req,
		       uint32_t events)
{
	const struct au_op *op = &au_ops[req->opcode];

	if (au_ops_cold[req->opcode].ready)
		return au_ops_cold[req->opcode].ready(ring, req, events);

	switch (op->issue(req, AU_ISSUE_NONBLOCK)) {
	case AU_RETRY:
		return false;
	case AU_REQUEUE:
		au_poller_again(ring, req);
		return false;
	case AU_DONE:
		au_req_unpark(ring, req);
		au_req_complete(ring, req);
		break;
	case AU_PUNT:
		au_req_unpark(ring, req);
		req_punt(ring, req, AU_WORK_UNBOUND);
		break;
	case AU_QUEUED:
	case AU_REFUSED:
		break;
	}
	return true;
}

void au_req_set_res_soft(struct au_req *req, int res)
{
	long fl;

	req->res = res;
	if (res != -EBADF || !(au_ops[req->opcode].traits & AU_OP_NEEDS_FILE))
		return;
	fl = au_syscall(SYS_fcntl, req->fd, F_GETFL);
	if (fl < 0 || (fl & O_PATH))
		au_req_set_fail(req);
}

void au_req_run_in_worker(struct au_req *req)
{
	enum au_issue r = au_ops[req->opcode].issue(req, AU_ISSUE_WORKER);

	/* Leave to sleep leaves no reason to come back without a result. */
	if (r != AU_DONE)
		au_req_set_res(req, -EAGAIN);
}

void au_req_worker_done(struct au_ring *ring, struct au_req *req)
{
	au_workers_returned(ring, req);
	ring->eventfd_due = true;
	au_req_unpark(ring, req);
	if (req->res == -EINTR && req->cancelled)
		req->res = -ECANCELED;
	req->cancelled = false;
	au_req_complete(ring, req);
}

bool au_ring_hand_back(struct au_ring *ring, struct au_req *req)
{
	(void)au_mpscq_push(&ring->done, &req->node);
	/* So that a holder whom the trylock meets sees it; see au_ring_unlock() */
	au_fence_after_rmw();
	if (!au_ring_trylock(ring))
		return false;
	au_ring_serve(ring);
	au_ring_unlock(ring);
	return true;
}

bool au_ring_run_slow(struct au_ring *ring)
{
	struct au_slist_node *n;
	bool any = false;

	if (au_unlikely(ring->announced)) {
		ring->announced = false;
		if (ring->setup_flags & IORING_SETUP_TASKRUN_FLAG)
			au_fetch_and(&ring->shared->sq_flags,
				     ~IORING_SQ_TASKRUN);
	}
	if (!au_mpscq_empty(&ring->done)) {
		for (n = au_mpscq_take(&ring->done); n; any = true) {
			struct au_req *req = au_req_of_node(n);

			n = n->next;
			if (au_unlikely(req->flags & AU_REQ_F_MESSAGE))
				au_message_arrived(ring, req);
			else
				au_req_worker_done(ring, req);
		}
	}
	if (ring->aio)
		any |= au_aio_reap(ring);
	if (ring->poller.nr_waiters) {
		any |= au_poller_run_again(ring);
		any |= au_poller_reap(ring);
	}
	if (!au_timers_idle(&ring->timers))
		any |= au_timers_expire(ring);
	/* CQEs of other processes count for timeouts, too. */
	if (au_unlikely(ring->common)) {
		au_common_run(ring);
		any = true;
	}
	au_cancelled_complete(ring);
	if (any)
		au_ring_after_complete(ring);
	au_cq_commit(ring);
	return any;
}

void au_ring_announce(struct au_ring *ring)
{
	if (ring->announced)
		return;
	ring->announced = true;
	if (ring->setup_flags & IORING_SETUP_TASKRUN_FLAG)
		au_fetch_or(&ring->shared->sq_flags, IORING_SQ_TASKRUN);
	if (ring->eventfd >= 0)
		au_notify_eventfd(ring);
	if (ring->watched)
		au_notify_readable(ring);
}

void au_ring_kick(struct au_ring *ring)
{
	/* pairs with the fence in wait.c:au_ring_sleep() */
	au_fence_full();
	if (au_load_relaxed(&ring->asleep) && au_xchg(&ring->asleep, 0))
		au_poller_wake(&ring->poller);
}
