/* SPDX-License-Identifier: MIT */
/* STATX: in a worker, like all that walks paths. */
#include <errno.h>
#include <fcntl.h>
#include "ops/ops.h"
#include "sys/syscall.h"

struct au_statx {
	uint64_t buffer; /* the application's struct statx */
	uint32_t mask, flags;
	int32_t dfd;
};

int au_statx_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_statx *s = au_req_cmd(req, struct au_statx);

	if (AU_READ_ONCE(sqe->buf_index) || AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	if (req->flags & AU_REQ_F_FIXED_FILE)
		return -EBADF;
	s->dfd = req->fd;
	s->mask = AU_READ_ONCE(sqe->len);
	s->buffer = AU_READ_ONCE(sqe->addr2);
	s->flags = AU_READ_ONCE(sqe->statx_flags);
	return au_paths_prep(req, AU_READ_ONCE(sqe->addr), 0, NULL,
			     s->flags & AT_EMPTY_PATH ? AU_PATHS_EMPTY : 0);
}

enum au_issue au_statx(struct au_req *req, unsigned int issue_flags)
{
	struct au_statx *s = au_req_cmd(req, struct au_statx);

	au_req_set_res_soft(req, (int)au_syscall(SYS_statx, s->dfd, req->async_data,
					    s->flags, s->mask, s->buffer));
	return AU_DONE;
}
