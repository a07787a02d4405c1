/* SPDX-License-Identifier: MIT */
/*
 * A chained hash table of intrusive nodes with 64-bit keys that need not be
 * unique; of equal ones the newest comes first. Grows, never shrinks. Not
 * thread-safe.
 */
#ifndef AU_BASE_HASH_H
#define AU_BASE_HASH_H

#include <stdint.h>
#include "base/util.h"

struct au_hash_node {
	struct au_hash_node *next, **pprev; /* pprev NULL: not in a table */
};

struct au_hash {
	struct au_hash_node **buckets;
	uint32_t nr;
	uint32_t max; /* nodes before it grows; 0: not allocated */
	uint32_t bits, mask;
};

/* The table asks for a node's key when it grows. */
typedef uint64_t (*au_hash_key_fn)(const struct au_hash_node *n);

int au_hash_grow(struct au_hash *h, au_hash_key_fn key) au_must_check;
void au_hash_free(struct au_hash *h);

/* Makes the table fit for one more node; -ENOMEM only if it has no buckets. */
static inline int au_must_check au_hash_reserve(struct au_hash *h,
						au_hash_key_fn key)
{
	return au_likely(h->nr < h->max) ? 0 : au_hash_grow(h, key);
}

/*
 * Keys that count up fall into neighbouring buckets, one after another: a table
 * larger than the cache is then walked, not jumped about in. The upper part of
 * the key displaces them, by Fibonacci hashing, which spreads what differs
 * there (pointers, say).
 */
static inline uint32_t au_hash_bucket(const struct au_hash *h, uint64_t key)
{
	uint64_t upper = (key >> h->bits) * 0x9E3779B97F4A7C15ULL;

	return ((uint32_t)key + (uint32_t)(upper >> 32)) & h->mask;
}

static inline void au_hash_add(struct au_hash *h, struct au_hash_node *n,
			       uint64_t key)
{
	struct au_hash_node **b = &h->buckets[au_hash_bucket(h, key)];

	n->next = *b;
	if (n->next)
		n->next->pprev = &n->next;
	n->pprev = b;
	*b = n;
	h->nr++;
}

static inline void au_hash_del(struct au_hash *h, struct au_hash_node *n)
{
	*n->pprev = n->next;
	if (n->next)
		n->next->pprev = n->pprev;
	n->pprev = NULL;
	h->nr--;
}

#endif
