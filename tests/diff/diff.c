/* SPDX-License-Identifier: MIT */
/*
 * Description: the differential tests' runner: two processes a body, their
 * transcripts compared. See diff.h.
 */
#include "diff.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "anyuring.h"
#include "base/atomic.h"

#define EXIT_SKIP    77
#define BODY_SECONDS 20 /* a body's limit */
#define WAIT_MS      3000 /* CQEs that do not come by then never do */
#define LINES_MAX    20000
#define OUT_FD       100 /* the transcript has this descriptor, or one above */
#define JOBS         6 /* bodies at a time: most of them sleep */
#define PATIENCE     5

static long neg_errno(long r)
{
	return r < 0 ? -errno : r;
}

static int kernel_setup(unsigned int entries, struct io_uring_params *p)
{
	return (int)neg_errno(syscall(AU_NR_io_uring_setup, entries, p));
}

static int kernel_enter(unsigned int fd, unsigned int to_submit,
			unsigned int min_complete, unsigned int flags,
			const void *arg, size_t argsz)
{
	return (int)neg_errno(syscall(AU_NR_io_uring_enter, fd, to_submit,
				      min_complete, flags, arg, argsz));
}

static int kernel_reg(unsigned int fd, unsigned int opcode, void *arg,
		      unsigned int nr_args)
{
	return (int)neg_errno(
		syscall(AU_NR_io_uring_register, fd, opcode, arg, nr_args));
}

static void *kernel_map(void *addr, size_t length, int prot, int flags, int fd,
			off_t offset)
{
	void *p = mmap(addr, length, prot, flags, fd, offset);

	return p == MAP_FAILED ? (void *)(intptr_t)-errno : p;
}

static int kernel_unmap(void *addr, size_t length)
{
	return (int)neg_errno(munmap(addr, length));
}

static int kernel_close(int fd)
{
	return (int)neg_errno(close(fd));
}

static const struct diff_backend backends[2] = {
	{ "kernel", kernel_setup, kernel_enter, kernel_reg, kernel_map,
	  kernel_unmap, kernel_close },
	{ "anyuring", anyuring_setup, anyuring_enter, anyuring_register,
	  anyuring_mmap, anyuring_munmap, anyuring_close },
};

static const struct {
	unsigned int bit;
	const char *name;
	uint32_t flags;
} variants[] = {
	{ DIFF_PLAIN, "", 0 },
	{ DIFF_DEFER, "@defer",
	  IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN },
	{ DIFF_SQPOLL, "@sqpoll", IORING_SETUP_SQPOLL },
	{ DIFF_COOP, "@coop",
	  IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
		  IORING_SETUP_SUBMIT_ALL },
	{ DIFF_WIDE, "@wide",
	  IORING_SETUP_SQE128 | IORING_SETUP_CQE32 | IORING_SETUP_NO_SQARRAY },
};

const char *diff_errname(long value)
{
	const char *name = strerrorname_np((int)-value);

	return name ? name : "E?";
}

static void say_line(struct diff *d, const char *line)
{
	size_t n = strlen(line);

	if (write(d->out, line, n) != (ssize_t)n || write(d->out, "\n", 1) != 1)
		abort();
}

