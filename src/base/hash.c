/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

#define HASH_MIN_BITS 6

int au_hash_reserve(struct au_hash *h, au_hash_key_fn key)
{
	struct au_hash bigger = { .bits = h->bits ? h->bits + 1 :
						    HASH_MIN_BITS };

	if (h->bits && h->nr < 1U << h->bits)
		return 0;
	bigger.buckets = calloc(1UL << bigger.bits, sizeof(*bigger.buckets));
	if (!bigger.buckets)
		return h->bits ? 0 : -ENOMEM; /* longer chains will do */
	for (uint32_t i = 0; h->bits && i < 1U << h->bits; i++) {
		struct au_hash_node *n = h->buckets[i], *next;

		for (; n; n = next) {
			next = n->next;
			au_hash_add(&bigger, n, key(n));
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
