/* SPDX-License-Identifier: MIT */
#include "base/heap.h"

#include <errno.h>
#include <stdlib.h>

#define HEAP_ARITY 4
#define HEAP_MIN   64

/*
 * Key and node go in and out one by one: a slot moved as a whole would be
 * loaded by one wide load from two narrow stores, which the processor cannot
 * forward.
 */
static inline void heap_set(struct au_heap *h, uint32_t i, uint64_t key,
			    struct au_heap_node *n)
{
	h->slots[i].key = key;
	AU_WRITE_ONCE(h->slots[i].node, n);
	n->index = i + 1;
}

static inline void heap_move(struct au_heap *h, uint32_t to, uint32_t from)
{
	heap_set(h, to, h->slots[from].key, AU_READ_ONCE(h->slots[from].node));
}

static void heap_sift_up(struct au_heap *h, uint32_t i, uint64_t key,
			 struct au_heap_node *n)
{
	while (i) {
		uint32_t parent = (i - 1) / HEAP_ARITY;

		if (h->slots[parent].key <= key)
			break;
		heap_move(h, i, parent);
		i = parent;
	}
	heap_set(h, i, key, n);
}

static void heap_sift_down(struct au_heap *h, uint32_t i, uint64_t key,
			   struct au_heap_node *n)
{
	for (;;) {
		uint32_t first = i * HEAP_ARITY + 1, best = first;

		if (first >= h->nr)
			break;
		for (uint32_t c = first + 1;
		     c < first + HEAP_ARITY && c < h->nr; c++) {
			if (h->slots[c].key < h->slots[best].key)
				best = c;
		}
		if (key <= h->slots[best].key)
			break;
		heap_move(h, i, best);
		i = best;
	}
	heap_set(h, i, key, n);
}

int au_heap_grow(struct au_heap *h)
{
	uint32_t max = h->max ? h->max * 2 : HEAP_MIN;
	struct au_heap_slot *slots;

	slots = realloc(h->slots, max * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	h->slots = slots;
	h->max = max;
	return 0;
}

void au_heap_push(struct au_heap *h, struct au_heap_node *n, uint64_t key)
{
	au_store_relaxed(&h->nr, h->nr + 1);
	heap_sift_up(h, h->nr - 1, key, n);
}

void au_heap_remove(struct au_heap *h, struct au_heap_node *n)
{
	uint32_t i = n->index - 1;
	uint64_t key;

	au_store_relaxed(&h->nr, h->nr - 1);
	n->index = 0;
	if (i == h->nr)
		return;
	/* The last one takes its place. */
	key = h->slots[h->nr].key;
	n = AU_READ_ONCE(h->slots[h->nr].node);
	if (i && h->slots[(i - 1) / HEAP_ARITY].key > key)
		heap_sift_up(h, i, key, n);
	else
		heap_sift_down(h, i, key, n);
}

void au_heap_free(struct au_heap *h)
{
	free(h->slots);
	*h = (struct au_heap){ 0 };
}
