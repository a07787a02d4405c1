/* SPDX-License-Identifier: MIT */
/*
 * Registered files and buffers: tables of nodes. A request that outlives its
 * submit call holds a reference on the node it uses; a node that left its
 * table ends with its last reference, and posts its tag then. Ring lock held.
 */
#ifndef AU_RSRC_RSRC_H
#define AU_RSRC_RSRC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include "base/util.h"

enum au_rsrc_kind {
	AU_RSRC_FILE,
	AU_RSRC_BUFFER,
};

struct au_rsrc_node {
	uint32_t refs; /* the table's and the requests' */
	uint8_t kind; /* enum au_rsrc_kind */
	uint8_t hint; /* AU_HINT_*, of a file */
	int fd; /* a hidden duplicate */
	uint64_t tag; /* user_data of the CQE at the end; 0 none */
	uint64_t addr, len; /* of a buffer */
};

struct au_rsrc_table {
	struct au_rsrc_node **nodes; /* NULL slots are empty */
	uint32_t nr;
	uint32_t alloc_hint; /* where to look for a free slot */
	uint32_t alloc_start, alloc_end; /* range for ALLOC */
	bool registered;
};

/* What was learnt of a file, to spare system calls known to be futile. */
enum {
	AU_HINT_NOWAIT_REFUSED = 1 << 0, /* no RWF_NOWAIT: poll, then worker */
	AU_HINT_MEMORY =
		1 << 1, /* a file in memory: plain calls do not sleep */
	AU_HINT_WRITE_INLINE = 1 << 2, /* buffered regular file */
	AU_HINT_ASKED = 1 << 3, /* whether it is: */
	AU_HINT_DIRECT = 1 << 4, /* a disk's file, open with O_DIRECT */
};

static inline struct au_rsrc_node *au_rsrc_lookup(const struct au_rsrc_table *t,
						  uint32_t index)
{
	return index < t->nr ? t->nodes[index] : NULL;
}

/* A table of `nr` empty slots. 0 or -ENOMEM. */
int au_rsrc_table_alloc(struct au_rsrc_table *t, uint32_t nr) au_must_check;
void au_rsrc_table_free(struct au_rsrc_table *t);

/* Nodes with one reference, the table's. NULL: no memory. */
struct au_rsrc_node *au_rsrc_file(int hidden_fd, uint64_t tag);
struct au_rsrc_node *au_rsrc_buffer(uint64_t addr, uint64_t len, uint64_t tag);

/* A free slot within the allocation range, or -ENFILE. */
int au_rsrc_find_free(struct au_rsrc_table *t) au_must_check;

#endif
