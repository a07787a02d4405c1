/* SPDX-License-Identifier: MIT */
/* What goes through sockets and pipes. */
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include "gen.h"

#define FULL 20000 /* no more is sent until something is received */

static bool is_sock(int c)
{
	return c < CHAN_PIPE || c == CHAN_TCP;
}

/* Two ways of a pair share their files, and what is said of them. */
static int other_way(int c)
{
	return c < CHAN_DGRAM ? c ^ 1 : c;
}

bool take_chan(int c)
{
	int o = other_way(c);

	if (!take(chan_obj(c)) || !take(chan_obj(c) + 1))
		return false;
	return o == c || (take(chan_obj(o)) && take(chan_obj(o) + 1));
}

static int chan_of(const struct fsqe *q)
{
	int obj = (int)q->fd.val;

	if (q->fd.kind == ARG_NUM && (q->flags & IOSQE_FIXED_FILE) &&
	    q->fd.val < NR_SLOTS)
		obj = slot_objs[q->fd.val];
	else if (q->fd.kind != ARG_OBJ)
		return -1;
	for (int c = 0; c < NR_CHANS; c++) {
		if (obj == chan_obj(c) || obj == chan_obj(c) + 1)
			return c;
	}
	return -1;
}

void chan_spoilt(const struct fsqe *q)
{
	int c = chan_of(q);
	struct model_chan *m = c < 0 ? NULL : &g.chan[c];

	if (!m)
		return;
	m->bytes = 0;
	/* The waiter was to be woken by this. */
	if (m->woken || q->op == IORING_OP_SHUTDOWN)
		m->lost = g.chan[other_way(c)].lost = true;
}

static void chan_sent(int c, uint32_t len)
{
	struct model_chan *m = &g.chan[c];

	if (g.broken || m->eof)
		return;
	m->load += len;
	if (!m->waits) {
		m->bytes += c == CHAN_DGRAM ? 1 : len;
		return;
	}
	if (!len && c != CHAN_DGRAM)
		return;
	m->woken = true;
	g.step->expect++;
	if (m->multi)
		return;
	m->waits = false;
	for (uint32_t i = 0; i < g.nr_parked; i++) {
		if (g.parked[i].chan == c &&
		    !(g.parked[i].op == IORING_OP_POLL_ADD &&
		      g.parked[i].multi))
			g.parked[i] = g.parked[--g.nr_parked];
	}
	/* What the waiter leaves is not known. */
}

/* What is asked for may not be what comes; that breaks a read's links. */
static void chan_received(int c, uint32_t len, bool strict)
{
	struct model_chan *m = &g.chan[c];
	uint32_t got = len < m->bytes ? len : m->bytes;

	if (g.broken)
		return;
	if (strict && g.link == IOSQE_IO_LINK &&
	    (c == CHAN_DGRAM || len > m->bytes))
		g.broken = true;
	if (c == CHAN_DGRAM)
		got = m->bytes ? 1 : 0;
	m->bytes -= got;
	m->load -= len < m->load ? len : m->load;
}

/* A part of the channels' registered buffer. */
static uint64_t chan_buf(bool send)
{
	return CHAN_BUF_PAGE * PAGE + (send ? PAGE / 2 : 0) +
	       rnd(8) * (PAGE / 16);
}

static uint32_t send_zc(struct fsqe *q, int c, uint32_t len)
{
	bool fixed = chance(40);

	if (q->op == IORING_OP_SENDMSG_ZC) {
		q->addr = arg(ARG_MSG, mem_pages(3));
		q->len = 1;
		len = 350;
	} else if (fixed) {
		q->ioprio |= IORING_RECVSEND_FIXED_BUF;
		q->buf_index = CHAN_BUF;
		q->addr = arg(ARG_MEM, chan_buf(true));
		q->len = len = rnd(250);
	} else {
		q->addr = arg(ARG_MEM, mem());
		q->len = len;
	}
	if (chance(50))
		q->ioprio |= IORING_SEND_ZC_REPORT_USAGE;
	/* Only IP sends without a copy; the others refuse. */
	g.broken |= c != CHAN_TCP || fixed;
	return len;
}

