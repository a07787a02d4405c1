/* SPDX-License-Identifier: MIT */
#ifndef AU_CORE_ENTER_H
#define AU_CORE_ENTER_H

#include "core/ring.h"

/* anyuring_enter() once the ring is found. Any thread, lock not held. */
int au_enter(struct au_ring *ring, unsigned int to_submit,
	     unsigned int min_complete, unsigned int flags, const void *argp,
	     size_t argsz);

#endif
