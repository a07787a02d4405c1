/* SPDX-License-Identifier: MIT */
/*
 * TIMEOUT, TIMEOUT_REMOVE and LINK_TIMEOUT.
 *
 * A timeout waits in the ring's timer heap. One with a count stands in the
 * ring's list of counted timeouts as well, and ends with whichever comes first;
 * a ring that never had one does not look at the list.
 */
#include <errno.h>
#include <stdlib.h>
#include "core/cancel.h"
#include "core/complete.h"
#include "core/issue.h"
#include "ops/ops.h"
#include "sys/clock.h"
#include "sys/uaccess.h"

#define TIMEOUT_FLAGS                                     \
	(IORING_TIMEOUT_ABS | IORING_TIMEOUT_CLOCK_MASK | \
	 IORING_TIMEOUT_ETIME_SUCCESS | IORING_TIMEOUT_MULTISHOT)

struct au_timeout {
	uint64_t period_ns; /* as asked for; with ABS the time itself */
	uint32_t flags; /* IORING_TIMEOUT_* */
	uint32_t count; /* completions, or repeats of a multishot; 0 none */
	uint32_t target; /* the completion that ends it */
	uint32_t clock; /* AU_CLOCK_* */
	struct au_list counted;
};

struct au_timeout_remove {
	uint64_t user_data;
	uint64_t ns; /* update: the new time */
	uint32_t flags;
};

static int timeout_ns(uint64_t user, uint64_t *ns)
{
	struct au_timespec ts;

	if (au_copy_from_user(&ts, user, sizeof(ts)))
		return -EFAULT;
	if (ts.tv_sec < 0 || ts.tv_nsec < 0)
		return -EINVAL;
	*ns = au_timespec_ns(&ts);
	return 0;
}

/* The flags number the clocks as the heaps do; both together are one too many. */
_Static_assert(IORING_TIMEOUT_BOOTTIME << 1 == IORING_TIMEOUT_REALTIME &&
		       AU_CLOCK_BOOTTIME == 1 && AU_CLOCK_REALTIME == 2 &&
		       AU_CLOCK_LAST == 3,
	       "clock numbers");

static uint32_t timeout_clock(uint32_t flags)
{
	return (flags & IORING_TIMEOUT_CLOCK_MASK) / IORING_TIMEOUT_BOOTTIME;
}

static uint64_t timeout_deadline(struct au_ring *ring, uint32_t clock,
				 uint32_t flags, uint64_t ns)
{
	if (flags & IORING_TIMEOUT_ABS)
		return ns;
	return au_ns_add(au_timers_now(ring, clock), ns);
}

/* Is anything set in the SQE that means nothing to timeouts? */
static bool timeout_stray(const struct io_uring_sqe *sqe)
{
	return AU_READ_ONCE(sqe->buf_index) | AU_READ_ONCE(sqe->file_index) |
	       AU_READ_ONCE(sqe->addr3) | AU_READ_ONCE(sqe->pad2[0]);
}

static int timeout_prep(struct au_req *req, const struct io_uring_sqe *sqe,
			bool link)
{
	struct au_timeout *t = au_req_cmd(req, struct au_timeout);
	uint32_t off = (uint32_t)AU_READ_ONCE(sqe->off);

	if (AU_READ_ONCE(sqe->len) != 1 || timeout_stray(sqe))
		return -EINVAL;
	if (off && link)
		return -EINVAL;
	t->flags = AU_READ_ONCE(sqe->timeout_flags);
	if (t->flags & ~(uint32_t)TIMEOUT_FLAGS)
		return -EINVAL;
	/* A time that stands still cannot repeat. */
	if ((t->flags & IORING_TIMEOUT_MULTISHOT) &&
	    (t->flags & IORING_TIMEOUT_ABS))
		return -EINVAL;
	t->count = off;
	t->clock = timeout_clock(t->flags);
	if (t->clock == AU_CLOCK_LAST)
		return -EINVAL;
	return timeout_ns(AU_READ_ONCE(sqe->addr), &t->period_ns);
}

int au_timeout_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	return timeout_prep(req, sqe, false);
}

static bool timeout_counts(const struct au_timeout *t)
{
	return t->count && !(t->flags & IORING_TIMEOUT_MULTISHOT);
}

