/* SPDX-License-Identifier: MIT */
/*
 * A lock biased towards one thread: the thread that takes it again and again
 * does so by two plain stores, without an atomic operation or a fence.
 *
 * Its owner says `inside` and looks whether it is still the owner; anybody else
 * takes the mutex, says that there is no owner any more, and looks whether that
 * one is inside. Each stores and then loads what the other stores, so each
 * needs a fence in between, or both could get in. The two are not paid alike:
 * the owner's is for the compiler only, and the other thread makes every thread
 * of the process go through a fence, by membarrier(2). That costs some thousand
 * times as much as what the owner saves, so a lock that was lost is biased
 * again only after a while without contention, twice as long each time.
 *
 * Whoever is not the owner holds the lock when it holds the mutex, there is no
 * owner, and the last one is not inside.
 */
#ifndef AU_BASE_BIASED_H
#define AU_BASE_BIASED_H

#include <stdbool.h>
#include <stdint.h>
#include "base/atomic.h"
#include "base/lock.h"
#include "base/util.h"

struct AU_CAPABILITY("mutex") au_biased {
	/* The owner; AU_BIASED_CANDIDATE set: had it last, and may become it. */
	uintptr_t owner;
	/* futex: the owner holds it, or just looks whether it is the owner */
	uint32_t inside;
	struct au_lock mutex;
	uint16_t streak; /* times in a row that the candidate took it */
	uint8_t patience; /* log2 of how many it takes */
	bool by_mutex; /* how the holder has it; the holder's */
};

enum {
	AU_BIASED_CANDIDATE = 1,
};

void au_biased_lock_slow(struct au_biased *b);
bool au_biased_trylock_slow(struct au_biased *b);
void au_biased_unlock_slow(struct au_biased *b);
void au_biased_unlock_mutex(struct au_biased *b);

/* What tells threads apart: no two that live have the same. */
static inline uintptr_t au_biased_self(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

/* Has it for the owner. A handler of the same thread finds it held. */
static inline bool biased_enter(struct au_biased *b) AU_NO_ANALYSIS
{
	uintptr_t self = au_biased_self();

	if (au_load_relaxed(&b->owner) != self || au_load_relaxed(&b->inside))
		return false;
	au_store_relaxed(&b->inside, 1);
	/* pairs with the heavy one in biased_revoke() */
	au_fence_light();
	if (au_likely(au_load_relaxed(&b->owner) == self))
		return true;
	au_biased_unlock_slow(b);
	return false;
}

static inline void au_biased_lock(struct au_biased *b)
	AU_ACQUIRES(*b) AU_NO_ANALYSIS
{
	if (au_unlikely(!biased_enter(b)))
		au_biased_lock_slow(b);
}

static inline bool au_biased_trylock(struct au_biased *b)
	AU_TRY_ACQUIRES(true, *b) AU_NO_ANALYSIS
{
	return biased_enter(b) || au_biased_trylock_slow(b);
}

/*
 * What the caller reads behind it is no older than the last failure of another
 * thread's trylock: who leaves work to the holder may rely on that.
 */
static inline void au_biased_unlock(struct au_biased *b)
	AU_RELEASES(*b) AU_NO_ANALYSIS
{
	if (au_unlikely(b->by_mutex)) {
		au_biased_unlock_mutex(b);
		return;
	}
	/* pairs with the acquire in biased_free() */
	au_store_release(&b->inside, 0);
	/* pairs with the heavy one in biased_revoke() */
	au_fence_light();
	if (au_unlikely(au_load_relaxed(&b->owner) != au_biased_self()))
		au_biased_unlock_slow(b);
}

/* Was it held when the process was copied? For the child of a fork. */
static inline bool au_biased_held(const struct au_biased *b)
{
	return b->inside || b->mutex.word;
}

#endif