void diff_say(struct diff *d, const char *fmt, ...)
{
	char line[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	say_line(d, line);
}

static void say_value(struct diff *d, const char *what, long value)
{
	if (value < 0 && value > -4096)
		diff_say(d, "%s = -%s", what, diff_errname(value));
	else
		diff_say(d, "%s = %ld", what, value);
}

long diff_res(struct diff *d, long value, const char *fmt, ...)
{
	char what[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	say_value(d, what, value);
	return value;
}

long diff_want(struct diff *d, long value, long wanted, const char *fmt, ...)
{
	char what[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	say_value(d, what, value);
	if (value == wanted)
		return value;
	d->failures++;
	fprintf(stderr, "%s: %s: %ld, not %ld\n", d->be->name, what, value,
		wanted);
	return value;
}

long diff_ok(struct diff *d, long value, const char *fmt, ...)
{
	char what[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (value < 0)
		say_value(d, what, value);
	else
		diff_say(d, "%s = ok", what);
	return value;
}

void diff_bytes(struct diff *d, const char *what, const void *p, size_t n)
{
	const unsigned char *c = p;
	char text[2048];
	size_t at = 0;

	for (size_t i = 0; i < n && at < sizeof(text) - 8; i++)
		at += (size_t)snprintf(
			text + at, sizeof(text) - at,
			c[i] > ' ' && c[i] < 127 ? "%c" : "\\%02x", c[i]);
	text[at] = 0;
	diff_say(d, "%s = \"%s\"", what, text);
}

void diff_must(struct diff *d, long value, const char *what)
{
	if (value >= 0)
		return;
	diff_say(d, "%s: cannot go on: %s", what, strerror(errno));
	exit(3);
}

void diff_sleep_ms(struct diff *d, unsigned int ms)
{
	(void)poll(NULL, 0, (int)(ms * d->scale));
}

uint64_t diff_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void *diff_bad_ptr(void)
{
	static void *bad;

	if (!bad)
		bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	return bad;
}

int diff_file(struct diff *d, const char *name, size_t n)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	diff_must(d, fd, name);
	for (size_t i = 0; i < n; i++) {
		char c = (char)('a' + i % 26);

		diff_must(d, pwrite(fd, &c, 1, (off_t)i), name);
	}
	return fd;
}

void diff_pipe(struct diff *d, int fds[2])
{
	diff_must(d, pipe2(fds, O_CLOEXEC), "pipe");
}

void diff_socketpair(struct diff *d, int type, int fds[2])
{
	diff_must(d, socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds),
		  "socketpair");
}

int diff_listen(struct diff *d, struct sockaddr_in *sin)
{
	socklen_t len = sizeof(*sin);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*sin = (struct sockaddr_in){ .sin_family = AF_INET };
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	diff_must(d, fd, "socket");
	diff_must(d, bind(fd, (struct sockaddr *)sin, len), "bind");
	diff_must(d, listen(fd, 16), "listen");
	diff_must(d, getsockname(fd, (struct sockaddr *)sin, &len), "name");
	return fd;
}

/* Ring */

void ring_map(struct ring *r, const struct io_uring_params *p)
{
	struct diff *d = r->d;
	uint32_t slot;

	r->p = *p;
	r->sqe_size = p->flags & IORING_SETUP_SQE128 ? 128 : 64;
	r->cqe_size = p->flags & IORING_SETUP_CQE32 ? 32 : 16;
	slot = p->flags & IORING_SETUP_NO_SQARRAY ? 0 : 4;
	r->rings_len = p->cq_off.cqes + (size_t)p->cq_entries * r->cqe_size;
	if (slot &&
	    p->sq_off.array + (size_t)p->sq_entries * slot > r->rings_len)
		r->rings_len = p->sq_off.array + (size_t)p->sq_entries * slot;
	r->sqes_len = (size_t)p->sq_entries * r->sqe_size;
	r->rings = d->be->map(NULL, r->rings_len, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_POPULATE, r->fd,
			      IORING_OFF_SQ_RING);
	r->sqes = d->be->map(NULL, r->sqes_len, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_POPULATE, r->fd,
			     (off_t)IORING_OFF_SQES);
	if (ANYURING_IS_ERR(r->rings) || ANYURING_IS_ERR(r->sqes)) {
		diff_say(d, "the ring cannot be mapped");
		exit(3);
	}
	r->sq_head = (void *)(r->rings + p->sq_off.head);
	r->sq_tail = (void *)(r->rings + p->sq_off.tail);
	r->sq_flags = (void *)(r->rings + p->sq_off.flags);
	r->sq_dropped = (void *)(r->rings + p->sq_off.dropped);
	r->sq_array = slot ? (void *)(r->rings + p->sq_off.array) : NULL;
	r->cq_head = (void *)(r->rings + p->cq_off.head);
	r->cq_tail = (void *)(r->rings + p->cq_off.tail);
	r->cq_flags = (void *)(r->rings + p->cq_off.flags);
	r->cq_overflow = (void *)(r->rings + p->cq_off.overflow);
	r->cqes = r->rings + p->cq_off.cqes;
}

void ring_open_params(struct diff *d, struct ring *r, unsigned int entries,
		      struct io_uring_params *p)
{
	memset(r, 0, sizeof(*r));
	r->d = d;
	p->flags |= d->setup_flags;
	if (p->flags & IORING_SETUP_SQPOLL)
		p->sq_thread_idle = 50;
	r->fd = d->be->setup(entries, p);
	r->p = *p;
	if (r->fd < 0) {
		diff_res(d, r->fd, "setup flags %#x", p->flags);
		exit(3);
	}
	ring_map(r, p);
}

void ring_open(struct diff *d, struct ring *r, unsigned int entries,
	       uint32_t flags)
{
	struct io_uring_params p = { .flags = flags };

	ring_open_params(d, r, entries, &p);
}

void ring_close_quiet(struct ring *r)
{
	(void)r->d->be->unmap(r->rings, r->rings_len);
	(void)r->d->be->unmap(r->sqes, r->sqes_len);
	if (r->d->be->close(r->fd))
		diff_want(r->d, -1, 0, "close ring");
}

void ring_close(struct ring *r)
{
	ring_close_quiet(r);
	diff_say(r->d, "ring closed");
}

struct io_uring_sqe *ring_sqe(struct ring *r, uint8_t op, int fd,
			      const void *addr, uint32_t len, uint64_t off)
{
	uint32_t i = r->tail & (r->p.sq_entries - 1);
	struct io_uring_sqe *sqe;

	if (r->tail - __atomic_load_n(r->sq_head, __ATOMIC_ACQUIRE) >=
	    r->p.sq_entries) {
		diff_say(r->d, "the SQ is full");
		exit(3);
	}
	sqe = (void *)(r->sqes + (size_t)i * r->sqe_size);
	memset(sqe, 0, r->sqe_size);
	sqe->opcode = op;
	sqe->fd = fd;
	sqe->addr = (uintptr_t)addr;
	sqe->len = len;
	sqe->off = off;
	if (r->sq_array)
		r->sq_array[i] = i;
	sqe->user_data = ++r->tail;
	return sqe;
}

struct io_uring_sqe *ring_nop(struct ring *r)
{
	return ring_sqe(r, IORING_OP_NOP, -1, NULL, 0, 0);
}

int ring_enter(struct ring *r, unsigned int to_submit, unsigned int min,
	       unsigned int flags)
{
	return r->d->be->enter((unsigned int)r->fd, to_submit, min, flags, NULL,
			       0);
}

/* The SQPOLL thread takes what there is; waits until it has. */
static int ring_submit_sqpoll(struct ring *r, uint32_t n)
{
	uint64_t end = diff_now_ms() + (uint64_t)(WAIT_MS * r->d->scale);
	unsigned int flags = 0;

	au_fence_full();
	if (__atomic_load_n(r->sq_flags, __ATOMIC_RELAXED) &
	    IORING_SQ_NEED_WAKEUP)
		flags = IORING_ENTER_SQ_WAKEUP;
	(void)ring_enter(r, n, 0, flags);
	while (__atomic_load_n(r->sq_head, __ATOMIC_ACQUIRE) != r->tail &&
	       diff_now_ms() < end)
		(void)poll(NULL, 0, 1);
	return (int)(n -
		     (r->tail - __atomic_load_n(r->sq_head, __ATOMIC_ACQUIRE)));
}

int ring_submit(struct ring *r)
{
	uint32_t n = r->tail - __atomic_load_n(r->sq_head, __ATOMIC_ACQUIRE);
	int ret;

	__atomic_store_n(r->sq_tail, r->tail, __ATOMIC_RELEASE);
	if (r->p.flags & IORING_SETUP_SQPOLL)
		ret = ring_submit_sqpoll(r, n);
	else
		ret = ring_enter(r, n, 0, 0);
	return (int)diff_res(r->d, ret, "submit %u", n);
}

unsigned int ring_ready(struct ring *r)
{
	return __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE) - *r->cq_head;
}

static struct io_uring_cqe *ring_cqe_at(struct ring *r, uint32_t i)
{
	return (void *)(r->cqes +
			(size_t)(i & (r->p.cq_entries - 1)) * r->cqe_size);
}

struct seen {
	struct io_uring_cqe cqe;
	uint64_t extra[2];
	unsigned int nr;
};

static int seen_cmp(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->cqe.user_data != y->cqe.user_data)
		return x->cqe.user_data < y->cqe.user_data ? -1 : 1;
	return x->nr < y->nr ? -1 : 1;
}

