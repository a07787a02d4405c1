/* SPDX-License-Identifier: MIT */
/*
 * A fuzzed program: steps on a few rings, in a form that can be printed, read
 * back, cut down and run on either io_uring. Pointers and descriptors are
 * named (a piece of the arena, object 3, path 2), so that every run means the
 * same by them.
 */
#ifndef AU_FUZZ_PROGRAM_H
#define AU_FUZZ_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "uapi/io_uring.h"

enum {
	MAX_STEPS = 48,
	MAX_SQES = 12, /* of one step */
	MAX_RINGS = 3,
	PAGES = 136, /* of the arena; the last eight can be registered */
	FIXED_PAGE = 128,
	PAGE = 4096,
};

/* How a 64-bit word of an SQE is to be read. */
enum arg_kind {
	ARG_NUM, /* as it is */
	ARG_OBJ, /* the descriptor of an object, see world.c */
	ARG_RING, /* a ring's descriptor */
	ARG_MEM, /* offset into the arena */
	ARG_IOV, /* three iovecs, from this page of the arena on */
	ARG_MSG, /* a msghdr of these three */
	ARG_PATH,
	ARG_TIME, /* struct timespec: nanoseconds */
	ARG_SUN, /* the listener's address */
	ARG_HOW, /* struct open_how: these flags */
	ARG_EV, /* struct epoll_event: these events */
	ARG_FDS, /* a table of objects' descriptors, see world.c */
	ARG_BUFS, /* the table of iovecs to register */
	ARG_STATX, /* room for a struct statx, never compared */
	ARG_LAST,
};

struct arg {
	uint8_t kind;
	uint64_t val;
};

struct fsqe {
	uint8_t op, flags;
	uint16_t ioprio, buf_index, personality;
	uint32_t len, opflags, file_index;
	struct arg fd, off, addr;
	uint64_t ud, addr3, pad2;
};

enum step_kind {
	STEP_RING, /* make ring `ring` */
	STEP_SUBMIT,
	STEP_REGISTER,
	STEP_LAST,
};

struct step {
	uint8_t kind, ring;
	uint32_t entries, setup_flags, cq; /* STEP_RING */
	uint32_t op, nr; /* STEP_REGISTER */
	struct arg addr;
	/* How many CQEs to wait for: a hint, a wrong one costs time only. */
	uint32_t expect;
	uint32_t n;
	struct fsqe sqes[MAX_SQES];
};

struct program {
	uint64_t seed;
	uint32_t n;
	struct step steps[MAX_STEPS];
};

/* Requests of one chain have user_data in one block of 16. */
static inline uint64_t chain_of(uint64_t ud)
{
	return ud >> 4;
}

void program_print(const struct program *p, FILE *f);
bool program_parse(struct program *p, FILE *f);

/* `ops` says by opcode what may be used. */
void program_generate(struct program *p, uint64_t seed, unsigned int steps,
		      const bool *ops);

struct backend {
	const char *name;
	int (*setup)(unsigned int entries, struct io_uring_params *p);
	int (*enter)(unsigned int fd, unsigned int to_submit,
		     unsigned int min_complete, unsigned int flags,
		     const void *arg, size_t argsz);
	int (*reg)(unsigned int fd, unsigned int op, void *arg,
		   unsigned int nr);
	void *(*mmap)(void *addr, size_t len, int prot, int flags, int fd,
		      off_t off);
	int (*close)(int fd);
};

extern const struct backend backend_kernel, backend_anyuring;

/* What a run left: text, and how many CQEs each step brought. */
struct outcome {
	uint32_t got[MAX_STEPS + 1]; /* the last: what came late */
	uint32_t len;
	bool over; /* the run came to its end */
	char text[192 << 10];
};

/*
 * Runs `p` in this process, which is a child of its own. `known`: what the
 * kernel's run brought per step, or NULL.
 */
void program_run(const struct program *p, const struct backend *b,
		 const struct outcome *known, struct outcome *out);

/* The world's objects. */
enum {
	OBJ_FILE = 0, /* four, read and write */
	OBJ_RDONLY = 4,
	OBJ_DIR = 5,
	OBJ_CHAN = 6, /* pairs: read end, write end */
	NR_CHANS = 8, /* 0-3 stream sockets, both ways; 4 datagram; 5-7 pipes */
	OBJ_EVENTFD = OBJ_CHAN + 2 * NR_CHANS,
	OBJ_LISTENER = OBJ_EVENTFD + 2,
	OBJ_FRESH = OBJ_LISTENER + 1, /* four unconnected sockets */
	OBJ_EPOLL = OBJ_FRESH + 4,
	OBJ_SPARE = OBJ_EPOLL + 1, /* four, to be closed */
	OBJ_ZERO = OBJ_SPARE + 4,
	OBJ_CLOSED = OBJ_ZERO + 1, /* names no open file */
	NR_OBJS = OBJ_CLOSED + 1,
	NR_PATHS = 12,
	NR_SLOTS = 10,
};

/* Which object a slot of the table has after registering it; -1 none. */
extern const int slot_objs[NR_SLOTS];

#endif
