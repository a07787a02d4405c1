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

/*
 * SQ_WAKEUP and SQ_WAIT of an enter: 0, or -EOWNERDEAD if the thread was
 * another process's that is gone. Lock held; released while waiting.
 */
int au_sqpoll_enter(struct au_ring *ring, unsigned int flags) au_must_check;

/* The ring's thread in this process, or 0. Lock held. */
int au_sqpoll_tid(const struct au_ring *ring);

/* The ring ends: the thread leaves by itself. Lock held. */
void au_sqpoll_stop(struct au_ring *ring);

#endif
