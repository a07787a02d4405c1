/* SPDX-License-Identifier: MIT */
/*
 * Description: wake-ups and lifetimes that went wrong once, one function each.
 * Every case says who must act and waits for it with a bound.
 */
#include "stress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/atomic.h"

#define WAIT_MS 3000

static struct au_timespec ts_ms(unsigned int ms)
{
	return (struct au_timespec){ .tv_sec = ms / 1000,
				     .tv_nsec = ms % 1000 * 1000000LL };
}

static void pair(int fds[2])
{
	ST_CHECK(pipe2(fds, O_CLOEXEC) == 0);
}

static void unpair(int fds[2])
{
	(void)anyuring_close(fds[0]);
	(void)anyuring_close(fds[1]);
}

struct waiter {
	struct st_ring *ring;
	unsigned int nr;
	int ret;
	int tid; /* set right before entering */
	bool late; /* it was its own timeout that ended the wait */
};

static void *waiter_main(void *arg)
{
	struct waiter *w = arg;
	struct au_timespec ts = ts_ms(WAIT_MS);
	struct io_uring_getevents_arg a = { .ts = (uintptr_t)&ts };
	uint64_t from = st_now_ns();

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	w->ret = anyuring_enter((unsigned int)w->ring->fd, 0, w->nr,
				IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
				&a, sizeof(a));
	w->late = st_now_ns() - from >= WAIT_MS * 1000000ULL;
	return NULL;
}

/* There is no way to see that a thread sleeps in enter but its state. */
static bool sleeps(int tid)
{
	char path[64], text[256] = "";
	const char *state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (!f)
		return false;
	(void)!fgets(text, sizeof(text), f);
	fclose(f);
	state = strrchr(text, ')');
	return state && state[1] && state[2] == 'S';
}

static void waiter_start(struct waiter *w, pthread_t *t)
{
	ST_CHECK(!pthread_create(t, NULL, waiter_main, w));
	for (int i = 0; i < WAIT_MS; i++) {
		int tid = __atomic_load_n(&w->tid, __ATOMIC_ACQUIRE);

		if (tid && sleeps(tid))
			return;
		(void)poll(NULL, 0, 1);
	}
	st_fail("the waiter does not sleep");
}

/* Long enough for the housekeeper to fall asleep; shorter does no harm. */
static void let_it_sleep(void)
{
	(void)poll(NULL, 0, 20);
}

/* A timer that another thread arms while the leader sleeps. */
static void test_timer_armed_beside_the_leader(void)
{
	struct st_ring r;
	struct waiter w = { .ring = &r, .nr = 1 };
	struct au_timespec ts = ts_ms(10);
	struct io_uring_cqe cqe;
	pthread_t t;

	st_ring_init(&r, 8, 0);
	waiter_start(&w, &t);
	st_prep(&r, IORING_OP_TIMEOUT, -1, &ts, 1, 0, 1);
	ST_CHECK(st_enter(&r, 0, 0) == 1);
	pthread_join(t, NULL);
	ST_CHECK(w.ret == 0 && !w.late);
	ST_CHECK(st_cqe(&r, &cqe) && cqe.res == -ETIME);
	st_ring_exit(&r);
}

/* A chain that a worker goes on with arms a timer; nobody is inside. */
static void test_timer_armed_by_a_worker(void)
{
	struct st_ring r;
	struct au_timespec ts = ts_ms(20);
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;
	int p[2];
	char c;

	pair(p);
	st_ring_init(&r, 8, 0);
	/* Something that never ends, so that the housekeeper stays. */
	sqe = st_prep(&r, IORING_OP_READ, p[0], &c, 1, (uint64_t)-1, 1);
	sqe->flags = IOSQE_ASYNC | IOSQE_IO_LINK;
	st_prep(&r, IORING_OP_TIMEOUT, -1, &ts, 1, 0, 2);
	ST_CHECK(st_enter(&r, 0, 0) == 2);
	let_it_sleep(); /* the housekeeper nests */
	ST_CHECK(write(p[1], "x", 1) == 1);
	ST_CHECK(st_cqe_appears(&r, &cqe, WAIT_MS) && cqe.user_data == 1);
	ST_CHECK(st_cqe_appears(&r, &cqe, WAIT_MS) && cqe.user_data == 2 &&
		 cqe.res == -ETIME);
	st_ring_exit(&r);
	unpair(p);
}

