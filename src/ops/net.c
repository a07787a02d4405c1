/* SPDX-License-Identifier: MIT */
/*
 * Sockets: SEND, RECV, SENDMSG, RECVMSG, ACCEPT, CONNECT, SHUTDOWN, SOCKET,
 * BIND, LISTEN.
 *
 * Data goes by the ordinary calls with MSG_DONTWAIT, whatever the socket's own
 * mode: EAGAIN means wait for the socket, unless the application itself asked
 * not to wait. accept(2) and connect(2) have no such flag; on a socket in
 * blocking mode they are surrounded by fcntl(2) (see
 * docs/decisions/nonblocking-connect.md).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include "core/complete.h"
#include "core/issue.h"
#include "core/register.h"
#include "core/ring.h"
#include "ops/net.h"
#include "ops/ops.h"
#include "sys/poll.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

#define SEND_FLAGS \
	(IORING_RECVSEND_POLL_FIRST | IORING_RECVSEND_BUNDLE | \
	 IORING_SEND_VECTORIZED)
#define RECV_FLAGS \
	(IORING_RECVSEND_POLL_FIRST | IORING_RECVSEND_BUNDLE | \
	 IORING_RECV_MULTISHOT)

/* Of 32-bit callers; system calls refuse it, io_uring does not look. */
#define NET_MSG_COMPAT 0x80000000U

static int sr_prep(struct au_req *req, const struct io_uring_sqe *sqe,
		   uint16_t flags)
{
	struct au_sr *sr = au_req_cmd(req, struct au_sr);

	sr->addr = AU_READ_ONCE(sqe->addr);
	sr->len = AU_READ_ONCE(sqe->len);
	sr->msg_flags = (AU_READ_ONCE(sqe->msg_flags) | MSG_NOSIGNAL) &
			~NET_MSG_COMPAT;
	sr->flags = AU_READ_ONCE(sqe->ioprio);
	sr->done = 0;
	sr->to = 0;
	sr->addr_len = 0;
	if (au_unlikely(sr->flags & ~flags))
		return -EINVAL;
	if (sr->msg_flags & MSG_DONTWAIT)
		au_req_set(req, AU_REQ_F_NOWAIT);
	return 0;
}

/* What is special about a send. */
static au_cold int send_prep_rare(struct au_req *req, struct au_sr *sr)
{
	if (sr->flags & IORING_RECVSEND_BUNDLE) {
		if (req->opcode == IORING_OP_SENDMSG)
			return -EINVAL;
		sr->msg_flags |= MSG_WAITALL;
	}
	if (req->flags & AU_REQ_F_BUFFER_SELECT) {
		sr->want = sr->len;
		sr->left = 0;
	}
	/* A vector is a message without the rest; copied at once. */
	if (sr->flags & IORING_SEND_VECTORIZED)
		return au_req_stabilise(req);
	return 0;
}

int au_send_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_sr *sr = au_req_cmd(req, struct au_sr);
	int r = sr_prep(req, sqe, SEND_FLAGS);

	if (r < 0)
		return r;
	if (AU_READ_ONCE(sqe->pad3[0]))
		return -EINVAL;
	sr->to = AU_READ_ONCE(sqe->addr2);
	sr->addr_len = AU_READ_ONCE(sqe->addr_len);
	if (au_unlikely((sr->flags & ~IORING_RECVSEND_POLL_FIRST) ||
			(req->flags & AU_REQ_F_BUFFER_SELECT)))
		return send_prep_rare(req, sr);
	return 0;
}

int au_sendmsg_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	if (AU_READ_ONCE(sqe->addr2) || AU_READ_ONCE(sqe->file_index))
		return -EINVAL;
	return sr_prep(req, sqe, IORING_RECVSEND_POLL_FIRST);
}

