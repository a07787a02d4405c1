/* SPDX-License-Identifier: MIT */
/*
 * Description: rings across fork(2): the child submits, the parent reaps, and
 * the other way round; both at once; one of them waits, goes or is killed.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/atomic.h"
#include "diff.h"
#include "../tsan_fork.h"

/* What both processes see. */
struct both {
	struct ring r;
	uint32_t lock; /* the application's own, around the SQ */
	uint32_t stage;
	uint32_t count;
	uint64_t sum;
	char buf[64];
};

static struct both *both_new(struct diff *d)
{
	void *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	diff_must(d, p == MAP_FAILED ? -1 : 0, "mmap");
	return p;
}

/* A child that no failure leaves behind. */
static pid_t fork_child(struct diff *d)
{
	pid_t pid = fork();

	diff_must(d, pid, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm((unsigned int)(15 * d->scale));
	}
	return pid;
}

static int no_leak_check;

#if defined(__SANITIZE_ADDRESS__)
/* LeakSanitizer may wait for ever for the threads of a fork's child. */
int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void)
{
	return no_leak_check;
}
#endif

static _Noreturn void child_exit(struct diff *d)
{
	_exit(d->failures ? 1 : 0);
}

static void reap_child(struct diff *d, pid_t pid, int wanted)
{
	int status = -1;

	diff_must(d, waitpid(pid, &status, 0), "waitpid");
	diff_want(d, status, wanted, "the child's end");
}

static void stage_set(struct both *b, uint32_t stage)
{
	au_store_release(&b->stage, stage);
}

static void stage_await(struct both *b, uint32_t stage)
{
	while (au_load_acquire(&b->stage) < stage)
		(void)poll(NULL, 0, 1);
}

static void child_submits(struct diff *d)
{
	struct both *b = both_new(d);
	char text[8] = "";
	pid_t pid;
	int fd;

	ring_open(d, &b->r, 8, 0);
	pid = fork_child(d);
	if (!pid) {
		/* A file that the parent has not. */
		fd = diff_file(d, "child", 0);
		ring_nop(&b->r);
		ring_sqe(&b->r, IORING_OP_WRITE, fd, "hello", 5, 0);
		ring_nop(&b->r);
		diff_want(d, ring_submit(&b->r), 3, "submitted");
		/* With the task its requests would end. */
		while (ring_ready(&b->r) < 3)
			ring_timed_wait(&b->r, 3, 1000);
		stage_set(b, 1);
		child_exit(d);
	}
	stage_await(b, 1);
	ring_reap(&b->r, RING_SORTED);
	reap_child(d, pid, 0);
	fd = open("child", O_RDONLY | O_CLOEXEC);
	diff_want(d, read(fd, text, sizeof(text)), 5, "read");
	diff_say(d, "%s", text);
	close(fd);
	/* And it goes on here. */
	ring_nop(&b->r);
	ring_run(&b->r, 1, RING_ORDER);
	ring_close(&b->r);
}

/* Submitted before the fork; the child reaps, and finds the rest as it was. */
static void child_reaps(struct diff *d)
{
	struct both *b = both_new(d);
	pid_t pid;

	ring_open(d, &b->r, 8, 0);
	ring_nop(&b->r);
	ring_nop(&b->r);
	ring_submit(&b->r);
	pid = fork_child(d);
	if (!pid) {
		ring_wait(&b->r, 2, RING_ORDER);
		ring_nop(&b->r);
		ring_run(&b->r, 1, RING_ORDER);
		child_exit(d);
	}
	reap_child(d, pid, 0);
	diff_say(d, "%u left", ring_ready(&b->r));
	ring_nop(&b->r);
	ring_run(&b->r, 1, RING_ORDER);
	ring_close(&b->r);
}

enum {
	EACH = 400,
};

static void lock_app(struct both *b)
{
	uint32_t was = 0;

	while (!au_cmpxchg(&b->lock, &was, 1)) {
		was = 0;
		sched_yield();
	}
}

static void unlock_app(struct both *b)
{
	au_store_release(&b->lock, 0);
}

/* Nops one by one, entered while the other enters as well. */
static void submit_many(struct diff *d, struct both *b, uint64_t from)
{
	for (unsigned int i = 0; i < EACH; i++) {
		lock_app(b);
		ring_nop(&b->r)->user_data = from + i;
		au_store_release(b->r.sq_tail, b->r.tail);
		unlock_app(b);
		while (au_load_acquire(b->r.sq_head) !=
		       au_load_acquire(b->r.sq_tail)) {
			int ret = ring_enter(&b->r, 1, 0, 0);

			if (ret < 0)
				diff_want(d, ret, 0, "enter");
		}
	}
}

