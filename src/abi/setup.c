/* SPDX-License-Identifier: MIT */
/*
 * The liburing front: making, mapping, resizing and ending a ring.
 *
 * Who owns the memory of a ring decides what to unmap: mappings of the ring's
 * descriptor and of the front's own (IORING_SETUP_NO_MMAP without a buffer)
 * are ours, a buffer of the application (FRONT_APP_MEM) never is. A size of 0
 * in struct io_uring stands for "part of another mapping".
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "abi/front.h"
#include "anyuring.h"
#include "base/atomic.h"
#include "sys/syscall.h"

#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21U << 26)
#endif

/* liburing knows this one size of huge page, whatever the machine's is. */
#define HUGE_PAGE_SIZE ((size_t)2 << 20)

void *au_front_map(size_t bytes, int flags)
{
	/* -errno, as a pointer: just what the caller is promised. */
	return (void *)au_syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
				  MAP_ANONYMOUS | flags, -1, 0L);
}

void au_front_unmap(void *addr, size_t bytes)
{
	/* Only fails for arguments that were never mapped. */
	(void)anyuring_munmap(addr, bytes);
}

static inline int err_of(const void *p)
{
	return (int)(intptr_t)p;
}

static void *at(void *base, uint32_t offset)
{
	return (char *)base + offset;
}

static void unmap_rings(struct io_uring_sq *sq, struct io_uring_cq *cq)
{
	if (sq->ring_sz)
		au_front_unmap(sq->ring_ptr, sq->ring_sz);
	if (cq->ring_ptr && cq->ring_sz && cq->ring_ptr != sq->ring_ptr)
		au_front_unmap(cq->ring_ptr, cq->ring_sz);
}

/* Resolve the offsets in `p` once both rings are in place. */
static void set_pointers(const struct io_uring_params *p,
			 struct io_uring_sq *sq, struct io_uring_cq *cq)
{
	sq->khead = at(sq->ring_ptr, p->sq_off.head);
	sq->ktail = at(sq->ring_ptr, p->sq_off.tail);
	sq->kring_mask = at(sq->ring_ptr, p->sq_off.ring_mask);
	sq->kring_entries = at(sq->ring_ptr, p->sq_off.ring_entries);
	sq->kflags = at(sq->ring_ptr, p->sq_off.flags);
	sq->kdropped = at(sq->ring_ptr, p->sq_off.dropped);
	if (!(p->flags & IORING_SETUP_NO_SQARRAY))
		sq->array = at(sq->ring_ptr, p->sq_off.array);
	sq->ring_mask = *sq->kring_mask;
	sq->ring_entries = *sq->kring_entries;

	cq->khead = at(cq->ring_ptr, p->cq_off.head);
	cq->ktail = at(cq->ring_ptr, p->cq_off.tail);
	cq->kring_mask = at(cq->ring_ptr, p->cq_off.ring_mask);
	cq->kring_entries = at(cq->ring_ptr, p->cq_off.ring_entries);
	cq->koverflow = at(cq->ring_ptr, p->cq_off.overflow);
	cq->cqes = at(cq->ring_ptr, p->cq_off.cqes);
	if (p->cq_off.flags)
		cq->kflags = at(cq->ring_ptr, p->cq_off.flags);
	cq->ring_mask = *cq->kring_mask;
	cq->ring_entries = *cq->kring_entries;
}

static void *map_region(int fd, size_t bytes, off_t offset)
{
	return anyuring_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_POPULATE, fd, offset);
}

static int map_ring(int fd, const struct io_uring_params *p,
		    struct io_uring_sq *sq, struct io_uring_cq *cq)
{
	size_t sqes_bytes = au_front_sqes_bytes(p->flags, p->sq_entries);
	bool single = p->features & IORING_FEAT_SINGLE_MMAP;
	int ret;

	sq->ring_sz = p->sq_off.array + p->sq_entries * sizeof(unsigned int);
	cq->ring_sz =
		p->cq_off.cqes + au_front_cqes_bytes(p->flags, p->cq_entries);
	if (single) {
		if (cq->ring_sz > sq->ring_sz)
			sq->ring_sz = cq->ring_sz;
		cq->ring_sz = sq->ring_sz;
	}

	sq->ring_ptr = map_region(fd, sq->ring_sz, IORING_OFF_SQ_RING);
	if (ANYURING_IS_ERR(sq->ring_ptr))
		return err_of(sq->ring_ptr);

	if (single) {
		cq->ring_ptr = sq->ring_ptr;
	} else {
		cq->ring_ptr = map_region(fd, cq->ring_sz, IORING_OFF_CQ_RING);
		if (ANYURING_IS_ERR(cq->ring_ptr)) {
			ret = err_of(cq->ring_ptr);
			cq->ring_ptr = NULL;
			goto out_unmap;
		}
	}