/* Multishot, bundles and selected buffers. */
static au_cold int recv_prep_rare(struct au_req *req, struct au_sr *sr,
				  uint32_t limit)
{
	bool select = req->flags & AU_REQ_F_BUFFER_SELECT;

	sr->want = sr->len;
	sr->left = sr->queued = 0;
	if (sr->flags & IORING_RECV_MULTISHOT) {
		if (!select || (sr->msg_flags & MSG_WAITALL))
			return -EINVAL;
		if (limit && req->opcode == IORING_OP_RECVMSG)
			return -EINVAL;
		sr->left = limit;
		if (limit)
			sr->flags |= AU_SR_LIMIT;
		au_req_set(req, AU_REQ_F_MULTISHOT);
	} else if (limit) {
		return -EINVAL;
	}
	if ((sr->flags & IORING_RECVSEND_BUNDLE) &&
	    req->opcode == IORING_OP_RECVMSG)
		return -EINVAL;
	if (!select || req->opcode == IORING_OP_RECV)
		return 0;
	/* The header says how much room its parts get. */
	return au_req_stabilise(req);
}

int au_recv_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_sr *sr = au_req_cmd(req, struct au_sr);
	uint32_t limit = AU_READ_ONCE(sqe->optlen);
	int r;

	if (AU_READ_ONCE(sqe->addr2))
		return -EINVAL;
	r = sr_prep(req, sqe, RECV_FLAGS);
	if (r < 0)
		return r;
	if (au_unlikely(limit || (sr->flags & ~IORING_RECVSEND_POLL_FIRST) ||
			(req->flags & AU_REQ_F_BUFFER_SELECT)))
		return recv_prep_rare(req, sr, limit);
	return 0;
}

int au_recvmsg_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	return au_recv_prep(req, sqe);
}

/* IORING_SEND_VECTORIZED: addr and len are a vector. */
static int send_vector_copy(struct au_req *req)
{
	struct au_sr *sr = au_req_cmd(req, struct au_sr);
	struct au_net_msg *m;
	struct iovec *iov;
	int err;

	iov = au_iovec_copy(req, sr->addr, sr->len, sizeof(*m), &err);
	if (!iov)
		return err;
	m = req->async_data;
	memset(&m->hdr, 0, sizeof(m->hdr));
	m->hdr.msg_iov = iov;
	m->hdr.msg_iovlen = sr->len;
	if (sr->to) {
		if (sr->addr_len > sizeof(m->name))
			return -EINVAL;
		if (au_copy_from_user(&m->name, sr->to, sr->addr_len))
			return -EFAULT;
		m->hdr.msg_name = &m->name;
		m->hdr.msg_namelen = sr->addr_len;
	}
	sr->addr = (uintptr_t)&m->hdr;
	sr->flags |= AU_SR_MSG;
	return 0;
}

int au_send_stabilise(struct au_req *req)
{
	struct au_sr *sr = au_req_cmd(req, struct au_sr);

	if (sr->flags & IORING_SEND_VECTORIZED)
		return send_vector_copy(req);
	if (!sr->to || (req->flags & AU_REQ_F_BUFFER_SELECT))
		return 0;
	if (sr->addr_len > sizeof(struct sockaddr_storage))
		return -EINVAL;
	if (!au_async_data_alloc(req, sr->addr_len + 1U))
		return -ENOMEM;
	if (au_copy_from_user(req->async_data, sr->to, sr->addr_len))
		return -EFAULT;
	sr->to = (uintptr_t)req->async_data;
	return 0;
}

static bool op_receives(const struct au_req *req)
{
	return req->opcode == IORING_OP_RECV ||
	       req->opcode == IORING_OP_RECVMSG;
}

/* The header's own faults, in order: lengths, the name to send to, the vector. */
static int msg_check_header(struct au_req *req, const struct msghdr *hdr,
			    struct sockaddr_storage *name)
{
	uint32_t len = au_min_u32(hdr->msg_namelen, sizeof(*name));

	if ((int)hdr->msg_namelen < 0)
		return req->flags & AU_REQ_F_MULTISHOT ? -EOVERFLOW : -EINVAL;
	if (!op_receives(req) && hdr->msg_name &&
	    au_copy_from_user(name, (uintptr_t)hdr->msg_name, len))
		return -EFAULT;
	return hdr->msg_iovlen > IOV_MAX ? -EMSGSIZE : 0;
}