/* With selected buffers; how many bytes at least: there may be none. */
static uint32_t send_select(struct fsqe *q, int group)
{
	select_group(q, group);
	q->len = chance(50) ? 0 : rnd(600);
	/*
	 * A bundle is several messages, so nobody looks on while it goes. And a
	 * worker of the kernel does none: it must not come to one, as it may
	 * for some time after a drain.
	 */
	if (chance(40) && !g.drains && !g.drained) {
		q->ioprio |= IORING_RECVSEND_BUNDLE;
		g.waits |= g.nr_sqes > 1;
	}
	g.broken = true;
	return 0;
}

static uint32_t sock_send(int c, struct fsqe **qp)
{
	uint32_t len = rnd(1500), how = rnd(100);
	bool alone = !g.chan[c].waits && !g.chan[c].polled;
	int group = how < 15 && alone ? take_group() : -1;
	struct fsqe *q;

	if (group >= 0) {
		q = *qp = add(IORING_OP_SEND);
		return send_select(q, group);
	}
	/*
	 * A drain waits for all requests, and the kernel counts a notification
	 * to come as one: it would wait for itself.
	 */
	if (how < (c == CHAN_TCP ? 50U : 20U) && has(IORING_OP_SEND_ZC) &&
	    !g.drains && !g.drained) {
		q = *qp = add(chance(60) ? IORING_OP_SEND_ZC :
					   IORING_OP_SENDMSG_ZC);
		return send_zc(q, c, len);
	}
	if (how < 65) {
		q = *qp = add(IORING_OP_SEND);
		q->addr = arg(ARG_MEM, mem());
		q->opflags = chance(10) ? MSG_DONTWAIT :
			     chance(10) ? MSG_WAITALL :
					  0;
		q->len = len;
		if (chance(10)) {
			q->ioprio = IORING_SEND_VECTORIZED;
			q->addr = arg(ARG_IOV, mem_pages(3));
			q->len = 2;
			len = 300;
		}
		return len;
	}
	q = *qp = add(IORING_OP_SENDMSG);
	q->addr = arg(ARG_MSG, mem_pages(3));
	q->len = 1;
	return 350;
}

static uint32_t plain_write(struct fsqe **qp)
{
	uint32_t len = rnd(1500), how = rnd(10);
	struct fsqe *q;

	if (how < 4) {
		q = *qp = add(IORING_OP_WRITEV);
		q->addr = arg(ARG_IOV, mem_pages(3));
		q->len = 1 + rnd(3);
		return q->len == 1 ? 100 : q->len == 2 ? 300 : 350;
	}
	if (how < 6) {
		q = *qp = add(IORING_OP_WRITE_FIXED);
		q->buf_index = CHAN_BUF;
		q->addr = arg(ARG_MEM, chan_buf(true));
		q->len = len = rnd(250);
		g.broken |= !g.buffers[g.step->ring];
	} else {
		q = *qp = add(IORING_OP_WRITE);
		q->addr = arg(ARG_MEM, mem());
		q->len = len;
	}
	q->off = arg(ARG_NUM, chance(80) ? ~0ULL : 0);
	return len;
}

static void chan_send(int c)
{
	struct fsqe *q;
	bool was = g.broken;
	uint32_t len;

	if (is_sock(c) && chance(60))
		len = sock_send(c, &q);
	else
		len = plain_write(&q);
	set_fd(q, chan_obj(c) + 1);
	if (!g.broken || was)
		chan_sent(c, len);
	else if (g.chan[c].waits)
		g.chan[c].lost = true; /* it may have been woken */
	else
		g.chan[c].load += 2000;
}

/* Receives with selected buffers; `multi` is said of those that go on. */
static struct fsqe *recv_select(int c, int group, bool *multi)
{
	uint32_t how = is_sock(c) ? rnd(6) : rnd(3);
	struct fsqe *q;

	*multi = false;
	if (how == 0) {
		q = add(IORING_OP_READ);
		q->len = chance(50) ? 0 : 1 + rnd(1000);
		q->off = arg(ARG_NUM, chance(80) ? ~0ULL : 0);
	} else if (how == 1) {
		q = add(IORING_OP_READV);
		q->addr = arg(ARG_IOV1, 1 + rnd(400));
		q->len = 1;
	} else if (how == 2) {
		q = add(IORING_OP_READ_MULTISHOT);
		*multi = true;
	} else if (how == 3) {
		q = add(IORING_OP_RECVMSG);
		q->addr = arg(ARG_MSG1, 1 + rnd(400));
		q->len = 1;
	} else {
		q = add(IORING_OP_RECV);
		q->len = chance(50) ? 0 : 1 + rnd(1000);
		/* A bundle of datagrams is one of the first. */
		if (chance(40))
			q->ioprio |= IORING_RECVSEND_BUNDLE;
	}
	if (how > 2 && chance(50)) {
		q->ioprio |= IORING_RECV_MULTISHOT;
		*multi = true;
	}
	select_group(q, group);
	return q;
}

