/* SPDX-License-Identifier: MIT */
/*
 * Draining: a request with IOSQE_IO_DRAIN starts when every earlier one has
 * ended, and later ones wait for it. While a drain is under way all new
 * requests (chains by their head) queue here in order; a ring that never
 * drains pays for none of this.
 *
 * The rule: the queue's head may go if it does not drain and nothing in front
 * of it did, or when no request is in flight but those queued here.
 */
#include <errno.h>
#include "core/complete.h"
#include "core/issue.h"

static uint32_t chain_length(const struct au_req *req)
{
	uint32_t n = 0;

	for (; req; req = req->link)
		n++;
	return n;
}

void au_drain_defer(struct au_ring *ring, struct au_req *req)
{
	bool drain = req->flags & AU_REQ_F_IO_DRAIN;
	int r = au_links_stabilise(req);

	if (r >= 0)
		r = au_req_park(ring, req, AU_AT_DRAIN);
	au_req_clear(req, AU_REQ_F_DEFERRED);
	if (r < 0) {
		au_req_complete_res(ring, req, r);
		return;
	}
	au_list_add_tail(&ring->deferred, &req->queued);
	ring->nr_deferred += chain_length(req);
	au_drain_run(ring);
	/* After a drain that is still in flight the next one has to ask too. */
	if (!drain && au_list_empty(&ring->deferred))
		ring->special &= ~(uint32_t)AU_SPECIAL_DRAIN;
}

void au_drain_run(struct au_ring *ring)
{
	bool drain_seen = false, first = true;

	/* Issuing can end requests, which brings us here again. */
	if (ring->drain_running)
		return;
	ring->drain_running = true;
	while (!au_list_empty(&ring->deferred)) {
		struct au_req *req = au_container_of(ring->deferred.next,
						     struct au_req, queued);

		drain_seen |= !!(req->flags & AU_REQ_F_IO_DRAIN);
		if ((drain_seen || first) &&
		    ring->nr_inflight != ring->nr_deferred) {
			break;
		}
		au_list_del(&req->queued);
		ring->nr_deferred -= chain_length(req);
		au_req_unpark(ring, req);
		first = false;
		au_req_queue(ring, req);
		/* What ended at once may let the next drain go. */
		if (ring->nr_inflight == ring->nr_deferred) {
			drain_seen = false;
			first = true;
		}
	}
	ring->drain_running = false;
}