	sq->sqes_sz = (unsigned int)sqes_bytes;
	if (sq->sqes_sz != sqes_bytes) {
		ret = -EINVAL;
		goto out_unmap;
	}
	sq->sqes = map_region(fd, sqes_bytes, IORING_OFF_SQES);
	if (ANYURING_IS_ERR(sq->sqes)) {
		ret = err_of(sq->sqes);
		goto out_unmap;
	}

	set_pointers(p, sq, cq);
	return 0;

out_unmap:
	unmap_rings(sq, cq);
	return ret;
}

/* Slot i of the SQ array names SQE i, for the life of the ring. */
static void fill_sq_array(struct io_uring_sq *sq, unsigned int entries)
{
	unsigned int i;

	for (i = 0; i < entries; i++)
		sq->array[i] = i;
}

static int queue_mmap(int fd, struct io_uring_params *p, struct io_uring *ring)
{
	int ret;

	memset(ring, 0, sizeof(*ring));
	ret = map_ring(fd, p, &ring->sq, &ring->cq);
	if (ret)
		return ret;
	ring->flags = p->flags;
	ring->features = p->features;
	ring->ring_fd = fd;
	ring->enter_ring_fd = fd;
	return 0;
}

int io_uring_queue_mmap(int fd, struct io_uring_params *p,
			struct io_uring *ring)
{
	return queue_mmap(fd, p, ring);
}

/*
 * Memory of our own for `bytes`: a page if that does, else one huge page, so
 * that a kernel that wants the region contiguous is content. *size becomes
 * what was mapped.
 */
static void *map_contiguous(size_t bytes, size_t *size)
{
	size_t page = au_front_page_align(1);

	*size = page;
	if (bytes <= page)
		return au_front_map(*size, MAP_SHARED);
	*size = HUGE_PAGE_SIZE;
	return au_front_map(*size,
			    MAP_SHARED | MAP_HUGETLB | (int)MAP_HUGE_2MB);
}

/*
 * IORING_SETUP_NO_MMAP: place SQEs and rings in the caller's `buf`, or in
 * memory of our own. Returns the bytes needed, or -errno.
 */
static int place_ring(unsigned int entries, struct io_uring_params *p,
		      struct io_uring *ring, void *buf, size_t buf_size)
{
	struct io_uring_sq *sq = &ring->sq;
	struct front_size size;
	size_t needed;
	int ret;

	ret = au_front_size(entries, p, &size);
	if (ret)
		return ret;
	needed = au_front_page_align(size.sqes + size.rings);

	if (buf) {
		if (needed > buf_size)
			return -ENOMEM;
		sq->sqes = buf;
		ring->int_flags |= FRONT_APP_MEM;
	} else {
		if (size.sqes > HUGE_PAGE_SIZE || size.rings > HUGE_PAGE_SIZE)
			return -ENOMEM;
		sq->sqes = map_contiguous(size.sqes, &buf_size);
		if (ANYURING_IS_ERR(sq->sqes))
			return err_of(sq->sqes);
		sq->sqes_sz = (unsigned int)buf_size;
	}

	if (needed <= buf_size) {
		sq->ring_ptr = (char *)sq->sqes + size.sqes;
	} else {
		sq->ring_ptr = map_contiguous(size.rings, &sq->ring_sz);
		if (ANYURING_IS_ERR(sq->ring_ptr)) {
			au_front_unmap(sq->sqes, sq->sqes_sz);
			return err_of(sq->ring_ptr);
		}
	}
	ring->cq.ring_ptr = sq->ring_ptr;
	p->sq_off.user_addr = (uintptr_t)sq->sqes;
	p->cq_off.user_addr = (uintptr_t)sq->ring_ptr;
	return (int)needed;
}

static void unmap_all(struct io_uring *ring)
{
	if (ring->int_flags & FRONT_APP_MEM)
		return;
	au_front_unmap(ring->sq.sqes, ring->sq.sqes_sz);
	unmap_rings(&ring->sq, &ring->cq);
}

static int queue_init(unsigned int entries, struct io_uring *ring,
		      struct io_uring_params *p, void *buf, size_t buf_size)
{
	bool no_mmap = p->flags & IORING_SETUP_NO_MMAP;
	int used = 0;
	int fd, ret;

	memset(ring, 0, sizeof(*ring));

	/* A ring without a descriptor has nothing to map. */
	if ((p->flags & IORING_SETUP_REGISTERED_FD_ONLY) && !no_mmap)
		return -EINVAL;

	if (no_mmap) {
		used = place_ring(entries, p, ring, buf, buf_size);
		if (used < 0)
			return used;
	}

	fd = anyuring_setup(entries, p);
	if (fd < 0) {
		if (no_mmap)
			unmap_all(ring);
		return fd;
	}

