/* SPDX-License-Identifier: MIT */
/*
 * io_uring_setup(2): what may be asked for, in the kernel's order of checks.
 */
#include <errno.h>
#include <string.h>
#include "anyuring.h"
#include "core/hooks.h"
#include "core/register.h"
#include "core/ring.h"
#include "core/setup.h"
#include "core/sqpoll.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

static int setup_check_flags(const struct io_uring_params *p)
{
	uint32_t f = p->flags;

	for (size_t i = 0; i < AU_ARRAY_SIZE(p->resv); i++) {
		if (p->resv[i])
			return -EINVAL;
	}
	if (f & ~(uint32_t)AU_SETUP_FLAGS)
		return -EINVAL;
	if ((f & IORING_SETUP_REGISTERED_FD_ONLY) &&
	    !(f & IORING_SETUP_NO_MMAP))
		return -EINVAL;
	if ((f & IORING_SETUP_CQE32) && (f & IORING_SETUP_CQE_MIXED))
		return -EINVAL;
	if ((f & IORING_SETUP_HYBRID_IOPOLL) && !(f & IORING_SETUP_IOPOLL))
		return -EINVAL;
	if ((f & IORING_SETUP_SQPOLL) &&
	    (f & (IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
		  IORING_SETUP_DEFER_TASKRUN)))
		return -EINVAL;
	if ((f & IORING_SETUP_TASKRUN_FLAG) &&
	    !(f & (IORING_SETUP_COOP_TASKRUN | IORING_SETUP_DEFER_TASKRUN)))
		return -EINVAL;
	if ((f & IORING_SETUP_DEFER_TASKRUN) &&
	    !(f & IORING_SETUP_SINGLE_ISSUER))
		return -EINVAL;
	return 0;
}

int au_setup_sizes(unsigned int entries, struct io_uring_params *p)
{
	if (!entries)
		return -EINVAL;
	if (entries > AU_RING_MAX_ENTRIES) {
		if (!(p->flags & IORING_SETUP_CLAMP))
			return -EINVAL;
		entries = AU_RING_MAX_ENTRIES;
	}
	p->sq_entries = au_roundup_pow2(entries);
	if (!(p->flags & IORING_SETUP_CQSIZE)) {
		p->cq_entries = 2 * p->sq_entries;
		return 0;
	}
	if (!p->cq_entries)
		return -EINVAL;
	if (p->cq_entries > AU_RING_MAX_CQ_ENTRIES) {
		if (!(p->flags & IORING_SETUP_CLAMP))
			return -EINVAL;
		p->cq_entries = AU_RING_MAX_CQ_ENTRIES;
	}
	p->cq_entries = au_roundup_pow2(p->cq_entries);
	return p->cq_entries < p->sq_entries ? -EINVAL : 0;
}

/* ATTACH_WQ shares nothing here, but names a ring all the same. */
static int setup_check_attach(const struct io_uring_params *p)
{
	int err;

	if (!(p->flags & IORING_SETUP_ATTACH_WQ))
		return 0;
	if (au_ring_lookup(p->wq_fd, &err))
		return 0;
	return err == -EBADF ? -ENXIO : -EINVAL;
}

static int setup_sqpoll(struct au_ring *ring, const struct io_uring_params *p)
{
	int cpu = -1;

	if (!(p->flags & IORING_SETUP_SQPOLL))
		return p->flags & IORING_SETUP_SQ_AFF ? -EINVAL : 0;
	if (p->flags & IORING_SETUP_SQ_AFF) {
		cpu = (int)p->sq_thread_cpu;
		if (cpu < 0 || cpu >= sysconf(_SC_NPROCESSORS_CONF))
			return -EINVAL;
	}
	return au_sqpoll_start(ring, p->sq_thread_idle, cpu);
}

int anyuring_setup(unsigned int entries, struct io_uring_params *user)
{
	struct io_uring_params p;
	struct au_ring *ring;
	int r, attach, fd;

	if (au_copy_from_user(&p, (uintptr_t)user, sizeof(p)))
		return -EFAULT;
	r = setup_check_flags(&p);
	if (r >= 0)
		r = au_setup_sizes(entries, &p);
	/* A wide CQE takes two slots. */
	if (r >= 0 && (p.flags & IORING_SETUP_CQE_MIXED) && p.cq_entries < 2)
		r = -EOVERFLOW;
	if (r < 0)
		return r;
	/* Asked before the ring has a number, refused after its memory was. */
	attach = setup_check_attach(&p);
	r = au_ring_create(entries, &p, &ring);
	if (r < 0)
		return r;
	fd = r;
	au_hooks_activate();
	p.features = AU_SETUP_FEATURES;
	if (au_copy_to_user((uintptr_t)user, &p, sizeof(p)))
		r = -EFAULT;
	if (r >= 0)
		r = attach;
	if (r >= 0)
		r = setup_sqpoll(ring, &p);
	if (r >= 0 && (p.flags & IORING_SETUP_REGISTERED_FD_ONLY)) {
		r = au_ring_index_add(ring, -1);
		if (r >= 0) {
			(void)au_syscall(SYS_close, fd);
			au_ring_map_fd((unsigned int)fd, NULL);
			fd = r;
		}
	}
	if (r < 0)
		(void)anyuring_close(fd);
	au_ring_lock(ring);
	ring->nr_inside--;
	au_ring_maybe_destroy(ring);
	au_ring_unlock(ring);
	return r < 0 ? r : fd;
}

const char *anyuring_version(void)
{
	return AU_VERSION;
}
