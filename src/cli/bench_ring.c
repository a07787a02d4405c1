/* SPDX-License-Identifier: MIT */
/* The parts of the benchmark's ring that are not on its fast path. */
#include "cli/bench_ring.h"

#include <errno.h>
#include <string.h>
#include "cli/cli.h"

bool bench_ring_open(struct bench_job *job, struct bench_ring *r,
		     const struct bench_backend *b, unsigned int entries,
		     unsigned int flags)
{
	struct io_uring_params p = {
		.flags = flags,
		.sq_thread_idle = 1000,
	};
	int ret;

	memset(r, 0, sizeof(*r));
	r->b = b;
	ret = b->queue_init_params(entries, &r->io, &p);
	/* Older kernels know neither of the two. */
	if (ret == -EINVAL && (flags & IORING_SETUP_DEFER_TASKRUN)) {
		memset(&p, 0, sizeof(p));
		ret = b->queue_init_params(entries, &r->io, &p);
	}
	if (ret < 0)
		return bench_bad(job, b, "no ring: %s", cli_result_name(ret));
	return true;
}

void bench_ring_close(struct bench_ring *r)
{
	r->b->queue_exit(&r->io);
}

/* A short submit or a signal: what is left goes in, and the wait goes on. */
static au_cold bool ring_resume(struct bench_job *job, struct bench_ring *r,
				unsigned int nr, int ret)
{
	while (ret == -EINTR || (ret >= 0 && bench_ring_ready(r) < nr))
		ret = r->b->submit_and_wait(&r->io, nr);
	if (ret < 0)
		return bench_bad(job, r->b, "submit of %u: %s", nr,
				 cli_result_name(ret));
	return true;
}

bool bench_ring_submit(struct bench_job *job, struct bench_ring *r,
		       unsigned int nr)
{
	int ret = r->b->submit_and_wait(&r->io, nr);

	if (au_likely(ret == (int)nr && bench_ring_ready(r) >= nr))
		return true;
	return ring_resume(job, r, nr, ret);
}

bool bench_ring_wrong(struct bench_job *job, const struct bench_ring *r,
		      const struct io_uring_cqe *cqe, int res)
{
	return bench_bad(job, r->b,
			 "wrong completion: request %llu, result %d; "
			 "expected request %llu, result %d",
			 (unsigned long long)cqe->user_data, cqe->res,
			 (unsigned long long)r->reaped, res);
}
