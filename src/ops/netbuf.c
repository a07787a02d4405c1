/* SPDX-License-Identifier: MIT */
/*
 * Sends and receives with provided buffers, bundles of them, and multishot
 * receives.
 *
 * A buffer is picked before each call and taken after it, the ring's lock held
 * throughout; EAGAIN takes nothing. Where MSG_WAITALL leaves a request waiting
 * with a buffer half done, that buffer is taken in advance, and the request
 * goes on as a plain one. A multishot receive has turns, so that others have
 * theirs.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include "core/complete.h"
#include "core/issue.h"
#include "core/ring.h"
#include "ops/net.h"
#include "ops/ops.h"
#include "sys/poll.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

#define RECV_TURN 32 /* receives before others have their turn */

/* What one call is given: one selected buffer, or several. */
struct net_bufs {
	struct au_kbuf_sel sel;
	int nr;
	uint64_t total;
	struct iovec iov[AU_KBUF_BUNDLE_MAX];
};

/*
 * No buffer: but what is not a socket is told of first. That there is no such
 * group only sends and bundles say.
 */
static int bufs_missing(struct au_req *req, const struct au_sr *sr, int err)
{
	int type;
	socklen_t len = sizeof(type);
	int r = (int)au_syscall(SYS_getsockopt, req->fd, SOL_SOCKET, SO_TYPE,
				&type, &len);

	if (r < 0)
		return r;
	if (err == -ENOENT && req->opcode != IORING_OP_SEND &&
	    !(sr->flags & IORING_RECVSEND_BUNDLE))
		return -ENOBUFS;
	return err;
}

static uint32_t min_not_zero(uint32_t a, uint32_t b)
{
	return a && b ? au_min_u32(a, b) : a | b;
}

/* With no idea of how much there is a receive asks for one buffer's worth. */
static int bufs_pick_bundle(struct au_req *req, uint32_t want,
			    struct net_bufs *b)
{
	bool blind = !want && req->opcode == IORING_OP_RECV;

	b->nr = au_kbuf_pick_bundle(&req->ring->kbufs, req->buf_index, want,
				    &b->sel, b->iov,
				    blind ? 1 : AU_KBUF_BUNDLE_MAX);
	b->total = 0;
	for (int i = 0; i < b->nr; i++)
		b->total += b->iov[i].iov_len;
	return b->nr;
}

static int bufs_pick(struct au_req *req, const struct au_sr *sr,
		     struct net_bufs *b)
{
	struct au_kbufs *k = &req->ring->kbufs;
	uint32_t want = sr->want;
	int r;

	/* From a list a send takes a buffer whole. */
	if (req->opcode == IORING_OP_SEND &&
	    !au_kbuf_is_ring(k, req->buf_index))
		want = 0;
	if (!(sr->flags & IORING_RECVSEND_BUNDLE)) {
		r = au_kbuf_pick(k, req->buf_index, want, &b->sel);
		b->iov[0].iov_base = au_ptr(b->sel.addr);
		b->iov[0].iov_len = b->sel.len;
		b->nr = 1;
		b->total = b->sel.len;
		return r;
	}
	if (req->opcode == IORING_OP_RECV) {
		/* The limit ends a multishot; only bundles are cut to it. */
		if (sr->flags & AU_SR_LIMIT)
			want = min_not_zero(want, sr->left);
		want = min_not_zero(want, sr->queued);
	}
	return bufs_pick_bundle(req, want, b);
}

static uint32_t bufs_take(const struct au_sr *sr, struct net_bufs *b,
			  uint64_t used)
{
	if (!(sr->flags & IORING_RECVSEND_BUNDLE))
		return au_kbuf_take(&b->sel,
				    (uint32_t)au_min_u64(used, UINT32_MAX));
	return au_kbuf_take_bundle(&b->sel, b->iov, b->nr, used);
}

/*
 * Does the socket tell how many bytes wait? Only then does a receive say
 * IORING_CQE_F_SOCK_NONEMPTY.
 */
static bool sr_is_stream(struct au_req *req, struct au_sr *sr)
{
	int type = 0, domain = 0;
	socklen_t len = sizeof(type);

	if (sr->flags & AU_SR_LOOKED)
		return sr->flags & AU_SR_STREAM;
	sr->flags |= AU_SR_LOOKED;
	if (au_syscall(SYS_getsockopt, req->fd, SOL_SOCKET, SO_TYPE, &type,
		       &len) >= 0 &&
	    au_syscall(SYS_getsockopt, req->fd, SOL_SOCKET, SO_DOMAIN, &domain,
		       &len) >= 0 &&
	    type == SOCK_STREAM &&
	    (domain == AF_INET || domain == AF_INET6 || domain == AF_UNIX))
		sr->flags |= AU_SR_STREAM;
	return sr->flags & AU_SR_STREAM;
}

