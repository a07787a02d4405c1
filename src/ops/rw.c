/* SPDX-License-Identifier: MIT */
/*
 * READ, WRITE and their vectored and fixed kinds.
 *
 * First a call that must not sleep (RWF_NOWAIT). What comes of it:
 *   a result       done; a regular file that gave less than asked is asked on
 *   EAGAIN         the file is waited for, or if it is always ready, a worker
 *   EOPNOTSUPP     this kind of file cannot promise not to sleep:
 *                  in memory, or a buffered write to a regular file: plainly
 *                  anything else: poll says when, a worker does it
 *                  (so too where the flag is taken but not honoured)
 *   ESPIPE         a stream: again without an offset
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include "core/aio.h"
#include "core/complete.h"
#include "core/issue.h"
#include "core/ring.h"
#include "ops/ops.h"
#include "sys/poll.h"
#include "sys/rw.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

#ifndef RWF_NOAPPEND
#define RWF_NOAPPEND 0x20
#endif
#ifndef RWF_ATOMIC
#define RWF_ATOMIC 0x40
#endif
#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80
#endif
#ifndef RWF_NOSIGNAL
#define RWF_NOSIGNAL 0x100
#endif
#define RWF_KNOWN                                                     \
	(RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_NOWAIT | RWF_APPEND | \
	 RWF_NOAPPEND | RWF_ATOMIC | RWF_DONTCACHE | RWF_NOSIGNAL)

/*
 * A buffered write longer than this goes to a worker. The length of a vector
 * is not known until it is copied; it is taken for short.
 */
#define RW_INLINE_WRITE_MAX (128 * 1024)

/* Longer ones gain nothing from sharing a call. */
#define RW_RUN_PART_MAX (64 * 1024)

enum {
	RW_WRITE = 1 << 0,
	RW_VECTOR = 1 << 1,
	RW_FIXED = 1 << 2,
	RW_REGULAR = 1 << 3, /* asked on until the end of the file */
	RW_POLLABLE = 1 << 4, /* READ_MULTISHOT: the file was looked at */
	RW_HELD = 1 << 5, /* a selected buffer was taken for good */
};

struct au_rw {
	uint64_t addr; /* buffer, or iovecs (the application's or copied) */
	uint64_t pos; /* -1: the file's position */
	uint32_t len; /* bytes, or iovecs */
	uint32_t rw_flags; /* RWF_* */
	uint32_t done; /* bytes transferred by earlier calls */
	uint32_t kind;
	uint32_t want; /* with a selected buffer: what the SQE asked for */
};

#define RW_MULTISHOT_TURN 32 /* reads before others have theirs */

static int rw_ioprio(const struct io_uring_sqe *sqe)
{
	/*
	 * A hint that system calls do not take; only its form is checked:
	 * class (3 bits), hints (10), level (3), which class 0 has not.
	 */
	uint16_t prio = AU_READ_ONCE(sqe->ioprio), class = prio >> 13;

	if (class > 3 || (class == 0 && (prio & 7)))
		return -EINVAL;
	return 0;
}

static int rw_prep(struct au_req *req, const struct io_uring_sqe *sqe,
		   uint32_t kind)
{
	struct au_rw *rw = au_req_cmd(req, struct au_rw);

	rw->kind = kind;
	rw->pos = AU_READ_ONCE(sqe->off);
	rw->addr = AU_READ_ONCE(sqe->addr);
	rw->len = AU_READ_ONCE(sqe->len);
	rw->rw_flags = AU_READ_ONCE(sqe->rw_flags);
	rw->done = 0;
	rw->want = rw->len;
	if (kind & RW_FIXED)
		req->buf_index = AU_READ_ONCE(sqe->buf_index);
	if (au_unlikely(AU_READ_ONCE(sqe->attr_type_mask)))
		return -EINVAL;
	if (au_unlikely(AU_READ_ONCE(sqe->ioprio)))
		return rw_ioprio(sqe);
	return 0;
}

int au_read_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	return rw_prep(req, sqe, 0);
}

