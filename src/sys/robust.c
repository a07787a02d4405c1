/* SPDX-License-Identifier: MIT */
#include "sys/robust.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include "base/atomic.h"
#include "sys/syscall.h"

bool au_robust_trylock(uint32_t *word, int tid)
{
	uint32_t was = 0;

	return au_cmpxchg(word, &was, (uint32_t)tid);
}

/* Takes over from an owner that died while nobody waited for it. */
static bool robust_inherit(uint32_t *word, int tid, uint32_t dead)
{
	uint32_t was = au_load_relaxed(word);

	return dead && !((was ^ dead) & FUTEX_TID_MASK) &&
	       au_cmpxchg(word, &was, (uint32_t)tid | (was & FUTEX_WAITERS));
}

bool au_robust_steal(uint32_t *word, int tid)
{
	uint32_t owner = au_load_relaxed(word) & FUTEX_TID_MASK;
	int r = (int)au_syscall(SYS_futex, word, FUTEX_TRYLOCK_PI, 0, NULL,
				NULL, 0);

	if (r == 0) {
		(void)au_fetch_and(word, ~FUTEX_OWNER_DIED);
		return true;
	}
	return (r == -ESRCH || r == -EDEADLK) &&
	       robust_inherit(word, tid, owner);
}

static au_cold bool robust_lock_slow(uint32_t *word, int tid)
{
	uint32_t owner;
	int r;

	while (!au_robust_trylock(word, tid)) {
		owner = au_load_relaxed(word) & FUTEX_TID_MASK;
		r = (int)au_syscall(SYS_futex, word, FUTEX_LOCK_PI, 0, NULL,
				    NULL, 0);
		if (r == 0)
			return au_fetch_and(word, ~FUTEX_OWNER_DIED) &
			       FUTEX_OWNER_DIED;
		/* EDEADLK: the dead owner had the number that is ours now. */
		if ((r == -ESRCH || r == -EDEADLK) &&
		    robust_inherit(word, tid, owner))
			return true;
		if (r == -ENOSYS)
			sched_yield();
	}
	return false;
}

bool au_robust_lock(uint32_t *word, int tid)
{
	if (au_likely(au_robust_trylock(word, tid)))
		return false;
	return robust_lock_slow(word, tid);
}

void au_robust_unlock(uint32_t *word, int tid)
{
	uint32_t was = (uint32_t)tid;

	if (au_unlikely(!au_cmpxchg(word, &was, 0)))
		(void)au_syscall(SYS_futex, word, FUTEX_UNLOCK_PI, 0, NULL,
				 NULL, 0);
}