/* Header, vector and, to send, the address and control data. */
int au_msg_stabilise(struct au_req *req)
{
	struct au_sr *sr = au_req_cmd(req, struct au_sr);
	bool receives = op_receives(req), too_long;
	size_t control;
	struct au_net_msg *m;
	struct sockaddr_storage name;
	struct msghdr hdr;
	struct iovec *iov;
	int err;

	if (au_copy_from_user(&hdr, sr->addr, sizeof(hdr)))
		return -EFAULT;
	err = msg_check_header(req, &hdr, &name);
	if (err < 0)
		return err;
	if ((req->flags & AU_REQ_F_BUFFER_SELECT) && hdr.msg_iovlen > 1)
		return -EINVAL;
	control = receives ? 0 : hdr.msg_controllen;
	too_long = control > 1 << 20;
	if (too_long)
		control = 0;
	iov = au_iovec_copy(req, (uintptr_t)hdr.msg_iov,
			    (uint32_t)hdr.msg_iovlen,
			    sizeof(*m) + au_align_up(control, 16), &err);
	if (!iov)
		return err;
	m = req->async_data;
	m->hdr = hdr;
	m->hdr.msg_iov = iov;
	m->user = sr->addr;
	if (req->flags & AU_REQ_F_BUFFER_SELECT) {
		sr->want = hdr.msg_iovlen ? (uint32_t)iov->iov_len : 0;
		m->hdr.msg_iov = &m->one;
		m->hdr.msg_iovlen = 1;
		m->name_len = hdr.msg_namelen;
		if (__builtin_add_overflow(
			    hdr.msg_namelen + sizeof(struct io_uring_recvmsg_out),
			    hdr.msg_controllen, &control) ||
		    control > INT32_MAX)
			return -EOVERFLOW;
		m->control_len = (uint32_t)hdr.msg_controllen;
		control = 0;
	}
	if (!receives && hdr.msg_name) {
		m->hdr.msg_namelen =
			au_min_u32(hdr.msg_namelen, sizeof(m->name));
		memcpy(&m->name, &name, m->hdr.msg_namelen);
		m->hdr.msg_name = &m->name;
	}
	if (control) {
		m->hdr.msg_control = m + 1;
		if (au_copy_from_user(m + 1, (uintptr_t)hdr.msg_control,
				      control))
			return -EFAULT;
	}
	/* Bad vectors and addresses are told of before. */
	if (too_long)
		return -ENOBUFS;
	sr->addr = (uintptr_t)&m->hdr;
	return 0;
}

/* What recvmsg(2) writes into the header goes to the application's. */
void au_msg_give_back(struct au_req *req, const struct au_net_msg *m)
{
	const struct msghdr *h;

	/* Without a copy recvmsg(2) wrote there itself, and there is no `m`. */
	if (!(req->flags & AU_REQ_F_STABLE))
		return;
	h = &m->hdr;
	if (au_copy_to_user(m->user + offsetof(struct msghdr, msg_namelen),
			    &h->msg_namelen, sizeof(h->msg_namelen)) ||
	    au_copy_to_user(m->user + offsetof(struct msghdr, msg_controllen),
			    &h->msg_controllen, sizeof(h->msg_controllen)) ||
	    au_copy_to_user(m->user + offsetof(struct msghdr, msg_flags),
			    &h->msg_flags, sizeof(h->msg_flags)))
		au_req_set_res(req, -EFAULT);
}

/* Takes `n` bytes off the front of a copied vector. */
static void msg_advance(struct au_net_msg *m, size_t n)
{
	struct msghdr *h = &m->hdr;

	while (h->msg_iovlen && n >= h->msg_iov->iov_len) {
		n -= h->msg_iov->iov_len;
		h->msg_iov++;
		h->msg_iovlen--;
	}
	if (h->msg_iovlen) {
		h->msg_iov->iov_base = (char *)h->msg_iov->iov_base + n;
		h->msg_iov->iov_len -= n;
	}
}

static size_t msg_left(const struct au_net_msg *m)
{
	size_t left = 0;

	for (size_t i = 0; i < m->hdr.msg_iovlen; i++)
		left += m->hdr.msg_iov[i].iov_len;
	return left;
}