int au_write_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	return rw_prep(req, sqe, RW_WRITE);
}

/* One vector of which only the length matters. */
static int rw_select_vector(struct au_req *req, struct au_rw *rw)
{
	struct iovec iov;

	if (rw->len != 1)
		return -EINVAL;
	if (au_copy_from_user(&iov, rw->addr, sizeof(iov)))
		return -EFAULT;
	rw->want = (uint32_t)au_min_u64(iov.iov_len, INT32_MAX);
	rw->kind &= ~(uint32_t)RW_VECTOR;
	return 0;
}

int au_read_multishot_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_rw *rw = au_req_cmd(req, struct au_rw);
	int r;

	if (!(req->flags & AU_REQ_F_BUFFER_SELECT))
		return -EINVAL;
	r = rw_prep(req, sqe, 0);
	if (r >= 0 && (rw->addr || rw->len))
		r = -EINVAL;
	return r;
}

int au_readv_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	if (au_unlikely(req->flags & AU_REQ_F_BUFFER_SELECT)) {
		int r = rw_prep(req, sqe, RW_VECTOR);

		return r < 0 ? r :
			       rw_select_vector(req,
						au_req_cmd(req, struct au_rw));
	}
	return rw_prep(req, sqe, RW_VECTOR);
}

int au_writev_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	return rw_prep(req, sqe, RW_VECTOR | RW_WRITE);
}

int au_read_fixed_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	return rw_prep(req, sqe,
		       RW_FIXED | (req->opcode == IORING_OP_WRITE_FIXED ?
					   RW_WRITE :
					   0));
}

int au_rw_stabilise(struct au_req *req)
{
	struct au_rw *rw = au_req_cmd(req, struct au_rw);
	struct iovec *iov;
	int err;

	if (!(rw->kind & RW_VECTOR))
		return 0;
	iov = au_iovec_copy(req, rw->addr, rw->len, 0, &err);
	if (!iov)
		return err;
	rw->addr = (uintptr_t)iov;
	return 0;
}

static int rw_vector_lengths(const struct au_rw *rw)
{
	const struct iovec *iov = au_ptr(rw->addr);

	for (uint32_t i = 0; i < rw->len; i++) {
		if ((ssize_t)iov[i].iov_len < 0)
			return -EINVAL;
	}
	return 0;
}

int au_readv_fixed_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	int r = rw_prep(
		req, sqe,
		RW_FIXED | RW_VECTOR |
			(req->opcode == IORING_OP_WRITEV_FIXED ? RW_WRITE : 0));

	if (r >= 0)
		r = au_req_stabilise(req);
	return r < 0 ? r : rw_vector_lengths(au_req_cmd(req, struct au_rw));
}

/* Every part of a vector must, and none may be empty. */
static int rw_check_fixed_vector(const struct au_rsrc_node *n,
				 const struct au_rw *rw)
{
	const struct iovec *iov = au_ptr(rw->addr);

	for (uint32_t i = 0; n && i < rw->len; i++) {
		uint64_t addr = (uintptr_t)iov[i].iov_base;
		uint64_t len = iov[i].iov_len;

		if (!len || addr < n->addr || addr + len < addr ||
		    addr + len > n->addr + n->len)
			return -EFAULT;
	}
	return n ? 0 : -EFAULT;
}

/* The range must lie in the registered buffer. */
static int rw_check_fixed(struct au_req *req, const struct au_rw *rw)
{
	const struct au_rsrc_node *n =
		au_rsrc_lookup(&req->ring->buffers, req->buf_index);

	if (rw->kind & RW_VECTOR)
		return rw_check_fixed_vector(n, rw);
	if (!n || rw->addr < n->addr || rw->addr + rw->len < rw->addr ||
	    rw->addr + rw->len > n->addr + n->len)
		return -EFAULT;
	return 0;
}

/* Holds the buffer, because the request outlives this call. */
static void rw_hold_fixed(struct au_req *req)
{
	if (req->flags & AU_REQ_F_NODE_BUF)
		return;
	req->buf_node = req->ring->buffers.nodes[req->buf_index];
	req->buf_node->refs++;
	au_req_set(req, AU_REQ_F_NODE_BUF);
}

