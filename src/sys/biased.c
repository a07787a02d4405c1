/* SPDX-License-Identifier: MIT */
/* The part of base/biased.h that more than one thread, or none yet, goes through. */
#include "base/biased.h"

#include "sys/futex.h"
#include "sys/membarrier.h"

#define BIASED_SPINS        100
#define BIASED_PATIENCE     8 /* 256 times in a row, to begin with */
#define BIASED_PATIENCE_MAX 15

/* Mutex held: from here on the owner gets in by the mutex only. */
static void biased_revoke(struct au_biased *b)
{
	au_store_relaxed(&b->owner, 0);
	b->streak = 0;
	if (b->patience < BIASED_PATIENCE_MAX)
		b->patience++;
	/* pairs with the light ones in base/biased.h */
	au_membarrier();
}

static bool biased_has_owner(const struct au_biased *b)
{
	uintptr_t owner = au_load_relaxed(&b->owner);

	return owner && !(owner & AU_BIASED_CANDIDATE);
}

/* Mutex held: is the lock the caller's? */
static bool biased_free(struct au_biased *b)
{
	if (au_unlikely(biased_has_owner(b)))
		biased_revoke(b);
	/* pairs with the owner's release when it leaves */
	return !au_load_acquire(&b->inside);
}

void au_biased_lock_slow(struct au_biased *b)
{
	int spins = 0;

	au_lock(&b->mutex);
	while (au_unlikely(!biased_free(b))) {
		if (spins++ < BIASED_SPINS)
			au_cpu_relax();
		else
			au_futex_wait(&b->inside, 1, NULL);
	}
	b->by_mutex = true;
}

bool au_biased_trylock_slow(struct au_biased *b)
{
	while (au_trylock(&b->mutex)) {
		if (au_likely(biased_free(b))) {
			b->by_mutex = true;
			return true;
		}
		/*
		 * Who failed because we had the mutex relies on us: the owner
		 * may have left meanwhile.
		 */
		au_unlock(&b->mutex);
		au_fence_after_rmw();
		if (au_load_relaxed(&b->inside))
			break;
	}
	return false;
}

/* The owner leaves, or never was in, and has lost the lock. */
void au_biased_unlock_slow(struct au_biased *b)
{
	au_store_release(&b->inside, 0);
	au_fence_full();
	au_futex_wake(&b->inside, 1);
}

/* Mutex held: counts who takes it; true if it has earned the lock. */
static bool biased_earned(struct au_biased *b, uintptr_t self)
{
	if (b->owner != (self | AU_BIASED_CANDIDATE)) {
		if (!b->patience)
			b->patience = BIASED_PATIENCE;
		b->streak = 0;
		au_store_relaxed(&b->owner, self | AU_BIASED_CANDIDATE);
		return false;
	}
	return ++b->streak >> b->patience && au_membarrier_ready();
}

void au_biased_unlock_mutex(struct au_biased *b)
{
	uintptr_t self = au_biased_self();

	b->by_mutex = false;
	/* Last: a handler of this thread may take it from here on. */
	if (biased_earned(b, self))
		au_store_relaxed(&b->owner, self);
	au_unlock(&b->mutex);
	au_fence_after_rmw();
}