/* Ends the counted timeouts whose completions have come. */
static void timeout_run_counted(struct au_ring *ring)
{
	uint32_t got = ring->cq_tail - ring->nr_timeouts - ring->counted_last;
	struct au_list *pos, *tmp;

	/* Numbers wrap; distances from the last look do not. */
	au_list_for_each_safe(pos, tmp, &ring->counted) {
		struct au_timeout *t =
			au_container_of(pos, struct au_timeout, counted);
		struct au_req *req = au_container_of((uint64_t *)(void *)t,
						     struct au_req, cmd);

		if (got < t->target - ring->counted_last)
			continue;
		au_timers_cancel(&ring->timers, req);
		au_req_unpark(ring, req);
		ring->nr_timeouts++;
		au_req_complete(ring, req);
	}
	ring->counted_last += got;
}

/* It counts no more. */
void au_timeout_cleanup(struct au_req *req)
{
	struct au_timeout *t = au_req_cmd(req, struct au_timeout);

	au_list_del(&t->counted);
	if (au_list_empty(&req->ring->counted))
		req->ring->run_counted = NULL;
	au_req_clear(req, AU_REQ_F_NEED_CLEANUP);
}

/* The same time, on the same clock; a count or a period ends here. */
bool au_timeout_bequeath(const struct au_req *req, struct io_uring_sqe *sqe,
			 struct au_timespec *ts)
{
	const struct au_timeout *t = (const void *)req->cmd;

	if (t->flags & IORING_TIMEOUT_MULTISHOT)
		return false;
	sqe->opcode = IORING_OP_TIMEOUT;
	sqe->flags = req->flags & IOSQE_CQE_SKIP_SUCCESS;
	sqe->len = 1;
	sqe->user_data = req->user_data;
	sqe->timeout_flags = (t->flags & (IORING_TIMEOUT_CLOCK_MASK |
					  IORING_TIMEOUT_ETIME_SUCCESS)) |
			     IORING_TIMEOUT_ABS;
	ts->tv_sec = (int64_t)(req->deadline_ns / AU_NSEC_PER_SEC);
	ts->tv_nsec = (int64_t)(req->deadline_ns % AU_NSEC_PER_SEC);
	return true;
}

static int timeout_arm(struct au_req *req)
{
	struct au_timeout *t = au_req_cmd(req, struct au_timeout);
	struct au_ring *ring = req->ring;
	int r;

	req->clock = t->clock;
	req->deadline_ns =
		timeout_deadline(req->ring, t->clock, t->flags, t->period_ns);
	r = au_timers_arm(ring, req);
	if (r < 0)
		return r;
	if (timeout_counts(t)) {
		uint32_t now = ring->cq_tail - ring->nr_timeouts;

		t->target = now + t->count;
		if (au_list_empty(&ring->counted))
			ring->counted_last = now;
		au_list_add_tail(&ring->counted, &t->counted);
		ring->run_counted = timeout_run_counted;
		au_req_set(req, AU_REQ_F_NEED_CLEANUP);
	}
	return 0;
}

enum au_issue au_timeout(struct au_req *req, unsigned int issue_flags)
{
	int r = timeout_arm(req);

	if (r < 0) {
		au_req_set_res(req, r);
		return AU_DONE;
	}
	return AU_QUEUED;
}

AU_OP_DEFINE_STRAIGHT(timeout)

bool au_timeout_ready(struct au_ring *ring, struct au_req *req, uint32_t events)
{
	struct au_timeout *t = au_req_cmd(req, struct au_timeout);

	if ((t->flags & IORING_TIMEOUT_MULTISHOT) && t->count != 1 &&
	    au_req_post_more(ring, req, -ETIME, 0)) {
		if (t->count)
			t->count--;
		ring->nr_timeouts++;
		/* From when it was due, or it would drift. */
		req->deadline_ns += t->period_ns;
		if (au_timers_arm(ring, req) == 0)
			return true;
	}
	req->res = -ETIME;
	if (!(t->flags & IORING_TIMEOUT_ETIME_SUCCESS))
		au_req_set_fail(req);
	ring->nr_timeouts++;
	au_req_complete(ring, req);
	return true;
}

