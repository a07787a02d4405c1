/* SPDX-License-Identifier: MIT */
/* The part of base/biased.h that more than one thread, or none yet, goes through. */
#include "base/biased.h"

#include "sys/futex.h"
#include "sys/membarrier.h"

#define BIASED_SPINS        100
#define BIASED_PATIENCE     8 /* 256 times in a row, to begin with */
#define BIASED_PATIENCE_MAX 15
#define BIASED_THREADS      256 /* who comes later owns nothing */

static struct au_biased_thread biased_nobody;
__thread struct au_biased_thread *au_biased_self = &biased_nobody;

static struct au_biased_thread biased_threads[BIASED_THREADS];
static uint32_t biased_nr_threads;

/* Mutex held: from here on the owner gets in by the mutex only. */
static void biased_revoke(struct au_biased *b)
{
	au_store_relaxed(&b->owner, b->owner | AU_BIASED_LOST);
	b->streak = 0;
	if (b->patience < BIASED_PATIENCE_MAX)
		b->patience++;
	/* pairs with the light ones in base/biased.h */
	au_membarrier();
}

static bool biased_is_in(const struct au_biased *b,
			 const struct au_biased_thread *t)
{
	/* pairs with the thread's releases */
	return au_load_acquire(&t->inside) == b;
}

/* Mutex held: NULL if the lock is the caller's, or the owner it waits for. */
static const struct au_biased_thread *biased_busy(struct au_biased *b)
{
	const struct au_biased_thread *t;

	if (au_likely(!b->owner || (b->owner & AU_BIASED_CANDIDATE)))
		return NULL;
	if (!(b->owner & AU_BIASED_LOST))
		biased_revoke(b);
	t = (const void *)(b->owner & ~(uintptr_t)AU_BIASED_MARKS);
	if (biased_is_in(b, t))
		return t;
	au_store_relaxed(&b->owner, 0);
	return NULL;
}

void au_biased_lock_slow(struct au_biased *b)
{
	int spins = 0;
	uint32_t left;

	au_lock(&b->mutex);
	for (;;) {
		/* pairs with the addition in au_biased_unlock_lost() */
		left = au_load_acquire(&b->left);
		if (au_likely(!biased_busy(b)))
			break;
		if (spins++ < BIASED_SPINS)
			au_cpu_relax();
		else
			au_futex_wait(&b->left, left, NULL);
	}
	b->by_mutex = true;
}

bool au_biased_trylock_slow(struct au_biased *b)
{
	const struct au_biased_thread *t;

	/*
	 * Who failed because we had the mutex relies on us: that the owner was
	 * inside still, when we had given it up.
	 */
	do {
		if (!au_trylock(&b->mutex))
			return false;
		t = biased_busy(b);
		if (au_likely(!t)) {
			b->by_mutex = true;
			return true;
		}
		au_unlock(&b->mutex);
		au_fence_after_rmw();
	} while (!biased_is_in(b, t));
	return false;
}

/* The owner leaves, or never was in, and has lost the lock. */
void au_biased_unlock_lost(struct au_biased *b)
{
	au_store_release(&au_biased_self->inside, NULL);
	au_fence_full();
	au_fetch_add(&b->left, 1);
	au_futex_wake(&b->left, 1);
}

/* Whom the calling thread is known as; NULL: there are too many. */
static struct au_biased_thread *biased_thread(void)
{
	uint32_t i;

	if (au_biased_self != &biased_nobody)
		return au_biased_self;
	if (au_load_relaxed(&biased_nr_threads) >= BIASED_THREADS)
		return NULL;
	i = au_fetch_add(&biased_nr_threads, 1);
	if (i >= BIASED_THREADS)
		return NULL;
	au_biased_self = &biased_threads[i];
	return au_biased_self;
}

/* Mutex held: counts who takes it; true if it has earned the lock. */
static bool biased_earned(struct au_biased *b)
{
	uintptr_t self = (uintptr_t)__builtin_thread_pointer() |
			 AU_BIASED_CANDIDATE;

	if (b->owner != self) {
		if (!b->patience)
			b->patience = BIASED_PATIENCE;
		b->streak = 0;
		au_store_relaxed(&b->owner, self);
		return false;
	}
	return ++b->streak >> b->patience && au_membarrier_ready();
}

void au_biased_unlock_mutex(struct au_biased *b)
{
	struct au_biased_thread *self;

	b->by_mutex = false;
	/* Last: a handler of this thread may take it from here on. */
	if (biased_earned(b)) {
		self = biased_thread();
		if (self)
			au_store_relaxed(&b->owner, (uintptr_t)self);
	}
	au_unlock(&b->mutex);
	au_fence_after_rmw();
}