/* DEFER_TASKRUN: every readiness is announced, not only the first. */
static void test_deferred_work_is_announced_each_time(void)
{
	struct st_ring r;
	int efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), p[2];
	char c;

	pair(p);
	st_ring_init(&r, 8,
		     IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
			     IORING_SETUP_TASKRUN_FLAG);
	ST_CHECK(!anyuring_register((unsigned int)r.fd, IORING_REGISTER_EVENTFD,
				    &efd, 1));
	for (uint64_t i = 0; i < 50; i++) {
		struct pollfd pfd = { .fd = efd, .events = POLLIN };
		struct io_uring_cqe cqe;
		uint64_t count;

		st_prep(&r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0, i)
			->poll32_events = POLLIN;
		ST_CHECK(st_enter(&r, 0, 0) == 1);
		ST_CHECK(write(p[1], "x", 1) == 1);
		if (poll(&pfd, 1, WAIT_MS) != 1)
			st_fail("announcement %u is missing", (unsigned int)i);
		ST_CHECK(read(efd, &count, sizeof(count)) == 8);
		ST_CHECK(au_load_relaxed(r.sq_flags) & IORING_SQ_TASKRUN ||
			 *r.cq_head != au_load_relaxed(r.cq_tail));
		ST_CHECK(st_cqe_wait(&r, &cqe, WAIT_MS) && cqe.user_data == i);
		ST_CHECK(!(au_load_relaxed(r.sq_flags) &
			   IORING_SQ_TASKRUN));
		ST_CHECK(read(p[0], &c, 1) == 1);
		/* The post itself signals too. */
		(void)!read(efd, &count, sizeof(count));
	}
	st_ring_exit(&r);
	close(efd);
	unpair(p);
}

/* The same from workers, which finish whenever they like. */
static void test_deferred_workers_are_announced(void)
{
	struct st_ring r;
	int efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), p[2];
	char c[4];

	pair(p);
	st_ring_init(&r, 8,
		     IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
	ST_CHECK(!anyuring_register((unsigned int)r.fd, IORING_REGISTER_EVENTFD,
				    &efd, 1));
	for (uint64_t i = 0; i < 50; i++) {
		struct pollfd pfd = { .fd = efd, .events = POLLIN };
		struct io_uring_cqe cqe;
		uint64_t count;

		st_prep(&r, IORING_OP_FSYNC, p[0], NULL, 0, 0, i);
		st_prep(&r, IORING_OP_READ, p[0], c, 1, (uint64_t)-1, i)->flags =
			IOSQE_ASYNC;
		ST_CHECK(st_enter(&r, 0, 0) == 2);
		ST_CHECK(write(p[1], "x", 1) == 1);
		for (int got = 0; got < 2;) {
			if (st_cqe(&r, &cqe)) {
				got++;
				continue;
			}
			if (poll(&pfd, 1, WAIT_MS) != 1)
				st_fail("announcement %u is missing",
					(unsigned int)i);
			(void)!read(efd, &count, sizeof(count));
			(void)st_enter(&r, 0, 0);
		}
	}
	st_ring_exit(&r);
	close(efd);
	unpair(p);
}

/* Closing a ring while a worker sleeps for it, of every kind of ring. */
static void test_close_while_a_worker_sleeps(uint32_t flags, bool nested)
{
	unsigned int before = st_fds();
	struct st_ring r;
	int p[2];
	static char c[2];

	pair(p);
	st_ring_init(&r, 8, flags);
	for (int i = 0; i < 2; i++)
		st_prep(&r, IORING_OP_READ, p[0], &c[i], 1, (uint64_t)-1, 1)
			->flags = IOSQE_ASYNC;
	ST_CHECK(st_enter(&r, 0, 0) == 2);
	if (nested)
		let_it_sleep();
	st_ring_exit(&r);
	unpair(p);
	if (!st_fds_settle(before))
		st_fail("flags %#x, nested %d: %u descriptors, were %u", flags,
			nested, st_fds(), before);
}

