/* SPDX-License-Identifier: MIT */
/*
 * Description: one ring, several processes: the parent and its children submit
 * at once (what ends at once, in a worker, by a file, by a clock), the parent
 * reaps, and children that only look on are killed at any moment, perhaps with
 * the ring's lock. Each request has to have its one CQE.
 */
#include "stress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/atomic.h"

enum {
	ENTRIES = 16,
	SUBMITTERS = 3, /* the parent is number 0 */
	AT_ONCE = 24, /* requests of one process under way */
};

/* Shared by all of them. */
struct family {
	struct st_ring ring;
	uint32_t sq_lock; /* the application's */
	uint32_t stop;
	uint32_t sent[SUBMITTERS], done[SUBMITTERS];
	char buf[SUBMITTERS][64];
};

static int file;

static void sq_lock(struct family *f)
{
	uint32_t was = 0;

	while (!au_cmpxchg(&f->sq_lock, &was, 1)) {
		was = 0;
		sched_yield();
	}
}

static void submit_one(struct family *f, unsigned int me, struct st_rng *rng,
		       int p[2])
{
	static struct au_timespec ts = { .tv_nsec = 200000 };
	struct io_uring_sqe *sqe;
	bool feed = false;
	int r;

	sq_lock(f);
	sqe = st_sqe(&f->ring);
	if (!sqe) {
		au_store_release(&f->sq_lock, 0);
		(void)anyuring_enter((unsigned int)f->ring.fd, ENTRIES, 0, 0,
				     NULL, 0);
		return;
	}
	sqe->fd = -1;
	sqe->user_data = me;
	switch (st_below(rng, 4)) {
	case 0:
		sqe->opcode = IORING_OP_NOP;
		break;
	case 1:
		sqe->opcode = IORING_OP_READ;
		sqe->flags = IOSQE_ASYNC;
		sqe->fd = file;
		sqe->addr = (uintptr_t)f->buf[me];
		sqe->len = 8;
		break;
	case 2:
		sqe->opcode = IORING_OP_READ;
		sqe->fd = p[0];
		sqe->addr = (uintptr_t)f->buf[me];
		sqe->len = 1;
		feed = true;
		break;
	default:
		sqe->opcode = IORING_OP_TIMEOUT;
		sqe->addr = (uintptr_t)&ts;
		sqe->len = 1;
	}
	st_publish(&f->ring);
	/*
	 * Under the lock: an SQE names a descriptor and an address of its
	 * submitter, who must be the one to submit it.
	 */
	r = anyuring_enter((unsigned int)f->ring.fd, 1, 0, 0, NULL, 0);
	ST_CHECK(r == 1);
	au_store_release(&f->sq_lock, 0);
	au_fetch_add(&f->sent[me], 1);
	if (feed)
		ST_CHECK(write(p[1], "x", 1) == 1);
}

static int wait_some(struct family *f, unsigned int ms)
{
	struct au_timespec ts = { .tv_nsec = (long long)ms * 1000000 };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	int r = anyuring_enter((unsigned int)f->ring.fd, 0, 1,
			       IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
			       &arg, sizeof(arg));

	ST_CHECK(r == 0 || r == -ETIME || r == -EINTR);
	return r;
}

static bool under_way(struct family *f, unsigned int me, uint32_t n)
{
	return au_load_acquire(&f->sent[me]) - au_load_acquire(&f->done[me]) >
	       n;
}

static void child_submits(struct family *f, unsigned int me)
{
	struct st_rng rng = st_rng(me);
	int p[2];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ST_CHECK(pipe2(p, O_CLOEXEC) == 0);
	while (!au_load_acquire(&f->stop)) {
		submit_one(f, me, &rng, p);
		if (st_one_in(&rng, 8))
			(void)wait_some(f, 1);
		while (under_way(f, me, AT_ONCE))
			(void)poll(NULL, 0, 1);
	}
	/* With the process its requests would end. */
	while (under_way(f, me, 0))
		(void)wait_some(f, 1);
	_exit(0);
}

/* Looks on, and waits for what it may not take, until it is killed. */
static _Noreturn void child_looks_on(struct family *f)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		(void)anyuring_enter((unsigned int)f->ring.fd, 0, 0,
				     IORING_ENTER_GETEVENTS, NULL, 0);
		(void)wait_some(f, 2);
	}
}

static void reap(struct family *f)
{
	struct io_uring_cqe cqe;

	while (st_cqe(&f->ring, &cqe)) {
		ST_CHECK(cqe.user_data < SUBMITTERS);
		ST_CHECK(cqe.res >= 0 || cqe.res == -ETIME);
		au_fetch_add(&f->done[cqe.user_data], 1);
	}
}

static pid_t fork_one(void)
{
	pid_t pid = fork();

	ST_CHECK(pid >= 0);
	return pid;
}

static void kill_one(pid_t pid)
{
	int status;

	ST_CHECK(kill(pid, SIGKILL) == 0);
	ST_CHECK(waitpid(pid, &status, 0) == pid);
}

static void family_life(struct st_rng *rng)
{
	struct family *f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[SUBMITTERS], victim;
	int p[2], status;

	ST_CHECK(f != MAP_FAILED);
	ST_CHECK(pipe2(p, O_CLOEXEC) == 0);
	st_ring_init(&f->ring, ENTRIES, 0);
	for (unsigned int i = 1; i < SUBMITTERS; i++) {
		pids[i] = fork_one();
		if (!pids[i])
			child_submits(f, i);
	}
	victim = fork_one();
	if (!victim)
		child_looks_on(f);
	for (int lap = 0; lap < 300; lap++) {
		if (!under_way(f, 0, AT_ONCE))
			submit_one(f, 0, rng, p);
		if (st_one_in(rng, 4))
			(void)wait_some(f, 1);
		reap(f);
		if (!st_one_in(rng, 50))
			continue;
		kill_one(victim);
		victim = fork_one();
		if (!victim)
			child_looks_on(f);
	}
	au_store_release(&f->stop, 1);
	kill_one(victim);
	while (under_way(f, 0, 0)) {
		(void)wait_some(f, 10);
		reap(f);
	}
	for (unsigned int i = 1; i < SUBMITTERS; i++) {
		pid_t pid;

		while (!(pid = waitpid(pids[i], &status, WNOHANG))) {
			(void)wait_some(f, 1);
			reap(f);
		}
		ST_CHECK(pid == pids[i] && status == 0);
	}
	for (unsigned int i = 0; i < SUBMITTERS; i++)
		ST_CHECK(f->sent[i] == f->done[i]);
	st_ring_exit(&f->ring);
	close(p[0]);
	close(p[1]);
	munmap(f, sizeof(*f));
}

int main(void)
{
	struct st_rng rng;
	char name[] = "/tmp/stress-forks-XXXXXX";

	st_begin("stress-forks", 60);
	rng = st_rng(0);
	file = mkstemp(name);
	ST_CHECK(file >= 0 && write(file, "01234567", 8) == 8);
	unlink(name);
	do {
		family_life(&rng);
	} while (st_going());
	return 0;
}
