/* SPDX-License-Identifier: MIT */
/*
 * What a narrow store into a flag word costs the wide load behind it.
 *
 * A request's flags are one 64-bit word. `flags |= BIT` for a bit of the upper
 * bytes may become a byte-wide or; the next load of the whole word then cannot
 * be served from the store buffer and waits until the byte is in the cache.
 * The loop does what submitting does to a request: set a flag, branch on the
 * whole word, go on to the next request. Prints nanoseconds per turn for
 *
 *   whole    whole-word stores, what au_req_set() promises
 *   plain    `flags |= BIT`, whatever this compiler makes of it
 *   narrow   a byte-wide store, written out
 *
 * as `compiler<TAB>variant<TAB>ns`, the median of rounds that take turns.
 * Run by hand; no test looks at the figures.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "base/atomic.h"

#define TURNS    2000000U
#define ROUNDS   9
#define REQUESTS 64U /* all in the first-level cache */
#define BIT      (1ULL << 17) /* of the third byte */

struct request {
	uint64_t flags;
	uint64_t rest[7];
};

static struct request requests[REQUESTS];

/* What follows the store: a branch on other bits of the word. */
#define AFTER(req)                         \
	do {                               \
		uint64_t f = (req)->flags; \
		if (f & 0xff00)            \
			taken++;           \
		(req)->rest[0] = f;        \
	} while (0)

#define VARIANT(name, store)                                           \
	__attribute__((noinline)) static uint64_t name(void)           \
	{                                                              \
		uint64_t taken = 0;                                    \
		for (uint32_t i = 0; i < TURNS; i++) {                 \
			struct request *req = &requests[i % REQUESTS]; \
			store;                                         \
			/* The compiler may not remember the word. */  \
			__asm__ volatile("" ::: "memory");             \
			AFTER(req);                                    \
		}                                                      \
		return taken;                                          \
	}

VARIANT(whole, AU_WRITE_ONCE(req->flags, req->flags | BIT))
VARIANT(plain, req->flags |= BIT)
VARIANT(narrow, ((volatile uint8_t *)&req->flags)[2] |= (uint8_t)(BIT >> 16))

static const struct {
	const char *name;
	uint64_t (*run)(void);
} variants[] = { { "whole", whole }, { "plain", plain }, { "narrow", narrow } };

#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	double ns[VARIANTS][ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < VARIANTS; i++) {
			size_t v = (i + (size_t)round) % VARIANTS;
			double start = now_ns();

			if (variants[v].run())
				return 1;
			ns[v][round] = (now_ns() - start) / TURNS;
		}
	}
	for (size_t v = 0; v < VARIANTS; v++) {
		qsort(ns[v], ROUNDS, sizeof(ns[v][0]), compare);
		printf("%s\t%s\t%.2f\n", COMPILER, variants[v].name,
		       ns[v][ROUNDS / 2]);
	}
	return 0;
}
