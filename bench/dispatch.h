/* SPDX-License-Identifier: MIT */
/*
 * The operations that dispatch.c dispatches: 64 opcodes, each with a prep and
 * an issue function too small to matter and too different to be merged, in a
 * translation unit of their own so that neither way inlines them.
 */
#ifndef AU_BENCH_DISPATCH_H
#define AU_BENCH_DISPATCH_H

#include <stdint.h>

struct dispatch_req {
	uint64_t opcode;
	uint64_t value;
};

#define DISPATCH_OPS 64

#define DISPATCH_8(X, n) \
	X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
/* Octal numbers of two digits: 000 to 077. */
#define DISPATCH_ALL(X)                                               \
	DISPATCH_8(X, 00)                                             \
	DISPATCH_8(X, 01) DISPATCH_8(X, 02) DISPATCH_8(X, 03)         \
		DISPATCH_8(X, 04) DISPATCH_8(X, 05) DISPATCH_8(X, 06) \
			DISPATCH_8(X, 07)

#define DISPATCH_DECLARE(n)                              \
	int dispatch_prep_##n(struct dispatch_req *req); \
	int dispatch_issue_##n(struct dispatch_req *req);
DISPATCH_ALL(DISPATCH_DECLARE)

#endif