	if (no_mmap) {
		set_pointers(p, &ring->sq, &ring->cq);
	} else {
		ret = queue_mmap(fd, p, ring);
		if (ret) {
			anyuring_close(fd);
			return ret;
		}
	}
	if (ring->sq.array)
		fill_sq_array(&ring->sq, ring->sq.ring_entries);

	ring->features = p->features;
	ring->flags = p->flags;
	ring->ring_fd = fd;
	ring->enter_ring_fd = fd;
	if (p->flags & IORING_SETUP_REGISTERED_FD_ONLY) {
		ring->ring_fd = -1;
		ring->int_flags |= FRONT_REG_RING | FRONT_REG_REG;
	}
	if ((p->flags & (IORING_SETUP_IOPOLL | IORING_SETUP_SQPOLL)) ==
	    IORING_SETUP_IOPOLL)
		ring->int_flags |= FRONT_CQ_ENTER;
	return used;
}

/*
 * Ask for a ring without SQ array first, which spares the server a lookup per
 * SQE; one that knows no such ring says -EINVAL.
 */
int au_front_queue_init(unsigned int entries, struct io_uring *ring,
			struct io_uring_params *p, void *buf, size_t buf_size)
{
	unsigned int flags = p->flags;
	int ret;

	p->flags |= IORING_SETUP_NO_SQARRAY;
	ret = queue_init(entries, ring, p, buf, buf_size);
	if (ret != -EINVAL || (flags & IORING_SETUP_NO_SQARRAY))
		return ret;

	p->flags = flags;
	return queue_init(entries, ring, p, buf, buf_size);
}

int io_uring_queue_init_mem(unsigned int entries, struct io_uring *ring,
			    struct io_uring_params *p, void *buf,
			    size_t buf_size)
{
	p->flags |= IORING_SETUP_NO_MMAP;
	return au_front_queue_init(entries, ring, p, buf, buf_size);
}

int io_uring_queue_init_params(unsigned int entries, struct io_uring *ring,
			       struct io_uring_params *p)
{
	int ret = au_front_queue_init(entries, ring, p, NULL, 0);

	return ret < 0 ? ret : 0;
}

int io_uring_queue_init(unsigned int entries, struct io_uring *ring,
			unsigned int flags)
{
	struct io_uring_params p;

	memset(&p, 0, sizeof(p));
	p.flags = flags;
	return io_uring_queue_init_params(entries, ring, &p);
}

void au_front_queue_exit(struct io_uring *ring)
{
	unmap_all(ring);

	/* Give the slot back now rather than when the thread ends. */
	if (ring->int_flags & FRONT_REG_RING)
		(void)au_front_unregister_ring_fd(ring);
	if (ring->ring_fd != -1)
		(void)anyuring_close(ring->ring_fd);
}

void io_uring_queue_exit(struct io_uring *ring)
{
	au_front_queue_exit(ring);
}

static int dontfork(void *addr, size_t bytes)
{
	return (int)au_syscall(SYS_madvise, addr, bytes, (long)MADV_DONTFORK);
}

int io_uring_ring_dontfork(struct io_uring *ring)
{
	struct io_uring_sq *sq = &ring->sq;
	struct io_uring_cq *cq = &ring->cq;
	int ret;

	if (!sq->ring_ptr || !sq->sqes || !cq->ring_ptr)
		return -EINVAL;

	ret = dontfork(sq->sqes,
		       au_front_sqes_bytes(ring->flags, sq->ring_entries));
	if (ret < 0)
		return ret;
	ret = dontfork(sq->ring_ptr, sq->ring_sz);
	if (ret < 0 || cq->ring_ptr == sq->ring_ptr)
		return ret;
	return dontfork(cq->ring_ptr, cq->ring_sz);
}

static int resize(struct io_uring *ring, struct io_uring_params *p)
{
	struct io_uring_sq sq;
	struct io_uring_cq cq;
	int ret;

	memset(&p->sq_off, 0, sizeof(p->sq_off));
	memset(&p->cq_off, 0, sizeof(p->cq_off));
	ret = au_front_register(ring, IORING_REGISTER_RESIZE_RINGS, p, 1);
	if (ret < 0)
		return ret;

	memset(&sq, 0, sizeof(sq));
	memset(&cq, 0, sizeof(cq));
	ret = map_ring(ring->ring_fd, p, &sq, &cq);
	if (ret)
		return ret;

	/* The server moved what was in flight; the cursors stay good. */
	sq.sqe_head = ring->sq.sqe_head;
	sq.sqe_tail = ring->sq.sqe_tail;
	unmap_all(ring);
	ring->sq = sq;
	ring->cq = cq;
	if (sq.array)
		fill_sq_array(&ring->sq, p->sq_entries);
	return 0;
}

int io_uring_resize_rings(struct io_uring *ring, struct io_uring_params *p)
{
	int ret;

	if (ring->flags & IORING_SETUP_NO_MMAP)
		return -EINVAL;
	ret = resize(ring, p);
	p->flags = 0;
	return ret;
}
