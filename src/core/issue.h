/* SPDX-License-Identifier: MIT */
/*
 * From a prepared request to the engine that carries it out. All with the
 * ring's lock held, except where a worker is named.
 */
#ifndef AU_CORE_ISSUE_H
#define AU_CORE_ISSUE_H

#include "core/op.h"
#include "core/ring.h"

/* Issues a request for the first time, or again when its file is ready. */
void au_req_issue(struct au_ring *ring, struct au_req *req);

/* Acts on what issue said. */
void au_req_issued(struct au_ring *ring, struct au_req *req, enum au_issue out);

/* Starts a chain: its head, or the whole of it failed or deferred. */
void au_req_queue(struct au_ring *ring, struct au_req *req);

/* Copies what the SQE points to, once. 0 or -errno. */
int au_req_stabilise(struct au_req *req) au_must_check;

/* Makes req->fd the descriptor to use: -EBADF for an empty table slot. */
int au_req_assign_file(struct au_ring *ring, struct au_req *req) au_must_check;

uint64_t au_req_pending_key(const struct au_hash_node *n);

/* Enters a request among those that can be found and cancelled; or -ENOMEM. */
static inline int au_must_check au_req_park(struct au_ring *ring,
					    struct au_req *req,
					    enum au_parked_at at)
{
	int r = au_hash_reserve(&ring->pending, au_req_pending_key);

	if (au_unlikely(r < 0))
		return r;
	au_hash_add(&ring->pending, &req->pending, req->user_data);
	req->at = (uint8_t)at;
	return 0;
}

static inline void au_req_unpark(struct au_ring *ring, struct au_req *req)
{
	au_hash_del(&ring->pending, &req->pending);
	req->at = AU_AT_NONE;
}

/*
 * It has to wait: from now on its linked timeout runs. Called after the op said
 * AU_QUEUED, but before a request is handed to a worker, whose it is then.
 */
void au_req_parked(struct au_ring *ring, struct au_req *req);

/*
 * The file of a request parked on the poller has `events`. True if the request
 * left the poller (done, or gone elsewhere), false if it waits on.
 */
bool au_req_poll_ready(struct au_ring *ring, struct au_req *req,
		       uint32_t events);

/* Runs in a worker: issue with leave to sleep. */
void au_req_run_in_worker(struct au_req *req);

/* Back from a worker. */
void au_req_worker_done(struct au_ring *ring, struct au_req *req);

/*
 * Hands a request over to whoever runs the ring, and serves the ring if nobody
 * holds it. Any thread; only tries the ring's lock. From here on the ring may
 * end, and another one begin in its place. False: somebody holds the lock, and
 * may have to be kicked.
 */
bool au_ring_hand_back(struct au_ring *ring, struct au_req *req) au_must_check;

/* Does all that is ready now without sleeping: true if anything was. */
bool au_ring_run_slow(struct au_ring *ring);

static inline bool au_ring_run(struct au_ring *ring)
{
	/* Whatever can become ready is parked, and so pending. */
	if (au_likely(!ring->pending.nr) && au_mpscq_empty(&ring->done) &&
	    au_slist_empty(&ring->cancelled))
		return false;
	return au_ring_run_slow(ring);
}

/* Tells the thread that sleeps for the ring that there is work. Any thread. */
void au_ring_kick(struct au_ring *ring);

/*
 * DEFER_TASKRUN: tells the owner, once until he comes, that there is something
 * to run. Lock held.
 */
void au_ring_announce(struct au_ring *ring);

/* Releases deferred requests whose time has come. */
void au_drain_run(struct au_ring *ring);
void au_drain_defer(struct au_ring *ring, struct au_req *req);

/* Chains (core/links.c). */
struct au_req *au_links_next(struct au_ring *ring, struct au_req *req);
void au_links_start(struct au_ring *ring, struct au_req *req);
void au_links_arm_timeout(struct au_ring *ring, struct au_req *req);
int au_links_stabilise(struct au_req *head) au_must_check;

#endif
