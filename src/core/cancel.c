/* SPDX-License-Identifier: MIT */
/*
 * Cancelling: every request that waits is in the ring's `pending` table, and
 * knows where it waits; each such place gives it back by one function. So
 * cancel walks what is registered and lists no mechanism by hand.
 */
#include "core/cancel.h"

#include <errno.h>
#include "core/aio.h"
#include "core/complete.h"
#include "core/issue.h"
#include "core/op.h"
#include "sys/fd.h"

static int drain_cancel(struct au_ring *ring, struct au_req *req)
{
	au_list_del(&req->queued);
	for (struct au_req *r = req; r; r = r->link)
		ring->nr_deferred--;
	return 0;
}

static int poller_cancel(struct au_ring *ring, struct au_req *req)
{
	au_poller_cancel(ring, req);
	return 0;
}

static int timers_cancel(struct au_ring *ring, struct au_req *req)
{
	au_timers_cancel(&ring->timers, req);
	return 0;
}

/* 0: the request is the caller's again. -EALREADY: it will end by itself. */
static int (*const take_back[AU_AT_LAST])(struct au_ring *, struct au_req *) = {
	[AU_AT_POLLER] = poller_cancel,      [AU_AT_TIMERS] = timers_cancel,
	[AU_AT_WORKERS] = au_workers_cancel, [AU_AT_DRAIN] = drain_cancel,
	[AU_AT_AIO] = au_aio_cancel,
};

int au_cancel_take(struct au_ring *ring, struct au_req *req)
{
	int r = take_back[req->at](ring, req);

	if (r == 0)
		au_req_unpark(ring, req);
	return r;
}

int au_cancel_req(struct au_ring *ring, struct au_req *req)
{
	/* Of some ops the kernel says how many it cancelled, not 0. */
	bool counts = au_ops[req->opcode].traits & AU_OP_CANCEL_COUNTS;
	int r = au_cancel_take(ring, req);

	if (r == 0) {
		au_req_set_res(req, -ECANCELED);
		au_slist_push(&ring->cancelled, &req->node);
	}
	return counts ? 1 : r;
}

void au_cancelled_complete_slow(struct au_ring *ring)
{
	struct au_slist_node *n;

	while ((n = au_slist_pop(&ring->cancelled)))
		au_req_complete(ring, au_req_of_node(n));
}

/* The descriptor that FD or FD_FIXED speaks of, or -1. */
static int cancel_fd(struct au_ring *ring, const struct au_cancel *c)
{
	struct au_rsrc_node *n;

	if (!(c->flags & IORING_ASYNC_CANCEL_FD_FIXED))
		return c->fd;
	n = au_rsrc_lookup(&ring->files, (uint32_t)c->fd);
	return n ? n->fd : -1;
}

bool au_cancel_fd_valid(struct au_ring *ring, const struct au_cancel *c)
{
	struct au_fd_id id;

	return au_fd_identify(cancel_fd(ring, c), &id) >= 0;
}

/* It is the file that counts, whatever number either side has for it. */
static bool cancel_matches_fd(const struct au_cancel *c,
			      const struct au_req *req)
{
	int fd = cancel_fd(req->ring, c);

	/* What waits for earlier requests has not looked its file up. */
	if (!(au_ops[req->opcode].traits & AU_OP_NEEDS_FILE) ||
	    req->at == AU_AT_DRAIN)
		return false;
	return req->fd == fd || (c->same_file && au_fd_same(req->fd, fd));
}

static bool cancel_matches(const struct au_cancel *c, const struct au_req *req)
{
	uint32_t f = c->flags;

	if (req == c->self)
		return false;
	/* A transfer under way is none that waits, nor found by the kernel. */
	if (req->at == AU_AT_AIO && !req->ring->ending)
		return false;
	/* A link timeout goes with what it guards. */
	if (req->opcode == IORING_OP_LINK_TIMEOUT)
		return false;
	if (f & IORING_ASYNC_CANCEL_ANY)
		return true;
	if ((f & IORING_ASYNC_CANCEL_FD) && !cancel_matches_fd(c, req))
		return false;
	if ((f & IORING_ASYNC_CANCEL_OP) && req->opcode != c->opcode)
		return false;
	if (!(f & (IORING_ASYNC_CANCEL_FD | IORING_ASYNC_CANCEL_OP)) ||
	    (f & IORING_ASYNC_CANCEL_USERDATA))
		return req->user_data == c->user_data;
	return true;
}