static long sr_call(struct au_req *req, const struct au_sr *sr, uint32_t flags)
{
	void *buf = au_ptr(sr->addr + sr->done);
	size_t len = sr->len - sr->done;

	if (au_sr_is_msg(req, sr))
		return au_syscall(op_receives(req) ? SYS_recvmsg : SYS_sendmsg,
				  req->fd, au_ptr(sr->addr), flags);
	if (op_receives(req))
		return au_syscall(SYS_recvfrom, req->fd, buf, len, flags, NULL,
				  NULL);
	return au_syscall(SYS_sendto, req->fd, buf, len, flags, au_ptr(sr->to),
			  sr->to ? sr->addr_len : 0);
}

static bool socket_is_stream(int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return au_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type,
			  &len) >= 0 &&
	       (type == SOCK_STREAM || type == SOCK_SEQPACKET);
}

/* Only TCP's accept tells the kernel whether more are waiting. */
static bool socket_is_inet(int fd)
{
	int domain = 0;
	socklen_t len = sizeof(domain);

	return au_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain,
			  &len) >= 0 &&
	       (domain == AF_INET || domain == AF_INET6);
}

/*
 * MSG_WAITALL on a stream: some bytes went through, the rest has to. True if
 * there is a rest.
 */
static bool sr_goes_on(struct au_req *req, struct au_sr *sr, long res)
{
	bool msg = au_sr_is_msg(req, sr);
	struct au_net_msg *m;

	if (!(sr->msg_flags & MSG_WAITALL) || (req->flags & AU_REQ_F_NOWAIT) ||
	    !socket_is_stream(req->fd))
		return false;
	if (!msg) {
		if (sr->done + (uint32_t)res >= sr->len)
			return false;
		sr->done += (uint32_t)res;
		return true;
	}
	if (au_req_stabilise(req) < 0)
		return false;
	m = req->async_data;
	if (m->hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return false;
	msg_advance(m, (size_t)res);
	sr->done += (uint32_t)res;
	if (msg_left(m))
		return true;
	sr->done -= (uint32_t)res;
	return false;
}

/* MSG_WAITALL, and the last call of all left a rest. */
static bool sr_is_short(struct au_req *req, const struct au_sr *sr, long res)
{
	size_t left = sr->len - sr->done;

	if (au_likely(!(sr->msg_flags & MSG_WAITALL)))
		return false;
	if (au_sr_is_msg(req, sr)) {
		if (au_req_stabilise(req) < 0)
			return true;
		left = msg_left(req->async_data);
	}
	return (size_t)(res > 0 ? res : 0) < left;
}

enum au_issue au_sr_issue(struct au_req *req)
{
	struct au_sr *sr = au_req_cmd(req, struct au_sr);
	bool receives = op_receives(req);
	long res;

	if (au_unlikely(sr->flags & IORING_RECVSEND_POLL_FIRST)) {
		/* Not worth a try before the socket says so; DONTWAIT: none. */
		sr->flags &= (uint16_t)~IORING_RECVSEND_POLL_FIRST;
		if ((req->flags & AU_REQ_F_NOWAIT) ||
		    au_poll_now(req->fd, receives ? POLLIN : POLLOUT) == 0)
			return AU_RETRY;
	}
	do {
		uint32_t flags = sr->msg_flags & ~(uint32_t)MSG_WAITALL;

		res = sr_call(req, sr, flags | MSG_DONTWAIT);
		if (res == -EAGAIN)
			return AU_RETRY;
	} while (res > 0 && au_unlikely(sr->msg_flags & MSG_WAITALL) &&
		 sr_goes_on(req, sr, res));

	/* Less than all that was asked for breaks a chain. */
	if (res < 0 || sr_is_short(req, sr, res))
		au_req_set_fail(req);
	if (sr->done) {
		/* What came before an error or the end is the result. */
		res = (res > 0 ? res : 0) + sr->done;
	}
	req->res = (int)res;
	if (req->opcode == IORING_OP_RECVMSG && res >= 0)
		au_msg_give_back(req, req->async_data);
	return AU_DONE;
}

enum au_issue au_send(struct au_req *req, unsigned int issue_flags)
{
	const struct au_sr *sr = au_req_cmd(req, struct au_sr);

	if (au_unlikely(req->flags & AU_REQ_F_BUFFER_SELECT))
		return au_send_select(req);
	if (au_unlikely(sr->flags & IORING_RECVSEND_BUNDLE))
		return au_send_bundle(req);
	return au_sr_issue(req);
}

enum au_issue au_recv(struct au_req *req, unsigned int issue_flags)
{
	if (au_unlikely(req->flags & AU_REQ_F_BUFFER_SELECT))
		return au_recv_select(req);
	return au_sr_issue(req);
}

enum au_issue au_sendmsg(struct au_req *req, unsigned int issue_flags)
{
	return au_sr_issue(req);
}

enum au_issue au_recvmsg(struct au_req *req, unsigned int issue_flags)
{
	if (au_unlikely(req->flags & AU_REQ_F_BUFFER_SELECT))
		return au_recv_select(req);
	return au_sr_issue(req);
}

struct au_accept {
	uint64_t addr, addr_len;
	uint32_t flags; /* SOCK_* */
	uint32_t file_index;
	uint16_t ioprio; /* IORING_ACCEPT_* */
	bool listens; /* seen to */
};

int au_accept_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_accept *a = au_req_cmd(req, struct au_accept);

	if (AU_READ_ONCE(sqe->len) || AU_READ_ONCE(sqe->buf_index))
		return -EINVAL;
	a->addr = AU_READ_ONCE(sqe->addr);
	a->addr_len = AU_READ_ONCE(sqe->addr2);
	a->flags = AU_READ_ONCE(sqe->accept_flags);
	a->ioprio = AU_READ_ONCE(sqe->ioprio);
	a->file_index = AU_READ_ONCE(sqe->file_index);
	a->listens = false;
	if (a->ioprio & ~(IORING_ACCEPT_MULTISHOT | IORING_ACCEPT_DONTWAIT |
			  IORING_ACCEPT_POLL_FIRST))
		return -EINVAL;
	if (a->file_index) {
		if (a->flags & SOCK_CLOEXEC)
			return -EINVAL;
		if ((a->ioprio & IORING_ACCEPT_MULTISHOT) &&
		    a->file_index != IORING_FILE_INDEX_ALLOC)
			return -EINVAL;
	}
	if (a->flags & ~(uint32_t)(SOCK_CLOEXEC | SOCK_NONBLOCK))
		return -EINVAL;
	if (a->ioprio & IORING_ACCEPT_MULTISHOT)
		au_req_set(req, AU_REQ_F_MULTISHOT);
	if (a->ioprio & IORING_ACCEPT_DONTWAIT)
		au_req_set(req, AU_REQ_F_NOWAIT);
	return 0;
}

