/* SPDX-License-Identifier: MIT */
/*
 * MSG_RING: a CQE, or a registered file and a CQE, for another ring.
 *
 * Two rings' locks are never waited for at once: the other ring's is tried, and
 * if it is taken a CQE goes by the ring's done queue, and a file by a worker,
 * which holds one lock after the other.
 */
#include <errno.h>
#include "core/complete.h"
#include "core/message.h"
#include "core/register.h"
#include "core/ring.h"
#include "ops/ops.h"
#include "sys/fd.h"

int au_msg_ring_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	return au_message_prep(au_req_cmd(req, struct au_message), sqe);
}

/* A reference of its own on the file to send. Ring lock held. */
static int msg_grab(struct au_ring *ring, const struct au_message *m)
{
	struct au_rsrc_node *n = au_rsrc_lookup(&ring->files, m->src_fd);

	return n ? au_fd_dup_hidden(n->fd) : -EBADF;
}

/* Target's lock held. Takes the descriptor over. */
static int msg_install(struct au_ring *target, const struct au_message *m,
		       int hidden)
{
	int r, posted;

	if (!target->alive || target->disabled) {
		au_fd_close_hidden(hidden);
		return -EBADFD;
	}
	r = au_file_install_hidden(target, m->dst_fd, hidden);
	if (r < 0 || (m->flags & IORING_MSG_RING_CQE_SKIP))
		return r;
	posted = au_message_post(target, target, m->user_data, r, 0);
	return posted < 0 ? posted : r;
}

static enum au_issue msg_fd(struct au_req *req, struct au_ring *target,
			    const struct au_message *m,
			    unsigned int issue_flags)
{
	bool worker = issue_flags & AU_ISSUE_WORKER;
	int r = 0;

	if (m->len || target == req->ring)
		r = -EINVAL;
	else if (AU_READ_ONCE(target->disabled))
		r = -EBADFD;
	if (r < 0)
		goto out;
	if (worker)
		au_ring_lock(req->ring);
	r = msg_grab(req->ring, m);
	if (worker)
		au_ring_unlock(req->ring);
	if (r < 0)
		goto out;
	if (worker) {
		au_ring_lock(target);
	} else if (!au_ring_trylock(target)) {
		au_fd_close_hidden(r);
		return AU_PUNT;
	}
	r = msg_install(target, m, r);
	if (target->alive)
		au_cq_commit(target);
	au_ring_unlock(target);
out:
	au_req_set_res(req, r);
	return AU_DONE;
}

enum au_issue au_msg_ring(struct au_req *req, unsigned int issue_flags)
{
	struct au_message *m = au_req_cmd(req, struct au_message);
	int r = -EINVAL;
	struct au_ring *target = au_message_target(req->fd, &r);

	if (target && m->cmd == IORING_MSG_SEND_FD)
		return msg_fd(req, target, m, issue_flags);
	if (target)
		r = m->cmd == IORING_MSG_DATA ?
			    au_message_data(req->ring, target, m) :
			    -EINVAL;
	au_req_set_res(req, r);
	return AU_DONE;
}
