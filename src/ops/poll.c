/* SPDX-License-Identifier: MIT */
/*
 * POLL_ADD and POLL_REMOVE.
 *
 * A poll first looks at what is there (poll(2), which knows every file), and
 * waits in the poller if nothing asked for is. A multishot poll posts a CQE a
 * wake-up until it is cancelled, or its CQE finds the CQ full.
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include "core/cancel.h"
#include "core/complete.h"
#include "core/issue.h"
#include "core/notify.h"
#include "ops/ops.h"
#include "sys/poll.h"

struct au_poll {
	uint32_t events;
	bool multishot;
};

struct au_poll_update {
	uint64_t old_user_data, new_user_data;
	uint32_t events, flags;
};

#define POLL_UPDATES (IORING_POLL_UPDATE_EVENTS | IORING_POLL_UPDATE_USER_DATA)

static uint32_t poll_events(const struct io_uring_sqe *sqe, uint32_t flags)
{
	uint32_t ev = AU_READ_ONCE(sqe->poll32_events);

	/*
	 * EPOLL's own behaviour flags are not a poll's to set; that the other
	 * side is gone is told whether asked for or not.
	 */
	ev &= ~(uint32_t)(EPOLLET | EPOLLONESHOT | EPOLLWAKEUP |
			  EPOLLEXCLUSIVE);
	return ev | EPOLLERR | EPOLLHUP | EPOLLRDHUP;
}

int au_poll_add_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_poll *p = au_req_cmd(req, struct au_poll);
	uint32_t flags = AU_READ_ONCE(sqe->len);

	if (AU_READ_ONCE(sqe->buf_index) || AU_READ_ONCE(sqe->off) ||
	    AU_READ_ONCE(sqe->addr))
		return -EINVAL;
	if (flags & ~IORING_POLL_ADD_MULTI)
		return -EINVAL;
	if ((flags & IORING_POLL_ADD_MULTI) && (req->flags & AU_REQ_F_CQE_SKIP))
		return -EINVAL;
	p->multishot = flags & IORING_POLL_ADD_MULTI;
	p->events = poll_events(sqe, flags);
	return 0;
}

/* A ring's descriptor says that CQEs are there only once it is asked to. */
static void poll_watch_ring(struct au_ring *ring, int fd)
{
	struct au_ring *target = au_ring_lookup_fast((unsigned int)fd);

	if (au_likely(!target))
		return;
	if (target != ring && !au_ring_trylock(target))
		return;
	au_store_relaxed(&target->watched, true);
	au_cq_update_notify(target);
	au_notify_sync(target);
	if (target != ring)
		au_ring_unlock(target);
}

enum au_issue au_poll_add(struct au_req *req, unsigned int issue_flags)
{
	struct au_poll *p = au_req_cmd(req, struct au_poll);
	int r, armed;

	poll_watch_ring(req->ring, req->fd);
	r = au_poll_now(req->fd, (short)p->events);
	if (r < 0 || (r > 0 && !p->multishot)) {
		au_req_set_res(req, r);
		return AU_DONE;
	}
	armed = au_poller_arm(req->ring, req, req->fd, p->events);
	if (armed < 0) {
		/* Files that epoll refuses never become ready: now or never. */
		if (armed == -EPERM)
			armed = r ? r : -EINVAL;
		au_req_set_res(req, armed);
		return AU_DONE;
	}
	/* A new registration reports by itself what is there already. */
	if (r > 0 && armed == 0 && !au_req_post_more(req->ring, req, r, 0)) {
		(void)au_cancel_take(req->ring, req);
		au_req_set_res(req, r);
		return AU_DONE;
	}
	return AU_QUEUED;
}

bool au_poll_add_ready(struct au_ring *ring, struct au_req *req,
		       uint32_t events)
{
	struct au_poll *p = au_req_cmd(req, struct au_poll);
	int mask = (int)(events & p->events);

	if (p->multishot && au_req_post_more(ring, req, mask, 0))
		return false;
	au_req_unpark(ring, req);
	au_req_complete_res(ring, req, mask);
	return true;
}

int au_poll_remove_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_poll_update *u = au_req_cmd(req, struct au_poll_update);

	if (AU_READ_ONCE(sqe->buf_index) || AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	u->flags = AU_READ_ONCE(sqe->len);
	if (u->flags & ~(POLL_UPDATES | IORING_POLL_ADD_MULTI))
		return -EINVAL;
	/* Multishot is a property of what is updated, and needs an update. */
	if (u->flags == IORING_POLL_ADD_MULTI)
		return -EINVAL;
	u->old_user_data = AU_READ_ONCE(sqe->addr);
	u->new_user_data = AU_READ_ONCE(sqe->off);
	if (!(u->flags & IORING_POLL_UPDATE_USER_DATA) && u->new_user_data)
		return -EINVAL;
	if (u->flags & IORING_POLL_UPDATE_EVENTS)
		u->events = poll_events(sqe, u->flags);
	else if (AU_READ_ONCE(sqe->poll32_events))
		return -EINVAL;
	return 0;
}

/* Arms the poll anew as the update wants it; it may fire at once. */
static void poll_rearm(struct au_ring *ring, struct au_req *poll,
		       const struct au_poll_update *u)
{
	struct au_poll *p = au_req_cmd(poll, struct au_poll);

	/* What it waits for changes, how often it fires does not. */
	if (u->flags & IORING_POLL_UPDATE_EVENTS)
		p->events = u->events;
	if (u->flags & IORING_POLL_UPDATE_USER_DATA)
		poll->user_data = u->new_user_data;
	au_req_issue(ring, poll);
}

enum au_issue au_poll_remove(struct au_req *req, unsigned int issue_flags)
{
	struct au_poll_update *u = au_req_cmd(req, struct au_poll_update);
	struct au_req *poll = au_pending_find(req->ring, u->old_user_data,
					      IORING_OP_POLL_ADD);

	if (!poll) {
		au_req_set_res(req, -ENOENT);
		return AU_DONE;
	}
	if (!(u->flags & POLL_UPDATES)) {
		au_req_set_res(req, au_cancel_req(req->ring, poll));
		return AU_DONE;
	}
	au_req_set_res(req, au_cancel_take(req->ring, poll));
	if (req->res == 0)
		poll_rearm(req->ring, poll, u);
	return AU_DONE;
}

AU_OP_DEFINE_STRAIGHT(poll_remove)
