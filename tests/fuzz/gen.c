/* SPDX-License-Identifier: MIT */
/*
 * Makes programs whose outcome does not depend on timing; gen.h has the rules.
 * Here: random numbers, the model's first helpers, and which chains and steps
 * a program is made of.
 */
#include <string.h>
#include "core/op.h"
#include "gen.h"

struct gen g;

uint32_t rnd(uint32_t n)
{
	g.rng ^= g.rng << 13;
	g.rng ^= g.rng >> 7;
	g.rng ^= g.rng << 17;
	return n ? (uint32_t)((g.rng * 0x2545F4914F6CDD1DULL) >> 33) % n : 0;
}

bool chance(uint32_t percent)
{
	return rnd(100) < percent;
}

struct arg arg(enum arg_kind kind, uint64_t val)
{
	return (struct arg){ (uint8_t)kind, val };
}

uint64_t mem_pages(uint32_t n)
{
	uint64_t at = g.page % FIXED_PAGE;

	g.page += n;
	return at;
}

uint64_t mem(void)
{
	return mem_pages(1) * PAGE;
}

bool room(void)
{
	return g.step->n < MAX_SQES;
}

bool has(uint8_t op)
{
	return g.ops[op];
}

struct fsqe *add(uint8_t op)
{
	struct fsqe *q = &g.step->sqes[g.step->n];

	memset(q, 0, sizeof(*q));
	q->op = op;
	q->ud = (uint64_t)g.chain << 4 | (g.nr_sqes & 15);
	g.nr_sqes++;
	g.step->n++;
	g.step->expect++;
	return q;
}

void set_fd(struct fsqe *q, int obj)
{
	q->fd = arg(ARG_OBJ, (uint64_t)obj);
	if (!g.registered[g.step->ring] || !chance(40))
		return;
	for (uint32_t i = 0; i < NR_SLOTS; i++) {
		if (slot_objs[i] == obj) {
			q->fd = arg(ARG_NUM, i);
			q->flags |= IOSQE_FIXED_FILE;
		}
	}
}

bool take(int obj)
{
	if (g.busy[obj])
		return false;
	g.busy[obj] = true;
	return true;
}

bool take_slots(void)
{
	bool *busy = &g.slots_busy[g.step->ring];

	if (*busy)
		return false;
	*busy = true;
	return true;
}

bool take_fixed(void)
{
	if (g.fixed_chain && g.fixed_chain != g.chain)
		return false;
	g.fixed_chain = g.chain;
	return true;
}

bool may_wait(void)
{
	return !g.drains && !g.drained && g.nr_parked < 30;
}

static void park_as(const struct fsqe *q, int obj, int chan, bool multi)
{
	bool selects = q->flags & IOSQE_BUFFER_SELECT;

	g.waits = true;
	if (chan >= 0) {
		g.chan[chan].waits = true;
		g.chan[chan].multi = multi;
	}
	g.step->expect--;
	if (g.nr_parked == 32)
		return;
	g.parked[g.nr_parked++] = (struct parked){
		q->ud, g.step->ring, q->op,
		obj,   chan,         selects ? q->buf_index : -1,
		multi,
	};
}

void park(const struct fsqe *q, int obj, int chan)
{
	park_as(q, obj, chan, false);
}

void park_multi(const struct fsqe *q, int obj, int chan)
{
	park_as(q, obj, chan, true);
}

void unpark(uint32_t i)
{
	const struct parked k = g.parked[i];

	if (k.chan >= 0 && k.op == IORING_OP_POLL_ADD && k.multi)
		g.chan[k.chan].polled = false;
	else if (k.chan >= 0)
		g.chan[k.chan].waits = g.chan[k.chan].multi = false;
	if (k.ud == g.accept_ud)
		g.accept_ud = 0;
	if (k.op == IORING_OP_EPOLL_WAIT)
		g.epoll_waits = false;
	for (uint32_t f = 0; f < NR_FUTEXES; f++) {
		if (k.obj == futex_obj(f))
			g.futex_waits[f] = false;
	}
	if (k.obj == OBJ_EVENTFD || k.obj == OBJ_EVENTFD + 1)
		g.efd_polled[k.obj - OBJ_EVENTFD] = false;
	g.parked[i] = g.parked[--g.nr_parked];
	g.step->expect++;
}

