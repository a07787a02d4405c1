/* SPDX-License-Identifier: MIT */
/*
 * Description: hundreds of connections over one listener, echoed by a ring, with
 * clients that come, talk and go as they like, random cancels, and descriptors
 * closed while requests pend on them. Every request completes exactly once, and
 * what comes back is what was sent.
 */
#include "stress.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NR_CONNS   256
#define NR_CLIENTS 2
#define ACCEPT	   UINT32_MAX
#define IGNORED	   (UINT32_MAX - 1)

enum state {
	FREE,
	RECV,
	SEND,
};

struct conn {
	enum state state;
	int fd;
	bool gone; /* closed while a request pends */
	char buf[256];
};

static struct st_ring ring;
static struct conn conns[NR_CONNS];
static int listener;
static struct sockaddr_in addr;
static uint64_t nr_submitted, nr_echoed, nr_accepted;
static bool accepting;
static unsigned int nr_live;

static void submit(void)
{
	for (int i = 0; i < 1000; i++) {
		int r = st_enter(&ring, 0, 0);

		if (r < 0 && r != -EAGAIN && r != -EINTR)
			st_fail("enter: %s", strerror(-r));
		if (ring.tail == __atomic_load_n(ring.sq_head, __ATOMIC_ACQUIRE))
			return;
	}
	st_fail("SQEs stay");
}

static struct io_uring_sqe *add(uint8_t op, int fd, const void *p, uint32_t len,
				uint64_t user_data)
{
	struct io_uring_sqe *sqe;

	if (ring.tail - __atomic_load_n(ring.sq_head, __ATOMIC_ACQUIRE) >=
	    ring.p.sq_entries)
		submit();
	sqe = st_prep(&ring, op, fd, p, len, 0, user_data);
	nr_submitted++;
	return sqe;
}

static void add_accept(void)
{
	accepting = true;
	add(IORING_OP_ACCEPT, listener, NULL, 0, ACCEPT);
}

static void add_recv(uint32_t i)
{
	conns[i].state = RECV;
	add(IORING_OP_RECV, conns[i].fd, conns[i].buf, sizeof(conns[i].buf), i);
}

static void conn_close(struct conn *c)
{
	if (!c->gone)
		ST_CHECK(anyuring_close(c->fd) == 0);
	c->gone = false;
	c->state = FREE;
	nr_live--;
}

static void accepted(int fd)
{
	accepting = false;
	if (fd < 0)
		return;
	nr_accepted++;
	for (uint32_t i = 0; i < NR_CONNS; i++) {
		if (conns[i].state != FREE)
			continue;
		conns[i].fd = fd;
		nr_live++;
		add_recv(i);
		return;
	}
	(void)anyuring_close(fd); /* full */
}

static void completed(const struct io_uring_cqe *cqe)
{
	uint32_t i = (uint32_t)cqe->user_data;
	struct conn *c = &conns[i];

	if (i == IGNORED)
		return;
	if (i == ACCEPT) {
		accepted(cqe->res);
		return;
	}
	ST_CHECK(i < NR_CONNS && c->state != FREE);
	if (cqe->res <= 0 || c->gone) {
		conn_close(c);
		return;
	}
	if (c->state == RECV) {
		c->state = SEND;
		add(IORING_OP_SEND, c->fd, c->buf, (uint32_t)cqe->res, i)
			->msg_flags = MSG_NOSIGNAL | MSG_WAITALL;
	} else {
		nr_echoed++;
		add_recv(i);
	}
}

static void mischief(struct st_rng *r)
{
	uint32_t i = st_below(r, NR_CONNS);
	struct conn *c = &conns[i];

	if (c->state == FREE || c->gone)
		return;
	switch (st_below(r, 4)) {
	case 0:
		add(IORING_OP_ASYNC_CANCEL, -1, (void *)(uintptr_t)i, 0,
		    IGNORED);
		break;
	case 1:
		add(IORING_OP_ASYNC_CANCEL, c->fd, NULL, 0, IGNORED)
			->cancel_flags = IORING_ASYNC_CANCEL_FD |
					 IORING_ASYNC_CANCEL_ALL;
		break;
	case 2: /* the request keeps the file; the client ends it */
		submit();
		ST_CHECK(anyuring_close(c->fd) == 0);
		c->gone = true;
		break;
	default:
		add(IORING_OP_SHUTDOWN, c->fd, NULL, SHUT_RDWR, IGNORED);
	}
}

