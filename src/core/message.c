/* SPDX-License-Identifier: MIT */
/*
 * A message in the done queue is a request in form only: allocated by itself,
 * with nothing but its CQE. It names the ring it was meant for by identity,
 * because a ring's memory serves the next ring once it has ended.
 */
#include "core/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/complete.h"
#include "core/issue.h"
#include "sys/uaccess.h"

static void message_deliver(struct au_ring *ring, uint64_t user_data,
			    int32_t res, uint32_t flags)
{
	au_cqe_post(ring, user_data, res, flags);
	au_ring_after_complete(ring);
}

static int message_send(struct au_ring *target, uint64_t user_data, int32_t res,
			uint32_t flags)
{
	struct au_req *msg = aligned_alloc(AU_CACHELINE, sizeof(*msg));

	if (!msg)
		return -ENOMEM;
	memset(msg, 0, sizeof(*msg));
	msg->flags = AU_REQ_F_MESSAGE;
	msg->user_data = user_data;
	msg->res = res;
	msg->cqe_flags = flags;
	msg->extra[0] = target->id.ino;
	if (!au_ring_hand_back(target, msg))
		au_ring_kick(target);
	return 0;
}

int au_message_post(struct au_ring *held, struct au_ring *target,
		    uint64_t user_data, int32_t res, uint32_t flags)
{
	if (AU_READ_ONCE(target->disabled))
		return -EBADFD;
	/* The sender's flags do not make this CQE a wide one. */
	if (target->setup_flags & IORING_SETUP_CQE_MIXED)
		flags &= ~IORING_CQE_F_32;
	/* What its owner, in another process, would do is done here. */
	if (au_ring_defer(target) && !target->foreign)
		return message_send(target, user_data, res, flags);
	if (held == target) {
		message_deliver(target, user_data, res, flags);
		return 0;
	}
	if (!au_ring_trylock(target))
		return message_send(target, user_data, res, flags);
	if (!target->alive) {
		au_ring_release(target);
		return -EBADFD;
	}
	message_deliver(target, user_data, res, flags);
	au_cq_commit(target);
	au_ring_unlock(target);
	return 0;
}

int au_message_prep(struct au_message *m, const struct io_uring_sqe *sqe)
{
	if (AU_READ_ONCE(sqe->buf_index) || AU_READ_ONCE(sqe->personality))
		return -EINVAL;
	m->user_data = AU_READ_ONCE(sqe->off);
	m->len = AU_READ_ONCE(sqe->len);
	m->cmd = AU_READ_ONCE(sqe->addr);
	m->src_fd = (uint32_t)AU_READ_ONCE(sqe->addr3);
	m->dst_fd = AU_READ_ONCE(sqe->file_index);
	m->flags = AU_READ_ONCE(sqe->msg_ring_flags);
	return m->flags & ~(IORING_MSG_RING_CQE_SKIP |
			    IORING_MSG_RING_FLAGS_PASS) ?
		       -EINVAL :
		       0;
}

struct au_ring *au_message_target(int fd, int *err)
{
	struct au_ring *target = au_ring_lookup((unsigned int)fd, err);

	if (!target && *err == -EOPNOTSUPP)
		*err = -EBADFD;
	return target;
}

int au_message_data(struct au_ring *held, struct au_ring *target,
		    const struct au_message *m)
{
	bool pass = m->flags & IORING_MSG_RING_FLAGS_PASS;

	if (m->src_fd || (m->flags & ~IORING_MSG_RING_FLAGS_PASS))
		return -EINVAL;
	if (!pass && m->dst_fd)
		return -EINVAL;
	return au_message_post(held, target, m->user_data, (int32_t)m->len,
			       pass ? m->dst_fd : 0);
}

int au_message_sync(uint64_t arg)
{
	struct io_uring_sqe sqe;
	struct au_message m;
	struct au_ring *target;
	int r;

	if (au_copy_from_user(&sqe, arg, sizeof(sqe)))
		return -EFAULT;
	if (sqe.flags || sqe.opcode != IORING_OP_MSG_RING)
		return -EINVAL;
	r = au_message_prep(&m, &sqe);
	/* Without a ring there is no table to send files from. */
	if (r < 0 || m.cmd != IORING_MSG_DATA)
		return -EINVAL;
	target = au_message_target(sqe.fd, &r);
	return target ? au_message_data(NULL, target, &m) : r;
}

void au_message_arrived(struct au_ring *ring, struct au_req *msg)
{
	if (msg->extra[0] == ring->id.ino)
		au_cqe_post(ring, msg->user_data, msg->res, msg->cqe_flags);
	free(msg);
}

void au_messages_drop(struct au_ring *ring)
{
	struct au_slist_node *n = au_mpscq_take(&ring->done);

	while (n) {
		struct au_req *req = au_req_of_node(n);

		n = n->next;
		if (req->flags & AU_REQ_F_MESSAGE)
			free(req);
	}
}
