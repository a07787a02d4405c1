/* SPDX-License-Identifier: MIT */
/*
 * IORING_SETUP_SQPOLL: a thread that submits for the application and drives
 * the ring's waiting requests; it is the ring's leader for as long as the ring
 * lives.
 */
#ifndef AU_CORE_SQPOLL_H
#define AU_CORE_SQPOLL_H

#include "core/ring.h"

/* Starts the thread, idle after `idle_ms`, on `cpu` (or -1). 0 or -errno. */
int au_sqpoll_start(struct au_ring *ring, uint32_t idle_ms,
		    int cpu) au_must_check;

/* SQ_WAKEUP and SQ_WAIT of an enter. Lock held; released while waiting. */
void au_sqpoll_enter(struct au_ring *ring, unsigned int flags);

/* The ring ends: the thread leaves by itself. Lock held. */
void au_sqpoll_stop(struct au_ring *ring);

#endif