/* What waits picks its buffer when it is woken: nobody else may then. */
static bool group_waited_for(int group)
{
	for (uint32_t i = 0; i < g.nr_parked; i++) {
		if (g.parked[i].ring == g.step->ring &&
		    g.parked[i].group == group)
			return true;
	}
	return false;
}

int take_group(void)
{
	int group = (int)rnd(NR_GROUPS);
	struct model_group *m = &g.groups[g.step->ring][group];

	/* One that is not there is an error to test, but a dull one. */
	if (m->busy || (!m->made && !chance(10)) || group_waited_for(group))
		return -1;
	m->busy = true;
	return group;
}

void select_group(struct fsqe *q, int group)
{
	q->flags |= IOSQE_BUFFER_SELECT;
	q->buf_index = (uint16_t)group;
}

/* Ops for which `file_index` is a descriptor, a slot, a length or options. */
static bool index_matters(uint8_t op)
{
	return op == IORING_OP_CLOSE || op == IORING_OP_WAITID ||
	       op == IORING_OP_MSG_RING || op == IORING_OP_PIPE ||
	       op == IORING_OP_SPLICE || op == IORING_OP_TEE ||
	       op == IORING_OP_OPENAT || op == IORING_OP_OPENAT2 ||
	       op == IORING_OP_SOCKET || op == IORING_OP_ACCEPT;
}

/* Those that would take a buffer, which is another chain's. */
static bool can_select(uint8_t op)
{
	return op == IORING_OP_READ || op == IORING_OP_READV ||
	       op == IORING_OP_RECV || op == IORING_OP_RECVMSG ||
	       op == IORING_OP_SEND || op == IORING_OP_READ_MULTISHOT;
}

/* Something wrong, in a word that cannot do harm. */
static void spoil(struct fsqe *q)
{
	switch (rnd(7)) {
	case 0:
		/* The low bits change what it is, not whether it is right. */
		q->ioprio ^= (uint16_t)(1U << (6 + rnd(10)));
		break;
	case 1:
		if (!(q->flags & IOSQE_BUFFER_SELECT) &&
		    q->op != IORING_OP_PROVIDE_BUFFERS &&
		    q->op != IORING_OP_REMOVE_BUFFERS)
			q->buf_index = (uint16_t)rnd(8);
		break;
	case 2:
		q->personality = 7;
		break;
	case 3:
		if (!index_matters(q->op))
			q->file_index = rnd(4);
		break;
	case 4:
		if (q->addr3.kind == ARG_NUM && !q->addr3.val)
			q->addr3.val = 1;
		break;
	case 5:
		q->pad2 = 2; /* 1 is metadata to reads and writes */
		break;
	default:
		q->flags |= (uint8_t)(chance(50) && !can_select(q->op) ?
					      IOSQE_BUFFER_SELECT :
					      0x80);
		break;
	}
}

/* Is it done when the submit call returns, or waits for ever? */
static bool is_quick(const struct fsqe *q)
{
	bool obj = q->fd.kind == ARG_OBJ;
	bool file = obj && q->fd.val <= OBJ_RDONLY;
	bool eventfd = obj && (q->fd.val == OBJ_EVENTFD ||
			       q->fd.val == OBJ_EVENTFD + 1);

	/* Of files and eventfds a worker may have to see to it. */
	return !(q->flags & (IOSQE_ASYNC | IOSQE_FIXED_FILE)) && !file &&
	       !eventfd && q->op != IORING_OP_TIMEOUT &&
	       q->op < IORING_OP_LAST &&
	       !(au_ops[q->op].traits & AU_OP_BLOCKING);
}

/*
 * CQEs may be skipped where nobody needs them to know that it is done, and
 * where they are not the point of it. After a drain all things are late.
 */