static bool cancel_by_user_data(const struct au_cancel *c)
{
	return !(c->flags & IORING_ASYNC_CANCEL_ANY) &&
	       ((c->flags & IORING_ASYNC_CANCEL_USERDATA) ||
		!(c->flags &
		  (IORING_ASYNC_CANCEL_FD | IORING_ASYNC_CANCEL_OP)));
}

/*
 * The oldest match of a bucket: chains are newest first, and of equal requests
 * the kernel finds the one submitted first.
 */
static struct au_req *cancel_find(struct au_ring *ring,
				  const struct au_cancel *c, uint32_t bucket)
{
	struct au_hash_node *n = ring->pending.buckets[bucket];
	struct au_req *found = NULL;

	for (; n; n = n->next) {
		struct au_req *req = au_container_of(n, struct au_req, pending);

		/* Interrupted once is enough. */
		if (cancel_matches(c, req) && !req->cancelled)
			found = req;
	}
	return found;
}

struct au_req *au_pending_find(struct au_ring *ring, uint64_t user_data,
			       uint8_t opcode)
{
	struct au_hash_node *n;
	struct au_req *found = NULL;

	if (!ring->pending.bits)
		return NULL;
	n = ring->pending.buckets[au_hash_bucket(&ring->pending, user_data)];
	for (; n; n = n->next) {
		struct au_req *req = au_container_of(n, struct au_req, pending);

		if (req->user_data == user_data && req->opcode == opcode)
			found = req;
	}
	return found;
}

bool au_cancel_running(struct au_ring *ring, const struct au_cancel *c)
{
	for (uint32_t b = 0; ring->pending.bits && b < 1U << ring->pending.bits;
	     b++) {
		struct au_hash_node *n = ring->pending.buckets[b];

		for (; n; n = n->next) {
			struct au_req *req =
				au_container_of(n, struct au_req, pending);

			if (cancel_matches(c, req) && req->cancelled)
				return true;
		}
	}
	return false;
}

/* These the kernel ends all at once, each kind counting as one. */
static uint32_t cancel_kind(const struct au_req *req)
{
	if (!(au_ops[req->opcode].traits & AU_OP_CANCEL_COUNTS))
		return 0;
	return req->opcode == IORING_OP_WAITID ? 1 : 2;
}

static int cancel_pass(struct au_ring *ring, const struct au_cancel *c)
{
	bool all = c->flags &
		   (IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_ANY);
	uint32_t bucket = 0, end, kinds = 0, kind;
	int nr = 0, r = -ENOENT;

	if (!ring->pending.bits)
		return all ? 0 : -ENOENT;
	end = 1U << ring->pending.bits;
	if (cancel_by_user_data(c)) {
		bucket = au_hash_bucket(&ring->pending, c->user_data);
		end = bucket + 1;
	}
	while (bucket < end) {
		struct au_req *req = cancel_find(ring, c, bucket);

		if (!req) {
			bucket++;
			continue;
		}
		kind = cancel_kind(req);
		r = au_cancel_req(ring, req);
		if (!all)
			return r;
		/* What runs is told, and not counted. */
		if (r != -EALREADY || kind)
			nr += !kind || !(kinds & kind);
		kinds |= kind;
	}
	return all ? nr : r;
}

int au_cancel(struct au_ring *ring, struct au_cancel *c)
{
	int r;

	/* Comparing files costs a system call each: one tries numbers first. */
	c->same_file = c->flags & IORING_ASYNC_CANCEL_ALL;
	r = cancel_pass(ring, c);
	if (r == -ENOENT && (c->flags & IORING_ASYNC_CANCEL_FD)) {
		c->same_file = true;
		r = cancel_pass(ring, c);
	}
	return r;
}

void au_cancel_all(struct au_ring *ring)
{
	struct au_cancel any = { .flags = IORING_ASYNC_CANCEL_ANY };

	(void)au_cancel(ring, &any);
	au_cancelled_complete(ring);
}
