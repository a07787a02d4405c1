/* SPDX-License-Identifier: MIT */
/* Description: futexes, waitid, epoll, socket commands, zero-copy sends. */
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "diff.h"

#define U32     2 /* FUTEX2_SIZE_U32 */
#define PRIVATE 128 /* FUTEX2_PRIVATE */

static uint32_t words[3];

static struct io_uring_sqe *futex(struct ring *r, uint8_t op, uint32_t *word,
				  uint64_t val, uint64_t mask, uint32_t flags)
{
	struct io_uring_sqe *s = ring_sqe(r, op, (int)flags, word, 0, val);

	s->addr3 = mask;
	return s;
}

static void cancel(struct ring *r, uint64_t user_data)
{
	ring_sqe(r, IORING_OP_ASYNC_CANCEL, -1, au_ptr(user_data), 0, 0);
	ring_run(r, 2, RING_SORTED);
}

static void futex_errors(struct diff *d)
{
	static const uint32_t flags[] = { 0, 1, 3, U32, U32 | PRIVATE, 0x1002 };
	struct ring r;

	ring_open(d, &r, 4, 0);
	for (size_t i = 0; i < AU_ARRAY_SIZE(flags); i++) {
		for (int wait = 0; wait < 2; wait++) {
			uint8_t op = wait ? IORING_OP_FUTEX_WAIT :
					    IORING_OP_FUTEX_WAKE;

			futex(&r, op, words, 1, UINT32_MAX, flags[i]);
			ring_run(&r, 1, RING_ORDER);
			futex(&r, op, words, 1, 0, flags[i]);
			ring_run(&r, 1, RING_ORDER);
			futex(&r, op, words, 1, UINT64_MAX, flags[i]);
			ring_run(&r, 1, RING_ORDER);
			futex(&r, op, words, 1ULL << 32, 1, flags[i]);
			ring_run(&r, 1, RING_ORDER);
			futex(&r, op, NULL, 1, UINT32_MAX, flags[i]);
			ring_run(&r, 1, RING_ORDER);
			futex(&r, op, (void *)((char *)words + 1), 1,
			      UINT32_MAX, flags[i]);
			ring_run(&r, 1, RING_ORDER);
		}
	}
	ring_close(&r);
}

static void futex_order(struct diff *d)
{
	struct ring r;

	ring_open(d, &r, 8, 0);
	for (uint32_t flags = U32; flags <= (U32 | PRIVATE); flags += PRIVATE) {
		for (int i = 0; i < 3; i++)
			futex(&r, IORING_OP_FUTEX_WAIT, words, 0, UINT32_MAX,
			      flags);
		ring_submit(&r);
		futex(&r, IORING_OP_FUTEX_WAKE, words, 0, UINT32_MAX, flags);
		ring_run(&r, 1, RING_ORDER);
		futex(&r, IORING_OP_FUTEX_WAKE, words, 1, UINT32_MAX, flags);
		ring_run(&r, 2, RING_SORTED);
		diff_res(d,
			 syscall(SYS_futex, words,
				 FUTEX_WAKE | (int)(flags & PRIVATE), 9, NULL,
				 NULL, 0),
			 "woken");
		ring_wait(&r, 2, RING_SORTED);
	}
	futex(&r, IORING_OP_FUTEX_WAIT, words, 0, UINT32_MAX, U32);
	ring_submit(&r);
	cancel(&r, 11);
	ring_close(&r);
}