/* Bytes asked for in all; only for a stable vector or a plain buffer. */
static size_t rw_total(const struct au_rw *rw)
{
	const struct iovec *iov = au_ptr(rw->addr);
	size_t total = 0;

	if (!(rw->kind & RW_VECTOR))
		return rw->len;
	for (uint32_t i = 0; i < rw->len; i++)
		total += iov[i].iov_len;
	return total;
}

/* One call for what is left, from where the last one ended. */
static long rw_call(const struct au_req *req, const struct au_rw *rw,
		    uint32_t flags)
{
	struct iovec one, *iov = &one, rest[64];
	uint64_t pos = rw->pos;
	uint32_t nr = 1, skip = rw->done;

	if (rw->kind & RW_VECTOR) {
		iov = au_ptr(rw->addr);
		nr = rw->len;
		if (skip) {
			while (nr && skip >= iov->iov_len) {
				skip -= (uint32_t)iov->iov_len;
				iov++;
				nr--;
			}
			nr = au_min_u32(nr, AU_ARRAY_SIZE(rest));
			memcpy(rest, iov, nr * sizeof(*iov));
			rest[0].iov_base = (char *)rest[0].iov_base + skip;
			rest[0].iov_len -= skip;
			iov = rest;
		}
	} else {
		one.iov_base = au_ptr(rw->addr + rw->done);
		one.iov_len = rw->len - rw->done;
	}
	if (req->flags & AU_REQ_F_STREAM)
		pos = UINT64_MAX;
	else if (pos != UINT64_MAX)
		pos += rw->done;
	/* Without flags the plain calls do, which import no vector. */
	if (!(rw->rw_flags | flags) && iov == &one && pos != UINT64_MAX)
		return au_syscall(rw->kind & RW_WRITE ? SYS_pwrite64 :
							SYS_pread64,
				  req->fd, one.iov_base, one.iov_len, pos);
	return au_rw(rw->kind & RW_WRITE, req->fd, iov, nr, pos,
		     rw->rw_flags | flags);
}

static inline uint8_t *rw_hint(struct au_req *req)
{
	if (req->flags & AU_REQ_F_NODE_FILE)
		return &req->file_node->hint;
	if (au_likely((uint32_t)req->fd < req->ring->hints_max))
		return &req->ring->hints[req->fd];
	return au_fd_hint(req->ring, req->fd);
}

static au_cold void rw_ask_direct(struct au_req *req, uint8_t *hint)
{
	long fl = au_syscall(SYS_fcntl, req->fd, F_GETFL);
	struct stat st;

	if (fl < 0)
		return;
	*hint |= AU_HINT_ASKED;
	if ((fl & O_DIRECT) && au_syscall(SYS_fstat, req->fd, &st) >= 0 &&
	    (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)))
		*hint |= AU_HINT_DIRECT;
}

/*
 * A plain call on such a file is over when the disk is done. The first transfer
 * is one all the same: AIO tells nobody who watches the file (fsnotify), so he
 * hears of that one.
 */
static inline bool rw_direct(struct au_req *req, uint8_t *hint)
{
	if (au_unlikely(!hint))
		return false;
	if (au_unlikely(!(*hint & AU_HINT_ASKED))) {
		rw_ask_direct(req, hint);
		return false;
	}
	return au_unlikely(*hint & AU_HINT_DIRECT);
}

/* Why RWF_NOWAIT need not be tried: AU_HINT_*, or 0 if it has to be. */
static inline uint8_t rw_refuses(const struct au_rw *rw, const uint8_t *hint)
{
	uint8_t why = AU_HINT_MEMORY;

	if (rw->kind & RW_WRITE)
		why |= AU_HINT_WRITE_INLINE;
	return hint ? *hint & why : 0;
}

