/* SPDX-License-Identifier: MIT */
/*
 * FUTEX_WAIT, FUTEX_WAKE, FUTEX_WAITV.
 *
 * A worker sleeps for the request. That it sleeps must be certain before the
 * submit call returns, or a wake-up right after it would be lost. So the worker
 * sleeps on a word of the request's own, from where the submitter moves it to
 * the application's word (FUTEX_CMP_REQUEUE), and only then compares that word:
 * whoever changes it afterwards finds the sleeper. Waiters queue in the order
 * of their submission.
 *
 * Where this cannot be done (a mask, no worker in time) the worker waits in the
 * plain way.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include "core/cancel.h"
#include "core/issue.h"
#include "core/ring.h"
#include "ops/ops.h"
#include "sys/clock.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

#ifndef FUTEX2_PRIVATE
#define FUTEX2_PRIVATE FUTEX_PRIVATE_FLAG
#endif
#define FUTEX2_SIZES     3U
#define FUTEX2_U32       2U
#define FUTEX2_NUMA_FLAG 4U

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

#define FUTEX_WORDS_MAX 128
#define ARM_TRIES_NS    (20 * AU_NSEC_PER_MSEC)

struct au_futex {
	uint64_t addr; /* the application's word, or its vector */
	uint32_t val, mask;
	uint32_t private; /* FUTEX_PRIVATE_FLAG */
};

/* As futex_waitv(2) takes it. */
struct futex_word {
	uint64_t val, addr;
	uint32_t flags, reserved;
};

/* async_data of a wait: worker and submitter both look at it. */
struct futex_arm {
	uint32_t nr, mask;
	uint32_t plain; /* do not wait to be moved */
	uint32_t changed; /* and one was found to have another value */
	uint32_t words[FUTEX_WORDS_MAX]; /* what the worker sleeps on */
	struct futex_word theirs[];
};

static int futex_flags(uint32_t flags, uint32_t *private)
{
	if (flags & ~(FUTEX2_SIZES | FUTEX2_NUMA_FLAG | FUTEX2_PRIVATE))
		return -EINVAL;
	if ((flags & FUTEX2_SIZES) != FUTEX2_U32 || (flags & FUTEX2_NUMA_FLAG))
		return -EINVAL;
	*private = flags & FUTEX2_PRIVATE ? FUTEX_PRIVATE_FLAG : 0;
	return 0;
}

static int futex_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_futex *f = au_req_cmd(req, struct au_futex);
	uint64_t val, mask;
	int r;

	if (AU_READ_ONCE(sqe->len) || AU_READ_ONCE(sqe->futex_flags) ||
	    AU_READ_ONCE(sqe->buf_index) || AU_READ_ONCE(sqe->file_index))
		return -EINVAL;
	f->addr = AU_READ_ONCE(sqe->addr);
	val = AU_READ_ONCE(sqe->addr2);
	mask = AU_READ_ONCE(sqe->addr3);
	r = futex_flags((uint32_t)req->fd, &f->private);
	if (r < 0)
		return r;
	if (val > UINT32_MAX || mask > UINT32_MAX)
		return -EINVAL;
	f->val = (uint32_t)val;
	f->mask = (uint32_t)mask;
	return 0;
}

int au_futex_wake_op_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	return futex_prep(req, sqe);
}

enum au_issue au_futex_wake_op(struct au_req *req, unsigned int issue_flags)
{
	struct au_futex *f = au_req_cmd(req, struct au_futex);
	uint32_t word;
	long r;

	/* futex(2) takes none for one; this op does not. */
	if (!f->mask || (f->addr & 3))
		r = -EINVAL;
	else if (!f->val)
		r = f->private ? 0 : au_copy_from_user(&word, f->addr, 4);
	else
		r = au_syscall(SYS_futex, f->addr,
			       FUTEX_WAKE_BITSET | f->private, f->val, NULL,
			       NULL, f->mask);
	au_req_set_res(req, (int)r);
	return AU_DONE;
}

static uint32_t word_private(const struct futex_word *w)
{
	return w->flags & FUTEX2_PRIVATE ? FUTEX_PRIVATE_FLAG : 0;
}

static struct futex_arm *futex_arm_alloc(struct au_req *req, uint32_t nr)
{
	struct futex_arm *arm = au_async_data_alloc(
		req, sizeof(*arm) + nr * sizeof(struct futex_word));

	if (arm) {
		memset(arm, 0, sizeof(*arm));
		arm->nr = nr;
		arm->mask = FUTEX_BITSET_MATCH_ANY;
	}
	return arm;
}

int au_futex_wait_op_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_futex *f = au_req_cmd(req, struct au_futex);
	struct futex_arm *arm;
	int r = futex_prep(req, sqe);

	if (r < 0)
		return r;
	arm = futex_arm_alloc(req, 1);
	if (!arm)
		return -ENOMEM;
	arm->mask = f->mask;
	arm->plain = f->mask != FUTEX_BITSET_MATCH_ANY;
	arm->theirs[0] = (struct futex_word){
		.val = f->val,
		.addr = f->addr,
		.flags = FUTEX2_U32 | (f->private ? FUTEX2_PRIVATE : 0U),
	};
	return 0;
}

