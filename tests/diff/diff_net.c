/* SPDX-License-Identifier: MIT */
/* Description: sockets: accept, connect, send, receive, shutdown, socket. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>
#include "diff.h"

static int tcp(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void accept_connect(struct diff *d)
{
	struct sockaddr_in sin, peer;
	socklen_t len = sizeof(peer);
	struct io_uring_sqe *s;
	struct ring r;
	int l, c, a;

	ring_open(d, &r, 8, 0);
	l = diff_listen(d, &sin);
	c = tcp();
	memset(&peer, 0, sizeof(peer));
	s = ring_sqe(&r, IORING_OP_ACCEPT, l, &peer, 0, (uintptr_t)&len);
	s->accept_flags = SOCK_CLOEXEC;
	ring_submit(&r);
	ring_settle(&r, RING_ORDER);
	ring_sqe(&r, IORING_OP_CONNECT, c, &sin, 0, sizeof(sin));
	ring_submit(&r);
	/* Which comes first is free, and the accepted descriptor differs. */
	a = -1;
	for (int i = 0; i < 2; i++) {
		struct io_uring_cqe cqe;
		int res = ring_one(&r, &cqe);

		if (cqe.user_data == 1) {
			a = res;
			diff_say(d, "accept flags %#x", cqe.flags);
		} else {
			diff_res(d, res, "connect");
		}
	}
	diff_ok(d, a, "accept");
	diff_say(d, "family %d length %u", peer.sin_family, len);
	diff_say(d, "cloexec %d", fcntl(a, F_GETFD));
	close(a);
	close(c);
	close(l);
	ring_close(&r);
}

static void accept_arguments(struct diff *d)
{
	struct sockaddr_in sin;
	struct io_uring_sqe *s;
	struct ring r;
	int l, p[2], c;

	ring_open(d, &r, 8, 0);
	l = diff_listen(d, &sin);
	diff_pipe(d, p);
	c = tcp();
	for (int i = 0; i < 12; i++) {
		diff_say(d, "case %d", i);
		s = ring_sqe(&r, IORING_OP_ACCEPT, l, NULL, 0, 0);
		s->ioprio = IORING_ACCEPT_DONTWAIT;
		switch (i) {
		case 0:
			break;
		case 1:
			s->len = 1;
			break;
		case 2:
			s->buf_index = 1;
			break;
		case 3:
			s->fd = p[0];
			break;
		case 4:
			s->fd = c; /* does not listen */
			break;
		case 5:
			s->fd = -1;
			break;
		case 6:
			s->accept_flags = 1;
			break;
		case 7:
			s->file_index = 1;
			break;
		case 8:
			s->file_index = 1;
			s->accept_flags = SOCK_CLOEXEC;
			break;
		case 9:
			s->ioprio |= IORING_ACCEPT_MULTISHOT;
			s->file_index = 1;
			break;
		case 10:
			s->ioprio = 8;
			break;
		case 11:
			s->ioprio |= IORING_ACCEPT_MULTISHOT;
			s->flags = IOSQE_CQE_SKIP_SUCCESS;
			break;
		default:
			break;
		}
		ring_submit(&r);
		ring_settle(&r, RING_ORDER);
	}
	close(c);
	close(l);
	close(p[0]);
	close(p[1]);
	ring_close(&r);
}

/* Connections that wait before the accept: NONEMPTY when more are there. */
static void accept_nonempty(struct diff *d)
{
	struct sockaddr_in sin;
	struct ring r;
	int l, c[3];

	ring_open(d, &r, 8, 0);
	l = diff_listen(d, &sin);
	for (int i = 0; i < 3; i++) {
		c[i] = tcp();
		diff_must(d, connect(c[i], (void *)&sin, sizeof(sin)), "c");
	}
	for (int i = 0; i < 3; i++) {
		struct io_uring_cqe cqe;

		ring_sqe(&r, IORING_OP_ACCEPT, l, NULL, 0, 0);
		ring_submit(&r);
		close(diff_ok(d, ring_one(&r, &cqe), "accept") >= 0 ? cqe.res :
								      -1);
		diff_say(d, "flags %#x", cqe.flags);
	}
	for (int i = 0; i < 3; i++)
		close(c[i]);
	close(l);
	ring_close(&r);
}