/* A receive that filled its buffers: is there more? */
static uint32_t recv_nonempty(struct au_req *req, struct au_sr *sr)
{
	int left = 0;

	sr->queued = 0;
	if (!sr_is_stream(req, sr) ||
	    au_syscall(SYS_ioctl, req->fd, FIONREAD, &left) < 0 || left <= 0)
		return 0;
	sr->queued = (uint32_t)left;
	return IORING_CQE_F_SOCK_NONEMPTY;
}

static long recv_call(struct au_req *req, const struct au_sr *sr,
		      struct net_bufs *b)
{
	uint32_t flags = (sr->msg_flags & ~(uint32_t)MSG_WAITALL) |
			 MSG_DONTWAIT;
	struct msghdr h = { .msg_iov = b->iov, .msg_iovlen = (size_t)b->nr };
	struct au_net_msg *m = req->async_data;

	if (req->opcode == IORING_OP_RECVMSG) {
		m->one = b->iov[0];
		return au_syscall(SYS_recvmsg, req->fd, &m->hdr, flags);
	}
	if (b->nr == 1)
		return au_syscall(SYS_recvfrom, req->fd, b->iov[0].iov_base,
				  b->iov[0].iov_len, flags, NULL, NULL);
	return au_syscall(SYS_recvmsg, req->fd, &h, flags);
}

/*
 * Takes the buffers that `*res` bytes are in. A bundle that was filled up, with
 * more to come and buffers left, goes on, once; its CQE names the first buffer.
 */
static uint32_t recv_take(struct au_req *req, struct au_sr *sr,
			  struct net_bufs *b, long *res)
{
	bool multishot = req->flags & AU_REQ_F_MULTISHOT;
	uint32_t more = 0, flags;
	long got;

	if ((uint64_t)*res >= b->total)
		more = recv_nonempty(req, sr);
	else
		sr->queued = 0;
	flags = bufs_take(sr, b, (uint64_t)*res);
	if (!(sr->flags & IORING_RECVSEND_BUNDLE) || sr->queued <= 1 ||
	    b->sel.cut || b->sel.all ||
	    (multishot && sr->want && *res >= sr->want))
		return flags | more;
	if (bufs_pick_bundle(req, sr->queued, b) < 0)
		return flags | more;
	got = recv_call(req, sr, b);
	if (got <= 0)
		return flags | more;
	(void)bufs_take(sr, b, (uint64_t)got);
	*res += got;
	more = (uint64_t)got >= b->total ? recv_nonempty(req, sr) : 0;
	return flags | more;
}

/* Is the range within one page that was just written to? */
static bool header_is_safe(uint64_t header, uint64_t written)
{
	return header >> 12 == written >> 12;
}

/*
 * A multishot RECVMSG lays out its buffer: a header, room for the name, room
 * for control data, the payload. What the CQE says, or -errno.
 */
static long recvmsg_multishot(struct au_req *req, const struct au_sr *sr,
			      struct net_bufs *b)
{
	struct au_net_msg *m = req->async_data;
	struct io_uring_recvmsg_out out = { 0 };
	uint64_t room = sizeof(out) + m->name_len + m->control_len;
	uint64_t at = b->sel.addr;
	struct msghdr h = { .msg_iov = &m->one, .msg_iovlen = 1 };
	long res;

	if (b->sel.len < room)
		return -EFAULT;
	m->one.iov_base = au_ptr(at + room);
	m->one.iov_len = b->sel.len - room;
	if (m->name_len) {
		h.msg_name = au_ptr(at + sizeof(out));
		h.msg_namelen = m->name_len;
	}
	if (m->control_len) {
		h.msg_control = au_ptr(at + sizeof(out) + m->name_len);
		h.msg_controllen = m->control_len;
	}
	res = au_syscall(SYS_recvmsg, req->fd, &h,
			 sr->msg_flags | MSG_DONTWAIT);
	if (res < 0)
		return res;
	out.namelen = m->name_len ? h.msg_namelen : 0;
	out.controllen = (uint32_t)h.msg_controllen;
	out.payloadlen = (uint32_t)res;
	out.flags = (uint32_t)h.msg_flags;
	if (res && header_is_safe(at, at + room))
		memcpy(au_ptr(at), &out, sizeof(out));
	else if (au_copy_to_user(at, &out, sizeof(out)))
		return -EFAULT;
	return (long)room + (long)au_min_u64((uint64_t)res, m->one.iov_len);
}

/* MSG_WAITALL got a part: the buffer is this request's from now on. */
static enum au_issue recv_go_on(struct au_req *req, struct au_sr *sr,
				struct net_bufs *b, long res)
{
	struct au_net_msg *m = req->async_data;

