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
#include "base/atomic.h"

enum {
	ENTRIES = 4,
	NR_CQES = 8, /* what the CQ holds */
	NR_OVERFLOW = 3,
};

static unsigned long at; /* so many instructions in */

static void submit_nops(struct st_ring *r, unsigned int nr)
{
	static uint64_t user_data;

	for (unsigned int i = 0; i < nr; i++) {
		(void)st_prep(r, IORING_OP_NOP, -1, NULL, 0, 0, user_data++);
		st_publish(r);
		ST_CHECK(anyuring_enter((unsigned int)r->fd, 1, 0, 0, NULL,
					0) == 1);
	}
}

/* Takes all that is there: they count up. */
static unsigned int reap(struct st_ring *r)
{
	static uint64_t next;
	uint32_t head = *r->cq_head, nr = 0;

	for (; head != au_load_acquire(r->cq_tail); head++, nr++) {
		const struct io_uring_cqe *cqe =
			(void *)(r->rings + r->p.cq_off.cqes +
				 (head & (r->p.cq_entries - 1)) * sizeof(*cqe));

		if (cqe->user_data != next || cqe->res)
			st_fail("after %lu steps: CQE %llu (%d), not %llu", at,
				(unsigned long long)cqe->user_data, cqe->res,
				(unsigned long long)next);
		next++;
	}
	au_store_release(r->cq_head, head);
	return nr;
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
	unsigned long made, got = 0;
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
	submit_nops(&r, NR_CQES + NR_OVERFLOW);
	ST_CHECK(reap(&r) == NR_CQES);
	made = step(pid, steps);
	for (int turn = 0; turn < 3; turn++) {
		ST_CHECK(flush(&r) == 0);
		got += reap(&r);
	}
	if (got != NR_OVERFLOW)
		st_fail("after %lu steps: %lu of %u CQEs", steps, got,
			NR_OVERFLOW);
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
	for (end = st_now_ns() + 8000000000; st_now_ns() < end || st_going();
	     deaths++)
		(void)die_after(1 + st_below(&rng, (uint32_t)all));
	printf("%lu deaths in an enter of %lu instructions\n", deaths, all);
	return 0;
}
