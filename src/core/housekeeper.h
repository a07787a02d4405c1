/* SPDX-License-Identifier: MIT */
/*
 * The housekeeper: one thread a process that completes what is ready while
 * nobody is inside enter, so that CQEs appear without any call. It exists only
 * once a ring was left with something pending.
 */
#ifndef AU_CORE_HOUSEKEEPER_H
#define AU_CORE_HOUSEKEEPER_H

#include "core/ring.h"

void au_housekeeper_attend_slow(struct au_ring *ring);

/*
 * The caller leaves enter: whatever still waits needs somebody to look after
 * it. Lock held. Free while the housekeeper is already looking.
 */
static inline void au_housekeeper_attend(struct au_ring *ring)
{
	if (au_likely(!ring->pending.nr) || ring->attended || ring->sqpoll)
		return;
	au_housekeeper_attend_slow(ring);
}

/* Something was left undone for want of a lock. Any thread. */
void au_housekeeper_hurry(void);

/* The ring ends. Lock held. */
void au_housekeeper_forget(struct au_ring *ring);

/* The child of a fork has no housekeeper. */
void au_housekeeper_reset(void);

#endif
