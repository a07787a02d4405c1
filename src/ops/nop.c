/* SPDX-License-Identifier: MIT */
/* NOP: completes at once; its flags exercise results, files and buffers. */
#include <errno.h>
#include "core/ring.h"
#include "ops/ops.h"

#define NOP_FLAGS                                                             \
	(IORING_NOP_INJECT_RESULT | IORING_NOP_FILE | IORING_NOP_FIXED_FILE | \
	 IORING_NOP_FIXED_BUFFER | IORING_NOP_TW | IORING_NOP_CQE32)

struct au_nop {
	uint32_t flags;
	int32_t result;
};

int au_nop_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_nop *nop = au_req_cmd(req, struct au_nop);

	nop->flags = AU_READ_ONCE(sqe->nop_flags);
	if (au_likely(!nop->flags))
		return 0;
	if (nop->flags & ~(uint32_t)NOP_FLAGS)
		return -EINVAL;
	if (nop->flags & IORING_NOP_INJECT_RESULT)
		nop->result = (int32_t)AU_READ_ONCE(sqe->len);
	else
		nop->result = 0;
	if (nop->flags & IORING_NOP_FIXED_BUFFER)
		req->buf_index = AU_READ_ONCE(sqe->buf_index);
	if (nop->flags & IORING_NOP_CQE32) {
		if (!(req->ring->setup_flags &
		      (IORING_SETUP_CQE32 | IORING_SETUP_CQE_MIXED)))
			return -EINVAL;
		req->extra[0] = AU_READ_ONCE(sqe->off);
		req->extra[1] = AU_READ_ONCE(sqe->addr);
	}
	return 0;
}

static au_cold int nop_flags(struct au_req *req, const struct au_nop *nop)
{
	int r = nop->result;

	/* One that never comes so far has a CQE like any other. */
	if (nop->flags & IORING_NOP_CQE32) {
		if (req->ring->setup_flags & IORING_SETUP_CQE_MIXED)
			req->cqe_flags = IORING_CQE_F_32;
		au_req_set(req, AU_REQ_F_CQE32 | AU_REQ_F_COMPLETE_SLOW);
	}

	if (nop->flags & IORING_NOP_FILE) {
		bool fixed = nop->flags & IORING_NOP_FIXED_FILE;
		struct au_fd_id id;

		if (fixed ? !au_rsrc_lookup(&req->ring->files,
					    (uint32_t)req->fd) :
			    au_fd_identify(req->fd, &id) < 0)
			return -EBADF;
	}
	/* The file is looked for first, and without it nothing else. */
	if ((nop->flags & IORING_NOP_FIXED_BUFFER) &&
	    !au_rsrc_lookup(&req->ring->buffers, req->buf_index))
		r = -EFAULT;
	return r;
}

enum au_issue au_nop(struct au_req *req, unsigned int issue_flags)
{
	struct au_nop *nop = au_req_cmd(req, struct au_nop);

	if (au_unlikely(nop->flags))
		au_req_set_res(req, nop_flags(req, nop));
	return AU_DONE;
}

AU_OP_DEFINE_STRAIGHT(nop)
