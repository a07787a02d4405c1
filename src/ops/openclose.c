/* SPDX-License-Identifier: MIT */
/*
 * OPENAT, OPENAT2, CLOSE and PIPE, into descriptors and into the file table.
 *
 * Opening may sleep: paths are copied in prep, and a worker opens. The table is
 * the ring's, so a worker takes the ring's lock to put the file there.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include "core/hooks.h"
#include "core/register.h"
#include "core/ring.h"
#include "ops/ops.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

/* What open(2) takes notice of. */
#define AU_O_VALID                                                            \
	(O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND |       \
	 O_NONBLOCK | O_DSYNC | FASYNC | O_DIRECT | O_LARGEFILE |             \
	 O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC | O_SYNC | O_PATH | \
	 O_TMPFILE)

struct au_open {
	struct open_how how;
	uint32_t file_index;
	int32_t dfd;
};

static int open_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_open *o = au_req_cmd(req, struct au_open);
	int r;

	if (AU_READ_ONCE(sqe->buf_index))
		return -EINVAL;
	if (req->flags & AU_REQ_F_FIXED_FILE)
		return -EBADF;
	/* As openat(2) of a 64-bit program. */
	if (!(o->how.flags & O_PATH))
		o->how.flags |= O_LARGEFILE;
	o->dfd = req->fd;
	o->file_index = AU_READ_ONCE(sqe->file_index);
	r = au_paths_prep(req, AU_READ_ONCE(sqe->addr), 0, NULL, 0);
	if (r < 0)
		return r;
	return o->file_index && (o->how.flags & O_CLOEXEC) ? -EINVAL : 0;
}

int au_openat_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_open *o = au_req_cmd(req, struct au_open);
	uint64_t flags = AU_READ_ONCE(sqe->open_flags);
	uint64_t mode = AU_READ_ONCE(sqe->len);

	memset(&o->how, 0, sizeof(o->how));
	/* openat(2) drops what it does not know; openat2(2) would refuse. */
	o->how.flags = flags & AU_O_VALID;
	if (o->how.flags & O_PATH)
		o->how.flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	if (o->how.flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)))
		o->how.mode = mode & 07777;
	return open_prep(req, sqe);
}

int au_openat2_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_open *o = au_req_cmd(req, struct au_open);
	uint64_t user = AU_READ_ONCE(sqe->addr2);
	uint32_t size = AU_READ_ONCE(sqe->len);
	unsigned char rest[256];

	if (size < sizeof(o->how))
		return -EINVAL;
	if (size > 4096)
		return -E2BIG;
	if (au_copy_from_user(&o->how, user, sizeof(o->how)))
		return -EFAULT;
	/* A newer, longer structure is fine as long as it says nothing. */
	for (uint32_t at = sizeof(o->how); at < size; at += sizeof(rest)) {
		uint32_t n = au_min_u32(size - at, sizeof(rest));

		if (au_copy_from_user(rest, user + at, n))
			return -EFAULT;
		for (uint32_t i = 0; i < n; i++) {
			if (rest[i])
				return -E2BIG;
		}
	}
	return open_prep(req, sqe);
}

/* In a worker. */
static enum au_issue open_issue(struct au_req *req)
{
	struct au_open *o = au_req_cmd(req, struct au_open);
	struct open_how how = o->how;
	int r;

	/* Ours until it is in the table: no exec may inherit it. */
	if (o->file_index)
		how.flags |= O_CLOEXEC;
	r = (int)au_syscall(SYS_openat2, o->dfd, req->async_data, &how,
			    sizeof(how));
	/*
	 * Missing, or refused by a profile older than the call: openat(2)
	 * gives the same, EPERM included should that be the file's.
	 */
	if ((r == -ENOSYS || r == -EPERM) && !how.resolve)
		r = (int)au_syscall(SYS_openat, o->dfd, req->async_data,
				    (int)how.flags, (mode_t)how.mode);
	if (r >= 0 && o->file_index) {
		au_ring_lock(req->ring);
		r = au_file_install_fd(req->ring, o->file_index, r);
		au_ring_unlock(req->ring);
	}
	au_req_set_res(req, r);
	return AU_DONE;
}

enum au_issue au_openat(struct au_req *req, unsigned int issue_flags)
{
	return open_issue(req);
}

enum au_issue au_openat2(struct au_req *req, unsigned int issue_flags)
{
	return open_issue(req);
}

struct au_close {
	uint32_t file_slot; /* plus one; 0: a descriptor */
};

