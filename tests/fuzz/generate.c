/* SPDX-License-Identifier: MIT */
/*
 * Makes programs whose outcome does not depend on timing. The rules: in one
 * step an object belongs to one chain; on one way of a channel at most one
 * request waits; a request that may wait for long is the last of its chain,
 * or guarded by a link timeout; cancels have a step to themselves and name
 * what they hit without choice. A small model of the channels keeps the
 * rules; where it errs, the run only takes longer.
 */
#include <poll.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "program.h"

struct parked {
	uint64_t ud;
	uint8_t ring, op;
	int obj, chan;
};

static struct {
	struct program *p;
	const bool *ops;
	uint64_t rng;
	struct step *step;
	uint32_t chain, nr_sqes, page;
	bool registered[MAX_RINGS], buffers[MAX_RINGS];
	bool busy[NR_OBJS];
	struct {
		uint32_t bytes;
		bool waits, eof;
	} chan[NR_CHANS];
	uint32_t conns; /* waiting at the listener */
	uint64_t accept_ud;
	struct parked parked[32];
	uint32_t nr_parked;
	bool path_busy[NR_PATHS];
	uint8_t nr_rings;
	/*
	 * This step drains; or one has: then the kernel makes the next ones
	 * wait as well, and none of them may be one that waits for long.
	 */
	bool drains, drained;
} g;

static uint32_t rnd(uint32_t n)
{
	g.rng ^= g.rng << 13;
	g.rng ^= g.rng >> 7;
	g.rng ^= g.rng << 17;
	return n ? (uint32_t)((g.rng * 0x2545F4914F6CDD1DULL) >> 33) % n : 0;
}

static bool chance(uint32_t percent)
{
	return rnd(100) < percent;
}

static struct arg arg(enum arg_kind kind, uint64_t val)
{
	return (struct arg){ (uint8_t)kind, val };
}

/* A page of the arena of its own, as far as there are any. */
static uint64_t mem(void)
{
	return g.page++ % FIXED_PAGE * PAGE;
}

static bool room(void)
{
	return g.step->n < MAX_SQES;
}

static bool has(uint8_t op)
{
	return g.ops[op];
}

/* The next SQE of the chain at hand. */
static struct fsqe *add(uint8_t op)
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

/* The descriptor of an object, or its slot where it has one. */
static void set_fd(struct fsqe *q, int obj)
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

static bool take(int obj)
{
	if (g.busy[obj])
		return false;
	g.busy[obj] = true;
	return true;
}

static void park(const struct fsqe *q, int obj, int chan)
{
	if (g.nr_parked == 32)
		return;
	g.parked[g.nr_parked++] = (struct parked){
		q->ud, g.step->ring, q->op, obj, chan,
	};
	g.step->expect--;
	if (chan >= 0)
		g.chan[chan].waits = true;
}

/* --- chains, by theme --------------------------------------------------- */

static void rw_offset(struct fsqe *q)
{
	q->off = arg(ARG_NUM, chance(30) ? ~0ULL : rnd(9000));
}

