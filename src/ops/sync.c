/* SPDX-License-Identifier: MIT */
/* FSYNC, SYNC_FILE_RANGE, FALLOCATE: a disk's speed, so always in a worker. */
#include <errno.h>
#include "ops/ops.h"
#include "sys/syscall.h"

struct au_sync {
	uint64_t off, len;
	uint32_t flags; /* IORING_FSYNC_*, SYNC_FILE_RANGE_*, fallocate mode */
};

int au_fsync_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_sync *s = au_req_cmd(req, struct au_sync);

	if (AU_READ_ONCE(sqe->addr) || AU_READ_ONCE(sqe->buf_index) ||
	    AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	s->flags = AU_READ_ONCE(sqe->fsync_flags);
	if (s->flags & ~IORING_FSYNC_DATASYNC)
		return -EINVAL;
	s->off = AU_READ_ONCE(sqe->off);
	if ((int64_t)s->off < 0)
		return -EINVAL;
	s->len = AU_READ_ONCE(sqe->len);
	return 0;
}

enum au_issue au_fsync(struct au_req *req, unsigned int issue_flags)
{
	struct au_sync *s = au_req_cmd(req, struct au_sync);

	/* fsync(2) has no range: the whole file is a superset. */
	au_req_set_res_soft(req, (int)au_syscall(s->flags & IORING_FSYNC_DATASYNC ?
						    SYS_fdatasync :
						    SYS_fsync,
					    req->fd));
	return AU_DONE;
}

int au_sync_file_range_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_sync *s = au_req_cmd(req, struct au_sync);

	if (AU_READ_ONCE(sqe->addr) || AU_READ_ONCE(sqe->buf_index) ||
	    AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	s->off = AU_READ_ONCE(sqe->off);
	s->len = AU_READ_ONCE(sqe->len);
	s->flags = AU_READ_ONCE(sqe->sync_range_flags);
	return 0;
}

enum au_issue au_sync_file_range(struct au_req *req, unsigned int issue_flags)
{
	struct au_sync *s = au_req_cmd(req, struct au_sync);

	au_req_set_res_soft(req, (int)au_syscall(SYS_sync_file_range, req->fd,
					    s->off, s->len, s->flags));
	return AU_DONE;
}

int au_fallocate_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_sync *s = au_req_cmd(req, struct au_sync);

	if (AU_READ_ONCE(sqe->buf_index) || AU_READ_ONCE(sqe->rw_flags) ||
	    AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	s->off = AU_READ_ONCE(sqe->off);
	s->len = AU_READ_ONCE(sqe->addr);
	s->flags = AU_READ_ONCE(sqe->len);
	return 0;
}

enum au_issue au_fallocate(struct au_req *req, unsigned int issue_flags)
{
	struct au_sync *s = au_req_cmd(req, struct au_sync);

	au_req_set_res_soft(req, (int)au_syscall(SYS_fallocate, req->fd, s->flags,
					    s->off, s->len));
	return AU_DONE;
}