static struct fsqe *recv_plain(int c, uint32_t *len, bool *waits, bool *strict)
{
	uint32_t how = is_sock(c) ? rnd(7) : 4 + rnd(3);
	struct fsqe *q;

	*strict = how >= 4;
	if (how < 2) {
		q = add(IORING_OP_RECV);
		q->addr = arg(ARG_MEM, mem());
		q->len = *len;
		q->opflags = chance(10) ? MSG_DONTWAIT :
			     chance(10) ? MSG_PEEK :
			     chance(10) ? MSG_TRUNC :
					  0;
		/* Behind an async one the kernel says EAGAIN to that. */
		if (chance(10) && g.nr_sqes == 1)
			q->ioprio = IORING_RECVSEND_POLL_FIRST;
		if (q->opflags == MSG_DONTWAIT)
			*waits = false;
	} else if (how == 2) {
		q = add(IORING_OP_RECVMSG);
		q->addr = arg(ARG_MSG, mem_pages(3));
		q->len = 1;
		*len = 350;
	} else if (how == 3) {
		q = add(IORING_OP_POLL_ADD);
		q->opflags = chance(50) ? POLLIN :
			     chance(50) ? POLLIN | POLLRDHUP :
					  POLLPRI;
		*waits |= q->opflags == POLLPRI;
		*len = 0;
	} else if (how == 4) {
		q = add(IORING_OP_READV);
		q->addr = arg(ARG_IOV, mem_pages(3));
		q->len = 3;
		*len = 350;
	} else if (how == 5) {
		q = add(IORING_OP_READ_FIXED);
		q->buf_index = CHAN_BUF;
		q->addr = arg(ARG_MEM, chan_buf(false));
		q->len = *len = 1 + rnd(250);
		g.broken |= !g.buffers[g.step->ring];
	} else {
		q = add(IORING_OP_READ);
		q->addr = arg(ARG_MEM, mem());
		q->len = *len;
		q->off = arg(ARG_NUM, chance(80) ? ~0ULL : 0);
	}
	return q;
}

/* False: it may wait, so it ends its chain. */
static bool chan_recv(int c)
{
	struct model_chan *m = &g.chan[c];
	bool waits = !m->bytes && !m->eof, multi = false, strict = true;
	uint32_t len = 1 + rnd(2000);
	int group = chance(35) ? take_group() : -1;
	struct fsqe *q;

	if (group >= 0) {
		q = recv_select(c, group, &multi);
		len = group_len((uint32_t)group);
		/* There may be no buffer left: the rest is cancelled. */
		waits |= g.nr_sqes > 1 || multi;
	} else {
		q = recv_plain(c, &len, &waits, &strict);
	}
	set_fd(q, chan_obj(c));
	if (waits && multi)
		park_multi(q, chan_obj(c), c);
	else if (waits)
		park(q, chan_obj(c), c);
	if (waits)
		return false;
	chan_received(c, len, strict);
	return group < 0;
}

/* Looks on for good. */
static void chan_poll_multi(int c)
{
	struct fsqe *q = add(IORING_OP_POLL_ADD);

	q->len = IORING_POLL_ADD_MULTI;
	q->opflags = chance(70) ? POLLIN : POLLIN | POLLRDHUP;
	set_fd(q, chan_obj(c));
	park_multi(q, chan_obj(c), c);
	/* It takes nothing, so it is no waiter. */
	g.chan[c].waits = g.chan[c].multi = false;
	g.chan[c].polled = true;
}

static void link_timeout(void)
{
	const struct parked *k = &g.parked[g.nr_parked - 1];
	struct fsqe *q;

	if (!room())
		return;
	/* The one before waits; this ends it, and its place in the model. */
	q = add(IORING_OP_LINK_TIMEOUT);
	/* One of no time at all falls between the turns of a multishot. */
	q->addr = arg(ARG_TIME, k->multi || chance(90) ? 2000000 : 0);
	q->len = 1;
	if (chance(5))
		q->off = arg(ARG_NUM, 1);
	/* A wrong one fails the chain, and nothing was begun. */
	g.step->expect++;
	unpark(g.nr_parked - 1);
}

