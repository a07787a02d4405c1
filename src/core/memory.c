/* SPDX-License-Identifier: MIT */
/*
 * The memory that a ring shares with the application.
 */
#include "core/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "anyuring.h"
#include "core/register.h"
#include "core/ring.h"
#include "sys/fd.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

static uint32_t memory_lent; /* parts, of all rings */
static bool memory_lends = true;

static void ring_layout(struct au_ring *ring, struct io_uring_params *p)
{
	/* The kernel, too, doubles the header for 32-byte CQEs. */
	size_t cqes = (64 + (size_t)ring->cq_entries * 16) << ring->cqe_shift;
	size_t array = au_align_up(cqes, 64);

	/* Of what came in only the addresses of NO_MMAP mean something. */
	if (!(p->flags & IORING_SETUP_NO_MMAP))
		p->cq_off.user_addr = p->sq_off.user_addr = 0;
	p->cq_off.resv1 = p->sq_off.resv1 = 0;
	ring->memory.rings_size = array;
	if (!(p->flags & IORING_SETUP_NO_SQARRAY)) {
		p->sq_off.array = (uint32_t)array;
		ring->memory.rings_size += ring->sq_entries * sizeof(uint32_t);
	}
	ring->memory.rings_size = au_align_up(ring->memory.rings_size, 4096);
	ring->memory.sqes_size =
		au_align_up((size_t)ring->sq_entries << ring->sqe_shift, 4096);

	p->sq_off.head = offsetof(struct au_ring_shared, sq_head);
	p->sq_off.tail = offsetof(struct au_ring_shared, sq_tail);
	p->sq_off.ring_mask = offsetof(struct au_ring_shared, sq_ring_mask);
	p->sq_off.ring_entries =
		offsetof(struct au_ring_shared, sq_ring_entries);
	p->sq_off.flags = offsetof(struct au_ring_shared, sq_flags);
	p->sq_off.dropped = offsetof(struct au_ring_shared, sq_dropped);
	p->cq_off.head = offsetof(struct au_ring_shared, cq_head);
	p->cq_off.tail = offsetof(struct au_ring_shared, cq_tail);
	p->cq_off.ring_mask = offsetof(struct au_ring_shared, cq_ring_mask);
	p->cq_off.ring_entries =
		offsetof(struct au_ring_shared, cq_ring_entries);
	p->cq_off.overflow = offsetof(struct au_ring_shared, cq_overflow);
	p->cq_off.cqes = sizeof(struct au_ring_shared);
	p->cq_off.flags = offsetof(struct au_ring_shared, cq_flags);
}

/*
 * NO_MMAP: the application brings the memory. A view of our own of that, which
 * it may unmap before it is done with the ring, as the kernel keeps the pages.
 * Bytes to unmap; 0: the memory is private, and there is but the one view.
 */
static size_t ring_view(void **at, size_t size)
{
	long r = au_syscall(SYS_mremap, *at, 0, size, MREMAP_MAYMOVE, NULL);

	if (r < 0 && r > -4096)
		return 0;
	*at = (void *)r;
	return size;
}

static int ring_use_memory(struct au_ring *ring,
			   const struct io_uring_params *p, void **shared,
			   void **sqes)
{
	uint64_t r = p->cq_off.user_addr, s = p->sq_off.user_addr;

	if ((r | s) & 4095)
		return -EINVAL;
	if (!r || !s || au_user_writable(r, ring->memory.rings_size) ||
	    au_user_writable(s, ring->memory.sqes_size))
		return -EFAULT;
	*shared = au_ptr(r);
	*sqes = au_ptr(s);
	ring->memory.mapped_rings = ring_view(shared, ring->memory.rings_size);
	ring->memory.mapped_sqes = ring_view(sqes, ring->memory.sqes_size);
	memset(*shared, 0, sizeof(*ring->shared));
	return 0;
}

