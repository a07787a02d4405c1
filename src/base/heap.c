/* SPDX-License-Identifier: MIT */
#include "base/heap.h"

#include <errno.h>
#include <stdlib.h>

#define HEAP_MIN 64

static inline void heap_move(struct au_heap *h, uint32_t to, uint32_t from)
{
	au_heap_set(h, to, h->slots[from].key,
		    AU_READ_ONCE(h->slots[from].node));
}

void au_heap_sift_up(struct au_heap *h, uint32_t i, uint64_t key,
		     struct au_heap_node *n)
{
	for (; au_heap_rises(h, i, key); i = au_heap_parent(i))
		heap_move(h, i, au_heap_parent(i));
	au_heap_set(h, i, key, n);
}

static void heap_sift_down(struct au_heap *h, uint32_t i, uint64_t key,
			   struct au_heap_node *n)
{
	for (;;) {
		uint32_t first = i * AU_HEAP_ARITY + 1, best = first;

		if (first >= h->nr)
			break;
		for (uint32_t c = first + 1;
		     c < first + AU_HEAP_ARITY && c < h->nr; c++) {
			if (h->slots[c].key < h->slots[best].key)
				best = c;
		}
		if (key <= h->slots[best].key)
			break;
		heap_move(h, i, best);
		i = best;
	}
	au_heap_set(h, i, key, n);
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

/* The last one takes the place of one that left. */
void au_heap_fill(struct au_heap *h, uint32_t i)
{
	uint64_t key = h->slots[h->nr].key;
	struct au_heap_node *n = AU_READ_ONCE(h->slots[h->nr].node);

	if (au_heap_rises(h, i, key))
		au_heap_sift_up(h, i, key, n);
	else
		heap_sift_down(h, i, key, n);
}

void au_heap_free(struct au_heap *h)
{
	free(h->slots);
	*h = (struct au_heap){ 0 };
}