static void seen_say(struct diff *d, const struct seen *s, bool wide)
{
	char res[32], extra[64] = "";

	if (s->cqe.res < 0 && s->cqe.res > -4096)
		snprintf(res, sizeof(res), "-%s", diff_errname(s->cqe.res));
	else
		snprintf(res, sizeof(res), "%d", s->cqe.res);
	if (wide && (s->extra[0] || s->extra[1]))
		snprintf(extra, sizeof(extra), " extra %llx %llx",
			 (unsigned long long)s->extra[0],
			 (unsigned long long)s->extra[1]);
	/* That more is there is a hint, which not every socket gives. */
	diff_say(d, "cqe %lld = %s flags %#x%s", (long long)s->cqe.user_data,
		 res, s->cqe.flags & ~IORING_CQE_F_SOCK_NONEMPTY, extra);
}

unsigned int ring_reap(struct ring *r, enum ring_order order)
{
	unsigned int n = ring_ready(r);
	struct seen *s = calloc(n + 1, sizeof(*s));
	bool wide = r->cqe_size == 32;

	for (unsigned int i = 0; i < n; i++) {
		struct io_uring_cqe *cqe = ring_cqe_at(r, *r->cq_head + i);

		memcpy(&s[i].cqe, cqe, sizeof(*cqe));
		if (wide)
			memcpy(s[i].extra, cqe->big_cqe, sizeof(s[i].extra));
		s[i].nr = i;
	}
	__atomic_store_n(r->cq_head, *r->cq_head + n, __ATOMIC_RELEASE);
	if (order == RING_SORTED)
		qsort(s, n, sizeof(*s), seen_cmp);
	for (unsigned int i = 0; i < n && order != RING_QUIET; i++)
		seen_say(r->d, &s[i], wide);
	free(s);
	return n;
}

