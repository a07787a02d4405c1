/* SPDX-License-Identifier: MIT */
/* Intrusive lists: a doubly linked ring of nodes, and a singly linked FIFO. */
#ifndef AU_BASE_LIST_H
#define AU_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct au_list {
	struct au_list *next, *prev;
};

static inline void au_list_init(struct au_list *l)
{
	l->next = l->prev = l;
}

static inline bool au_list_empty(const struct au_list *l)
{
	return l->next == l;
}

static inline void au_list_add_tail(struct au_list *l, struct au_list *n)
{
	n->next = l;
	n->prev = l->prev;
	l->prev->next = n;
	l->prev = n;
}

/* Leaves `n` an empty list, so that deleting twice is harmless. */
static inline void au_list_del(struct au_list *n)
{
	n->next->prev = n->prev;
	n->prev->next = n->next;
	au_list_init(n);
}

/* Moves everything of `from` to the empty list `to`. */
static inline void au_list_splice(struct au_list *from, struct au_list *to)
{
	if (au_list_empty(from)) {
		au_list_init(to);
		return;
	}
	*to = *from;
	to->next->prev = to;
	to->prev->next = to;
	au_list_init(from);
}

#define au_list_for_each_safe(pos, tmp, head)                            \
	for ((pos) = (head)->next, (tmp) = (pos)->next; (pos) != (head); \
	     (pos) = (tmp), (tmp) = (pos)->next)

/* Singly linked FIFO. */
struct au_slist_node {
	struct au_slist_node *next;
};

struct au_slist {
	struct au_slist_node *head, **tail;
};

static inline void au_slist_init(struct au_slist *l)
{
	l->head = NULL;
	l->tail = &l->head;
}

static inline bool au_slist_empty(const struct au_slist *l)
{
	return !l->head;
}

static inline void au_slist_push(struct au_slist *l, struct au_slist_node *n)
{
	n->next = NULL;
	*l->tail = n;
	l->tail = &n->next;
}

static inline struct au_slist_node *au_slist_pop(struct au_slist *l)
{
	struct au_slist_node *n = l->head;

	if (n) {
		l->head = n->next;
		if (!l->head)
			l->tail = &l->head;
	}
	return n;
}

#endif
