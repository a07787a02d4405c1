/* SPDX-License-Identifier: MIT */
/* Description: chains, link timeouts, DRAIN and CQE_SKIP_SUCCESS. */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "diff.h"

static void short_read_breaks_chain(struct diff *d)
{
	int fd = diff_file(d, "f", 10);
	char buf[64];
	struct ring r;

	ring_open(d, &r, 8, 0);
	ring_sqe(&r, IORING_OP_READ, fd, buf, 64, 0)->flags = IOSQE_IO_LINK;
	ring_nop(&r)->flags = IOSQE_IO_LINK;
	ring_nop(&r);
	ring_run(&r, 3, RING_ORDER);
	ring_sqe(&r, IORING_OP_READ, fd, buf, 64, 0)->flags = IOSQE_IO_HARDLINK;
	ring_nop(&r);
	ring_run(&r, 2, RING_ORDER);
	ring_sqe(&r, IORING_OP_READ, fd, buf, 10, 0)->flags = IOSQE_IO_LINK;
	ring_nop(&r);
	ring_run(&r, 2, RING_ORDER);
	ring_close(&r);
	close(fd);
}

static void short_write_breaks_chain(struct diff *d)
{
	static char big[1 << 20];
	int p[2];
	struct ring r;

	diff_pipe(d, p);
	diff_must(d, fcntl(p[1], F_SETFL, O_NONBLOCK), "nonblock");
	ring_open(d, &r, 8, 0);
	ring_sqe(&r, IORING_OP_WRITE, p[1], big, sizeof(big), 0)->flags =
		IOSQE_IO_LINK;
	ring_nop(&r);
	ring_run(&r, 2, RING_ORDER);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static void readv_short_breaks_chain(struct diff *d)
{
	int fd = diff_file(d, "f", 10);
	char a[4], b[60];
	struct iovec iov[2] = { { a, sizeof(a) }, { b, sizeof(b) } };
	struct ring r;

	ring_open(d, &r, 8, 0);
	ring_sqe(&r, IORING_OP_READV, fd, iov, 2, 0)->flags = IOSQE_IO_LINK;
	ring_nop(&r);
	ring_run(&r, 2, RING_ORDER);
	iov[1].iov_len = 6;
	ring_sqe(&r, IORING_OP_READV, fd, iov, 2, 0)->flags = IOSQE_IO_LINK;
	ring_nop(&r);
	ring_run(&r, 2, RING_ORDER);
	ring_sqe(&r, IORING_OP_READV, fd, iov, 2, 4)->flags = IOSQE_IO_LINK |
							      IOSQE_ASYNC;
	ring_nop(&r);
	ring_run(&r, 2, RING_ORDER);
	ring_close(&r);
	close(fd);
}

static void error_breaks_chain(struct diff *d)
{
	static const uint8_t flags[] = { IOSQE_IO_LINK, IOSQE_IO_HARDLINK,
					 IOSQE_IO_LINK | IOSQE_IO_HARDLINK };
	char buf[8];
	struct ring r;

	ring_open(d, &r, 8, 0);
	for (size_t i = 0; i < AU_ARRAY_SIZE(flags); i++) {
		diff_say(d, "flags %#x", flags[i]);
		ring_nop(&r)->flags = flags[i];
		ring_sqe(&r, IORING_OP_READ, -1, buf, 8, 0)->flags = flags[i];
		ring_nop(&r)->flags = flags[i];
		ring_nop(&r);
		ring_run(&r, 4, RING_ORDER);
	}
	ring_close(&r);
}

/* A bad SQE at each place of a chain of four. */
static void prep_failure_in_chain(struct diff *d)
{
	static const uint8_t links[] = { IOSQE_IO_LINK, IOSQE_IO_HARDLINK };
	static const uint8_t extra[] = { 0, IOSQE_IO_DRAIN, IOSQE_ASYNC,
					 IOSQE_CQE_SKIP_SUCCESS };
	struct ring r;

	ring_open(d, &r, 8, 0);
	for (size_t l = 0; l < AU_ARRAY_SIZE(links); l++) {
		for (size_t e = 0; e < AU_ARRAY_SIZE(extra); e++) {
			for (int bad = 0; bad < 4; bad++) {
				diff_say(d, "link %#x extra %#x bad %d",
					 links[l], extra[e], bad);
				for (int i = 0; i < 4; i++) {
					struct io_uring_sqe *s = ring_nop(&r);

					s->flags = (i < 3 ? links[l] : 0) |
						   (i == bad ? extra[e] : 0);
					if (i == bad)
						s->opcode = 250;
				}
				ring_nop(&r);
				ring_submit(&r);
				ring_submit(&r);
				ring_settle(&r, RING_SORTED);
			}
		}
	}
	ring_close(&r);
}

static void chain_ends_with_submit(struct diff *d)
{
	char buf[8];
	struct ring r;

	ring_open(d, &r, 8, 0);
	ring_sqe(&r, IORING_OP_READ, -1, buf, 8, 0)->flags = IOSQE_IO_LINK;
	ring_run(&r, 1, RING_ORDER);
	ring_nop(&r);
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
}

static void timeout_breaks_chain(struct diff *d)
{
	static const uint32_t tflags[] = { 0, IORING_TIMEOUT_ETIME_SUCCESS };
	static const uint8_t links[] = { IOSQE_IO_LINK, IOSQE_IO_HARDLINK };
	struct au_timespec ts = { .tv_nsec = 1000000 };
	struct ring r;

	ring_open(d, &r, 8, 0);
	for (int t = 0; t < 2; t++) {
		for (int l = 0; l < 2; l++) {
			struct io_uring_sqe *s =
				ring_sqe(&r, IORING_OP_TIMEOUT, -1, &ts, 1, 0);

			s->timeout_flags = tflags[t];
			s->flags = links[l];
			ring_nop(&r);
			ring_run(&r, 2, RING_ORDER);
		}
	}
	ring_close(&r);
}

static void link_timeout_fires(struct diff *d)
{
	struct au_timespec ts = { .tv_nsec = 5000000 };
	char buf[8];
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	ring_sqe(&r, IORING_OP_READ, p[0], buf, 8, 0)->flags = IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->flags =
		IOSQE_IO_LINK;
	ring_nop(&r);
	ring_run(&r, 3, RING_SORTED);
	/* The same without a third, and with hard links. */
	ring_sqe(&r, IORING_OP_READ, p[0], buf, 8, 0)->flags =
		IOSQE_IO_HARDLINK;
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->flags =
		IOSQE_IO_HARDLINK;
	ring_nop(&r);
	ring_run(&r, 3, RING_SORTED);
	ring_sqe(&r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0)->flags =
		IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0);
	ring_run(&r, 2, RING_SORTED);
	/* In a worker. */
	ring_sqe(&r, IORING_OP_READ, p[0], buf, 8, 0)->flags = IOSQE_IO_LINK |
							       IOSQE_ASYNC;
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0);
	ring_run(&r, 2, RING_SORTED);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