static void both_submit(struct diff *d)
{
	struct both *b = both_new(d);
	struct io_uring_params p = { .flags = IORING_SETUP_CQSIZE,
				     .cq_entries = 4 * EACH };
	uint64_t sum = 0;
	unsigned int n = 0;
	pid_t pid;

	ring_open_params(d, &b->r, 8, &p);
	pid = fork_child(d);
	submit_many(d, b, pid ? 0 : EACH);
	if (!pid)
		child_exit(d);
	reap_child(d, pid, 0);
	while (ring_ready(&b->r)) {
		struct io_uring_cqe cqe;

		diff_want(d, ring_one(&b->r, &cqe), 0, "nop");
		sum += cqe.user_data;
		n++;
	}
	diff_want(d, n, 2 * EACH, "CQEs");
	diff_want(d, (long)sum, EACH * (2 * EACH - 1), "their sum");
	ring_close(&b->r);
}

/* Asleep in enter: what the kernel shows of it. */
static void await_sleep(struct diff *d, pid_t pid)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	for (int i = 0; i < 2000; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, text, sizeof(text) - 1);
		const char *state;

		close(fd);
		text[n > 0 ? n : 0] = 0;
		state = strrchr(text, ')');
		if (state && state[2] == 'S')
			return;
		diff_sleep_ms(d, 1);
	}
	diff_say(d, "it does not sleep");
}

static void child_waits(struct diff *d)
{
	struct both *b = both_new(d);
	pid_t pid;

	ring_open(d, &b->r, 8, 0);
	for (uint32_t lap = 1; lap <= 3; lap++) {
		pid = fork_child(d);
		if (!pid) {
			int ret = ring_timed_wait(&b->r, 1, 10000);

			stage_await(b, lap);
			diff_want(d, ret, 0, "waited");
			ring_reap(&b->r, RING_ORDER);
			child_exit(d);
		}
		await_sleep(d, pid);
		ring_nop(&b->r);
		diff_want(d, ring_submit(&b->r), 1, "submitted");
		stage_set(b, lap);
		reap_child(d, pid, 0);
	}
	ring_close(&b->r);
}

/* The child's request ends while the child is elsewhere. */
static void parent_waits(struct diff *d)
{
	struct both *b = both_new(d);
	pid_t pid;
	int p[2], stay[2];

	diff_pipe(d, p);
	diff_pipe(d, stay);
	ring_open(d, &b->r, 8, 0);
	pid = fork_child(d);
	if (!pid) {
		close(stay[1]);
		ring_sqe(&b->r, IORING_OP_READ, p[0], b->buf, sizeof(b->buf),
			 0);
		diff_want(d, ring_submit(&b->r), 1, "submitted");
		stage_set(b, 1);
		(void)!read(stay[0], b->buf + 32, 1);
		child_exit(d);
	}
	stage_await(b, 1);
	diff_want(d, write(p[1], "some", 4), 4, "write");
	ring_wait(&b->r, 1, RING_ORDER);
	diff_bytes(d, "read", b->buf, 4);
	close(stay[1]);
	reap_child(d, pid, 0);
	ring_close(&b->r);
	close(stay[0]);
	close(p[0]);
	close(p[1]);
}

/* A worker's request, and one of the parent's, pending over the fork. */
static void pending_over_fork(struct diff *d)
{
	struct both *b = both_new(d);
	pid_t pid;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &b->r, 8, 0);
	ring_sqe(&b->r, IORING_OP_READ, p[0], b->buf, 2, 0);
	ring_sqe(&b->r, IORING_OP_READ, p[0], b->buf + 2, 2, 0)->flags =
		IOSQE_ASYNC;
	diff_want(d, ring_submit(&b->r), 2, "submitted");
	pid = fork_child(d);
	if (!pid) {
		/* These do not end with the child. */
		ring_nop(&b->r);
		diff_want(d, ring_submit(&b->r), 1, "submitted");
		child_exit(d);
	}
	reap_child(d, pid, 0);
	ring_wait(&b->r, 1, RING_ORDER);
	diff_want(d, write(p[1], "abcd", 4), 4, "write");
	ring_wait(&b->r, 2, RING_SORTED);
	ring_close(&b->r);
	close(p[0]);
	close(p[1]);
}

