/* SPDX-License-Identifier: MIT */
/*
 * SPLICE and TEE. Neither end's readiness says that the call will not sleep,
 * so a worker always does it, as the kernel's io-wq does; cancelling interrupts
 * the worker.
 */
#include <errno.h>
#include <fcntl.h>
#include "core/register.h"
#include "core/ring.h"
#include "ops/ops.h"
#include "sys/syscall.h"

#define SPLICE_FLAGS                                                         \
	(SPLICE_F_MOVE | SPLICE_F_NONBLOCK | SPLICE_F_MORE | SPLICE_F_GIFT | \
	 SPLICE_F_FD_IN_FIXED)

struct au_splice {
	int64_t off_in, off_out; /* -1: the file's position */
	uint32_t len, flags;
	int32_t fd_in;
};

int au_tee_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_splice *s = au_req_cmd(req, struct au_splice);

	if (AU_READ_ONCE(sqe->splice_off_in) || AU_READ_ONCE(sqe->off))
		return -EINVAL;
	s->len = AU_READ_ONCE(sqe->len);
	s->flags = AU_READ_ONCE(sqe->splice_flags);
	if (s->flags & ~SPLICE_FLAGS)
		return -EINVAL;
	s->fd_in = AU_READ_ONCE(sqe->splice_fd_in);
	return 0;
}

int au_splice_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_splice *s = au_req_cmd(req, struct au_splice);

	s->off_in = (int64_t)AU_READ_ONCE(sqe->splice_off_in);
	s->off_out = (int64_t)AU_READ_ONCE(sqe->off);
	s->len = AU_READ_ONCE(sqe->len);
	s->flags = AU_READ_ONCE(sqe->splice_flags);
	if (s->flags & ~SPLICE_FLAGS)
		return -EINVAL;
	s->fd_in = AU_READ_ONCE(sqe->splice_fd_in);
	return 0;
}

/* The descriptor to read from; a table slot is held until the end. */
static int splice_fd_in(struct au_req *req, const struct au_splice *s)
{
	struct au_rsrc_node *n;
	int fd = -EBADF;

	if (!(s->flags & SPLICE_F_FD_IN_FIXED))
		return s->fd_in;
	au_ring_lock(req->ring);
	n = au_rsrc_lookup(&req->ring->files, (uint32_t)s->fd_in);
	if (n) {
		n->refs++;
		req->buf_node = n;
		au_req_set(req, AU_REQ_F_NODE_BUF);
		fd = n->fd;
	}
	au_ring_unlock(req->ring);
	return fd;
}

static void splice_end(struct au_req *req, const struct au_splice *s, long res)
{
	req->res = (int)res;
	if (res != (long)s->len)
		au_req_set_fail(req);
}

enum au_issue au_splice(struct au_req *req, unsigned int issue_flags)
{
	struct au_splice *s = au_req_cmd(req, struct au_splice);
	int64_t in = s->off_in, out = s->off_out;
	int fd = splice_fd_in(req, s);
	long res = 0;

	/* Descriptors are looked at even when there is nothing to do. */
	if (fd < 0 || au_syscall(SYS_fcntl, fd, F_GETFD) < 0)
		res = -EBADF;
	else if (s->len)
		res = au_syscall(SYS_splice, fd, in == -1 ? NULL : &in, req->fd,
				 out == -1 ? NULL : &out, (size_t)s->len,
				 s->flags & ~SPLICE_F_FD_IN_FIXED);
	splice_end(req, s, res);
	return AU_DONE;
}

enum au_issue au_tee(struct au_req *req, unsigned int issue_flags)
{
	struct au_splice *s = au_req_cmd(req, struct au_splice);
	int fd = splice_fd_in(req, s);
	long res = 0;

	if (fd < 0 || au_syscall(SYS_fcntl, fd, F_GETFD) < 0)
		res = -EBADF;
	else if (s->len)
		res = au_syscall(SYS_tee, fd, req->fd, (size_t)s->len,
				 s->flags & ~SPLICE_F_FD_IN_FIXED);
	splice_end(req, s, res);
	return AU_DONE;
}