/*
 * Behind an asynchronous request the kernel's worker goes on with the chain:
 * it blocks, and starts the clock of a timeout when that is over. Ours is kept.
 */
static void timeout_behind_async(struct diff *d)
{
	struct au_timespec ts = { .tv_nsec = 5000000 };
	struct ring r;
	char buf[8];
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	ring_nop(&r)->flags = IOSQE_IO_LINK | IOSQE_ASYNC;
	ring_sqe(&r, IORING_OP_READ, p[0], buf, 8, 0)->flags = IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0);
	ring_submit(&r);
	(void)ring_timed_wait(&r, 3, (unsigned int)(200 * d->scale));
	diff_say(d, "CQEs %u", ring_ready(&r));
	ring_close_quiet(&r);
	close(p[0]);
	close(p[1]);
}

static void link_timeout_not_needed(struct diff *d)
{
	struct au_timespec ts = { .tv_sec = 10 };
	char buf[8];
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	ring_nop(&r)->flags = IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->flags =
		IOSQE_IO_LINK;
	ring_nop(&r);
	ring_run(&r, 3, RING_SORTED);
	ring_sqe(&r, IORING_OP_READ, p[0], buf, 8, 0)->flags = IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->flags =
		IOSQE_IO_LINK;
	ring_nop(&r);
	ring_submit(&r);
	diff_must(d, write(p[1], "12345678", 8), "write");
	ring_wait(&r, 3, RING_SORTED);
	/* An error of what it guards. */
	ring_sqe(&r, IORING_OP_READ, -1, buf, 8, 0)->flags = IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->flags =
		IOSQE_IO_LINK;
	ring_nop(&r);
	ring_run(&r, 3, RING_SORTED);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static void link_timeout_misplaced(struct diff *d)
{
	struct au_timespec ts = { .tv_sec = 10 }, bad = { .tv_nsec = -1 };
	struct io_uring_sqe *s;
	struct ring r;

	ring_open(d, &r, 16, 0);
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_nop(&r);
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0);
	ring_run(&r, 2, RING_ORDER);
	ring_nop(&r)->flags = IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->flags =
		IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0);
	ring_run(&r, 3, RING_SORTED);
	/* At the head of a chain. */
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->flags =
		IOSQE_IO_LINK;
	ring_nop(&r);
	ring_run(&r, 2, RING_SORTED);
	/* Fields that are wrong. */
	ring_nop(&r)->flags = IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &bad, 1, 0);
	ring_run(&r, 2, RING_SORTED);
	ring_nop(&r)->flags = IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, diff_bad_ptr(), 1, 0);
	ring_run(&r, 2, RING_SORTED);
	ring_nop(&r)->flags = IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 2, 0);
	ring_run(&r, 2, RING_SORTED);
	/* Far off, also as an absolute time. */
	ts.tv_sec = 4000000000;
	for (int bit = 0; bit < 10; bit++) {
		ring_nop(&r)->flags = IOSQE_IO_LINK;
		s = ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0);
		s->timeout_flags = 1U << bit;
		ring_run(&r, 2, RING_SORTED);
	}
	ring_close(&r);
}

