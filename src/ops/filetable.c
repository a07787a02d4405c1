/* SPDX-License-Identifier: MIT */
/* FILES_UPDATE: the register call of that name, as a request. */
#include <errno.h>
#include "core/register.h"
#include "core/ring.h"
#include "ops/ops.h"

struct au_files_update {
	uint64_t fds;
	uint32_t nr, offset;
};

int au_files_update_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_files_update *u = au_req_cmd(req, struct au_files_update);

	if (req->flags & (AU_REQ_F_FIXED_FILE | AU_REQ_F_BUFFER_SELECT))
		return -EINVAL;
	if (AU_READ_ONCE(sqe->rw_flags) || AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	u->offset = (uint32_t)AU_READ_ONCE(sqe->off);
	u->nr = AU_READ_ONCE(sqe->len);
	if (!u->nr)
		return -EINVAL;
	u->fds = AU_READ_ONCE(sqe->addr);
	return 0;
}

enum au_issue au_files_update(struct au_req *req, unsigned int issue_flags)
{
	struct au_files_update *u = au_req_cmd(req, struct au_files_update);

	au_req_set_res(req, au_files_update_table(req->ring, u->offset, u->fds,
						  0, u->nr));
	return AU_DONE;
}
