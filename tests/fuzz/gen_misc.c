/* SPDX-License-Identifier: MIT */
/* Nops, messages between rings, slots of the file table, lists of buffers. */
#include <poll.h>
#include <sys/socket.h>
#include "gen.h"

void chain_nop(uint32_t n)
{
	while (n-- && room()) {
		struct fsqe *q = add(IORING_OP_NOP);

		if (!chance(40))
			continue;
		q->opflags = rnd(64) & (chance(90) ? 0xfU : 0xffU);
		q->len = chance(50) ? rnd(100) : (uint32_t) - (int)rnd(100);
		if (q->opflags & IORING_NOP_FILE)
			set_fd(q, OBJ_FILE);
		q->buf_index = (uint16_t)rnd(5);
	}
}

static void madvise_one(void)
{
	struct fsqe *q = add(IORING_OP_MADVISE);

	q->addr = arg(ARG_MEM, (FIXED_PAGE + 6) * PAGE);
	q->len = PAGE;
	q->opflags = rnd(4);
}

/* A descriptor that is none, or a device. */
static void odd_file(void)
{
	struct fsqe *q = add(chance(50) ? IORING_OP_READ :
			     chance(50) ? IORING_OP_POLL_ADD :
			     chance(50) ? IORING_OP_RECV :
					  IORING_OP_FSYNC);

	q->fd = arg(ARG_OBJ, chance(50) ? OBJ_CLOSED : OBJ_ZERO);
	if (q->op == IORING_OP_POLL_ADD) {
		q->opflags = POLLIN | POLLOUT;
	} else if (q->op != IORING_OP_FSYNC) {
		q->addr = arg(ARG_MEM, mem());
		q->len = rnd(100);
	}
}

void chain_misc(uint32_t n)
{
	struct fsqe *q;
	uint32_t c;

	while (n-- && room()) {
		switch (rnd(4)) {
		case 0:
			c = rnd(4);
			if (!take(OBJ_SPARE + (int)c))
				break;
			q = add(IORING_OP_CLOSE);
			q->fd = arg(ARG_OBJ, OBJ_SPARE + c);
			break;
		case 1:
			q = add((uint8_t)(chance(50) ? 200 : IORING_OP_NOP));
			q->fd = arg(ARG_OBJ, OBJ_CLOSED);
			break;
		case 2:
			/* It empties a page: not while others do. */
			if (take(OBJ_ZERO))
				madvise_one();
			break;
		default:
			odd_file();
			break;
		}
	}
}

/* To another ring: a CQE, or a file from a slot. */
static void message_one(uint32_t to)
{
	bool file = chance(25), pass;
	struct fsqe *q = add(IORING_OP_MSG_RING);

	q->fd = chance(95) ? arg(ARG_RING, to) : arg(ARG_OBJ, OBJ_FILE);
	/* Told apart from what the other ring's own requests say. */
	q->off = arg(ARG_NUM, 0xa0000000ULL | (uint64_t)g.chain << 4 |
				      (g.messages++ & 15));
	if (file && take_slots()) {
		q->addr = arg(ARG_NUM, IORING_MSG_SEND_FD);
		/* Files only: what a channel is used by must be known. */
		q->addr3 = arg(ARG_NUM, chance(80) ? rnd(2) : 8 + rnd(4));
		q->file_index = chance(70) ? 9 + rnd(2) : chance(50) ? ~0U : 0;
		q->opflags = chance(20) ? IORING_MSG_RING_CQE_SKIP : 0;
		q->len = chance(5);
		return;
	}
	g.step->expect++;
	pass = chance(20);
	q->len = rnd(1000);
	q->opflags = pass ? IORING_MSG_RING_FLAGS_PASS : 0;
	/* Bits that mean something to who reads the CQE stay out. */
	if (pass || chance(5))
		q->file_index = 1U << (8 + rnd(7));
	if (chance(4))
		q->addr = arg(ARG_NUM, 2);
}

void chain_message(uint32_t n)
{
	uint32_t to = rnd(g.nr_rings);

	/* What comes to a ring comes in one order. */
	if (!has(IORING_OP_MSG_RING) || !take(OBJ_SPARE))
		return;
	if (g.slots_busy[to])
		return;
	g.slots_busy[to] = to != g.step->ring;
	while (n-- && room())
		message_one(to);
}

/* The free slots of the ring's table. */
static void slot_one(void)
{
	struct fsqe *q;

	switch (rnd(6)) {
	case 0:
	case 1:
		q = add(IORING_OP_CLOSE);
		q->file_index = 9 + rnd(3);
		break;
	case 2:
		q = add(IORING_OP_FILES_UPDATE);
		q->addr = arg(ARG_FDS, 0);
		q->len = chance(80) ? 1 + rnd(2) : rnd(12);
		q->off = arg(ARG_NUM, chance(70) ? FREE_SLOT :
				      chance(50) ? 0xffffffff :
						   9);
		break;
	case 3:
		q = add(IORING_OP_FIXED_FD_INSTALL);
		q->fd = arg(ARG_NUM, rnd(12));
		if (chance(90))
			q->flags = IOSQE_FIXED_FILE;
		q->opflags = chance(70) ? 0 : rnd(3);
		break;
	case 4:
		q = add(IORING_OP_PIPE);
		q->addr = chance(5) ? arg(ARG_NUM, 8) : arg(ARG_MEM, mem());
		q->file_index = chance(40) ? 9 + rnd(2) : 0;
		q->opflags = chance(80) ? 0 : rnd(8);
		break;
	default:
		q = add(chance(50) ? IORING_OP_FSYNC : IORING_OP_STATX);
		q->fd = arg(ARG_NUM, FREE_SLOT + rnd(4));
		q->flags = IOSQE_FIXED_FILE;
		break;
	}
}

void chain_slots(uint32_t n)
{
	if (!take_slots())
		return;
	while (n-- && room())
		slot_one();
}

static void buffers_one(int group)
{
	struct model_group *m = &g.groups[g.step->ring][group];
	uint32_t nr = 1 + rnd(GROUP_BUFS), bid = rnd(GROUP_BUFS);
	bool provides = chance(75);
	struct fsqe *q = add(provides ? IORING_OP_PROVIDE_BUFFERS :
					IORING_OP_REMOVE_BUFFERS);

	if (bid + nr > GROUP_BUFS)
		nr = GROUP_BUFS - bid;
	q->fd = arg(ARG_NUM, chance(95) ? nr : 0);
	q->buf_index = (uint16_t)group;
	if (!provides)
		return;
	q->addr =
		arg(ARG_MEM, group_page(g.step->ring, (uint32_t)group) * PAGE +
				     bid * group_len((uint32_t)group));
	q->len = chance(95) ? group_len((uint32_t)group) : 0;
	q->off = arg(ARG_NUM, chance(95) ? bid : 70000);
	m->made |= group == GROUP_LIST;
	m->left += nr;
}

/* A group that is a list; now and then one that is not, an error. */
void chain_buffers(uint32_t n)
{
	struct model_group *m;
	int group = chance(85) ? GROUP_LIST : (int)rnd(NR_GROUPS);

	m = &g.groups[g.step->ring][group];
	if (m->busy)
		return;
	m->busy = true;
	/* More of them would go around a waiting request's own. */
	while (n-- && room())
		buffers_one(group);
}