static void drain_orders(struct diff *d)
{
	struct io_uring_sqe *s;
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 16, 0);
	/* A poll that waits holds back the drain and all behind it. */
	s = ring_sqe(&r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0);
	s->poll32_events = POLLIN;
	ring_nop(&r);
	ring_nop(&r)->flags = IOSQE_IO_DRAIN;
	ring_nop(&r);
	ring_run(&r, 1, RING_ORDER);
	ring_nop(&r);
	ring_submit(&r);
	ring_settle(&r, RING_ORDER);
	diff_must(d, write(p[1], "x", 1), "write");
	ring_wait(&r, 4, RING_ORDER);
	/* And later ones do not wait any more. */
	ring_nop(&r);
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static void drain_in_chain(struct diff *d)
{
	struct io_uring_sqe *s;
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 16, 0);
	for (int at = 0; at < 3; at++) {
		char c;

		diff_say(d, "drain at %d", at);
		s = ring_sqe(&r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0);
		s->poll32_events = POLLIN;
		for (int i = 0; i < 3; i++)
			ring_nop(&r)->flags = (i < 2 ? IOSQE_IO_LINK : 0) |
					      (i == at ? IOSQE_IO_DRAIN : 0);
		ring_nop(&r);
		ring_nop(&r);
		ring_submit(&r);
		ring_settle(&r, RING_ORDER);
		diff_must(d, write(p[1], "x", 1), "write");
		ring_wait(&r, 6, RING_ORDER);
		diff_must(d, read(p[0], &c, 1), "read");
	}
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

