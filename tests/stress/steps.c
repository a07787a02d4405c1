/* SPDX-License-Identifier: MIT */
/*
 * Description: a process that shares a ring dies at any one instruction of an
 * enter that moves overflowed CQEs, stepped to by ptrace. Whoever is left gets
 * every CQE once, in order.
 */
#include "stress.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	ENTRIES = 4,
	NR_CQES = 8, /* what the CQ holds */
	NR_OVERFLOW = 3,
};

static unsigned long at; /* so many instructions in */

/* CQEs come in the order of their nops, which are numbered. */
static void reap(struct st_ring *r)
{
	uint64_t next = r->nr_cqes;
	struct io_uring_cqe cqe;

	for (; st_cqe(r, &cqe); next++) {
		if (cqe.user_data != next || cqe.res)
			st_fail("after %lu steps: CQE %llu (%d), not %llu", at,
				(unsigned long long)cqe.user_data, cqe.res,
				(unsigned long long)next);
	}
}

static int flush(struct st_ring *r)
{
	return anyuring_enter((unsigned int)r->fd, 0, 0, IORING_ENTER_GETEVENTS,
			      NULL, 0);
}

static _Noreturn void child(struct st_ring *r)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(2);
	raise(SIGSTOP);
	_exit(flush(r) != 0);
}

/* How many steps it made: fewer than these if it was through with it. */
static unsigned long step(pid_t pid, unsigned long steps)
{
	int status;

	for (unsigned long i = 0; i < steps; i++) {
		ST_CHECK(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0);
		ST_CHECK(waitpid(pid, &status, 0) == pid);
		if (WIFEXITED(status)) {
			ST_CHECK(WEXITSTATUS(status) == 0);
			return i;
		}
	}
	ST_CHECK(kill(pid, SIGKILL) == 0);
	ST_CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	return steps;
}

static unsigned long die_after(unsigned long steps)
{
	unsigned long made;
	struct st_ring r;
	pid_t pid;
	int status;

	at = steps;
	st_ring_init(&r, ENTRIES, 0);
	ST_CHECK(r.p.cq_entries == NR_CQES);
	pid = fork();
	ST_CHECK(pid >= 0);
	if (!pid)
		child(&r);
	ST_CHECK(waitpid(pid, &status, 0) == pid);
	if (!WIFSTOPPED(status)) {
		puts("no ptrace here");
		exit(77);
	}
	for (uint64_t i = 0; i < NR_CQES + NR_OVERFLOW; i++) {
		(void)st_prep(&r, IORING_OP_NOP, -1, NULL, 0, 0, i);
		ST_CHECK(st_enter(&r, 0, 0) == 1);
	}
	reap(&r);
	ST_CHECK(r.nr_cqes == NR_CQES);
	made = step(pid, steps);
	for (int turn = 0; turn < 3; turn++) {
		ST_CHECK(flush(&r) == 0);
		reap(&r);
	}
	if (r.nr_cqes != NR_CQES + NR_OVERFLOW)
		st_fail("after %lu steps: %llu CQEs", at,
			(unsigned long long)r.nr_cqes);
	st_ring_exit(&r);
	return made;
}

int main(void)
{
	unsigned long all, deaths = 0;
	uint64_t end;
	struct st_rng rng;

	st_begin("stress-steps", 60);
	rng = st_rng(0);
	all = die_after(ULONG_MAX);
	/* A step takes 20 us, so these are a few hundred deaths. */
	end = st_now_ns() + 8000000000;
	do {
		(void)die_after(1 + st_below(&rng, (uint32_t)all));
		deaths++;
	} while (st_now_ns() < end || st_going());
	printf("%lu deaths in an enter of %lu instructions\n", deaths, all);
	return 0;
}
