/* SPDX-License-Identifier: MIT */
#include "rsrc/rsrc.h"

#include <errno.h>
#include <stdlib.h>

int au_rsrc_table_alloc(struct au_rsrc_table *t, uint32_t nr)
{
	t->nodes = calloc(nr, sizeof(*t->nodes));
	if (!t->nodes)
		return -ENOMEM;
	t->nr = nr;
	t->alloc_hint = t->alloc_start = 0;
	t->alloc_end = nr;
	t->registered = true;
	return 0;
}

void au_rsrc_table_free(struct au_rsrc_table *t)
{
	free(t->nodes);
	*t = (struct au_rsrc_table){ 0 };
}

static struct au_rsrc_node *node_new(enum au_rsrc_kind kind, uint64_t tag)
{
	struct au_rsrc_node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->refs = 1;
	n->kind = (uint8_t)kind;
	n->fd = -1;
	n->tag = tag;
	return n;
}

struct au_rsrc_node *au_rsrc_file(int hidden_fd, uint64_t tag)
{
	struct au_rsrc_node *n = node_new(AU_RSRC_FILE, tag);

	if (n)
		n->fd = hidden_fd;
	return n;
}

struct au_rsrc_node *au_rsrc_buffer(uint64_t addr, uint64_t len, uint64_t tag)
{
	struct au_rsrc_node *n = node_new(AU_RSRC_BUFFER, tag);

	if (n) {
		n->addr = addr;
		n->len = len;
	}
	return n;
}

int au_rsrc_find_free(struct au_rsrc_table *t)
{
	uint32_t span = t->alloc_end - t->alloc_start;

	if (t->alloc_hint < t->alloc_start || t->alloc_hint >= t->alloc_end)
		t->alloc_hint = t->alloc_start;
	for (uint32_t i = 0; i < span; i++) {
		uint32_t at = t->alloc_hint + i;

		if (at >= t->alloc_end)
			at -= span;
		if (!t->nodes[at]) {
			t->alloc_hint = at + 1;
			return (int)at;
		}
	}
	return -ENFILE;
}
