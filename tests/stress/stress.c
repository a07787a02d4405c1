/* SPDX-License-Identifier: MIT */
#include "stress.h"
#include "../tsan_fork.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "base/atomic.h"

#define DEFAULT_SECONDS 2.0

bool st_own_views;
static uint64_t st_seed;
static double st_seconds = DEFAULT_SECONDS;
static uint64_t st_end_ns;
static char st_repro[256]; /* made early: a handler only writes it */

uint64_t st_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static void say(const char *s)
{
	(void)!write(STDERR_FILENO, s, strlen(s));
}

static void watchdog(int sig)
{
	say("hangs\n");
	say(st_repro);
	abort();
}

static void crashed(int sig)
{
	say("crashed\n");
	say(st_repro);
	signal(sig, SIG_DFL);
	raise(sig);
}

void st_begin(const char *name, unsigned int limit_s)
{
	const char *seed = getenv("AU_STRESS_SEED");
	const char *seconds = getenv("AU_STRESS_SECONDS");
	const char *scale = getenv("AU_TEST_TIMEOUT_SCALE");
	unsigned int factor = scale ? (unsigned int)atoi(scale) : 1;

	st_seed = seed ? strtoull(seed, NULL, 0) : st_now_ns() % 1000000007;
	if (seconds)
		st_seconds = strtod(seconds, NULL);
	snprintf(st_repro, sizeof(st_repro),
		 "reproduce: AU_STRESS_SEED=%llu AU_STRESS_SECONDS=%g %s\n",
		 (unsigned long long)st_seed, st_seconds, name);
	printf("seed %llu\n", (unsigned long long)st_seed);
	fflush(stdout);
	signal(SIGALRM, watchdog);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	signal(SIGSEGV, crashed);
	signal(SIGBUS, crashed);
#else
	(void)crashed;
#endif
	signal(SIGPIPE, SIG_IGN);
	alarm((unsigned int)st_seconds + limit_s * (factor ? factor : 1));
	st_end_ns = st_now_ns() + (uint64_t)(st_seconds * 1e9);
}

struct st_rng st_rng(uint64_t salt)
{
	struct st_rng r = { .state = st_seed ^ (salt << 40) };

	(void)st_next(&r);
	return r;
}

uint64_t st_next(struct st_rng *r)
{
	uint64_t z = r->state += 0x9E3779B97F4A7C15ULL; /* splitmix64 */

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
	return z ^ (z >> 31);
}

bool st_going(void)
{
	return st_now_ns() < st_end_ns;
}

void st_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	say(st_repro);
	_exit(1);
}

static void *ring_map(struct st_ring *r, size_t size, uint64_t offset)
{
	void *at = NULL;

	if (st_own_views) {
		at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
		ST_CHECK(at != MAP_FAILED);
	}
	at = anyuring_mmap(at, size, PROT_READ | PROT_WRITE,
			   MAP_SHARED | (at ? MAP_FIXED : 0), r->fd,
			   (off_t)offset);
	if (ANYURING_IS_ERR(at))
		st_fail("mmap of a ring");
	return at;
}

int st_ring_try(struct st_ring *r, unsigned int entries,
		struct io_uring_params *p)
{
	memset(r, 0, sizeof(*r));
	r->fd = anyuring_setup(entries, p);
	if (r->fd < 0)
		return r->fd;
	r->p = *p;
	r->sqes_size = (size_t)p->sq_entries
		       << (p->flags & IORING_SETUP_SQE128 ? 7 : 6);
	if (p->flags & IORING_SETUP_NO_MMAP) {
		r->rings = (void *)(uintptr_t)p->cq_off.user_addr;
		r->sqes = (void *)(uintptr_t)p->sq_off.user_addr;
	} else {
		r->rings_size = p->cq_off.cqes +
				((size_t)p->cq_entries
				 << (p->flags & IORING_SETUP_CQE32 ? 5 : 4));
		if (!(p->flags & IORING_SETUP_NO_SQARRAY))
			r->rings_size = p->sq_off.array +
					p->sq_entries * sizeof(uint32_t);
		r->rings = ring_map(r, r->rings_size, IORING_OFF_SQ_RING);
		r->sqes = ring_map(r, r->sqes_size, IORING_OFF_SQES);
		r->own_memory = true;
	}
	r->sq_head = (void *)(r->rings + p->sq_off.head);
	r->sq_tail = (void *)(r->rings + p->sq_off.tail);
	r->sq_flags = (void *)(r->rings + p->sq_off.flags);
	r->cq_head = (void *)(r->rings + p->cq_off.head);
	r->cq_tail = (void *)(r->rings + p->cq_off.tail);
	if (!(p->flags & IORING_SETUP_NO_SQARRAY)) {
		r->sq_array = (void *)(r->rings + p->sq_off.array);
		for (uint32_t i = 0; i < p->sq_entries; i++)
			r->sq_array[i] = i;
	}
	return 0;
}

