/* SPDX-License-Identifier: MIT */
/*
 * What the stress programs share: a seeded generator, a ring over the public
 * API, and failure with a line that reproduces it.
 *
 * AU_STRESS_SEED repeats a run, AU_STRESS_SECONDS sets how long it lasts.
 */
#ifndef AU_TESTS_STRESS_H
#define AU_TESTS_STRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "anyuring.h"
#include "uapi/io_uring.h"

struct st_rng {
	uint64_t state;
};

struct st_ring {
	int fd;
	struct io_uring_params p;
	unsigned char *rings, *sqes;
	size_t rings_size, sqes_size;
	bool own_memory; /* NO_MMAP: the mapping is ours */
	uint32_t tail;
	uint64_t nr_cqes; /* taken so far */
	uint32_t *sq_head, *sq_tail, *sq_flags, *sq_array;
	uint32_t *cq_head, *cq_tail;
};

/* Seeds, arms the watchdog (`limit_s` beyond the run), prints the seed. */
void st_begin(const char *name, unsigned int limit_s);
struct st_rng st_rng(uint64_t salt);
uint64_t st_next(struct st_rng *r);

/* A number below `n`. */
static inline uint32_t st_below(struct st_rng *r, uint32_t n)
{
	return (uint32_t)(st_next(r) >> 32) % n;
}

static inline bool st_one_in(struct st_rng *r, uint32_t n)
{
	return st_below(r, n) == 0;
}

/* Is the time of the run not over? */
bool st_going(void);
uint64_t st_now_ns(void);

/* Prints, with how to reproduce it, and ends the process with 1. */
_Noreturn void st_fail(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

#define ST_CHECK(cond)                                             \
	do {                                                       \
		if (!(cond))                                       \
			st_fail("%s:%d: %s", __FILE__, __LINE__, #cond); \
	} while (0)

/* Maps rings at places of the test's own, where the engine lends its view. */
extern bool st_own_views;

/* 0 or -errno. */
int st_ring_try(struct st_ring *r, unsigned int entries,
		struct io_uring_params *p);
void st_ring_init(struct st_ring *r, unsigned int entries, uint32_t flags);
void st_ring_unmap(struct st_ring *r);
void st_ring_exit(struct st_ring *r);

/* A cleared SQE, or NULL if the SQ is full; st_publish() shows it. */
struct io_uring_sqe *st_sqe(struct st_ring *r);
void st_publish(struct st_ring *r);

/* Fills the common fields of the next SQE; there must be room. */
struct io_uring_sqe *st_prep(struct st_ring *r, uint8_t opcode, int fd,
			     const void *addr, uint32_t len, uint64_t off,
			     uint64_t user_data);

/* Publishes and submits all, waits for `wait` CQEs at most `ms`. */
int st_enter(struct st_ring *r, unsigned int wait, unsigned int ms);

/* The oldest CQE, taken. False if there is none. */
bool st_cqe(struct st_ring *r, struct io_uring_cqe *out);

/* A CQE within `ms` without entering: somebody else must post it. */
bool st_cqe_appears(struct st_ring *r, struct io_uring_cqe *out,
		    unsigned int ms);

/* A CQE within `ms`, entering to wait. */
bool st_cqe_wait(struct st_ring *r, struct io_uring_cqe *out, unsigned int ms);

/* Open descriptors of the process. */
unsigned int st_fds(void);

/* Waits, bounded, until there are no more than `n` descriptors. */
bool st_fds_settle(unsigned int n);

/* Brings up what stays for good, so that descriptors can be counted. */
void st_warm_up(void);

#endif
