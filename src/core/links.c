/* SPDX-License-Identifier: MIT */
/*
 * Chains. A chain is a list of prepared requests of which only the head is
 * issued; each one's end starts the next, or fails the rest.
 *
 * A LINK_TIMEOUT stands right behind the request it guards and is armed when
 * that request has to wait; if the request ends first it is disarmed. Either
 * way it leaves the chain, and the chain goes on behind it. It does not cut
 * short what a worker does with a file: in the kernel it starts behind that.
 */
#include <errno.h>
#include <fcntl.h>
#include "core/cancel.h"
#include "core/complete.h"
#include "core/issue.h"
#include "core/op.h"
#include "sys/syscall.h"

/* Ends a request that was never issued. */
static void link_end(struct au_ring *ring, struct au_req *req, int res)
{
	bool skip = req->flags & AU_REQ_F_CQE_SKIP;

	req->res = res;
	/* Its memory is free at once: that is told, though not announced. */
	if (req->flags & AU_REQ_F_NOTIF) {
		if (!skip)
			au_cqe_post(ring, req->user_data, res, 0);
		au_req_clear(req, AU_REQ_F_CQE_SKIP);
		req->res = (int32_t)req->extra[0];
		req->cqe_flags = IORING_CQE_F_NOTIF;
	}
	au_req_clear(req, AU_REQ_F_LINKS | AU_REQ_F_ARM_LTIMEOUT |
				  AU_REQ_F_LINK_TIMEOUT | AU_REQ_F_NOTIF);
	req->link = NULL;
	au_req_complete(ring, req);
}

/*
 * The rest of a broken chain: each gets -ECANCELED, or the error it already
 * failed with. If the one that broke it asked to skip CQEs on success, its own
 * CQE speaks for all.
 */
static void links_fail(struct au_ring *ring, struct au_req *req)
{
	bool skip = req->flags & AU_REQ_F_SKIP_LINK_CQES;
	struct au_req *link = req->link;

	req->link = NULL;
	while (link) {
		struct au_req *next = link->link;
		int res = link->flags & AU_REQ_F_FAIL ? link->res : -ECANCELED;

		if (skip)
			au_req_set(link, AU_REQ_F_CQE_SKIP);
		else
			au_req_clear(link, AU_REQ_F_CQE_SKIP);
		au_req_clear(link, AU_REQ_F_FAIL | AU_REQ_F_SKIP_LINK_CQES);
		link_end(ring, link, res);
		link = next;
	}
}

/* Takes the LINK_TIMEOUT behind `req` out of the chain. */
static struct au_req *links_take_timeout(struct au_req *req)
{
	struct au_req *t = req->link;

	req->link = t->link;
	t->link = NULL;
	return t;
}

/* What fails before it is begun does not start the clock of its timeout. */
static void links_not_begun(struct au_req *req)
{
	if (req->link && req->link->opcode == IORING_OP_LINK_TIMEOUT)
		req->link->deadline_ns = AU_NSEC_FOREVER;
}

/*
 * A timeout that was not armed. One due at once has found nothing to end, if
 * its clock was started: which it is not where there is no file.
 */
static void links_end_late(struct au_ring *ring, const struct au_req *req,
			   struct au_req *t)
{
	bool due = !t->deadline_ns;

	if (due && req->res == -EBADF &&
	    (au_ops[req->opcode].traits & AU_OP_NEEDS_FILE))
		due = au_syscall(SYS_fcntl, req->fd, F_GETFD) >= 0;
	link_end(ring, t, due ? -ENOENT : -ECANCELED);
}

struct au_req *au_links_next(struct au_ring *ring, struct au_req *req)
{
	struct au_req *next;

	if (req->flags & AU_REQ_F_ARM_LTIMEOUT) {
		au_req_clear(req, AU_REQ_F_ARM_LTIMEOUT);
		if (req->link && req->link->opcode == IORING_OP_LINK_TIMEOUT)
			links_end_late(ring, req, links_take_timeout(req));
	} else if (req->flags & AU_REQ_F_LINK_TIMEOUT) {
		au_req_clear(req, AU_REQ_F_LINK_TIMEOUT);
		if (req->link && req->link->opcode == IORING_OP_LINK_TIMEOUT) {
			struct au_req *t = links_take_timeout(req);

			/* One that has fired ends by itself. */
			t->timed = NULL;
			if (t->at == AU_AT_TIMERS) {
				au_timers_cancel(&ring->timers, t);
				au_req_unpark(ring, t);
				link_end(ring, t, -ECANCELED);
			}
		}
	}
	if ((req->flags & AU_REQ_F_FAIL) && !(req->flags & AU_REQ_F_HARDLINK))
		links_fail(ring, req);
	next = req->link;
	req->link = NULL;
	return next;
}

void au_links_arm_timeout(struct au_ring *ring, struct au_req *req)
{
	struct au_req *t = req->link;
	int r;

	au_req_clear(req, AU_REQ_F_ARM_LTIMEOUT);
	if (!t || t->opcode != IORING_OP_LINK_TIMEOUT)
		return;
	t->timed = req;
	/* Its op starts the clock. */
	r = au_ops[t->opcode].issue(t, AU_ISSUE_NONBLOCK) == AU_QUEUED ? 0 :
									 t->res;
	if (r < 0)
		link_end(ring, links_take_timeout(req), r);
	else
		au_req_set(req, AU_REQ_F_LINK_TIMEOUT | AU_REQ_F_COMPLETE_SLOW);
}

int au_links_stabilise(struct au_req *head)
{
	for (struct au_req *req = head; req; req = req->link) {
		int r = au_req_stabilise(req);

		if (r < 0)
			return r;
	}
	return 0;
}

/* One may end at once and start its own next: a loop, or the stack would end. */
void au_links_start(struct au_ring *ring, struct au_req *req)
{
	struct au_slist_node *n;

	au_slist_push(&ring->link_next, &req->node);
	if (ring->link_running)
		return;
	ring->link_running = true;
	while ((n = au_slist_pop(&ring->link_next)))
		au_req_queue(ring, au_req_of_node(n));
	ring->link_running = false;
}

void au_req_queue(struct au_ring *ring, struct au_req *req)
{
	if (au_unlikely(ring->ending) && !(req->flags & AU_REQ_F_FAIL))
		au_req_set_res(req, -ECANCELED);
	if (au_unlikely(req->flags & AU_REQ_F_FAIL)) {
		/* Not one of the chain runs, hard links or not. */
		links_not_begun(req);
		au_req_switch(req, AU_REQ_F_HARDLINK, AU_REQ_F_LINK);
		au_req_complete(ring, req);
		return;
	}
	if (au_unlikely(req->flags & AU_REQ_F_DEFERRED)) {
		au_drain_defer(ring, req);
		return;
	}
	au_req_issue(ring, req);
}