static void child_killed(struct diff *d)
{
	struct both *b = both_new(d);
	pid_t pid;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &b->r, 8, 0);
	for (int lap = 0; lap < 5; lap++) {
		pid = fork_child(d);
		if (!pid) {
			ring_nop(&b->r);
			ring_sqe(&b->r, IORING_OP_READ, p[0], b->buf, 8, 0);
			ring_submit(&b->r);
			stage_set(b, (uint32_t)lap + 1);
			for (;;)
				pause();
		}
		stage_await(b, (uint32_t)lap + 1);
		kill(pid, SIGKILL);
		reap_child(d, pid, SIGKILL);
		/* The one that waits for the pipe ends with it, unseen. */
		ring_wait(&b->r, 1, RING_ORDER);
		ring_nop(&b->r);
		ring_run(&b->r, 1, RING_ORDER);
	}
	ring_settle(&b->r, RING_ORDER);
	ring_close(&b->r);
	close(p[0]);
	close(p[1]);
}

/* What waits for a time goes on, what waits for a ring ends. */
static void child_exits(struct diff *d)
{
	struct au_timespec ts = { .tv_nsec = 100000000 };
	struct both *b = both_new(d);
	pid_t pid;

	ring_open(d, &b->r, 8, 0);
	pid = fork_child(d);
	if (!pid) {
		ring_sqe(&b->r, IORING_OP_POLL_ADD, b->r.fd, NULL, 0, 0)
			->poll32_events = POLLIN;
		ring_sqe(&b->r, IORING_OP_TIMEOUT, -1, &ts, 1, 0);
		ring_sqe(&b->r, IORING_OP_POLL_ADD, b->r.fd, NULL, 0, 0)
			->poll32_events = POLLIN;
		diff_want(d, ring_submit(&b->r), 3, "submitted");
		no_leak_check = 1;
		exit(d->failures ? 1 : 0);
	}
	reap_child(d, pid, 0);
	ring_wait(&b->r, 3, RING_SORTED);
	ring_close(&b->r);
}

/* Killed at any moment, perhaps with the ring's lock. */
static void killed_anywhere(struct diff *d)
{
	struct io_uring_params p = { .flags = IORING_SETUP_CQSIZE,
				     .cq_entries = 4096 };
	struct both *b = both_new(d);
	pid_t pid;

	ring_open_params(d, &b->r, 8, &p);
	for (int lap = 0; lap < 20; lap++) {
		pid = fork_child(d);
		if (!pid) {
			for (;;)
				ring_enter(&b->r, 0, 0, IORING_ENTER_GETEVENTS);
		}
		for (int i = 0; i < 50; i++) {
			ring_nop(&b->r)->user_data = 7;
			au_store_release(b->r.sq_tail, b->r.tail);
			if (ring_enter(&b->r, 1, 0, 0) != 1)
				diff_want(d, -1, 1, "enter");
			if (i == 25)
				kill(pid, SIGKILL);
		}
		reap_child(d, pid, SIGKILL);
	}
	diff_want(d, ring_ready(&b->r), 1000, "CQEs");
	ring_reap(&b->r, RING_QUIET);
	ring_close(&b->r);
}

static void parent_closes(struct diff *d)
{
	struct both *b = both_new(d);
	pid_t pid;

	ring_open(d, &b->r, 8, 0);
	pid = fork_child(d);
	if (!pid) {
		stage_await(b, 1);
		for (int i = 0; i < 3; i++) {
			ring_nop(&b->r);
			ring_run(&b->r, 1, RING_ORDER);
		}
		ring_close(&b->r);
		child_exit(d);
	}
	ring_close(&b->r);
	stage_set(b, 1);
	reap_child(d, pid, 0);
}

static void child_closes(struct diff *d)
{
	struct both *b = both_new(d);
	pid_t pid;

	ring_open(d, &b->r, 8, 0);
	pid = fork_child(d);
	if (!pid) {
		ring_nop(&b->r);
		ring_run(&b->r, 1, RING_ORDER);
		ring_close(&b->r);
		diff_res(d, ring_enter(&b->r, 1, 0, 0), "enter");
		child_exit(d);
	}
	reap_child(d, pid, 0);
	ring_nop(&b->r);
	ring_run(&b->r, 1, RING_ORDER);
	ring_close(&b->r);
}

