/* SPDX-License-Identifier: MIT */
/* Description: provided buffers, bundles, multishot receives and reads. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "diff.h"

#define BUFS    8
#define BUF_LEN 16

struct group {
	struct io_uring_buf_ring *br;
	char *bufs;
	uint16_t tail;
};

static int reg(struct ring *r, unsigned int op, void *arg, unsigned int nr)
{
	return r->d->be->reg((unsigned int)r->fd, op, arg, nr);
}

static void group_open(struct ring *r, struct group *g, uint16_t bgid,
		       uint16_t flags)
{
	struct io_uring_buf_reg br = { .ring_entries = BUFS, .bgid = bgid };

	g->br = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g->bufs = (char *)g->br + 4096;
	g->tail = 0;
	br.ring_addr = (uintptr_t)g->br;
	br.flags = flags;
	diff_must(r->d, reg(r, IORING_REGISTER_PBUF_RING, &br, 1), "pbuf");
}

static void group_add(struct group *g, int from, int nr)
{
	for (int i = 0; i < nr; i++) {
		struct io_uring_buf *b =
			&g->br->bufs[(g->tail + i) & (BUFS - 1)];

		b->addr =
			(uintptr_t)g->bufs + (unsigned int)(from + i) * BUF_LEN;
		b->len = BUF_LEN;
		b->bid = (uint16_t)(from + i);
	}
	g->tail = (uint16_t)(g->tail + nr);
	__atomic_store_n(&g->br->tail, g->tail, __ATOMIC_RELEASE);
}

static void group_head(struct ring *r, uint32_t bgid)
{
	struct io_uring_buf_status st = { .buf_group = bgid };

	diff_res(r->d, reg(r, IORING_REGISTER_PBUF_STATUS, &st, 1), "status");
	diff_say(r->d, "head %u", st.head);
}

static struct io_uring_sqe *select_sqe(struct ring *r, uint8_t op, int fd,
				       uint32_t len, uint16_t bgid)
{
	struct io_uring_sqe *s = ring_sqe(r, op, fd, NULL, len, 0);

	s->flags = IOSQE_BUFFER_SELECT;
	s->buf_group = bgid;
	return s;
}

static void provide(struct ring *r, void *bufs, int nr, uint64_t bid)
{
	struct io_uring_sqe *s =
		ring_sqe(r, IORING_OP_PROVIDE_BUFFERS, nr, bufs, BUF_LEN, bid);

	s->buf_group = 1;
	ring_run(r, 1, RING_ORDER);
}

static void lists(struct diff *d)
{
	static char bufs[BUFS * BUF_LEN];
	int p[2], fd = diff_file(d, "f", 26);
	struct iovec iov = { NULL, 4 };
	struct io_uring_sqe *s;
	struct ring r;

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	provide(&r, bufs, 0, 0);
	provide(&r, bufs, 65537, 0);
	provide(&r, bufs, 2, 65535);
	provide(&r, bufs, 4, 10);
	diff_must(d, write(p[1], "abcdefgh", 8), "write");
	select_sqe(&r, IORING_OP_READ, p[0], 4, 1);
	ring_run(&r, 1, RING_ORDER);
	diff_bytes(d, "first", bufs, 8);
	select_sqe(&r, IORING_OP_READV, p[0], 1, 1)->addr = (uintptr_t)&iov;
	ring_run(&r, 1, RING_ORDER);
	select_sqe(&r, IORING_OP_READ, fd, 0, 1)->off = 5;
	ring_run(&r, 1, RING_ORDER);
	diff_bytes(d, "third", bufs + 2 * BUF_LEN, BUF_LEN);
	select_sqe(&r, IORING_OP_READ, p[1], 4, 1); /* not for reading */
	ring_run(&r, 1, RING_ORDER);
	select_sqe(&r, IORING_OP_READ, fd, 4, 1);
	ring_run(&r, 1, RING_ORDER); /* ENOBUFS */
	select_sqe(&r, IORING_OP_READ, fd, 4, 9);
	ring_run(&r, 1, RING_ORDER); /* no such group */
	select_sqe(&r, IORING_OP_WRITE, fd, 4, 1);
	ring_run(&r, 1, RING_ORDER);
	provide(&r, bufs, 3, 20);
	s = ring_sqe(&r, IORING_OP_REMOVE_BUFFERS, 2, NULL, 0, 0);
	s->buf_group = 1;
	ring_run(&r, 1, RING_ORDER);
	select_sqe(&r, IORING_OP_READ, p[0], 0, 1);
	ring_submit(&r);
	diff_must(d, write(p[1], "late", 4), "write");
	ring_wait(&r, 1, RING_ORDER);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
	close(fd);
}

