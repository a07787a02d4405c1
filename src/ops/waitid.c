/* SPDX-License-Identifier: MIT */
/* WAITID: a worker waits; cancelling interrupts it. */
#include <errno.h>
#include "ops/ops.h"
#include "sys/syscall.h"

struct au_waitid {
	uint64_t info; /* the application's siginfo, or 0 */
	uint32_t which, options;
	int32_t id;
};

int au_waitid_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_waitid *w = au_req_cmd(req, struct au_waitid);

	if (AU_READ_ONCE(sqe->addr) || AU_READ_ONCE(sqe->buf_index) ||
	    AU_READ_ONCE(sqe->addr3) || AU_READ_ONCE(sqe->waitid_flags))
		return -EINVAL;
	w->which = AU_READ_ONCE(sqe->len);
	w->id = req->fd;
	w->options = AU_READ_ONCE(sqe->file_index);
	w->info = AU_READ_ONCE(sqe->addr2);
	return 0;
}

enum au_issue au_waitid(struct au_req *req, unsigned int issue_flags)
{
	struct au_waitid *w = au_req_cmd(req, struct au_waitid);

	au_req_set_res(req, (int)au_syscall(SYS_waitid, w->which, w->id,
					    w->info, w->options, NULL));
	return AU_DONE;
}