/* A step does one thing to a channel that somebody watches. */
static void chan_watched(int c)
{
	struct model_chan *m = &g.chan[c];

	if (m->waits || !m->bytes || chance(50))
		chan_send(c);
	else
		(void)chan_recv(c);
}

void chain_chan(uint32_t n)
{
	int c = (int)rnd(NR_CHANS);
	struct model_chan *m = &g.chan[c];
	uint32_t before = g.nr_parked;

	if (!take_chan(c) || m->lost)
		return;
	if (m->load > FULL) {
		if (!m->waits && (m->bytes || may_wait()))
			(void)chan_recv(c);
		return;
	}
	if (m->waits || m->polled) {
		chan_watched(c);
		return;
	}
	if (may_wait() && chance(8)) {
		chan_poll_multi(c);
		return;
	}
	/* It arrives in its own time; by the next step it has. */
	if (c == CHAN_TCP)
		n = 1;
	while (n-- && room()) {
		if (g.broken || chance(50)) {
			chan_send(c);
			continue;
		}
		if (may_wait() && chan_recv(c))
			continue;
		if (g.nr_parked > before && chance(30))
			link_timeout();
		break;
	}
}

void chain_shutdown(uint32_t n)
{
	int c = (int)rnd(4);
	struct fsqe *q;

	if (g.chan[c].waits || g.chan[c ^ 1].waits || g.chan[c].polled ||
	    g.chan[c ^ 1].polled || !take_chan(c))
		return;
	q = add(IORING_OP_SHUTDOWN);
	set_fd(q, chan_obj(c) + 1);
	q->len = chance(90) ? SHUT_WR : rnd(4);
	if (q->len == SHUT_WR)
		g.chan[c].eof = true;
	else if (q->len < 3)
		g.chan[c].lost = g.chan[c ^ 1].lost = true;
}

/* --- splice and tee ----------------------------------------------------- */

static bool quiet_pipe(int c)
{
	return !g.chan[c].waits && !g.chan[c].polled && !g.chan[c].lost &&
	       g.chan[c].load < FULL && take_chan(c);
}

static void splice_in(struct fsqe *q, int obj)
{
	q->file_index = FD_BASE + (uint32_t)obj;
	if (obj == slot_objs[4] && g.registered[g.step->ring] && chance(50)) {
		q->file_index = 4;
		q->opflags |= SPLICE_F_FD_IN_FIXED;
	}
}

static void splice_one(int in, int out, int file, uint32_t how)
{
	struct fsqe *q = add(how == 3 ? IORING_OP_TEE : IORING_OP_SPLICE);
	struct model_chan *from = &g.chan[in];

	q->len = chance(10) ? 0 : 1 + rnd(3000);
	/* An empty or a full pipe would hold it, for ever. */
	if (how == 1 || !from->bytes || chance(60))
		q->opflags = SPLICE_F_NONBLOCK;
	q->off = q->addr = arg(ARG_NUM, how == 3 ? 0 : ~0ULL);
	if (how == 1) { /* file to pipe */
		splice_in(q, file);
		q->addr = arg(ARG_NUM, chance(50) ? ~0ULL : rnd(8000));
		set_fd(q, chan_obj(out) + 1);
		g.chan[out].load += PAGE;
	} else if (how == 2) { /* pipe to file */
		splice_in(q, chan_obj(in));
		q->off = arg(ARG_NUM, chance(50) ? ~0ULL : rnd(8000));
		set_fd(q, file);
	} else {
		splice_in(q, chan_obj(in));
		set_fd(q, chan_obj(out) + 1);
		g.chan[out].load += PAGE;
	}
	/* What comes out of it is counted for nothing. */
	if (how != 1 && how != 3)
		from->bytes -= q->len < from->bytes ? q->len : from->bytes;
	if (chance(5))
		q->addr = arg(ARG_NUM, 3);
}

void chain_splice(uint32_t n)
{
	int in = CHAN_PIPE + (int)rnd(3), out = CHAN_PIPE + (int)rnd(3);
	int file = OBJ_FILE + (int)rnd(3);
	uint32_t how = rnd(4);

	if (in == out || !quiet_pipe(in) || !quiet_pipe(out) || !take(file))
		return;
	while (n-- && room()) {
		/* Once links may be broken, nothing that relies on bytes. */
		splice_one(in, out, file, how);
		g.chan[in].bytes = n ? 0 : g.chan[in].bytes;
	}
}