static void skip_cqes(uint32_t first)
{
	struct step *s = g.step;

	for (uint32_t i = first; i < s->n; i++) {
		if (!is_quick(&s->sqes[i]) || g.drained)
			return;
	}
	for (uint32_t i = first; i < s->n; i++) {
		struct fsqe *q = &s->sqes[i];

		if (!chance(8) || (q->flags & IOSQE_BUFFER_SELECT) ||
		    q->op == IORING_OP_SEND_ZC || q->op == IORING_OP_SENDMSG_ZC)
			continue;
		q->flags |= IOSQE_CQE_SKIP_SUCCESS;
		s->expect -= s->expect ? 1 : 0;
	}
}

/*
 * A worker of the kernel that finds nothing to read has used up the buffer it
 * picked from a ring, and says nothing of it. A multishot does not come so far,
 * but has no link timeout then.
 */
static bool worker_differs(const struct fsqe *q, const struct fsqe *timeout)
{
	/* The worker and the clock race. */
	if (timeout && !timeout->addr.val)
		return true;
	if (!(q->flags & IOSQE_BUFFER_SELECT))
		return timeout && q->op == IORING_OP_ACCEPT;
	return timeout || (q->op != IORING_OP_READ_MULTISHOT &&
			   !(q->ioprio & IORING_RECV_MULTISHOT));
}

static void chain_flags(uint32_t first)
{
	struct step *s = g.step;
	const struct fsqe *timeout = NULL;
	uint32_t last = s->n - 1;

	if (s->n > first && s->sqes[last].op == IORING_OP_LINK_TIMEOUT)
		timeout = &s->sqes[last--];
	for (uint32_t i = first; i < s->n; i++) {
		struct fsqe *q = &s->sqes[i];

		if (i + 1 < s->n)
			q->flags |= g.link;
		if (q->op == IORING_OP_LINK_TIMEOUT)
			continue;
		/*
		 * What follows one that a worker of the kernel did is done by
		 * that worker: it blocks there, no link timeout ends it, and a
		 * cancel says EALREADY. See timeout_behind_async in known.tsv.
		 */
		if (chance(12) &&
		    (!g.waits || (i == last && !worker_differs(q, timeout))))
			q->flags |= IOSQE_ASYNC;
		if (g.drains && chance(30))
			q->flags |= IOSQE_IO_DRAIN;
		if (!chance(4))
			continue;
		spoil(q);
		/* What the chain did to its channels nobody can tell. */
		for (uint32_t j = first; j < s->n; j++)
			chan_spoilt(&s->sqes[j]);
	}
	skip_cqes(first);
}

static const struct {
	void (*make)(uint32_t n);
	uint32_t weight;
} families[] = {
	{ chain_chan, 30 },   { chain_file, 16 },   { chain_path, 8 },
	{ chain_misc, 8 },    { chain_nop, 8 },     { chain_timeout, 8 },
	{ chain_net, 6 },     { chain_eventfd, 5 }, { chain_splice, 5 },
	{ chain_buffers, 5 }, { chain_message, 5 }, { chain_slots, 5 },
	{ chain_xattr, 4 },   { chain_epoll, 4 },   { chain_futex, 4 },
};

static void chain(void)
{
	uint32_t first = g.step->n, n = chance(50) ? 1 : 1 + rnd(4), total = 0;
	uint32_t at;
	size_t f = 0;

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		total += families[i].weight;
	for (at = rnd(total); at >= families[f].weight; f++)
		at -= families[f].weight;
	g.chain++;
	g.nr_sqes = 0;
	g.broken = g.waits = false;
	g.link = chance(80) ? IOSQE_IO_LINK : IOSQE_IO_HARDLINK;
	families[f].make(n);
	chain_flags(first);
}

