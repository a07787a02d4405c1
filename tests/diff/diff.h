/* SPDX-License-Identifier: MIT */
/*
 * Description: one test body, run over the kernel's io_uring and over
 * anyuring, each in a process and a directory of its own. A body writes what
 * it sees (results of calls, CQEs, contents) into a transcript; the two must
 * be the same line by line, but for what known.tsv lists. What the ABI is
 * known to say can be required besides, so that both cannot be wrong alike.
 *
 * A line is "what = value". Nothing that differs by chance may go in: no
 * addresses, no times, no descriptors.
 */
#ifndef AU_TESTS_DIFF_H
#define AU_TESTS_DIFF_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/util.h"
#include "uapi/io_uring.h"

#ifndef EBADFD
#define EBADFD 77
#endif

/* Who serves the ring. */
struct diff_backend {
	const char *name;
	int (*setup)(unsigned int entries, struct io_uring_params *p);
	int (*enter)(unsigned int fd, unsigned int to_submit,
		     unsigned int min_complete, unsigned int flags,
		     const void *arg, size_t argsz);
	int (*reg)(unsigned int fd, unsigned int opcode, void *arg,
		   unsigned int nr_args);
	void *(*map)(void *addr, size_t length, int prot, int flags, int fd,
		     off_t offset);
	int (*unmap)(void *addr, size_t length);
	int (*close)(int fd);
};

/* One body in one process. */
struct diff {
	const struct diff_backend *be;
	uint32_t setup_flags; /* what this variant adds to each ring */
	int out; /* the transcript */
	int failures; /* requirements not met */
	double scale; /* AU_TEST_TIMEOUT_SCALE */
};

/* Kinds of ring that a body is run on: a bit each. */
enum {
	DIFF_PLAIN = 1 << 0,
	DIFF_DEFER = 1 << 1, /* SINGLE_ISSUER, DEFER_TASKRUN */
	DIFF_SQPOLL = 1 << 2,
	DIFF_COOP = 1 << 3, /* COOP_TASKRUN, TASKRUN_FLAG, SUBMIT_ALL */
	DIFF_WIDE = 1 << 4, /* SQE128, CQE32, NO_SQARRAY */
};

#define DIFF_SYNC (DIFF_PLAIN | DIFF_DEFER | DIFF_COOP | DIFF_WIDE)
#define DIFF_ALL  (DIFF_SYNC | DIFF_SQPOLL)

struct diff_test {
	const char *name;
	void (*body)(struct diff *d);
	unsigned int variants; /* DIFF_*; 0 is DIFF_PLAIN */
};

int diff_main(int argc, char **argv, const struct diff_test *tests, size_t n);

#define DIFF_MAIN(tests)                                              \
	int main(int argc, char **argv)                               \
	{                                                             \
		return diff_main(argc, argv, tests,                   \
				 sizeof(tests) / sizeof((tests)[0])); \
	}

/* A line of the transcript. */
void diff_say(struct diff *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* "what = value"; a negative value by its errno's name. Returns it. */
long diff_res(struct diff *d, long value, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same, and it must be `wanted` on both. */
long diff_want(struct diff *d, long value, long wanted, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Only whether it is an error, and which: descriptors and counts vary. */
long diff_ok(struct diff *d, long value, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* "what = bytes", with anything odd escaped. */
void diff_bytes(struct diff *d, const char *what, const void *p, size_t n);

const char *diff_errname(long value);

/* A file of `n` bytes "abc...", in the body's own directory; open for both. */
int diff_file(struct diff *d, const char *name, size_t n);

void diff_pipe(struct diff *d, int fds[2]);
void diff_socketpair(struct diff *d, int type, int fds[2]);

/* A listening TCP socket on the loopback; its address in *sin. */
struct sockaddr_in;
int diff_listen(struct diff *d, struct sockaddr_in *sin);

/* Plain system call helpers whose failure ends the body. */
void diff_must(struct diff *d, long value, const char *what);
void diff_sleep_ms(struct diff *d, unsigned int ms);
uint64_t diff_now_ms(void);

/* A page that is not there. */
void *diff_bad_ptr(void);

/* A ring, and what a small liburing keeps of it. */
struct ring {
	struct diff *d;
	int fd;
	struct io_uring_params p;
	char *rings, *sqes;
	size_t rings_len, sqes_len;
	uint32_t *sq_head, *sq_tail, *sq_flags, *sq_dropped, *sq_array;
	uint32_t *cq_head, *cq_tail, *cq_flags, *cq_overflow;
	char *cqes;
	unsigned int sqe_size, cqe_size;
	uint32_t tail; /* SQEs handed out */
	uint32_t submitted;
};

/* Makes a ring with the variant's flags and these; ends the body if refused. */
void ring_open(struct diff *d, struct ring *r, unsigned int entries,
	       uint32_t flags);
void ring_open_params(struct diff *d, struct ring *r, unsigned int entries,
		      struct io_uring_params *p);
/* Maps what `p` tells of; another mapping is the caller's to forget. */
void ring_map(struct ring *r, const struct io_uring_params *p);
void ring_close(struct ring *r);
void ring_close_quiet(struct ring *r);

/* The next SQE, filled in; user_data is 1, 2, ... unless changed. */
struct io_uring_sqe *ring_sqe(struct ring *r, uint8_t op, int fd,
			      const void *addr, uint32_t len, uint64_t off);
struct io_uring_sqe *ring_nop(struct ring *r);

/* enter() with all that was filled in. Says what it returned. */
int ring_submit(struct ring *r);
int ring_enter(struct ring *r, unsigned int to_submit, unsigned int min,
	       unsigned int flags);

enum ring_order {
	RING_ORDER, /* the order is part of the ABI */
	RING_SORTED, /* it is free: sorted by user_data */
	RING_QUIET, /* not told */
};

/* Says what CQEs are there, without a call. Returns how many. */
unsigned int ring_reap(struct ring *r, enum ring_order order);

/* Waits until `n` are there, or says that they do not come. */
unsigned int ring_wait(struct ring *r, unsigned int n, enum ring_order order);

/* Lets all come that will come by itself, then as ring_reap(). */
unsigned int ring_settle(struct ring *r, enum ring_order order);

/* ring_submit() and ring_wait() */
unsigned int ring_run(struct ring *r, unsigned int n, enum ring_order order);

/* Waits for one CQE and takes it: its result. */
int ring_one(struct ring *r, struct io_uring_cqe *out);

unsigned int ring_ready(struct ring *r);

/* Waits `ms` for `n` CQEs: what enter() says. */
int ring_timed_wait(struct ring *r, unsigned int n, unsigned int ms);

#endif