static void file_one(int obj)
{
	static const uint8_t ops[] = {
		IORING_OP_READ, IORING_OP_WRITE, IORING_OP_READV,
		IORING_OP_WRITEV, IORING_OP_READ_FIXED, IORING_OP_WRITE_FIXED,
		IORING_OP_FSYNC, IORING_OP_FALLOCATE, IORING_OP_FADVISE,
		IORING_OP_SYNC_FILE_RANGE, IORING_OP_FTRUNCATE,
		IORING_OP_READV_FIXED, IORING_OP_WRITEV_FIXED,
	};
	uint8_t op = ops[rnd(sizeof(ops))];
	struct fsqe *q;

	if (!has(op))
		op = IORING_OP_READ;
	q = add(op);
	set_fd(q, obj);
	switch (op) {
	case IORING_OP_READ:
	case IORING_OP_WRITE:
		rw_offset(q);
		q->addr = arg(ARG_MEM, mem());
		q->len = chance(10) ? 0 : rnd(PAGE + 1);
		break;
	case IORING_OP_READV:
	case IORING_OP_WRITEV:
		rw_offset(q);
		q->addr = arg(ARG_IOV, mem() / PAGE);
		g.page += 2;
		q->len = rnd(4);
		break;
	case IORING_OP_READ_FIXED:
	case IORING_OP_WRITE_FIXED:
		rw_offset(q);
		q->buf_index = (uint16_t)rnd(5);
		q->addr = arg(ARG_MEM, FIXED_PAGE * PAGE + rnd(6) * PAGE +
				      rnd(200));
		q->len = rnd(1000);
		break;
	case IORING_OP_FALLOCATE:
		q->addr = arg(ARG_NUM, rnd(20000));
		q->off = arg(ARG_NUM, rnd(20000));
		q->len = rnd(3); /* mode */
		break;
	case IORING_OP_FADVISE:
		q->len = rnd(5000);
		q->opflags = rnd(8);
		break;
	case IORING_OP_SYNC_FILE_RANGE:
		q->len = rnd(5000);
		q->opflags = rnd(8);
		break;
	case IORING_OP_FTRUNCATE:
		q->off = arg(ARG_NUM, rnd(16000));
		break;
	case IORING_OP_FSYNC:
		q->opflags = rnd(8) ? rnd(2) : 2;
		break;
	default: /* the vectored fixed ones: bounds are what is interesting */
		rw_offset(q);
		q->buf_index = (uint16_t)rnd(4);
		q->addr = arg(ARG_IOV, FIXED_PAGE);
		q->len = rnd(4);
		break;
	}
	if (chance(4))
		q->addr = arg(ARG_NUM, chance(50) ? 0 : 8);
}

static void chain_file(uint32_t n)
{
	int obj = OBJ_FILE + (int)rnd(5);

	/* The fourth has two descriptors. */
	if (!take(obj) || (obj >= OBJ_FILE + 3 &&
			   !take(obj == OBJ_RDONLY ? OBJ_FILE + 3 :
						     OBJ_RDONLY)))
		return;
	while (n-- && room())
		file_one(obj);
}

static void chan_send(int c)
{
	bool sock = c < 5;
	int obj = OBJ_CHAN + 2 * c + 1;
	uint32_t how = sock ? rnd(4) : rnd(2), len = rnd(1500);
	struct fsqe *q;

	if (how == 2 && has(IORING_OP_SEND)) {
		q = add(IORING_OP_SEND);
		q->addr = arg(ARG_MEM, mem());
		q->opflags = chance(10) ? MSG_DONTWAIT :
			     chance(10) ? MSG_WAITALL :
					  0;
		q->len = len;
	} else if (how == 3) {
		q = add(IORING_OP_SENDMSG);
		q->addr = arg(ARG_MSG, mem() / PAGE);
		g.page += 2;
		q->len = 1;
		len = 350;
	} else if (how == 1) {
		q = add(IORING_OP_WRITEV);
		q->addr = arg(ARG_IOV, mem() / PAGE);
		g.page += 2;
		q->len = 1 + rnd(3);
		len = q->len == 1 ? 100 : q->len == 2 ? 300 : 350;
	} else {
		q = add(IORING_OP_WRITE);
		q->addr = arg(ARG_MEM, mem());
		q->len = len;
		q->off = arg(ARG_NUM, chance(80) ? ~0ULL : 0);
	}
	set_fd(q, obj);
	if (g.chan[c].waits && len) {
		g.chan[c].waits = false;
		g.step->expect++;
		for (uint32_t i = 0; i < g.nr_parked; i++) {
			if (g.parked[i].chan == c)
				g.parked[i] = g.parked[--g.nr_parked];
		}
		/* What the waiter leaves is not known; little, hopefully. */
	} else {
		g.chan[c].bytes += len;
	}
}