/*
 * Every pattern of flags over three requests behind a waiting poll: what may
 * go before the poll has ended. Among those that may, the order is free.
 */
static void drain_patterns(struct diff *d)
{
	struct io_uring_sqe *s;
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 16, 0);
	for (int pat = 0; pat < 64; pat++) {
		char c;

		diff_say(d, "pattern %d", pat);
		s = ring_sqe(&r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0);
		s->poll32_events = POLLIN;
		for (int i = 0; i < 3; i++)
			ring_nop(&r)->flags =
				(pat >> (2 * i) & 1 ? IOSQE_IO_DRAIN : 0) |
				(pat >> (2 * i + 1) & 1 ? IOSQE_IO_LINK : 0);
		ring_submit(&r);
		ring_settle(&r, RING_SORTED);
		ring_nop(&r);
		ring_submit(&r);
		ring_settle(&r, RING_SORTED);
		diff_must(d, write(p[1], "x", 1), "write");
		ring_wait(&r, r.tail - *r.cq_head, RING_SORTED);
		diff_must(d, read(p[0], &c, 1), "read");
	}
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static void drain_waits_for_multishot(struct diff *d)
{
	struct io_uring_sqe *s;
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 16, 0);
	s = ring_sqe(&r, IORING_OP_POLL_ADD, p[0], NULL, IORING_POLL_ADD_MULTI,
		     0);
	s->poll32_events = POLLIN;
	ring_nop(&r)->flags = IOSQE_IO_DRAIN;
	ring_submit(&r);
	diff_must(d, write(p[1], "x", 1), "write");
	ring_wait(&r, 1, RING_ORDER);
	diff_must(d, write(p[1], "x", 1), "write");
	ring_wait(&r, 1, RING_ORDER);
	ring_settle(&r, RING_ORDER);
	close(p[1]);
	ring_wait(&r, 2, RING_ORDER);
	ring_close(&r);
	close(p[0]);
}

static void drain_with_chain_and_async(struct diff *d)
{
	int fd = diff_file(d, "f", 100);
	static char buf[4][32];
	struct ring r;

	ring_open(d, &r, 16, 0);
	for (int i = 0; i < 4; i++)
		ring_sqe(&r, IORING_OP_WRITE, fd, buf[i], 25, (uint64_t)i * 25);
	ring_sqe(&r, IORING_OP_FSYNC, fd, NULL, 0, 0)->flags = IOSQE_IO_DRAIN;
	ring_nop(&r);
	ring_run(&r, 6, RING_SORTED);
	ring_sqe(&r, IORING_OP_READ, fd, buf[0], 25, 0)->flags = IOSQE_ASYNC;
	ring_sqe(&r, IORING_OP_READ, fd, buf[1], 25, 0)->flags = IOSQE_ASYNC |
								 IOSQE_IO_DRAIN;
	ring_sqe(&r, IORING_OP_READ, fd, buf[2], 25, 0)->flags = IOSQE_ASYNC |
								 IOSQE_IO_DRAIN;
	ring_run(&r, 3, RING_ORDER);
	ring_close(&r);
	close(fd);
}

static void drain_and_skip_exclude(struct diff *d)
{
	struct ring r;

	ring_open(d, &r, 16, 0);
	ring_nop(&r)->flags = IOSQE_CQE_SKIP_SUCCESS;
	ring_run(&r, 0, RING_SORTED);
	ring_nop(&r)->flags = IOSQE_IO_DRAIN;
	ring_run(&r, 1, RING_SORTED);
	ring_nop(&r)->flags = IOSQE_IO_DRAIN | IOSQE_CQE_SKIP_SUCCESS;
	ring_run(&r, 1, RING_SORTED);
	ring_close(&r);
	ring_open(d, &r, 16, 0);
	ring_nop(&r)->flags = IOSQE_IO_DRAIN;
	ring_nop(&r)->flags = IOSQE_CQE_SKIP_SUCCESS;
	ring_nop(&r)->flags = IOSQE_IO_DRAIN;
	ring_run(&r, 2, RING_SORTED);
	ring_close(&r);
}

