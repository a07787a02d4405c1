/* SPDX-License-Identifier: MIT */
/* Every opcode's functions, by family: what ops/table.c puts into its rows. */
#ifndef AU_OPS_OPS_H
#define AU_OPS_OPS_H

#include "core/op.h"

#define AU_OP_DECLARE(op)                                   \
	int au_##op##_prep(struct au_req *req,              \
			   const struct io_uring_sqe *sqe); \
	enum au_issue au_##op(struct au_req *req, unsigned int issue_flags)

/* An op with a `straight` function as well, defined next to its two halves. */
#define AU_OP_DECLARE_STRAIGHT(op)                           \
	AU_OP_DECLARE(op);                                   \
	enum au_issue au_##op##_straight(struct au_req *req, \
					 const struct io_uring_sqe *sqe)

/* `flatten`: the two are one function, however long. */
#define AU_OP_DEFINE_STRAIGHT(op)                                   \
	__attribute__((flatten)) enum au_issue au_##op##_straight(  \
		struct au_req *req, const struct io_uring_sqe *sqe) \
	{                                                           \
		int r = au_##op##_prep(req, sqe);                   \
                                                                    \
		if (au_unlikely(r < 0)) {                           \
			req->res = r;                               \
			return AU_REFUSED;                          \
		}                                                   \
		return au_##op(req, AU_ISSUE_NONBLOCK);             \
	}

/* advise.c */
AU_OP_DECLARE(fadvise);
AU_OP_DECLARE(madvise);

/* cancel.c */
AU_OP_DECLARE_STRAIGHT(async_cancel);

/* epoll.c */
AU_OP_DECLARE(epoll_ctl);
AU_OP_DECLARE(epoll_wait_op);

/* filetable.c */
AU_OP_DECLARE(files_update);

AU_OP_DECLARE(fixed_fd_install);

/* futex.c: named apart from the functions of sys/futex.h */
AU_OP_DECLARE(futex_wait_op);
AU_OP_DECLARE(futex_wake_op);
AU_OP_DECLARE(futex_waitv);

/* fs.c */
AU_OP_DECLARE(renameat);
AU_OP_DECLARE(unlinkat);
AU_OP_DECLARE(mkdirat);
AU_OP_DECLARE(symlinkat);
AU_OP_DECLARE(linkat);

/* kbuf.c */
AU_OP_DECLARE(provide_buffers);
AU_OP_DECLARE(remove_buffers);

/* msg_ring.c */
AU_OP_DECLARE(msg_ring);

/* net.c */
AU_OP_DECLARE(accept);
AU_OP_DECLARE(connect);
AU_OP_DECLARE(send);
AU_OP_DECLARE(recv);
AU_OP_DECLARE(sendmsg);
AU_OP_DECLARE(recvmsg);
AU_OP_DECLARE(shutdown);
AU_OP_DECLARE(socket);
AU_OP_DECLARE(bind);
AU_OP_DECLARE(listen);
int au_connect_stabilise(struct au_req *req);
int au_send_stabilise(struct au_req *req);
int au_msg_stabilise(struct au_req *req);

/* nop.c */
AU_OP_DECLARE_STRAIGHT(nop);

/* openclose.c */
AU_OP_DECLARE(openat);
AU_OP_DECLARE(openat2);
AU_OP_DECLARE(close);
AU_OP_DECLARE(pipe);

/* poll.c */
AU_OP_DECLARE(poll_add);
AU_OP_DECLARE_STRAIGHT(poll_remove);
bool au_poll_add_ready(struct au_ring *ring, struct au_req *req,
		       uint32_t events);

/* rw.c */
AU_OP_DECLARE(read);
AU_OP_DECLARE(write);
AU_OP_DECLARE(read_multishot);
int au_readv_prep(struct au_req *req, const struct io_uring_sqe *sqe);
int au_writev_prep(struct au_req *req, const struct io_uring_sqe *sqe);
int au_read_fixed_prep(struct au_req *req, const struct io_uring_sqe *sqe);
int au_readv_fixed_prep(struct au_req *req, const struct io_uring_sqe *sqe);
int au_rw_stabilise(struct au_req *req);
bool au_rw_follows(const struct au_req *last, const struct au_req *req);
uint32_t au_rw_run(struct au_ring *ring, struct au_req **reqs, uint32_t nr);
enum au_issue au_rw_aio_done(struct au_req *req, long res);

/* splice.c */
AU_OP_DECLARE(splice);
AU_OP_DECLARE(tee);

/* statx.c */
AU_OP_DECLARE(statx);

/* sync.c */
AU_OP_DECLARE(fsync);
AU_OP_DECLARE(sync_file_range);
AU_OP_DECLARE(fallocate);

/* timeout.c */
AU_OP_DECLARE_STRAIGHT(timeout);
AU_OP_DECLARE_STRAIGHT(timeout_remove);
AU_OP_DECLARE(link_timeout);
bool au_timeout_ready(struct au_ring *ring, struct au_req *req,
		      uint32_t events);
bool au_link_timeout_ready(struct au_ring *ring, struct au_req *req,
			   uint32_t events);
void au_async_cancel_cleanup(struct au_req *req);
void au_timeout_cleanup(struct au_req *req);
bool au_timeout_bequeath(const struct au_req *req, struct io_uring_sqe *sqe,
			 struct au_timespec *ts);

/* truncate.c */
AU_OP_DECLARE(ftruncate);

/* uring_cmd.c */
AU_OP_DECLARE(uring_cmd);

/* waitid.c */
AU_OP_DECLARE(waitid);

/* xattr.c */
AU_OP_DECLARE(fsetxattr);
AU_OP_DECLARE(setxattr);
AU_OP_DECLARE(fgetxattr);
AU_OP_DECLARE(getxattr);

/* zerocopy.c */
AU_OP_DECLARE(send_zc);
AU_OP_DECLARE(sendmsg_zc);

/* util.c: shared by families */

/* au_paths_prep(): the first path may be empty. */
#define AU_PATHS_EMPTY 1U

/*
 * One path, or two with `second` set to where the other lies, copied in prep
 * into async_data; NEED_CLEANUP is set. 0, -EFAULT, -ENAMETOOLONG, -ENOENT.
 */
int au_paths_prep(struct au_req *req, uint64_t user1, uint64_t user2,
		  const char **second, unsigned int flags) au_must_check;

/* Memory of the request's own: async_data; NEED_CLEANUP is set. */
void au_async_data_free(struct au_req *req);
void *au_async_data_alloc(struct au_req *req, size_t size);

/*
 * Copies `nr` iovecs into req->async_data behind `head` bytes. Returns where
 * they lie, or NULL with *err.
 */
struct iovec *au_iovec_copy(struct au_req *req, uint64_t user, uint32_t nr,
			    size_t head, int *err);

/* Does the file say when it is ready, or is it always? A few system calls. */
bool au_file_is_pollable(struct au_req *req);

/*
 * The beginning of a multishot request with IOSQE_ASYNC: the kernel's workers
 * run none, so it waits for its file before anything is tried.
 */
enum au_issue au_multishot_async(struct au_req *req);

#endif
