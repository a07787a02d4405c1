/* SPDX-License-Identifier: MIT */
/*
 * Description: SQEs of random bytes, every opcode number: the result codes are
 * the same. Seeded: a failing line names its seed and number.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
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
	char path[256]; /* "f", and nothing behind it */
	struct iovec iov[4];
	struct msghdr msg;
	struct au_timespec ts;
	char pad[2048]; /* what is written behind them */
};

static void world_open(struct diff *d, struct world *w)
{
	int p[2];

	memset(w, 0, sizeof(*w));
	strcpy(w->path, "f");
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
	case IORING_OP_PIPE: /* writes descriptors where it is told to */
	case IORING_OP_READV_FIXED:
	case IORING_OP_WRITEV_FIXED:
	case IORING_OP_SPLICE:
	case IORING_OP_TEE:
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
				 (uintptr_t)w->path,
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
	static const uint8_t flags[] = { 0,           0, 0, 0, IOSQE_FIXED_FILE,
					 IOSQE_ASYNC,

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
		/* ATOMIC, DONTCACHE: a file system's to take or not. */
		s->rw_flags &= ~0xc0U;
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
		s->pad2[0] = rnd() % 2 * 2; /* 1 is an attribute of its own */
		break;
	default:
		break;
	}
	/* A directory has no calls with flags; the kernel's answer differs. */
	if (s->fd == w->dir)
		s->rw_flags = 0;
}

/* Pointers and descriptors by what they stand for. */
static int which(const struct world *w, uint64_t v)
{
	const uint64_t ptr[] = { (uintptr_t)w->buf,  (uintptr_t)w->iov,
				 (uintptr_t)&w->msg, (uintptr_t)&w->ts,
				 (uintptr_t)w->path, (uintptr_t)diff_bad_ptr(),
				 (uint64_t)-1 };

	for (size_t i = 0; i < AU_ARRAY_SIZE(ptr); i++) {
		if (ptr[i] == v)
			return -1 - (int)i;
	}
	return (int)v;
}

static int which_fd(const struct world *w, int fd)
{
	return fd == w->file ? 100 :
	       fd == w->rd   ? 101 :
	       fd == w->sock ? 102 :
	       fd == w->dir  ? 103 :
			       fd;
}

static bool opens(const struct io_uring_sqe *s)
{
	return s->opcode == IORING_OP_OPENAT ||
	       s->opcode == IORING_OP_OPENAT2 ||
	       s->opcode == IORING_OP_SOCKET || s->opcode == IORING_OP_ACCEPT ||
	       s->opcode == IORING_OP_FIXED_FD_INSTALL;
}

/* `res` NULL: it waits. */
static void say_result(struct diff *d, const struct world *w,
		       const struct io_uring_sqe *s, int n, const int *res)
{
	char text[32] = "waits";

	if (res && *res < 0)
		snprintf(text, sizeof(text), "-%s", diff_errname(*res));
	else if (res && opens(s) && !d->be->close(*res))
		strcpy(text, "opened");
	else if (res)
		snprintf(text, sizeof(text), "%d", *res);
	diff_say(d, "%d: op %u flags %#x fd %d addr %d off %d len %u", n,
		 s->opcode, s->flags, which_fd(w, s->fd), which(w, s->addr),
		 which(w, s->off), s->len);
	diff_say(d, "%d: rw %#x prio %#x bi %u sp %d = %s", n, s->rw_flags,
		 s->ioprio, s->buf_index, s->splice_fd_in, text);
}

static void one(struct diff *d, struct world *w, int n, uint8_t op)
{
	struct io_uring_sqe *s, copy;
	struct ring r;
	bool done;
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
	(void)ring_timed_wait(&r, 1, (unsigned int)(100 * d->scale));
	done = ring_ready(&r);
	ret = done ? ring_one(&r, NULL) : 0;
	say_result(d, w, &copy, n, done ? &ret : NULL);
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

static void seed_1(struct diff *d)
{
	seeded(d, 1, 20, 0, 20);
}

static void seed_2(struct diff *d)
{
	seeded(d, 2, 20, 20, 63);
}

static void seed_3(struct diff *d)
{
	seeded(d, 3, 20, 0, 20);
}

static void seed_4(struct diff *d)
{
	seeded(d, 4, 20, 20, 63);
}

static void seed_5(struct diff *d)
{
	seeded(d, 5, 20, 0, 20);
}

static void seed_6(struct diff *d)
{
	seeded(d, 6, 20, 20, 63);
}

static void seed_7(struct diff *d)
{
	seeded(d, 7, 20, 0, 20);
}

static void seed_8(struct diff *d)
{
	seeded(d, 8, 20, 20, 63);
}

static void unknown(struct diff *d)
{
	seeded(d, 99, 2, 65, 256);
}

static const struct diff_test tests[] = {
	{ "seed_1", seed_1, 0 },   { "seed_2", seed_2, 0 },
	{ "seed_3", seed_3, 0 },   { "seed_4", seed_4, 0 },
	{ "seed_5", seed_5, 0 },   { "seed_6", seed_6, 0 },
	{ "seed_7", seed_7, 0 },   { "seed_8", seed_8, 0 },
	{ "unknown", unknown, 0 },
};

DIFF_MAIN(tests)