/* A chain of four, each place failing, each place skipping. */
static void skip_in_chain(struct diff *d)
{
	char buf[8];
	struct ring r;

	ring_open(d, &r, 8, 0);
	for (int hard = 0; hard < 2; hard++) {
		for (int skip = 0; skip < 16; skip++) {
			for (int bad = 0; bad < 5; bad++) {
				diff_say(d, "hard %d skip %#x bad %d", hard,
					 (unsigned int)skip, bad);
				for (int i = 0; i < 4; i++) {
					struct io_uring_sqe *s =
						i == bad ?
							ring_sqe(&r,
								 IORING_OP_READ,
								 -1, buf, 8,
								 0) :
							ring_nop(&r);

					s->flags = i < 3 ? IOSQE_IO_LINK : 0;
					if (i < 3 && hard)
						s->flags = IOSQE_IO_HARDLINK;
					if (skip >> i & 1)
						s->flags |=
							IOSQE_CQE_SKIP_SUCCESS;
				}
				ring_submit(&r);
				ring_settle(&r, RING_ORDER);
			}
		}
	}
	ring_close(&r);
}

static void skip_single(struct diff *d)
{
	int fd = diff_file(d, "f", 10);
	struct au_timespec ts = { .tv_nsec = 1000000 };
	struct io_uring_sqe *s;
	char buf[16];
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	ring_nop(&r)->flags = IOSQE_CQE_SKIP_SUCCESS;
	ring_sqe(&r, IORING_OP_READ, fd, buf, 10, 0)->flags =
		IOSQE_CQE_SKIP_SUCCESS;
	/* A short read counts as a failure here too. */
	ring_sqe(&r, IORING_OP_READ, fd, buf, 16, 0)->flags =
		IOSQE_CQE_SKIP_SUCCESS;
	ring_sqe(&r, IORING_OP_READ, -1, buf, 16, 0)->flags =
		IOSQE_CQE_SKIP_SUCCESS;
	ring_sqe(&r, IORING_OP_TIMEOUT, -1, &ts, 1, 0)->flags =
		IOSQE_CQE_SKIP_SUCCESS;
	s = ring_sqe(&r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0);
	s->flags = IOSQE_CQE_SKIP_SUCCESS;
	s->poll32_events = POLLIN;
	s = ring_sqe(&r, IORING_OP_POLL_ADD, p[0], NULL, IORING_POLL_ADD_MULTI,
		     0);
	s->flags = IOSQE_CQE_SKIP_SUCCESS;
	s->poll32_events = POLLIN;
	ring_run(&r, 2, RING_ORDER);
	diff_must(d, write(p[1], "x", 1), "write");
	diff_sleep_ms(d, 20);
	ring_settle(&r, RING_ORDER);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
	close(fd);
}