/* The parent makes and forgets a ring; a grandchild goes on. */
static void grandchild(struct diff *d)
{
	struct both *b = both_new(d);
	pid_t pid;

	ring_open(d, &b->r, 8, 0);
	pid = fork_child(d);
	if (!pid) {
		pid = fork_child(d);
		if (!pid) {
			ring_nop(&b->r);
			ring_run(&b->r, 1, RING_ORDER);
			child_exit(d);
		}
		reap_child(d, pid, 0);
		ring_nop(&b->r);
		ring_run(&b->r, 1, RING_ORDER);
		child_exit(d);
	}
	reap_child(d, pid, 0);
	ring_nop(&b->r);
	ring_run(&b->r, 1, RING_ORDER);
	ring_close(&b->r);
}

/* A ring that the child makes is nobody else's. */
static void own_ring(struct diff *d)
{
	struct both *b = both_new(d);
	struct ring own;
	pid_t pid;

	ring_open(d, &b->r, 8, 0);
	pid = fork_child(d);
	if (!pid) {
		ring_open(d, &own, 4, 0);
		ring_nop(&own);
		ring_run(&own, 1, RING_ORDER);
		ring_nop(&b->r);
		ring_run(&b->r, 1, RING_ORDER);
		ring_close(&own);
		child_exit(d);
	}
	reap_child(d, pid, 0);
	ring_close(&b->r);
}

static void overflow(struct diff *d)
{
	struct both *b = both_new(d);
	pid_t pid;

	ring_open(d, &b->r, 4, 0);
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 4; k++)
			ring_nop(&b->r);
		ring_submit(&b->r);
	}
	pid = fork_child(d);
	if (!pid) {
		ring_nop(&b->r);
		ring_submit(&b->r);
		child_exit(d);
	}
	reap_child(d, pid, 0);
	diff_say(d, "flag %d", !!(*b->r.sq_flags & IORING_SQ_CQ_OVERFLOW));
	ring_reap(&b->r, RING_ORDER);
	ring_settle(&b->r, RING_ORDER);
	diff_say(d, "flag %d", !!(*b->r.sq_flags & IORING_SQ_CQ_OVERFLOW));
	ring_close(&b->r);
}

static void registered(struct diff *d)
{
	struct both *b = both_new(d);
	int fd, ev;
	int32_t ev32;
	uint64_t got = 0;
	pid_t pid;

	ring_open(d, &b->r, 8, 0);
	fd = diff_file(d, "file", 26);
	ev = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ev32 = ev;
	diff_want(d,
		  d->be->reg((unsigned int)b->r.fd, IORING_REGISTER_FILES, &fd,
			     1),
		  0, "files");
	diff_want(d,
		  d->be->reg((unsigned int)b->r.fd, IORING_REGISTER_EVENTFD,
			     &ev32, 1),
		  0, "eventfd");
	close(fd);
	pid = fork_child(d);
	if (!pid) {
		ring_sqe(&b->r, IORING_OP_READ, 0, b->buf, 4, 3)->flags =
			IOSQE_FIXED_FILE;
		ring_submit(&b->r);
		child_exit(d);
	}
	reap_child(d, pid, 0);
	ring_wait(&b->r, 1, RING_ORDER);
	diff_bytes(d, "read", b->buf, 4);
	diff_res(d, read(ev, &got, 8), "eventfd");
	diff_res(d, (long)got, "its value");
	ring_close(&b->r);
	close(ev);
}

static void owners(struct diff *d)
{
	struct both *b = both_new(d);
	pid_t pid;

	ring_open(d, &b->r, 8, IORING_SETUP_SINGLE_ISSUER);
	pid = fork_child(d);
	if (!pid) {
		ring_nop(&b->r);
		ring_submit(&b->r);
		diff_res(d,
			 d->be->reg((unsigned int)b->r.fd,
				    IORING_UNREGISTER_FILES, NULL, 0),
			 "register");
		child_exit(d);
	}
	reap_child(d, pid, 0);
	ring_run(&b->r, 1, RING_ORDER);
	ring_close(&b->r);
}

static void enabled_by_child(struct diff *d)
{
	struct both *b = both_new(d);
	pid_t pid;

	ring_open(d, &b->r, 8,
		  IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_R_DISABLED);
	pid = fork_child(d);
	if (!pid) {
		diff_want(d,
			  d->be->reg((unsigned int)b->r.fd,
				     IORING_REGISTER_ENABLE_RINGS, NULL, 0),
			  0, "enable");
		ring_nop(&b->r);
		ring_run(&b->r, 1, RING_ORDER);
		child_exit(d);
	}
	reap_child(d, pid, 0);
	ring_nop(&b->r);
	ring_submit(&b->r);
	ring_close(&b->r);
}