static void registers(struct diff *d)
{
	struct io_uring_buf_reg br = { .bgid = 1 };
	struct group g;
	struct ring r;
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const uint32_t entries[] = { 0, 1, 3, 4, 32768, 65536 };

	ring_open(d, &r, 4, 0);
	for (size_t i = 0; i < AU_ARRAY_SIZE(entries); i++) {
		br.ring_addr = (uintptr_t)page;
		br.ring_entries = entries[i];
		/* The largest does not fit the page. */
		diff_res(d, reg(&r, IORING_REGISTER_PBUF_RING, &br, 1),
			 "%u entries", entries[i]);
		diff_res(d,
			 reg(&r, IORING_UNREGISTER_PBUF_RING,
			     &(struct io_uring_buf_reg){ .bgid = 1 }, 1),
			 "unregister");
	}
	br.ring_entries = 4;
	br.ring_addr = 0;
	diff_res(d, reg(&r, IORING_REGISTER_PBUF_RING, &br, 1), "no address");
	br.ring_addr = (uintptr_t)page + 16;
	diff_res(d, reg(&r, IORING_REGISTER_PBUF_RING, &br, 1), "misaligned");
	br.ring_addr = (uintptr_t)diff_bad_ptr();
	diff_res(d, reg(&r, IORING_REGISTER_PBUF_RING, &br, 1), "unmapped");
	br.ring_addr = (uintptr_t)page;
	br.flags = 4;
	diff_res(d, reg(&r, IORING_REGISTER_PBUF_RING, &br, 1), "flags");
	group_open(&r, &g, 2, 0);
	provide(&r, g.bufs, 1, 0);
	br.flags = 0;
	diff_res(d, reg(&r, IORING_REGISTER_PBUF_RING, &br, 1), "over a list");
	group_head(&r, 1);
	group_head(&r, 2);
	group_head(&r, 3);
	ring_close(&r);
}

static void mapped(struct diff *d)
{
	struct io_uring_buf_reg br = { .ring_entries = BUFS,
				       .bgid = 3,
				       .flags = IOU_PBUF_RING_MMAP };
	int fd = diff_file(d, "f", 26);
	static char buf[BUF_LEN];
	struct group g;
	struct ring r;

	ring_open(d, &r, 4, 0);
	diff_res(d, reg(&r, IORING_REGISTER_PBUF_RING, &br, 1), "register");
	g.br = d->be->map(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, r.fd,
			  (off_t)(IORING_OFF_PBUF_RING | 3ULL << 16));
	diff_say(d, "mapped %d", (uintptr_t)g.br < (uintptr_t)-4096);
	g.bufs = buf;
	g.tail = 0;
	group_add(&g, 0, 1);
	select_sqe(&r, IORING_OP_READ, fd, 5, 3);
	ring_run(&r, 1, RING_ORDER);
	diff_bytes(d, "read", buf, 6);
	br.flags = 0;
	diff_res(d, reg(&r, IORING_UNREGISTER_PBUF_RING, &br, 1), "unregister");
	g.br->tail = 0; /* the mapping stays */
	ring_close(&r);
	close(fd);
}