static void cancel_in_chain(struct diff *d)
{
	struct io_uring_sqe *s;
	char buf[8];
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	/* The head is cancelled: the rest goes with it. */
	ring_sqe(&r, IORING_OP_READ, p[0], buf, 8, 0)->flags = IOSQE_IO_LINK;
	ring_nop(&r)->flags = IOSQE_IO_LINK;
	ring_nop(&r);
	ring_submit(&r);
	ring_sqe(&r, IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 0);
	ring_run(&r, 4, RING_SORTED);
	/* One that has not begun cannot be found. */
	ring_sqe(&r, IORING_OP_READ, p[0], buf, 8, 0)->flags = IOSQE_IO_LINK;
	ring_nop(&r);
	ring_submit(&r);
	s = ring_sqe(&r, IORING_OP_ASYNC_CANCEL, -1, NULL, 0, 0);
	s->addr = r.tail - 1;
	ring_run(&r, 1, RING_SORTED);
	diff_must(d, write(p[1], "12345678", 8), "write");
	ring_wait(&r, 2, RING_SORTED);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

/* The file of a linked request is looked up when its turn comes. */
static void link_assigns_file_late(struct diff *d)
{
	int fd = diff_file(d, "f", 10), fds[2] = { -1, -1 };
	struct io_uring_sqe *s;
	char buf[16] = { 0 };
	struct ring r;

	ring_open(d, &r, 8, 0);
	diff_res(d,
		 d->be->reg((unsigned int)r.fd, IORING_REGISTER_FILES, fds, 2),
		 "register");
	s = ring_sqe(&r, IORING_OP_OPENAT, AT_FDCWD, "f", 0, 0);
	s->file_index = 1;
	s->flags = IOSQE_IO_LINK;
	s = ring_sqe(&r, IORING_OP_READ, 0, buf, 10, 0);
	s->flags = IOSQE_IO_LINK | IOSQE_FIXED_FILE;
	s = ring_sqe(&r, IORING_OP_CLOSE, 0, NULL, 0, 0);
	s->file_index = 1;
	ring_run(&r, 3, RING_ORDER);
	diff_bytes(d, "read", buf, 10);
	/* The read fails if nothing opened the slot. */
	ring_nop(&r)->flags = IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_READ, 1, buf, 10, 0)->flags = IOSQE_FIXED_FILE;
	ring_run(&r, 2, RING_ORDER);
	ring_close(&r);
	close(fd);
}

/* A linked request's own arguments are copied at submit, the data is not. */
static void link_copies_arguments(struct diff *d)
{
	int fd = diff_file(d, "f", 10);
	char a[8] = "........", b[8] = "........";
	struct au_timespec ts = { .tv_nsec = 1000000 };
	struct iovec iov = { a, 8 };
	struct ring r;
	int p[2];
	char c;

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	ring_sqe(&r, IORING_OP_READ, p[0], &c, 1, 0)->flags = IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_READV, fd, &iov, 1, 0)->flags = IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_TIMEOUT, -1, &ts, 1, 0)->flags =
		IOSQE_IO_HARDLINK;
	ring_nop(&r);
	ring_submit(&r);
	iov.iov_base = b;
	ts.tv_sec = 1000;
	diff_must(d, write(p[1], "x", 1), "write");
	ring_wait(&r, 4, RING_ORDER);
	diff_bytes(d, "a", a, 8);
	diff_bytes(d, "b", b, 8);
	ring_close(&r);
	close(fd);
	close(p[0]);
	close(p[1]);
}

static void read_fixed_in_chain(struct diff *d)
{
	int fd = diff_file(d, "f", 10);
	static char buf[4096];
	struct iovec iov = { buf, sizeof(buf) };
	struct ring r;

	ring_open(d, &r, 8, 0);
	diff_res(d,
		 d->be->reg((unsigned int)r.fd, IORING_REGISTER_BUFFERS, &iov,
			    1),
		 "register");
	ring_sqe(&r, IORING_OP_READ_FIXED, fd, buf, 10, 0)->flags =
		IOSQE_IO_LINK;
	ring_nop(&r);
	ring_run(&r, 2, RING_ORDER);
	ring_sqe(&r, IORING_OP_READ_FIXED, fd, buf, 100, 0)->flags =
		IOSQE_IO_LINK;
	ring_nop(&r);
	ring_run(&r, 2, RING_ORDER);
	ring_close(&r);
	close(fd);
}