/* Two blocking requests handed over at once, and one idle worker. */
static void test_idle_worker_takes_only_one(void)
{
	struct st_ring r;
	struct io_uring_cqe cqe;
	int a[2], b[2];
	char c[2];

	pair(a);
	pair(b);
	st_ring_init(&r, 8, 0);
	for (int i = 0; i < 20; i++) {
		/* Leaves one idle worker at least. */
		st_prep(&r, IORING_OP_FSYNC, a[0], NULL, 0, 0, 1);
		(void)st_enter(&r, 1, WAIT_MS);
		ST_CHECK(st_cqe(&r, &cqe));
		let_it_sleep();
		st_prep(&r, IORING_OP_READ, a[0], &c[0], 1, (uint64_t)-1, 2)
			->flags = IOSQE_ASYNC;
		st_prep(&r, IORING_OP_READ, b[0], &c[1], 1, (uint64_t)-1, 3)
			->flags = IOSQE_ASYNC;
		ST_CHECK(st_enter(&r, 0, 0) == 2);
		ST_CHECK(write(b[1], "x", 1) == 1);
		ST_CHECK(st_cqe_wait(&r, &cqe, WAIT_MS) && cqe.user_data == 3);
		ST_CHECK(write(a[1], "x", 1) == 1);
		ST_CHECK(st_cqe_wait(&r, &cqe, WAIT_MS) && cqe.user_data == 2);
	}
	st_ring_exit(&r);
	unpair(a);
	unpair(b);
}

/* A chain closes the descriptor that others are just being tried on. */
static void test_close_under_a_busy_watch(void)
{
	struct st_ring r;
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;
	int p[2], other[2];
	unsigned int seen = 0;
	char c[2];

	ST_CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p));
	pair(other);
	st_ring_init(&r, 8, 0);
	sqe = st_prep(&r, IORING_OP_RECV, p[0], &c[0], 1, 0, 1);
	sqe->flags = IOSQE_IO_LINK;
	st_prep(&r, IORING_OP_CLOSE, p[0], NULL, 0, 0, 2);
	st_prep(&r, IORING_OP_RECV, p[0], &c[1], 1, 0, 3);
	ST_CHECK(st_enter(&r, 0, 0) == 3);
	ST_CHECK(write(p[1], "a", 1) == 1);
	for (int i = 0; i < 2; i++) {
		ST_CHECK(st_cqe_wait(&r, &cqe, WAIT_MS));
		ST_CHECK(cqe.user_data < 3);
		seen |= 1U << cqe.user_data;
	}
	ST_CHECK(seen == 6);
	/* The number means another file now; the request keeps its own. */
	ST_CHECK(dup2(other[0], p[0]) == p[0]);
	ST_CHECK(write(p[1], "b", 1) == 1);
	ST_CHECK(st_cqe_wait(&r, &cqe, WAIT_MS));
	if (cqe.user_data != 3 || cqe.res != 1 || c[1] != 'b')
		st_fail("recv after close: %d", cqe.res);
	st_ring_exit(&r);
	unpair(p);
	unpair(other);
}

/* A chain as long as the SQ, on a thread with a small stack. */
static void test_long_chain(uint32_t flags, bool fails)
{
	struct st_ring r;
	struct io_uring_cqe cqe;
	const unsigned int n = 32768;
	struct io_uring_params p = { .flags = flags };

	ST_CHECK(st_ring_try(&r, n, &p) == 0);
	for (unsigned int i = 0; i < n; i++) {
		struct io_uring_sqe *sqe =
			st_prep(&r, IORING_OP_NOP, -1, NULL, 0, 0, i);

		if (i + 1 < n)
			sqe->flags = fails && i > n / 2 ? IOSQE_IO_LINK :
							  IOSQE_IO_HARDLINK;
		if (fails && i == n / 2) {
			sqe->nop_flags = IORING_NOP_INJECT_RESULT;
			sqe->len = (uint32_t)-EIO;
		}
	}
	ST_CHECK(st_enter(&r, 1, WAIT_MS) >= 0);
	for (unsigned int i = 0; i < n; i++) {
		ST_CHECK(st_cqe_wait(&r, &cqe, WAIT_MS));
		ST_CHECK(cqe.user_data == i);
	}
	st_ring_exit(&r);
}

