/* SPDX-License-Identifier: MIT */
/*
 * IORING_REGISTER_MEM_REGION: memory shared with the application, from which
 * enter takes its waits (IORING_ENTER_EXT_ARG_REG) by offset.
 */
#ifndef AU_CORE_REGION_H
#define AU_CORE_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"
#include "uapi/io_uring.h"

struct au_ring;

/* Where mmap(2) finds a region in the engine's memory. */
#define AU_OFF_PARAM_REGION 0x20000000ULL

struct au_region {
	void *ptr; /* NULL: there is none */
	size_t size;
	int mem_fd; /* the engine's memory, or -1 */
	bool holds_waits; /* IORING_MEM_REGION_REG_WAIT_ARG */
};

/* Ring lock held. */
int au_register_mem_region(struct au_ring *ring, uint64_t arg);
void au_region_release(struct au_region *region);

/* The wait at byte `offset`: 0 or -EFAULT. */
int au_region_wait(const struct au_ring *ring, uint64_t offset,
		   struct io_uring_reg_wait *out) au_must_check;

#endif
