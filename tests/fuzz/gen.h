/* SPDX-License-Identifier: MIT */
/*
 * What the families of the generator share: the program being made, the random
 * numbers, and the model that keeps its outcome from depending on timing.
 *
 * The rules. In one step an object (a file, both ways of a pair, a group of
 * buffers, a ring's free slots) belongs to one chain. On one way of a channel
 * at most one request waits; where one does, or might, a step does one thing
 * to the channel, so that it wakes once. A request that may wait for long is
 * the last of its chain, or guarded by a link timeout. Cancels have a step to
 * themselves and name what they hit without choice.
 *
 * Of the bytes in a channel the model knows that there are so many at least;
 * where a request may find none it counts as one that waits, even if it does
 * not. That costs time only: what follows is kept apart from it.
 */
#ifndef AU_FUZZ_GEN_H
#define AU_FUZZ_GEN_H

#include <stdbool.h>
#include <stdint.h>
#include "program.h"

#define FOREVER_NS 100000000000ULL

struct parked {
	uint64_t ud;
	uint8_t ring, op;
	int obj, chan, group; /* -1: none */
	bool multi; /* goes on after its first result */
};

struct model_chan {
	uint32_t bytes; /* at least; of datagrams the number */
	uint32_t load; /* bytes at most, or what takes as much room */
	bool waits; /* somebody does, or might */
	bool multi; /* and goes on waiting */
	bool polled; /* a multishot poll looks on */
	bool woken; /* in this step */
	bool eof;
	bool lost; /* nobody knows what waits there: leave it alone */
};

struct model_group {
	bool made;
	bool busy; /* in this step */
	uint32_t left; /* about */
};

struct gen {
	struct program *p;
	const bool *ops;
	uint64_t rng;
	struct step *step;
	uint32_t chain, nr_sqes, page, messages;
	bool registered[MAX_RINGS], buffers[MAX_RINGS];
	uint32_t setup[MAX_RINGS];
	struct model_group groups[MAX_RINGS][NR_GROUPS];
	bool busy[NR_OBJS];
	bool slots_busy[MAX_RINGS], names_busy;
	struct model_chan chan[NR_CHANS];
	uint32_t conns; /* waiting at the listener */
	uint64_t accept_ud;
	bool accept_multi;
	bool connected[4]; /* of the fresh sockets */
	bool efd_polled[2], epoll_waits, futex_waits[NR_FUTEXES];
	struct parked parked[32];
	uint32_t nr_parked;
	uint8_t nr_rings;
	uint32_t fixed_chain; /* which chain uses registered memory */
	uint8_t link; /* of the chain at hand */
	bool waits; /* its last request does, or might, or is a bundle */
	bool broken; /* its links are: what follows is cancelled */
	/*
	 * This step drains; or one has: then the kernel makes the next ones
	 * wait as well, and none of them may be one that waits for long.
	 */
	bool drains, drained;
};

extern struct gen g;

/* Futexes have no descriptor; a parked one is known by this. */
static inline int futex_obj(uint32_t i)
{
	return -2 - (int)i;
}

/* gen.c */
uint32_t rnd(uint32_t n);
bool chance(uint32_t percent);
struct arg arg(enum arg_kind kind, uint64_t val);
uint64_t mem(void); /* a page of the arena, as far as there are any */
uint64_t mem_pages(uint32_t n); /* the number of the first of some */
bool room(void);
bool has(uint8_t op);
struct fsqe *add(uint8_t op); /* the next SQE of the chain at hand */
void set_fd(struct fsqe *q, int obj); /* or its slot, where it has one */
bool take(int obj);
bool take_slots(void);
bool take_fixed(void); /* the registered memory of files */
bool may_wait(void); /* is a request that waits for long allowed now? */
void park(const struct fsqe *q, int obj, int chan);
void park_multi(const struct fsqe *q, int obj, int chan);
void unpark(uint32_t i);

/* A group of this step's ring that nobody else uses, or -1. */
int take_group(void);
void select_group(struct fsqe *q, int group);

/* gen_file.c */
void chain_file(uint32_t n);
void chain_path(uint32_t n);
void chain_xattr(uint32_t n);

/* gen_chan.c */
void chain_chan(uint32_t n);
void chain_splice(uint32_t n);
void chain_shutdown(uint32_t n);
bool take_chan(int c); /* both ways of it, and both ends */
void chan_spoilt(const struct fsqe *q);

/* gen_net.c */
void chain_net(uint32_t n);
void chain_connect(void);

/* gen_wait.c */
void chain_timeout(uint32_t n);
void chain_eventfd(uint32_t n);
void chain_epoll(uint32_t n);
void chain_futex(uint32_t n);

/* gen_misc.c */
void chain_nop(uint32_t n);
void chain_misc(uint32_t n);
void chain_message(uint32_t n);
void chain_slots(uint32_t n);
void chain_buffers(uint32_t n);

/* gen_steps.c: steps of their own */
void step_cancel(void);
void step_counted(void);
void step_register(void);
void step_fill(void);
void step_held(void);
void step_disabled(void);

#endif