/* Hard links go on after a cancel; not once the ring ends. */
static void test_hard_links_end_with_the_ring(void)
{
	unsigned int before = st_fds();
	int p[2];
	static char c[4];

	pair(p);
	for (int i = 0; i < 50; i++) {
		struct st_ring r;

		st_ring_init(&r, 8, 0);
		st_prep(&r, IORING_OP_RECV, p[0], c, 1, 0, 1)->flags =
			IOSQE_IO_HARDLINK;
		st_prep(&r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0, 1)->flags =
			IOSQE_IO_HARDLINK;
		st_prep(&r, IORING_OP_READ, p[0], c, 1, (uint64_t)-1, 2)->flags =
			IOSQE_ASYNC | IOSQE_IO_HARDLINK;
		st_prep(&r, IORING_OP_READ, p[0], c, 1, (uint64_t)-1, 3)->flags =
			IOSQE_ASYNC;
		ST_CHECK(st_enter(&r, 0, 0) == 4);
		st_ring_exit(&r);
	}
	unpair(p);
	ST_CHECK(st_fds_settle(before));
}

/* A ring in memory of ours, mapped `how`: the memory. */
static char *no_mmap_ring(struct st_ring *r, uint32_t flags, int how)
{
	struct io_uring_params prm = { .flags = IORING_SETUP_NO_MMAP | flags,
				       .sq_thread_idle = 1000 };
	char *mem = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			 how | MAP_ANONYMOUS, -1, 0);

	ST_CHECK(mem != MAP_FAILED);
	prm.cq_off.user_addr = (uintptr_t)mem;
	prm.sq_off.user_addr = (uintptr_t)mem + 4096;
	ST_CHECK(st_ring_try(r, 8, &prm) == 0);
	return mem;
}

/* As liburing ends a ring: what is shared may go before the descriptor. */
static void test_no_mmap_memory_goes_first(uint32_t flags)
{
	unsigned int before = st_fds();

	for (int i = 0; i < 20; i++) {
		struct st_ring r;
		char *mem = no_mmap_ring(&r, flags, MAP_SHARED);

		st_prep(&r, IORING_OP_NOP, -1, NULL, 0, 0, 1);
		ST_CHECK(st_enter(&r, 0, 0) == 1);
		munmap(mem, 8192);
		(void)poll(NULL, 0, 1);
		ST_CHECK(anyuring_close(r.fd) == 0);
	}
	ST_CHECK(st_fds_settle(before));
}

/* The application's ring memory may go as soon as close has returned. */
static void test_no_mmap_memory_goes_after_close(uint32_t flags)
{
	unsigned int before = st_fds();
	static char c;
	int p[2];

	pair(p);
	for (int i = 0; i < 20; i++) {
		struct st_ring r;
		char *mem = no_mmap_ring(&r, flags, MAP_PRIVATE);

		st_prep(&r, IORING_OP_READ, p[0], &c, 1, (uint64_t)-1, 1)
			->flags = IOSQE_ASYNC;
		st_prep(&r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0, 2)
			->poll32_events = POLLIN;
		ST_CHECK(st_enter(&r, 0, 0) == 2);
		st_ring_exit(&r);
		munmap(mem, 8192);
	}
	unpair(p);
	ST_CHECK(st_fds_settle(before));
}

/* SYNC_CANCEL sleeps inside; what else waits must be looked after then. */
static void test_pending_survives_sync_cancel(void)
{
	struct io_uring_sync_cancel_reg sc = { .addr = 7, .fd = -1 };
	struct io_uring_cqe cqe;
	struct st_ring r;
	int p[2], q[2];
	char c;

	sc.timeout.tv_sec = sc.timeout.tv_nsec = -1;
	pair(p);
	pair(q);
	st_ring_init(&r, 8, 0);
	st_prep(&r, IORING_OP_READ, p[0], &c, 1, (uint64_t)-1, 7)->flags =
		IOSQE_ASYNC;
	st_prep(&r, IORING_OP_POLL_ADD, q[0], NULL, 0, 0, 8)->poll32_events =
		POLLIN;
	ST_CHECK(st_enter(&r, 0, 0) == 2);
	let_it_sleep();
	ST_CHECK(!anyuring_register((unsigned int)r.fd,
				    IORING_REGISTER_SYNC_CANCEL, &sc, 1));
	ST_CHECK(st_cqe(&r, &cqe) && cqe.user_data == 7);
	ST_CHECK(write(q[1], "x", 1) == 1);
	ST_CHECK(st_cqe_appears(&r, &cqe, WAIT_MS) && cqe.user_data == 8);
	st_ring_exit(&r);
	unpair(p);
	unpair(q);
}

