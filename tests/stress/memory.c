/* SPDX-License-Identifier: MIT */
/*
 * Description: a ring's memory is the application's and the engine's; whoever
 * lets go of it first does not take it from the other.
 */
#include "stress.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/util.h"

#define ENTRIES 8U
#define PAGE    4096UL

static bool is_mapped(const void *at)
{
	unsigned char in_core;

	return mincore((void *)(uintptr_t)at, PAGE, &in_core) == 0;
}

static void *map(const struct st_ring *r, size_t size, uint64_t offset)
{
	void *p = anyuring_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
				r->fd, (off_t)offset);

	ST_CHECK(!ANYURING_IS_ERR(p));
	return p;
}

/* One nop goes through. */
static void nop(struct st_ring *r)
{
	struct io_uring_cqe cqe;

	st_prep(r, IORING_OP_NOP, -1, NULL, 0, 0, 0x17);
	st_enter(r, 1, 1000);
	ST_CHECK(st_cqe_appears(r, &cqe, 1000));
	ST_CHECK(cqe.user_data == 0x17 && cqe.res == 0);
}

/* As liburing ends a ring, and with time for the SQPOLL thread to look. */
static void test_unmapped_then_closed(uint32_t flags)
{
	unsigned int before = st_fds();

	for (int i = 0; i < 20; i++) {
		struct st_ring r;

		st_ring_init(&r, ENTRIES, flags);
		nop(&r);
		st_ring_unmap(&r);
		ST_CHECK(anyuring_enter((unsigned int)r.fd, 0, 0, 0, NULL, 0) ==
			 0);
		(void)poll(NULL, 0, 1);
		ST_CHECK(anyuring_close(r.fd) == 0);
	}
	ST_CHECK(st_fds_settle(before));
}

static void test_closed_then_unmapped(uint32_t flags)
{
	unsigned int before = st_fds();
	struct st_ring r;
	uint32_t tail;

	st_ring_init(&r, ENTRIES, flags);
	nop(&r);
	ST_CHECK(anyuring_close(r.fd) == 0);
	ST_CHECK(st_fds_settle(before));
	/* What it says last is still there to read. */
	tail = __atomic_load_n(r.cq_tail, __ATOMIC_ACQUIRE);
	ST_CHECK(tail == 1 && is_mapped(r.sqes));
	st_ring_unmap(&r);
	ST_CHECK(!is_mapped(r.rings) && !is_mapped(r.sqes));
}

/* The ring's end does not take what one of two mappings still holds. */
static void test_mapped_twice(void)
{
	struct st_ring r;
	unsigned char *again;

	st_ring_init(&r, ENTRIES, 0);
	again = map(&r, r.rings_size, IORING_OFF_CQ_RING);
	nop(&r);
	ST_CHECK(anyuring_munmap(r.rings, r.rings_size) == 0);
	ST_CHECK(*(uint32_t *)(void *)(again + r.p.cq_off.tail) == 1);
	ST_CHECK(anyuring_close(r.fd) == 0);
	ST_CHECK(*(uint32_t *)(void *)(again + r.p.cq_off.tail) == 1);
	ST_CHECK(anyuring_munmap(again, r.rings_size) == 0);
	ST_CHECK(!is_mapped(again));
	ST_CHECK(anyuring_munmap(r.sqes, r.sqes_size) == 0);
}

/* Unmapped and mapped anew, it is the same ring's. */
static void test_mapped_anew(void)
{
	struct st_ring r;

	st_ring_init(&r, ENTRIES, 0);
	for (int i = 0; i < 3; i++) {
		unsigned char *rings;

		nop(&r);
		ST_CHECK(anyuring_munmap(r.rings, r.rings_size) == 0);
		rings = map(&r, r.rings_size, IORING_OFF_SQ_RING);
		ST_CHECK(*(uint32_t *)(void *)(rings + r.p.cq_off.tail) ==
			 (uint32_t)i + 1);
		r.sq_head = (void *)(rings + r.p.sq_off.head);
		r.sq_tail = (void *)(rings + r.p.sq_off.tail);
		r.sq_flags = (void *)(rings + r.p.sq_off.flags);
		r.sq_array = (void *)(rings + r.p.sq_off.array);
		r.cq_head = (void *)(rings + r.p.cq_off.head);
		r.cq_tail = (void *)(rings + r.p.cq_off.tail);
		r.rings = rings;
	}
	st_ring_exit(&r);
}