/* False: it may wait, so it ends its chain. */
static bool chan_recv(int c)
{
	bool sock = c < 5, waits = !g.chan[c].bytes && !g.chan[c].eof;
	int obj = OBJ_CHAN + 2 * c;
	uint32_t how = sock ? rnd(5) : rnd(2), len = 1 + rnd(2000);
	struct fsqe *q;

	if (g.chan[c].waits)
		return false;
	if (how == 2) {
		q = add(IORING_OP_RECV);
		q->addr = arg(ARG_MEM, mem());
		q->len = len;
		q->opflags = chance(10) ? MSG_DONTWAIT :
			     chance(10) ? MSG_PEEK :
			     chance(10) ? MSG_TRUNC :
					  0;
		/* Behind an async one the kernel says EAGAIN to that. */
		if (chance(10) && g.nr_sqes == 1)
			q->ioprio = IORING_RECVSEND_POLL_FIRST;
		if (q->opflags == MSG_DONTWAIT)
			waits = false;
	} else if (how == 3) {
		q = add(IORING_OP_RECVMSG);
		q->addr = arg(ARG_MSG, mem() / PAGE);
		g.page += 2;
		q->len = 1;
		len = 350;
	} else if (how == 1) {
		q = add(IORING_OP_READV);
		q->addr = arg(ARG_IOV, mem() / PAGE);
		g.page += 2;
		q->len = 3;
		len = 350;
	} else if (how == 4) {
		q = add(IORING_OP_POLL_ADD);
		q->opflags = chance(50) ? POLLIN :
			     chance(50) ? POLLIN | POLLRDHUP :
					  POLLPRI;
		waits |= q->opflags == POLLPRI;
		len = 0;
	} else {
		q = add(IORING_OP_READ);
		q->addr = arg(ARG_MEM, mem());
		q->len = len;
		q->off = arg(ARG_NUM, chance(80) ? ~0ULL : 0);
	}
	set_fd(q, obj);
	if (waits) {
		park(q, obj, c);
		return false;
	}
	g.chan[c].bytes -= len < g.chan[c].bytes ? len : g.chan[c].bytes;
	return true;
}

static void link_timeout(void)
{
	struct fsqe *q;

	if (!room())
		return;
	/* The one before waits; this ends it, and its place in the model. */
	q = add(IORING_OP_LINK_TIMEOUT);
	q->addr = arg(ARG_TIME, 2000000);
	q->len = 1;
	if (chance(5))
		q->off = arg(ARG_NUM, 1);
	g.step->expect++;
	g.nr_parked--;
	g.chan[g.parked[g.nr_parked].chan].waits = false;
}

static void chain_chan(uint32_t n)
{
	int c = (int)rnd(NR_CHANS);
	uint32_t before = g.nr_parked;

	/* Two ways of a pair share their files, and what is said of them. */
	if (!take(OBJ_CHAN + 2 * c) || !take(OBJ_CHAN + 2 * c + 1))
		return;
	if (c < 4 && (!take(OBJ_CHAN + 2 * (c ^ 1)) ||
		      !take(OBJ_CHAN + 2 * (c ^ 1) + 1)))
		return;
	if (g.chan[c].bytes > 20000) {
		(void)chan_recv(c);
		return;
	}
	if (g.chan[c].waits) {
		chan_send(c);
		return;
	}
	while (n-- && room()) {
		if (chance(50)) {
			chan_send(c);
			continue;
		}
		if (!(g.drains || g.drained) && chan_recv(c))
			continue;
		if (g.nr_parked > before && chance(30))
			link_timeout();
		break;
	}
}

static void path_one(void)
{
	static const uint8_t ops[] = {
		IORING_OP_OPENAT, IORING_OP_OPENAT2, IORING_OP_STATX,
		IORING_OP_MKDIRAT, IORING_OP_UNLINKAT, IORING_OP_RENAMEAT,
		IORING_OP_SYMLINKAT, IORING_OP_LINKAT,
	};
	static const uint32_t modes[] = {
		O_RDONLY, O_RDWR, O_RDWR | O_CREAT, O_WRONLY | O_CREAT | O_EXCL,
		O_RDWR | O_TRUNC, O_RDONLY | O_DIRECTORY, O_RDONLY | O_NOFOLLOW,
		O_PATH, O_RDWR | O_CREAT | O_CLOEXEC,
	};
	uint8_t op = ops[rnd(sizeof(ops))];
	uint64_t a = rnd(NR_PATHS), b = rnd(NR_PATHS);
	struct fsqe *q;

	if (!has(op))
		op = IORING_OP_OPENAT;
	q = add(op);
	q->fd = arg(ARG_NUM, (uint32_t)AT_FDCWD);
	if (chance(10))
		q->fd = arg(ARG_OBJ, OBJ_DIR);
	q->addr = chance(4) ? arg(ARG_NUM, 8) : arg(ARG_PATH, a);
	switch (op) {
	case IORING_OP_OPENAT:
		q->opflags = modes[rnd(9)];
		q->len = 0640;
		break;
	case IORING_OP_OPENAT2:
		q->off = arg(ARG_HOW, modes[rnd(9)]);
		q->len = 24;
		break;
	case IORING_OP_STATX:
		q->off = arg(ARG_STATX, 0);
		q->len = 0x7ff;
		q->opflags = chance(30) ? AT_SYMLINK_NOFOLLOW : 0;
		break;
	case IORING_OP_MKDIRAT:
		q->len = 0755;
		break;
	case IORING_OP_UNLINKAT:
		q->opflags = chance(40) ? AT_REMOVEDIR : 0;
		break;
	case IORING_OP_SYMLINKAT:
		q->off = arg(ARG_PATH, b);
		break;
	default: /* rename and link: two directories, two names */
		q->off = arg(ARG_PATH, b);
		q->len = (uint32_t)AT_FDCWD;
		q->opflags = chance(20) ? 1 : 0;
		break;
	}
	if ((op == IORING_OP_OPENAT || op == IORING_OP_OPENAT2) &&
	    g.registered[g.step->ring] && chance(30))
		q->file_index = chance(70) ? 9 + rnd(2) : rnd(14);
}

