/* SPDX-License-Identifier: MIT */
/*
 * Description: threads that submit, cancel, wait, register, dup, close and fork
 * on shared rings of every kind. What was submitted to a ring that was not
 * closed meanwhile completes, each request exactly once.
 */
#include "stress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS  4
#define SLOTS    4
#define NR_PIPES 6

/* A child finds gcc 12's AddressSanitizer's allocator as locked as it was. */
#if defined(__SANITIZE_ADDRESS__)
#define CAN_FORK false
#elif defined(__has_feature)
#define CAN_FORK (!__has_feature(address_sanitizer))
#else
#define CAN_FORK true
#endif

struct slot {
	pthread_mutex_t mutex; /* of the SQ, the CQ and the descriptor */
	struct st_ring ring;
	uint64_t submitted; /* to this ring */
	unsigned int generation;
};

static struct slot slots[SLOTS];
static struct {
	pthread_mutex_t mutex;
	int ends[2];
} pipes[NR_PIPES];
static char sink[THREADS][4096];

static const uint32_t setups[] = {
	0, IORING_SETUP_SQPOLL, IORING_SETUP_COOP_TASKRUN,
	IORING_SETUP_SUBMIT_ALL, IORING_SETUP_NO_SQARRAY,
};

static void slot_open(struct st_rng *r, struct slot *s)
{
	struct io_uring_params p = {
		.flags = setups[st_below(r, sizeof(setups) / 4)] |
			 IORING_SETUP_CQSIZE,
		.cq_entries = 4096,
		.sq_thread_idle = 1,
	};

	ST_CHECK(st_ring_try(&s->ring, 32, &p) == 0);
	s->submitted = 0;
	s->generation++;
}

static void drain_cq(struct slot *s)
{
	struct io_uring_cqe cqe;

	while (st_cqe(&s->ring, &cqe))
		;
}

/* Hands the SQEs over; with SQPOLL waits until its thread has taken them. */
static void slot_submit(struct slot *s)
{
	for (int i = 0; i < 2000; i++) {
		int ret = st_enter(&s->ring, 0, 0);

		if (ret < 0 && ret != -EAGAIN && ret != -EINTR)
			st_fail("enter: %s", strerror(-ret));
		if (__atomic_load_n(s->ring.sq_head, __ATOMIC_ACQUIRE) ==
		    s->ring.tail)
			return;
		sched_yield();
		if (i > 100)
			(void)poll(NULL, 0, 1);
	}
	st_fail("SQEs stay in the SQ: setup %#x", s->ring.p.flags);
}

static struct io_uring_sqe *add(struct slot *s, uint8_t op, int fd,
				const void *addr, uint32_t len, uint64_t off,
				struct st_rng *r)
{
	s->submitted++;
	return st_prep(&s->ring, op, fd, addr, len, off, st_below(r, 8));
}

static void submit_some(struct st_rng *r, struct slot *s, char *buf)
{
	static const struct au_timespec soon = { .tv_nsec = 300000 };
	static const struct au_timespec late = { .tv_sec = 1000 };
	struct io_uring_sqe *sqe;

	for (uint32_t n = 1 + st_below(r, 10); n; n--) {
		const int *ends = pipes[st_below(r, NR_PIPES)].ends;
		int rd = __atomic_load_n(&ends[0], __ATOMIC_RELAXED);
		int wr = __atomic_load_n(&ends[1], __ATOMIC_RELAXED);

		switch (st_below(r, 11)) {
		case 0:
			add(s, IORING_OP_NOP, -1, NULL, 0, 0, r);
			break;
		case 1:
			sqe = add(s, IORING_OP_POLL_ADD, rd, NULL, 0, 0, r);
			sqe->poll32_events = POLLIN;
			break;
		case 2:
			add(s, IORING_OP_READ, rd, buf, 8, (uint64_t)-1, r);
			break;
		case 3: /* by a worker */
			sqe = add(s, IORING_OP_READ, rd, buf, 8, (uint64_t)-1,
				  r);
			sqe->flags = IOSQE_ASYNC;
			break;
		case 4:
			add(s, IORING_OP_WRITE, wr, buf, 16, (uint64_t)-1, r);
			break;
		case 5:
			add(s, IORING_OP_TIMEOUT, -1, &soon, 1,
			    st_below(r, 3), r);
			break;
		case 6:
			add(s, IORING_OP_TIMEOUT, -1, &late, 1, 0, r);
			break;
		case 7:
			sqe = add(s, IORING_OP_ASYNC_CANCEL, -1,
				  (void *)(uintptr_t)st_below(r, 8), 0, 0, r);
			sqe->cancel_flags = st_one_in(r, 2) ?
						    IORING_ASYNC_CANCEL_ALL :
						    0;
			break;
		case 8: /* a chain: read by a worker, then a timeout */
			if (n < 3)
				break;
			sqe = add(s, IORING_OP_READ, rd, buf, 8, (uint64_t)-1,
				  r);
			sqe->flags = IOSQE_IO_LINK |
				     (st_one_in(r, 2) ? IOSQE_ASYNC : 0);
			sqe = add(s, IORING_OP_LINK_TIMEOUT, -1, &soon, 1, 0,
				  r);
			sqe->flags = IOSQE_IO_HARDLINK;
			add(s, IORING_OP_TIMEOUT, -1, &soon, 1, 0, r);
			n -= 2;
			break;
		case 9:
			add(s, IORING_OP_FSYNC, wr, NULL, 0, 0, r);
			break;
		default:
			sqe = add(s, IORING_OP_STATX, AT_FDCWD, ".",
				  0x7ff, (uintptr_t)(buf + 1024), r);
		}
	}
	slot_submit(s);
}

