/* SPDX-License-Identifier: MIT */
/* Timeouts, eventfds, epoll, futexes, children. */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include "gen.h"

void chain_timeout(uint32_t n)
{
	struct fsqe *q;

	while (n-- && room()) {
		q = add(IORING_OP_TIMEOUT);
		q->len = chance(95) ? 1 : 0;
		q->addr =
			arg(ARG_TIME, chance(90) ? 1000000 + rnd(2000000) : 0);
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
	if (chance(25) && room() && g.step->n && may_wait()) {
		q = add(IORING_OP_TIMEOUT);
		q->len = 1;
		q->addr = arg(ARG_TIME, FOREVER_NS);
		if (chance(20)) {
			q->opflags = IORING_TIMEOUT_MULTISHOT;
			park_multi(q, -1, -1);
		} else {
			park(q, -1, -1);
		}
	}
}

static void eventfd_add(int obj, uint64_t number_at, uint32_t len)
{
	struct fsqe *q = add(IORING_OP_WRITE);

	set_fd(q, obj);
	q->addr = arg(ARG_MEM, number_at);
	q->len = len;
}

/* Looks on for good. */
static void eventfd_poll(int obj)
{
	struct fsqe *q = add(IORING_OP_POLL_ADD);

	q->len = chance(60) ? IORING_POLL_ADD_MULTI : 0;
	q->opflags = POLLIN;
	set_fd(q, obj);
	g.efd_polled[obj - OBJ_EVENTFD] = true;
	if (q->len)
		park_multi(q, obj, -1);
	else
		park(q, obj, -1);
}

void chain_eventfd(uint32_t n)
{
	int i = (int)rnd(2), obj = OBJ_EVENTFD + i;
	struct fsqe *q;

	if (!take(obj))
		return;
	/* Who watches it is to be woken once. */
	if (g.efd_polled[i] || g.epoll_waits) {
		eventfd_add(obj, WORD_PAGE * PAGE + WORD_ONE, 8);
		return;
	}
	if (may_wait() && chance(15)) {
		eventfd_poll(obj);
		return;
	}
	while (n-- && room()) {
		uint32_t len = chance(80) ? 8 : 1 + rnd(7);

		/* Little-endian bytes of the pattern: large, but not -1. */
		eventfd_add(obj, (FIXED_PAGE + 7) * PAGE, len);
		/* Nobody writes then; a hard link would have it wait for that. */
		if (!room() || (len < 8 && g.link == IOSQE_IO_HARDLINK))
			break;
		q = add(IORING_OP_READ);
		set_fd(q, obj);
		q->addr = arg(ARG_MEM, mem());
		q->len = 8;
	}
}

static bool take_epoll(void)
{
	return take(OBJ_EPOLL) && take(OBJ_EVENTFD) && take(OBJ_EVENTFD + 1);
}

void chain_epoll(uint32_t n)
{
	struct fsqe *q;

	if (!take_epoll())
		return;
	if (has(IORING_OP_EPOLL_WAIT) && may_wait() && !g.epoll_waits &&
	    chance(40)) {
		q = add(IORING_OP_EPOLL_WAIT);
		set_fd(q, chance(95) ? OBJ_EPOLL : OBJ_FILE);
		q->addr = arg(ARG_MEM, mem());
		q->len = chance(90) ? 1 + rnd(3) : 0;
		g.epoll_waits = true;
		park(q, OBJ_EPOLL, -1);
		return;
	}
	/* Two changes may wake who waits twice, or once. */
	if (g.epoll_waits)
		n = 1;
	while (n-- && room()) {
		q = add(IORING_OP_EPOLL_CTL);
		q->fd = arg(ARG_OBJ, OBJ_EPOLL);
		q->len = chance(60) ? EPOLL_CTL_ADD : 1 + rnd(4);
		q->off = arg(ARG_OBJ, OBJ_EVENTFD + rnd(2));
		q->addr = arg(ARG_EV, EPOLLIN);
	}
}

/*
 * Not private ones: the kernel gives a process a table of its own for those
 * when it becomes one of several threads, as by a worker, and loses who waits.
 */
#define FUTEX_U32 2U

static void futex_words(struct fsqe *q, uint32_t i)
{
	q->fd = arg(ARG_NUM, FUTEX_U32);
	q->addr = chance(4) ? arg(ARG_NUM, 8) : arg(ARG_FUTEX, i);
	q->addr3 = arg(ARG_NUM, 0xffffffff);
}

static void futex_wait(uint32_t i, bool vector)
{
	bool waits = chance(70);
	struct fsqe *q;

	if (vector) {
		q = add(IORING_OP_FUTEX_WAITV);
		q->addr = arg(ARG_FUTEXV, 1U << i);
		q->len = 1;
	} else {
		q = add(IORING_OP_FUTEX_WAIT);
		futex_words(q, i);
		q->off = arg(ARG_NUM, waits ? FUTEX_VALUE : 1);
		/* Which bits it is woken for; 0 is an error. */
		if (chance(10))
			q->addr3 = arg(ARG_NUM, rnd(2));
	}
	g.futex_waits[i] = true;
	park(q, futex_obj(i), -1);
}

/* No children: what a wait says then, or of wrong arguments. */
static void waitid_one(void)
{
	struct fsqe *q = add(IORING_OP_WAITID);

	q->fd = arg(ARG_NUM, 1);
	q->len = chance(80) ? rnd(3) : 9; /* P_ALL, P_PID, P_PGID */
	q->file_index = WEXITED | (chance(50) ? (uint32_t)WNOHANG : 0);
	if (chance(10))
		q->file_index = rnd(8);
	q->off = chance(50) ? arg(ARG_NUM, 0) : arg(ARG_STATX, 0);
}

void chain_futex(uint32_t n)
{
	uint32_t i = rnd(NR_FUTEXES);
	struct fsqe *q;

	if (chance(25)) {
		while (n-- && room() && has(IORING_OP_WAITID))
			waitid_one();
		return;
	}
	/* There are no objects for them: one such chain in a step. */
	if (!has(IORING_OP_FUTEX_WAIT) || !take(OBJ_CLOSED))
		return;
	if (g.futex_waits[i] || !may_wait() || chance(20)) {
		q = add(IORING_OP_FUTEX_WAKE);
		futex_words(q, i);
		q->off = arg(ARG_NUM, rnd(3));
		for (uint32_t k = g.nr_parked; q->off.val && k-- > 0;) {
			if (g.parked[k].obj == futex_obj(i))
				unpark(k);
		}
		return;
	}
	futex_wait(i, chance(40));
}
