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

#define FD_BASE 100 /* the objects' descriptors, clear of what is opened */

const int slot_objs[NR_SLOTS] = {
	OBJ_FILE, OBJ_FILE + 1, OBJ_CHAN, OBJ_CHAN + 1, OBJ_CHAN + 10,
	OBJ_CHAN + 11, OBJ_EVENTFD, OBJ_RDONLY, -1, -1,
};

static const char *const paths[NR_PATHS] = {
	"p0", "p1", "p2", "p3", "dir", "dir/p4", "absent/p", "f0", "link",
	"", "dir/../p5", "loop",
};

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
};

static struct {
	const struct program *p;
	const struct backend *b;
	struct outcome *out;
	struct ring rings[MAX_RINGS];
	unsigned char *arena;
	struct line lines[512];
	uint32_t nr_lines;
	int opened[256];
	uint32_t nr_opened;
	uint32_t step;
} w;

static void __attribute__((format(printf, 1, 2))) put(const char *fmt, ...)
{
	size_t room = sizeof(w.out->text) - w.out->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(w.out->text + w.out->len, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		w.out->len += (uint32_t)((size_t)n < room ? (size_t)n : room - 1);
}

static uint32_t hash(const void *data, size_t len)
{
	const unsigned char *c = data;
	uint32_t h = 2166136261U;

	while (len--)
		h = (h ^ *c++) * 16777619U;
	return h;
}

static void pattern(unsigned char *at, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++)
		at[i] = (unsigned char)((i * 131 + (i >> 8) * 17 + seed * 29) %
					251);
}

/* --- the world ---------------------------------------------------------- */

static void place(int obj, int fd)
{
	if (fd < 0 || dup2(fd, FD_BASE + obj) < 0) {
		put("no object %d: %d\n", obj, errno);
		return;
	}
	close(fd);
}

static void make_files(void)
{
	unsigned char data[2 * PAGE];
	char name[8];

	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		pattern(data, sizeof(data), (uint32_t)i + 7);
		place(OBJ_FILE + i,
		      open(name, O_RDWR | O_CREAT | O_TRUNC, 0644));
		if (pwrite(FD_BASE + OBJ_FILE + i, data, sizeof(data), 0) < 0)
			put("no data\n");
	}
	place(OBJ_RDONLY, open("f3", O_RDONLY));
	if (mkdir("dir", 0755) || symlink("p0", "link") ||
	    symlink("loop", "loop"))
		put("no paths\n");
	place(OBJ_DIR, open("dir", O_RDONLY | O_DIRECTORY));
}

static void make_sockets(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX, .sun_path = "sock" };
	int s[2];

	for (int c = 0; c < NR_CHANS; c++) {
		int rd = OBJ_CHAN + 2 * c, r;

		/* Channels 0 and 1 (2 and 3) are the two ways of one pair. */
		if (c < 4 && (c & 1)) {
			place(rd, dup(FD_BASE + rd - 1));
			place(rd + 1, dup(FD_BASE + rd - 2));
			continue;
		}
		r = c < 5 ? socketpair(AF_UNIX,
				       c < 4 ? SOCK_STREAM : SOCK_DGRAM, 0, s) :
			    pipe(s);
		if (r)
			put("no channel\n");
		place(rd, s[0]);
		place(rd + 1, s[1]);
	}
	place(OBJ_LISTENER, socket(AF_UNIX, SOCK_STREAM, 0));
	if (bind(FD_BASE + OBJ_LISTENER, (void *)&sun, sizeof(sun)) ||
	    listen(FD_BASE + OBJ_LISTENER, 8))
		put("no listener\n");
	for (int i = 0; i < 4; i++)
		place(OBJ_FRESH + i, socket(AF_UNIX, SOCK_STREAM, 0));
}

static void make_world(void)
{
	make_files();
	make_sockets();
	for (int i = 0; i < 2; i++)
		place(OBJ_EVENTFD + i, eventfd(0, 0));
	place(OBJ_EPOLL, epoll_create1(0));
	for (int i = 0; i < 4; i++)
		place(OBJ_SPARE + i, open("/dev/null", O_RDWR));
	place(OBJ_ZERO, open("/dev/zero", O_RDWR));
	w.arena = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	for (uint32_t i = 0; i < PAGES; i++)
		pattern(w.arena + i * PAGE, PAGE, i);
}

/* --- what arguments mean ------------------------------------------------ */

/* Things pointed to live as long as the run: the child's memory is its own. */
static void *keep(const void *data, size_t len)
{
	void *at = malloc(len);

	memcpy(at, data, len);
	return at;
}

static struct iovec *iovecs(uint64_t page)
{
	struct iovec v[3];

