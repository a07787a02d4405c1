/* SPDX-License-Identifier: MIT */
/*
 * A mutex of one word: an exchange when nobody contends, a short spin, then a
 * futex. Unlike pthread's it costs one atomic operation to take and one to
 * release, and knows nothing of attributes, robustness or recursion.
 *
 * 0 free, 1 held, 2 held and somebody sleeps.
 */
#ifndef AU_BASE_LOCK_H
#define AU_BASE_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include "base/atomic.h"
#include "base/util.h"

#if defined(__clang__)
#define AU_CAPABILITY(x) __attribute__((capability(x)))
#define AU_ACQUIRES(...) __attribute__((acquire_capability(__VA_ARGS__)))
#define AU_RELEASES(...) __attribute__((release_capability(__VA_ARGS__)))
#define AU_TRY_ACQUIRES(...) \
	__attribute__((try_acquire_capability(__VA_ARGS__)))
#define AU_NO_ANALYSIS __attribute__((no_thread_safety_analysis))
#else
#define AU_CAPABILITY(x)
#define AU_ACQUIRES(...)
#define AU_RELEASES(...)
#define AU_TRY_ACQUIRES(...)
#define AU_NO_ANALYSIS
#endif

struct AU_CAPABILITY("mutex") au_lock {
	uint32_t word;
};

void au_lock_slow(struct au_lock *l);
void au_unlock_slow(struct au_lock *l);

static inline bool au_trylock(struct au_lock *l)
	AU_TRY_ACQUIRES(true, *l) AU_NO_ANALYSIS
{
	uint32_t free = 0;

	return au_load_relaxed(&l->word) == 0 && au_cmpxchg(&l->word, &free, 1);
}

static inline void au_lock(struct au_lock *l) AU_ACQUIRES(*l) AU_NO_ANALYSIS
{
	uint32_t free = 0;

	if (au_unlikely(!au_cmpxchg(&l->word, &free, 1)))
		au_lock_slow(l);
}

static inline void au_unlock(struct au_lock *l) AU_RELEASES(*l) AU_NO_ANALYSIS
{
	if (au_unlikely(au_xchg(&l->word, 0) == 2))
		au_unlock_slow(l);
}

#endif