static int ring_make_memory(struct au_ring *ring, void **shared, void **sqes)
{
	size_t size = ring->memory.rings_size + ring->memory.sqes_size;
	long r;

	ring->memory.fd = au_fd_memory("anyuring");
	if (ring->memory.fd < 0)
		return ring->memory.fd;
	r = au_syscall(SYS_ftruncate, ring->memory.fd, size);
	if (r < 0)
		return (int)r;
	r = au_syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, ring->memory.fd, 0);
	if (r < 0 && r > -4096)
		return (int)r;
	ring->memory.mapped_rings = ring->memory.rings_size;
	ring->memory.mapped_sqes = ring->memory.sqes_size;
	*shared = (void *)r;
	*sqes = (char *)*shared + ring->memory.rings_size;
	return 0;
}

int au_memory_make(struct au_ring *ring, struct io_uring_params *p)
{
	void *shared = NULL, *sqes = NULL;
	int r;

	ring_layout(ring, p);
	if (p->flags & IORING_SETUP_NO_MMAP)
		r = ring_use_memory(ring, p, &shared, &sqes);
	else
		r = ring_make_memory(ring, &shared, &sqes);
	if (r < 0)
		return r;
	ring->shared = shared;
	ring->cqes = (void *)((char *)shared + p->cq_off.cqes);
	ring->sqes = sqes;
	if (!(p->flags & IORING_SETUP_NO_SQARRAY))
		ring->sq_array = (void *)((char *)shared + p->sq_off.array);
	ring->shared->sq_ring_mask = ring->sq_mask;
	ring->shared->cq_ring_mask = ring->cq_mask;
	ring->shared->sq_ring_entries = ring->sq_entries;
	ring->shared->cq_ring_entries = ring->cq_entries;
	return 0;
}

/* Unmaps a part, or leaves it to the application, which still has it. */
static void part_free(struct au_ring *ring, enum au_memory_part part, void *at,
		      size_t size)
{
	struct au_lent *l = &ring->lent[part];
	bool has = l->nr;

	if (l->start)
		au_fetch_sub(&memory_lent, 1);
	l->nr = 0;
	au_store_relaxed(&l->start, 0);
	au_store_relaxed(&l->end, 0);
	if (!has && size)
		(void)au_syscall(SYS_munmap, at, size);
}

void au_memory_free(struct au_ring *ring)
{
	struct au_memory *m = &ring->memory;

	part_free(ring, AU_MEMORY_RINGS, ring->shared, m->mapped_rings);
	part_free(ring, AU_MEMORY_SQES, ring->sqes, m->mapped_sqes);
	m->mapped_rings = m->mapped_sqes = 0;
	au_fd_close_hidden(m->fd);
	m->fd = -1;
	ring->shared = NULL;
}

void au_memory_leave(struct au_ring *ring)
{
	struct au_memory *m = &ring->memory;
	size_t size = m->rings_size;
	long r;

	if (m->fd >= 0)
		return;
	r = au_syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r < 0 && r > -4096)
		return;
	ring->cqes = (void *)((char *)r +
			      ((char *)ring->cqes - (char *)ring->shared));
	part_free(ring, AU_MEMORY_RINGS, ring->shared, m->mapped_rings);
	ring->shared = (void *)r;
	m->mapped_rings = size;
}

bool au_memory_inherited(const struct au_ring *ring)
{
	struct au_ring_shared header;
	struct io_uring_sqe sqe;

	return !au_copy_from_user(&header, (uintptr_t)ring->shared,
				  sizeof(header)) &&
	       !au_copy_from_user(&sqe, (uintptr_t)ring->sqes, sizeof(sqe));
}

/* ---- the application's mappings ---- */

void au_memory_lend_no_more(void)
{
	au_store_relaxed(&memory_lends, false);
}

/* Where a part is, if the application may have it as it is; else NULL. */
static void *memory_lend(struct au_ring *ring, enum au_memory_part part,
			 size_t length, int prot, int flags)
{
	bool rings = part == AU_MEMORY_RINGS;
	void *at = rings ? (void *)ring->shared : ring->sqes;
	size_t size = rings ? ring->memory.rings_size : ring->memory.sqes_size;
	struct au_lent *l = &ring->lent[part];

	if (!au_load_relaxed(&memory_lends) || length > size || !length ||
	    prot != (PROT_READ | PROT_WRITE) ||
	    (flags & ~MAP_POPULATE) != MAP_SHARED)
		return NULL;
	if (!l->start) {
		au_fetch_add(&memory_lent, 1);
		au_store_relaxed(&l->end, (uintptr_t)at + size);
		au_store_relaxed(&l->start, (uintptr_t)at);
	}
	l->nr++;
	return at;
}

