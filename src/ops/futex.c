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
 * Where this cannot be done (a mask, several words, no worker in time) the
 * worker waits in the plain way.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
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
#define FUTEX2_SIZES 3U
#define FUTEX2_U32 2U
#define FUTEX2_NUMA_FLAG 4U

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

#define FUTEX_WORDS_MAX 128
#define ARM_TRIES_NS (2 * AU_NSEC_PER_MSEC)

struct au_futex {
	uint64_t addr; /* the application's word, or its vector */
	uint32_t val, mask;
	uint32_t private; /* FUTEX_PRIVATE_FLAG */
	uint32_t nr; /* FUTEX_WAITV */
};

/* async_data of a FUTEX_WAIT: worker and submitter both look at it. */
struct futex_arm {
	uint32_t word; /* what the worker sleeps on; 1: wait in the plain way */
	uint32_t armed; /* moved to the application's word */
	uint32_t changed; /* and found to have another value */
};

struct futex_word {
	uint64_t val, addr;
	uint32_t flags, reserved;
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

int au_futex_wait_op_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	int r = futex_prep(req, sqe);
	struct futex_arm *arm;

	if (r < 0)
		return r;
	arm = au_async_data_alloc(req, sizeof(*arm));
	if (!arm)
		return -ENOMEM;
	*arm = (struct futex_arm){ 0 };
	return 0;
}

static long futex_wait_plain(const struct au_futex *f)
{
	return au_syscall(SYS_futex, f->addr, FUTEX_WAIT_BITSET | f->private,
			  f->val, NULL, NULL, f->mask);
}

static enum au_issue futex_wait_worker(struct au_req *req)
{
	struct au_futex *f = au_req_cmd(req, struct au_futex);
	struct futex_arm *arm = req->async_data;
	long r = 0;

	while (!au_load_acquire(&arm->word) && !au_load_acquire(&arm->armed)) {
		r = au_syscall(SYS_futex, &arm->word,
			       FUTEX_WAIT_BITSET | f->private, 0, NULL, NULL,
			       FUTEX_BITSET_MATCH_ANY);
		/*
		 * The lock is held while the worker is being moved, so a
		 * cancel comes before or after, and either way ends this.
		 */
		if (r == -EINTR)
			break;
		/* Woken by the application before we were told of the move. */
		if (r == 0 && !au_load_acquire(&arm->word))
			break;
	}
	if (au_load_acquire(&arm->word))
		r = futex_wait_plain(f);
	else if (r == -EINTR && au_load_acquire(&arm->changed))
		r = -EAGAIN;
	au_req_set_res(req, (int)r);
	return AU_DONE;
}

/* Moves the worker over as soon as it sleeps. False: not in time. */
static bool futex_arm(const struct au_futex *f, struct futex_arm *arm)
{
	uint64_t end = 0;

	for (;;) {
		long r = au_syscall(SYS_futex, &arm->word,
				    FUTEX_CMP_REQUEUE | f->private, 0, 1UL,
				    f->addr, 0);

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

static int futex_value(const struct au_futex *f)
{
	uint32_t now;

	if (au_copy_from_user(&now, f->addr, sizeof(now)))
		return -EFAULT;
	return now == f->val ? 0 : -EAGAIN;
}

enum au_issue au_futex_wait_op(struct au_req *req, unsigned int issue_flags)
{
	struct au_futex *f = au_req_cmd(req, struct au_futex);
	struct futex_arm *arm = req->async_data;
	int r = -EINVAL;

	if (issue_flags & AU_ISSUE_WORKER)
		return futex_wait_worker(req);
	if (f->mask && !(f->addr & 3))
		r = futex_value(f);
	if (r == 0) {
		if (f->mask != FUTEX_BITSET_MATCH_ANY)
			arm->word = 1;
		r = au_workers_queue(req->ring, req, AU_WORK_UNBOUND);
	}
	if (r < 0) {
		au_req_set_res(req, r);
		return AU_DONE;
	}
	if (arm->word)
		return AU_QUEUED;
	if (!futex_arm(f, arm)) {
		au_store_release(&arm->word, 1);
		(void)au_syscall(SYS_futex, &arm->word,
				 FUTEX_WAKE | f->private, INT_MAX);
		return AU_QUEUED;
	}
	au_store_release(&arm->armed, 1);
	/* From here on a change is followed by a wake-up that finds us. */
	if (futex_value(f) < 0) {
		au_store_release(&arm->changed, 1);
		(void)au_workers_cancel(req->ring, req);
	}
	return AU_QUEUED;
}

int au_futex_waitv_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	struct au_futex *f = au_req_cmd(req, struct au_futex);
	struct futex_word *words;

	if (req->fd || AU_READ_ONCE(sqe->buf_index) ||
	    AU_READ_ONCE(sqe->file_index) || AU_READ_ONCE(sqe->addr2) ||
	    AU_READ_ONCE(sqe->futex_flags) || AU_READ_ONCE(sqe->addr3))
		return -EINVAL;
	f->addr = AU_READ_ONCE(sqe->addr);
	f->nr = AU_READ_ONCE(sqe->len);
	if (!f->nr || f->nr > FUTEX_WORDS_MAX)
		return -EINVAL;
	words = au_async_data_alloc(req, f->nr * sizeof(*words));
	if (!words)
		return -ENOMEM;
	if (au_copy_from_user(words, f->addr, f->nr * sizeof(*words)))
		return -EFAULT;
	for (uint32_t i = 0; i < f->nr; i++) {
		uint32_t private;

		if (words[i].reserved || words[i].val > UINT32_MAX ||
		    futex_flags(words[i].flags, &private) < 0)
			return -EINVAL;
	}
	return 0;
}

enum au_issue au_futex_waitv(struct au_req *req, unsigned int issue_flags)
{
	struct au_futex *f = au_req_cmd(req, struct au_futex);

	au_req_set_res(req, (int)au_syscall(SYS_futex_waitv, req->async_data,
					    f->nr, 0, NULL, 0));
	return AU_DONE;
}
