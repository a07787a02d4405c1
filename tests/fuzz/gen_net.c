/* SPDX-License-Identifier: MIT */
/* Sockets as such: connecting, accepting, naming, asking. */
#include <linux/sockios.h>
#include <sys/socket.h>
#include "gen.h"

static void connect_one(int fresh)
{
	struct fsqe *q = add(IORING_OP_CONNECT);

	q->fd = arg(ARG_OBJ, (uint64_t)(OBJ_FRESH + fresh));
	q->addr = arg(ARG_SUN, 0);
	q->off = arg(ARG_NUM, 110);
	if (g.connected[fresh])
		return;
	g.connected[fresh] = true;
	if (!g.accept_ud) {
		g.conns++;
		return;
	}
	g.step->expect++;
	if (!g.accept_multi)
		g.accept_ud = 0;
}

static void accept_one(void)
{
	struct fsqe *q = add(IORING_OP_ACCEPT);

	q->fd = arg(ARG_OBJ, OBJ_LISTENER);
	q->opflags = chance(20) ? SOCK_CLOEXEC : 0;
	if (g.registered[g.step->ring] && chance(20) && take_slots())
		q->file_index = 9 + rnd(2);
	g.accept_multi = chance(30);
	if (g.accept_multi) {
		q->ioprio |= IORING_ACCEPT_MULTISHOT;
		q->file_index = 0;
	} else if (chance(15)) {
		q->ioprio |= chance(50) ? IORING_ACCEPT_DONTWAIT :
					  IORING_ACCEPT_POLL_FIRST;
	}
	/* A connection that was not made leaves it waiting. */
	g.conns = 0;
	g.accept_ud = q->ud;
	if (g.accept_multi)
		park_multi(q, OBJ_LISTENER, -1);
	else
		park(q, OBJ_LISTENER, -1);
}

void chain_connect(void)
{
	int fresh = (int)rnd(4);

	if (!take(OBJ_LISTENER))
		return;
	if (chance(50)) {
		if (take(OBJ_FRESH + fresh))
			connect_one(fresh);
		return;
	}
	if (!g.accept_ud && may_wait())
		accept_one();
}

/* A fresh socket gets a name, and listens. */
static void chain_bind(uint32_t n)
{
	int fresh = (int)rnd(4);

	if (!take(OBJ_FRESH + fresh) || !has(IORING_OP_BIND))
		return;
	g.connected[fresh] = true;
	while (n-- && room()) {
		struct fsqe *q =
			add(chance(60) ? IORING_OP_BIND : IORING_OP_LISTEN);

		q->fd = arg(ARG_OBJ, (uint64_t)(OBJ_FRESH + fresh));
		if (q->op == IORING_OP_BIND) {
			q->addr = chance(5) ? arg(ARG_NUM, 8) :
					      arg(ARG_SUN, rnd(3));
			q->off = arg(ARG_NUM, chance(90) ? 110 : rnd(200));
		} else {
			q->len = rnd(10);
		}
	}
}

static void socket_one(void)
{
	struct fsqe *q = add(IORING_OP_SOCKET);

	q->fd = arg(ARG_NUM, chance(80) ? AF_UNIX : rnd(50));
	q->off = arg(ARG_NUM, chance(80) ? SOCK_STREAM : rnd(12));
	q->opflags = chance(10);
	if (chance(20) && take_slots())
		q->file_index = 9 + rnd(2);
}

/* Commands to a socket: options, names, what waits. */
static void command_one(int obj)
{
	static const uint32_t options[] = {
		SO_TYPE,     SO_DOMAIN,   SO_ACCEPTCONN, SO_PROTOCOL,
		SO_RCVLOWAT, SO_PASSCRED, 9999,
	};
	struct fsqe *q = add(IORING_OP_URING_CMD);
	/* The ones after SETSOCKOPT are not in every kernel. */
	uint32_t cmd = chance(95) ? rnd(4) : 99;

	set_fd(q, obj);
	q->off = arg(ARG_NUM, cmd);
	if (cmd == SOCKET_URING_OP_GETSOCKOPT ||
	    cmd == SOCKET_URING_OP_SETSOCKOPT) {
		q->addr = arg(ARG_NUM, (uint64_t)options[rnd(7)] << 32 |
					       (chance(90) ? SOL_SOCKET : 0));
		q->file_index = chance(90) ? 4 : rnd(8); /* optlen */
		q->addr3 = arg(ARG_MEM, mem());
		if (cmd == SOCKET_URING_OP_SETSOCKOPT)
			q->addr3 = arg(ARG_FUTEX, 0); /* a small number */
	}
	if (chance(5))
		q->opflags = 2;
}

void chain_net(uint32_t n)
{
	int c = (int)rnd(CHAN_TCP);

	switch (rnd(10)) {
	case 0:
	case 1:
	case 2:
	case 3:
		chain_connect();
		break;
	case 4:
		chain_bind(n);
		break;
	case 5:
		chain_shutdown(n);
		break;
	case 6:
	case 7:
		while (n-- && room())
			socket_one();
		break;
	default:
		/* A socket by TCP has a port that is another each time. */
		if (!has(IORING_OP_URING_CMD) || !take_chan(c))
			break;
		while (n-- && room())
			command_one(chan_obj(c));
		break;
	}
}