/* Two threads wait; the leader leaves with the first CQE. */
static void test_follower_takes_over(void)
{
	struct st_ring r;
	struct waiter w[3];
	pthread_t t[3];
	int p[2];

	pair(p);
	st_ring_init(&r, 8, 0);
	for (unsigned int i = 0; i < 3; i++) {
		w[i] = (struct waiter){ .ring = &r, .nr = i + 1 };
		waiter_start(&w[i], &t[i]);
	}
	for (unsigned int i = 0; i < 3; i++)
		st_prep(&r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0, i)
			->poll32_events = POLLIN;
	ST_CHECK(st_enter(&r, 0, 0) == 3);
	ST_CHECK(write(p[1], "x", 1) == 1);
	for (unsigned int i = 0; i < 3; i++) {
		pthread_join(t[i], NULL);
		ST_CHECK(w[i].ret == 0 && !w[i].late);
	}
	st_ring_exit(&r);
	unpair(p);
}

/* The ring's last descriptor goes while a thread waits inside. */
static void test_close_while_a_thread_waits(uint32_t flags)
{
	unsigned int before = st_fds();
	struct st_ring r;
	struct waiter w = { .ring = &r, .nr = 1 };
	struct au_timespec ts = ts_ms(60);
	pthread_t t;

	st_ring_init(&r, 8, flags);
	waiter_start(&w, &t);
	st_prep(&r, IORING_OP_TIMEOUT, -1, &ts, 1, 0, 1);
	ST_CHECK(st_enter(&r, 0, 0) == 1);
	ST_CHECK(anyuring_close(r.fd) == 0);
	pthread_join(t, NULL);
	ST_CHECK(w.ret == 0 && !w.late);
	st_ring_unmap(&r);
	ST_CHECK(st_fds_settle(before));
}

/* A ring, and a copy of its descriptor that no call has named. */
static int ring_and_copy(struct st_ring *r, uint32_t flags)
{
	int copy;

	st_ring_init(r, 8, flags);
	copy = fcntl(r->fd, F_DUPFD_CLOEXEC, 0);
	ST_CHECK(copy >= 0);
	return copy;
}

/* The last descriptor may be a copy that no call ever named. */
static void test_last_close_of_a_dup(uint32_t flags)
{
	unsigned int before = st_fds();
	struct st_ring r;
	int copy = ring_and_copy(&r, flags);

	st_ring_exit(&r);
	ST_CHECK(anyuring_close(copy) == 0);
	ST_CHECK(st_fds_settle(before));
}

/* A ring's requests on its own descriptor do not keep it. */
static void test_requests_on_the_ring_itself(uint32_t flags)
{
	unsigned int before = st_fds();
	struct st_ring r;
	static char c;

	st_ring_init(&r, 8, flags);
	st_prep(&r, IORING_OP_POLL_ADD, r.fd, NULL, 0, 0, 1)->poll32_events =
		POLLIN;
	st_prep(&r, IORING_OP_READ, r.fd, &c, 1, 0, 2)->flags = IOSQE_ASYNC;
	st_prep(&r, IORING_OP_FSYNC, r.fd, NULL, 0, 0, 3);
	ST_CHECK(st_enter(&r, 0, 0) == 3);
	st_ring_exit(&r);
	ST_CHECK(st_fds_settle(before));
}

/* Nor do those on a copy that no call has named. */
static void test_requests_on_a_copy_of_the_ring(uint32_t flags)
{
	unsigned int before = st_fds();
	struct st_ring r;
	int copy = ring_and_copy(&r, flags);

	st_prep(&r, IORING_OP_POLL_ADD, copy, NULL, 0, 0, 1)->poll32_events =
		POLLIN;
	ST_CHECK(st_enter(&r, 0, 0) == 1);
	ST_CHECK(anyuring_close(copy) == 0);
	st_ring_exit(&r);
	ST_CHECK(st_fds_settle(before));
}

