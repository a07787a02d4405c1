/* SPDX-License-Identifier: MIT */
#include "core/run.h"

#include "core/complete.h"
#include "core/issue.h"

void au_run_issue(struct au_ring *ring)
{
	struct au_req **reqs = ring->run.reqs;
	uint32_t nr = ring->run.nr, done = 0;

	ring->run.nr = 0;
	if (nr > 1)
		done = au_ops_cold[reqs[0]->opcode].run(ring, reqs, nr);
	for (uint32_t i = 0; i < done; i++)
		au_req_complete(ring, reqs[i]);
	/* What one call did not do goes the usual way, one by one. */
	for (uint32_t i = done; i < nr; i++)
		au_req_issue(ring, reqs[i]);
}

void au_run_add(struct au_ring *ring, struct au_req *req)
{
	uint32_t nr = ring->run.nr;

	if (nr && (nr == AU_RUN_MAX || !au_ops_cold[req->opcode].follows(
					       ring->run.reqs[nr - 1], req)))
		au_run_issue(ring);
	ring->run.reqs[ring->run.nr++] = req;
}
