/* SPDX-License-Identifier: MIT */
/* Can RWF_NOWAIT be relied upon? */
#ifndef AU_SYS_NOWAIT_H
#define AU_SYS_NOWAIT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/atomic.h"

/* 0 not asked yet, 1 honoured or refused, -1 silently ignored */
extern int au_nowait_known;

bool au_nowait_ask(void);

/*
 * True where a read or write of a stream with RWF_NOWAIT does not sleep.
 * gVisor takes the flag for pipes, eventfds and the like and ignores it.
 */
static inline bool au_nowait_honest(void)
{
	int known = au_load_relaxed(&au_nowait_known);

	return known ? known > 0 : au_nowait_ask();
}

#endif