#define ACCEPT_TURN 32 /* connections before others have their turn */

/* Runs `call` while the socket is in non-blocking mode. */
struct nonblocking {
	int fd, flags; /* flags < 0: nothing to restore */
};

static void nonblocking_begin(struct nonblocking *nb, int fd)
{
	nb->fd = fd;
	nb->flags = (int)au_syscall(SYS_fcntl, fd, F_GETFL);
	if (nb->flags >= 0 && (nb->flags & O_NONBLOCK))
		nb->flags = -1;
	if (nb->flags >= 0)
		(void)au_syscall(SYS_fcntl, fd, F_SETFL,
				 nb->flags | O_NONBLOCK);
}

static void nonblocking_end(const struct nonblocking *nb)
{
	if (nb->flags >= 0)
		(void)au_syscall(SYS_fcntl, nb->fd, F_SETFL, nb->flags);
}

/* Nothing to accept, or nothing that accepts? Asked once. */
static bool accept_waits(struct au_req *req, struct au_accept *a)
{
	int on = 0;
	socklen_t len = sizeof(on);

	if (!a->listens)
		a->listens = au_syscall(SYS_getsockopt, req->fd, SOL_SOCKET,
					SO_ACCEPTCONN, &on, &len) >= 0 &&
			     on;
	return a->listens;
}