/* Other wishes are met by a mapping of its own. */
static void test_mapped_otherwise(void)
{
	unsigned char *where, *own;
	struct st_ring r;

	st_ring_init(&r, ENTRIES, 0);
	where = mmap(NULL, r.rings_size, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	own = anyuring_mmap(where, r.rings_size, PROT_READ,
			    MAP_SHARED | MAP_FIXED, r.fd, IORING_OFF_SQ_RING);
	ST_CHECK(own == where);
	nop(&r);
	ST_CHECK(*(uint32_t *)(void *)(own + r.p.cq_off.tail) == 1);
	ST_CHECK(anyuring_munmap(own, r.rings_size) == 0);
	ST_CHECK(!is_mapped(own));
	nop(&r);
	st_ring_exit(&r);
}

/* One call for a ring's memory and what lies about it; and bad arguments. */
static void test_unmapped_with_others(void)
{
	struct st_ring r;
	unsigned char *lo, *hi, *behind;
	size_t size;

	st_ring_init(&r, ENTRIES, 0);
	lo = r.rings < r.sqes ? r.rings : r.sqes;
	hi = r.rings < r.sqes ? r.sqes + r.sqes_size :
				r.rings + r.rings_size;
	size = au_align_up((size_t)(hi - lo), PAGE);
	ST_CHECK(anyuring_munmap(lo + 1, size) == -EINVAL);
	ST_CHECK(anyuring_munmap(lo, 0) == -EINVAL);
	/* If the pages behind are free, they are the neighbour. */
	behind = mmap(lo + size, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	nop(&r);
	if (behind == lo + size) {
		ST_CHECK(anyuring_munmap(lo, size + PAGE) == 0);
		ST_CHECK(!is_mapped(behind));
	} else {
		munmap(behind, PAGE);
		ST_CHECK(anyuring_munmap(lo, size) == 0);
	}
	ST_CHECK(anyuring_enter((unsigned int)r.fd, 0, 0, 0, NULL, 0) == 0);
	ST_CHECK(anyuring_close(r.fd) == 0);
	ST_CHECK(!is_mapped(r.rings) && !is_mapped(r.sqes));
}

/* The old memory stays the application's when a ring gets another size. */
static void test_resized(void)
{
	struct io_uring_params p = { .sq_entries = 16, .cq_entries = 64 };
	struct st_ring r;

	st_ring_init(&r, ENTRIES,
		     IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
	nop(&r);
	ST_CHECK(anyuring_register((unsigned int)r.fd,
				   IORING_REGISTER_RESIZE_RINGS, &p, 1) == 0);
	ST_CHECK(*r.cq_tail == 1 && is_mapped(r.sqes));
	st_ring_unmap(&r);
	ST_CHECK(!is_mapped(r.rings) && !is_mapped(r.sqes));
	ST_CHECK(anyuring_close(r.fd) == 0);
}

/* MADV_DONTFORK: the child has neither the memory nor the ring. */
static void test_not_for_the_child(void)
{
	struct st_ring r;
	int status;
	pid_t pid;

	st_ring_init(&r, ENTRIES, 0);
	ST_CHECK(madvise(r.sqes, r.sqes_size, MADV_DONTFORK) == 0);
	ST_CHECK(madvise(r.rings, r.rings_size, MADV_DONTFORK) == 0);
	pid = fork();
	ST_CHECK(pid >= 0);
	if (!pid) {
		alarm(20);
		_exit(anyuring_enter((unsigned int)r.fd, 0, 0, 0, NULL, 0) ==
				      -EOPNOTSUPP ?
			      0 :
			      1);
	}
	ST_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	nop(&r);
	st_ring_exit(&r);
}

int main(void)
{
	static const uint32_t flags[] = { 0, IORING_SETUP_SQPOLL };

	st_begin("stress-memory", 60);
	st_warm_up();
	for (int i = 0; i < 2; i++) {
		test_unmapped_then_closed(flags[i]);
		test_closed_then_unmapped(flags[i]);
	}
	test_mapped_twice();
	test_mapped_anew();
	test_mapped_otherwise();
	test_unmapped_with_others();
	test_resized();
	test_not_for_the_child();
	return 0;
}
