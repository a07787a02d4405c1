/* SPDX-License-Identifier: MIT */
/* ASYNC_CANCEL. */
#include "core/cancel.h"

#include <errno.h>
#include "ops/ops.h"

struct au_async_cancel {
	uint64_t user_data;
	uint32_t flags;
	int32_t fd;
	uint32_t opcode;
	uint32_t asked; /* other processes that have the ring, so far */
	int32_t nr; /* cancelled so far, where all are to be */
};

int au_async_cancel_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_async_cancel *c = au_req_cmd(req, struct au_async_cancel);

	if (req->flags & AU_REQ_F_BUFFER_SELECT)
		return -EINVAL;
	if (AU_READ_ONCE(sqe->off) || AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	c->asked = 0;
	c->nr = 0;
	c->user_data = AU_READ_ONCE(sqe->addr);
	c->flags = AU_READ_ONCE(sqe->cancel_flags);
	if (c->flags & ~(uint32_t)AU_CANCEL_FLAGS)
		return -EINVAL;
	if (c->flags & IORING_ASYNC_CANCEL_FD) {
		if (c->flags & IORING_ASYNC_CANCEL_ANY)
			return -EINVAL;
		c->fd = req->fd;
	}
	if (c->flags & IORING_ASYNC_CANCEL_OP) {
		if (c->flags & IORING_ASYNC_CANCEL_ANY)
			return -EINVAL;
		c->opcode = AU_READ_ONCE(sqe->len);
	}
	return 0;
}

/* The requests of this process. */
static int cancel_here(struct au_req *req, struct au_cancel *what)
{
	/* The SQE's own fixed-file flag speaks of the table too. */
	if ((what->flags & IORING_ASYNC_CANCEL_FD) &&
	    (req->flags & AU_REQ_F_FIXED_FILE))
		what->flags |= IORING_ASYNC_CANCEL_FD_FIXED;
	if ((what->flags & IORING_ASYNC_CANCEL_FD) &&
	    !au_cancel_fd_valid(req->ring, what))
		return -EBADF;
	return au_cancel(req->ring, what);
}

/* Issued again whenever another process has answered, or died. */
enum au_issue au_async_cancel(struct au_req *req, unsigned int issue_flags)
{
	struct au_async_cancel *c = au_req_cmd(req, struct au_async_cancel);
	struct au_ring *ring = req->ring;
	struct au_cancel what = {
		.flags = c->flags,
		.user_data = c->user_data,
		.fd = c->fd,
		.opcode = (uint8_t)c->opcode,
		.self = req,
	};
	bool all = c->flags &
		   (IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_ANY);
	bool go_on = true;
	int r;

	if (au_likely(!c->asked))
		r = cancel_here(req, &what);
	else
		go_on = au_common_cancel_end(ring, req, &r);
	if (au_unlikely(ring->common) && all && r != -EBADF) {
		c->nr += r > 0 ? r : 0;
		r = c->nr;
	}
	if (au_unlikely(ring->common) && go_on && (all || r == -ENOENT) &&
	    au_common_cancel(ring, req, &what, &c->asked))
		return AU_QUEUED;
	au_req_set_res(req, r);
	return AU_DONE;
}

AU_OP_DEFINE_STRAIGHT(async_cancel)

void au_async_cancel_cleanup(struct au_req *req)
{
	int res;

	(void)au_common_cancel_end(req->ring, req, &res);
}