int ring_timed_wait(struct ring *r, unsigned int n, unsigned int ms)
{
	struct au_timespec ts = { .tv_sec = ms / 1000,
				  .tv_nsec = (long long)(ms % 1000) * 1000000 };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };

	return r->d->be->enter((unsigned int)r->fd, 0, n,
			       IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
			       &arg, sizeof(arg));
}

static bool ring_await(struct ring *r, unsigned int n)
{
	uint64_t end = diff_now_ms() + (uint64_t)(WAIT_MS * r->d->scale);

	while (ring_ready(r) < n) {
		uint64_t now = diff_now_ms();
		int ret;

		if (now >= end) {
			diff_say(r->d, "waited for %u CQEs in vain, %u came", n,
				 ring_ready(r));
			return false;
		}
		ret = ring_timed_wait(r, n, (unsigned int)(end - now));
		if (ret < 0 && ret != -EINTR && ret != -ETIME) {
			diff_res(r->d, ret, "wait");
			return false;
		}
	}
	return true;
}

unsigned int ring_wait(struct ring *r, unsigned int n, enum ring_order order)
{
	(void)ring_await(r, n);
	return ring_reap(r, order);
}

unsigned int ring_settle(struct ring *r, enum ring_order order)
{
	unsigned int n = ring_ready(r);

	for (int quiet = 0; quiet < 3; quiet++) {
		(void)ring_enter(r, 0, 0, IORING_ENTER_GETEVENTS);
		diff_sleep_ms(r->d, 1);
		if (ring_ready(r) != n)
			quiet = -1;
		n = ring_ready(r);
	}
	return ring_reap(r, order);
}

unsigned int ring_run(struct ring *r, unsigned int n, enum ring_order order)
{
	(void)ring_submit(r);
	return ring_wait(r, n, order);
}

int ring_one(struct ring *r, struct io_uring_cqe *out)
{
	struct io_uring_cqe *cqe;
	int res;

	if (!ring_await(r, 1))
		return -ETIME;
	cqe = ring_cqe_at(r, *r->cq_head);
	if (out)
		memcpy(out, cqe, sizeof(*out));
	res = cqe->res;
	__atomic_store_n(r->cq_head, *r->cq_head + 1, __ATOMIC_RELEASE);
	return res;
}

/* Running */

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* What a backend keeps for the process is made before the count. */
static void warm_up(struct diff *d)
{
	struct au_timespec ts = { .tv_sec = 100 };
	uint32_t flags = d->setup_flags;
	struct ring r;
	int p[2];

	d->setup_flags = 0;
	diff_pipe(d, p);
	ring_open(d, &r, 4, 0);
	ring_sqe(&r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0)->poll32_events =
		POLLIN;
	ring_sqe(&r, IORING_OP_TIMEOUT, -1, &ts, 1, 0);
	ring_submit(&r);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
	d->setup_flags = flags;
}

static void run_body(struct diff *d, const struct diff_test *t)
{
	uint64_t end;
	int before, after;

	warm_up(d);
	before = count_fds();
	t->body(d);
	/* A ring's end may take a moment. */
	end = diff_now_ms() + (uint64_t)(1000 * d->scale);
	while ((after = count_fds()) > before && diff_now_ms() < end)
		(void)poll(NULL, 0, 5);
	diff_want(d, after - before, 0, "descriptors leaked");
}