static void wait_unlocked(struct st_rng *r, struct slot *s)
{
	struct au_timespec ts = { .tv_nsec = st_below(r, 2000000) };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	int fd;

	pthread_mutex_lock(&s->mutex);
	fd = s->ring.fd;
	pthread_mutex_unlock(&s->mutex);
	/* It may be closed meanwhile, or be another one by now. */
	(void)anyuring_enter((unsigned int)fd, 0, 1 + st_below(r, 64),
			     IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
			     &arg, sizeof(arg));
}

static void register_some(struct st_rng *r, struct slot *s)
{
	unsigned int fd = (unsigned int)s->ring.fd;
	int32_t files[NR_PIPES], efd;
	struct io_uring_sync_cancel_reg sc = {
		.addr = st_below(r, 8), .fd = -1,
		.timeout = { .tv_nsec = 1000000 },
	};

	switch (st_below(r, 5)) {
	case 0:
		for (int i = 0; i < NR_PIPES; i++)
			files[i] = __atomic_load_n(&pipes[i].ends[0],
						   __ATOMIC_RELAXED);
		(void)anyuring_register(fd, IORING_REGISTER_FILES, files,
					NR_PIPES);
		break;
	case 1:
		(void)anyuring_register(fd, IORING_UNREGISTER_FILES, NULL, 0);
		break;
	case 2:
		efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		(void)anyuring_register(fd, IORING_REGISTER_EVENTFD, &efd, 1);
		close(efd);
		break;
	case 3:
		(void)anyuring_register(fd, IORING_UNREGISTER_EVENTFD, NULL, 0);
		break;
	default:
		(void)anyuring_register(fd, IORING_REGISTER_SYNC_CANCEL, &sc,
					1);
	}
}

static void dup_and_close(struct st_rng *r, struct slot *s)
{
	int fd = fcntl(s->ring.fd, F_DUPFD_CLOEXEC, 0);

	ST_CHECK(fd >= 0);
	if (st_one_in(r, 2))
		(void)anyuring_enter((unsigned int)fd, 0, 0,
				     IORING_ENTER_GETEVENTS, NULL, 0);
	(void)anyuring_close(fd);
}

static void pipe_renew(struct st_rng *r)
{
	uint32_t i = st_below(r, NR_PIPES);
	int p[2];

	pthread_mutex_lock(&pipes[i].mutex);
	if (pipes[i].ends[0] >= 0) {
		(void)anyuring_close(pipes[i].ends[0]);
		(void)anyuring_close(pipes[i].ends[1]);
	}
	if (st_one_in(r, 2))
		ST_CHECK(!pipe2(p, O_CLOEXEC | O_NONBLOCK));
	else
		ST_CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
						      SOCK_NONBLOCK,
				     0, p));
	for (int k = 0; k < 2; k++)
		__atomic_store_n(&pipes[i].ends[k], p[k], __ATOMIC_RELAXED);
	pthread_mutex_unlock(&pipes[i].mutex);
}