static int accept_call(struct au_req *req, struct au_accept *a)
{
	int flags = (int)a->flags | (a->file_index ? SOCK_CLOEXEC : 0);
	struct nonblocking nb;
	int ev = au_poll_now(req->fd, POLLIN), r;

	/* Not listening, say: accept(2) knows the error. */
	if (ev == 0 && accept_waits(req, a))
		return -EAGAIN;
	nonblocking_begin(&nb, req->fd);
	r = (int)au_syscall(SYS_accept4, req->fd, au_ptr(a->addr),
			    au_ptr(a->addr_len), flags);
	nonblocking_end(&nb);
	if (r >= 0 && a->file_index)
		r = au_file_install_fd(req->ring, a->file_index, r);
	return r;
}

enum au_issue au_accept(struct au_req *req, unsigned int issue_flags)
{
	struct au_accept *a = au_req_cmd(req, struct au_accept);
	int r, turn = 0;

	if ((req->flags & (AU_REQ_F_MULTISHOT | AU_REQ_F_ASYNC)) ==
	    (AU_REQ_F_MULTISHOT | AU_REQ_F_ASYNC))
		return au_multishot_async(req);
	for (;;) {
		uint32_t more = 0;

		if (turn++ == ACCEPT_TURN)
			return AU_REQUEUE;

		r = accept_call(req, a);
		if (r == -EAGAIN)
			return AU_RETRY;
		if (r >= 0 && au_poll_now(req->fd, POLLIN) > 0 &&
		    socket_is_inet(req->fd))
			more = IORING_CQE_F_SOCK_NONEMPTY;
		if (!(req->flags & AU_REQ_F_MULTISHOT) || r < 0 ||
		    !au_req_post_more(req->ring, req, r, more)) {
			req->cqe_flags |= more;
			break;
		}
	}
	au_req_set_res(req, r);
	return AU_DONE;
}

struct au_connect {
	uint64_t addr;
	uint32_t addr_len;
	bool in_progress, seen_aborted;
};

int au_connect_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_connect *c = au_req_cmd(req, struct au_connect);

	if (AU_READ_ONCE(sqe->len) || AU_READ_ONCE(sqe->buf_index) ||
	    AU_READ_ONCE(sqe->rw_flags) || AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	c->addr = AU_READ_ONCE(sqe->addr);
	c->addr_len = (uint32_t)AU_READ_ONCE(sqe->addr2);
	c->in_progress = c->seen_aborted = false;
	return 0;
}

int au_connect_stabilise(struct au_req *req)
{
	struct au_connect *c = au_req_cmd(req, struct au_connect);

	if (c->addr_len > sizeof(struct sockaddr_storage))
		return -EINVAL;
	if (!au_async_data_alloc(req, c->addr_len + 1U))
		return -ENOMEM;
	if (au_copy_from_user(req->async_data, c->addr, c->addr_len))
		return -EFAULT;
	c->addr = (uintptr_t)req->async_data;
	return 0;
}

enum au_issue au_connect(struct au_req *req, unsigned int issue_flags)
{
	struct au_connect *c = au_req_cmd(req, struct au_connect);
	struct nonblocking nb;
	int r, err = 0;
	socklen_t len = sizeof(err);

	if (c->in_progress) {
		/* The handshake ended, one way or the other. */
		if (au_poll_now(req->fd, POLLOUT | POLLERR | POLLHUP) == 0)
			return AU_RETRY;
		r = (int)au_syscall(SYS_getsockopt, req->fd, SOL_SOCKET,
				    SO_ERROR, &err, &len);
		/* The socket counts as connecting until it is asked again. */
		if (r >= 0 && !err)
			(void)au_syscall(SYS_connect, req->fd, au_ptr(c->addr),
					 c->addr_len);
		au_req_set_res(req, r < 0 ? r : -err);
		return AU_DONE;
	}
	nonblocking_begin(&nb, req->fd);
	r = (int)au_syscall(SYS_connect, req->fd, au_ptr(c->addr), c->addr_len);
	nonblocking_end(&nb);
	if (r == -EINPROGRESS && !(req->flags & AU_REQ_F_NOWAIT)) {
		c->in_progress = true;
		return AU_RETRY;
	}
	/* What is left of an earlier refusal: the next try tells afresh. */
	if (r == -ECONNABORTED && !c->seen_aborted) {
		c->seen_aborted = true;
		return AU_RETRY;
	}
	/* A local socket's backlog is full: its turn comes with POLLOUT. */
	if (r == -EAGAIN)
		return AU_RETRY;
	au_req_set_res(req, r);
	return AU_DONE;
}

