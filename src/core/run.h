/* SPDX-License-Identifier: MIT */
/*
 * Runs: requests that come right after one another in one submit call and
 * continue one another (adjacent reads of a file), done by one system call.
 * Each still has its own CQE, in order.
 *
 * A request that may be part of a run is held until the next SQE tells whether
 * it continues; anything else, and the end of the submit call, issues the run
 * first. Ring lock held.
 */
#ifndef AU_CORE_RUN_H
#define AU_CORE_RUN_H

#include "core/op.h"
#include "core/ring.h"

void au_run_issue(struct au_ring *ring);

/* Issues what is held; every path that issues something else comes here. */
static inline void au_run_flush(struct au_ring *ring)
{
	if (au_unlikely(ring->run.nr))
		au_run_issue(ring);
}

/* Holds a request of an op with AU_OP_RUN. */
void au_run_add(struct au_ring *ring, struct au_req *req);

#endif