static void net_short_breaks_chain(struct diff *d)
{
	static const uint32_t flags[] = { 0, MSG_WAITALL };
	struct iovec iov;
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct io_uring_sqe *s;
	char buf[8];
	struct ring r;

	iov = (struct iovec){ buf, 8 };
	ring_open(d, &r, 8, 0);
	for (int msg = 0; msg < 2; msg++) {
		for (int f = 0; f < 2; f++) {
			int sv[2];

			diff_socketpair(d, SOCK_STREAM, sv);
			diff_must(d, write(sv[1], "123", 3), "write");
			close(sv[1]);
			if (msg)
				s = ring_sqe(&r, IORING_OP_RECVMSG, sv[0], &m,
					     1, 0);
			else
				s = ring_sqe(&r, IORING_OP_RECV, sv[0], buf, 8,
					     0);
			s->msg_flags = flags[f];
			s->flags = IOSQE_IO_LINK;
			ring_nop(&r);
			ring_run(&r, 2, RING_ORDER);
			close(sv[0]);
		}
	}
	ring_close(&r);
}

static void skip_then_link_timeout(struct diff *d)
{
	struct au_timespec ts = { .tv_nsec = 5000000 };
	char buf[8];
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	for (int skip = 0; skip < 4; skip++) {
		diff_say(d, "skip %d", skip);
		ring_sqe(&r, IORING_OP_READ, p[0], buf, 8, 0)->flags =
			IOSQE_IO_LINK | (skip & 1 ? IOSQE_CQE_SKIP_SUCCESS : 0);
		ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->flags =
			skip & 2 ? IOSQE_CQE_SKIP_SUCCESS : 0;
		ring_run(&r, skip & 2 ? 1 : 2, RING_SORTED);
		/* Done in time. */
		ring_nop(&r)->flags = IOSQE_IO_LINK |
				      (skip & 1 ? IOSQE_CQE_SKIP_SUCCESS : 0);
		ring_sqe(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->flags =
			skip & 2 ? IOSQE_CQE_SKIP_SUCCESS : 0;
		ring_submit(&r);
		ring_settle(&r, RING_SORTED);
	}
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static const struct diff_test tests[] = {
	{ "short_read_breaks_chain", short_read_breaks_chain, DIFF_ALL },
	{ "short_write_breaks_chain", short_write_breaks_chain, DIFF_PLAIN },
	{ "readv_short_breaks_chain", readv_short_breaks_chain, DIFF_ALL },
	{ "error_breaks_chain", error_breaks_chain, DIFF_ALL },
	{ "prep_failure_in_chain", prep_failure_in_chain, DIFF_SYNC },
	{ "chain_ends_with_submit", chain_ends_with_submit, DIFF_ALL },
	{ "timeout_breaks_chain", timeout_breaks_chain, DIFF_ALL },
	{ "link_timeout_fires", link_timeout_fires, DIFF_ALL },
	{ "timeout_behind_async", timeout_behind_async, DIFF_PLAIN },
	{ "link_timeout_not_needed", link_timeout_not_needed, DIFF_ALL },
	{ "link_timeout_misplaced", link_timeout_misplaced, DIFF_SYNC },
	{ "drain_orders", drain_orders, DIFF_ALL },
	{ "drain_in_chain", drain_in_chain, DIFF_ALL },
	{ "drain_patterns", drain_patterns, DIFF_SYNC },
	{ "drain_waits_for_multishot", drain_waits_for_multishot, DIFF_SYNC },
	{ "drain_with_chain_and_async", drain_with_chain_and_async, DIFF_SYNC },
	{ "drain_and_skip_exclude", drain_and_skip_exclude, DIFF_SYNC },
	{ "skip_in_chain", skip_in_chain, DIFF_SYNC },
	{ "skip_single", skip_single, DIFF_SYNC },
	{ "cancel_in_chain", cancel_in_chain, DIFF_SYNC },
	{ "link_assigns_file_late", link_assigns_file_late, DIFF_ALL },
	{ "link_copies_arguments", link_copies_arguments, DIFF_SYNC },
	{ "read_fixed_in_chain", read_fixed_in_chain, DIFF_ALL },
	{ "net_short_breaks_chain", net_short_breaks_chain, DIFF_SYNC },
	{ "skip_then_link_timeout", skip_then_link_timeout, DIFF_SYNC },
};

DIFF_MAIN(tests)