struct au_shutdown {
	int32_t how;
};

int au_shutdown_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_shutdown *s = au_req_cmd(req, struct au_shutdown);

	if (AU_READ_ONCE(sqe->off) || AU_READ_ONCE(sqe->addr) ||
	    AU_READ_ONCE(sqe->rw_flags) || AU_READ_ONCE(sqe->buf_index) ||
	    AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	s->how = (int32_t)AU_READ_ONCE(sqe->len);
	return 0;
}

enum au_issue au_shutdown(struct au_req *req, unsigned int issue_flags)
{
	struct au_shutdown *s = au_req_cmd(req, struct au_shutdown);

	au_req_set_res_soft(req, (int)au_syscall(SYS_shutdown, req->fd, s->how));
	return AU_DONE;
}

struct au_socket {
	int32_t domain, type, protocol;
	uint32_t file_index;
};

int au_socket_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_socket *s = au_req_cmd(req, struct au_socket);

	if (AU_READ_ONCE(sqe->addr) || AU_READ_ONCE(sqe->rw_flags) ||
	    AU_READ_ONCE(sqe->buf_index))
		return -EINVAL;
	s->domain = req->fd;
	s->type = (int32_t)AU_READ_ONCE(sqe->off);
	s->protocol = (int32_t)AU_READ_ONCE(sqe->len);
	s->file_index = AU_READ_ONCE(sqe->file_index);
	if (s->file_index && (s->type & SOCK_CLOEXEC))
		return -EINVAL;
	if (s->type & ~(0xf | SOCK_CLOEXEC | SOCK_NONBLOCK))
		return -EINVAL;
	return 0;
}

enum au_issue au_socket(struct au_req *req, unsigned int issue_flags)
{
	struct au_socket *s = au_req_cmd(req, struct au_socket);
	int type = s->type | (s->file_index ? SOCK_CLOEXEC : 0);
	int r = (int)au_syscall(SYS_socket, s->domain, type, s->protocol);

	/* No room in the table breaks no chain, unlike for OPENAT. */
	if (r >= 0 && s->file_index)
		req->res = au_file_install_fd(req->ring, s->file_index, r);
	else
		au_req_set_res(req, r);
	return AU_DONE;
}

struct au_bind {
	uint32_t len; /* of the address; LISTEN: the backlog */
};

int au_bind_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_bind *b = au_req_cmd(req, struct au_bind);

	if (AU_READ_ONCE(sqe->len) || AU_READ_ONCE(sqe->buf_index) ||
	    AU_READ_ONCE(sqe->rw_flags) || AU_READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	b->len = (uint32_t)AU_READ_ONCE(sqe->addr2);
	if (b->len > sizeof(struct sockaddr_storage))
		return -EINVAL;
	if (!au_async_data_alloc(req, b->len + 1U))
		return -ENOMEM;
	return au_copy_from_user(req->async_data, AU_READ_ONCE(sqe->addr),
				 b->len);
}

enum au_issue au_bind(struct au_req *req, unsigned int issue_flags)
{
	struct au_bind *b = au_req_cmd(req, struct au_bind);

	au_req_set_res(req, (int)au_syscall(SYS_bind, req->fd, req->async_data,
					    b->len));
	return AU_DONE;
}

int au_listen_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_bind *b = au_req_cmd(req, struct au_bind);

	if (AU_READ_ONCE(sqe->addr) || AU_READ_ONCE(sqe->buf_index) ||
	    AU_READ_ONCE(sqe->rw_flags) || AU_READ_ONCE(sqe->splice_fd_in) ||
	    AU_READ_ONCE(sqe->addr2))
		return -EINVAL;
	b->len = AU_READ_ONCE(sqe->len);
	return 0;
}

enum au_issue au_listen(struct au_req *req, unsigned int issue_flags)
{
	struct au_bind *b = au_req_cmd(req, struct au_bind);

	au_req_set_res(req, (int)au_syscall(SYS_listen, req->fd, b->len));
	return AU_DONE;
}
