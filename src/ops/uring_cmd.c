/* SPDX-License-Identifier: MIT */
/*
 * URING_CMD: what a file's driver takes by itself. Here that is the commands of
 * sockets, each an ordinary system call; any other file has none.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include "ops/ops.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

struct au_uring_cmd {
	uint32_t op;
	uint32_t level, optname, optlen;
	uint64_t optval; /* GETSOCKNAME: where the length is */
	uint64_t addr;
};

int au_uring_cmd_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_uring_cmd *c = au_req_cmd(req, struct au_uring_cmd);
	uint32_t flags = AU_READ_ONCE(sqe->uring_cmd_flags);

	if (AU_READ_ONCE(sqe->pad1) || (flags & ~IORING_URING_CMD_MASK))
		return -EINVAL;
	/* Buffers are for multishot commands, of which there are none. */
	if (req->flags & AU_REQ_F_BUFFER_SELECT)
		return -EINVAL;
	c->op = AU_READ_ONCE(sqe->cmd_op);
	c->addr = AU_READ_ONCE(sqe->addr);
	c->level = (uint32_t)c->addr;
	c->optname = (uint32_t)(c->addr >> 32);
	c->optlen = AU_READ_ONCE(sqe->optlen);
	c->optval = AU_READ_ONCE(sqe->optval);
	/* The command itself complains of these, not the request. */
	if (c->op == SOCKET_URING_OP_GETSOCKNAME &&
	    (AU_READ_ONCE(sqe->ioprio) || AU_READ_ONCE(sqe->len) || flags))
		c->optlen = 2;
	return 0;
}

/* Bytes that wait: of protocols that can tell. */
static long cmd_queued(int fd, unsigned int request)
{
	int domain = 0, value = 0;
	socklen_t len = sizeof(domain);
	long r = au_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain,
			    &len);

	if (r < 0)
		return r;
	if (domain != AF_INET && domain != AF_INET6)
		return -EOPNOTSUPP;
	r = au_syscall(SYS_ioctl, fd, request, &value);
	return r < 0 ? r : value;
}

static long cmd_getsockopt(int fd, const struct au_uring_cmd *c)
{
	socklen_t len = c->optlen;
	long r;

	if (c->level != SOL_SOCKET)
		return -EOPNOTSUPP;
	r = au_syscall(SYS_getsockopt, fd, c->level, c->optname, c->optval,
		       &len);
	return r < 0 ? r : (long)len;
}

static long cmd_getsockname(int fd, const struct au_uring_cmd *c)
{
	if (c->optlen > 1)
		return -EINVAL;
	return au_syscall(c->optlen ? SYS_getpeername : SYS_getsockname, fd,
			  c->addr, c->optval);
}

static long cmd_call(int fd, const struct au_uring_cmd *c)
{
	int type;
	socklen_t len = sizeof(type);
	long r = au_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type,
			    &len);

	if (r < 0)
		return r == -ENOTSOCK ? -EOPNOTSUPP : r;
	switch (c->op) {
	case SOCKET_URING_OP_SIOCINQ:
		return cmd_queued(fd, SIOCINQ);
	case SOCKET_URING_OP_SIOCOUTQ:
		return cmd_queued(fd, SIOCOUTQ);
	case SOCKET_URING_OP_GETSOCKOPT:
		return cmd_getsockopt(fd, c);
	case SOCKET_URING_OP_SETSOCKOPT:
		return au_syscall(SYS_setsockopt, fd, c->level, c->optname,
				  c->optval, c->optlen);
	case SOCKET_URING_OP_GETSOCKNAME:
		return cmd_getsockname(fd, c);
	default:
		return -EOPNOTSUPP;
	}
}

enum au_issue au_uring_cmd(struct au_req *req, unsigned int issue_flags)
{
	struct au_uring_cmd *c = au_req_cmd(req, struct au_uring_cmd);

	au_req_set_res(req, (int)cmd_call(req->fd, c));
	return AU_DONE;
}
