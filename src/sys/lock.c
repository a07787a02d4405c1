/* SPDX-License-Identifier: MIT */
/* The part of base/lock.h that sleeps. */
#include "base/lock.h"

#include "sys/futex.h"

#define LOCK_SPINS 100 /* about a microsecond: longer than most holders */

void au_lock_slow(struct au_lock *l)
{
	for (int i = 0; i < LOCK_SPINS; i++) {
		if (au_trylock(l))
			return;
		au_cpu_relax();
	}
	while (au_xchg(&l->word, 2) != 0)
		au_futex_wait(&l->word, 2, NULL);
}

void au_unlock_slow(struct au_lock *l)
{
	au_futex_wake(&l->word, 1);
}
