/* SPDX-License-Identifier: MIT */
/*
 * The memory that a ring shares with the application.
 *
 * Two views of one page, at two addresses, cost more than one: first-level
 * caches that guess by the virtual address (AMD's do) hold a line for one of
 * them at a time, and each side's access throws out the other's. So the
 * application gets the engine's own view, if it asks for no particular one. It
 * is lent: what the application unmaps stays until the ring goes, and what the
 * ring leaves behind stays until the application unmaps it.
 */
#ifndef AU_CORE_MEMORY_H
#define AU_CORE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"
#include "uapi/io_uring.h"

struct au_ring;

enum au_memory_part {
	AU_MEMORY_RINGS,
	AU_MEMORY_SQES,
	AU_MEMORY_PARTS,
};

struct au_memory {
	int fd; /* memfd behind the mappings, -1 with NO_MMAP; hidden */
	size_t rings_size, sqes_size;
	/* Ours to unmap: all, or with NO_MMAP our own views, if there are any. */
	size_t mapped_rings, mapped_sqes;
};

/* A part of the ring's memory that the application has, or had. */
struct au_lent {
	/* Looked at without the ring's lock; 0 while it was never lent. */
	uintptr_t start, end;
	uint32_t nr; /* times mapped and not unmapped; ring lock */
};

/*
 * The memory of a ring whose sizes are set; tells the offsets in `p`. It may be
 * half made on failure: free it all the same.
 */
int au_memory_make(struct au_ring *ring,
		   struct io_uring_params *p) au_must_check;
void au_memory_free(struct au_ring *ring);

/*
 * With NO_MMAP the memory is the application's, which may do with it what it
 * likes from now on: what is still posted goes elsewhere.
 */
void au_memory_leave(struct au_ring *ring);

/* Is it there, in the child of a fork? MADV_DONTFORK may have kept it away. */
bool au_memory_inherited(const struct au_ring *ring);

/* From now on munmap(2) may go unseen: no more is lent. */
void au_memory_lend_no_more(void);

#endif
