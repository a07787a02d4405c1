/* SPDX-License-Identifier: MIT */
/*
 * A lock between processes, in memory they share, that outlives its owner: a
 * word that holds the owner's thread id. The kernel hands it on when the owner
 * dies (the futex(2) operations with priority inheritance), so nobody waits
 * for a process that was killed.
 */
#ifndef AU_SYS_ROBUST_H
#define AU_SYS_ROBUST_H

#include <stdbool.h>
#include <stdint.h>
#include "base/util.h"

/*
 * `tid` is the calling thread's. True: the owner before died with the lock, and
 * may have left halfway what it protects.
 */
bool au_robust_lock(uint32_t *word, int tid) au_must_check;
bool au_robust_trylock(uint32_t *word, int tid) au_must_check;
/* The same by a system call that finds out whether the owner is dead. */
bool au_robust_steal(uint32_t *word, int tid) au_must_check;
void au_robust_unlock(uint32_t *word, int tid);

#endif