	req->cqe_flags = bufs_take(sr, b, b->total);
	au_req_clear(req, AU_REQ_F_BUFFER_SELECT);
	sr->to = 0;
	sr->done = (uint32_t)res;
	if (req->opcode == IORING_OP_RECVMSG) {
		m->one.iov_base = (char *)m->one.iov_base + res;
		m->one.iov_len -= (size_t)res;
	} else {
		sr->addr = b->sel.addr;
		sr->len = b->sel.len;
	}
	return au_sr_issue(req);
}

static enum au_issue recv_end(struct au_req *req, long res, uint32_t flags)
{
	req->cqe_flags = flags;
	au_req_set_res(req, (int)res);
	return AU_DONE;
}

static enum au_issue recv_once(struct au_req *req, struct au_sr *sr)
{
	struct net_bufs b;
	uint32_t flags;
	long res = bufs_pick(req, sr, &b);

	if (res < 0)
		return recv_end(req, bufs_missing(req, sr, (int)res), 0);
	res = recv_call(req, sr, &b);
	if (res == -EAGAIN)
		return AU_RETRY;
	if (res <= 0)
		return recv_end(req, res, 0);
	if ((sr->msg_flags & MSG_WAITALL) && (uint64_t)res < b.total &&
	    b.nr == 1 && !(req->flags & AU_REQ_F_NOWAIT) &&
	    sr_is_stream(req, sr))
		return recv_go_on(req, sr, &b, res);
	flags = recv_take(req, sr, &b, &res);
	if (req->opcode == IORING_OP_RECVMSG)
		au_msg_give_back(req, req->async_data);
	return recv_end(req, req->res < 0 ? req->res : res, flags);
}

/* One receive of a multishot. AU_RETRY: nothing is there. */
static enum au_issue recv_shot(struct au_req *req, struct au_sr *sr,
			       uint64_t *moved)
{
	bool msg = req->opcode == IORING_OP_RECVMSG, last = false;
	struct net_bufs b;
	uint32_t flags;
	long res = bufs_pick(req, sr, &b);

	if (res < 0)
		return recv_end(req, bufs_missing(req, sr, (int)res), 0);
	res = msg ? recvmsg_multishot(req, sr, &b) : recv_call(req, sr, &b);
	if (res == -EAGAIN) {
		sr->queued = 0;
		return AU_RETRY;
	}
	if (res <= 0)
		return recv_end(req, res, 0);
	if (msg) {
		struct io_uring_recvmsg_out *out = au_ptr(b.sel.addr);

		/* The end of a stream is a message without a payload. */
		last = !AU_READ_ONCE(out->payloadlen);
	}
	flags = recv_take(req, sr, &b, &res);
	if (sr->flags & AU_SR_LIMIT) {
		sr->left -= au_min_u32(sr->left, (uint32_t)res);
		last |= !sr->left;
	}
	/* Another bundle could only say that there are no buffers. */
	if (sr->flags & IORING_RECVSEND_BUNDLE)
		last |= b.sel.all;
	*moved += (uint64_t)res;
	if (last || !au_req_post_more(req->ring, req, (int)res, flags))
		return recv_end(req, res, flags);
	/* The length of its vector bounds the first message only. */
	if (msg)
		sr->want = 0;
	return AU_QUEUED;
}

static bool sr_poll_first(struct au_req *req, struct au_sr *sr, short events)
{
	if (au_likely(!(sr->flags & IORING_RECVSEND_POLL_FIRST)))
		return false;
	sr->flags &= (uint16_t)~IORING_RECVSEND_POLL_FIRST;
	return !(req->flags & AU_REQ_F_NOWAIT) &&
	       au_poll_now(req->fd, events) == 0;
}

enum au_issue au_recv_select(struct au_req *req)
{
	struct au_sr *sr = au_req_cmd(req, struct au_sr);
	uint64_t moved = 0;

	if ((req->flags & (AU_REQ_F_MULTISHOT | AU_REQ_F_ASYNC)) ==
	    (AU_REQ_F_MULTISHOT | AU_REQ_F_ASYNC))
		return au_multishot_async(req);
	if (sr_poll_first(req, sr, POLLIN))
		return AU_RETRY;
	if (!(req->flags & AU_REQ_F_MULTISHOT))
		return recv_once(req, sr);
	for (int i = 0; i < RECV_TURN; i++) {
		enum au_issue out = recv_shot(req, sr, &moved);

		if (out != AU_QUEUED)
			return out;
		/* sqe->len bounds what one turn may move. */
		if (sr->want && moved >= sr->want)
			break;
	}
	return AU_REQUEUE;
}

static long send_call(struct au_req *req, const struct au_sr *sr,
		      struct net_bufs *b)
{
	struct msghdr h = { .msg_iov = b->iov, .msg_iovlen = (size_t)b->nr };

