/* SPDX-License-Identifier: MIT */
/*
 * A lock biased towards one thread: the thread that takes it again and again
 * does so by two plain stores, without an atomic operation or a fence.
 *
 * Its owner says which lock it is in, and looks whether it still owns it;
 * anybody else takes the mutex, says that there is no owner any more, and looks
 * where that one is. Each stores and then loads what the other stores, so each
 * needs a fence in between, or both could get in. The two are not paid alike:
 * the owner's is for the compiler only, and the other thread makes every thread
 * of the process go through a fence, by membarrier(2). That costs some thousand
 * times as much as what the owner saves, so a lock that was lost is biased
 * again only after a while without contention, twice as long each time.
 *
 * Where a thread is it says in a word of its own, not in one of the lock: it
 * may stop between its two looks at the owner for as long as it takes others to
 * own and to lose the lock, and must not speak for them when it goes on.
 *
 * Whoever is not the owner holds the lock when it holds the mutex and the last
 * owner has left.
 */
#ifndef AU_BASE_BIASED_H
#define AU_BASE_BIASED_H

#include <stdbool.h>
#include <stdint.h>
#include "base/atomic.h"
#include "base/lock.h"
#include "base/util.h"

struct AU_CAPABILITY("mutex") au_biased {
	/*
	 * The thread that owns it; with a mark in its low bits one that did and
	 * may still be inside, or one that may become it; 0: none.
	 */
	uintptr_t owner;
	struct au_lock mutex;
	uint32_t left; /* futex: an owner that had lost it has left */
	uint16_t streak; /* times in a row that the candidate took it */
	uint8_t patience; /* log2 of how many it takes */
	bool by_mutex; /* how the holder has it; the holder's */
};

enum {
	AU_BIASED_CANDIDATE = 1,
	AU_BIASED_LOST = 2,
	AU_BIASED_MARKS = 3,
};

/* A thread that has owned a lock; never freed. */
struct au_biased_thread {
	/* The lock it is in as its owner; only this thread writes it. */
	struct au_biased *inside;
} au_aligned_cacheline;

/* The calling thread; until it earns a lock, one that owns none. */
extern __thread struct au_biased_thread *au_biased_self;

void au_biased_lock_slow(struct au_biased *b);
bool au_biased_trylock_slow(struct au_biased *b);
void au_biased_unlock_lost(struct au_biased *b);
void au_biased_unlock_mutex(struct au_biased *b);

static inline bool biased_owned(const struct au_biased *b,
				const struct au_biased_thread *self)
{
	return au_load_relaxed(&b->owner) == (uintptr_t)self;
}

/* One at a time: inside another, and in a handler, it is the mutex. */
static inline bool biased_enter(struct au_biased *b) AU_NO_ANALYSIS
{
	struct au_biased_thread *self = au_biased_self;

	if (!biased_owned(b, self) || au_load_relaxed(&self->inside))
		return false;
	au_store_release(&self->inside, b);
	/* pairs with the heavy one in biased_revoke() */
	au_fence_light();
	if (au_likely(biased_owned(b, self)))
		return true;
	au_biased_unlock_lost(b);
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
	struct au_biased_thread *self = au_biased_self;

	if (au_unlikely(b->by_mutex)) {
		au_biased_unlock_mutex(b);
		return;
	}
	/* pairs with the acquire in biased_busy() */
	au_store_release(&self->inside, NULL);
	/* pairs with the heavy one in biased_revoke() */
	au_fence_light();
	if (au_unlikely(!biased_owned(b, self)))
		au_biased_unlock_lost(b);
}

/* Was it held when the process was copied? For the child of a fork. */
static inline bool au_biased_held(const struct au_biased *b)
{
	const struct au_biased_thread *t =
		(const void *)(b->owner & ~(uintptr_t)AU_BIASED_MARKS);

	return b->mutex.word || (!(b->owner & AU_BIASED_CANDIDATE) && t &&
				 t->inside == b);
}

#endif
