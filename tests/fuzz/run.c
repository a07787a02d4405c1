/* SPDX-License-Identifier: MIT */
/*
 * Runs a program on one of the two and writes down what can be compared: the
 * values enter and register return, the CQEs (sorted, in the order of their
 * chain only), then files, descriptors and what is left in sockets and pipes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>
#include "anyuring.h"
#include "program.h"
#include "base/atomic.h"

struct ring {
	bool made;
	int fd;
	uint32_t flags, sq_entries;
	unsigned char *rings, *sqes;
	uint32_t *sq_head, *sq_tail, *sq_mask, *sq_array;
	uint32_t *cq_head, *cq_tail, *cq_mask;
	struct io_uring_cqe *cqes;
};

struct line {
	uint8_t ring;
	uint64_t key, ud;
	uint32_t seq, flags;
	int32_t res;
	uint64_t extra[2];
};

static struct {
	const struct program *p;
	const struct backend *b;
	struct outcome *out;
	uint32_t held; /* CQEs left where they are, about */
	uint32_t own; /* requests of this step that ended */
	struct ring rings[MAX_RINGS];
	struct line lines[512];
	uint32_t nr_lines;
	int opened[256];
	uint32_t nr_opened;
	uint32_t step;
} w;

void put(const char *fmt, ...)
{
	size_t room = sizeof(w.out->text) - w.out->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(w.out->text + w.out->len, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		w.out->len +=
			(uint32_t)((size_t)n < room ? (size_t)n : room - 1);
}

/* --- rings -------------------------------------------------------------- */

static void make_ring(const struct step *s)
{
	struct io_uring_params p = { .flags = s->setup_flags,
				     .cq_entries = s->cq,
				     .sq_thread_idle = 50 };
	struct ring *r = &w.rings[s->ring];
	size_t ring_size,
		sqe_size = s->setup_flags & IORING_SETUP_SQE128 ? 128 : 64;

	memset(r, 0, sizeof(*r));
	r->fd = w.b->setup(s->entries, &p);
	if (r->fd < 0) {
		put("setup %d\n", r->fd);
		return;
	}
	put("setup sq %u cq %u\n", p.sq_entries, p.cq_entries);
	ring_size = p.cq_off.cqes +
		    ((size_t)p.cq_entries
		     << (s->setup_flags & IORING_SETUP_CQE32 ? 5 : 4));
	if (!(s->setup_flags & IORING_SETUP_NO_SQARRAY) &&
	    ring_size < p.sq_off.array + p.sq_entries * 4U)
		ring_size = p.sq_off.array + p.sq_entries * 4U;
	r->rings = w.b->mmap(NULL, ring_size, PROT_READ | PROT_WRITE,
			     MAP_SHARED, r->fd, IORING_OFF_SQ_RING);
	r->sqes = w.b->mmap(NULL, p.sq_entries * sqe_size,
			    PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
			    IORING_OFF_SQES);
	if (ANYURING_IS_ERR(r->rings) || ANYURING_IS_ERR(r->sqes)) {
		put("mmap failed\n");
		return;
	}
	r->flags = s->setup_flags;
	r->sq_entries = p.sq_entries;
	r->sq_head = (void *)(r->rings + p.sq_off.head);
	r->sq_tail = (void *)(r->rings + p.sq_off.tail);
	r->sq_mask = (void *)(r->rings + p.sq_off.ring_mask);
	r->sq_array = (void *)(r->rings + p.sq_off.array);
	r->cq_head = (void *)(r->rings + p.cq_off.head);
	r->cq_tail = (void *)(r->rings + p.cq_off.tail);
	r->cq_mask = (void *)(r->rings + p.cq_off.ring_mask);
	r->cqes = (void *)(r->rings + p.cq_off.cqes);
	r->made = true;
}

static const struct fsqe *find_sqe(uint64_t ud)
{
	for (uint32_t i = 0; i < w.p->n; i++) {
		const struct step *s = &w.p->steps[i];

		for (uint32_t j = 0; s->kind == STEP_SUBMIT && j < s->n; j++) {
			if (s->sqes[j].ud == ud)
				return &s->sqes[j];
		}
	}
	return NULL;
}

static bool chain_has_link_timeout(uint64_t ud)
{
	for (uint64_t u = ud & ~15ULL; u < (ud | 15) + 1; u++) {
		const struct fsqe *q = find_sqe(u);

		if (q && q->op == IORING_OP_LINK_TIMEOUT)
			return true;
	}
	return false;
}

static bool opens_fd(const struct fsqe *q)
{
	return q && !q->file_index &&
	       (q->op == IORING_OP_OPENAT || q->op == IORING_OP_OPENAT2 ||
		q->op == IORING_OP_ACCEPT || q->op == IORING_OP_SOCKET ||
		q->op == IORING_OP_FIXED_FD_INSTALL);
}

static void note_opened(int *fd)
{
	if (w.nr_opened == 256)
		return;
	w.opened[w.nr_opened++] = *fd;
	*fd = 0x7fd;
}

/* A descriptor's number is what happens to be free: it is not compared. */
static void forget_numbers(const struct fsqe *q, int *res)
{
	int *pipe;

	if (*res < 0 || !q || q->file_index)
		return;
	if (opens_fd(q))
		note_opened(res);
	if (q->op != IORING_OP_PIPE || q->addr.kind != ARG_MEM)
		return;
	pipe = (void *)(arena + q->addr.val);
	note_opened(&pipe[0]);
	note_opened(&pipe[1]);
}

static void reap_one(uint8_t ring, const struct io_uring_cqe *c, bool wide)
{
	const struct fsqe *q = find_sqe(c->user_data);
	struct line *l = &w.lines[w.nr_lines];

	if (w.nr_lines == sizeof(w.lines) / sizeof(w.lines[0]))
		return;
	*l = (struct line){ .ring = ring,
			    .res = c->res,
			    .ud = c->user_data,
			    .flags = c->flags,
			    .seq = w.nr_lines++ };
	forget_numbers(q, &l->res);
	if (q >= w.p->steps[w.step].sqes &&
	    q < w.p->steps[w.step].sqes + MAX_SQES &&
	    !(c->flags & (IORING_CQE_F_MORE | IORING_CQE_F_NOTIF)))
		w.own++;
	if (wide) {
		l->extra[0] = c->big_cqe[0];
		l->extra[1] = c->big_cqe[1];
	}
	/* A hint that a plain receive is not asked for here. */
	if (q && (q->op == IORING_OP_RECV || q->op == IORING_OP_RECVMSG) &&
	    !(q->flags & IOSQE_BUFFER_SELECT))
		l->flags &= ~(uint32_t)IORING_CQE_F_SOCK_NONEMPTY;
	l->key = chain_has_link_timeout(l->ud) ? l->ud : chain_of(l->ud) << 4;
	/* When memory is free again is another question. */
	if (c->flags & IORING_CQE_F_NOTIF)
		l->key |= 15;
}

/* Takes what is there. Returns how many. */
static uint32_t reap(void)
{
	uint32_t n = 0;

	for (uint8_t i = 0; i < MAX_RINGS; i++) {
		struct ring *r = &w.rings[i];
		uint32_t head, tail, shift;

		if (!r->made)
			continue;
		shift = r->flags & IORING_SETUP_CQE32 ? 1 : 0;
		head = *r->cq_head;
		tail = __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE);
		for (; head != tail; head++) {
			const struct io_uring_cqe *c =
				&r->cqes[(head & *r->cq_mask) << shift];
			bool mixed = r->flags & IORING_SETUP_CQE_MIXED;
			bool wide = mixed && (c->flags & IORING_CQE_F_32);

			if (mixed && (c->flags & IORING_CQE_F_SKIP))
				continue;
			reap_one(i, c, shift || wide);
			head += wide;
			n++;
		}
		__atomic_store_n(r->cq_head, head, __ATOMIC_RELEASE);
	}
	return n;
}