static void futex_several(struct diff *d)
{
	struct {
		uint64_t val, addr;
		uint32_t flags, reserved;
	} w[3];
	struct ring r;

	for (int i = 0; i < 3; i++) {
		memset(&w[i], 0, sizeof(w[i]));
		w[i].addr = (uintptr_t)&words[i];
		w[i].flags = U32 | PRIVATE;
	}
	ring_open(d, &r, 8, 0);
	ring_sqe(&r, IORING_OP_FUTEX_WAITV, 0, w, 0, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_FUTEX_WAITV, 0, w, 129, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_FUTEX_WAITV, 0, NULL, 1, 0);
	ring_run(&r, 1, RING_ORDER);
	w[1].val = 1;
	ring_sqe(&r, IORING_OP_FUTEX_WAITV, 0, w, 3, 0);
	ring_run(&r, 1, RING_ORDER);
	w[1].val = 0;
	for (int i = 0; i < 3; i++) {
		ring_sqe(&r, IORING_OP_FUTEX_WAITV, 0, w, 3, 0);
		ring_submit(&r);
		futex(&r, IORING_OP_FUTEX_WAKE, &words[i], 1, UINT32_MAX,
		      U32 | PRIVATE);
		ring_run(&r, 2, RING_SORTED);
	}
	ring_sqe(&r, IORING_OP_FUTEX_WAITV, 0, w, 3, 0);
	ring_submit(&r);
	cancel(&r, 11);
	ring_close(&r);
}

static pid_t child(int code, unsigned int ms)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	usleep(ms * 1000);
	_exit(code);
}

static struct io_uring_sqe *wait_sqe(struct ring *r, int which, pid_t pid,
				     void *info, int options)
{
	struct io_uring_sqe *s = ring_sqe(r, IORING_OP_WAITID, pid, NULL,
					  (uint32_t)which, (uintptr_t)info);

	s->file_index = (uint32_t)options;
	return s;
}

static void waits(struct diff *d)
{
	siginfo_t info = { 0 };
	struct ring r;
	pid_t pid;

	ring_open(d, &r, 8, 0);
	wait_sqe(&r, P_ALL, 0, &info, WEXITED);
	ring_run(&r, 1, RING_ORDER); /* no child */
	pid = child(7, 50);
	wait_sqe(&r, P_PID, pid, &info, 0);
	ring_run(&r, 1, RING_ORDER);
	wait_sqe(&r, P_PID, pid, &info, WEXITED | WNOHANG);
	ring_run(&r, 1, RING_ORDER);
	wait_sqe(&r, P_PID, pid, &info, WEXITED);
	ring_submit(&r);
	cancel(&r, 4);
	wait_sqe(&r, P_PID, pid, &info, WEXITED);
	ring_run(&r, 1, RING_ORDER);
	diff_say(d, "pid %d status %d", info.si_pid == pid, info.si_status);
	pid = child(1, 0);
	wait_sqe(&r, P_PID, pid, (void *)0x1234, WEXITED);
	ring_run(&r, 1, RING_ORDER); /* reaped all the same */
	wait_sqe(&r, P_PID, pid, &info, WEXITED);
	ring_run(&r, 1, RING_ORDER);
	pid = child(1, 0);
	wait_sqe(&r, P_PID, pid, NULL, WEXITED);
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
}

static void epolls(struct diff *d)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = 5 }, out[2];
	int ep = epoll_create1(0), p[2];
	struct ring r;
	char c;

	diff_pipe(d, p);
	epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &ev);
	ring_open(d, &r, 8, 0);
	ring_sqe(&r, IORING_OP_EPOLL_WAIT, p[0], out, 2, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_EPOLL_WAIT, ep, out, 0, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_EPOLL_WAIT, ep, out, 2, 0);
	ring_submit(&r);
	diff_must(d, write(p[1], "x", 1), "write");
	ring_wait(&r, 1, RING_ORDER);
	diff_say(d, "data %d", (int)out[0].data.u64);
	ring_sqe(&r, IORING_OP_EPOLL_WAIT, ep, out, 2, 0);
	ring_run(&r, 1, RING_ORDER); /* level: still there */
	diff_must(d, read(p[0], &c, 1), "read");
	ring_sqe(&r, IORING_OP_EPOLL_WAIT, ep, out, 2, 0);
	ring_submit(&r);
	cancel(&r, 5);
	ring_close(&r);
	close(ep);
	close(p[0]);
	close(p[1]);
}

static struct io_uring_sqe *command(struct ring *r, int fd, uint32_t op,
				    uint32_t level, uint32_t name, void *val,
				    uint32_t len)
{
	struct io_uring_sqe *s =
		ring_sqe(r, IORING_OP_URING_CMD, fd, NULL, 0, op);

	s->level = level;
	s->optname = name;
	s->optval = (uintptr_t)val;
	s->optlen = len;
	return s;
}

