/* SPDX-License-Identifier: MIT */
/*
 * Description: SQEs of random bytes, every opcode number: the result codes are
 * the same. Seeded: a failing line names its seed and number.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "diff.h"

static uint64_t rng;

static uint32_t rnd(void)
{
	rng = rng * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(rng >> 33);
}

static uint64_t pick64(const uint64_t *v, size_t n)
{
	return v[rnd() % n];
}

struct world {
	int file, rd, wr, sock, peer, dir;
	char buf[4096];
	struct iovec iov[4];
	struct msghdr msg;
	struct au_timespec ts;
};

static void world_open(struct diff *d, struct world *w)
{
	int p[2];

	memset(w, 0, sizeof(*w));
	w->file = diff_file(d, "f", 100);
	diff_pipe(d, p);
	w->rd = p[0];
	w->wr = p[1];
	diff_socketpair(d, SOCK_STREAM, p);
	w->sock = p[0];
	w->peer = p[1];
	w->dir = open(".", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < 4; i++)
		w->iov[i] = (struct iovec){ w->buf + i * 64, 64 };
	w->msg.msg_iov = w->iov;
	w->msg.msg_iovlen = 2;
	w->ts.tv_nsec = 1000;
}

static void world_close(struct diff *d, struct world *w)
{
	d->be->close(w->file);
	d->be->close(w->rd);
	d->be->close(w->wr);
	d->be->close(w->sock);
	d->be->close(w->peer);
	d->be->close(w->dir);
}

/* Opcodes whose garbage does things that cannot be compared, or is not here. */
static bool left_out(uint8_t op)
{
	switch (op) {
	case IORING_OP_MADVISE: /* of our own memory */
	case IORING_OP_FUTEX_WAIT:
	case IORING_OP_FUTEX_WAKE:
	case IORING_OP_FUTEX_WAITV:
	case IORING_OP_WAITID:
	case IORING_OP_URING_CMD:
	case IORING_OP_SEND_ZC:
	case IORING_OP_SENDMSG_ZC:
	case IORING_OP_RECV_ZC:
	case IORING_OP_MSG_RING:
	case IORING_OP_EPOLL_WAIT:
	case IORING_OP_READV_FIXED:
	case IORING_OP_WRITEV_FIXED:
	case IORING_OP_PROVIDE_BUFFERS:
	case IORING_OP_REMOVE_BUFFERS:
	case IORING_OP_READ_MULTISHOT:
	case IORING_OP_NOP128: /* newer than some kernels */
	case IORING_OP_URING_CMD128:
		return true;
	default:
		return false;
	}
}

/* Mostly sane values, one field in a few is not. */
static void fill(struct world *w, struct io_uring_sqe *s, uint8_t op)
{
	const uint64_t ptr[] = { 0,
				 (uintptr_t)w->buf,
				 (uintptr_t)w->iov,
				 (uintptr_t)&w->msg,
				 (uintptr_t)&w->ts,
				 (uintptr_t) "f",
				 (uintptr_t)diff_bad_ptr() };
	const uint64_t fd[] = { (uint64_t)w->file,
				(uint64_t)w->rd,
				(uint64_t)w->sock,
				(uint64_t)w->dir,
				(uint64_t)-1,
				0,
				9999 };
	static const uint64_t off[] = { 0, 1, 16, (uint64_t)-1, 100 };
	static const uint64_t len[] = { 0, 1, 2, 8, 64 };
	static const uint8_t flags[] = { 0,
					 0,
					 0,
					 0,
					 IOSQE_FIXED_FILE,
					 IOSQE_ASYNC,
					 IOSQE_BUFFER_SELECT,
					 0x80 };
	uint64_t user_data = s->user_data;

	memset(s, 0, sizeof(*s));
	s->user_data = user_data;
	s->opcode = op;
	s->fd = (int)pick64(fd, AU_ARRAY_SIZE(fd));
	s->addr = pick64(ptr, AU_ARRAY_SIZE(ptr));
	s->off = rnd() % 2 ? pick64(off, AU_ARRAY_SIZE(off)) :
			     pick64(ptr, AU_ARRAY_SIZE(ptr));
	s->len = (uint32_t)pick64(len, AU_ARRAY_SIZE(len));
	s->flags = flags[rnd() % AU_ARRAY_SIZE(flags)];
	switch (rnd() % 12) {
	case 0:
		s->rw_flags = 1U << rnd() % 32;
		break;
	case 1:
		s->buf_index = (uint16_t)(rnd() % 3);
		break;
	case 2:
		s->splice_fd_in = (int)(rnd() % 3);
		break;
	case 3:
		s->ioprio = (uint16_t)(1U << rnd() % 16);
		break;
	case 4:
		s->personality = (uint16_t)(rnd() % 2);
		break;
	case 5:
		s->addr3 = rnd() % 2;
		break;
	case 6:
		s->pad2[0] = rnd() % 2;
		break;
	default:
		break;
	}
}