static int by_key(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->ring != y->ring)
		return x->ring < y->ring ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->seq < y->seq ? -1 : 1;
}

static void report(void)
{
	qsort(w.lines, w.nr_lines, sizeof(w.lines[0]), by_key);
	for (uint32_t i = 0; i < w.nr_lines; i++) {
		const struct line *l = &w.lines[i];

		put("ring %u ud %#" PRIx64 " res %d flags %#x", l->ring, l->ud,
		    l->res, l->flags);
		if (l->extra[0] | l->extra[1])
			put(" extra %#" PRIx64 " %#" PRIx64, l->extra[0],
			    l->extra[1]);
		put("\n");
	}
}

static void close_opened(void)
{
	for (uint32_t i = 0; i < w.nr_opened; i++)
		close(w.opened[i]);
	w.nr_opened = 0;
}

/* One turn of every ring; waits on `at` for one CQE, `ms` at most. */
static uint32_t turn(uint8_t at, unsigned int ms)
{
	struct au_timespec ts = { 0, ms * 1000000LL };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	uint32_t n;

	for (uint8_t i = 0; i < MAX_RINGS; i++) {
		if (w.rings[i].made)
			(void)w.b->enter((unsigned int)w.rings[i].fd, 0, 0,
					 IORING_ENTER_GETEVENTS, NULL, 0);
	}
	n = reap();
	if (n || !ms || !w.rings[at].made)
		return n;
	(void)w.b->enter((unsigned int)w.rings[at].fd, 0, 1,
			 IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg,
			 sizeof(arg));
	return reap();
}

