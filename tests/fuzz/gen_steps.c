/* SPDX-License-Identifier: MIT */
/* Steps that are one thing: cancels, counts, registering, filling, holding. */
#include <poll.h>
#include "gen.h"

static bool matches(const struct parked *k, const struct fsqe *q, int obj)
{
	bool by_fd = q->opflags & IORING_ASYNC_CANCEL_FD;

	if (k->ring != g.step->ring || (q->opflags & 0xc0))
		return false;
	if (q->opflags & IORING_ASYNC_CANCEL_ANY)
		return true;
	if (by_fd && k->obj != obj)
		return false;
	if ((q->opflags & IORING_ASYNC_CANCEL_OP) && k->op != q->len)
		return false;
	if (!(q->opflags & (IORING_ASYNC_CANCEL_FD | IORING_ASYNC_CANCEL_OP)) ||
	    (q->opflags & IORING_ASYNC_CANCEL_USERDATA))
		return k->ud == q->addr.val;
	return true;
}

static void cancel_timeout(const struct parked *k, uint32_t i)
{
	struct fsqe *q = add(IORING_OP_TIMEOUT_REMOVE);

	q->addr = arg(ARG_NUM, chance(80) ? k->ud : 12345);
	if (chance(30)) {
		q->opflags = IORING_TIMEOUT_UPDATE;
		q->off = arg(ARG_TIME, k->multi ? FOREVER_NS : 1000000);
		if (k->multi)
			return;
	}
	if (q->addr.val == k->ud)
		unpark(i);
}

static void cancel_poll(const struct parked *k, uint32_t i)
{
	struct fsqe *q = add(IORING_OP_POLL_REMOVE);

	q->addr = arg(ARG_NUM, chance(80) ? k->ud : 12345);
	if (chance(40)) {
		q->len = IORING_POLL_UPDATE_EVENTS;
		q->opflags = POLLOUT;
		/* What wakes a poll that goes on is what others do. */
		if (k->multi)
			q->opflags = POLLIN;
		if (k->multi || k->chan >= CHAN_PIPE || k->chan < 0)
			return; /* it waits on */
	}
	if (q->addr.val == k->ud)
		unpark(i);
}

static void cancel_key(struct fsqe *q, const struct parked *k)
{
	static const uint8_t others[] = { 0, 3, 4, 6, 7 };

	q->addr = arg(ARG_NUM, k->ud);
	switch (rnd(6)) {
	case 0:
	case 1:
		return;
	case 2:
		if (k->obj < 0)
			return;
		q->opflags = IORING_ASYNC_CANCEL_FD;
		q->fd = arg(ARG_OBJ, (uint64_t)k->obj);
		break;
	case 3:
		q->opflags = IORING_ASYNC_CANCEL_OP;
		q->len = k->op;
		break;
	case 4:
		q->opflags = IORING_ASYNC_CANCEL_ANY;
		break;
	default:
		/* Flags that change nothing here, or that are none. */
		q->opflags = 1U << others[rnd(5)];
		return;
	}
	q->addr = arg(ARG_NUM, 0);
}

/* Ends what waits, by one of its keys. */
void step_cancel(void)
{
	uint32_t i = rnd(g.nr_parked), n = 0;
	struct parked k = g.nr_parked ? g.parked[i] : (struct parked){ 0 };
	struct fsqe *q;

	/* After a drain a worker does it, which finds itself. */
	if (g.drained)
		return;
	g.chain++;
	g.nr_sqes = 0;
	if (g.nr_parked)
		g.step->ring = k.ring;
	if (k.op == IORING_OP_TIMEOUT && chance(60)) {
		cancel_timeout(&k, i);
		return;
	}
	if (k.op == IORING_OP_POLL_ADD && chance(60)) {
		cancel_poll(&k, i);
		return;
	}
	q = add(IORING_OP_ASYNC_CANCEL);
	cancel_key(q, &k);
	for (i = 0; i < g.nr_parked; i++)
		n += matches(&g.parked[i], q, k.obj);
	if (n > 1 || chance(30))
		q->opflags |= IORING_ASYNC_CANCEL_ALL;
	for (i = g.nr_parked; i-- > 0;) {
		if (matches(&g.parked[i], q, k.obj))
			unpark(i);
	}
}