static void commands(struct diff *d)
{
	int t = socket(AF_INET, SOCK_STREAM, 0), p[2], sp[2], val = 0;
	struct ring r;

	diff_pipe(d, p);
	diff_socketpair(d, SOCK_STREAM, sp);
	ring_open(d, &r, 8, 0);
	for (uint32_t op = 0; op < 3; op++) {
		command(&r, t, op, SOL_SOCKET, SO_TYPE, &val, sizeof(val));
		ring_run(&r, 1, RING_ORDER);
		command(&r, sp[0], op, SOL_SOCKET, SO_TYPE, &val, sizeof(val));
		ring_run(&r, 1, RING_ORDER);
		command(&r, p[0], op, SOL_SOCKET, SO_TYPE, &val, sizeof(val));
		ring_run(&r, 1, RING_ORDER);
	}
	diff_say(d, "type %d", val);
	val = 1;
	command(&r, t, SOCKET_URING_OP_SETSOCKOPT, SOL_SOCKET, SO_REUSEADDR,
		&val, sizeof(val));
	ring_run(&r, 1, RING_ORDER);
	command(&r, t, SOCKET_URING_OP_GETSOCKOPT, IPPROTO_TCP, 1, &val,
		sizeof(val));
	ring_run(&r, 1, RING_ORDER);
	command(&r, t, 77, 0, 0, NULL, 0);
	ring_run(&r, 1, RING_ORDER);
	command(&r, t, 0, 0, 0, NULL, 0)->pad1 = 1;
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
	close(t);
	for (int i = 0; i < 2; i++) {
		close(p[i]);
		close(sp[i]);
	}
}

static void zero_copy(struct diff *d)
{
	struct sockaddr_in sin;
	static char buf[8192];
	struct iovec iov = { buf, 4096 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	int l = diff_listen(d, &sin), c = socket(AF_INET, SOCK_STREAM, 0), s;
	struct io_uring_sqe *q;
	struct ring r;

	diff_must(d, connect(c, (void *)&sin, sizeof(sin)), "connect");
	s = accept(l, NULL, NULL);
	ring_open(d, &r, 8, 0);
	diff_must(d,
		  d->be->reg((unsigned int)r.fd, IORING_REGISTER_BUFFERS, &iov,
			     1),
		  "buffers");
	for (uint16_t flags = 0; flags < 64; flags++) {
		ring_sqe(&r, IORING_OP_SEND_ZC, c, buf, 100, 0)->ioprio =
			flags & ~(uint16_t)IORING_SEND_VECTORIZED;
		ring_submit(&r);
		ring_settle(&r, RING_ORDER);
	}
	q = ring_sqe(&r, IORING_OP_SEND_ZC, c, buf + 4096, 1, 0);
	q->ioprio = IORING_RECVSEND_FIXED_BUF;
	ring_run(&r, 2, RING_ORDER);
	ring_sqe(&r, IORING_OP_SEND_ZC, c, buf, 1, 0)->flags =
		IOSQE_CQE_SKIP_SUCCESS;
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_SENDMSG_ZC, c, &m, 1, 0);
	ring_run(&r, 2, RING_ORDER);
	ring_sqe(&r, IORING_OP_SENDMSG_ZC, c, NULL, 1, 0);
	ring_run(&r, 2, RING_ORDER);
	ring_close(&r);
	close(l);
	close(c);
	close(s);
}

static const struct diff_test tests[] = {
	{ "futex_errors", futex_errors, DIFF_PLAIN },
	{ "futex_order", futex_order, DIFF_PLAIN | DIFF_DEFER | DIFF_COOP },
	{ "futex_several", futex_several, DIFF_PLAIN | DIFF_DEFER },
	{ "waits", waits, DIFF_PLAIN | DIFF_DEFER },
	{ "epolls", epolls, DIFF_SYNC },
	{ "commands", commands, DIFF_PLAIN | DIFF_DEFER },
	{ "zero_copy", zero_copy, DIFF_PLAIN | DIFF_DEFER },
};

DIFF_MAIN(tests)