static void chain_path(uint32_t n)
{
	/* Names are everybody's: one such chain in a step. */
	if (g.path_busy[0] || !take(OBJ_DIR))
		return;
	g.path_busy[0] = true;
	while (n-- && room())
		path_one();
}

static void chain_eventfd(uint32_t n)
{
	int obj = OBJ_EVENTFD + (int)rnd(2);
	struct fsqe *q;

	if (!take(obj))
		return;
	for (uint32_t i = 0; i < n && room(); i++) {
		q = add(IORING_OP_WRITE);
		set_fd(q, obj);
		/* Little-endian bytes of the pattern: large, but not -1. */
		q->addr = arg(ARG_MEM, (FIXED_PAGE + 7) * PAGE);
		q->len = chance(80) ? 8 : rnd(8);
		if (!room())
			break;
		q = add(IORING_OP_READ);
		set_fd(q, obj);
		q->addr = arg(ARG_MEM, mem());
		q->len = 8;
		if (g.step->sqes[g.step->n - 2].len < 8)
			break; /* it may wait for ever: nobody writes */
	}
}

static void chain_timeout(uint32_t n)
{
	struct fsqe *q;

	while (n-- && room()) {
		q = add(IORING_OP_TIMEOUT);
		q->len = chance(95) ? 1 : 0;
		q->addr = arg(ARG_TIME, chance(90) ? 1000000 + rnd(2000000) :
						     0);
		q->opflags = chance(60) ? 0 :
			     chance(50) ? IORING_TIMEOUT_ETIME_SUCCESS :
			     chance(50) ? IORING_TIMEOUT_ABS :
			     chance(50) ? IORING_TIMEOUT_BOOTTIME :
					  IORING_TIMEOUT_REALTIME |
						  IORING_TIMEOUT_BOOTTIME;
		if (chance(15)) {
			q->opflags |= IORING_TIMEOUT_MULTISHOT;
			q->off = arg(ARG_NUM, 1 + rnd(3));
			g.step->expect += (uint32_t)q->off.val - 1;
		}
	}
	if (chance(25) && room() && !g.drains && !g.drained && g.step->n &&
	    g.nr_parked < 30) {
		q = add(IORING_OP_TIMEOUT);
		q->len = 1;
		q->addr = arg(ARG_TIME, 100000000000ULL);
		park(q, -1, -1);
	}
}

static void chain_nop(uint32_t n)
{
	while (n-- && room()) {
		struct fsqe *q = add(IORING_OP_NOP);

		if (!chance(40))
			continue;
		q->opflags = rnd(64) & (chance(90) ? 0xfU : 0xffU);
		q->len = chance(50) ? rnd(100) : (uint32_t)-(int)rnd(100);
		if (q->opflags & 2)
			set_fd(q, OBJ_FILE);
		q->buf_index = (uint16_t)rnd(5);
	}
}

