/* SPDX-License-Identifier: MIT */
/*
 * FILES_UPDATE, the register call of that name as a request, and
 * FIXED_FD_INSTALL, which makes a descriptor of a table slot.
 */
#include <errno.h>
#include <fcntl.h>
#include "core/register.h"
#include "core/ring.h"
#include "ops/ops.h"
#include "sys/syscall.h"

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
	int r;

	if (u->offset == IORING_FILE_INDEX_ALLOC)
		r = au_files_alloc_slots(req->ring, u->fds, u->nr);
	else
		r = au_files_update_table(req->ring, u->offset, u->fds, 0,
					  u->nr);
	au_req_set_res(req, r);
	return AU_DONE;
}

struct au_fixed_fd_install {
	uint32_t cloexec;
};

int au_fixed_fd_install_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_fixed_fd_install *i =
		au_req_cmd(req, struct au_fixed_fd_install);
	uint32_t flags = AU_READ_ONCE(sqe->install_fd_flags);

	if (AU_READ_ONCE(sqe->off) || AU_READ_ONCE(sqe->addr) ||
	    AU_READ_ONCE(sqe->len) || AU_READ_ONCE(sqe->buf_index) ||
	    AU_READ_ONCE(sqe->splice_fd_in) || AU_READ_ONCE(sqe->addr3))
		return -EINVAL;
	if (!(req->flags & AU_REQ_F_FIXED_FILE))
		return -EBADF;
	if (flags & ~IORING_FIXED_FD_NO_CLOEXEC)
		return -EINVAL;
	i->cloexec = !(flags & IORING_FIXED_FD_NO_CLOEXEC);
	return 0;
}

enum au_issue au_fixed_fd_install(struct au_req *req, unsigned int issue_flags)
{
	struct au_fixed_fd_install *i =
		au_req_cmd(req, struct au_fixed_fd_install);

	au_req_set_res(req, (int)au_syscall(
				    SYS_fcntl, req->fd,
				    i->cloexec ? F_DUPFD_CLOEXEC : F_DUPFD, 0));
	return AU_DONE;
}