int au_futex_waitv_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	uint64_t user = AU_READ_ONCE(sqe->addr);
	uint32_t nr = AU_READ_ONCE(sqe->len), private;
	struct futex_arm *arm;

	if (req->fd || AU_READ_ONCE(sqe->buf_index) ||
	    AU_READ_ONCE(sqe->file_index) || AU_READ_ONCE(sqe->addr2) ||
	    AU_READ_ONCE(sqe->futex_flags) || AU_READ_ONCE(sqe->addr3))
		return -EINVAL;
	if (!nr || nr > FUTEX_WORDS_MAX)
		return -EINVAL;
	arm = futex_arm_alloc(req, nr);
	if (!arm)
		return -ENOMEM;
	if (au_copy_from_user(arm->theirs, user, nr * sizeof(arm->theirs[0])))
		return -EFAULT;
	for (uint32_t i = 0; i < nr; i++) {
		const struct futex_word *w = &arm->theirs[i];

		if (w->reserved || w->val > UINT32_MAX ||
		    futex_flags(w->flags, &private) < 0)
			return -EINVAL;
	}
	return 0;
}

/* The plain way, in a worker. */
static long futex_wait_plain(const struct futex_arm *arm)
{
	const struct futex_word *w = &arm->theirs[0];

	if (arm->nr > 1)
		return au_syscall(SYS_futex_waitv, w, arm->nr, 0, NULL, 0);
	return au_syscall(SYS_futex, w->addr,
			  FUTEX_WAIT_BITSET | word_private(w), w->val, NULL,
			  NULL, arm->mask);
}

/* On the request's own words, until moved and woken. */
static long futex_wait_own(struct futex_arm *arm)
{
	struct futex_word own[FUTEX_WORDS_MAX];

	for (uint32_t i = 0; i < arm->nr; i++)
		own[i] = (struct futex_word){
			.addr = (uintptr_t)&arm->words[i],
			.flags = arm->theirs[i].flags,
		};
	if (arm->nr > 1)
		return au_syscall(SYS_futex_waitv, own, arm->nr, 0, NULL, 0);
	return au_syscall(SYS_futex, own[0].addr,
			  FUTEX_WAIT_BITSET | word_private(&own[0]), 0, NULL,
			  NULL, FUTEX_BITSET_MATCH_ANY);
}

static enum au_issue futex_wait_worker(struct au_req *req)
{
	struct futex_arm *arm = req->async_data;
	long r = 0;

	if (!au_load_acquire(&arm->plain))
		r = futex_wait_own(arm);
	if (r != -EINTR && au_load_acquire(&arm->plain))
		r = futex_wait_plain(arm);
	else if (r == -EINTR && au_load_acquire(&arm->changed))
		r = -EAGAIN;
	/* To be cancelled is no failure here: the chain goes on. */
	if (r == -EINTR)
		req->res = (int)r;
	else
		au_req_set_res(req, (int)r);
	return AU_DONE;
}

/* Moves the worker over as soon as it sleeps. False: not in time. */
static bool futex_move(struct futex_arm *arm, uint32_t i)
{
	const struct futex_word *w = &arm->theirs[i];
	uint64_t end = 0;

	for (;;) {
		long r = au_syscall(SYS_futex, &arm->words[i],
				    FUTEX_CMP_REQUEUE | word_private(w), 0, 1UL,
				    w->addr, 0);

		if (r > 0)
			return true;
		if (r < 0 && r != -EAGAIN)
			return false;
		if (!end)
			end = au_now_ns() + ARM_TRIES_NS;
		else if (au_now_ns() > end)
			return false;
		sched_yield();
	}
}

/* 0; -EAGAIN if a word has another value; -EINVAL, -EFAULT. */
static int futex_compare(const struct futex_arm *arm)
{
	uint32_t now;

	for (uint32_t i = 0; i < arm->nr; i++) {
		if (arm->theirs[i].addr & 3)
			return -EINVAL;
		if (au_copy_from_user(&now, arm->theirs[i].addr, sizeof(now)))
			return -EFAULT;
		if (now != arm->theirs[i].val)
			return -EAGAIN;
	}
	return arm->mask ? 0 : -EINVAL;
}

/* The worker did not come to sleep in time: it need not wait for a move. */
static void futex_give_up(struct futex_arm *arm)
{
	au_store_release(&arm->plain, 1);
	for (uint32_t i = 0; i < arm->nr; i++) {
		au_store_release(&arm->words[i], 1);
		(void)au_syscall(SYS_futex, &arm->words[i],
				 FUTEX_WAKE | word_private(&arm->theirs[i]),
				 INT_MAX);
	}
}

static enum au_issue futex_wait(struct au_req *req)
{
	struct futex_arm *arm = req->async_data;
	int r = arm->mask ? futex_compare(arm) : -EINVAL;
	uint32_t moved = 0;

	if (r == 0) {
		au_req_parked(req->ring, req);
		r = au_workers_queue(req->ring, req, AU_WORK_UNBOUND);
	}
	if (r < 0) {
		au_req_set_res(req, r);
		return AU_DONE;
	}
	if (arm->plain)
		return AU_QUEUED;
	while (moved < arm->nr && futex_move(arm, moved))
		moved++;
	if (!moved) {
		futex_give_up(arm);
		return AU_QUEUED;
	}
	/* From here on a change is followed by a wake-up that finds us. */
	if (moved < arm->nr || futex_compare(arm) < 0) {
		au_store_release(&arm->changed, 1);
		(void)au_workers_cancel(req->ring, req);
	}
	return AU_QUEUED;
}

enum au_issue au_futex_wait_op(struct au_req *req, unsigned int issue_flags)
{
	return issue_flags & AU_ISSUE_WORKER ? futex_wait_worker(req) :
					       futex_wait(req);
}

enum au_issue au_futex_waitv(struct au_req *req, unsigned int issue_flags)
{
	return issue_flags & AU_ISSUE_WORKER ? futex_wait_worker(req) :
					       futex_wait(req);
}
