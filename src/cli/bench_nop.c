/* SPDX-License-Identifier: MIT */
/*
 * The suites nop and sqpoll: what a request costs that does nothing. The nop's
 * rival is a system call that does next to nothing, getppid(2), one a request.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cli/bench_ring.h"
#include "sys/clock.h"

/* What a program gets by io_uring_queue_init(), and what it is told to use. */
#define NOP_PLAIN 0
#define NOP_DEFER (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)

/* Batches between two looks at the clock. */
#define NOP_STRIDE 64

static inline void nop_prep(struct bench_ring *r)
{
	bench_prep(bench_ring_sqe(r), IORING_OP_NOP, -1, NULL, 0, 0, r->next++);
}

static inline bool nop_batches(struct bench_job *job, struct bench_ring *r,
			       unsigned int batch, unsigned int nr)
{
	while (nr--) {
		for (unsigned int i = 0; i < batch; i++)
			nop_prep(r);
		if (!bench_ring_submit(job, r, batch) ||
		    !bench_ring_reap(job, r, batch, 0))
			return false;
	}
	return true;
}

static double nop_run(struct bench_job *job, const struct bench_backend *b,
		      unsigned int flags)
{
	unsigned int batch = job->c->arg;
	uint64_t start, now, done = 0;
	struct bench_ring r;

	if (!bench_ring_open(job, &r, b, 64, flags))
		return -1;
	if (!nop_batches(job, &r, batch, NOP_STRIDE))
		goto out_close;
	start = au_now_ns();
	do {
		if (!nop_batches(job, &r, batch, NOP_STRIDE))
			goto out_close;
		done += (uint64_t)batch * NOP_STRIDE;
		now = au_now_ns();
	} while (now - start < job->slice_ns);
	bench_ring_close(&r);
	return (double)done * 1e9 / (double)(now - start);

out_close:
	bench_ring_close(&r);
	return -1;
}

static double nop_plain(struct bench_job *job, const struct bench_backend *b)
{
	return nop_run(job, b, NOP_PLAIN);
}

static double nop_defer(struct bench_job *job, const struct bench_backend *b)
{
	return nop_run(job, b, NOP_DEFER);
}

static double nop_rival(struct bench_job *job)
{
	uint64_t start = au_now_ns(), now, done = 0;

	do {
		for (unsigned int i = 0; i < NOP_STRIDE; i++)
			syscall(SYS_getppid);
		done += NOP_STRIDE;
		now = au_now_ns();
	} while (now - start < job->slice_ns);
	return (double)done * 1e9 / (double)(now - start);
}

/* SQPOLL */

#define SQPOLL_ENTRIES 256
#define SQPOLL_STUCK   (5 * AU_NSEC_PER_SEC)

/* Waits for `nr` CQEs without a system call. */
static inline bool sqpoll_wait(struct bench_job *job, struct bench_ring *r,
			       unsigned int nr)
{
	uint64_t since = 0;

	for (unsigned int spins = 1; bench_ring_ready(r) < nr; spins++) {
		au_cpu_relax();
		if (spins % 4096)
			continue;
		if (!since)
			since = au_now_ns();
		else if (au_now_ns() - since > SQPOLL_STUCK)
			return bench_bad(job, r->b,
					 "the SQPOLL thread "
					 "completes nothing");
	}
	return true;
}

/* Keeps between 3/4 of the ring and all of it in flight. */
static bool sqpoll_turn(struct bench_job *job, struct bench_ring *r)
{
	unsigned int batch = job->c->arg;
	int ret;

	while (r->next - r->reaped + batch <= SQPOLL_ENTRIES) {
		for (unsigned int i = 0; i < batch; i++)
			nop_prep(r);
		ret = r->b->submit(&r->io);
		if (ret < 0)
			return bench_bad(job, r->b, "submit: %d", ret);
	}
	return sqpoll_wait(job, r, batch) &&
	       bench_ring_reap(job, r, bench_ring_ready(r), 0);
}

static double sqpoll_rate(struct bench_job *job, const struct bench_backend *b)
{
	uint64_t start, now, before;
	struct bench_ring r;
	bool ok = true;

	if (!bench_ring_open(job, &r, b, SQPOLL_ENTRIES, IORING_SETUP_SQPOLL))
		return -1;
	for (int i = 0; i < 100 && ok; i++)
		ok = sqpoll_turn(job, &r);
	before = r.reaped;
	start = now = au_now_ns();
	while (ok && now - start < job->slice_ns) {
		for (int i = 0; i < 16 && ok; i++)
			ok = sqpoll_turn(job, &r);
		now = au_now_ns();
	}
	bench_ring_close(&r);
	return ok ? (double)(r.reaped - before) * 1e9 / (double)(now - start) :
		    -1;
}

#define SQPOLL_SAMPLES 100000

static bool sqpoll_ping(struct bench_job *job, struct bench_ring *r, double *ns)
{
	uint64_t start;
	int ret;

	nop_prep(r);
	start = au_now_ns();
	ret = r->b->submit(&r->io);
	if (ret < 0)
		return bench_bad(job, r->b, "submit: %d", ret);
	if (!sqpoll_wait(job, r, 1))
		return false;
	*ns = (double)(au_now_ns() - start);
	return bench_ring_reap(job, r, 1, 0);
}

static double sqpoll_latency(struct bench_job *job,
			     const struct bench_backend *b)
{
	unsigned int nr = 0;
	struct bench_ring r;
	double *ns, p50 = -1;
	bool ok = true;
	uint64_t end;

	ns = calloc(SQPOLL_SAMPLES, sizeof(*ns));
	if (!ns)
		return bench_fail(job, "no memory");
	if (!bench_ring_open(job, &r, b, 8, IORING_SETUP_SQPOLL))
		goto out_free;
	for (int i = 0; i < 10 && ok; i++)
		ok = sqpoll_ping(job, &r, &ns[0]);
	end = au_now_ns() + job->slice_ns;
	while (ok && nr < SQPOLL_SAMPLES && (!nr || au_now_ns() < end))
		ok = sqpoll_ping(job, &r, &ns[nr++]);
	if (ok)
		p50 = bench_median(ns, nr);
	bench_ring_close(&r);
out_free:
	free(ns);
	return p50;
}

const struct bench_case bench_nop_cases[] = {
	{ "nop", "nop_single", "one at a time", false, 1, "getppid", NULL,
	  nop_plain, nop_rival, NULL },
	{ "nop", "nop_batch32", "batches of 32", false, 32, "getppid", NULL,
	  nop_plain, nop_rival, NULL },
	{ "nop", "nop_single_defer", "one at a time, DEFER_TASKRUN", false, 1,
	  "getppid", NULL, nop_defer, nop_rival, NULL },
	{ "nop", "nop_batch32_defer", "batches of 32, DEFER_TASKRUN", false, 32,
	  "getppid", NULL, nop_defer, nop_rival, NULL },
	{ "sqpoll", "sqpoll_rate", "nops, 256 in flight", false, 32, NULL, NULL,
	  sqpoll_rate, NULL, NULL },
	{ "sqpoll", "sqpoll_latency", "submit to completion, p50", true, 1,
	  NULL, NULL, sqpoll_latency, NULL, NULL },
	{ .suite = NULL },
};