static bool rw_start_aio(struct au_req *req, const struct au_rw *rw)
{
	struct au_aio_io io = {
		.addr = rw->addr,
		.len = rw->len,
		.pos = rw->pos,
		.rw_flags = rw->rw_flags | RWF_NOWAIT,
		.write = rw->kind & RW_WRITE,
		.vector = rw->kind & RW_VECTOR,
	};

	if ((req->flags & (AU_REQ_F_NO_AIO | AU_REQ_F_BUFFER_SELECT)) ||
	    rw->done || rw->pos == UINT64_MAX)
		return false;
	if (io.vector) {
		if (au_req_stabilise(req) < 0)
			return false;
		io.addr = rw->addr;
	}
	return au_aio_start(req->ring, req, &io);
}

static bool fs_in_memory(int fd)
{
	struct statfs fs;

	if (au_syscall(SYS_fstatfs, fd, &fs) < 0)
		return false;
	return fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC ||
	       fs.f_type == HUGETLBFS_MAGIC;
}

/* The file does not take RWF_NOWAIT: what then? Remembered. */
static au_cold uint8_t rw_learn(struct au_req *req, bool write)
{
	struct stat st;
	uint8_t hint = AU_HINT_NOWAIT_REFUSED;

	if (au_syscall(SYS_fstat, req->fd, &st) >= 0 && S_ISREG(st.st_mode)) {
		/*
		 * In gVisor no file takes the flag, and to wake a worker
		 * costs ten times the read, which its kernel has buffered.
		 */
		if (fs_in_memory(req->fd) || au_nowait() == AU_NOWAIT_IGNORED)
			hint = AU_HINT_MEMORY;
		else if (write && !(au_syscall(SYS_fcntl, req->fd, F_GETFL) &
				    (O_DIRECT | O_DSYNC)))
			hint = AU_HINT_WRITE_INLINE;
	}
	return hint;
}

static bool rw_short_goes_on(struct au_req *req, struct au_rw *rw)
{
	struct stat st;

	if (rw->kind & RW_REGULAR)
		return true;
	if ((req->flags & AU_REQ_F_STREAM) ||
	    au_syscall(SYS_fstat, req->fd, &st) < 0 ||
	    !(S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)))
		return false;
	rw->kind |= RW_REGULAR;
	return true;
}

/* Is `done` less than what was asked for? */
static bool rw_is_short(struct au_req *req, const struct au_rw *rw, size_t done)
{
	if (!(rw->kind & RW_VECTOR))
		return done != rw->len;
	return au_req_stabilise(req) < 0 || done != rw_total(rw);
}

static enum au_issue rw_done(struct au_req *req, struct au_rw *rw, long res)
{
	/* An error after some bytes is the bytes. */
	if (rw->done && res <= 0)
		res = 0;
	res += rw->done;
	req->res = (int)res;
	/* Fewer bytes are a result, but break a chain as an error does. */
	if (au_unlikely(res < 0 || rw_is_short(req, rw, (size_t)res)))
		au_req_set_fail(req);
	return AU_DONE;
}

/*
 * Some bytes came. True if that is not all there is to get: a regular file is
 * short only at its end, or when the call had to stop before a page.
 */
static bool rw_short(struct au_req *req, struct au_rw *rw, long res)
{
	if (!(rw->kind & RW_VECTOR) && rw->done + (size_t)res == rw->len)
		return false;
	if ((rw->kind & RW_VECTOR) && au_req_stabilise(req) < 0)
		return false;
	if (rw->done + (size_t)res >= rw_total(rw) ||
	    !rw_short_goes_on(req, rw))
		return false;
	rw->done += (uint32_t)res;
	return true;
}

/* A plain call; a stream has no offset. */
static long rw_call_plain(struct au_req *req, struct au_rw *rw)
{
	long res = rw_call(req, rw, 0);

	if (res == -ESPIPE && !(req->flags & AU_REQ_F_STREAM)) {
		au_req_set(req, AU_REQ_F_STREAM);
		res = rw_call(req, rw, 0);
	}
	return res;
}

/* In a worker: sleeping is fine. */
static enum au_issue rw_blocking(struct au_req *req, struct au_rw *rw)
{
	long res;

