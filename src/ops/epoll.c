/* SPDX-License-Identifier: MIT */
/* EPOLL_CTL. */
#include <errno.h>
#include <sys/epoll.h>
#include "core/ring.h"
#include "ops/ops.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

struct au_epoll {
	struct epoll_event event;
	int32_t fd, op;
};

int au_epoll_ctl_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_epoll *e = au_req_cmd(req, struct au_epoll);
	uint64_t event = AU_READ_ONCE(sqe->addr);

	if (AU_READ_ONCE(sqe->buf_index) || AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	e->op = (int32_t)AU_READ_ONCE(sqe->len);
	e->fd = (int32_t)AU_READ_ONCE(sqe->off);
	if (e->op != EPOLL_CTL_DEL &&
	    au_copy_from_user(&e->event, event, sizeof(e->event)))
		return -EFAULT;
	return 0;
}

enum au_issue au_epoll_ctl(struct au_req *req, unsigned int issue_flags)
{
	struct au_epoll *e = au_req_cmd(req, struct au_epoll);

	au_req_set_res(req, (int)au_syscall(SYS_epoll_ctl, req->fd, e->op,
					    e->fd, &e->event));
	return AU_DONE;
}
