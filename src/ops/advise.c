/* SPDX-License-Identifier: MIT */
/* FADVISE and MADVISE. */
#include <errno.h>
#include "ops/ops.h"
#include "sys/syscall.h"

struct au_advise {
	uint64_t at, len; /* offset, or address */
	uint32_t advice;
};

/* 64-bit lengths came later, in fields that used to be zero. */
int au_fadvise_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_advise *a = au_req_cmd(req, struct au_advise);

	if (AU_READ_ONCE(sqe->buf_index) || AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	a->at = AU_READ_ONCE(sqe->off);
	a->len = AU_READ_ONCE(sqe->addr);
	if (!a->len)
		a->len = AU_READ_ONCE(sqe->len);
	a->advice = AU_READ_ONCE(sqe->fadvise_advice);
	return 0;
}

enum au_issue au_fadvise(struct au_req *req, unsigned int issue_flags)
{
	struct au_advise *a = au_req_cmd(req, struct au_advise);

	au_req_set_res(req, (int)au_syscall(SYS_fadvise64, req->fd, a->at,
					    a->len, a->advice));
	return AU_DONE;
}

int au_madvise_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_advise *a = au_req_cmd(req, struct au_advise);

	if (AU_READ_ONCE(sqe->buf_index) || AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	a->at = AU_READ_ONCE(sqe->addr);
	a->len = AU_READ_ONCE(sqe->off);
	if (!a->len)
		a->len = AU_READ_ONCE(sqe->len);
	a->advice = AU_READ_ONCE(sqe->fadvise_advice);
	return 0;
}

enum au_issue au_madvise(struct au_req *req, unsigned int issue_flags)
{
	struct au_advise *a = au_req_cmd(req, struct au_advise);

	au_req_set_res_soft(req,
		       (int)au_syscall(SYS_madvise, a->at, a->len, a->advice));
	return AU_DONE;
}