/* A timer would fire into a later step, if less was expected of this one. */
static bool has_timer(const struct step *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->sqes[i].op == IORING_OP_TIMEOUT ||
		    s->sqes[i].op == IORING_OP_LINK_TIMEOUT ||
		    s->sqes[i].op == IORING_OP_TIMEOUT_REMOVE)
			return true;
	}
	return false;
}

/* Threads may not yet have parked what is to wait, and nothing tells. */
static void await_threads(const struct step *s)
{
	bool threads = w.rings[s->ring].made &&
		       (w.rings[s->ring].flags & IORING_SETUP_SQPOLL);

	for (uint32_t i = 0; i < s->n; i++)
		threads |= s->sqes[i].flags & IOSQE_ASYNC;
	if (threads && w.own < s->n)
		usleep(10000);
}

/*
 * Until the step brought what it should. The kernel sets the measure: what it
 * has not done after a silence it is not going to do.
 */
static void settle(const struct step *s, const struct outcome *known)
{
	uint32_t want = known ? known->got[w.step] : s->expect + w.held;
	uint32_t own = known ? 0 : s->own, got;
	int silent = 0, enough;
	bool timer = !known && has_timer(s);

	if (s->hold) {
		/* What overflows the CQ stays where it is, too. */
		w.held += s->expect;
		return;
	}
	w.held = w.own = 0;
	got = reap();
	do {
		bool waits = got < want || w.own < own || timer;
		uint32_t n = turn(s->ring, waits ? (known ? 100 : 12) : 0);

		got += n;
		silent = n ? 0 : silent + 1;
		/* A request of this very step is most likely on its way. */
		enough = known ? 4 : w.own < own ? 6 : 3;
		if (got >= want && w.own >= own)
			enough = 1;
	} while (silent < enough);
	await_threads(s);
	w.out->got[w.step] = got;
	close_opened();
}

/* What came late. The kernel gets a longer silence, the other its total. */
static void settle_last(const struct outcome *known)
{
	uint32_t total = 0, silent = 0;

	for (uint32_t i = 0; known && i < w.p->n; i++)
		total += known->got[i];
	for (uint32_t i = 0; i < w.p->n; i++)
		total -= known ? w.out->got[i] : 0;
	total += known ? known->got[MAX_STEPS] : 0;
	while (silent < (known ? (total ? 20 : 1) : 3)) {
		uint32_t n = turn(0, known && !total ? 0 : 15);

		w.out->got[MAX_STEPS] += n;
		total -= n < total ? n : total;
		silent = n ? 0 : silent + 1;
	}
}

static uint64_t value(struct arg a)
{
	if (a.kind == ARG_RING)
		return a.val < MAX_RINGS ? (uint32_t)w.rings[a.val].fd : 0;
	return world_value(a);
}

static void fill_sqe(const struct fsqe *q, struct io_uring_sqe *e, size_t size)
{
	memset(e, 0, size);
	e->opcode = q->op;
	e->flags = q->flags;
	e->ioprio = q->ioprio;
	e->fd = (int32_t)value(q->fd);
	e->off = value(q->off);
	e->addr = value(q->addr);
	e->len = q->len;
	e->op_flags = q->opflags;
	e->user_data = q->ud;
	e->buf_index = q->buf_index;
	e->personality = q->personality;
	e->file_index = q->file_index;
	e->addr3 = value(q->addr3);
	e->pad2[0] = q->pad2;
}

/* Its thread takes them in its own time; the next step is to find room. */
static void await_sqpoll(const struct ring *r)
{
	for (int i = 0; i < 10000; i++) {
		if (__atomic_load_n(r->sq_head, __ATOMIC_ACQUIRE) ==
		    *r->sq_tail)
			return;
		(void)w.b->enter((unsigned int)r->fd, 0, 0,
				 IORING_ENTER_SQ_WAKEUP, NULL, 0);
		sched_yield();
	}
}