int au_close_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_close *c = au_req_cmd(req, struct au_close);

	if (AU_READ_ONCE(sqe->off) || AU_READ_ONCE(sqe->addr) ||
	    AU_READ_ONCE(sqe->len) || AU_READ_ONCE(sqe->rw_flags) ||
	    AU_READ_ONCE(sqe->buf_index))
		return -EINVAL;
	if (req->flags & AU_REQ_F_FIXED_FILE)
		return -EBADF;
	c->file_slot = AU_READ_ONCE(sqe->file_index);
	if (c->file_slot && req->fd)
		return -EINVAL;
	return 0;
}

enum au_issue au_close(struct au_req *req, unsigned int issue_flags)
{
	struct au_close *c = au_req_cmd(req, struct au_close);
	int r;

	if (c->file_slot) {
		au_req_set_res(req,
			       au_file_remove(req->ring, c->file_slot - 1));
		return AU_DONE;
	}
	/* A ring does not close rings, nor what is the engine's. */
	if (au_fd_hidden(req->fd) ||
	    au_ring_lookup_fast((unsigned int)req->fd)) {
		au_req_set_res(req, -EBADF);
		return AU_DONE;
	}
	/*
	 * Done at once, in the submitter: when the CQE is there the file is
	 * closed. Other rings' requests on it are told first, as by close(2);
	 * their locks are only tried, because this ring's is held.
	 */
	au_ring_fd_closing(req->ring, req->fd);
	r = (int)au_syscall(SYS_close, req->fd);
	/* A copy of a ring's that was not known for one until now. */
	if (au_unlikely(au_ring_lookup_fast((unsigned int)req->fd)))
		au_ring_map_fd((unsigned int)req->fd, NULL);
	au_req_set_res(req, r);
	return AU_DONE;
}

struct au_pipe {
	uint64_t fds; /* the application's int[2] */
	uint32_t flags; /* O_* of pipe2(2) */
	uint32_t file_index;
};

int au_pipe_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_pipe *p = au_req_cmd(req, struct au_pipe);

	if (req->fd || AU_READ_ONCE(sqe->off) || AU_READ_ONCE(sqe->addr3))
		return -EINVAL;
	p->fds = AU_READ_ONCE(sqe->addr);
	p->flags = AU_READ_ONCE(sqe->pipe_flags);
	/* O_EXCL is what O_NOTIFICATION_PIPE is made of. */
	if (p->flags & ~(uint32_t)(O_CLOEXEC | O_NONBLOCK | O_DIRECT | O_EXCL))
		return -EINVAL;
	p->file_index = AU_READ_ONCE(sqe->file_index);
	return 0;
}

static void pipe_slot_empty(struct au_req *req, int slot)
{
	int r = au_file_remove(req->ring, (uint32_t)slot);

	(void)r; /* it was filled just now, under the same lock */
}

/*
 * Both ends into the table: two free slots, or a given one and the next. A
 * slot filled for nothing is emptied again. Takes `fds` over.
 */
static int pipe_install(struct au_req *req, uint32_t index, int fds[2])
{
	bool alloc = index == IORING_FILE_INDEX_ALLOC;
	int slots[2], r;

	slots[0] = au_file_install_fd(req->ring, index, fds[0]);
	if (slots[0] < 0) {
		(void)au_syscall(SYS_close, fds[1]);
		return slots[0];
	}
	slots[1] = au_file_install_fd(req->ring, alloc ? index : index + 1,
				      fds[1]);
	r = slots[1];
	if (!alloc) {
		slots[0] = (int)index - 1;
		slots[1] = (int)index;
	}
	if (r < 0)
		pipe_slot_empty(req, slots[0]);
	fds[0] = slots[0];
	fds[1] = slots[1];
	return r < 0 ? r : 0;
}

static void pipe_undo(struct au_req *req, uint32_t index, const int fds[2])
{
	for (int i = 0; i < 2; i++) {
		if (index)
			pipe_slot_empty(req, fds[i]);
		else
			(void)au_syscall(SYS_close, fds[i]);
	}
}

enum au_issue au_pipe(struct au_req *req, unsigned int issue_flags)
{
	struct au_pipe *p = au_req_cmd(req, struct au_pipe);
	uint32_t flags = p->flags | (p->file_index ? O_CLOEXEC : 0U);
	int fds[2] = { -1, -1 }, r;

	if (p->file_index && (p->flags & O_CLOEXEC)) {
		au_req_set_res(req, -EINVAL);
		return AU_DONE;
	}
	r = (int)au_syscall(SYS_pipe2, fds, flags);
	if (r >= 0 && p->file_index)
		r = pipe_install(req, p->file_index, fds);
	if (r >= 0 && au_copy_to_user(p->fds, fds, sizeof(fds))) {
		pipe_undo(req, p->file_index, fds);
		r = -EFAULT;
	}
	au_req_set_res(req, r);
	return AU_DONE;
}
