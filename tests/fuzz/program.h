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
	PAGE = 4096,

	/* The arena's pages: for anything, */
	FIXED_PAGE = 128, /* for registered buffers, */
	NR_BUFS = 5, /* the last one, a page, */
	CHAN_BUF = 4, /* is for channels: one half to, one half from them */
	CHAN_BUF_PAGE = FIXED_PAGE + 5,
	GROUP_PAGE = FIXED_PAGE + 8, /* for groups of them, */
	NR_GROUPS = 4, /* of each ring */
	GROUP_BUFS = 8,
	GROUP_PAGES = 2,
	WORD_PAGE = GROUP_PAGE + MAX_RINGS * NR_GROUPS * GROUP_PAGES,
	PAGES = WORD_PAGE + 1,

	/* The last one: futexes, and a number to add to an eventfd. */
	NR_FUTEXES = 4,
	FUTEX_VALUE = 5,
	WORD_ONE = 64,
};

/* Group 0 is the application's memory, 1 the kernel's, 2 incremental, 3 a list. */
enum {
	GROUP_MMAP = 1,
	GROUP_INC = 2,
	GROUP_LIST = 3,
};

static inline uint32_t group_page(uint32_t ring, uint32_t group)
{
	return GROUP_PAGE + (ring * NR_GROUPS + group) * GROUP_PAGES;
}

/* Length of each buffer of a group. */
static inline uint32_t group_len(uint32_t group)
{
	static const uint32_t lens[NR_GROUPS] = { 256, 1024, 1000, 300 };

	return lens[group % NR_GROUPS];
}

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
	ARG_FIOV, /* three iovecs within a registered buffer, or nearly */
	ARG_IOV1, /* one iovec of this length, for its length only */
	ARG_MSG1, /* a msghdr of that */
	ARG_NAME, /* of an extended attribute */
	ARG_PBUF, /* struct io_uring_buf_reg of this group */
	ARG_FUTEX, /* the address of this futex */
	ARG_FUTEXV, /* a vector of futexes: a bit mask of them */
	ARG_LEN, /* the address of a socklen_t of this value */
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
	struct arg addr3;
	uint64_t ud, pad2;
};

enum step_kind {
	STEP_RING, /* make ring `ring` */
	STEP_SUBMIT,
	STEP_REGISTER,
	STEP_FILL, /* the application adds buffers to a ring of them */
	STEP_LAST,
};

struct step {
	uint8_t kind, ring;
	uint32_t entries, setup_flags, cq; /* STEP_RING */
	uint32_t op, nr; /* STEP_REGISTER; STEP_FILL: group, buffers */
	struct arg addr;
	uint32_t hold; /* what comes is left in the CQ for a while */
	/* How many CQEs to wait for: a hint, a wrong one costs time only. */
	uint32_t expect;
	uint32_t own; /* requests of this step to wait for: a hint, too */
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

/* --- the world: world.c ------------------------------------------------- */

extern unsigned char *arena;

void world_make(void);
void world_show(void);

/* What an argument means; ARG_RING is the caller's to know. */
uint64_t world_value(struct arg a);

/* --- groups of buffers: groups.c ---------------------------------------- */

struct backend;

/* REGISTER_PBUF_RING and its opposite; what the call said. */
int groups_register(const struct backend *b, int fd, uint32_t ring, uint32_t op,
		    uint32_t group);
/* Adds up to `nr` buffers, as many as there is room for: their number. */
int groups_fill(const struct backend *b, int fd, uint32_t ring, uint32_t group,
		uint32_t nr);
void groups_show(const struct backend *b, int fd, uint32_t ring);

/* A line of the outcome. */
void put(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The objects. */
enum {
	OBJ_FILE = 0, /* four, read and write */
	OBJ_RDONLY = 4,
	OBJ_DIR = 5,
	OBJ_CHAN = 6, /* pairs: read end, write end */
	/* 0-3 stream sockets, both ways; 4 datagram; 5-7 pipes; 8 TCP */
	CHAN_DGRAM = 4,
	CHAN_PIPE = 5,
	CHAN_TCP = 8,
	NR_CHANS = 9,
	OBJ_EVENTFD = OBJ_CHAN + 2 * CHAN_TCP,
	OBJ_LISTENER = OBJ_EVENTFD + 2,
	OBJ_FRESH = OBJ_LISTENER + 1, /* four unconnected sockets */
	OBJ_EPOLL = OBJ_FRESH + 4,
	OBJ_SPARE = OBJ_EPOLL + 1, /* four, to be closed */
	OBJ_ZERO = OBJ_SPARE + 4,
	OBJ_CLOSED = OBJ_ZERO + 1, /* names no open file */
	OBJ_TCP = OBJ_CLOSED + 1, /* the ninth channel */
	NR_OBJS = OBJ_TCP + 2,
	NR_PATHS = 12,
	NR_NAMES = 7,
	NR_SLOTS = 10,
	FREE_SLOT = 8, /* from here on they are empty at first */
};

/* The read end of a channel; the write end is the next object. */
static inline int chan_obj(int c)
{
	return c == CHAN_TCP ? OBJ_TCP : OBJ_CHAN + 2 * c;
}

#define FD_BASE 100 /* the objects' descriptors, clear of what is opened */

/* Which object a slot of the table has after registering it; -1 none. */
extern const int slot_objs[NR_SLOTS];

#endif
