/* SPDX-License-Identifier: MIT */
/*
 * io_uring_enter(2): submit, then wait. The order of checks is the kernel's:
 * flags, descriptor, disabled ring, submission; a submission that consumed
 * fewer SQEs than asked for does not wait; what waiting returns counts only if
 * nothing was submitted.
 */
#include <errno.h>
#include <time.h>
#include "anyuring.h"
#include "core/complete.h"
#include "core/housekeeper.h"
#include "core/issue.h"
#include "core/notify.h"
#include "core/register.h"
#include "core/setup.h"
#include "core/sqpoll.h"
#include "core/submit.h"
#include "core/wait.h"
#include "sys/clock.h"
#include "sys/uaccess.h"

static uint64_t arg_deadline(struct au_ring *ring, unsigned int flags,
			     const struct au_timespec *ts)
{
	uint64_t ns = au_timespec_ns(ts), now = au_now_ns();

	if (!(flags & IORING_ENTER_ABS_TIMER))
		return au_ns_add(now, ns);
	/* On the ring's clock: how far ahead is that? */
	if (ring->clockid != CLOCK_MONOTONIC) {
		uint64_t there = au_clock_ns(ring->clockid);

		return ns <= there ? now : au_ns_add(now, ns - there);
	}
	return ns;
}

static au_cold int arg_ext(struct au_ring *ring, struct au_wait *w,
			   unsigned int flags, const void *argp, size_t argsz)
{
	struct io_uring_getevents_arg ext;
	struct au_timespec ts;

	if (argsz != sizeof(ext))
		return -EINVAL;
	if (au_copy_from_user(&ext, (uintptr_t)argp, sizeof(ext)))
		return -EFAULT;
	w->sigmask = ext.sigmask;
	w->sigmask_size = ext.sigmask_sz;
	if (ext.min_wait_usec)
		w->min_wait_ns =
			au_now_ns() + ext.min_wait_usec * AU_NSEC_PER_USEC;
	if (ext.ts) {
		if (au_copy_from_user(&ts, ext.ts, sizeof(ts)))
			return -EFAULT;
		w->deadline_ns = arg_deadline(ring, flags, &ts);
	}
	return 0;
}

/* IORING_ENTER_EXT_ARG_REG: `argp` is an offset into the ring's region. */
static au_cold int arg_reg(struct au_ring *ring, struct au_wait *w,
			   unsigned int flags, const void *argp, size_t argsz)
{
	struct io_uring_reg_wait rw;

	if (argsz != sizeof(rw))
		return -EINVAL;
	if (au_region_wait(ring, (uintptr_t)argp, &rw))
		return -EFAULT;
	if (rw.flags & ~IORING_REG_WAIT_TS)
		return -EINVAL;
	w->sigmask = rw.sigmask;
	w->sigmask_size = rw.sigmask_sz;
	if (rw.min_wait_usec)
		w->min_wait_ns =
			au_now_ns() + rw.min_wait_usec * AU_NSEC_PER_USEC;
	if (rw.flags & IORING_REG_WAIT_TS)
		w->deadline_ns = arg_deadline(ring, flags, &rw.ts);
	return 0;
}

/* Most often all there is to wait for was done by submitting. */
static inline bool enter_need_not_wait(struct au_ring *ring,
				       unsigned int min_complete,
				       unsigned int flags)
{
	return !(flags & IORING_ENTER_EXT_ARG) && !ring->pending.nr &&
	       au_mpscq_empty(&ring->done) && !ring->nr_overflow &&
	       au_cq_ready(ring) >= min_complete;
}

