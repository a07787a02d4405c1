/* SPDX-License-Identifier: MIT */
/*
 * Where functions begin and end, from an object's unwind table: the only
 * record of them that stripped programs keep.
 */
#ifndef AU_INTERCEPT_FUNC_H
#define AU_INTERCEPT_FUNC_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct au_func {
	const uint8_t *start, *end;
	const uint8_t *prev; /* the start of the one before, or `start` */
	const uint8_t *before; /* and its end, or `start` */
	const uint8_t *after; /* the start of the next one, or `end` */
};

/* False if no function is known to hold `at`, or the table is a strange one. */
bool au_func_find(const struct dl_phdr_info *o, const uint8_t *at,
		  struct au_func *f);

#endif