static void sqpoll(struct diff *d)
{
	struct io_uring_params p = { .flags = IORING_SETUP_SQPOLL };
	struct both *b = both_new(d);
	pid_t pid;

	ring_open_params(d, &b->r, 4, &p);
	pid = fork_child(d);
	if (!pid) {
		for (int lap = 0; lap < 3; lap++) {
			ring_nop(&b->r);
			ring_run(&b->r, 1, RING_ORDER);
			/* Longer than the thread's idle time. */
			diff_sleep_ms(d, 80);
		}
		for (int i = 0; i < 4; i++)
			ring_nop(&b->r);
		au_store_release(b->r.sq_tail, b->r.tail);
		diff_want(d,
			  ring_enter(&b->r, 4, 0,
				     IORING_ENTER_SQ_WAKEUP |
					     IORING_ENTER_SQ_WAIT),
			  4, "wait for room");
		child_exit(d);
	}
	reap_child(d, pid, 0);
	ring_wait(&b->r, 4, RING_ORDER);
	ring_nop(&b->r);
	ring_run(&b->r, 1, RING_ORDER);
	ring_close(&b->r);
}

/* The thread that polls goes with the process that made the ring. */
static void sqpoll_owner_dies(struct diff *d)
{
	struct io_uring_params p = { .flags = IORING_SETUP_SQPOLL };
	struct both *b = both_new(d);
	pid_t pid;

	pid = fork_child(d);
	if (!pid) {
		ring_open_params(d, &b->r, 4, &p);
		pid = fork();
		if (!pid) {
			alarm((unsigned int)(15 * d->scale));
			stage_await(b, 1);
			/* Its threads go after it can be waited for. */
			for (int i = 0; i < 1000; i++) {
				if (ring_enter(&b->r, 0, 0, 0) < 0)
					break;
				diff_sleep_ms(d, 1);
			}
			diff_res(d, ring_enter(&b->r, 0, 0, 0), "enter");
			stage_set(b, 2);
			_exit(0);
		}
		_exit(0);
	}
	reap_child(d, pid, 0);
	stage_set(b, 1);
	stage_await(b, 2);
}

static void cancel_across(struct diff *d)
{
	struct both *b = both_new(d);
	pid_t pid;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &b->r, 8, 0);
	ring_sqe(&b->r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0)->poll32_events =
		POLLIN;
	ring_submit(&b->r);
	pid = fork_child(d);
	if (!pid) {
		ring_sqe(&b->r, IORING_OP_ASYNC_CANCEL, -1, (void *)77, 0, 0);
		ring_run(&b->r, 1, RING_ORDER);
		ring_sqe(&b->r, IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 0);
		ring_run(&b->r, 2, RING_SORTED);
		ring_sqe(&b->r, IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 0);
		ring_run(&b->r, 1, RING_ORDER);
		child_exit(d);
	}
	reap_child(d, pid, 0);
	ring_close(&b->r);
	close(p[0]);
	close(p[1]);
}

static const struct diff_test tests[] = {
	{ "child_submits", child_submits, DIFF_PLAIN | DIFF_COOP | DIFF_WIDE },
	{ "child_reaps", child_reaps, DIFF_PLAIN | DIFF_COOP },
	{ "both_submit", both_submit, 0 },
	{ "child_waits", child_waits, 0 },
	{ "parent_waits", parent_waits, 0 },
	{ "pending_over_fork", pending_over_fork, 0 },
	{ "child_killed", child_killed, 0 },
	{ "child_exits", child_exits, 0 },
	{ "killed_anywhere", killed_anywhere, 0 },
	{ "parent_closes", parent_closes, 0 },
	{ "child_closes", child_closes, 0 },
	{ "grandchild", grandchild, 0 },
	{ "own_ring", own_ring, 0 },
	{ "overflow", overflow, 0 },
	{ "registered", registered, 0 },
	{ "owners", owners, DIFF_PLAIN | DIFF_DEFER },
	{ "enabled_by_child", enabled_by_child, 0 },
	{ "sqpoll", sqpoll, 0 },
	{ "sqpoll_owner_dies", sqpoll_owner_dies, 0 },
	{ "cancel_across", cancel_across, 0 },
};

DIFF_MAIN(tests)