static void make_rings(void)
{
	static const uint32_t kinds[] = {
		0,
		0,
		IORING_SETUP_SUBMIT_ALL,
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_COOP_TASKRUN,
		IORING_SETUP_SQE128,
		IORING_SETUP_CQE32,
		IORING_SETUP_CQE_MIXED,
		IORING_SETUP_NO_SQARRAY,
		IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
			IORING_SETUP_SUBMIT_ALL | IORING_SETUP_TASKRUN_FLAG,
		IORING_SETUP_SQE128 | IORING_SETUP_CQE32 |
			IORING_SETUP_SINGLE_ISSUER,
		IORING_SETUP_SQPOLL,
		IORING_SETUP_SQPOLL | IORING_SETUP_NO_SQARRAY,
		IORING_SETUP_R_DISABLED,
	};

	g.nr_rings = (uint8_t)(1 + (chance(40) ? rnd(MAX_RINGS) : 0));
	for (uint8_t i = 0; i < g.nr_rings; i++) {
		struct step *s = &g.p->steps[g.p->n++];

		s->kind = STEP_RING;
		s->ring = i;
		s->entries = 16;
		s->setup_flags = kinds[rnd(sizeof(kinds) / sizeof(kinds[0]))];
		if (chance(10))
			s->setup_flags |= IORING_SETUP_CLAMP;
		if (chance(25)) {
			s->setup_flags |= IORING_SETUP_CQSIZE;
			s->cq = 16;
		}
		g.setup[i] = s->setup_flags;
	}
}

static void begin_step(struct step *s)
{
	s->kind = STEP_SUBMIT;
	s->ring = (uint8_t)rnd(g.nr_rings);
	memset(g.busy, 0, sizeof(g.busy));
	memset(g.slots_busy, 0, sizeof(g.slots_busy));
	g.names_busy = false;
	g.fixed_chain = 0;
	for (int c = 0; c < NR_CHANS; c++)
		g.chan[c].woken = false;
	for (int r = 0; r < MAX_RINGS; r++) {
		for (int i = 0; i < NR_GROUPS; i++)
			g.groups[r][i].busy = false;
	}
	g.drains = !g.nr_parked && chance(15);
	g.drained |= g.drains;
}

static void make_step(struct step *s, unsigned int i)
{
	uint32_t chains = 1 + rnd(4);

	if (g.setup[s->ring] & IORING_SETUP_R_DISABLED) {
		step_disabled();
		return;
	}
	/* What drains may look its buffers and files up a step later. */
	if ((i < 3 ? chance(65) : chance(10)) && !g.drained) {
		step_register();
		return;
	}
	if (chance(10) && !g.drained) {
		step_fill();
		return;
	}
	if (g.nr_parked ? chance(25) : chance(3)) {
		step_cancel();
		return;
	}
	/* What follows a drain is late, in the kernel: it goes round. */
	if (chance(3) && !g.drained) {
		step_counted();
		return;
	}
	if (chance(6) && !g.drained) {
		step_held();
		return;
	}
	while (chains-- && room())
		chain();
}

/* How many of the step's requests end in it. */
static uint32_t count_own(const struct step *s)
{
	uint32_t n = s->n;

	for (uint32_t i = 0; i < s->n; i++)
		n -= s->sqes[i].flags & IOSQE_CQE_SKIP_SUCCESS ? 1 : 0;
	for (uint32_t i = 0; i < g.nr_parked; i++) {
		for (uint32_t j = 0; j < s->n; j++)
			n -= g.parked[i].ring == s->ring &&
			     g.parked[i].ud == s->sqes[j].ud;
	}
	return n > s->n ? 0 : n;
}

void program_generate(struct program *p, uint64_t seed, unsigned int steps,
		      const bool *ops)
{
	memset(p, 0, sizeof(*p));
	memset(&g, 0, sizeof(g));
	p->seed = seed;
	g.p = p;
	g.ops = ops;
	g.rng = seed * 0x9E3779B97F4A7C15ULL + 1;
	for (int i = 0; i < 8; i++)
		(void)rnd(2);
	make_rings();
	for (unsigned int i = 0; i < steps && p->n < MAX_STEPS; i++) {
		struct step *s = g.step = &p->steps[p->n++];

		begin_step(s);
		make_step(s, i);
		s->expect = s->expect > 1000 ? 0 : s->expect;
		s->own = count_own(s);
		if (s->kind == STEP_SUBMIT && !s->n)
			p->n--;
	}
}
