/* SPDX-License-Identifier: MIT */
/*
 * io_uring_register(2): what may be called when, and the calls that are short.
 * Files, buffers and ring indices have files of their own.
 */
#include "core/register.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include "anyuring.h"
#include "core/cancel.h"
#include "core/complete.h"
#include "core/housekeeper.h"
#include "core/issue.h"
#include "core/message.h"
#include "core/op.h"
#include "core/sqpoll.h"
#include "core/wait.h"
#include "sys/clock.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

/* A registered ring, eventfd or buffer may go only with its last user. */
void au_node_put(struct au_ring *ring, struct au_rsrc_node *n)
{
	if (--n->refs)
		return;
	if (n->tag && ring->alive) {
		au_cqe_post(ring, n->tag, 0, 0);
		au_cq_commit(ring);
	}
	au_fd_close_hidden(n->fd);
	free(n);
}

void au_rsrc_table_drop(struct au_ring *ring, struct au_rsrc_table *t,
			bool silent)
{
	for (uint32_t i = 0; i < t->nr; i++) {
		struct au_rsrc_node *n = t->nodes[i];

		if (!n)
			continue;
		if (silent)
			n->tag = 0;
		au_node_put(ring, n);
	}
	au_rsrc_table_free(t);
}

int au_rsrc_register_arg(struct io_uring_rsrc_register *rr, uint64_t arg,
			 uint32_t size)
{
	if (size != sizeof(*rr))
		return -EINVAL;
	if (au_copy_from_user(rr, arg, sizeof(*rr)))
		return -EFAULT;
	if (!rr->nr || rr->resv2 || (rr->flags & ~IORING_RSRC_REGISTER_SPARSE))
		return -EINVAL;
	if ((rr->flags & IORING_RSRC_REGISTER_SPARSE) && rr->data)
		return -EINVAL;
	return 0;
}

void au_register_release(struct au_ring *ring)
{
	(void)au_unregister_files(ring);
	(void)au_unregister_buffers(ring);
	au_kbufs_free(&ring->kbufs);
	au_region_release(&ring->region);
	au_fd_close_hidden(ring->eventfd);
	ring->eventfd = -1;
}

static int register_eventfd(struct au_ring *ring, uint64_t arg, bool async)
{
	struct stat st;
	int32_t fd;
	uint64_t zero = 0;
	int r;

	if (ring->eventfd >= 0)
		return -EBUSY;
	if (au_copy_from_user(&fd, arg, sizeof(fd)))
		return -EFAULT;
	r = au_fd_dup_hidden(fd);
	if (r < 0)
		return r;
	/*
	 * Only an eventfd has no file type and takes eight bytes of zero, and
	 * nothing happens.
	 */
	if (au_syscall(SYS_fstat, r, &st) < 0 || (st.st_mode & S_IFMT) ||
	    au_syscall(SYS_write, r, &zero, sizeof(zero)) !=
		    (long)sizeof(zero)) {
		au_fd_close_hidden(r);
		return -EINVAL;
	}
	ring->eventfd = r;
	ring->eventfd_async = async;
	au_cq_update_notify(ring);
	return 0;
}

static int unregister_eventfd(struct au_ring *ring)
{
	if (ring->eventfd < 0)
		return -ENXIO;
	au_fd_close_hidden(ring->eventfd);
	ring->eventfd = -1;
	au_cq_update_notify(ring);
	return 0;
}

static int register_probe(uint64_t arg, uint32_t nr)
{
	union {
		struct io_uring_probe probe;
		char bytes[sizeof(struct io_uring_probe) +
			   IORING_OP_LAST * sizeof(struct io_uring_probe_op)];
	} out;

	size_t size;

	if (nr > 256)
		return -EINVAL;
	nr = au_min_u32(nr, IORING_OP_LAST);
	size = sizeof(out.probe) + nr * sizeof(out.probe.ops[0]);
	if (au_copy_from_user(&out, arg, size))
		return -EFAULT;
	for (size_t i = 0; i < size; i++) {
		if (out.bytes[i])
			return -EINVAL;
	}
	memset(&out, 0, sizeof(out));
	for (uint32_t i = 0; i < nr; i++) {
		out.probe.ops[i].op = (uint8_t)i;
		if (au_op_supported((uint8_t)i))
			out.probe.ops[i].flags = IO_URING_OP_SUPPORTED;
	}
	out.probe.last_op = IORING_OP_LAST - 1;
	out.probe.ops_len = (uint8_t)nr;
	return au_copy_to_user(arg, &out, size);
}

static int register_enable(struct au_ring *ring)
{
	if (!ring->disabled)
		return -EBADFD;
	/* Who enables a ring owns it, whoever made it. */
	if (ring->setup_flags & IORING_SETUP_SINGLE_ISSUER)
		ring->owner_tid = au_gettid();
	ring->disabled = false;
	au_restrict_begin(ring);
	au_ring_kick(ring);
	if (au_unlikely(ring->common))
		au_common_wake(ring);
	return 0;
}

