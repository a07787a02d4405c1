/* SPDX-License-Identifier: MIT */
/*
 * A ring's entries are read through AU_READ_ONCE, its tail with acquire, and
 * no index taken from it goes unmasked. What is written back (an incremental
 * buffer's rest) is computed from the copy made at the pick.
 */
#include "rsrc/kbuf.h"

#include <errno.h>
#include <stdlib.h>
#include "base/atomic.h"
#include "sys/fd.h"
#include "sys/syscall.h"

struct au_kbuf {
	struct au_slist_node node;
	uint64_t addr;
	uint32_t len;
	uint16_t bid;
};

struct au_kbuf_group *au_kbuf_group_new(struct au_kbufs *k, uint16_t bgid)
{
	struct au_kbuf_group ***block = &k->blocks[bgid >> 8], *g;

	if (!*block)
		*block = calloc(256, sizeof(**block));
	g = *block ? calloc(1, sizeof(*g)) : NULL;
	if (!g)
		return NULL;
	if ((*block)[bgid & 255])
		au_kbuf_group_free(k, (*block)[bgid & 255]);
	g->bgid = bgid;
	g->mem_fd = -1;
	g->generation = ++k->generation;
	au_slist_init(&g->list);
	(*block)[bgid & 255] = g;
	return g;
}

void au_kbuf_group_free(struct au_kbufs *k, struct au_kbuf_group *g)
{
	k->blocks[g->bgid >> 8][g->bgid & 255] = NULL;
	(void)au_kbuf_remove(g, g->nr);
	if (g->mem_fd >= 0) {
		/* The application's own mapping lives on. */
		(void)au_syscall(SYS_munmap, g->ring, g->mem_size);
		au_fd_close_hidden(g->mem_fd);
	}
	free(g);
}

void au_kbufs_free(struct au_kbufs *k)
{
	for (int b = 0; b < 256; b++) {
		for (int i = 0; k->blocks[b] && i < 256; i++) {
			if (k->blocks[b][i])
				au_kbuf_group_free(k, k->blocks[b][i]);
		}
		free(k->blocks[b]);
		k->blocks[b] = NULL;
	}
}

void au_kbufs_keep(const struct au_kbufs *k)
{
	for (int b = 0; b < 256; b++) {
		for (int i = 0; k->blocks[b] && i < 256; i++) {
			if (k->blocks[b][i])
				au_fd_keep(k->blocks[b][i]->mem_fd);
		}
	}
}

static struct au_kbuf *kbuf_first(const struct au_kbuf_group *g)
{
	return au_container_of(g->list.head, struct au_kbuf, node);
}

int au_kbuf_provide(struct au_kbuf_group *g, uint64_t addr, uint32_t len,
		    uint32_t nr, uint16_t bid)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		struct au_kbuf *b;

		if (g->nr == AU_KBUF_MAX - 1)
			return i ? 0 : -EOVERFLOW;
		b = malloc(sizeof(*b));
		if (!b)
			return i ? 0 : -ENOMEM;
		b->addr = addr + (uint64_t)i * len;
		b->len = len;
		b->bid = (uint16_t)(bid + i);
		au_slist_push(&g->list, &b->node);
		g->nr++;
	}
	return 0;
}

uint32_t au_kbuf_remove(struct au_kbuf_group *g, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr && g->nr; i++) {
		free(au_container_of(au_slist_pop(&g->list), struct au_kbuf,
				     node));
		g->nr--;
	}
	return i;
}

static struct io_uring_buf *ring_entry(const struct au_kbuf_group *g,
				       uint16_t at)
{
	return &g->ring->bufs[at & g->mask];
}

/* Entries the application has added. */
static uint16_t ring_ready(const struct au_kbuf_group *g)
{
	/* pairs with the application's release of the tail */
	return (uint16_t)(au_load_acquire(&g->ring->tail) - g->head);
}

int au_kbuf_pick(struct au_kbufs *k, uint16_t bgid, uint32_t want,
		 struct au_kbuf_sel *sel)
{
	struct au_kbuf_group *g = au_kbuf_find(k, bgid);

	if (au_unlikely(!g))
		return -ENOENT;
	if (g->is_ring) {
		struct io_uring_buf *b = ring_entry(g, g->head);

		if (!ring_ready(g))
			return -ENOBUFS;
		sel->addr = AU_READ_ONCE(b->addr);
		sel->whole = AU_READ_ONCE(b->len);
		sel->bid = AU_READ_ONCE(b->bid);
	} else {
		struct au_kbuf *b = kbuf_first(g);

		if (!g->nr)
			return -ENOBUFS;
		sel->addr = b->addr;
		sel->whole = b->len;
		sel->bid = b->bid;
	}
	sel->group = g;
	sel->generation = g->generation;
	sel->head = g->head;
	sel->len = want ? au_min_u32(want, sel->whole) : sel->whole;
	return 0;
}

static uint32_t sel_flags(const struct au_kbuf_sel *sel, bool more)
{
	return IORING_CQE_F_BUFFER | (more ? IORING_CQE_F_BUF_MORE : 0U) |
	       (uint32_t)sel->bid << IORING_CQE_BUFFER_SHIFT;
}

