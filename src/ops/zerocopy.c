/* SPDX-License-Identifier: MIT */
/*
 * SEND_ZC and SENDMSG_ZC: sent by copying, and honestly so. The CQE with the
 * result is followed by the notification that the memory is free again; it says
 * that the data was copied, to those who ask (IORING_SEND_ZC_REPORT_USAGE).
 */
#include <errno.h>
#include <string.h>
#include "core/issue.h"
#include "core/ring.h"
#include "ops/net.h"
#include "ops/ops.h"
#include "sys/syscall.h"

#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY 0x4000000
#endif

#define ZC_FLAGS                                                  \
	(IORING_RECVSEND_POLL_FIRST | IORING_RECVSEND_FIXED_BUF | \
	 IORING_SEND_ZC_REPORT_USAGE | IORING_SEND_VECTORIZED)

static int zc_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_sr *sr = au_req_cmd(req, struct au_sr);

	if (AU_READ_ONCE(sqe->pad2[0]) || AU_READ_ONCE(sqe->addr3))
		return -EINVAL;
	if (req->flags & AU_REQ_F_CQE_SKIP)
		return -EINVAL;
	/* From here on, whatever becomes of it, there are two CQEs. */
	req->extra[0] = 0;
	au_req_set(req, AU_REQ_F_NOTIF | AU_REQ_F_COMPLETE_SLOW);
	memset(sr, 0, sizeof(*sr));
	sr->flags = AU_READ_ONCE(sqe->ioprio);
	if (sr->flags & ~ZC_FLAGS)
		return -EINVAL;
	if (sr->flags & IORING_SEND_ZC_REPORT_USAGE)
		req->extra[0] = IORING_NOTIF_USAGE_ZC_COPIED;
	sr->addr = AU_READ_ONCE(sqe->addr);
	sr->len = AU_READ_ONCE(sqe->len);
	sr->msg_flags = (AU_READ_ONCE(sqe->msg_flags) | MSG_NOSIGNAL) &
			~(uint32_t)MSG_ZEROCOPY;
	req->buf_index = AU_READ_ONCE(sqe->buf_index);
	if (sr->msg_flags & MSG_DONTWAIT)
		au_req_set(req, AU_REQ_F_NOWAIT);
	return 0;
}

int au_send_zc_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_sr *sr = au_req_cmd(req, struct au_sr);
	int r = zc_prep(req, sqe);

	if (r < 0)
		return r;
	if (AU_READ_ONCE(sqe->pad3[0]))
		return -EINVAL;
	sr->to = AU_READ_ONCE(sqe->addr2);
	sr->addr_len = AU_READ_ONCE(sqe->addr_len);
	return sr->flags & IORING_SEND_VECTORIZED ? au_req_stabilise(req) : 0;
}

int au_sendmsg_zc_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_sr *sr = au_req_cmd(req, struct au_sr);
	int r = zc_prep(req, sqe);

	if (r < 0)
		return r;
	if (AU_READ_ONCE(sqe->addr2) || AU_READ_ONCE(sqe->file_index))
		return -EINVAL;
	return sr->flags & IORING_RECVSEND_FIXED_BUF ? au_req_stabilise(req) :
						       0;
}

static bool zc_within(const struct au_rsrc_node *n, uint64_t addr, uint64_t len)
{
	return n && addr >= n->addr && addr + len >= addr &&
	       addr + len <= n->addr + n->len;
}

static int zc_check_fixed(struct au_req *req, const struct au_sr *sr)
{
	const struct au_rsrc_node *n =
		au_rsrc_lookup(&req->ring->buffers, req->buf_index);
	const struct au_net_msg *m = req->async_data;

	if (!au_sr_is_msg(req, sr))
		return zc_within(n, sr->addr, sr->len) ? 0 : -EFAULT;
	for (size_t i = 0; i < m->hdr.msg_iovlen; i++) {
		if (!zc_within(n, (uintptr_t)m->hdr.msg_iov[i].iov_base,
			       m->hdr.msg_iov[i].iov_len))
			return -EFAULT;
	}
	return 0;
}

/* As the kernel's: of the sockets here, those of IP. */
static int zc_check_socket(int fd)
{
	int domain = 0;
	socklen_t len = sizeof(domain);
	int r = (int)au_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN,
				&domain, &len);

	if (r < 0)
		return r;
	return domain == AF_INET || domain == AF_INET6 ? 0 : -EOPNOTSUPP;
}

static enum au_issue zc_issue(struct au_req *req)
{
	struct au_sr *sr = au_req_cmd(req, struct au_sr);
	int r = zc_check_socket(req->fd);

	if (r == 0 && (sr->flags & IORING_RECVSEND_FIXED_BUF) && !sr->done)
		r = zc_check_fixed(req, sr);
	if (r < 0) {
		/* A bad header is told of before a bad socket. */
		int err = au_req_stabilise(req);

		au_req_set_res(req, err < 0 ? err : r);
		return AU_DONE;
	}
	return au_sr_issue(req);
}

enum au_issue au_send_zc(struct au_req *req, unsigned int issue_flags)
{
	return zc_issue(req);
}

enum au_issue au_sendmsg_zc(struct au_req *req, unsigned int issue_flags)
{
	return zc_issue(req);
}