	do {
		res = rw_call_plain(req, rw);
	} while (res > 0 && rw_short(req, rw, res));
	return rw_done(req, rw, res);
}

/* The file refuses RWF_NOWAIT. */
static enum au_issue rw_refused(struct au_req *req, struct au_rw *rw,
				uint8_t hint)
{
	bool write = rw->kind & RW_WRITE;
	long res;
	int ev;

	if (req->flags & AU_REQ_F_NOWAIT)
		return rw_done(req, rw, -EAGAIN);
	if ((hint & AU_HINT_MEMORY) ||
	    ((hint & AU_HINT_WRITE_INLINE) && write &&
	     ((rw->kind & RW_VECTOR) || rw->len <= RW_INLINE_WRITE_MAX) &&
	     !(rw->rw_flags & (RWF_DSYNC | RWF_SYNC))))
		return rw_blocking(req, rw);
	if (hint & (AU_HINT_MEMORY | AU_HINT_WRITE_INLINE))
		return AU_PUNT;
	/* An O_NONBLOCK file that knows no other way answers for itself. */
	if (au_syscall(SYS_fcntl, req->fd, F_GETFL) & O_NONBLOCK) {
		if (au_nowait_honest())
			return rw_blocking(req, rw);
		/* Here that is every stream; most are to wait. */
		res = rw_call_plain(req, rw);
		return res == -EAGAIN ? AU_RETRY : rw_done(req, rw, res);
	}
	ev = au_poll_now(req->fd, write ? POLLOUT : POLLIN);
	return ev == 0 ? AU_RETRY : AU_PUNT;
}

/* A ring's descriptor is a socket here; nobody reads or writes it. */
static bool rw_is_ring(const struct au_req *req)
{
	return !(req->flags & AU_REQ_F_NODE_FILE) &&
	       au_ring_lookup_fast((unsigned int)req->fd);
}

static au_cold bool rw_is_socket(int fd)
{
	struct stat st;

	return au_syscall(SYS_fstat, fd, &st) >= 0 && S_ISSOCK(st.st_mode);
}

/*
 * An error found without a call; but a bad descriptor is told of first.
 */
static au_cold enum au_issue rw_bad_args(struct au_req *req, struct au_rw *rw,
					 long err)
{
	long fl = au_syscall(SYS_fcntl, req->fd, F_GETFL);
	bool wrong_way = (fl & O_ACCMODE) ==
			 (rw->kind & RW_WRITE ? O_RDONLY : O_WRONLY);

	/* Which way it is open is asked after buffers and before flags. */
	if (fl < 0 || (fl & O_PATH) || (wrong_way && err == -EOPNOTSUPP))
		err = -EBADF;
	return rw_done(req, rw, err);
}

static enum au_issue rw_try(struct au_req *req, unsigned int issue_flags)
{
	struct au_rw *rw = au_req_cmd(req, struct au_rw);
	uint8_t *hint, refused;
	enum au_issue out;
	long res;

	if (issue_flags & AU_ISSUE_WORKER)
		return rw_blocking(req, rw);
	/* One that waited keeps the buffer it began with. */
	if ((rw->kind & RW_FIXED) && !(req->flags & AU_REQ_F_NODE_BUF)) {
		res = rw_check_fixed(req, rw);
		if (au_unlikely(res < 0))
			return rw_bad_args(req, rw, res);
	}
	if (au_unlikely(rw->rw_flags & RWF_NOWAIT))
		au_req_set(req, AU_REQ_F_NOWAIT);
	if (au_unlikely(rw->rw_flags & ~(uint32_t)RWF_KNOWN))
		return rw_bad_args(req, rw, -EOPNOTSUPP);
	/* Polling for completion is the ring's to ask for, not a request's. */
	if (au_unlikely(rw->rw_flags & RWF_HIPRI))
		return rw_done(req, rw, -EINVAL);