struct child {
	pid_t pid;
	int out, status;
	char dir[32];
};

static int rm_one(const char *path, const struct stat *st, int type,
		  struct FTW *ftw)
{
	return remove(path);
}

static void child_start(struct child *c, const struct diff_test *t,
			const struct diff_backend *be, uint32_t flags,
			double scale)
{
	struct diff d = { .be = be, .setup_flags = flags, .scale = scale };

	strcpy(c->dir, "diff-XXXXXX");
	if (!mkdtemp(c->dir)) {
		perror("mkdtemp");
		exit(1);
	}
	c->out = memfd_create("transcript", MFD_CLOEXEC);
	c->pid = fork();
	if (c->pid)
		return;
	alarm((unsigned int)(BODY_SECONDS * scale));
	/* Both see the same numbers free, and none of other bodies' files. */
	d.out = fcntl(c->out, F_DUPFD_CLOEXEC, OUT_FD);
	if (d.out < 0 || chdir(c->dir))
		exit(3);
	for (int fd = 3; fd < OUT_FD; fd++)
		close(fd);
	run_body(&d, t);
	exit(d.failures ? 2 : 0);
}

static char *child_end(struct child *c)
{
	char *text;
	off_t n;

	waitpid(c->pid, &c->status, 0);
	nftw(c->dir, rm_one, 8, FTW_DEPTH | FTW_PHYS);
	n = lseek(c->out, 0, SEEK_END);
	text = calloc(1, (size_t)n + 1);
	if (pread(c->out, text, (size_t)n, 0) != n)
		abort();
	close(c->out);
	return text;
}

static const char *child_fate(const struct child *c)
{
	static char text[64];

	if (WIFSIGNALED(c->status))
		snprintf(text, sizeof(text), "killed by signal %d%s",
			 WTERMSIG(c->status),
			 WTERMSIG(c->status) == SIGALRM ? " (too slow)" : "");
	else if (WEXITSTATUS(c->status) == 2)
		return "a requirement is not met";
	else if (WEXITSTATUS(c->status))
		snprintf(text, sizeof(text), "exit status %d",
			 WEXITSTATUS(c->status));
	else
		return NULL;
	return text;
}

static size_t split(char *text, char **lines)
{
	size_t n = 0;

	for (char *p = strtok(text, "\n"); p && n < LINES_MAX;
	     p = strtok(NULL, "\n"))
		lines[n++] = p;
	return n;
}

/* A line of known.tsv: test, start of the kernel's line, reason. */
static bool known(const char *test, const char *line)
{
	static char *text;
	FILE *f;
	size_t len;

	if (!text) {
		f = fopen(DIFF_KNOWN, "r");
		text = calloc(1, 1 << 16);
		if (f) {
			if (!fread(text, 1, (1 << 16) - 1, f))
				text[0] = 0;
			fclose(f);
		}
	}
	for (const char *p = text; *p; p += len + 1) {
		const char *tab;
		size_t field;

		len = strcspn(p, "\n");
		tab = memchr(p, '\t', len);
		if (*p != '#' && tab && !strncmp(p, test, (size_t)(tab - p)) &&
		    !test[tab - p]) {
			field = strcspn(tab + 1, "\t\n");
			if (!strncmp(tab + 1, line, field))
				return true;
		}
		if (!p[len])
			break;
	}
	return false;
}

static size_t compare(const char *name, char *kernel, char *ours)
{
	char **a = calloc(LINES_MAX, sizeof(*a));
	char **b = calloc(LINES_MAX, sizeof(*b));
	size_t n = split(kernel, a), m = split(ours, b), wrong = 0;

	for (size_t i = 0; i < n || i < m; i++) {
		const char *x = i < n ? a[i] : "(nothing)";
		const char *y = i < m ? b[i] : "(nothing)";

		if (!strcmp(x, y) || known(name, x))
			continue;
		if (!wrong)
			printf("%s differs:\n", name);
		if (!wrong && i)
			printf("  %4zu           %s\n", i, a[i - 1]);
		if (++wrong <= 30)
			printf("  %4zu kernel    %s\n       anyuring  %s\n",
			       i + 1, x, y);
	}
	if (wrong > 30)
		printf("  ... and %zu more\n", wrong - 30);
	free(a);
	free(b);
	return wrong;
}

/* A body that runs: two children. */
struct job {
	const struct diff_test *test;
	char name[128];
	const char *variant;
	uint32_t flags;
	struct child c[2];
};

