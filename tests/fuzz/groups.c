/* SPDX-License-Identifier: MIT */
/*
 * The application's side of rings of buffers: it registers them, adds buffers,
 * and at the end says how far each got.
 */
#include <sys/mman.h>
#include "anyuring.h"
#include "program.h"

struct group {
	struct io_uring_buf_ring *ring;
	bool registered;
	uint16_t tail;
};

static struct group groups[MAX_RINGS][NR_GROUPS];

static struct io_uring_buf_ring *group_memory(void)
{
	return mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int groups_register(const struct backend *b, int fd, uint32_t ring, uint32_t op,
		    uint32_t group)
{
	struct group *g = &groups[ring][group % NR_GROUPS];
	struct io_uring_buf_reg reg = { .bgid = (uint16_t)group };
	bool registers = op == IORING_REGISTER_PBUF_RING;
	int r;

	if (registers) {
		reg.ring_entries = GROUP_BUFS;
		if (group == GROUP_MMAP)
			reg.flags = IOU_PBUF_RING_MMAP;
		else if (group == GROUP_INC)
			reg.flags = IOU_PBUF_RING_INC;
		if (!g->registered)
			g->ring = group == GROUP_MMAP ? NULL : group_memory();
		reg.ring_addr = (uintptr_t)g->ring;
		if (group == GROUP_MMAP)
			reg.ring_addr = 0;
	}
	r = b->reg((unsigned int)fd, op, &reg, 1);
	if (r < 0)
		return r;
	g->registered = registers;
	g->tail = 0;
	if (registers && group == GROUP_MMAP)
		g->ring = b->mmap(
			NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			(off_t)(IORING_OFF_PBUF_RING |
				(uint64_t)group << IORING_OFF_PBUF_SHIFT));
	if (registers && ANYURING_IS_ERR(g->ring))
		g->registered = false;
	return r;
}

static int group_head(const struct backend *b, int fd, uint32_t group)
{
	struct io_uring_buf_status st = { .buf_group = group };
	int r = b->reg((unsigned int)fd, IORING_REGISTER_PBUF_STATUS, &st, 1);

	return r < 0 ? r : (int)(uint16_t)st.head;
}

int groups_fill(const struct backend *b, int fd, uint32_t ring, uint32_t group,
		uint32_t nr)
{
	struct group *g = &groups[ring][group % NR_GROUPS];
	int head = g->registered ? group_head(b, fd, group) : -1;
	uint32_t left, len = group_len(group);

	if (head < 0)
		return head;
	left = GROUP_BUFS - (uint16_t)(g->tail - (uint16_t)head);
	nr = nr < left ? nr : left;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t bid = g->tail++ % GROUP_BUFS;
		struct io_uring_buf *buf = &g->ring->bufs[bid];

		/* The first one shares its last word with the tail. */
		buf->addr = (uintptr_t)arena + group_page(ring, group) * PAGE +
			    bid * len;
		buf->len = len;
		buf->bid = (uint16_t)bid;
	}
	__atomic_store_n(&g->ring->tail, g->tail, __ATOMIC_RELEASE);
	return (int)nr;
}

void groups_show(const struct backend *b, int fd, uint32_t ring)
{
	for (uint32_t i = 0; i < NR_GROUPS; i++) {
		const struct group *g = &groups[ring][i];

		if (!g->registered)
			continue;
		put("ring %u group %u head %d tail %u", ring, i,
		    group_head(b, fd, i), g->tail);
		for (uint32_t n = 0; i == GROUP_INC && n < GROUP_BUFS; n++) {
			uint64_t addr = g->ring->bufs[n].addr;

			put(" %u@%#x", g->ring->bufs[n].len,
			    addr ? (unsigned int)(addr - (uintptr_t)arena) : 0);
		}
		put("\n");
	}
}