	hint = rw_hint(req);
	if (rw_direct(req, hint) && rw_start_aio(req, rw)) {
		out = AU_QUEUED;
		goto out;
	}
	refused = rw_refuses(rw, hint);
	if (refused) {
		out = rw_refused(req, rw, refused);
		goto out;
	}
again:
	res = rw_call(req, rw, RWF_NOWAIT);
	if (au_likely(res > 0)) {
		if (au_unlikely(rw_short(req, rw, res)))
			goto again;
		return rw_done(req, rw, res);
	}
	switch (res) {
	case -ESPIPE:
		if (req->flags & AU_REQ_F_STREAM)
			return rw_done(req, rw, res);
		/* A socket, unlike a pipe, minds an offset. */
		if (rw->pos && rw->pos != UINT64_MAX && rw_is_socket(req->fd))
			return rw_done(req, rw, res);
		au_req_set(req, AU_REQ_F_STREAM);
		if (rw_is_ring(req))
			return rw_done(req, rw, -EINVAL);
		goto again;
	case -EAGAIN:
		if (rw_is_ring(req))
			return rw_done(req, rw, -EINVAL);
		/* Half of a regular file's bytes: a worker gets the rest. */
		out = rw->done ? AU_PUNT : AU_RETRY;
		break;
	case -EOPNOTSUPP:
		refused = rw_learn(req, rw->kind & RW_WRITE);
		if (hint)
			*hint |= refused;
		out = rw_refused(req, rw, refused);
		break;
	default:
		return rw_done(req, rw, res);
	}
out:
	if ((rw->kind & RW_FIXED) && out != AU_DONE)
		rw_hold_fixed(req);
	return out;
}

enum au_issue au_rw_aio_done(struct au_req *req, long res)
{
	struct au_rw *rw = au_req_cmd(req, struct au_rw);

	if (res >= 0 || (res == -EAGAIN && (req->flags & AU_REQ_F_NOWAIT)))
		return rw_done(req, rw, res);
	au_req_set(req, AU_REQ_F_NO_AIO);
	/* It would have slept; or else the plain call tells what is wrong. */
	return res == -EAGAIN ? AU_PUNT : rw_try(req, AU_ISSUE_NONBLOCK);
}

static void rw_use_buffer(struct au_rw *rw, const struct au_kbuf_sel *sel)
{
	rw->addr = sel->addr;
	rw->len = sel->len;
	rw->done = 0;
}

/* A group that is not there has no buffers. */
static int rw_pick(struct au_req *req, uint32_t want, struct au_kbuf_sel *sel)
{
	int r = au_kbuf_pick(&req->ring->kbufs, req->buf_index, want, sel);

	return r == -ENOENT ? -ENOBUFS : r;
}

/*
 * In a worker the lock is not held while the read goes on: the buffer is taken
 * before, and what was not needed is given back.
 */
static enum au_issue rw_select_worker(struct au_req *req, struct au_rw *rw)
{
	struct au_ring *ring = req->ring;
	struct au_kbuf_sel sel;
	bool is_ring = false;
	int r;

	au_ring_lock(ring);
	r = rw_pick(req, rw->want, &sel);
	if (r >= 0) {
		/* The group may be gone when the read comes back. */
		is_ring = sel.group->is_ring;
		req->cqe_flags = au_kbuf_take(&sel, sel.len);
	}
	au_ring_unlock(ring);
	if (r < 0)
		return rw_done(req, rw, r);
	rw_use_buffer(rw, &sel);
	(void)rw_blocking(req, rw);
	if (req->res == (int)sel.len)
		return AU_DONE;
	au_ring_lock(ring);
	if (req->res >= 0)
		req->cqe_flags = au_kbuf_give_back(&ring->kbufs, req->buf_index,
						   &sel, (uint32_t)req->res);
	else if (is_ring) {
		(void)au_kbuf_give_back(&ring->kbufs, req->buf_index, &sel, 0);
		req->cqe_flags = 0;
	}
	au_ring_unlock(ring);
	return AU_DONE;
}

/*
 * IOSQE_BUFFER_SELECT: into the next buffer of the group. A read that has to
 * wait keeps the buffer it picked if that is a list's, whatever becomes of it;
 * a ring's it leaves where it is.
 */
