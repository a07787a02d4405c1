/* SPDX-License-Identifier: MIT */
/* Description: POLL_ADD, POLL_REMOVE, their updates; ASYNC_CANCEL. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <unistd.h>
#include "diff.h"

static struct io_uring_sqe *poll_add(struct ring *r, int fd, uint32_t events,
				     uint32_t len)
{
	struct io_uring_sqe *s =
		ring_sqe(r, IORING_OP_POLL_ADD, fd, NULL, len, 0);

	s->poll32_events = events;
	return s;
}

static struct io_uring_sqe *poll_remove(struct ring *r, uint64_t user_data,
					uint32_t len)
{
	struct io_uring_sqe *s =
		ring_sqe(r, IORING_OP_POLL_REMOVE, -1, NULL, len, 0);

	s->addr = user_data;
	return s;
}

static struct io_uring_sqe *cancel(struct ring *r, uint64_t user_data, int fd,
				   uint32_t flags)
{
	struct io_uring_sqe *s =
		ring_sqe(r, IORING_OP_ASYNC_CANCEL, fd, NULL, 0, 0);

	s->addr = user_data;
	s->cancel_flags = flags;
	return s;
}

/* Every mask, on files in every state. */
static void masks(struct diff *d)
{
	static const uint32_t mask[] = { 0,
					 POLLIN,
					 POLLOUT,
					 POLLIN | POLLOUT,
					 POLLPRI,
					 POLLRDHUP,
					 POLLHUP,
					 POLLERR,
					 POLLRDNORM,
					 POLLWRNORM,
					 0xffff,
					 0xffffffff,
					 POLLIN | EPOLLET,
					 POLLIN | EPOLLONESHOT,
					 POLLIN | EPOLLEXCLUSIVE };
	int p[2], q[2], sv[2], half[2], fds[8], n = 0;
	struct ring r;

	ring_open(d, &r, 8, 0);
	diff_pipe(d, p);
	diff_pipe(d, q);
	diff_socketpair(d, SOCK_STREAM, sv);
	diff_socketpair(d, SOCK_STREAM, half);
	diff_must(d, write(p[1], "x", 1), "write");
	close(q[1]);
	close(half[1]);
	fds[n++] = p[0];
	fds[n++] = p[1];
	fds[n++] = q[0];
	fds[n++] = sv[0];
	fds[n++] = half[0];
	fds[n++] = diff_file(d, "f", 1);
	fds[n++] = eventfd(0, EFD_CLOEXEC);
	fds[n++] = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < n; i++) {
		for (size_t m = 0; m < AU_ARRAY_SIZE(mask); m++) {
			diff_say(d, "file %d mask %#x", i, mask[m]);
			poll_add(&r, fds[i], mask[m], 0)->user_data = 900;
			ring_submit(&r);
			ring_enter(&r, 0, 0, IORING_ENTER_GETEVENTS);
			ring_reap(&r, RING_ORDER);
			poll_remove(&r, 900, 0)->user_data = 901;
			ring_submit(&r);
			ring_settle(&r, RING_SORTED);
		}
	}
	ring_close(&r);
	for (int i = 0; i < n; i++)
		close(fds[i]);
	close(sv[1]);
}