/* `used` of `whole` bytes are gone: true if the rest is still to be used. */
static bool ring_consume(struct au_kbuf_group *g, uint64_t addr, uint32_t whole,
			 uint32_t used)
{
	struct io_uring_buf *b = ring_entry(g, g->head);
	uint32_t left = whole - used;

	if (!g->incremental) {
		g->head++;
		return false;
	}
	if (left && (!used || left >= g->min_left)) {
		AU_WRITE_ONCE(b->addr, addr + used);
		AU_WRITE_ONCE(b->len, left);
		return true;
	}
	AU_WRITE_ONCE(b->len, 0);
	g->head++;
	return false;
}

uint32_t au_kbuf_take(struct au_kbuf_sel *sel, uint32_t used)
{
	struct au_kbuf_group *g = sel->group;

	if (g->is_ring)
		return sel_flags(sel,
				 ring_consume(g, sel->addr, sel->whole,
					      au_min_u32(used, sel->whole)));
	(void)au_kbuf_remove(g, 1);
	return sel_flags(sel, false);
}

static void list_give_back(struct au_kbuf_group *g,
			   const struct au_kbuf_sel *sel)
{
	struct au_kbuf *b = malloc(sizeof(*b));

	if (!b)
		return;
	b->addr = sel->addr;
	b->len = sel->whole;
	b->bid = sel->bid;
	/* To the front, where it came from. */
	b->node.next = g->list.head;
	if (!g->list.head)
		g->list.tail = &b->node.next;
	g->list.head = &b->node;
	g->nr++;
}

uint32_t au_kbuf_give_back(struct au_kbufs *k, uint16_t bgid,
			   struct au_kbuf_sel *sel, uint32_t used)
{
	struct au_kbuf_group *g = au_kbuf_find(k, bgid);
	struct io_uring_buf *b;

	if (!g || g->generation != sel->generation)
		return sel_flags(sel, false);
	if (!g->is_ring) {
		if (!used)
			list_give_back(g, sel);
		return sel_flags(sel, false);
	}
	b = ring_entry(g, sel->head);
	if (!g->incremental) {
		if (!used && g->head == (uint16_t)(sel->head + 1))
			g->head--;
		return sel_flags(sel, false);
	}
	if (used < sel->len &&
	    (g->head == sel->head ?
		     AU_READ_ONCE(b->addr) == sel->addr + sel->len :
		     g->head == (uint16_t)(sel->head + 1))) {
		g->head = sel->head;
		return sel_flags(sel,
				 ring_consume(g, sel->addr, sel->whole, used));
	}
	return sel_flags(sel, g->head == sel->head);
}

int au_kbuf_pick_bundle(struct au_kbufs *k, uint16_t bgid, uint64_t want,
			struct au_kbuf_sel *sel, struct iovec *iov, int max)
{
	int r = au_kbuf_pick(k, bgid, 0, sel), nr = 0;
	struct au_kbuf_group *g = sel->group;
	uint16_t ready;

	if (r < 0)
		return r;
	if (!sel->whole)
		return -ENOBUFS;
	if (!want)
		want = INT32_MAX;
	sel->last_whole = sel->whole;
	sel->cut = g->is_ring && !g->incremental && sel->whole > want;
	iov[nr++] = (struct iovec){ .iov_base = au_ptr(sel->addr),
				    .iov_len = au_min_u64(sel->whole, want) };
	want -= iov[0].iov_len;
	/* A list's buffers are not neighbours: one is the bundle. */
	ready = g->is_ring ? ring_ready(g) : 1;
	for (; nr < max && nr < ready && want; nr++) {
		struct io_uring_buf *b =
			ring_entry(g, (uint16_t)(g->head + nr));
		uint32_t whole = AU_READ_ONCE(b->len);

		/* Only an incremental buffer is used in part. */
		if (whole > want && !g->incremental) {
			sel->cut = true;
			break;
		}
		sel->last_whole = whole;
		iov[nr].iov_base = au_ptr(AU_READ_ONCE(b->addr));
		iov[nr].iov_len = au_min_u64(sel->last_whole, want);
		want -= iov[nr].iov_len;
	}
	sel->all = g->is_ring ? nr == ready && want : g->nr == 1;
	return nr;
}

uint32_t au_kbuf_take_bundle(struct au_kbuf_sel *sel, const struct iovec *iov,
			     int nr, uint64_t used)
{
	struct au_kbuf_group *g = sel->group;
	bool more = false;

	for (int i = 0; i < nr && (used || !i); i++) {
		uint64_t part = au_min_u64(used, iov[i].iov_len);

		used -= part;
		if (!g->is_ring) {
			(void)au_kbuf_remove(g, 1);
			continue;
		}
		/* Of the last one a part may have been asked for only. */
		more = ring_consume(g, (uintptr_t)iov[i].iov_base,
				    i == nr - 1 ? sel->last_whole :
						  (uint32_t)iov[i].iov_len,
				    (uint32_t)part);
	}
	return sel_flags(sel, more);
}