static void accept_multishot(struct diff *d)
{
	struct sockaddr_in sin;
	struct io_uring_sqe *s;
	struct io_uring_cqe cqe;
	struct ring r;
	int l, c;

	ring_open(d, &r, 8, 0);
	l = diff_listen(d, &sin);
	s = ring_sqe(&r, IORING_OP_ACCEPT, l, NULL, 0, 0);
	s->ioprio = IORING_ACCEPT_MULTISHOT;
	s->user_data = 77;
	ring_submit(&r);
	for (int i = 0; i < 3; i++) {
		c = tcp();
		diff_must(d, connect(c, (void *)&sin, sizeof(sin)), "c");
		close(diff_ok(d, ring_one(&r, &cqe), "accept") >= 0 ? cqe.res :
								      -1);
		diff_say(d, "flags %#x", cqe.flags);
		close(c);
	}
	ring_sqe(&r, IORING_OP_ASYNC_CANCEL, -1, (void *)77, 0, 0);
	ring_run(&r, 2, RING_SORTED);
	/* Into the table. */
	diff_res(d,
		 d->be->reg((unsigned int)r.fd, IORING_REGISTER_FILES,
			    (int[]){ -1, -1 }, 2),
		 "register");
	s = ring_sqe(&r, IORING_OP_ACCEPT, l, NULL, 0, 0);
	s->ioprio = IORING_ACCEPT_MULTISHOT;
	s->file_index = IORING_FILE_INDEX_ALLOC;
	ring_submit(&r);
	for (int i = 0; i < 3; i++) {
		c = tcp();
		diff_must(d, connect(c, (void *)&sin, sizeof(sin)), "c");
		ring_wait(&r, 1, RING_ORDER);
		close(c);
	}
	close(l);
	ring_close(&r);
}

static void accept_direct(struct diff *d)
{
	struct sockaddr_in sin;
	struct io_uring_sqe *s;
	struct ring r;
	int l, c;
	char buf[8];

	ring_open(d, &r, 8, 0);
	l = diff_listen(d, &sin);
	d->be->reg((unsigned int)r.fd, IORING_REGISTER_FILES, (int[]){ -1, -1 },
		   2);
	for (uint32_t slot = 1; slot < 5; slot++) {
		c = tcp();
		diff_must(d, connect(c, (void *)&sin, sizeof(sin)), "c");
		s = ring_sqe(&r, IORING_OP_ACCEPT, l, NULL, 0, 0);
		s->file_index = slot == 4 ? IORING_FILE_INDEX_ALLOC : slot;
		ring_run(&r, 1, RING_ORDER);
		if (slot < 3) {
			diff_must(d, write(c, "data", 4), "write");
			s = ring_sqe(&r, IORING_OP_RECV, (int)slot - 1, buf, 8,
				     0);
			s->flags = IOSQE_FIXED_FILE;
			ring_run(&r, 1, RING_ORDER);
		}
		close(c);
	}
	close(l);
	ring_close(&r);
}

static void connect_refused(struct diff *d)
{
	struct sockaddr_in sin;
	struct ring r;
	int l = diff_listen(d, &sin), c;

	close(l);
	ring_open(d, &r, 8, 0);
	c = tcp();
	for (int i = 0; i < 3; i++) {
		ring_sqe(&r, IORING_OP_CONNECT, c, &sin, 0, sizeof(sin));
		ring_run(&r, 1, RING_ORDER);
	}
	close(c);
	ring_close(&r);
}