static au_noinline int enter_wait(struct au_ring *ring,
				  unsigned int min_complete, unsigned int flags,
				  const void *argp, size_t argsz)
{
	struct au_wait w = { .min_complete = min_complete,
			     .deadline_ns = AU_NSEC_FOREVER };
	int r;

	if (flags & IORING_ENTER_EXT_ARG) {
		r = flags & IORING_ENTER_EXT_ARG_REG ?
			    arg_reg(ring, &w, flags, argp, argsz) :
			    arg_ext(ring, &w, flags, argp, argsz);
		if (au_unlikely(r < 0))
			return r;
	} else {
		w.sigmask = (uintptr_t)argp;
		w.sigmask_size = argsz;
	}
	return au_ring_wait(ring, &w);
}

/* May this thread submit to, or with DEFER_TASKRUN wait on, the ring? */
static bool enter_is_owner(struct au_ring *ring)
{
	return !(ring->setup_flags & IORING_SETUP_SINGLE_ISSUER) ||
	       ring->owner_tid == au_gettid();
}

static int enter_submit(struct au_ring *ring, unsigned int to_submit,
			unsigned int flags)
{
	if (au_unlikely(ring->setup_flags & IORING_SETUP_SQPOLL)) {
		int r = au_sqpoll_enter(ring, flags);

		return r < 0 ? r : (int)to_submit;
	}
	if (!to_submit)
		return 0;
	if (au_unlikely(!enter_is_owner(ring)))
		return -EEXIST;
	return au_submit_sqes(ring, to_submit);
}

/* Lock held: everything between it being taken and given back. */
static int enter_locked(struct au_ring *ring, unsigned int to_submit,
			unsigned int min_complete, unsigned int flags,
			const void *argp, size_t argsz)
{
	int r, wait;

	if (au_unlikely(ring->disabled))
		return -EBADFD;
	r = enter_submit(ring, to_submit, flags);
	if (au_unlikely(r < 0) || (uint32_t)r != to_submit)
		return r;
	if (!(flags & IORING_ENTER_GETEVENTS)) {
		/* The kernel would run task work on its way out. */
		if (!au_ring_defer(ring) && !ring->sqpoll)
			au_ring_run(ring);
		return r;
	}
	if (au_ring_defer(ring) && au_unlikely(!enter_is_owner(ring)))
		return r ? r : -EEXIST;
	if (au_likely(enter_need_not_wait(ring, min_complete, flags)))
		return r;
	wait = enter_wait(ring, min_complete, flags, argp, argsz);
	return r ? r : wait;
}

static int enter(struct au_ring *ring, unsigned int to_submit,
		 unsigned int min_complete, unsigned int flags,
		 const void *argp, size_t argsz)
{
	bool raised = false;
	int r;

	if (!au_ring_lock_alive(ring))
		return -EBADF;
	if (au_unlikely(ring->closing)) {
		au_ring_unlock(ring);
		return -EBADF;
	}
	ring->nr_inside++;
	au_store_relaxed(&ring->enter_seq, ring->enter_seq + 1);
	r = enter_locked(ring, to_submit, min_complete, flags, argp, argsz);
	ring->nr_inside--;
	if (au_unlikely(ring->readable)) {
		raised = ring->raised;
		ring->raised = false;
		au_notify_sync(ring);
	}
	au_housekeeper_attend(ring);
	if (au_unlikely(ring->closing))
		au_ring_maybe_destroy(ring);
	au_ring_unlock(ring);
	if (au_unlikely(raised))
		au_notify_rings(ring);
	return r;
}

int anyuring_enter(unsigned int fd, unsigned int to_submit,
		   unsigned int min_complete, unsigned int flags,
		   const void *arg, size_t argsz)
{
	struct au_ring *ring;
	int r;

	if (au_unlikely(flags & ~(unsigned int)AU_ENTER_FLAGS))
		return -EINVAL;
	if (flags & IORING_ENTER_REGISTERED_RING)
		ring = au_ring_by_index(fd, &r);
	else
		ring = au_ring_lookup(fd, &r);
	if (au_unlikely(!ring))
		return r;
	return enter(ring, to_submit, min_complete, flags, arg, argsz);
}
