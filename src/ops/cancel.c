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
};

int au_async_cancel_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_async_cancel *c = au_req_cmd(req, struct au_async_cancel);

	if (req->flags & AU_REQ_F_BUFFER_SELECT)
		return -EINVAL;
	if (AU_READ_ONCE(sqe->off) || AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
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

enum au_issue au_async_cancel(struct au_req *req, unsigned int issue_flags)
{
	struct au_async_cancel *c = au_req_cmd(req, struct au_async_cancel);
	struct au_cancel what = {
		.flags = c->flags,
		.user_data = c->user_data,
		.fd = c->fd,
		.opcode = (uint8_t)c->opcode,
		.self = req,
	};

	/* The SQE's own fixed-file flag speaks of the table too. */
	if ((c->flags & IORING_ASYNC_CANCEL_FD) &&
	    (req->flags & AU_REQ_F_FIXED_FILE))
		what.flags |= IORING_ASYNC_CANCEL_FD_FIXED;
	if ((c->flags & IORING_ASYNC_CANCEL_FD) &&
	    !au_cancel_fd_valid(req->ring, &what))
		au_req_set_res(req, -EBADF);
	else
		au_req_set_res(req, au_cancel(req->ring, &what));
	return AU_DONE;
}

AU_OP_DEFINE_STRAIGHT(async_cancel)