static int register_iowq_max(struct au_ring *ring, uint64_t arg)
{
	uint32_t limits[AU_WORK_LAST];
	int r;

	if (au_copy_from_user(limits, arg, sizeof(limits)))
		return -EFAULT;
	for (int i = 0; i < AU_WORK_LAST; i++) {
		if (limits[i] > INT32_MAX)
			return -EINVAL;
	}
	r = au_workers_limits(ring, limits);
	if (r < 0)
		return r;
	return au_copy_to_user(arg, limits, sizeof(limits));
}

static int register_iowq_aff(struct au_ring *ring, uint64_t arg, uint32_t len)
{
	unsigned long mask[16] = { 0 };

	len = au_min_u32(len, sizeof(mask));
	if (au_copy_from_user(mask, arg, len))
		return -EFAULT;
	return au_workers_affinity(ring, mask, len);
}

static int register_clock(struct au_ring *ring, uint64_t arg)
{
	struct io_uring_clock_register c;

	if (au_copy_from_user(&c, arg, sizeof(c)))
		return -EFAULT;
	for (size_t i = 0; i < AU_ARRAY_SIZE(c.resv); i++) {
		if (c.resv[i])
			return -EINVAL;
	}
	if (c.clockid != CLOCK_MONOTONIC && c.clockid != CLOCK_BOOTTIME)
		return -EINVAL;
	ring->clockid = (int)c.clockid;
	return 0;
}

/* Cancels and waits until what was cancelled has ended. */
static int register_sync_cancel(struct au_ring *ring, uint64_t arg)
{
	struct io_uring_sync_cancel_reg sc;
	uint64_t deadline = AU_NSEC_FOREVER;
	struct au_cancel c;
	int r;

	if (au_copy_from_user(&sc, arg, sizeof(sc)))
		return -EFAULT;
	if (sc.flags & ~(uint32_t)AU_CANCEL_FLAGS)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(sc.pad); i++) {
		if (sc.pad[i])
			return -EINVAL;
	}
	for (size_t i = 0; i < AU_ARRAY_SIZE(sc.pad2); i++) {
		if (sc.pad2[i])
			return -EINVAL;
	}
	c = (struct au_cancel){ .flags = sc.flags,
				.user_data = sc.addr,
				.fd = sc.fd,
				.opcode = sc.opcode };
	if ((sc.flags & IORING_ASYNC_CANCEL_FD) &&
	    !au_cancel_fd_valid(ring, &c))
		return -EBADF;
	if (sc.timeout.tv_sec != -1 || sc.timeout.tv_nsec != -1)
		deadline = au_ns_add(au_now_ns(), au_timespec_ns(&sc.timeout));
	r = au_cancel(ring, &c);
	/* Running ones come back through the done queue. */
	while (r == -EALREADY && au_workers_busy(ring)) {
		if (au_now_ns() >= deadline)
			return -ETIME;
		if (au_ring_sleep(ring,
				  au_min_u64(deadline,
					     au_now_ns() + AU_NSEC_PER_MSEC),
				  NULL) == -EINTR)
			return -EINTR;
		au_ring_run(ring);
		(void)au_workers_interrupt_again(ring);
		r = au_cancel_running(ring, &c) ? -EALREADY : 0;
	}
	return r;
}

/* Calls that take no argument. */
static bool register_bare(uint32_t opcode)
{
	switch (opcode) {
	case IORING_UNREGISTER_BUFFERS:
	case IORING_UNREGISTER_FILES:
	case IORING_UNREGISTER_EVENTFD:
	case IORING_REGISTER_ENABLE_RINGS:
	case IORING_UNREGISTER_IOWQ_AFF:
		return true;
	default:
		return false;
	}
}

static int register_bare_call(struct au_ring *ring, uint32_t opcode)
{
	switch (opcode) {
	case IORING_UNREGISTER_BUFFERS:
		return au_unregister_buffers(ring);
	case IORING_UNREGISTER_FILES:
		return au_unregister_files(ring);
	case IORING_UNREGISTER_EVENTFD:
		return unregister_eventfd(ring);
	case IORING_REGISTER_ENABLE_RINGS:
		return register_enable(ring);
	default:
		return au_workers_affinity(ring, NULL, 0);
	}
}