static void connect_arguments(struct diff *d)
{
	struct sockaddr_in sin;
	struct io_uring_sqe *s;
	struct ring r;
	int l = diff_listen(d, &sin), c, p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	for (int i = 0; i < 14; i++) {
		c = tcp();
		diff_say(d, "case %d", i);
		s = ring_sqe(&r, IORING_OP_CONNECT, c, &sin, 0, sizeof(sin));
		switch (i) {
		case 0:
			s->len = 1;
			break;
		case 1:
			s->buf_index = 1;
			break;
		case 2:
			s->rw_flags = 1;
			break;
		case 3:
			s->splice_fd_in = 1;
			break;
		case 4:
			s->addr = (uintptr_t)diff_bad_ptr();
			break;
		case 5:
			s->off = 129;
			break;
		case 6:
			s->off = 0;
			break;
		case 7:
			s->off = 4;
			break;
		case 8:
			s->fd = p[0];
			break;
		case 9:
			s->fd = -1;
			break;
		case 10:
			s->flags = IOSQE_ASYNC;
			break;
		case 11:
			s->ioprio = 1;
			break;
		case 12:
			s->fd = l;
			break;
		case 13:
			s->off = 1ULL << 32 | sizeof(sin);
			break;
		default:
			break;
		}
		ring_submit(&r);
		ring_wait(&r, 1, RING_ORDER);
		close(c);
	}
	/* Twice. */
	c = tcp();
	ring_sqe(&r, IORING_OP_CONNECT, c, &sin, 0, sizeof(sin));
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_CONNECT, c, &sin, 0, sizeof(sin));
	ring_run(&r, 1, RING_ORDER);
	close(c);
	/* On a socket in non-blocking mode it waits all the same. */
	c = tcp();
	fcntl(c, F_SETFL, O_NONBLOCK);
	ring_sqe(&r, IORING_OP_CONNECT, c, &sin, 0, sizeof(sin));
	ring_run(&r, 1, RING_ORDER);
	close(c);
	close(l);
	close(p[0]);
	close(p[1]);
	ring_close(&r);
}

static void connect_unix(struct diff *d)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX, .sun_path = "s" };
	struct ring r;
	int l = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), c[4];

	ring_open(d, &r, 8, 0);
	c[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ring_sqe(&r, IORING_OP_CONNECT, c[0], &sun, 0, sizeof(sun));
	ring_run(&r, 1, RING_ORDER);
	diff_must(d, bind(l, (void *)&sun, sizeof(sun)), "bind");
	ring_sqe(&r, IORING_OP_CONNECT, c[0], &sun, 0, sizeof(sun));
	ring_run(&r, 1, RING_ORDER);
	diff_must(d, listen(l, 0), "listen");
	ring_sqe(&r, IORING_OP_CONNECT, c[0], &sun, 0, sizeof(sun));
	ring_run(&r, 1, RING_ORDER);
	close(c[0]);
	close(l);
	ring_close(&r);
}