static void job_start(struct job *j, const struct diff_test *t,
		      const char *variant, uint32_t flags, double scale)
{
	j->test = t;
	j->variant = variant;
	j->flags = flags;
	snprintf(j->name, sizeof(j->name), "%s%s", t->name, variant);
	for (int i = 0; i < 2; i++)
		child_start(&j->c[i], t, &backends[i], flags, scale);
}

static bool job_end(struct job *j, const char *prog, bool verbose)
{
	char *text[2];
	bool ok = true;

	for (int i = 0; i < 2; i++)
		text[i] = child_end(&j->c[i]);
	for (int i = 0; i < 2; i++) {
		const char *fate = child_fate(&j->c[i]);

		if (verbose)
			printf("--- %s on %s\n%s", j->name, backends[i].name,
			       text[i]);
		if (!fate)
			continue;
		ok = false;
		printf("%s on %s: %s; the end of its transcript:\n", j->name,
		       backends[i].name, fate);
		printf("%s", strlen(text[i]) > 400 ?
				     text[i] + strlen(text[i]) - 400 :
				     text[i]);
	}
	if (compare(j->name, text[0], text[1]))
		ok = false;
	if (!ok)
		printf("reproduce: %s -t %s\n", prog, j->name);
	fflush(stdout);
	free(text[0]);
	free(text[1]);
	return ok;
}

static void skip_without_kernel(void)
{
	struct io_uring_params p = { 0 };
	int fd = kernel_setup(1, &p);

	if (fd >= 0) {
		close(fd);
		return;
	}
	printf("no io_uring in this kernel to compare with: %s\n",
	       strerror(-fd));
	exit(EXIT_SKIP);
}

/* Which bodies to run, and what came of them. */
struct plan {
	const char *prog, *only;
	bool verbose, list;
	double scale;
	struct job jobs[JOBS];
	unsigned int nr, run, failed;
};

/*
 * "No more CQEs come" can only be told by waiting a while, which on a busy
 * machine was too short for one side: once more, alone, with more patience.
 */
static bool job_again(const struct job *first, const struct plan *p)
{
	struct job j;

	printf("once more, with %d times the patience\n", PATIENCE);
	job_start(&j, first->test, first->variant, first->flags,
		  PATIENCE * p->scale);
	return job_end(&j, p->prog, p->verbose);
}

static void plan_flush(struct plan *p)
{
	bool ok[JOBS];

	for (unsigned int i = 0; i < p->nr; i++)
		ok[i] = job_end(&p->jobs[i], p->prog, p->verbose);
	for (unsigned int i = 0; i < p->nr; i++)
		p->failed += !ok[i] && !job_again(&p->jobs[i], p);
	p->nr = 0;
}

static void plan_add(struct plan *p, const struct diff_test *t, size_t v)
{
	char name[128];

	snprintf(name, sizeof(name), "%s%s", t->name, variants[v].name);
	if (p->only && strcmp(p->only, name) && strcmp(p->only, t->name))
		return;
	if (p->list) {
		puts(name);
		return;
	}
	if (p->nr == JOBS)
		plan_flush(p);
	job_start(&p->jobs[p->nr++], t, variants[v].name, variants[v].flags,
		  p->scale);
	p->run++;
}

int diff_main(int argc, char **argv, const struct diff_test *tests, size_t n)
{
	static struct plan plan;
	const char *scale = getenv("AU_TEST_TIMEOUT_SCALE");
	int opt;

	plan.prog = argv[0];
	plan.scale = scale ? atof(scale) : 1;
	while ((opt = getopt(argc, argv, "t:vl")) != -1) {
		switch (opt) {
		case 't':
			plan.only = optarg;
			break;
		case 'v':
			plan.verbose = true;
			break;
		case 'l':
			plan.list = true;
			break;
		default:
			fprintf(stderr, "usage: %s [-l] [-v] [-t TEST]\n",
				argv[0]);
			return 2;
		}
	}
	skip_without_kernel();
	for (size_t i = 0; i < n; i++) {
		unsigned int which = tests[i].variants ? tests[i].variants :
							 DIFF_PLAIN;

		for (size_t v = 0; v < AU_ARRAY_SIZE(variants); v++) {
			if (which & variants[v].bit)
				plan_add(&plan, &tests[i], v);
		}
	}
	plan_flush(&plan);
	if (plan.list)
		return 0;
	printf("%u bodies, %u differ\n", plan.run, plan.failed);
	return plan.failed || !plan.run;
}