static void submit(const struct step *s)
{
	struct ring *r = &w.rings[s->ring];
	uint32_t wide, tail, n = s->n;

	if (!r->made)
		return;
	wide = r->flags & IORING_SETUP_SQE128 ? 1 : 0;
	tail = *r->sq_tail;
	if (tail + n - __atomic_load_n(r->sq_head, __ATOMIC_ACQUIRE) >
	    r->sq_entries) {
		put("sq full\n");
		return;
	}
	for (uint32_t i = 0; i < n; i++, tail++) {
		uint32_t at = tail & *r->sq_mask;

		fill_sqe(&s->sqes[i],
			 (void *)(r->sqes + ((size_t)at << (6 + wide))),
			 64U << wide);
		if (!(r->flags & IORING_SETUP_NO_SQARRAY))
			r->sq_array[at] = at;
	}
	__atomic_store_n(r->sq_tail, tail, __ATOMIC_RELEASE);
	if (r->flags & IORING_SETUP_SQPOLL)
		au_fence_full();
	while (n) {
		int did = w.b->enter((unsigned int)r->fd, n, 0,
				     r->flags & IORING_SETUP_SQPOLL ?
					     IORING_ENTER_SQ_WAKEUP |
						     IORING_ENTER_SQ_WAIT :
					     0,
				     NULL, 0);

		put("%2u submit %d\n", w.step, did);
		if (did <= 0)
			break;
		n -= (uint32_t)did < n ? (uint32_t)did : n;
	}
	if (r->flags & IORING_SETUP_SQPOLL)
		await_sqpoll(r);
	/* Nor are they submitted later, when nobody reckons with them. */
	if (n)
		__atomic_store_n(r->sq_tail, *r->sq_head, __ATOMIC_RELEASE);
}

static void do_register(const struct step *s)
{
	int fd = w.rings[s->ring].fd, r;

	if (!w.rings[s->ring].made)
		return;
	if (s->addr.kind == ARG_PBUF)
		r = groups_register(w.b, fd, s->ring, s->op,
				    (uint32_t)s->addr.val);
	else
		r = w.b->reg((unsigned int)fd, s->op,
			     (void *)(uintptr_t)value(s->addr), s->nr);
	put("%2u register %d\n", w.step, r);
}

void program_run(const struct program *p, const struct backend *b,
		 const struct outcome *known, struct outcome *out)
{
	w.p = p;
	w.b = b;
	w.out = out;
	out->len = 0;
	for (int i = 0; i < MAX_RINGS; i++)
		w.rings[i].fd = -1;
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	world_make();
	for (w.step = 0; w.step < p->n; w.step++) {
		const struct step *s = &p->steps[w.step];

		if (s->kind == STEP_RING)
			make_ring(s);
		else if (s->kind == STEP_SUBMIT)
			submit(s);
		else if (s->kind == STEP_REGISTER)
			do_register(s);
		else if (s->kind == STEP_FILL && w.rings[s->ring].made)
			put("%2u fill %d\n", w.step,
			    groups_fill(b, w.rings[s->ring].fd, s->ring, s->op,
					s->nr));
		settle(s, known);
	}
	settle_last(known);
	report();
	for (uint8_t i = 0; i < MAX_RINGS; i++)
		groups_show(b, w.rings[i].fd, i);
	for (uint8_t i = 0; i < MAX_RINGS; i++) {
		if (w.rings[i].fd >= 0 && w.rings[i].made)
			b->close(w.rings[i].fd);
	}
	world_show();
	out->over = true;
}

/* --- the two ------------------------------------------------------------ */

static int kernel_setup(unsigned int entries, struct io_uring_params *p)
{
	long r = syscall(425, entries, p);

	return r < 0 ? -errno : (int)r;
}

static int kernel_enter(unsigned int fd, unsigned int n, unsigned int min,
			unsigned int flags, const void *arg, size_t argsz)
{
	long r = syscall(426, fd, n, min, flags, arg, argsz);

	return r < 0 ? -errno : (int)r;
}

static int kernel_register(unsigned int fd, unsigned int op, void *arg,
			   unsigned int nr)
{
	long r = syscall(427, fd, op, arg, nr);

	return r < 0 ? -errno : (int)r;
}

const struct backend backend_kernel = {
	"kernel", kernel_setup, kernel_enter, kernel_register, mmap, close,
};

const struct backend backend_anyuring = {
	"anyuring",        anyuring_setup, anyuring_enter,
	anyuring_register, anyuring_mmap,  anyuring_close,
};