/* Maps the part of the ring's memory that an mmap offset means. */
static long memory_map(struct au_ring *ring, void *addr, size_t length,
		       int prot, int flags, uint64_t offset)
{
	bool sqes = (offset & IORING_OFF_MMAP_MASK) == IORING_OFF_SQES;
	int fd = ring->memory.fd, r = 0;
	void *lent = NULL;
	uint64_t at = 0;

	switch (offset & IORING_OFF_MMAP_MASK) {
	case IORING_OFF_SQ_RING:
	case IORING_OFF_CQ_RING:
	case IORING_OFF_SQES:
		/* NO_MMAP: the application has it already. */
		if (fd < 0)
			return -EINVAL;
		if (!addr)
			lent = memory_lend(
				ring, sqes ? AU_MEMORY_SQES : AU_MEMORY_RINGS,
				length, prot, flags);
		at = sqes ? ring->memory.rings_size : 0;
		break;
	case AU_OFF_PARAM_REGION:
		fd = ring->region.ptr ? ring->region.mem_fd : -1;
		break;
	case IORING_OFF_PBUF_RING:
		r = au_pbuf_region(ring, offset, &fd);
		break;
	default:
		return -ENOMEM;
	}
	if (lent)
		return (long)lent;
	if (r < 0 || fd < 0)
		return -ENOMEM;
	/* A longer mapping is granted; behind the part is nothing to read. */
	return au_syscall(SYS_mmap, addr, length, prot, flags, fd, at);
}

void *anyuring_mmap(void *addr, size_t length, int prot, int flags, int fd,
		    off_t offset)
{
	int err;
	struct au_ring *ring = au_ring_lookup((unsigned int)fd, &err);
	long r;

	if (!ring)
		return (void *)(long)(err == -EBADF ? err : -ENODEV);
	if (!au_ring_lock_alive(ring))
		return (void *)(long)-EBADF;
	r = memory_map(ring, addr, length, prot, flags, (uint64_t)offset);
	au_ring_unlock(ring);
	return (void *)r;
}

/* The first lent part with a byte in the range, and whose it is. */
static struct au_lent *lent_find(uintptr_t start, uintptr_t end,
				 struct au_ring **ring)
{
	struct au_lent *first = NULL;

	for (struct au_ring *r = au_ring_first(); r; r = r->next) {
		for (int i = 0; i < AU_MEMORY_PARTS; i++) {
			struct au_lent *l = &r->lent[i];
			uintptr_t at = au_load_relaxed(&l->start);

			if (!at || at >= end ||
			    au_load_relaxed(&l->end) <= start ||
			    (first && au_load_relaxed(&first->start) < at))
				continue;
			first = l;
			*ring = r;
		}
	}
	return first;
}

/* The application has it no more. False: nor had the ring, by now. */
static bool lent_return(struct au_ring *ring, struct au_lent *l,
			uintptr_t start)
{
	bool was;

	au_ring_lock(ring);
	was = l->start == start;
	if (was && l->nr)
		l->nr--;
	au_ring_unlock(ring);
	return was;
}

static int memory_unmap(uintptr_t start, uintptr_t end)
{
	return start < end ? (int)au_syscall(SYS_munmap, start, end - start) :
			     0;
}

int anyuring_munmap(void *addr, size_t length)
{
	uintptr_t start = (uintptr_t)addr, from, to;
	uintptr_t end = start + au_align_up(length, 4096);
	struct au_ring *ring;
	struct au_lent *l;
	int r = 0;

	if (au_likely(!au_load_relaxed(&memory_lent)) || start % 4096 ||
	    end <= start)
		return (int)au_syscall(SYS_munmap, addr, length);
	while (r >= 0 && (l = lent_find(start, end, &ring))) {
		from = au_load_relaxed(&l->start);
		to = au_load_relaxed(&l->end);
		if (!from || !lent_return(ring, l, from))
			continue;
		r = memory_unmap(start, from);
		start = to;
	}
	return r < 0 ? r : memory_unmap(start, end);
}