static void incremental(struct diff *d)
{
	struct group g;
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	group_open(&r, &g, 1, IOU_PBUF_RING_INC);
	group_add(&g, 0, 2);
	for (int i = 0; i < 6; i++) {
		diff_must(d, write(p[1], "01234567", 8), "write");
		select_sqe(&r, IORING_OP_READ, p[0], (uint32_t)(i == 3), 1);
		ring_run(&r, 1, RING_ORDER);
		group_head(&r, 1);
	}
	diff_bytes(d, "buffers", g.bufs, 2 * BUF_LEN);
	group_add(&g, 2, 1);
	close(p[1]);
	while (read(p[0], g.bufs, BUF_LEN) > 0)
		;
	select_sqe(&r, IORING_OP_READ, p[0], 0, 1); /* the end: no data */
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
	close(p[0]);
}

static void receives(struct diff *d)
{
	struct io_uring_sqe *s;
	struct group g;
	struct ring r;
	int sp[2];

	diff_socketpair(d, SOCK_STREAM, sp);
	ring_open(d, &r, 8, 0);
	group_open(&r, &g, 1, 0);
	group_add(&g, 0, BUFS);
	select_sqe(&r, IORING_OP_RECV, sp[0], 0, 1)->msg_flags = MSG_DONTWAIT;
	ring_run(&r, 1, RING_ORDER);
	select_sqe(&r, IORING_OP_RECV, sp[0], 0, 1);
	ring_submit(&r);
	group_head(&r, 1);
	diff_must(d, send(sp[1], "0123456789", 10, 0), "send");
	ring_wait(&r, 1, RING_ORDER);
	group_head(&r, 1);
	diff_must(d, send(sp[1], "0123456789abcdefghij", 20, 0), "send");
	select_sqe(&r, IORING_OP_RECV, sp[0], 0, 1);
	ring_run(&r, 1, RING_ORDER); /* more is there */
	select_sqe(&r, IORING_OP_RECV, sp[0], 3, 1);
	ring_run(&r, 1, RING_ORDER);
	select_sqe(&r, IORING_OP_SEND, sp[1], 5, 1);
	ring_run(&r, 1, RING_ORDER);
	select_sqe(&r, IORING_OP_SEND, sp[1], 0, 1)->ioprio =
		IORING_RECVSEND_BUNDLE;
	ring_run(&r, 1, RING_ORDER);
	group_head(&r, 1);
	select_sqe(&r, IORING_OP_RECV, sp[0], 0, 1);
	ring_run(&r, 1, RING_ORDER);
	s = select_sqe(&r, IORING_OP_RECV, sp[0], 0, 1);
	s->optlen = 4; /* only of a multishot */
	ring_run(&r, 1, RING_ORDER);
	s = ring_sqe(&r, IORING_OP_RECV, sp[0], g.bufs, 4, 0);
	s->ioprio = IORING_RECV_MULTISHOT;
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
	close(sp[0]);
	close(sp[1]);
}

static void multishot(struct diff *d)
{
	struct group g;
	struct ring r;
	int sp[2];

	diff_socketpair(d, SOCK_DGRAM, sp);
	ring_open(d, &r, 8, 0);
	group_open(&r, &g, 1, 0);
	group_add(&g, 0, 4);
	select_sqe(&r, IORING_OP_RECV, sp[0], 0, 1)->ioprio =
		IORING_RECV_MULTISHOT;
	ring_submit(&r);
	for (int i = 0; i < 3; i++) {
		diff_must(d, send(sp[1], "datagram", 8, 0), "send");
		ring_wait(&r, 1, RING_ORDER);
	}
	diff_must(d, send(sp[1], "one", 3, 0), "send");
	diff_must(d, send(sp[1], "two", 3, 0), "send");
	ring_wait(&r, 2, RING_ORDER); /* the last buffer, then none */
	group_head(&r, 1);
	group_add(&g, 0, 4);
	select_sqe(&r, IORING_OP_RECV, sp[0], 0, 1)->ioprio =
		IORING_RECV_MULTISHOT;
	ring_submit(&r);
	ring_wait(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_ASYNC_CANCEL, -1, (void *)2, 0, 0);
	ring_run(&r, 2, RING_SORTED);
	ring_close(&r);
	close(sp[0]);
	close(sp[1]);
}