static void chain_misc(uint32_t n)
{
	struct fsqe *q;
	uint32_t c;

	while (n-- && room()) {
		switch (rnd(8)) {
		case 0:
			if (!take(OBJ_EPOLL))
				break;
			q = add(IORING_OP_EPOLL_CTL);
			q->fd = arg(ARG_OBJ, OBJ_EPOLL);
			q->len = 1 + rnd(4); /* the operation */
			q->off = arg(ARG_OBJ, OBJ_EVENTFD + rnd(2));
			q->addr = arg(ARG_EV, EPOLLIN);
			break;
		case 1:
			c = rnd(4);
			if (g.chan[c].waits || g.chan[c ^ 1].waits ||
			    !take(OBJ_CHAN + 2 * (int)c) ||
			    !take(OBJ_CHAN + 2 * (int)(c ^ 1)) ||
			    !take(OBJ_CHAN + 2 * (int)c + 1) ||
			    !take(OBJ_CHAN + 2 * (int)(c ^ 1) + 1))
				break;
			q = add(IORING_OP_SHUTDOWN);
			set_fd(q, OBJ_CHAN + 2 * (int)c + 1);
			q->len = chance(90) ? SHUT_WR : rnd(4);
			g.chan[c].eof = true;
			break;
		case 2:
			c = rnd(4);
			if (!take(OBJ_SPARE + (int)c))
				break;
			q = add(IORING_OP_CLOSE);
			q->fd = arg(ARG_OBJ, OBJ_SPARE + c);
			break;
		case 3:
			q = add(IORING_OP_CLOSE);
			q->file_index = 9 + rnd(3);
			break;
		case 4:
			q = add(IORING_OP_SOCKET);
			q->fd = arg(ARG_NUM, chance(80) ? AF_UNIX : rnd(50));
			q->off = arg(ARG_NUM, chance(80) ? SOCK_STREAM :
							   rnd(12));
			q->opflags = chance(10);
			q->file_index = chance(20) ? 9 + rnd(2) : 0;
			break;
		case 5:
			q = add(IORING_OP_MADVISE);
			q->addr = arg(ARG_MEM, (FIXED_PAGE + 6) * PAGE);
			q->len = PAGE;
			q->opflags = rnd(4);
			break;
		case 6:
			q = add((uint8_t)(chance(50) ? 200 : IORING_OP_NOP));
			q->fd = arg(ARG_OBJ, OBJ_CLOSED);
			break;
		default:
			q = add(chance(50) ? IORING_OP_READ :
				chance(50) ? IORING_OP_POLL_ADD :
				chance(50) ? IORING_OP_RECV :
					     IORING_OP_FSYNC);
			q->fd = arg(ARG_OBJ, chance(50) ? OBJ_CLOSED :
							  OBJ_ZERO);
			if (q->op == IORING_OP_POLL_ADD)
				q->opflags = POLLIN | POLLOUT;
			else if (q->op != IORING_OP_FSYNC) {
				q->addr = arg(ARG_MEM, mem());
				q->len = rnd(100);
			}
			break;
		}
	}
}

static void chain_connect(void)
{
	int obj = OBJ_FRESH + (int)rnd(4);
	struct fsqe *q;

	if (!take(OBJ_LISTENER))
		return;
	if (chance(50)) {
		if (!take(obj))
			return;
		q = add(IORING_OP_CONNECT);
		q->fd = arg(ARG_OBJ, (uint64_t)obj);
		q->addr = arg(ARG_SUN, 0);
		q->off = arg(ARG_NUM, 110);
		if (g.accept_ud)
			g.step->expect++;
		else
			g.conns++;
		g.accept_ud = 0;
		return;
	}
	if (g.accept_ud || g.drains || g.drained)
		return;
	q = add(IORING_OP_ACCEPT);
	q->fd = arg(ARG_OBJ, OBJ_LISTENER);
	q->opflags = chance(20) ? SOCK_CLOEXEC : 0;
	if (g.conns) {
		g.conns--;
	} else {
		g.accept_ud = q->ud;
		park(q, OBJ_LISTENER, -1);
	}
}