/* A timeout that counts: all that follows ends before the step does. */
void step_counted(void)
{
	struct fsqe *q;
	uint32_t n = 1 + rnd(4);

	g.chain++;
	g.nr_sqes = 0;
	q = add(IORING_OP_TIMEOUT);
	q->len = 1;
	q->addr = arg(ARG_TIME, FOREVER_NS);
	q->off = arg(ARG_NUM, 1 + rnd(n));
	for (uint32_t i = 0; i < n; i++) {
		g.chain++;
		q = add(IORING_OP_NOP);
	}
}

static void register_group(void)
{
	struct step *s = g.step;
	uint32_t group = rnd(GROUP_LIST);
	struct model_group *m = &g.groups[s->ring][group];

	s->op = IORING_REGISTER_PBUF_RING;
	if (m->made && chance(40)) {
		s->op = IORING_UNREGISTER_PBUF_RING;
		m->left = 0;
		m->made = false;
	} else {
		m->made = true;
	}
	s->addr = arg(ARG_PBUF, group);
	s->nr = 1;
}

static void register_odd(void)
{
	static const uint8_t known[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  12,
					 13, 14, 15, 16, 18, 19, 20, 21, 22, 23,
					 25, 26, 29, 30, 31, 33, 34, 255 };
	struct step *s = g.step;

	s->op = known[rnd(sizeof(known))];
	s->addr = arg(ARG_NUM, chance(50) ? 0 : 8);
	s->nr = rnd(3);
	/* These change the model's ground. */
	if (s->op == IORING_UNREGISTER_FILES)
		g.registered[s->ring] = false;
	if (s->op == IORING_UNREGISTER_BUFFERS)
		g.buffers[s->ring] = false;
}

void step_register(void)
{
	struct step *s = g.step;
	uint8_t r = s->ring;

	s->kind = STEP_REGISTER;
	switch (rnd(14)) {
	case 0:
	case 1:
		s->op = IORING_REGISTER_FILES;
		s->addr = arg(ARG_FDS, 0);
		s->nr = NR_SLOTS;
		g.registered[r] = true;
		break;
	case 2:
	case 3:
		s->op = IORING_REGISTER_BUFFERS;
		s->addr = arg(ARG_BUFS, 0);
		s->nr = NR_BUFS;
		g.buffers[r] = true;
		break;
	case 4:
		s->op = IORING_UNREGISTER_FILES;
		g.registered[r] = false;
		break;
	case 5:
		s->op = IORING_UNREGISTER_BUFFERS;
		g.buffers[r] = false;
		break;
	case 6:
		s->op = chance(50) ? IORING_REGISTER_EVENTFD :
				     IORING_UNREGISTER_EVENTFD;
		s->addr = arg(ARG_FDS, 1); /* a regular file's: refused */
		s->nr = s->op == IORING_REGISTER_EVENTFD ? 1 : 0;
		break;
	case 7:
		s->op = IORING_REGISTER_ENABLE_RINGS; /* it is */
		break;
	case 8:
		register_odd();
		break;
	default:
		register_group();
		break;
	}
}

void step_fill(void)
{
	struct step *s = g.step;

	s->kind = STEP_FILL;
	s->op = rnd(GROUP_LIST);
	s->nr = 1 + rnd(GROUP_BUFS);
	g.groups[s->ring][s->op].left += s->nr;
}

/*
 * So many nops that the CQ may overflow: nothing is taken from it until the
 * next step is done.
 */
void step_held(void)
{
	struct step *s = g.step;

	s->hold = 1;
	while (room()) {
		g.chain++;
		g.nr_sqes = 0;
		(void)add(IORING_OP_NOP);
	}
}

/* The ring is disabled: nothing comes of a submission. */
void step_disabled(void)
{
	struct step *s = g.step;

	if (chance(40)) {
		chain_nop(1);
		s->expect = 0;
		return;
	}
	s->kind = STEP_REGISTER;
	s->op = IORING_REGISTER_ENABLE_RINGS;
	g.setup[s->ring] &= ~IORING_SETUP_R_DISABLED;
}
