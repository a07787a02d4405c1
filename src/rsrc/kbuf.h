/* SPDX-License-Identifier: MIT */
/*
 * Provided buffers: groups of buffers from which a request takes one when it
 * has data to put there. A group is either a list filled by PROVIDE_BUFFERS,
 * or a ring in memory shared with the application, which it fills by itself.
 *
 * Picking looks, taking takes: between the two the ring's lock is held, so a
 * buffer that got no data needs no giving back. The shared ring is hostile
 * memory: each entry is read once, when picked; taking works on that copy and
 * only writes. Ring lock held throughout.
 */
#ifndef AU_RSRC_KBUF_H
#define AU_RSRC_KBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "base/list.h"
#include "base/util.h"
#include "uapi/io_uring.h"

#define AU_KBUF_MAX        65536U /* in a list: a buffer's id has 16 bits */
#define AU_KBUF_BUNDLE_MAX 256 /* in one call: what the kernel peeks at */

struct au_kbuf_group {
	uint16_t bgid;
	bool is_ring;
	bool incremental; /* IOU_PBUF_RING_INC */
	uint16_t head, mask; /* of a ring: the true head */
	uint32_t min_left; /* a rest shorter than this is not used */
	uint32_t nr; /* of a list */
	uint64_t generation; /* tells a group from a later one of its name */
	struct io_uring_buf_ring *ring;
	struct au_slist list; /* of struct au_kbuf */
	int mem_fd; /* the engine's memory (IOU_PBUF_RING_MMAP), or -1 */
	size_t mem_size;
};

/* All groups of a ring, by id: two levels. */
struct au_kbufs {
	struct au_kbuf_group **blocks[256];
	uint64_t generation;
};

/* A buffer as it was when picked. */
struct au_kbuf_sel {
	struct au_kbuf_group *group;
	uint64_t addr, generation;
	uint32_t len; /* to be used */
	uint32_t whole; /* the buffer's own length */
	uint32_t last_whole; /* of a bundle's last one */
	uint16_t bid, head;
	/* Of a bundle: one was cut short; more were wanted than there are. */
	bool cut, all;
};

static inline struct au_kbuf_group *au_kbuf_find(const struct au_kbufs *k,
						 uint16_t bgid)
{
	struct au_kbuf_group *const *block = k->blocks[bgid >> 8];

	return block ? block[bgid & 255] : NULL;
}

static inline bool au_kbuf_is_ring(const struct au_kbufs *k, uint16_t bgid)
{
	const struct au_kbuf_group *g = au_kbuf_find(k, bgid);

	return g && g->is_ring;
}

/* A new, empty group in place of an empty one; NULL: no memory. */
struct au_kbuf_group *au_kbuf_group_new(struct au_kbufs *k, uint16_t bgid);
void au_kbuf_group_free(struct au_kbufs *k, struct au_kbuf_group *g);
void au_kbufs_free(struct au_kbufs *k);
/* In the child of a fork: it needs the groups' descriptors. */
void au_kbufs_keep(const struct au_kbufs *k);

/* `nr` buffers of `len` bytes from `addr` on. 0, -EOVERFLOW or -ENOMEM. */
int au_kbuf_provide(struct au_kbuf_group *g, uint64_t addr, uint32_t len,
		    uint32_t nr, uint16_t bid) au_must_check;

/* Forgets up to `nr` buffers of a list; how many there were. */
uint32_t au_kbuf_remove(struct au_kbuf_group *g, uint32_t nr);

/*
 * Looks at the group's next buffer, of which at most `want` bytes (0: all) are
 * to be used. 0, -ENOBUFS, or -ENOENT: there is no such group.
 */
int au_kbuf_pick(struct au_kbufs *k, uint16_t bgid, uint32_t want,
		 struct au_kbuf_sel *sel) au_must_check;

/* Takes it, `used` bytes of it: IORING_CQE_F_BUFFER, _BUF_MORE, the id. */
uint32_t au_kbuf_take(struct au_kbuf_sel *sel, uint32_t used);

/*
 * Gives back what was taken too much: `used` bytes of sel->len turned out to
 * be enough; with `used` 0 and a list, the whole buffer. A group that changed
 * meanwhile keeps what it has. The CQE flags.
 */
uint32_t au_kbuf_give_back(struct au_kbufs *k, uint16_t bgid,
			   struct au_kbuf_sel *sel, uint32_t used);

/*
 * A bundle: as many buffers as `want` bytes need (0: all there are), at most
 * `max`. `sel` describes the first. The number of vectors, or as above.
 */
int au_kbuf_pick_bundle(struct au_kbufs *k, uint16_t bgid, uint64_t want,
			struct au_kbuf_sel *sel, struct iovec *iov,
			int max) au_must_check;
uint32_t au_kbuf_take_bundle(struct au_kbuf_sel *sel, const struct iovec *iov,
			     int nr, uint64_t used);

#endif
