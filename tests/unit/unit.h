/* SPDX-License-Identifier: MIT */
/* cmocka with what it wants included first; assert in the main thread only. */
#ifndef AU_TESTS_UNIT_H
#define AU_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* A small generator; every test seeds its own, so that runs are the same. */
static inline uint32_t unit_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*state >> 33);
}

#endif