/* Waiting through a fork: the child has none of the parent's threads. */
static void test_fork_with_pending(void)
{
	struct st_ring r;
	struct io_uring_cqe cqe;
	int p[2], status;
	pid_t pid;

	pair(p);
	st_ring_init(&r, 8, 0);
	st_prep(&r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0, 1)->poll32_events =
		POLLIN;
	ST_CHECK(st_enter(&r, 0, 0) == 1);
	pid = fork();
	ST_CHECK(pid >= 0);
	if (!pid) {
		struct st_ring own;

		alarm(20);
		st_ring_init(&own, 8, 0);
		st_prep(&own, IORING_OP_POLL_ADD, p[0], NULL, 0, 0, 2)
			->poll32_events = POLLIN;
		ST_CHECK(st_enter(&own, 0, 0) == 1);
		ST_CHECK(write(p[1], "x", 1) == 1);
		ST_CHECK(st_cqe_appears(&own, &cqe, WAIT_MS) &&
			 cqe.user_data == 2);
		st_ring_exit(&own);
		_exit(0);
	}
	ST_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	ST_CHECK(st_cqe_appears(&r, &cqe, WAIT_MS) && cqe.user_data == 1);
	st_ring_exit(&r);
	unpair(p);
}

/* Each in a process of its own: one that hangs or crashes is one failure. */
#define RUN(f, ...)                                                  \
	do {                                                         \
		pid_t pid = fork();                                  \
                                                                     \
		ST_CHECK(pid >= 0);                                  \
		if (!pid) {                                          \
			st_begin("stress-lifetime", CASE_S);         \
			st_warm_up();                                \
			f(__VA_ARGS__);                              \
			exit(0);                                     \
		}                                                    \
		failed += !ended_well(pid, #f "(" #__VA_ARGS__ ")"); \
	} while (0)

#define CASE_S 15

static bool ended_well(pid_t pid, const char *what)
{
	int status;

	ST_CHECK(waitpid(pid, &status, 0) == pid);
	if (status)
		fprintf(stderr, "FAIL %s: status %#x\n", what,
			(unsigned int)status);
	return !status;
}

int main(void)
{
	const uint32_t defer = IORING_SETUP_SINGLE_ISSUER |
			       IORING_SETUP_DEFER_TASKRUN;
	unsigned int failed = 0;

	RUN(test_timer_armed_beside_the_leader);
	RUN(test_timer_armed_by_a_worker);
	RUN(test_deferred_work_is_announced_each_time);
	RUN(test_deferred_workers_are_announced);
	RUN(test_close_while_a_worker_sleeps, 0, false);
	RUN(test_close_while_a_worker_sleeps, 0, true);
	RUN(test_close_while_a_worker_sleeps, defer, false);
	RUN(test_close_while_a_worker_sleeps, defer, true);
	RUN(test_close_while_a_worker_sleeps, IORING_SETUP_SQPOLL, true);
	RUN(test_idle_worker_takes_only_one);
	RUN(test_close_under_a_busy_watch);
	RUN(test_long_chain, 0, false);
	RUN(test_long_chain, 0, true);
	RUN(test_long_chain, IORING_SETUP_SQPOLL, false);
	RUN(test_long_chain, IORING_SETUP_SQPOLL, true);
	RUN(test_hard_links_end_with_the_ring);
	RUN(test_no_mmap_memory_goes_first, 0);
	RUN(test_no_mmap_memory_goes_first, IORING_SETUP_SQPOLL);
	RUN(test_no_mmap_memory_goes_after_close, 0);
	RUN(test_no_mmap_memory_goes_after_close, IORING_SETUP_SQPOLL);
	RUN(test_pending_survives_sync_cancel);
	RUN(test_follower_takes_over);
	RUN(test_close_while_a_thread_waits, 0);
	RUN(test_close_while_a_thread_waits, IORING_SETUP_SQPOLL);
	RUN(test_last_close_of_a_dup, 0);
	RUN(test_last_close_of_a_dup, IORING_SETUP_SQPOLL);
	RUN(test_requests_on_the_ring_itself, 0);
	RUN(test_requests_on_the_ring_itself, IORING_SETUP_SQPOLL);
	RUN(test_requests_on_a_copy_of_the_ring, 0);
	RUN(test_requests_on_a_copy_of_the_ring, IORING_SETUP_SQPOLL);
	RUN(test_fork_with_pending);
	return failed > 0;
}
