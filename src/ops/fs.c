/* SPDX-License-Identifier: MIT */
/*
 * RENAMEAT, UNLINKAT, MKDIRAT, SYMLINKAT, LINKAT: paths are copied in prep, and
 * a worker walks them. Directories are descriptors, never table slots.
 */
#include <errno.h>
#include <fcntl.h>
#include "ops/ops.h"
#include "sys/syscall.h"

struct au_fs {
	const char *old, *new; /* `new` is NULL for ops on one path */
	int32_t old_dfd, new_dfd;
	uint32_t flags; /* or the mode of MKDIRAT */
};

static int fs_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_fs *fs = au_req_cmd(req, struct au_fs);

	if (AU_READ_ONCE(sqe->buf_index) || AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	if (req->flags & AU_REQ_F_FIXED_FILE)
		return -EBADF;
	fs->old_dfd = req->fd;
	fs->new_dfd = (int32_t)AU_READ_ONCE(sqe->len);
	fs->flags = AU_READ_ONCE(sqe->op_flags);
	return 0;
}

static int fs_path(struct au_req *req, const struct io_uring_sqe *sqe)
{
	return au_paths_prep(req, AU_READ_ONCE(sqe->addr), 0, NULL, 0);
}

static int fs_paths(struct au_req *req, const struct io_uring_sqe *sqe,
		    unsigned int flags)
{
	struct au_fs *fs = au_req_cmd(req, struct au_fs);

	return au_paths_prep(req, AU_READ_ONCE(sqe->addr),
			     AU_READ_ONCE(sqe->addr2), &fs->new, flags);
}

int au_renameat_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	int r = fs_prep(req, sqe);

	return r < 0 ? r : fs_paths(req, sqe, 0);
}

enum au_issue au_renameat(struct au_req *req, unsigned int issue_flags)
{
	struct au_fs *fs = au_req_cmd(req, struct au_fs);

	au_req_set_res_soft(req, (int)au_syscall(SYS_renameat2, fs->old_dfd,
						 req->async_data, fs->new_dfd,
						 fs->new, fs->flags));
	return AU_DONE;
}

int au_unlinkat_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_fs *fs = au_req_cmd(req, struct au_fs);
	int r;

	if (AU_READ_ONCE(sqe->off) || AU_READ_ONCE(sqe->len))
		return -EINVAL;
	r = fs_prep(req, sqe);
	if (r < 0)
		return r;
	if (fs->flags & ~(uint32_t)AT_REMOVEDIR)
		return -EINVAL;
	return fs_path(req, sqe);
}

enum au_issue au_unlinkat(struct au_req *req, unsigned int issue_flags)
{
	struct au_fs *fs = au_req_cmd(req, struct au_fs);

	au_req_set_res_soft(req, (int)au_syscall(SYS_unlinkat, fs->old_dfd,
						 req->async_data, fs->flags));
	return AU_DONE;
}

int au_mkdirat_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_fs *fs = au_req_cmd(req, struct au_fs);
	int r;

	if (AU_READ_ONCE(sqe->off) || AU_READ_ONCE(sqe->rw_flags))
		return -EINVAL;
	r = fs_prep(req, sqe);
	if (r < 0)
		return r;
	fs->flags = AU_READ_ONCE(sqe->len);
	return fs_path(req, sqe);
}

enum au_issue au_mkdirat(struct au_req *req, unsigned int issue_flags)
{
	struct au_fs *fs = au_req_cmd(req, struct au_fs);

	au_req_set_res_soft(req, (int)au_syscall(SYS_mkdirat, fs->old_dfd,
						 req->async_data, fs->flags));
	return AU_DONE;
}

int au_symlinkat_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	int r;

	if (AU_READ_ONCE(sqe->len) || AU_READ_ONCE(sqe->rw_flags))
		return -EINVAL;
	r = fs_prep(req, sqe);
	return r < 0 ? r : fs_paths(req, sqe, 0);
}

enum au_issue au_symlinkat(struct au_req *req, unsigned int issue_flags)
{
	struct au_fs *fs = au_req_cmd(req, struct au_fs);

	/* sqe->fd is the directory of the link, not of what it names. */
	au_req_set_res_soft(req, (int)au_syscall(SYS_symlinkat, req->async_data,
						 fs->old_dfd, fs->new));
	return AU_DONE;
}

int au_linkat_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_fs *fs = au_req_cmd(req, struct au_fs);
	int r = fs_prep(req, sqe);

	if (r < 0)
		return r;
	return fs_paths(req, sqe,
			fs->flags & AT_EMPTY_PATH ? AU_PATHS_EMPTY : 0);
}

enum au_issue au_linkat(struct au_req *req, unsigned int issue_flags)
{
	struct au_fs *fs = au_req_cmd(req, struct au_fs);

	au_req_set_res_soft(req, (int)au_syscall(SYS_linkat, fs->old_dfd,
						 req->async_data, fs->new_dfd,
						 fs->new, fs->flags));
	return AU_DONE;
}
