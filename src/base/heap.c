/* SPDX-License-Identifier: MIT */
#include "base/heap.h"

#include <errno.h>
#include <stdlib.h>

#define HEAP_ARITY 4
#define HEAP_MIN   64

static void heap_set(struct au_heap *h, uint32_t i, struct au_heap_slot s)
{
	h->slots[i] = s;
	s.node->index = i + 1;
}

static void heap_sift_up(struct au_heap *h, uint32_t i, struct au_heap_slot s)
{
	while (i) {
		uint32_t parent = (i - 1) / HEAP_ARITY;

		if (h->slots[parent].key <= s.key)
			break;
		heap_set(h, i, h->slots[parent]);
		i = parent;
	}
	heap_set(h, i, s);
}

static void heap_sift_down(struct au_heap *h, uint32_t i, struct au_heap_slot s)
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
		if (s.key <= h->slots[best].key)
			break;
		heap_set(h, i, h->slots[best]);
		i = best;
	}
	heap_set(h, i, s);
}

int au_heap_reserve(struct au_heap *h)
{
	uint32_t max = h->max ? h->max * 2 : HEAP_MIN;
	struct au_heap_slot *slots;

	if (h->nr < h->max)
		return 0;
	slots = realloc(h->slots, max * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	h->slots = slots;
	h->max = max;
	return 0;
}

void au_heap_push(struct au_heap *h, struct au_heap_node *n, uint64_t key)
{
	struct au_heap_slot s = { .key = key, .node = n };

	au_store_relaxed(&h->nr, h->nr + 1);
	heap_sift_up(h, h->nr - 1, s);
}

void au_heap_remove(struct au_heap *h, struct au_heap_node *n)
{
	uint32_t i = n->index - 1;
	struct au_heap_slot last = h->slots[h->nr - 1];

	au_store_relaxed(&h->nr, h->nr - 1);
	n->index = 0;
	if (i == h->nr)
		return;
	if (i && h->slots[(i - 1) / HEAP_ARITY].key > last.key)
		heap_sift_up(h, i, last);
	else
		heap_sift_down(h, i, last);
}

void au_heap_free(struct au_heap *h)
{
	free(h->slots);
	*h = (struct au_heap){ 0 };
}