static void messages(struct diff *d)
{
	struct msghdr m = { .msg_namelen = 8 };
	struct io_uring_sqe *s;
	struct group g;
	struct ring r;
	int sp[2];

	diff_socketpair(d, SOCK_STREAM, sp);
	ring_open(d, &r, 8, 0);
	group_open(&r, &g, 1, 0);
	for (int i = 0; i < BUFS; i++) {
		g.br->bufs[i].addr = (uintptr_t)g.bufs + (unsigned int)i * 64;
		g.br->bufs[i].len = 64;
		g.br->bufs[i].bid = (uint16_t)i;
	}
	__atomic_store_n(&g.br->tail, BUFS, __ATOMIC_RELEASE);
	s = select_sqe(&r, IORING_OP_RECVMSG, sp[0], 1, 1);
	s->addr = (uintptr_t)&m;
	s->ioprio = IORING_RECV_MULTISHOT;
	ring_submit(&r);
	diff_must(d, send(sp[1], "payload", 7, 0), "send");
	ring_wait(&r, 1, RING_ORDER);
	diff_bytes(d, "header", g.bufs, sizeof(struct io_uring_recvmsg_out));
	diff_bytes(d, "payload", g.bufs + 24, 7);
	ring_sqe(&r, IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 0);
	ring_run(&r, 2, RING_SORTED);
	m.msg_namelen = 60; /* no buffer has that room */
	diff_must(d, send(sp[1], "x", 1, 0), "send");
	s = select_sqe(&r, IORING_OP_RECVMSG, sp[0], 1, 1);
	s->addr = (uintptr_t)&m;
	s->ioprio = IORING_RECV_MULTISHOT;
	ring_run(&r, 1, RING_ORDER);
	m.msg_namelen = INT32_MAX;
	s = select_sqe(&r, IORING_OP_RECVMSG, sp[0], 1, 1);
	s->addr = (uintptr_t)&m;
	s->ioprio = IORING_RECV_MULTISHOT;
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
	close(sp[0]);
	close(sp[1]);
}

static void reads(struct diff *d)
{
	int p[2], fd = diff_file(d, "f", 26);
	struct group g;
	struct ring r;

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	group_open(&r, &g, 1, 0);
	group_add(&g, 0, 5);
	select_sqe(&r, IORING_OP_READ_MULTISHOT, fd, 0, 1);
	ring_run(&r, 1, RING_ORDER);
	select_sqe(&r, IORING_OP_READ_MULTISHOT, p[0], 5, 1);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_READ_MULTISHOT, p[0], NULL, 0, 0);
	ring_run(&r, 1, RING_ORDER);
	select_sqe(&r, IORING_OP_READ_MULTISHOT, p[0], 0, 1)->off = UINT64_MAX;
	ring_submit(&r);
	diff_must(d, write(p[1], "0123456789abcdefghij", 20), "write");
	ring_wait(&r, 2, RING_ORDER);
	diff_must(d, write(p[1], "x", 1), "write");
	ring_wait(&r, 1, RING_ORDER);
	close(p[1]);
	ring_wait(&r, 1, RING_ORDER);
	group_head(&r, 1);
	ring_close(&r);
	close(p[0]);
	close(fd);
}

static const struct diff_test tests[] = {
	{ "lists", lists, DIFF_SYNC },
	{ "registers", registers, DIFF_PLAIN },
	{ "mapped", mapped, DIFF_PLAIN },
	{ "incremental", incremental, DIFF_PLAIN | DIFF_DEFER },
	{ "receives", receives, DIFF_SYNC },
	{ "multishot", multishot, DIFF_SYNC },
	{ "messages", messages, DIFF_PLAIN | DIFF_DEFER },
	{ "reads", reads, DIFF_SYNC },
};

DIFF_MAIN(tests)