void st_ring_init(struct st_ring *r, unsigned int entries, uint32_t flags)
{
	struct io_uring_params p = { .flags = flags };
	int ret = st_ring_try(r, entries, &p);

	if (ret < 0)
		st_fail("setup: %s", strerror(-ret));
}

void st_ring_unmap(struct st_ring *r)
{
	if (!r->own_memory)
		return;
	(void)anyuring_munmap(r->rings, r->rings_size);
	(void)anyuring_munmap(r->sqes, r->sqes_size);
	r->own_memory = false;
}

void st_ring_exit(struct st_ring *r)
{
	st_ring_unmap(r);
	if (anyuring_close(r->fd) < 0)
		st_fail("close of a ring");
	r->fd = -1;
}

struct io_uring_sqe *st_sqe(struct st_ring *r)
{
	uint32_t head = __atomic_load_n(r->sq_head, __ATOMIC_ACQUIRE);
	struct io_uring_sqe *sqe;
	int shift = r->p.flags & IORING_SETUP_SQE128 ? 7 : 6;

	if (r->tail - head >= r->p.sq_entries)
		return NULL;
	sqe = (void *)(r->sqes +
		       ((size_t)(r->tail++ & (r->p.sq_entries - 1)) << shift));
	memset(sqe, 0, 1U << shift);
	return sqe;
}

void st_publish(struct st_ring *r)
{
	__atomic_store_n(r->sq_tail, r->tail, __ATOMIC_RELEASE);
}

struct io_uring_sqe *st_prep(struct st_ring *r, uint8_t opcode, int fd,
			     const void *addr, uint32_t len, uint64_t off,
			     uint64_t user_data)
{
	struct io_uring_sqe *sqe = st_sqe(r);

	if (!sqe)
		st_fail("no SQE left");
	sqe->opcode = opcode;
	sqe->fd = fd;
	sqe->addr = (uintptr_t)addr;
	sqe->len = len;
	sqe->off = off;
	sqe->user_data = user_data;
	return sqe;
}

int st_enter(struct st_ring *r, unsigned int wait, unsigned int ms)
{
	struct au_timespec ts = { .tv_sec = ms / 1000,
				  .tv_nsec = ms % 1000 * 1000000LL };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	unsigned int flags = 0, nr;

	st_publish(r);
	nr = r->tail - __atomic_load_n(r->sq_head, __ATOMIC_ACQUIRE);
	if (r->p.flags & IORING_SETUP_SQPOLL) {
		/* As liburing does, with the fence the flag needs. */
		au_fence_full();
		if (__atomic_load_n(r->sq_flags, __ATOMIC_RELAXED) &
		    IORING_SQ_NEED_WAKEUP)
			flags |= IORING_ENTER_SQ_WAKEUP;
	}
	if (wait || (r->p.flags & IORING_SETUP_DEFER_TASKRUN))
		flags |= IORING_ENTER_GETEVENTS;
	return anyuring_enter((unsigned int)r->fd, nr, wait,
			      flags | IORING_ENTER_EXT_ARG, &arg, sizeof(arg));
}

bool st_cqe(struct st_ring *r, struct io_uring_cqe *out)
{
	uint32_t head = *r->cq_head;
	int shift = r->p.flags & IORING_SETUP_CQE32 ? 5 : 4;
	const unsigned char *cqes = r->rings + r->p.cq_off.cqes;

	if (head == __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE))
		return false;
	memcpy(out, cqes + ((size_t)(head & (r->p.cq_entries - 1)) << shift),
	       sizeof(*out));
	r->nr_cqes++;
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
	return true;
}

bool st_cqe_appears(struct st_ring *r, struct io_uring_cqe *out,
		    unsigned int ms)
{
	uint64_t end = st_now_ns() + ms * 1000000ULL;

	do {
		if (st_cqe(r, out))
			return true;
		/* Nothing to wait on: that is the point. */
		(void)poll(NULL, 0, 1);
	} while (st_now_ns() < end);
	return st_cqe(r, out);
}

bool st_cqe_wait(struct st_ring *r, struct io_uring_cqe *out, unsigned int ms)
{
	uint64_t end = st_now_ns() + ms * 1000000ULL;

	do {
		if (st_cqe(r, out))
			return true;
		(void)st_enter(r, 1, ms);
	} while (st_now_ns() < end);
	/* Found only because the wait ran out: nobody woke us. */
	return false;
}

unsigned int st_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

bool st_fds_settle(unsigned int n)
{
	for (int i = 0; i < 3000; i++) {
		if (st_fds() <= n)
			return true;
		(void)poll(NULL, 0, 1);
	}
	return false;
}

void st_warm_up(void)
{
	struct st_ring r;
	struct io_uring_cqe cqe;
	struct au_timespec ts = { .tv_nsec = 1000000 };

	st_ring_init(&r, 4, 0);
	st_prep(&r, IORING_OP_TIMEOUT, -1, &ts, 1, 0, 1);
	ST_CHECK(st_enter(&r, 0, 0) == 1);
	ST_CHECK(st_cqe_appears(&r, &cqe, 5000) && cqe.res == -ETIME);
	st_ring_exit(&r);
}