static void fork_some(void)
{
	pid_t pid = fork();
	int status;

	ST_CHECK(pid >= 0);
	if (!pid) {
		struct st_ring own;
		struct io_uring_params p = { 0 };
		struct io_uring_cqe cqe;

		alarm(20);
		if (st_ring_try(&own, 4, &p))
			_exit(2);
		st_prep(&own, IORING_OP_NOP, -1, NULL, 0, 0, 1);
		if (st_enter(&own, 1, 1000) != 1 || !st_cqe(&own, &cqe))
			_exit(3);
		if (anyuring_close(own.fd))
			_exit(4);
		_exit(0);
	}
	ST_CHECK(waitpid(pid, &status, 0) == pid);
	if (status)
		st_fail("the child of a fork: status %#x", (unsigned int)status);
}

static void *racer(void *arg)
{
	uint64_t me = (uintptr_t)arg;
	struct st_rng r = st_rng(me);
	char *buf = sink[me];

	while (st_going()) {
		struct slot *s = &slots[st_below(&r, SLOTS)];
		uint32_t what = st_below(&r, 100);

		if (what < 12) {
			wait_unlocked(&r, s);
			continue;
		}
		if (what < 20) {
			pipe_renew(&r);
			continue;
		}
		if (what == 20 && me == 0 && CAN_FORK) {
			fork_some();
			continue;
		}
		pthread_mutex_lock(&s->mutex);
		drain_cq(s);
		if (what < 75) {
			submit_some(&r, s, buf);
		} else if (what < 85) {
			register_some(&r, s);
		} else if (what < 90) {
			dup_and_close(&r, s);
		} else if (what < 93) {
			st_ring_exit(&s->ring);
			slot_open(&r, s);
		} else {
			(void)st_enter(&s->ring, 1, 1);
		}
		drain_cq(s);
		pthread_mutex_unlock(&s->mutex);
	}
	return NULL;
}

/* Cancels what waits until everything submitted has its CQE. */
static void slot_settle(struct slot *s)
{
	struct st_rng r = st_rng(99);

	for (int i = 0; i < 3000; i++) {
		struct io_uring_sqe *sqe;

		drain_cq(s);
		if (s->ring.nr_cqes == s->submitted)
			return;
		if (s->ring.nr_cqes > s->submitted)
			break;
		sqe = add(s, IORING_OP_ASYNC_CANCEL, -1, NULL, 0, 0, &r);
		sqe->cancel_flags = IORING_ASYNC_CANCEL_ANY;
		slot_submit(s);
		drain_cq(s);
		(void)st_enter(&s->ring, 1, 1);
	}
	st_fail("setup %#x: %u submitted, %u completed", s->ring.p.flags,
		(unsigned int)s->submitted, (unsigned int)s->ring.nr_cqes);
}

int main(void)
{
	struct st_rng r = st_rng(0);
	pthread_t t[THREADS];
	unsigned int before;

	st_begin("stress-races", 60);
	r = st_rng(1000);
	st_warm_up();
	before = st_fds();
	for (int i = 0; i < NR_PIPES; i++) {
		pthread_mutex_init(&pipes[i].mutex, NULL);
		pipes[i].ends[0] = -1;
	}
	for (int i = 0; i < 200; i++)
		pipe_renew(&r);
	for (int i = 0; i < NR_PIPES; i++)
		ST_CHECK(pipes[i].ends[0] >= 0);
	for (int i = 0; i < SLOTS; i++) {
		pthread_mutex_init(&slots[i].mutex, NULL);
		slot_open(&r, &slots[i]);
	}
	for (uintptr_t i = 0; i < THREADS; i++)
		ST_CHECK(!pthread_create(&t[i], NULL, racer, (void *)i));
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < SLOTS; i++) {
		slot_settle(&slots[i]);
		printf("slot %d: ring %u, %u requests\n", i,
		       slots[i].generation, (unsigned int)slots[i].submitted);
		st_ring_exit(&slots[i].ring);
	}
	for (int i = 0; i < NR_PIPES; i++) {
		(void)anyuring_close(pipes[i].ends[0]);
		(void)anyuring_close(pipes[i].ends[1]);
	}
	if (!st_fds_settle(before))
		st_fail("%u descriptors, were %u", st_fds(), before);
	return 0;
}
