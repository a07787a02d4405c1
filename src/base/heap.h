/* SPDX-License-Identifier: MIT */
/*
 * A 4-ary min-heap of deadlines. Keys lie in the array, so sifting touches one
 * cache line a level; nodes know their place, so any of them can be removed.
 */
#ifndef AU_BASE_HEAP_H
#define AU_BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>
#include "base/atomic.h"
#include "base/util.h"

#define AU_HEAP_ARITY 4

struct au_heap_node {
	uint32_t index; /* place in the heap plus one; 0 is not queued */
};

struct au_heap_slot {
	uint64_t key;
	struct au_heap_node *node;
};

struct au_heap {
	struct au_heap_slot *slots;
	uint32_t nr, max;
};

int au_heap_grow(struct au_heap *h) au_must_check;

/* Makes room for one more; -ENOMEM. */
static inline int au_must_check au_heap_reserve(struct au_heap *h)
{
	return au_likely(h->nr < h->max) ? 0 : au_heap_grow(h);
}

/*
 * Key and node go in and out one by one: a slot moved as a whole would be
 * loaded by one wide load from two narrow stores, which the processor cannot
 * forward.
 */
static inline void au_heap_set(struct au_heap *h, uint32_t i, uint64_t key,
			       struct au_heap_node *n)
{
	h->slots[i].key = key;
	AU_WRITE_ONCE(h->slots[i].node, n);
	n->index = i + 1;
}

static inline uint32_t au_heap_parent(uint32_t i)
{
	return (i - 1) / AU_HEAP_ARITY;
}

/* Would a key at that place be less than its parent's? */
static inline bool au_heap_rises(const struct au_heap *h, uint32_t i,
				 uint64_t key)
{
	return i && h->slots[au_heap_parent(i)].key > key;
}

void au_heap_sift_up(struct au_heap *h, uint32_t i, uint64_t key,
		     struct au_heap_node *n);
void au_heap_fill(struct au_heap *h, uint32_t i);

/* There must be room. Timeouts of one length are armed in order: no sifting. */
static inline void au_heap_push(struct au_heap *h, struct au_heap_node *n,
				uint64_t key)
{
	uint32_t i = h->nr;

	au_store_relaxed(&h->nr, i + 1);
	if (au_heap_rises(h, i, key))
		au_heap_sift_up(h, i, key, n);
	else
		au_heap_set(h, i, key, n);
}

static inline void au_heap_remove(struct au_heap *h, struct au_heap_node *n)
{
	uint32_t i = n->index - 1;

	au_store_relaxed(&h->nr, h->nr - 1);
	n->index = 0;
	if (i != h->nr)
		au_heap_fill(h, i);
}

void au_heap_free(struct au_heap *h);

/* Also without the lock that guards the heap, for a hint. */
static inline bool au_heap_empty(const struct au_heap *h)
{
	return au_load_relaxed(&h->nr) == 0;
}

/* Only on a heap that is not empty. */
static inline uint64_t au_heap_first_key(const struct au_heap *h)
{
	return h->slots[0].key;
}

static inline struct au_heap_node *au_heap_first(const struct au_heap *h)
{
	return h->slots[0].node;
}

#endif