int au_timeout_remove_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_timeout_remove *tr =
		au_req_cmd(req, struct au_timeout_remove);

	if (req->flags & (AU_REQ_F_FIXED_FILE | AU_REQ_F_BUFFER_SELECT))
		return -EINVAL;
	if (AU_READ_ONCE(sqe->len) || timeout_stray(sqe))
		return -EINVAL;
	tr->user_data = AU_READ_ONCE(sqe->addr);
	tr->flags = AU_READ_ONCE(sqe->timeout_flags);
	if (!(tr->flags & IORING_TIMEOUT_UPDATE_MASK))
		return tr->flags ? -EINVAL : 0;
	if (__builtin_popcount(tr->flags & IORING_TIMEOUT_CLOCK_MASK) > 1 ||
	    (tr->flags & ~(IORING_TIMEOUT_UPDATE_MASK | IORING_TIMEOUT_ABS)))
		return -EINVAL;
	return timeout_ns(AU_READ_ONCE(sqe->addr2), &tr->ns);
}

static int timeout_update(struct au_ring *ring, struct au_req *t,
			  uint32_t flags, uint64_t ns)
{
	struct au_timeout *cmd = au_req_cmd(t, struct au_timeout);
	int r = au_cancel_take(ring, t);

	if (r < 0)
		return r;
	/* An updated timeout counts nothing any more, a multishot no end. */
	if (t->flags & AU_REQ_F_NEED_CLEANUP)
		au_timeout_cleanup(t);
	cmd->count = 0;
	cmd->period_ns = ns;
	t->deadline_ns = timeout_deadline(ring, t->clock, flags, ns);
	return au_timers_arm(ring, t);
}

enum au_issue au_timeout_remove(struct au_req *req, unsigned int issue_flags)
{
	struct au_timeout_remove *tr =
		au_req_cmd(req, struct au_timeout_remove);
	/* LINK_TIMEOUT_UPDATE says which kind UPDATE means, no more. */
	bool update = tr->flags & IORING_TIMEOUT_UPDATE;
	bool link = update && (tr->flags & IORING_LINK_TIMEOUT_UPDATE);
	struct au_req *t = au_pending_find(req->ring, tr->user_data,
					   link ? IORING_OP_LINK_TIMEOUT :
						  IORING_OP_TIMEOUT);
	int r = -ENOENT;

	if (t && !update)
		r = au_cancel_req(req->ring, t);
	else if (t)
		r = timeout_update(req->ring, t, tr->flags, tr->ns);
	au_req_set_res(req, r);
	return AU_DONE;
}

AU_OP_DEFINE_STRAIGHT(timeout_remove)

int au_link_timeout_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	const struct au_timeout *t = au_req_cmd(req, struct au_timeout);
	struct au_ring *ring = req->ring;
	int r = timeout_prep(req, sqe, true);

	if (r < 0)
		return r;
	/* It guards the request before it, and nothing else. */
	if (!ring->link_head ||
	    ring->link_tail->opcode == IORING_OP_LINK_TIMEOUT)
		return -EINVAL;
	au_req_set(ring->link_tail,
		   AU_REQ_F_ARM_LTIMEOUT | AU_REQ_F_COMPLETE_SLOW);
	/* Until it is armed: 0 if it would be due at once. */
	req->deadline_ns = t->period_ns;
	if ((t->flags & IORING_TIMEOUT_ABS) &&
	    t->period_ns <= au_timers_now(ring, t->clock))
		req->deadline_ns = 0;
	return 0;
}

/* Called when what it guards has to wait; see core/links.c. */
enum au_issue au_link_timeout(struct au_req *req, unsigned int issue_flags)
{
	struct au_timeout *t = au_req_cmd(req, struct au_timeout);
	int r;

	req->clock = t->clock;
	req->deadline_ns =
		timeout_deadline(req->ring, t->clock, t->flags, t->period_ns);
	r = au_timers_arm(req->ring, req);
	if (r < 0) {
		au_req_set_res(req, r);
		return AU_DONE;
	}
	return AU_QUEUED;
}

bool au_link_timeout_ready(struct au_ring *ring, struct au_req *req,
			   uint32_t events)
{
	struct au_req *timed = req->timed;
	int r = 0;

	if (timed) {
		/*
		 * It leaves the chain now: its target ends without it. The
		 * target's flags may be a worker's: they stay as they are, and
		 * links.c looks at what stands behind the target.
		 */
		if (timed->link == req) {
			timed->link = req->link;
			req->link = NULL;
		}
		if (timed->at != AU_AT_NONE)
			r = au_cancel_req(ring, timed);
	}
	/* Firing is no failure: with CQE_SKIP nothing is posted. */
	req->res = r ? r : -ETIME;
	au_req_clear(req, AU_REQ_F_LINKS);
	au_req_complete(ring, req);
	return true;
}