static void *client(void *arg)
{
	struct st_rng r = st_rng(100 + (uintptr_t)arg);
	int fds[64];

	memset(fds, -1, sizeof(fds));
	while (st_going()) {
		uint32_t i = st_below(&r, 64), len = 1 + st_below(&r, 200);
		struct timeval tv = { .tv_usec = 200000 };
		char out[200], in[200];
		ssize_t n;

		if (fds[i] < 0) {
			fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
			ST_CHECK(fds[i] >= 0);
			setsockopt(fds[i], SOL_SOCKET, SO_RCVTIMEO, &tv,
				   sizeof(tv));
			if (connect(fds[i], (void *)&addr, sizeof(addr))) {
				close(fds[i]);
				fds[i] = -1;
				continue;
			}
		}
		memset(out, (int)('a' + i % 26), len);
		n = send(fds[i], out, len, MSG_NOSIGNAL);
		/* Or leaves without reading. */
		if (n == (ssize_t)len && st_one_in(&r, 2) &&
		    recv(fds[i], in, len, MSG_WAITALL) == n &&
		    memcmp(in, out, len))
			st_fail("connection %u: an echo of another", i);
		/* What was not read would be taken for a later echo. */
		close(fds[i]);
		fds[i] = -1;
	}
	return NULL;
}

static void reap(void)
{
	struct io_uring_cqe cqe;

	while (st_cqe(&ring, &cqe))
		completed(&cqe);
}

int main(void)
{
	struct st_rng r;
	struct io_uring_params p = { .flags = IORING_SETUP_CQSIZE,
				     .cq_entries = 4096 };
	socklen_t len = sizeof(addr);
	pthread_t t[NR_CLIENTS];
	unsigned int before;

	st_begin("stress-sockets", 60);
	r = st_rng(1);
	st_warm_up();
	before = st_fds();
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	addr = (struct sockaddr_in){ .sin_family = AF_INET };
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ST_CHECK(!bind(listener, (void *)&addr, sizeof(addr)));
	ST_CHECK(!listen(listener, 512));
	ST_CHECK(!getsockname(listener, (void *)&addr, &len));
	ST_CHECK(st_ring_try(&ring, 64, &p) == 0);
	for (uintptr_t i = 0; i < NR_CLIENTS; i++)
		ST_CHECK(!pthread_create(&t[i], NULL, client, (void *)i));
	while (st_going()) {
		if (!accepting)
			add_accept();
		if (st_one_in(&r, 3))
			mischief(&r);
		submit();
		(void)st_enter(&ring, 1, 2);
		reap();
	}
	for (int i = 0; i < NR_CLIENTS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; ring.nr_cqes != nr_submitted || nr_live || accepting;
	     i++) {
		if (i == 2000)
			st_fail("%u of %u completed, %u connections left",
				(unsigned int)ring.nr_cqes,
				(unsigned int)nr_submitted, nr_live);
		add(IORING_OP_ASYNC_CANCEL, -1, NULL, 0, IGNORED)->cancel_flags =
			IORING_ASYNC_CANCEL_ANY;
		submit();
		(void)st_enter(&ring, 1, 1);
		reap();
	}
	printf("%u connections, %u echoes, %u requests\n",
	       (unsigned int)nr_accepted, (unsigned int)nr_echoed,
	       (unsigned int)nr_submitted);
	st_ring_exit(&ring);
	(void)anyuring_close(listener);
	if (!st_fds_settle(before))
		st_fail("%u descriptors, were %u", st_fds(), before);
	return 0;
}