/* Flags, on sockets with and without data, stream and datagram. */
static void recv_flags(struct diff *d)
{
	static const uint32_t flags[] = { 0,
					  MSG_DONTWAIT,
					  MSG_PEEK,
					  MSG_WAITALL,
					  MSG_TRUNC,
					  MSG_OOB,
					  MSG_WAITALL | MSG_DONTWAIT };
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	struct ring r;

	ring_open(d, &r, 8, 0);
	for (size_t t = 0; t < AU_ARRAY_SIZE(types); t++) {
		for (size_t f = 0; f < AU_ARRAY_SIZE(flags); f++) {
			for (int state = 0; state < 4; state++) {
				struct io_uring_sqe *s;
				char buf[8] = "";
				int sv[2];

				diff_say(d, "type %d flags %#x state %d",
					 types[t], flags[f], state);
				diff_socketpair(d, types[t], sv);
				if (state == 1 || state == 2)
					diff_must(d, write(sv[1], "abcd", 4),
						  "write");
				if (state == 2 && types[t] != SOCK_DGRAM)
					close(sv[1]);
				if (state == 3)
					fcntl(sv[0], F_SETFL, O_NONBLOCK);
				s = ring_sqe(&r, IORING_OP_RECV, sv[0], buf, 6,
					     0);
				s->msg_flags = flags[f];
				ring_submit(&r);
				ring_settle(&r, RING_ORDER);
				if (state != 2 || types[t] == SOCK_DGRAM)
					diff_must(d, write(sv[1], "efgh", 4),
						  "write");
				ring_settle(&r, RING_ORDER);
				diff_bytes(d, "buf", buf, 6);
				d->be->close(sv[0]);
				if (state != 2 || types[t] == SOCK_DGRAM)
					close(sv[1]);
				ring_settle(&r, RING_QUIET);
				if (r.tail != *r.cq_tail) {
					ring_sqe(&r, IORING_OP_ASYNC_CANCEL, -1,
						 NULL, 0, 0)
						->cancel_flags =
						IORING_ASYNC_CANCEL_ANY;
					ring_submit(&r);
					ring_settle(&r, RING_QUIET);
				}
			}
		}
	}
	ring_close(&r);
}

static void send_and_recv(struct diff *d)
{
	struct ring r;
	char buf[16] = "";
	int sv[2];

	signal(SIGPIPE, SIG_DFL);
	diff_socketpair(d, SOCK_STREAM, sv);
	ring_open(d, &r, 8, 0);
	ring_sqe(&r, IORING_OP_RECV, sv[0], buf, 16, 0);
	ring_submit(&r);
	ring_sqe(&r, IORING_OP_SEND, sv[1], "hello", 5, 0);
	ring_run(&r, 2, RING_SORTED);
	diff_bytes(d, "got", buf, 5);
	ring_sqe(&r, IORING_OP_SEND, sv[1], "", 0, 0);
	ring_run(&r, 1, RING_SORTED);
	ring_sqe(&r, IORING_OP_RECV, sv[0], buf, 0, 0);
	ring_submit(&r);
	ring_settle(&r, RING_ORDER);
	ring_sqe(&r, IORING_OP_SHUTDOWN, sv[1], NULL, SHUT_WR, 0);
	ring_run(&r, 2, RING_SORTED);
	ring_sqe(&r, IORING_OP_RECV, sv[0], buf, 16, 0);
	ring_run(&r, 1, RING_ORDER);
	close(sv[0]);
	/* Nobody there: no signal, an error. */
	ring_sqe(&r, IORING_OP_SEND, sv[1], "x", 1, 0);
	ring_run(&r, 1, RING_ORDER);
	close(sv[1]);
	ring_close(&r);
}

static void send_arguments(struct diff *d)
{
	static const uint8_t op[] = { IORING_OP_SEND, IORING_OP_RECV,
				      IORING_OP_SENDMSG, IORING_OP_RECVMSG };
	char buf[8] = "data";
	struct iovec iov = { buf, 4 };
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	for (size_t k = 0; k < AU_ARRAY_SIZE(op); k++) {
		for (int i = 0; i < 16; i++) {
			struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
			struct io_uring_sqe *s;
			int sv[2];

			diff_socketpair(d, SOCK_STREAM, sv);
			diff_must(d, write(sv[1], "abcd", 4), "write");
			diff_say(d, "op %u case %d", op[k], i);
			s = ring_sqe(&r, op[k], sv[0], k < 2 ? (void *)buf : &m,
				     k < 2 ? 4 : 1, 0);
			switch (i) {
			case 0:
				break;
			case 1:
				s->buf_index = 1;
				break;
			case 2:
				s->off = 1;
				break;
			case 3:
				s->splice_fd_in = 1 << 16;
				break;
			case 4:
				s->addr3 = 1;
				break;
			case 5:
				s->fd = p[0];
				break;
			case 6:
				s->fd = -1;
				break;
			case 7:
				s->addr = (uintptr_t)diff_bad_ptr();
				break;
			case 8:
				s->len = 0;
				break;
			case 9:
				s->flags = IOSQE_ASYNC;
				break;
			case 10:
				s->ioprio = 1 << 8;
				break;
			case 11:
				s->ioprio = IORING_RECVSEND_POLL_FIRST;
				break;
			case 12:
				s->msg_flags = 1U << 31;
				break;
			case 13:
				s->personality = 5;
				break;
			case 14:
				s->flags = IOSQE_FIXED_FILE;
				break;
			case 15:
				s->len = 0x7fffffff;
				if (k != 1)
					s->len = 4;
				break;
			default:
				break;
			}
			ring_submit(&r);
			ring_settle(&r, RING_ORDER);
			close(sv[0]);
			close(sv[1]);
			ring_settle(&r, RING_QUIET);
		}
	}
	close(p[0]);
	close(p[1]);
	ring_close(&r);
}

