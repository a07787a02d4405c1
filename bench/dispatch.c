/* SPDX-License-Identifier: MIT */
/*
 * A table of prep and issue functions against the large switch it replaces.
 *
 *   dispatch table|switch same|mixed TURNS
 *
 * dispatches TURNS requests, all of one opcode or of all in a fixed disorder,
 * and prints nanoseconds per request. bench/dispatch.sh counts instructions
 * and makes the comparison. Run by hand; no test looks at the figures.
 */
#include "dispatch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ORDER 4096U /* requests before the disorder repeats */

static const struct {
	int (*prep)(struct dispatch_req *req);
	int (*issue)(struct dispatch_req *req);
} ops[DISPATCH_OPS] = {

#define ROW(n) [n] = { dispatch_prep_##n, dispatch_issue_##n },
	DISPATCH_ALL(ROW)
};

__attribute__((noinline)) static int by_table(struct dispatch_req *req)
{
	int r = ops[req->opcode].prep(req);

	return r ? r : ops[req->opcode].issue(req);
}

static int prep_by_switch(struct dispatch_req *req)
{
	switch (req->opcode) {
#define PREP(n) \
	case n: \
		return dispatch_prep_##n(req);
		DISPATCH_ALL(PREP)
	default:
		return -1;
	}
}

static int issue_by_switch(struct dispatch_req *req)
{
	switch (req->opcode) {
#define ISSUE(n) \
	case n:  \
		return dispatch_issue_##n(req);
		DISPATCH_ALL(ISSUE)
	default:
		return -1;
	}
}

__attribute__((noinline)) static int by_switch(struct dispatch_req *req)
{
	int r = prep_by_switch(req);

	return r ? r : issue_by_switch(req);
}

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	static uint8_t order[ORDER];
	struct dispatch_req req = { 0, 0 };
	uint32_t seed = 1;
	double start;
	long turns;
	int table;

	if (argc != 4 || (turns = atol(argv[3])) <= 0) {
		fputs("usage: dispatch table|switch same|mixed TURNS\n",
		      stderr);
		return 2;
	}
	table = !strcmp(argv[1], "table");
	for (uint32_t i = 0; i < ORDER; i++) {
		seed = seed * 1664525 + 1013904223;
		order[i] = strcmp(argv[2], "mixed") ? 0 : (uint8_t)(seed >> 26);
	}
	start = now_ns();
	for (long i = 0; i < turns; i++) {
		req.opcode = order[i % ORDER];
		if (table ? by_table(&req) : by_switch(&req))
			return 1;
	}
	printf("%.2f\n", (now_ns() - start) / (double)turns);
	return req.value == 1; /* so that it is not for nothing */
}