/* Something wrong, in a word that cannot do harm. */
static void spoil(struct fsqe *q)
{
	switch (rnd(7)) {
	case 0:
		q->ioprio = (uint16_t)(1U << rnd(16));
		break;
	case 1:
		q->buf_index = (uint16_t)rnd(8);
		break;
	case 2:
		q->personality = 7;
		break;
	case 3:
		if (q->op != IORING_OP_CLOSE)
			q->file_index = rnd(4);
		break;
	case 4:
		q->addr3 = 1;
		break;
	case 5:
		q->pad2 = 2; /* 1 is metadata to reads and writes */
		break;
	default:
		q->flags |= (uint8_t)(chance(50) ? IOSQE_BUFFER_SELECT : 0x80);
		break;
	}
}

static void chain(void)
{
	struct step *s = g.step;
	uint32_t first = s->n, n = chance(50) ? 1 : 1 + rnd(4);
	uint8_t link;

	g.chain++;
	g.nr_sqes = 0;
	switch (rnd(10)) {
	case 0:
		chain_nop(n);
		break;
	case 1:
	case 2:
		chain_file(n);
		break;
	case 3:
	case 4:
	case 5:
		chain_chan(n);
		break;
	case 6:
		chain_path(n);
		break;
	case 7:
		if (chance(50))
			chain_eventfd(n);
		else
			chain_connect();
		break;
	case 8:
		chain_timeout(n);
		break;
	default:
		chain_misc(n);
		break;
	}
	link = chance(80) ? IOSQE_IO_LINK : IOSQE_IO_HARDLINK;
	for (uint32_t i = first; i < s->n; i++) {
		struct fsqe *q = &s->sqes[i];

		if (i + 1 < s->n)
			q->flags |= link;
		if (q->op == IORING_OP_LINK_TIMEOUT)
			continue;
		if (chance(12))
			q->flags |= IOSQE_ASYNC;
		if (chance(4)) {
			q->flags |= IOSQE_CQE_SKIP_SUCCESS;
			s->expect -= s->expect ? 1 : 0;
		}
		if (g.drains && chance(30))
			q->flags |= IOSQE_IO_DRAIN;
		if (chance(4))
			spoil(q);
	}
}

/* --- steps of their own ------------------------------------------------- */

static void unpark(uint32_t i)
{
	if (g.parked[i].chan >= 0)
		g.chan[g.parked[i].chan].waits = false;
	if (g.parked[i].ud == g.accept_ud)
		g.accept_ud = 0;
	g.parked[i] = g.parked[--g.nr_parked];
	g.step->expect++;
}