static au_cold enum au_issue rw_select(struct au_req *req,
				       unsigned int issue_flags)
{
	struct au_rw *rw = au_req_cmd(req, struct au_rw);
	struct au_kbuf_sel sel;
	enum au_issue out;
	int r;

	if (rw->kind & RW_HELD)
		return rw_try(req, issue_flags);
	if (issue_flags & AU_ISSUE_WORKER)
		return rw_select_worker(req, rw);
	r = rw_pick(req, rw->want, &sel);
	if (r < 0)
		return rw_bad_args(req, rw, r);
	rw_use_buffer(rw, &sel);
	out = rw_try(req, issue_flags);
	if (out != AU_DONE && !sel.group->is_ring) {
		req->cqe_flags = au_kbuf_take(&sel, 0);
		rw->kind |= RW_HELD;
		return out;
	}
	/*
	 * A worker will pick anew and read from the start; where that cannot
	 * be, because the file's position has moved, the rest is left.
	 */
	if (out == AU_PUNT && rw->done && rw->pos == UINT64_MAX)
		out = rw_done(req, rw, 0);
	/* A list's buffer is used up by a file's error, a ring's is not. */
	if (out == AU_DONE &&
	    (req->res >= 0 || (!sel.group->is_ring &&
			       au_syscall(SYS_fcntl, req->fd, F_GETFD) >= 0)))
		req->cqe_flags = au_kbuf_take(&sel, (uint32_t)req->res);
	return out;
}

enum au_issue au_read(struct au_req *req, unsigned int issue_flags)
{
	if (au_unlikely(req->flags & AU_REQ_F_BUFFER_SELECT))
		return rw_select(req, issue_flags);
	return rw_try(req, issue_flags);
}

/* One read: its result, or -EAGAIN. */
static long multishot_read(struct au_req *req, struct au_rw *rw)
{
	long res = rw_call(req, rw, RWF_NOWAIT);

	if (res == -ESPIPE && !(req->flags & AU_REQ_F_STREAM)) {
		au_req_set(req, AU_REQ_F_STREAM);
		res = rw_call(req, rw, RWF_NOWAIT);
	}
	if (res == -EOPNOTSUPP)
		res = au_poll_now(req->fd, POLLIN) > 0 ? rw_call(req, rw, 0) :
							 -EAGAIN;
	return res;
}

enum au_issue au_read_multishot(struct au_req *req, unsigned int issue_flags)
{
	struct au_rw *rw = au_req_cmd(req, struct au_rw);
	struct au_ring *ring = req->ring;

	if (!(rw->kind & RW_POLLABLE)) {
		if (!au_file_is_pollable(req))
			return rw_done(req, rw, -EBADFD);
		rw->kind |= RW_POLLABLE;
		if (au_unlikely(req->flags & AU_REQ_F_ASYNC))
			return au_multishot_async(req);
	}
	for (int turn = 0; turn < RW_MULTISHOT_TURN; turn++) {
		struct au_kbuf_sel sel;
		uint32_t flags;
		long res = rw_pick(req, 0, &sel);

		if (res < 0)
			return rw_bad_args(req, rw, res);
		rw_use_buffer(rw, &sel);
		res = multishot_read(req, rw);
		if (res == -EAGAIN)
			return AU_RETRY;
		if (res <= 0)
			return rw_done(req, rw, res);
		flags = au_kbuf_take(&sel, (uint32_t)res);
		if (!au_req_post_more(ring, req, (int)res, flags)) {
			req->cqe_flags = flags;
			return rw_done(req, rw, res);
		}
	}
	return AU_REQUEUE;
}

enum au_issue au_write(struct au_req *req, unsigned int issue_flags)
{
	return rw_try(req, issue_flags);
}

/* Nothing special about either: the same op, at a place, not too long. */
bool au_rw_follows(const struct au_req *last, const struct au_req *req)
{
	const struct au_rw *a = (const void *)last->cmd;
	const struct au_rw *b = (const void *)req->cmd;

	return last->opcode == req->opcode && a->pos != UINT64_MAX &&
	       b->pos != UINT64_MAX && !(a->rw_flags | b->rw_flags) && a->len &&
	       b->len && a->len <= RW_RUN_PART_MAX && b->len <= RW_RUN_PART_MAX;
}