static void messages(struct diff *d)
{
	struct ring r;
	int sv[2], p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	for (int late = 0; late < 3; late++) {
		union {
			char b[CMSG_SPACE(sizeof(int))];
			struct cmsghdr h;
		} c, in;

		char a[4] = "", b[4] = "", data[] = "abcdef";
		struct iovec iov[2] = { { a, 4 }, { b, 4 } };
		struct iovec out = { data, 6 };
		struct msghdr m = { .msg_iov = &out,
				    .msg_iovlen = 1,
				    .msg_control = &c,
				    .msg_controllen = sizeof(c) };
		struct msghdr n = { .msg_iov = iov,
				    .msg_iovlen = 2,
				    .msg_control = &in,
				    .msg_controllen = sizeof(in) };

		diff_say(d, "late %d", late);
		diff_socketpair(d, SOCK_STREAM, sv);
		memset(&c, 0, sizeof(c));
		memset(&in, 0, sizeof(in));
		c.h.cmsg_len = CMSG_LEN(sizeof(int));
		c.h.cmsg_level = SOL_SOCKET;
		c.h.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&c.h), &p[0], sizeof(int));
		if (late == 1) {
			ring_sqe(&r, IORING_OP_RECVMSG, sv[0], &n, 1, 0);
			ring_submit(&r);
		}
		ring_sqe(&r, IORING_OP_SENDMSG, sv[1], &m, 1, 0)->flags =
			late == 2 ? IOSQE_ASYNC : 0;
		ring_run(&r, late == 1 ? 2 : 1, RING_SORTED);
		if (late != 1) {
			ring_sqe(&r, IORING_OP_RECVMSG, sv[0], &n, 1, 0)->flags =
				late == 2 ? IOSQE_ASYNC : 0;
			ring_run(&r, 1, RING_ORDER);
		}
		diff_bytes(d, "a", a, 4);
		diff_bytes(d, "b", b, 4);
		diff_say(d, "control %zu flags %#x name %u",
			 (size_t)n.msg_controllen, n.msg_flags, n.msg_namelen);
		if (in.h.cmsg_len) {
			int fd;

			memcpy(&fd, CMSG_DATA(&in.h), sizeof(fd));
			diff_ok(d, close(fd), "passed descriptor");
		}
		close(sv[0]);
		close(sv[1]);
	}
	close(p[0]);
	close(p[1]);
	ring_close(&r);
}