/* nr_args that must be one, or that count bytes, are checked here. */
static int register_call(struct au_ring *ring, uint32_t opcode, uint64_t arg,
			 uint32_t nr)
{
	switch (opcode) {
	case IORING_REGISTER_BUFFERS:
		return arg ? au_register_buffers(ring, arg, nr, 0) : -EFAULT;
	case IORING_REGISTER_FILES:
		return arg ? au_register_files(ring, arg, nr, 0) : -EFAULT;
	case IORING_REGISTER_FILES_UPDATE:
		return au_register_files_update(ring, arg, nr);
	case IORING_REGISTER_EVENTFD:
	case IORING_REGISTER_EVENTFD_ASYNC:
		return nr == 1 ?
			       register_eventfd(
				       ring, arg,
				       opcode ==
					       IORING_REGISTER_EVENTFD_ASYNC) :
			       -EINVAL;
	case IORING_REGISTER_PROBE:
		return arg ? register_probe(arg, nr) : -EINVAL;
	case IORING_REGISTER_FILES2:
		return au_register_files2(ring, arg, nr);
	case IORING_REGISTER_FILES_UPDATE2:
		return au_register_files_update2(ring, arg, nr);
	case IORING_REGISTER_BUFFERS2:
		return au_register_buffers2(ring, arg, nr);
	case IORING_REGISTER_BUFFERS_UPDATE:
		return au_register_buffers_update(ring, arg, nr);
	case IORING_REGISTER_IOWQ_AFF:
		return arg && nr ? register_iowq_aff(ring, arg, nr) : -EINVAL;
	case IORING_REGISTER_IOWQ_MAX_WORKERS:
		return arg && nr == 2 ? register_iowq_max(ring, arg) : -EINVAL;
	case IORING_REGISTER_SYNC_CANCEL:
		return arg && nr == 1 ? register_sync_cancel(ring, arg) :
					-EINVAL;
	case IORING_REGISTER_FILE_ALLOC_RANGE:
		return arg && !nr ? au_register_file_alloc_range(ring, arg) :
				    -EINVAL;
	case IORING_REGISTER_PBUF_RING:
		return arg && nr == 1 ? au_register_pbuf_ring(ring, arg) :
					-EINVAL;
	case IORING_UNREGISTER_PBUF_RING:
		return arg && nr == 1 ? au_unregister_pbuf_ring(ring, arg) :
					-EINVAL;
	case IORING_REGISTER_PBUF_STATUS:
		return arg && nr == 1 ? au_register_pbuf_status(ring, arg) :
					-EINVAL;
	case IORING_REGISTER_RESTRICTIONS:
		return au_register_restrictions(ring, arg, nr);
	case IORING_REGISTER_RESIZE_RINGS:
		return arg && nr == 1 ? au_register_resize(ring, arg) : -EINVAL;
	case IORING_REGISTER_MEM_REGION:
		return arg && nr == 1 ? au_register_mem_region(ring, arg) :
					-EINVAL;
	case IORING_REGISTER_CLONE_BUFFERS:
		return arg && nr == 1 ? au_register_clone_buffers(ring, arg) :
					-EINVAL;
	case IORING_REGISTER_QUERY:
		return au_register_query(arg, nr);
	case IORING_REGISTER_CLOCK:
		return arg && !nr ? register_clock(ring, arg) : -EINVAL;
	default:
		return -EINVAL;
	}
}

static int register_locked(struct au_ring *ring, uint32_t opcode, uint64_t arg,
			   uint32_t nr)
{
	if ((ring->setup_flags & IORING_SETUP_SINGLE_ISSUER) &&
	    ring->owner_tid && ring->owner_tid != au_gettid())
		return -EEXIST;
	if (ring->restrictions.active && !au_restrict_register(ring, opcode))
		return -EACCES;
	if (register_bare(opcode))
		return arg || nr ? -EINVAL : register_bare_call(ring, opcode);
	return register_call(ring, opcode, arg, nr);
}

static int register_blind(uint32_t opcode, uint64_t arg, uint32_t nr)
{
	switch (opcode) {
	case IORING_REGISTER_SEND_MSG_RING:
		return nr == 1 ? au_message_sync(arg) : -EINVAL;
	case IORING_REGISTER_QUERY:
		return au_register_query(arg, nr);
	default:
		return -EINVAL;
	}
}

int anyuring_register(unsigned int fd, unsigned int opcode, void *arg,
		      unsigned int nr_args)
{
	bool indexed = opcode & IORING_REGISTER_USE_REGISTERED_RING;
	struct au_ring *ring;
	int r;

	opcode &= ~IORING_REGISTER_USE_REGISTERED_RING;
	if (opcode >= IORING_REGISTER_LAST)
		return -EINVAL;
	/* What needs no ring. */
	if (fd == UINT32_MAX && !indexed)
		return register_blind(opcode, (uintptr_t)arg, nr_args);
	ring = indexed ? au_ring_by_index(fd, &r) : au_ring_lookup(fd, &r);
	if (!ring)
		return r;
	/* The thread's own table: no ring's lock is needed or wanted. */
	if (opcode == IORING_REGISTER_RING_FDS)
		return au_register_ring_fds((uintptr_t)arg, nr_args);
	if (opcode == IORING_UNREGISTER_RING_FDS)
		return au_unregister_ring_fds((uintptr_t)arg, nr_args);
	if (!au_ring_lock_alive(ring))
		return -EBADF;
	if (au_unlikely(ring->closing)) {
		au_ring_unlock(ring);
		return -EBADF;
	}
	ring->nr_inside++;
	ring->changing = true;
	r = register_locked(ring, opcode, (uintptr_t)arg, nr_args);
	ring->changing = false;
	ring->nr_inside--;
	au_cancelled_complete(ring);
	au_ring_after_complete(ring);
	au_cq_commit(ring);
	au_housekeeper_attend(ring);
	au_ring_maybe_destroy(ring);
	au_ring_unlock(ring);
	return r;
}