static bool matches(const struct parked *k, const struct fsqe *q, int obj)
{
	bool by_fd = q->opflags & IORING_ASYNC_CANCEL_FD;

	if (k->ring != g.step->ring)
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

/* Ends what waits, by one of its keys. */
static void cancel(void)
{
	uint32_t i = rnd(g.nr_parked), n = 0;
	struct parked k = g.nr_parked ? g.parked[i] : (struct parked){ 0 };
	struct fsqe *q;

	g.chain++;
	g.nr_sqes = 0;
	if (g.nr_parked)
		g.step->ring = k.ring;
	if (k.op == IORING_OP_TIMEOUT && chance(60)) {
		q = add(IORING_OP_TIMEOUT_REMOVE);
		q->addr = arg(ARG_NUM, chance(80) ? k.ud : 12345);
		if (chance(30)) {
			q->opflags = IORING_TIMEOUT_UPDATE;
			q->off = arg(ARG_TIME, 1000000);
		}
		if (q->addr.val == k.ud)
			unpark(i);
		return;
	}
	if (k.op == IORING_OP_POLL_ADD && chance(60)) {
		q = add(IORING_OP_POLL_REMOVE);
		q->addr = arg(ARG_NUM, chance(80) ? k.ud : 12345);
		if (chance(40)) {
			q->len = IORING_POLL_UPDATE_EVENTS;
			q->opflags = POLLOUT;
			if (g.parked[i].obj >= OBJ_CHAN + 10)
				return; /* a pipe's read end: it waits on */
		}
		if (q->addr.val == k.ud)
			unpark(i);
		return;
	}
	q = add(IORING_OP_ASYNC_CANCEL);
	q->addr = arg(ARG_NUM, k.ud);
	switch (rnd(6)) {
	case 0:
	case 1:
		break;
	case 2:
		if (k.obj < 0)
			break;
		q->opflags = IORING_ASYNC_CANCEL_FD;
		q->addr = arg(ARG_NUM, 0);
		q->fd = arg(ARG_OBJ, (uint64_t)k.obj);
		break;
	case 3:
		q->opflags = IORING_ASYNC_CANCEL_OP;
		q->len = k.op;
		q->addr = arg(ARG_NUM, 0);
		break;
	case 4:
		q->opflags = IORING_ASYNC_CANCEL_ANY;
		q->addr = arg(ARG_NUM, 0);
		break;
	default:
		q->opflags = 1U << rnd(8);
		break;
	}
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
static void counted(void)
{
	struct fsqe *q;
	uint32_t n = 1 + rnd(4);

	g.chain++;
	g.nr_sqes = 0;
	q = add(IORING_OP_TIMEOUT);
	q->len = 1;
	q->addr = arg(ARG_TIME, 100000000000ULL);
	q->off = arg(ARG_NUM, 1 + rnd(n));
	for (uint32_t i = 0; i < n; i++) {
		g.chain++;
		q = add(IORING_OP_NOP);
	}
}

static void registration(void)
{
	static const uint8_t known[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14,
					 15, 16, 18, 19, 20, 21, 25, 29, 255 };
	struct step *s = g.step;
	uint8_t r = s->ring;

	s->kind = STEP_REGISTER;
	switch (rnd(9)) {
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
		s->nr = 4;
		g.buffers[r] = true;
		break;
	case 4:
		s->op = IORING_UNREGISTER_FILES;
		g.registered[r] = false;
		break;
	case 5:
		s->op = IORING_UNREGISTER_BUFFERS;
		break;
	case 6:
		s->op = chance(50) ? IORING_REGISTER_EVENTFD :
				     IORING_UNREGISTER_EVENTFD;
		s->addr = arg(ARG_FDS, 1); /* a regular file's: refused */
		s->nr = s->op == IORING_REGISTER_EVENTFD ? 1 : 0;
		break;
	case 7:
		s->op = IORING_REGISTER_ENABLE_RINGS;
		break;
	default:
		s->op = known[rnd(sizeof(known))];
		s->addr = arg(ARG_NUM, chance(50) ? 0 : 8);
		s->nr = rnd(3);
		/* These change the process, or the model's ground. */
		if (s->op == IORING_UNREGISTER_FILES)
			g.registered[r] = false;
		if (s->op == IORING_REGISTER_RESTRICTIONS)
			s->op = IORING_REGISTER_PROBE;
		break;
	}
}

static void make_rings(void)
{
	static const uint32_t kinds[] = {
		0, 0, IORING_SETUP_SUBMIT_ALL,
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_COOP_TASKRUN, IORING_SETUP_SQE128,
		IORING_SETUP_CQE32, IORING_SETUP_NO_SQARRAY,
		IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
			IORING_SETUP_SUBMIT_ALL | IORING_SETUP_TASKRUN_FLAG,
		IORING_SETUP_SQPOLL,
	};

	g.nr_rings = (uint8_t)(1 + (chance(30) ? rnd(MAX_RINGS) : 0));
	for (uint8_t i = 0; i < g.nr_rings; i++) {
		struct step *s = &g.p->steps[g.p->n++];

		s->kind = STEP_RING;
		s->ring = i;
		s->entries = 16;
		s->setup_flags = kinds[rnd(11)];
		if (chance(20)) {
			s->setup_flags |= IORING_SETUP_CQSIZE;
			s->cq = 16;
		}
	}
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
		uint32_t chains = 1 + rnd(4);

		s->kind = STEP_SUBMIT;
		s->ring = (uint8_t)rnd(g.nr_rings);
		memset(g.busy, 0, sizeof(g.busy));
		memset(g.path_busy, 0, sizeof(g.path_busy));
		g.drains = !g.nr_parked && chance(15);
		g.drained |= g.drains;
		if (i < 2 ? chance(60) : chance(8)) {
			registration();
			continue;
		}
		if (g.nr_parked ? chance(25) : chance(3)) {
			cancel();
			continue;
		}
		/* What follows a drain is late, in the kernel: it goes round. */
		if (chance(3) && !g.drained) {
			counted();
			continue;
		}
		while (chains-- && room())
			chain();
		if (!s->n)
			p->n--;
		else
			s->expect = s->expect > 1000 ? 0 : s->expect;
	}
}