static void udp_names(struct diff *d)
{
	struct sockaddr_in sin = { .sin_family = AF_INET }, from;
	socklen_t len = sizeof(sin);
	char buf[4] = "", data[] = "abcdef";
	struct iovec iov = { buf, 4 }, out = { data, 6 };
	struct msghdr m = { 0 };
	struct io_uring_sqe *s;
	struct ring r;
	int a, b;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ring_open(d, &r, 8, 0);
	a = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	b = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	diff_must(d, bind(a, (void *)&sin, sizeof(sin)), "bind");
	diff_must(d, getsockname(a, (void *)&sin, &len), "name");
	for (int late = 0; late < 2; late++) {
		memset(&from, 0, sizeof(from));
		m = (struct msghdr){ .msg_name = &from,
				     .msg_namelen = sizeof(from),
				     .msg_iov = &iov,
				     .msg_iovlen = 1 };
		if (late) {
			ring_sqe(&r, IORING_OP_RECVMSG, a, &m, 1, 0);
			ring_submit(&r);
		}
		/* Destination by SEND's own field. */
		s = ring_sqe(&r, IORING_OP_SEND, b, data, 6, 0);
		s->addr2 = (uintptr_t)&sin;
		s->addr_len = sizeof(sin);
		ring_run(&r, late ? 2 : 1, RING_SORTED);
		if (!late) {
			ring_sqe(&r, IORING_OP_RECVMSG, a, &m, 1, 0);
			ring_run(&r, 1, RING_ORDER);
		}
		diff_say(d, "family %d namelen %u flags %#x", from.sin_family,
			 m.msg_namelen, m.msg_flags);
		diff_bytes(d, "buf", buf, 4);
	}
	/* And by the message's. */
	m = (struct msghdr){ .msg_name = &sin,
			     .msg_namelen = sizeof(sin),
			     .msg_iov = &out,
			     .msg_iovlen = 1 };
	for (int i = 0; i < 6; i++) {
		struct sockaddr_in bad = sin;

		diff_say(d, "case %d", i);
		m.msg_namelen = i == 1 ? 129 : i == 2 ? 4 : sizeof(sin);
		m.msg_name = i == 3 ? diff_bad_ptr() : &bad;
		m.msg_iovlen = i == 4 ? 1025 : 1;
		if (i == 5)
			m.msg_namelen = (socklen_t)-1;
		ring_sqe(&r, IORING_OP_SENDMSG, b, &m, 1, 0);
		ring_submit(&r);
		ring_settle(&r, RING_ORDER);
		s = ring_sqe(&r, IORING_OP_SEND, b, data, 6, 0);
		s->addr2 = (uintptr_t)m.msg_name;
		s->addr_len = (uint16_t)m.msg_namelen;
		ring_submit(&r);
		ring_settle(&r, RING_ORDER);
	}
	close(a);
	close(b);
	ring_close(&r);
}

