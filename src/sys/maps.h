/* SPDX-License-Identifier: MIT */
/* What kind of memory lies at an address. */
#ifndef AU_SYS_MAPS_H
#define AU_SYS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One mapping of the process; what was asked last is remembered in it. */
struct au_mapping {
	uint64_t start, end;
	bool shared;
};

/*
 * Will a child of fork(2) have the very same memory there? False also where
 * the kernel does not tell. `last` begins as zeroes.
 */
bool au_memory_shared(uint64_t addr, size_t n, struct au_mapping *last);

#endif
