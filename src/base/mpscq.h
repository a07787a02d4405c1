/* SPDX-License-Identifier: MIT */
/*
 * Many producers, one consumer, lock-free: finished requests on their way back
 * to their ring.
 *
 * Producers push onto a stack with a compare-and-swap; the consumer takes the
 * whole stack with one exchange and turns it round, so every producer's order
 * is kept. No ABA: nodes leave only all at once. The exchange (acquire) pairs
 * with the push (release), so what a producer wrote to a node before pushing
 * is seen by the consumer.
 */
#ifndef AU_BASE_MPSCQ_H
#define AU_BASE_MPSCQ_H

#include <stdbool.h>
#include "base/atomic.h"
#include "base/list.h"

struct au_mpscq {
	struct au_slist_node *top;
};

/* Returns true if the queue was empty: the one who fills it does the waking. */
static inline bool au_mpscq_push(struct au_mpscq *q, struct au_slist_node *n)
{
	struct au_slist_node *top = au_load_relaxed(&q->top);

	do {
		n->next = top;
	} while (!au_cmpxchg(&q->top, &top, n));
	return !top;
}

static inline bool au_mpscq_empty(struct au_mpscq *q)
{
	return !au_load_relaxed(&q->top);
}

/* Everything pushed so far, oldest first. Only one thread at a time. */
static inline struct au_slist_node *au_mpscq_take(struct au_mpscq *q)
{
	struct au_slist_node *n = au_xchg(&q->top, NULL), *out = NULL;

	while (n) {
		struct au_slist_node *next = n->next;

		n->next = out;
		out = n;
		n = next;
	}
	return out;
}

#endif