	if (sr->flags & AU_SR_MSG)
		return -EINVAL;
	return au_syscall(SYS_sendmsg, req->fd, &h,
			  (sr->msg_flags & ~(uint32_t)MSG_WAITALL) |
				  MSG_DONTWAIT);
}

/* A part was sent: the buffers are this request's; it sends the rest. */
static enum au_issue send_go_on(struct au_req *req, struct au_sr *sr,
				struct net_bufs *b, long res)
{
	struct au_net_msg *m = au_async_data_alloc(
		req, sizeof(*m) + (size_t)b->nr * sizeof(struct iovec));
	uint32_t done = (uint32_t)res;

	if (!m)
		return recv_end(req, res, bufs_take(sr, b, (uint64_t)res));
	req->cqe_flags = bufs_take(sr, b, b->total);
	au_req_clear(req, AU_REQ_F_BUFFER_SELECT);
	au_req_set(req, AU_REQ_F_STABLE);
	memset(&m->hdr, 0, sizeof(m->hdr));
	memcpy(m->iov, b->iov, (size_t)b->nr * sizeof(struct iovec));
	m->hdr.msg_iov = m->iov;
	m->hdr.msg_iovlen = (size_t)b->nr;
	while (m->hdr.msg_iovlen && done >= m->hdr.msg_iov->iov_len) {
		done -= (uint32_t)m->hdr.msg_iov->iov_len;
		m->hdr.msg_iov++;
		m->hdr.msg_iovlen--;
	}
	if (m->hdr.msg_iovlen) {
		m->hdr.msg_iov->iov_base =
			(char *)m->hdr.msg_iov->iov_base + done;
		m->hdr.msg_iov->iov_len -= done;
	}
	sr->addr = (uintptr_t)&m->hdr;
	sr->flags |= AU_SR_MSG;
	sr->done = (uint32_t)res;
	return au_sr_issue(req);
}

/*
 * A bundle counts as a multishot, of which the kernel's workers run none: it
 * waits for the socket, and as it hardly ever has to, ends as cancelled.
 */
static enum au_issue send_bundle_async(struct au_req *req)
{
	int r = -EBADFD;

	au_req_clear(req, AU_REQ_F_ASYNC);
	if (au_file_is_pollable(req))
		r = au_poll_now(req->fd, POLLOUT);
	if (r == 0)
		return AU_RETRY;
	au_req_set_res(req, r < 0 ? r : -ECANCELED);
	return AU_DONE;
}

/* Without buffers to select: what was asked for, and then nothing at all. */
enum au_issue au_send_bundle(struct au_req *req)
{
	struct au_sr *sr = au_req_cmd(req, struct au_sr);
	enum au_issue out;

	if (au_unlikely(req->flags & AU_REQ_F_ASYNC))
		return send_bundle_async(req);
	out = au_sr_issue(req);
	if (out != AU_DONE)
		sr->flags |= AU_SR_WAITED;
	if (out != AU_DONE || req->res <= 0 || (sr->flags & AU_SR_WAITED) ||
	    !au_req_post_more(req->ring, req, req->res, 0))
		return out;
	sr->len = sr->done = 0;
	return au_sr_issue(req);
}

enum au_issue au_send_select(struct au_req *req)
{
	struct au_sr *sr = au_req_cmd(req, struct au_sr);
	struct net_bufs b;
	uint32_t flags;
	long res;

	if ((sr->flags & IORING_RECVSEND_BUNDLE) &&
	    au_unlikely(req->flags & AU_REQ_F_ASYNC))
		return send_bundle_async(req);
	if (sr_poll_first(req, sr, POLLOUT))
		return AU_RETRY;
	for (;;) {
		res = bufs_pick(req, sr, &b);
		if (res < 0)
			return recv_end(req, bufs_missing(req, sr, (int)res),
					0);
		res = send_call(req, sr, &b);
		if (res == -EAGAIN) {
			sr->flags |= AU_SR_WAITED;
			return AU_RETRY;
		}
		/* There buffers are not so much as looked for. */
		if (res == -ENOTSOCK || res == -EBADF)
			return recv_end(req, res, 0);
		if (res >= 0 && (uint64_t)res < b.total &&
		    (sr->msg_flags & MSG_WAITALL) &&
		    !(req->flags & AU_REQ_F_NOWAIT))
			return send_go_on(req, sr, &b, res);
		/* What was to be sent is used up, sent or not. */
		flags = bufs_take(sr, &b, b.total);
		if (res <= 0 || !(sr->flags & IORING_RECVSEND_BUNDLE) ||
		    (sr->flags & AU_SR_WAITED) || b.sel.all ||
		    !au_req_post_more(req->ring, req, (int)res, flags))
			return recv_end(req, res, flags);
		/* The next bundle is of all there is. */
		sr->want = 0;
	}
}