static void waitall(struct diff *d)
{
	static char big[1 << 20], out[1 << 20];
	struct iovec iov[2] = { { out, 5 }, { out + 5, 5 } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	struct io_uring_sqe *s;
	struct ring r;
	int sv[2];

	ring_open(d, &r, 8, 0);
	diff_socketpair(d, SOCK_STREAM, sv);
	s = ring_sqe(&r, IORING_OP_RECV, sv[0], out, 10, 0);
	s->msg_flags = MSG_WAITALL;
	ring_submit(&r);
	for (int i = 0; i < 3; i++) {
		diff_must(d, write(sv[1], "abcd", 4), "write");
		ring_settle(&r, RING_ORDER);
	}
	diff_res(d, recv(sv[0], out + 100, 10, MSG_DONTWAIT), "rest");
	diff_bytes(d, "out", out, 10);
	memset(out, 0, 10);
	s = ring_sqe(&r, IORING_OP_RECVMSG, sv[0], &m, 1, 0);
	s->msg_flags = MSG_WAITALL;
	ring_submit(&r);
	for (int i = 0; i < 3; i++) {
		diff_must(d, write(sv[1], "abcd", 4), "write");
		ring_settle(&r, RING_ORDER);
	}
	diff_bytes(d, "out", out, 10);
	diff_res(d, recv(sv[0], out + 100, 10, MSG_DONTWAIT), "rest");
	/* Cut off by the end. */
	s = ring_sqe(&r, IORING_OP_RECV, sv[0], out, 10, 0);
	s->msg_flags = MSG_WAITALL;
	ring_submit(&r);
	diff_must(d, write(sv[1], "ab", 2), "write");
	ring_settle(&r, RING_ORDER);
	close(sv[1]);
	ring_wait(&r, 1, RING_ORDER);
	close(sv[0]);
	/* A send longer than the socket's buffer. */
	diff_socketpair(d, SOCK_STREAM, sv);
	s = ring_sqe(&r, IORING_OP_SEND, sv[1], big, sizeof(big), 0);
	s->msg_flags = MSG_WAITALL;
	ring_submit(&r);
	ring_settle(&r, RING_ORDER);
	for (size_t n = 0; n < sizeof(big);) {
		ssize_t k = recv(sv[0], out, sizeof(out), 0);

		diff_must(d, k, "recv");
		n += (size_t)k;
		ring_enter(&r, 0, 0, IORING_ENTER_GETEVENTS);
	}
	ring_wait(&r, 1, RING_ORDER);
	close(sv[0]);
	close(sv[1]);
	ring_close(&r);
}

static void shutdowns(struct diff *d)
{
	struct io_uring_sqe *s;
	struct ring r;
	int sv[2], p[2], c;

	diff_pipe(d, p);
	diff_socketpair(d, SOCK_STREAM, sv);
	c = tcp();
	ring_open(d, &r, 8, 0);
	for (unsigned int how = 0; how < 4; how++) {
		ring_sqe(&r, IORING_OP_SHUTDOWN, sv[0], NULL, how, 0);
		ring_run(&r, 1, RING_ORDER);
	}
	ring_sqe(&r, IORING_OP_SHUTDOWN, p[0], NULL, 0, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_SHUTDOWN, c, NULL, 0, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_SHUTDOWN, -1, NULL, 0, 0);
	ring_run(&r, 1, RING_ORDER);
	for (int i = 0; i < 7; i++) {
		s = ring_sqe(&r, IORING_OP_SHUTDOWN, sv[0], NULL, 0, 0);
		s->off = i == 0;
		s->addr = i == 1;
		s->rw_flags = i == 2;
		s->buf_index = i == 3;
		s->splice_fd_in = i == 4;
		s->ioprio = i == 5;
		s->flags = i == 6 ? IOSQE_ASYNC : 0;
		ring_run(&r, 1, RING_ORDER);
	}
	close(c);
	close(sv[0]);
	close(sv[1]);
	close(p[0]);
	close(p[1]);
	ring_close(&r);
}

static void sockets(struct diff *d)
{
	static const struct {
		int domain, type, protocol;
	} t[] = { { AF_INET, SOCK_STREAM, 0 },
		  { AF_UNIX, SOCK_DGRAM, 0 },
		  { AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0 },
		  { 999, SOCK_STREAM, 0 },
		  { AF_INET, 14, 0 },
		  { AF_INET, SOCK_STREAM, 999 },
		  { AF_INET, SOCK_STREAM | 1 << 20, 0 },
		  { -1, SOCK_STREAM, 0 } };
	struct io_uring_sqe *s;
	struct ring r;

	ring_open(d, &r, 8, 0);
	for (size_t i = 0; i < AU_ARRAY_SIZE(t); i++) {
		int fd;

		ring_sqe(&r, IORING_OP_SOCKET, t[i].domain, NULL,
			 (uint32_t)t[i].protocol, (uint64_t)t[i].type);
		ring_submit(&r);
		fd = ring_one(&r, NULL);
		diff_ok(d, fd, "socket %zu", i);
		if (fd < 0)
			continue;
		diff_say(d, "nonblock %d cloexec %d",
			 !!(fcntl(fd, F_GETFL) & O_NONBLOCK),
			 fcntl(fd, F_GETFD));
		close(fd);
	}
	for (int i = 0; i < 9; i++) {
		int fd;

		s = ring_sqe(&r, IORING_OP_SOCKET, AF_INET, NULL, 0,
			     SOCK_STREAM);
		s->addr = i == 0;
		s->rw_flags = i == 1;
		s->buf_index = i == 2;
		s->file_index = i == 3 || i == 6 ? 1 : 0;
		s->ioprio = i == 4;
		s->flags = i == 5 ? IOSQE_FIXED_FILE : 0;
		if (i == 6)
			s->off |= SOCK_CLOEXEC;
		if (i == 7)
			s->file_index = IORING_FILE_INDEX_ALLOC;
		if (i == 8)
			s->flags = IOSQE_ASYNC;
		ring_submit(&r);
		fd = ring_one(&r, NULL);
		diff_ok(d, fd, "field %d", i);
		close(fd);
	}
	d->be->reg((unsigned int)r.fd, IORING_REGISTER_FILES, (int[]){ -1, -1 },
		   2);
	for (int i = 0; i < 5; i++) {
		s = ring_sqe(&r, IORING_OP_SOCKET, AF_INET, NULL, 0,
			     SOCK_STREAM);
		s->file_index = i == 3 ? 1 :
				i == 4 ? 9 :
					 IORING_FILE_INDEX_ALLOC;
		ring_run(&r, 1, RING_ORDER);
	}
	ring_close(&r);
}

static void cancel_waiting(struct diff *d)
{
	struct sockaddr_in sin;
	char buf[8];
	struct iovec iov = { buf, 8 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct ring r;
	int sv[2], l;

	l = diff_listen(d, &sin);
	diff_socketpair(d, SOCK_STREAM, sv);
	ring_open(d, &r, 8, 0);
	for (int async = 0; async < 2; async++) {
		uint8_t fl = async ? IOSQE_ASYNC : 0;

		ring_sqe(&r, IORING_OP_RECV, sv[0], buf, 8, 0)->flags = fl;
		ring_sqe(&r, IORING_OP_RECVMSG, sv[0], &m, 1, 0)->flags = fl;
		ring_sqe(&r, IORING_OP_ACCEPT, l, NULL, 0, 0)->flags = fl;
		ring_submit(&r);
		ring_settle(&r, RING_SORTED);
		ring_sqe(&r, IORING_OP_ASYNC_CANCEL, -1, NULL, 0, 0)
			->cancel_flags = IORING_ASYNC_CANCEL_ANY;
		ring_run(&r, 4, RING_SORTED);
	}
	close(sv[0]);
	close(sv[1]);
	close(l);
	ring_close(&r);
}

static const struct diff_test tests[] = {
	{ "accept_connect", accept_connect, DIFF_ALL },
	{ "accept_arguments", accept_arguments, 0 },
	{ "accept_nonempty", accept_nonempty, DIFF_SYNC },
	{ "accept_multishot", accept_multishot, DIFF_SYNC },
	{ "accept_direct", accept_direct, DIFF_SYNC },
	{ "connect_refused", connect_refused, DIFF_ALL },
	{ "connect_arguments", connect_arguments, 0 },
	{ "connect_unix", connect_unix, DIFF_SYNC },
	{ "recv_flags", recv_flags, DIFF_PLAIN | DIFF_DEFER },
	{ "send_and_recv", send_and_recv, DIFF_ALL },
	{ "send_arguments", send_arguments, 0 },
	{ "messages", messages, DIFF_SYNC },
	{ "udp_names", udp_names, DIFF_SYNC },
	{ "waitall", waitall, DIFF_SYNC },
	{ "shutdowns", shutdowns, 0 },
	{ "sockets", sockets, 0 },
	{ "cancel_waiting", cancel_waiting, DIFF_SYNC },
};

DIFF_MAIN(tests)