	for (uint32_t i = 0; i < 3; i++) {
		v[i].iov_base = w.arena + (page + i) % FIXED_PAGE * PAGE;
		v[i].iov_len = i == 0 ? 100 : i == 1 ? 200 : 50;
	}
	return keep(v, sizeof(v));
}

static uint64_t ptr(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static uint64_t fds_table(void)
{
	int fds[NR_SLOTS];

	for (int i = 0; i < NR_SLOTS; i++)
		fds[i] = slot_objs[i] < 0 ? -1 : FD_BASE + slot_objs[i];
	return ptr(keep(fds, sizeof(fds)));
}

static uint64_t bufs_table(void)
{
	struct iovec v[4] = {
		{ w.arena + FIXED_PAGE * PAGE, PAGE },
		{ w.arena + (FIXED_PAGE + 1) * PAGE, 3 * PAGE },
		{ NULL, 0 },
		{ w.arena + (FIXED_PAGE + 4) * PAGE + 100, 1000 },
	};

	return ptr(keep(v, sizeof(v)));
}

static uint64_t value(struct arg a)
{
	struct au_timespec ts = { (int64_t)(a.val / 1000000000),
				  (long long)(a.val % 1000000000) };
	struct sockaddr_un sun = { .sun_family = AF_UNIX, .sun_path = "sock" };
	struct epoll_event ev = { .events = (uint32_t)a.val, .data.u64 = 7 };
	uint64_t how[3] = { a.val, a.val & O_CREAT ? 0644 : 0, 0 };
	struct msghdr msg = { 0 };

	switch (a.kind) {
	case ARG_OBJ:
		return FD_BASE + a.val;
	case ARG_RING:
		return a.val < MAX_RINGS ? (uint32_t)w.rings[a.val].fd : 0;
	case ARG_MEM:
		return ptr(w.arena + a.val % (PAGES * PAGE));
	case ARG_IOV:
		return ptr(iovecs(a.val));
	case ARG_MSG:
		msg.msg_iov = iovecs(a.val);
		msg.msg_iovlen = 3;
		return ptr(keep(&msg, sizeof(msg)));
	case ARG_PATH:
		return ptr(paths[a.val % NR_PATHS]);
	case ARG_TIME:
		return ptr(keep(&ts, sizeof(ts)));
	case ARG_SUN:
		return ptr(keep(&sun, sizeof(sun)));
	case ARG_HOW:
		return ptr(keep(how, sizeof(how)));
	case ARG_EV:
		return ptr(keep(&ev, sizeof(ev)));
	case ARG_FDS:
		return fds_table() + 4 * a.val;
	case ARG_BUFS:
		return bufs_table() + 16 * a.val;
	case ARG_STATX:
		return ptr(malloc(512));
	default:
		return a.val;
	}
}

/* --- rings -------------------------------------------------------------- */

static void make_ring(const struct step *s)
{
	struct io_uring_params p = { .flags = s->setup_flags,
				     .cq_entries = s->cq,
				     .sq_thread_idle = 50 };
	struct ring *r = &w.rings[s->ring];
	size_t ring_size, sqe_size = s->setup_flags & IORING_SETUP_SQE128 ?
					     128 :
					     64;

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

/* Takes what is there. Returns how many. */
static uint32_t reap(void)
{
	uint32_t n = 0;

	for (uint8_t i = 0; i < MAX_RINGS; i++) {
		struct ring *r = &w.rings[i];
		uint32_t head, tail, wide;

		if (!r->made)
			continue;
		wide = r->flags & IORING_SETUP_CQE32 ? 1 : 0;
		head = *r->cq_head;
		tail = __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE);
		for (; head != tail; head++) {
			const struct io_uring_cqe *c =
				&r->cqes[(head & *r->cq_mask) << wide];
			const struct fsqe *q = find_sqe(c->user_data);
			struct line *l;
			int32_t res = c->res;
			uint32_t flags = c->flags;

			if (opens_fd(q) && res >= 0 && w.nr_opened < 256) {
				w.opened[w.nr_opened++] = res;
				res = 0x7fd;
			}
			n++;
			if (w.nr_lines == 512)
				continue;
			/* A hint that a plain receive is not asked for here. */
			if (q && (q->op == IORING_OP_RECV ||
				  q->op == IORING_OP_RECVMSG) &&
			    !(q->flags & IOSQE_BUFFER_SELECT))
				flags &= ~(uint32_t)IORING_CQE_F_SOCK_NONEMPTY;
			l = &w.lines[w.nr_lines];
			*l = (struct line){ .ring = i, .res = res,
				.ud = c->user_data, .flags = flags,
				.seq = w.nr_lines++ };
			l->key = chain_has_link_timeout(l->ud) ?
					 l->ud :
					 chain_of(l->ud) << 4;
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

		put("ring %u ud %#" PRIx64 " res %d flags %#x\n", l->ring,
		    l->ud, l->res, l->flags);
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
	struct io_uring_getevents_arg arg = { .ts = ptr(&ts) };
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

/*
 * Until the step brought what it should. The kernel sets the measure: what it
 * has not done after a silence it is not going to do.
 */
static void settle(const struct step *s, const struct outcome *known)
{
	uint32_t want = known ? known->got[w.step] : s->expect;
	uint32_t got = reap();
	bool threads = w.rings[s->ring].made &&
		       (w.rings[s->ring].flags & IORING_SETUP_SQPOLL);

	for (int silent = 0; got < want || silent < 1;) {
		uint32_t n = turn(s->ring, got < want ? (known ? 100 : 12) : 0);

		got += n;
		silent = n ? 0 : silent + 1;
		if (silent >= (known ? 4 : 3))
			break;
	}
	for (uint32_t i = 0; i < s->n; i++)
		threads |= s->sqes[i].flags & IOSQE_ASYNC;
	/* Threads may not yet have parked what is to wait. */
	if (threads)
		usleep(3000);
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
	e->addr3 = q->addr3;
	e->pad2[0] = q->pad2;
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

		fill_sqe(&s->sqes[i], (void *)(r->sqes + ((size_t)at << (6 + wide))),
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
}

/* --- the end ------------------------------------------------------------ */

static void show_dir(const char *dir, int depth)
{
	struct dirent **names;
	char path[512], target[64];
	int n = scandir(dir, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		struct stat st;
		ssize_t t;

		if (names[i]->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		if (lstat(path, &st))
			continue;
		put("%s mode %o links %u size %lld", path, st.st_mode,
		    (unsigned int)st.st_nlink,
		    S_ISDIR(st.st_mode) ? 0LL : (long long)st.st_size);
		t = readlink(path, target, sizeof(target) - 1);
		if (t >= 0)
			put(" -> %.*s", (int)t, target);
		if (S_ISREG(st.st_mode) && st.st_size < 1 << 22) {
			int fd = open(path, O_RDONLY);
			unsigned char *c = malloc((size_t)st.st_size + 1);

			t = read(fd, c, (size_t)st.st_size);
			put(" data %#x", t < 0 ? 0 : hash(c, (size_t)t));
			free(c);
			close(fd);
		}
		put("\n");
		if (S_ISDIR(st.st_mode) && depth < 3)
			show_dir(path, depth + 1);
	}
}

static void show_left(int obj)
{
	static unsigned char data[1 << 20];
	struct pollfd pfd = { .fd = FD_BASE + obj, .events = POLLIN };
	size_t len = 0;

	while (poll(&pfd, 1, 0) == 1 && (pfd.revents & POLLIN) &&
	       len < sizeof(data)) {
		ssize_t r = read(pfd.fd, data + len, sizeof(data) - len);

		if (r <= 0)
			break;
		len += (size_t)r;
	}
	put("object %d left %zu data %#x events %#x\n", obj, len,
	    hash(data, len), (unsigned int)pfd.revents);
}

static void show_world(void)
{
	unsigned char fresh[PAGE];

	for (int i = OBJ_FILE; i <= OBJ_RDONLY; i++)
		put("file %d at %lld\n", i,
		    (long long)lseek(FD_BASE + i, 0, SEEK_CUR));
	for (int c = 0; c < NR_CHANS; c++)
		show_left(OBJ_CHAN + 2 * c);
	for (int i = 0; i < 2; i++)
		show_left(OBJ_EVENTFD + i);
	for (int i = 0; i < NR_OBJS; i++) {
		if (fcntl(FD_BASE + i, F_GETFD) < 0)
			put("object %d closed\n", i);
	}
	for (uint32_t i = 0; i < PAGES; i++) {
		pattern(fresh, PAGE, i);
		if (memcmp(fresh, w.arena + i * PAGE, PAGE))
			put("page %u %#x\n", i, hash(w.arena + i * PAGE, PAGE));
	}
	show_dir(".", 0);
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
	make_world();
	for (w.step = 0; w.step < p->n; w.step++) {
		const struct step *s = &p->steps[w.step];

		if (s->kind == STEP_RING)
			make_ring(s);
		else if (s->kind == STEP_SUBMIT)
			submit(s);
		else if (w.rings[s->ring].made)
			put("%2u register %d\n", w.step,
			    b->reg((unsigned int)w.rings[s->ring].fd, s->op,
				   (void *)(uintptr_t)value(s->addr), s->nr));
		settle(s, known);
	}
	settle_last(known);
	report();
	for (uint8_t i = 0; i < MAX_RINGS; i++) {
		if (w.rings[i].fd >= 0 && w.rings[i].made)
			b->close(w.rings[i].fd);
	}
	show_world();
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
	"anyuring", anyuring_setup, anyuring_enter, anyuring_register,
	anyuring_mmap, anyuring_close,
};
