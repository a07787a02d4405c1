/* SPDX-License-Identifier: MIT */
/*
 * A mini liburing for the helper programs. The includer defines sys6(), the
 * way its system calls are made, with the kernel's result. Also the checks,
 * which name the line and end the program.
 */
#ifndef AU_TEST_HELPER_H
#define AU_TEST_HELPER_H

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sanitized.h"
#include "passthrough.h"
#include "uapi/io_uring.h"

static long sys6(long nr, long a, long b, long c, long d, long e, long f);

#define SYS(nr, a, b, c, d, e, f)                                         \
	sys6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), \
	     (long)(f))

#define CHECK(cond)                                                           \
	do {                                                                  \
		if (!(cond)) {                                                \
			dprintf(2, "%s:%d: failed: %s\n", __FILE__, __LINE__, \
				#cond);                                       \
			_exit(1);                                             \
		}                                                             \
	} while (0)

struct ring {
	int fd;
	struct io_uring_params p;
	char *rings;
	struct io_uring_sqe *sqes;
};

/* 0 without the preload, so that every helper can run natively too. */
static inline unsigned long count(int what)
{
	unsigned long (*fn)(int);

	*(void **)&fn = dlsym(RTLD_DEFAULT, "au_test_count");
	return fn ? fn(what) : 0;
}

static inline int under_preload(void)
{
	return dlsym(RTLD_DEFAULT, "au_test_count") != NULL;
}

static inline int hidden_fd(void)
{
	int (*fn)(void);

	*(void **)&fn = dlsym(RTLD_DEFAULT, "au_test_hidden");
	return fn ? fn() : -1;
}

static inline unsigned int *ring_word(struct ring *r, unsigned int off)
{
	return (unsigned int *)(void *)(r->rings + off);
}

static inline void ring_map(struct ring *r)
{
	size_t cq = r->p.cq_off.cqes + r->p.cq_entries * 16;
	size_t sq = r->p.sq_off.array + r->p.sq_entries * 4;

	r->rings = (char *)SYS(9, 0, cq > sq ? cq : sq, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_POPULATE, r->fd, 0);
	CHECK((unsigned long)r->rings < -4095UL);
	r->sqes = (void *)SYS(9, 0, r->p.sq_entries * 64,
			      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			      r->fd, 0x10000000);
	CHECK((unsigned long)r->sqes < -4095UL);
}

static inline void ring_make(struct ring *r)
{
	memset(r, 0, sizeof(*r));
	r->fd = (int)SYS(425, 8, &r->p, 0, 0, 0, 0);
	CHECK(r->fd >= 0);
	ring_map(r);
}

static inline void ring_queue(struct ring *r, int opcode, uint64_t addr,
			      uint64_t user_data)
{
	unsigned int tail = *ring_word(r, r->p.sq_off.tail);
	unsigned int at = tail & (r->p.sq_entries - 1);
	struct io_uring_sqe *sqe = &r->sqes[at];

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = (uint8_t)opcode;
	sqe->fd = -1;
	sqe->addr = addr;
	sqe->len = opcode == 11 /* TIMEOUT */;
	sqe->user_data = user_data;
	*ring_word(r, r->p.sq_off.array + at * 4) = at;
	__atomic_store_n(ring_word(r, r->p.sq_off.tail), tail + 1,
			 __ATOMIC_RELEASE);
}

static inline int ring_reap(struct ring *r, uint64_t *user_data)
{
	unsigned int head = *ring_word(r, r->p.cq_off.head);
	struct io_uring_cqe *cqe;

	CHECK(__atomic_load_n(ring_word(r, r->p.cq_off.tail),
			      __ATOMIC_ACQUIRE) != head);
	cqe = (void *)(r->rings + r->p.cq_off.cqes);
	cqe += head & (r->p.cq_entries - 1);
	*user_data = cqe->user_data;
	head++;
	__atomic_store_n(ring_word(r, r->p.cq_off.head), head,
			 __ATOMIC_RELEASE);
	return cqe->res;
}

static inline void ring_nop(struct ring *r)
{
	static uint64_t ticket;
	uint64_t mine = __atomic_add_fetch(&ticket, 1, __ATOMIC_RELAXED);
	uint64_t seen;

	ring_queue(r, 0, 0, mine);
	CHECK(SYS(426, r->fd, 1, 1, 1, 0, 0) == 1);
	CHECK(ring_reap(r, &seen) == 0);
	CHECK(seen == mine);
}

static inline void ring_free(struct ring *r)
{
	SYS(11, r->sqes, r->p.sq_entries * 64, 0, 0, 0, 0);
	CHECK(SYS(3, r->fd, 0, 0, 0, 0, 0) == 0);
}

#endif
