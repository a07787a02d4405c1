/* SPDX-License-Identifier: MIT */
/*
 * The liburing front: rings of provided buffers. The entries belong to the
 * application, which adds to them by inlined code; only registration and the
 * memory are handled here.
 */
#include <string.h>
#include <sys/mman.h>

#include "abi/front.h"
#include "anyuring.h"

/* `flags` are added to those in *reg, where the caller finds them after. */
int io_uring_register_buf_ring(struct io_uring *ring,
			       struct io_uring_buf_reg *reg, unsigned int flags)
{
	reg->flags |= (uint16_t)flags;
	return au_front_register(ring, IORING_REGISTER_PBUF_RING, reg, 1);
}

int io_uring_unregister_buf_ring(struct io_uring *ring, int bgid)
{
	struct io_uring_buf_reg reg = { .bgid = (uint16_t)bgid };

	return au_front_register(ring, IORING_UNREGISTER_PBUF_RING, &reg, 1);
}

int io_uring_buf_ring_head(struct io_uring *ring, int buf_group, uint16_t *head)
{
	struct io_uring_buf_status status = {
		.buf_group = (uint32_t)buf_group,
	};
	int ret;

	ret = au_front_register(ring, IORING_REGISTER_PBUF_STATUS, &status, 1);
	if (ret)
		return ret;
	*head = (uint16_t)status.head;
	return 0;
}

/* Returns the ring, empty, or NULL with the error in *err. */
struct io_uring_buf_ring *io_uring_setup_buf_ring(struct io_uring *ring,
						  unsigned int nentries,
						  int bgid, unsigned int flags,
						  int *err)
{
	size_t bytes = nentries * sizeof(struct io_uring_buf);
	struct io_uring_buf_ring *br;
	struct io_uring_buf_reg reg;

	br = au_front_map(bytes, MAP_PRIVATE);
	if (ANYURING_IS_ERR(br)) {
		*err = (int)(intptr_t)br;
		return NULL;
	}

	memset(&reg, 0, sizeof(reg));
	reg.ring_addr = (uintptr_t)br;
	reg.ring_entries = nentries;
	reg.bgid = (uint16_t)bgid;
	*err = io_uring_register_buf_ring(ring, &reg, flags);
	if (*err) {
		au_front_unmap(br, bytes);
		return NULL;
	}
	br->tail = 0;
	return br;
}

/* If the group is not there, the memory stays as well. */
int io_uring_free_buf_ring(struct io_uring *ring, struct io_uring_buf_ring *br,
			   unsigned int nentries, int bgid)
{
	int ret = io_uring_unregister_buf_ring(ring, bgid);

	if (ret)
		return ret;
	au_front_unmap(br, nentries * sizeof(struct io_uring_buf));
	return 0;
}