static void arguments(struct diff *d)
{
	struct io_uring_sqe *s;
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	diff_must(d, write(p[1], "x", 1), "write");
	ring_open(d, &r, 8, 0);
	for (int bit = 0; bit < 32; bit++) {
		diff_say(d, "len %#x", 1U << bit);
		poll_add(&r, p[0], POLLIN, 1U << bit)->user_data = 900;
		ring_submit(&r);
		ring_settle(&r, RING_ORDER);
		cancel(&r, 900, -1, 0)->user_data = 901;
		ring_submit(&r);
		ring_settle(&r, RING_SORTED);
		poll_remove(&r, 900, 1U << bit)->user_data = 902;
		ring_submit(&r);
		ring_settle(&r, RING_SORTED);
	}
	for (int i = 0; i < 8; i++) {
		diff_say(d, "field %d", i);
		s = poll_add(&r, i == 7 ? 9999 : p[0], POLLIN, 0);
		s->buf_index = i == 0;
		s->off = i == 1;
		s->addr = i == 2;
		s->ioprio = i == 3;
		s->splice_fd_in = i == 4;
		s->flags = i == 5 ? IOSQE_BUFFER_SELECT : 0;
		s->personality = i == 6;
		ring_submit(&r);
		ring_settle(&r, RING_ORDER);
		s = poll_remove(&r, 900, 0);
		s->buf_index = i == 0;
		s->off = i == 1;
		s->poll32_events = i == 2;
		s->ioprio = i == 3;
		s->splice_fd_in = i == 4;
		s->flags = i == 5 ? IOSQE_FIXED_FILE : 0;
		ring_submit(&r);
		ring_settle(&r, RING_ORDER);
	}
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static void fires(struct diff *d)
{
	struct ring r;
	int p[2];
	char c;

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	for (int i = 0; i < 3; i++)
		poll_add(&r, p[0], POLLIN, 0);
	poll_add(&r, p[0], POLLPRI, 0);
	ring_submit(&r);
	ring_settle(&r, RING_ORDER);
	diff_must(d, write(p[1], "x", 1), "write");
	ring_wait(&r, 3, RING_SORTED);
	diff_must(d, read(p[0], &c, 1), "read");
	close(p[1]);
	ring_wait(&r, 1, RING_SORTED);
	ring_close(&r);
	close(p[0]);
}

static void multishot(struct diff *d)
{
	struct ring r;
	int p[2];
	char c;

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	poll_add(&r, p[0], POLLIN, IORING_POLL_ADD_MULTI)->user_data = 7;
	ring_submit(&r);
	ring_settle(&r, RING_ORDER);
	for (int i = 0; i < 3; i++) {
		diff_must(d, write(p[1], "x", 1), "write");
		ring_wait(&r, 1, RING_ORDER);
		diff_must(d, read(p[0], &c, 1), "read");
	}
	ring_settle(&r, RING_ORDER);
	poll_remove(&r, 7, 0);
	ring_run(&r, 2, RING_SORTED);
	/* Ready from the start. */
	diff_must(d, write(p[1], "x", 1), "write");
	poll_add(&r, p[0], POLLIN, IORING_POLL_ADD_MULTI)->user_data = 8;
	ring_run(&r, 1, RING_ORDER);
	ring_settle(&r, RING_ORDER);
	/* The writer goes. */
	close(p[1]);
	ring_wait(&r, 1, RING_ORDER);
	ring_settle(&r, RING_ORDER);
	poll_remove(&r, 8, 0);
	ring_submit(&r);
	ring_settle(&r, RING_SORTED);
	ring_close(&r);
	close(p[0]);
}

static void multishot_overflow(struct diff *d)
{
	struct ring r;
	int p[2];
	unsigned int n = 0;

	diff_pipe(d, p);
	ring_open(d, &r, 1, 0);
	poll_add(&r, p[0], POLLIN, IORING_POLL_ADD_MULTI)->user_data = 7;
	ring_submit(&r);
	for (int i = 0; i < 6; i++) {
		diff_must(d, write(p[1], "x", 1), "write");
		diff_sleep_ms(d, 10);
		ring_enter(&r, 0, 0, 0);
	}
	n = ring_reap(&r, RING_ORDER);
	n += ring_settle(&r, RING_ORDER);
	diff_say(d, "%u in all", n);
	poll_remove(&r, 7, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static void removal(struct diff *d)
{
	struct au_timespec ts = { .tv_sec = 100 };
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	poll_remove(&r, 97, 0);
	ring_run(&r, 1, RING_ORDER);
	poll_add(&r, p[0], POLLIN, 0)->user_data = 97;
	ring_submit(&r);
	poll_remove(&r, 97, 0);
	ring_run(&r, 2, RING_SORTED);
	/* Two of a name: the older goes first. */
	poll_add(&r, p[0], POLLIN, 0)->user_data = 97;
	ring_submit(&r);
	poll_add(&r, p[0], POLLPRI, 0)->user_data = 97;
	ring_submit(&r);
	poll_remove(&r, 97, 0);
	ring_run(&r, 2, RING_SORTED);
	poll_remove(&r, 97, 0);
	ring_run(&r, 2, RING_SORTED);
	/* Not a poll. */
	ring_sqe(&r, IORING_OP_TIMEOUT, -1, &ts, 1, 0)->user_data = 98;
	ring_submit(&r);
	poll_remove(&r, 98, 0);
	ring_run(&r, 1, RING_SORTED);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static void remove_waiting_read(struct diff *d)
{
	struct ring r;
	int p[2];
	char c;

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	ring_sqe(&r, IORING_OP_READ, p[0], &c, 1, 0)->user_data = 99;
	ring_submit(&r);
	poll_remove(&r, 99, 0);
	ring_run(&r, 1, RING_SORTED);
	ring_settle(&r, RING_SORTED);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static void updates(struct diff *d)
{
	struct io_uring_sqe *s;
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 16, 0);
	/* To a mask that is ready. */
	poll_add(&r, p[1], POLLPRI, 0)->user_data = 97;
	ring_submit(&r);
	ring_settle(&r, RING_ORDER);
	s = poll_remove(&r, 97, IORING_POLL_UPDATE_EVENTS);
	s->poll32_events = POLLOUT;
	ring_run(&r, 2, RING_SORTED);
	/* To one that is not, with a new name. */
	poll_add(&r, p[0], POLLPRI, 0)->user_data = 97;
	ring_submit(&r);
	s = poll_remove(&r, 97,
			IORING_POLL_UPDATE_EVENTS |
				IORING_POLL_UPDATE_USER_DATA);
	s->poll32_events = POLLIN;
	s->off = 98;
	ring_run(&r, 1, RING_SORTED);
	poll_remove(&r, 97, 0);
	ring_run(&r, 1, RING_SORTED);
	diff_must(d, write(p[1], "x", 1), "write");
	ring_wait(&r, 1, RING_SORTED);
	/* None of that name. */
	s = poll_remove(&r, 97, IORING_POLL_UPDATE_USER_DATA);
	s->off = 99;
	ring_run(&r, 1, RING_SORTED);
	/* One shot becomes multishot, or does it? */
	poll_add(&r, p[1], POLLPRI, 0)->user_data = 910;
	ring_submit(&r);
	s = poll_remove(&r, 910,
			IORING_POLL_UPDATE_EVENTS | IORING_POLL_ADD_MULTI);
	s->poll32_events = POLLOUT;
	ring_run(&r, 2, RING_SORTED);
	ring_settle(&r, RING_SORTED);
	poll_remove(&r, 910, 0);
	ring_submit(&r);
	ring_settle(&r, RING_SORTED);
	/* Multishot, its events and name changed. */
	poll_add(&r, p[0], POLLPRI, IORING_POLL_ADD_MULTI)->user_data = 911;
	ring_submit(&r);
	s = poll_remove(&r, 911, IORING_POLL_UPDATE_USER_DATA);
	s->off = 912;
	ring_run(&r, 1, RING_SORTED);
	s = poll_remove(&r, 912,
			IORING_POLL_UPDATE_EVENTS | IORING_POLL_ADD_MULTI);
	s->poll32_events = POLLIN;
	ring_run(&r, 2, RING_SORTED);
	diff_must(d, write(p[1], "x", 1), "write");
	ring_wait(&r, 1, RING_SORTED);
	poll_remove(&r, 912, 0);
	ring_submit(&r);
	ring_settle(&r, RING_SORTED);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static void level(struct diff *d)
{
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	poll_add(&r, p[0], POLLIN,
		 IORING_POLL_ADD_MULTI | IORING_POLL_ADD_LEVEL);
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

/* Every combination of two flags, with requests of several kinds waiting. */
static void cancel_flags(struct diff *d)
{
	for (uint32_t f = 0; f < 64; f++) {
		for (int hit = 0; hit < 3; hit++) {
			/* Of several that match, any one may go. */
			bool any = (f & (IORING_ASYNC_CANCEL_FD |
					 IORING_ASYNC_CANCEL_OP)) &&
				   !(f & (IORING_ASYNC_CANCEL_ALL |
					  IORING_ASYNC_CANCEL_USERDATA));
			struct io_uring_sqe *s;
			struct ring r;
			int p[2], q[2], fds[1];
			char c;

			diff_pipe(d, p);
			diff_pipe(d, q);
			ring_open(d, &r, 16, 0);
			fds[0] = p[0];
			d->be->reg((unsigned int)r.fd, IORING_REGISTER_FILES,
				   fds, 1);
			diff_say(d, "flags %#x hit %d", f, hit);
			poll_add(&r, p[0], POLLIN, 0)->user_data = 100;
			poll_add(&r, q[0], POLLIN, 0)->user_data = 100;
			ring_sqe(&r, IORING_OP_READ, p[0], &c, 1, 0)->user_data =
				any ? 100 : 101;
			s = ring_sqe(&r, IORING_OP_READ, 0, &c, 1, 0);
			s->user_data = any ? 100 : 102;
			s->flags = IOSQE_FIXED_FILE;
			ring_submit(&r);
			s = cancel(&r,
				   hit == 0 ? 100 :
				   hit == 1 ? 101 :
					      5,
				   hit == 0 ? p[0] :
				   hit == 1 ? 0 :
					      9999,
				   f);
			s->user_data = 200;
			s->len = IORING_OP_READ;
			ring_submit(&r);
			ring_settle(&r, RING_SORTED);
			ring_close(&r);
			close(p[0]);
			close(p[1]);
			close(q[0]);
			close(q[1]);
		}
	}
}

static void cancel_arguments(struct diff *d)
{
	struct io_uring_sqe *s;
	struct ring r;

	ring_open(d, &r, 8, 0);
	for (int bit = 6; bit < 32; bit++) {
		cancel(&r, 7, -1, 1U << bit);
		ring_run(&r, 1, RING_ORDER);
	}
	for (int i = 0; i < 8; i++) {
		diff_say(d, "field %d", i);
		s = cancel(&r, 7, -1, 0);
		s->buf_index = i == 0;
		s->off = i == 1;
		s->len = i == 2;
		s->ioprio = i == 3;
		s->splice_fd_in = i == 4;
		s->flags = i == 5 ? IOSQE_BUFFER_SELECT :
			   i == 6 ? IOSQE_FIXED_FILE :
				    0;
		s->personality = i == 7;
		ring_run(&r, 1, RING_ORDER);
	}
	ring_close(&r);
}

/* The file counts, not the number it has. */
static void cancel_by_file(struct diff *d)
{
	struct ring r;
	int p[2], twin;
	char c;

	diff_pipe(d, p);
	twin = fcntl(p[0], F_DUPFD_CLOEXEC, 0);
	ring_open(d, &r, 8, 0);
	ring_sqe(&r, IORING_OP_READ, p[0], &c, 1, 0);
	ring_submit(&r);
	cancel(&r, 0, p[1], IORING_ASYNC_CANCEL_FD);
	ring_run(&r, 1, RING_SORTED);
	cancel(&r, 0, twin, IORING_ASYNC_CANCEL_FD);
	ring_run(&r, 2, RING_SORTED);
	ring_sqe(&r, IORING_OP_READ, p[0], &c, 1, 0);
	ring_submit(&r);
	/* Its number is closed; the request lives, and its twin finds it. */
	d->be->close(p[0]);
	ring_settle(&r, RING_SORTED);
	cancel(&r, 0, twin, IORING_ASYNC_CANCEL_FD);
	ring_run(&r, 2, RING_SORTED);
	ring_close(&r);
	close(twin);
	close(p[1]);
}

/* A request outlives the descriptor's close and its number's reuse. */
static void closed_while_waiting(struct diff *d)
{
	struct ring r;
	int p[2], q[2], n;
	char c = 0;

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	ring_sqe(&r, IORING_OP_READ, p[0], &c, 1, 0);
	poll_add(&r, p[0], POLLIN, 0);
	ring_submit(&r);
	n = p[0];
	d->be->close(p[0]);
	diff_pipe(d, q);
	diff_say(d, "same number %d", q[0] == n);
	diff_must(d, write(q[1], "q", 1), "write");
	ring_settle(&r, RING_SORTED);
	diff_must(d, write(p[1], "p", 1), "write");
	ring_wait(&r, 2, RING_SORTED);
	diff_bytes(d, "read", &c, 1);
	/* The last writer goes: the reader sees the end. */
	ring_sqe(&r, IORING_OP_READ, q[0], &c, 1, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_READ, q[0], &c, 1, 0);
	ring_submit(&r);
	d->be->close(q[1]);
	ring_wait(&r, 1, RING_ORDER);
	ring_close(&r);
	close(q[0]);
	close(p[1]);
}

static int by_char(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

static void many_reads(struct diff *d)
{
	struct ring r;
	char c[8] = { 0 };
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	for (int i = 0; i < 8; i++)
		ring_sqe(&r, IORING_OP_READ, p[0], &c[i], 1, 0);
	ring_submit(&r);
	/* The kernel wakes the last first, anyuring the first. */
	diff_must(d, write(p[1], "abc", 3), "write");
	diff_say(d, "%u read", ring_wait(&r, 3, RING_QUIET));
	ring_settle(&r, RING_SORTED);
	diff_must(d, write(p[1], "defgh", 5), "write");
	diff_say(d, "%u read", ring_wait(&r, 5, RING_QUIET));
	qsort(c, 8, 1, by_char);
	diff_bytes(d, "got", c, 8);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

/* A ring polled by a ring, and by itself. */
static void ring_on_ring(struct diff *d)
{
	struct ring a, b;

	ring_open(d, &a, 8, 0);
	ring_open(d, &b, 8, 0);
	poll_add(&a, b.fd, POLLIN, 0);
	ring_submit(&a);
	ring_settle(&a, RING_ORDER);
	ring_nop(&b);
	ring_submit(&b);
	ring_wait(&a, 1, RING_ORDER);
	poll_add(&b, b.fd, POLLOUT, 0);
	ring_run(&b, 2, RING_SORTED);
	ring_close(&a);
	ring_close(&b);
}

static void ring_fd_polled(struct diff *d)
{
	struct pollfd p;
	struct ring r;

	ring_open(d, &r, 8, 0);
	p = (struct pollfd){ .fd = r.fd, .events = POLLIN };
	diff_res(d, poll(&p, 1, 0), "empty");
	ring_close(&r);
}

/* The other ring has its CQE as soon as the call returns that made this one. */
static void ring_polls_ring(struct diff *d)
{
	const uint32_t defer = IORING_SETUP_SINGLE_ISSUER |
			       IORING_SETUP_DEFER_TASKRUN;
	struct ring one, two;

	for (int lap = 0; lap < 2; lap++) {
		ring_open(d, &one, 4, lap ? defer : 0);
		ring_open(d, &two, 4, 0);
		ring_sqe(&two, IORING_OP_POLL_ADD, one.fd, NULL, 0, 0)
			->poll32_events = POLLIN;
		ring_submit(&two);
		ring_nop(&one);
		ring_submit(&one);
		diff_want(d, ring_ready(&two), 1, "ready");
		ring_reap(&two, RING_ORDER);
		ring_reap(&one, RING_ORDER);
		ring_close(&two);
		ring_close(&one);
	}
}

static const struct diff_test tests[] = {
	{ "masks", masks, 0 },
	{ "arguments", arguments, 0 },
	{ "fires", fires, DIFF_ALL },
	{ "multishot", multishot, DIFF_SYNC },
	{ "multishot_overflow", multishot_overflow, 0 },
	{ "removal", removal, DIFF_SYNC },
	{ "remove_waiting_read", remove_waiting_read, 0 },
	{ "updates", updates, DIFF_SYNC },
	{ "level", level, 0 },
	{ "cancel_flags", cancel_flags, 0 },
	{ "cancel_arguments", cancel_arguments, 0 },
	{ "cancel_by_file", cancel_by_file, DIFF_SYNC },
	{ "closed_while_waiting", closed_while_waiting, DIFF_SYNC },
	{ "many_reads", many_reads, DIFF_ALL },
	{ "ring_on_ring", ring_on_ring, 0 },
	{ "ring_fd_polled", ring_fd_polled, 0 },
	{ "ring_polls_ring", ring_polls_ring, 0 },
};

DIFF_MAIN(tests)
