/* SPDX-License-Identifier: MIT */
/* EPOLL_CTL and EPOLL_WAIT. */
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

struct au_epoll_wait {
	uint64_t events; /* the application's array */
	int32_t nr;
};

int au_epoll_wait_op_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_epoll_wait *w = au_req_cmd(req, struct au_epoll_wait);

	if (AU_READ_ONCE(sqe->off) || AU_READ_ONCE(sqe->rw_flags) ||
	    AU_READ_ONCE(sqe->buf_index) || AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	w->nr = (int32_t)AU_READ_ONCE(sqe->len);
	w->events = AU_READ_ONCE(sqe->addr);
	return 0;
}

enum au_issue au_epoll_wait_op(struct au_req *req, unsigned int issue_flags)
{
	struct au_epoll_wait *w = au_req_cmd(req, struct au_epoll_wait);
	long r = au_syscall(SYS_epoll_pwait, req->fd, w->events, w->nr, 0, NULL,
			    0);

	if (r == 0)
		return AU_RETRY;
	au_req_set_res(req, (int)r);
	return AU_DONE;
}
