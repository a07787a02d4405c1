/* SPDX-License-Identifier: MIT */
/* PROVIDE_BUFFERS and REMOVE_BUFFERS: groups that are lists. */
#include <errno.h>
#include "core/ring.h"
#include "ops/ops.h"

struct au_provide {
	uint64_t addr;
	uint32_t len, nr;
	uint16_t bgid, bid;
};

/* What the kernel takes for the end of user addresses. */
#define USER_MAX ((1ULL << 47) - 4096)

int au_provide_buffers_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_provide *p = au_req_cmd(req, struct au_provide);
	uint64_t bid = AU_READ_ONCE(sqe->off), size, end;

	if (AU_READ_ONCE(sqe->rw_flags) || AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	if (req->fd <= 0 || (uint32_t)req->fd > AU_KBUF_MAX)
		return -E2BIG;
	p->nr = (uint32_t)req->fd;
	p->addr = AU_READ_ONCE(sqe->addr);
	p->len = AU_READ_ONCE(sqe->len);
	if (!p->len)
		return -EINVAL;
	size = (uint64_t)p->len * p->nr;
	if (__builtin_add_overflow(p->addr, size, &end))
		return -EOVERFLOW;
	if (end > USER_MAX)
		return -EFAULT;
	p->bgid = AU_READ_ONCE(sqe->buf_group);
	if (bid > UINT16_MAX)
		return -E2BIG;
	if (bid + p->nr > AU_KBUF_MAX)
		return -EINVAL;
	p->bid = (uint16_t)bid;
	return 0;
}

enum au_issue au_provide_buffers(struct au_req *req, unsigned int issue_flags)
{
	struct au_provide *p = au_req_cmd(req, struct au_provide);
	struct au_kbufs *k = &req->ring->kbufs;
	struct au_kbuf_group *g = au_kbuf_find(k, p->bgid);
	int r = -EINVAL;

	if (!g)
		g = au_kbuf_group_new(k, p->bgid);
	if (!g)
		r = -ENOMEM;
	else if (!g->is_ring)
		r = au_kbuf_provide(g, p->addr, p->len, p->nr, p->bid);
	au_req_set_res(req, r);
	return AU_DONE;
}

int au_remove_buffers_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_provide *p = au_req_cmd(req, struct au_provide);

	if (AU_READ_ONCE(sqe->rw_flags) || AU_READ_ONCE(sqe->addr) ||
	    AU_READ_ONCE(sqe->len) || AU_READ_ONCE(sqe->off) ||
	    AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	if (req->fd <= 0 || (uint32_t)req->fd > AU_KBUF_MAX)
		return -EINVAL;
	p->nr = (uint32_t)req->fd;
	p->bgid = AU_READ_ONCE(sqe->buf_group);
	return 0;
}

enum au_issue au_remove_buffers(struct au_req *req, unsigned int issue_flags)
{
	struct au_provide *p = au_req_cmd(req, struct au_provide);
	struct au_kbuf_group *g = au_kbuf_find(&req->ring->kbufs, p->bgid);
	int r = -ENOENT;

	if (g)
		r = g->is_ring ? -EINVAL : (int)au_kbuf_remove(g, p->nr);
	au_req_set_res(req, r);
	return AU_DONE;
}
