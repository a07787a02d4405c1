/* SPDX-License-Identifier: MIT */
/* FTRUNCATE: a disk's speed, so always in a worker. */
#include <errno.h>
#include "ops/ops.h"
#include "sys/syscall.h"

struct au_ftruncate {
	uint64_t len;
};

int au_ftruncate_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_ftruncate *t = au_req_cmd(req, struct au_ftruncate);

	if (AU_READ_ONCE(sqe->rw_flags) || AU_READ_ONCE(sqe->addr) ||
	    AU_READ_ONCE(sqe->len) || AU_READ_ONCE(sqe->buf_index) ||
	    AU_READ_ONCE(sqe->splice_fd_in) || AU_READ_ONCE(sqe->addr3))
		return -EINVAL;
	t->len = AU_READ_ONCE(sqe->off);
	return 0;
}

enum au_issue au_ftruncate(struct au_req *req, unsigned int issue_flags)
{
	struct au_ftruncate *t = au_req_cmd(req, struct au_ftruncate);

	au_req_set_res_soft(req,
			    (int)au_syscall(SYS_ftruncate, req->fd, t->len));
	return AU_DONE;
}