/* Results that depend on which descriptor is free, or on the moment. */
static void say_result(struct diff *d, const struct io_uring_sqe *s, int n,
		       const struct io_uring_cqe *cqe)
{
	int res = cqe->res;
	bool opened = res >= 0 && (s->opcode == IORING_OP_OPENAT ||
				   s->opcode == IORING_OP_OPENAT2 ||
				   s->opcode == IORING_OP_SOCKET ||
				   s->opcode == IORING_OP_ACCEPT ||
				   s->opcode == IORING_OP_FIXED_FD_INSTALL);

	if (opened)
		d->be->close(res);
	diff_say(
		d,
		"%d: op %u fl %#x fd %d len %u rw %#x prio %#x bi %u sp %d = %s%d",
		n, s->opcode, s->flags, s->fd > 2 && s->fd < 100 ? 100 : s->fd,
		s->len, s->rw_flags, s->ioprio, s->buf_index, s->splice_fd_in,
		res < 0 ? diff_errname(res) : "",
		opened  ? 1 :
		res < 0 ? 0 :
			  res);
}

static void one(struct diff *d, struct world *w, int n, uint8_t op)
{
	struct io_uring_sqe *s, copy;
	struct io_uring_cqe cqe;
	struct ring r;
	int ret;

	ring_open(d, &r, 8, 0);
	s = ring_nop(&r);
	s->user_data = 1;
	fill(w, s, op);
	copy = *s;
	__atomic_store_n(r.sq_tail, r.tail, __ATOMIC_RELEASE);
	ret = ring_enter(&r, 1, 0, 0);
	if (ret != 1)
		diff_say(d, "%d: submit returned %d", n, ret);
	for (int i = 0; i < 3 && !ring_ready(&r); i++) {
		(void)ring_enter(&r, 0, 0, IORING_ENTER_GETEVENTS);
		if (i)
			(void)poll(NULL, 0, 2);
	}
	if (ring_ready(&r) && ring_one(&r, &cqe) != -12345)
		say_result(d, &copy, n, &cqe);
	else
		diff_say(d, "%d: op %u fd %d waits", n, op,
			 copy.fd > 2 && copy.fd < 100 ? 100 : copy.fd);
	ring_close_quiet(&r);
}

static void seeded(struct diff *d, uint64_t seed, int per_op, int first,
		   int last)
{
	int n = 0;

	signal(SIGPIPE, SIG_IGN);
	rng = seed;
	for (int op = first; op < last; op++) {
		if (op < 256 && left_out((uint8_t)op))
			continue;
		for (int i = 0; i < per_op; i++) {
			struct world w;

			world_open(d, &w);
			one(d, &w, n++, (uint8_t)op);
			world_close(d, &w);
		}
	}
}

static void seed_1_low(struct diff *d)
{
	seeded(d, 1, 60, 0, 20);
}

static void seed_2_high(struct diff *d)
{
	seeded(d, 2, 60, 20, 63);
}

static void seed_3_unknown(struct diff *d)
{
	seeded(d, 3, 2, 65, 256);
}

static void seed_4_low(struct diff *d)
{
	seeded(d, 4, 100, 0, 20);
}

static void seed_5_high(struct diff *d)
{
	seeded(d, 5, 100, 20, 63);
}

static const struct diff_test tests[] = {
	{ "seed_1_low", seed_1_low, 0 },
	{ "seed_2_high", seed_2_high, 0 },
	{ "seed_3_unknown", seed_3_unknown, 0 },
	{ "seed_4_low", seed_4_low, 0 },
	{ "seed_5_high", seed_5_high, 0 },
};

DIFF_MAIN(tests)
