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

/* There must be room. */
void au_heap_push(struct au_heap *h, struct au_heap_node *n, uint64_t key);
void au_heap_remove(struct au_heap *h, struct au_heap_node *n);
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
