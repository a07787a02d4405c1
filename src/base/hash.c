/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

#define HASH_MIN_BITS 6

/* The one in front, which must not be the first of its chain. */
static struct au_hash_node *hash_before(const struct au_hash_node *n)
{
	return au_container_of(n->pprev, struct au_hash_node, next);
}

int au_hash_grow(struct au_hash *h, au_hash_key_fn key)
{
	uint32_t bits = h->bits ? h->bits + 1 : HASH_MIN_BITS;
	struct au_hash bigger = { .bits = bits, .mask = (1U << bits) - 1 };

	/* A quarter full at most: the usual chain is of one. */
	bigger.max = bigger.mask / 4 + 1;
	bigger.buckets = calloc(1UL << bits, sizeof(*bigger.buckets));
	if (!bigger.buckets)
		return h->bits ? 0 : -ENOMEM; /* longer chains will do */
	for (uint32_t i = 0; h->bits && i < 1U << h->bits; i++) {
		struct au_hash_node *n = h->buckets[i], *last = n;

		/* Oldest first, for a chain is newest first. */
		while (last && last->next)
			last = last->next;
		while (last) {
			struct au_hash_node *before =
				last == n ? NULL : hash_before(last);

			au_hash_add(&bigger, last, key(last));
			last = before;
		}
	}
	free(h->buckets);
	*h = bigger;
	return 0;
}

void au_hash_free(struct au_hash *h)
{
	free(h->buckets);
	*h = (struct au_hash){ 0 };
}