/* A call of a run, ready to be made, and how many requests it serves. */
struct rw_run_call {
	long sysno;
	long fd;
	void *buf; /* iovecs, or the one buffer */
	size_t count;
	uint64_t pos;
	long flags;
	long len; /* bytes asked for */
	long res;
	uint32_t nr;
};

/* False: one by one, for transfers to the disk are under way at once. */
static bool rw_run_begin(struct rw_run_call *c, struct iovec *iov,
			 struct au_req *req)
{
	const struct au_rw *rw = au_req_cmd(req, struct au_rw);
	uint8_t *hint = rw_hint(req);

	if (rw_direct(req, hint))
		return false;
	iov->iov_base = au_ptr(rw->addr);
	iov->iov_len = rw->len;
	c->sysno = rw->kind & RW_WRITE ? SYS_pwritev2 : SYS_preadv2;
	c->fd = req->fd;
	c->buf = iov;
	c->count = 1;
	c->pos = rw->pos;
	c->flags = rw_refuses(rw, hint) ? 0 : RWF_NOWAIT;
	c->len = rw->len;
	c->nr = 1;
	return true;
}

/* If these are the next bytes of the same file the call serves them as well. */
static bool rw_run_extend(struct rw_run_call *c, const struct au_req *req)
{
	const struct au_rw *rw = (const void *)req->cmd;
	struct iovec *iov = (struct iovec *)c->buf + c->count - 1;

	if (c->pos + (uint64_t)c->len != rw->pos || c->fd != req->fd)
		return false;
	/* Buffers that lie next to each other are one. */
	if ((uintptr_t)iov->iov_base + iov->iov_len == rw->addr) {
		iov->iov_len += rw->len;
	} else {
		iov[1].iov_base = au_ptr(rw->addr);
		iov[1].iov_len = rw->len;
		c->count++;
	}
	c->len += rw->len;
	c->nr++;
	return true;
}

/* Without flags a single buffer needs no vector, which costs its import. */
static void rw_run_end(struct rw_run_call *c)
{
	const struct iovec *iov = c->buf;

	if (c->flags || c->count > 1)
		return;
	c->sysno = c->sysno == SYS_pwritev2 ? SYS_pwrite64 : SYS_pread64;
	c->count = iov->iov_len;
	c->buf = iov->iov_base;
}

/* What a call transferred, shared out: how many got all they asked for. */
static uint32_t rw_run_share(struct au_req **reqs, uint32_t nr, long res)
{
	uint32_t done = 0;

	while (done < nr) {
		uint32_t len = au_req_cmd(reqs[done], struct au_rw)->len;

		if (res < (long)len)
			break;
		reqs[done++]->res = (int)len;
		res -= len;
	}
	return done;
}

/*
 * Does a run call after call, neighbours by one, with nothing in between: after
 * a system call the processor has forgotten what it predicts, so all is prepared
 * before the first and shared out after the last. Whatever is not covered whole,
 * or gives an error, is left to each request's own call.
 */
uint32_t au_rw_run(struct au_ring *ring, struct au_req **reqs, uint32_t nr)
{
	struct rw_run_call calls[AU_RUN_MAX], *c, *last = calls;
	struct iovec iov[AU_RUN_MAX];
	uint32_t done = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (last > calls && rw_run_extend(last - 1, reqs[i]))
			continue;
		if (!rw_run_begin(last, iov + i, reqs[i]))
			break;
		last++;
	}
	for (c = calls; c < last; c++)
		rw_run_end(c);
	for (c = calls; c < last; c++) {
		c->res = au_syscall(c->sysno, c->fd, c->buf, c->count, c->pos,
				    c->pos >> 32, c->flags);
		if (au_unlikely(c->res != c->len))
			last = c + 1;
	}
	for (c = calls; c < last; c++)
		done += rw_run_share(reqs + done, c->nr, c->res);
	return done;
}
