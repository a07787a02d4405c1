/* SPDX-License-Identifier: MIT */
/*
 * Description: an ordinary io_uring program whose liburing is linked in
 * statically, so that every call of it is an inline `syscall` instruction
 * that no symbol reaches. Files with their content verified, an echo over TCP
 * between two threads, timeouts, links, polls, a ring mapped by hand and a
 * forked child with a ring of its own. Runs on the kernel's rings as well.
 *
 * Usage: inline DIR. Prints a line a part; fails if any part did.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <liburing.h>

#define ENTRIES  32
#define BLOCK    4096
#define BLOCKS   256 /* a multiple of ENTRIES */
#define ROUNDS   200 /* of the echo */
#define WATCHDOG 100 /* seconds; nothing here takes that long */

static int failed;

#define CHECK(cond) check((cond), #cond, __LINE__)

static void check(int ok, const char *what, int line)
{
	if (ok)
		return;
	__atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
	printf("  line %d: not so: %s\n", line, what);
}

static struct io_uring_sqe *get(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe) {
		printf("  the submission queue is full\n");
		exit(1);
	}
	return sqe;
}

static void tag(struct io_uring_sqe *sqe, uint64_t data, unsigned int flags)
{
	sqe->user_data = data;
	sqe->flags |= (__u8)flags;
}

/* Waits, at most 10 s, for one completion: its result, its user_data. */
static int reap(struct io_uring *ring, uint64_t *data)
{
	struct __kernel_timespec ts = { .tv_sec = 10 };
	struct io_uring_cqe *cqe;
	int ret = io_uring_wait_cqe_timeout(ring, &cqe, &ts);

	if (ret) {
		printf("  no completion: %s\n", strerror(-ret));
		exit(1);
	}
	*data = cqe->user_data;
	ret = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return ret;
}

/* Submits all; the results of user_data 1 to n, in whatever order. */
static void run(struct io_uring *ring, int n, int *res)
{
	uint64_t data;
	int r;

	CHECK(io_uring_submit(ring) == n);
	for (int i = 0; i < n; i++) {
		r = reap(ring, &data);
		CHECK(data >= 1 && data <= (uint64_t)n);
		if (data >= 1 && data <= (uint64_t)n)
			res[data - 1] = r;
	}
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void init(struct io_uring *ring, unsigned int flags)
{
	int ret = io_uring_queue_init(ENTRIES, ring, flags);

	if (ret) {
		printf("no ring: io_uring_setup: %s\n", strerror(-ret));
		exit(1);
	}
}

/* ---- files ---- */

static void pattern(char *buf, unsigned int block)
{
	for (unsigned int i = 0; i < BLOCK; i += 4) {
		uint32_t v = block * 2654435761U + i;

		memcpy(buf + i, &v, 4);
	}
}

static void prep_block(struct io_uring_sqe *sqe, int op, int fd, void *buf,
		       struct iovec *iov, uint64_t off)
{
	*iov = (struct iovec){ buf, BLOCK };
	if (op == IORING_OP_READV || op == IORING_OP_WRITEV)
		io_uring_prep_rw(op, sqe, fd, iov, 1, off);
	else
		io_uring_prep_rw(op, sqe, fd, buf, BLOCK, off);
}

/* Writes (or reads and compares) the whole file, a queue full at a time. */
static void sweep(struct io_uring *ring, int fd, unsigned int flags, char *bufs,
		  int op, int writes)
{
	struct io_uring_sqe *sqe;
	struct iovec iov[ENTRIES];
	int res[ENTRIES];
	char want[BLOCK], *buf;

	for (unsigned int at = 0; at < BLOCKS; at += ENTRIES) {
		for (unsigned int i = 0; i < ENTRIES; i++) {
			buf = bufs + i * BLOCK;
			memset(buf, 0, BLOCK);
			if (writes)
				pattern(buf, at + i);
			sqe = get(ring);
			prep_block(sqe, op, fd, buf, &iov[i],
				   (uint64_t)(at + i) * BLOCK);
			tag(sqe, i + 1, flags | (i % 3 ? 0 : IOSQE_ASYNC));
		}
		run(ring, ENTRIES, res);
		for (unsigned int i = 0; i < ENTRIES; i++) {
			pattern(want, at + i);
			CHECK(res[i] == BLOCK);
			CHECK(!memcmp(bufs + i * BLOCK, want, BLOCK));
		}
	}
}

static void test_files(const char *dir)
{
	static char bufs[ENTRIES * BLOCK] __attribute__((aligned(4096)));
	struct iovec whole = { bufs, sizeof(bufs) };
	struct io_uring ring;
	struct io_uring_sqe *sqe;
	char path[4096];
	int fd, res[4];

	snprintf(path, sizeof(path), "%s/file", dir);
	init(&ring, 0);
	sqe = get(&ring);
	io_uring_prep_openat(sqe, AT_FDCWD, path, O_RDWR | O_CREAT | O_TRUNC,
			     0600);
	tag(sqe, 1, 0);
	run(&ring, 1, res);
	fd = res[0];
	CHECK(fd >= 0);
	CHECK(!io_uring_register_buffers(&ring, &whole, 1));
	CHECK(!io_uring_register_files(&ring, &fd, 1));

	sweep(&ring, fd, 0, bufs, IORING_OP_WRITE, 1);
	sweep(&ring, fd, 0, bufs, IORING_OP_READV, 0);
	CHECK(!ftruncate(fd, 0));
	sweep(&ring, 0, IOSQE_FIXED_FILE, bufs, IORING_OP_WRITE_FIXED, 1);
	sweep(&ring, 0, IOSQE_FIXED_FILE, bufs, IORING_OP_READ_FIXED, 0);
	CHECK(!ftruncate(fd, 0));
	sweep(&ring, fd, 0, bufs, IORING_OP_WRITEV, 1);
	sweep(&ring, fd, 0, bufs, IORING_OP_READ, 0);
	CHECK(lseek(fd, 0, SEEK_END) == BLOCKS * BLOCK);

	/* Write, sync, read back: one chain, each after the one before. */
	memset(bufs, 'w', BLOCK);
	sqe = get(&ring);
	io_uring_prep_write(sqe, fd, bufs, BLOCK, 0);
	tag(sqe, 1, IOSQE_IO_LINK);
	sqe = get(&ring);
	io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
	tag(sqe, 2, IOSQE_IO_LINK);
	sqe = get(&ring);
	io_uring_prep_read(sqe, fd, bufs + BLOCK, BLOCK, 0);
	tag(sqe, 3, 0);
	run(&ring, 3, res);
	CHECK(res[0] == BLOCK && res[1] == 0 && res[2] == BLOCK);
	CHECK(!memcmp(bufs, bufs + BLOCK, BLOCK));

	/* Past the end, a bad descriptor, a bad pointer, then close. */
	sqe = get(&ring);
	io_uring_prep_read(sqe, fd, bufs, BLOCK, BLOCKS * BLOCK);
	tag(sqe, 1, 0);
	sqe = get(&ring);
	io_uring_prep_read(sqe, 12345, bufs, BLOCK, 0);
	tag(sqe, 2, 0);
	sqe = get(&ring);
	io_uring_prep_read(sqe, fd, (void *)8, BLOCK, 0);
	tag(sqe, 3, 0);
	run(&ring, 3, res);
	CHECK(res[0] == 0 && res[1] == -EBADF && res[2] == -EFAULT);
	CHECK(!io_uring_unregister_files(&ring));
	sqe = get(&ring);
	io_uring_prep_close(sqe, fd);
	tag(sqe, 1, 0);
	run(&ring, 1, res);
	CHECK(res[0] == 0 && fcntl(fd, F_GETFD) < 0 && errno == EBADF);
	io_uring_queue_exit(&ring);
	unlink(path);
}

/* ---- sockets ---- */

static int echo_listener;

static void no_delay(int fd)
{
	int one = 1;

	CHECK(!setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)));
}

static void *echo_server(void *arg)
{
	struct io_uring ring;
	struct io_uring_sqe *sqe;
	char buf[3000];
	int conn, res[1];

	init(&ring, 0);
	sqe = get(&ring);
	io_uring_prep_accept(sqe, echo_listener, NULL, NULL, 0);
	tag(sqe, 1, 0);
	run(&ring, 1, res);
	conn = res[0];
	CHECK(conn >= 0);
	no_delay(conn);
	for (;;) {
		sqe = get(&ring);
		io_uring_prep_recv(sqe, conn, buf, sizeof(buf), 0);
		tag(sqe, 1, 0);
		run(&ring, 1, res);
		if (res[0] <= 0)
			break;
		sqe = get(&ring);
		io_uring_prep_send(sqe, conn, buf, (size_t)res[0], MSG_WAITALL);
		tag(sqe, 1, 0);
		run(&ring, 1, res);
	}
	CHECK(res[0] == 0);
	close(conn);
	io_uring_queue_exit(&ring);
	return NULL;
}

static void test_echo(const char *dir)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	static char out[8192], in[8192];
	struct io_uring ring;
	struct io_uring_sqe *sqe;
	pthread_t thread;
	int fd, res[2];

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	echo_listener = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(!bind(echo_listener, (void *)&addr, sizeof(addr)));
	CHECK(!listen(echo_listener, 1));
	CHECK(!getsockname(echo_listener, (void *)&addr, &len));
	CHECK(!pthread_create(&thread, NULL, echo_server, NULL));

	init(&ring, 0);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	sqe = get(&ring);
	io_uring_prep_connect(sqe, fd, (void *)&addr, sizeof(addr));
	tag(sqe, 1, 0);
	run(&ring, 1, res);
	CHECK(res[0] == 0);
	no_delay(fd);
	for (int i = 0; i < ROUNDS && !failed; i++) {
		size_t n = 1 + (size_t)i * 41 % sizeof(out);

		memset(out, 'a' + i % 26, n);
		memset(in, 0, sizeof(in));
		/* The answer is awaited before the question is sent. */
		sqe = get(&ring);
		io_uring_prep_recv(sqe, fd, in, n, MSG_WAITALL);
		tag(sqe, 1, 0);
		sqe = get(&ring);
		io_uring_prep_send(sqe, fd, out, n, MSG_WAITALL);
		tag(sqe, 2, 0);
		run(&ring, 2, res);
		CHECK(res[0] == (int)n && res[1] == (int)n);
		CHECK(!memcmp(in, out, n));
	}
	shutdown(fd, SHUT_WR);
	pthread_join(thread, NULL);
	close(fd);
	close(echo_listener);

	/* Nobody listens there any more. */
	fd = socket(AF_INET, SOCK_STREAM, 0);
	sqe = get(&ring);
	io_uring_prep_connect(sqe, fd, (void *)&addr, sizeof(addr));
	tag(sqe, 1, 0);
	run(&ring, 1, res);
	CHECK(res[0] == -ECONNREFUSED);
	close(fd);
	io_uring_queue_exit(&ring);
}

/* ---- time ---- */

static void test_timeouts(const char *dir)
{
	struct __kernel_timespec soon = { .tv_nsec = 30000000 };
	struct __kernel_timespec late = { .tv_sec = 3600 };
	struct io_uring ring;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	double start;
	char c;
	int p[2], res[3];

	init(&ring, 0);
	start = now();
	sqe = get(&ring);
	io_uring_prep_timeout(sqe, &soon, 0, 0);
	tag(sqe, 1, 0);
	run(&ring, 1, res);
	CHECK(res[0] == -ETIME && now() - start >= 0.030);

	start = now();
	CHECK(io_uring_wait_cqe_timeout(&ring, &cqe, &soon) == -ETIME);
	CHECK(now() - start >= 0.030);

	/* Counted: after one other completion. */
	sqe = get(&ring);
	io_uring_prep_timeout(sqe, &late, 1, 0);
	tag(sqe, 1, 0);
	sqe = get(&ring);
	io_uring_prep_nop(sqe);
	tag(sqe, 2, 0);
	run(&ring, 2, res);
	CHECK(res[0] == 0 && res[1] == 0);

	sqe = get(&ring);
	io_uring_prep_timeout(sqe, &late, 0, 0);
	tag(sqe, 1, 0);
	sqe = get(&ring);
	io_uring_prep_timeout_remove(sqe, 1, 0);
	tag(sqe, 2, 0);
	run(&ring, 2, res);
	CHECK(res[0] == -ECANCELED && res[1] == 0);

	/* A read that would wait for ever is ended by its link's timeout. */
	CHECK(!pipe(p));
	sqe = get(&ring);
	io_uring_prep_read(sqe, p[0], &c, 1, 0);
	tag(sqe, 1, IOSQE_IO_LINK);
	sqe = get(&ring);
	io_uring_prep_link_timeout(sqe, &soon, 0);
	tag(sqe, 2, 0);
	run(&ring, 2, res);
	CHECK(res[0] == -ECANCELED && res[1] == -ETIME);

	sqe = get(&ring);
	io_uring_prep_read(sqe, p[0], &c, 1, 0);
	tag(sqe, 1, 0);
	sqe = get(&ring);
	io_uring_prep_cancel64(sqe, 1, 0);
	tag(sqe, 2, 0);
	run(&ring, 2, res);
	CHECK(res[0] == -ECANCELED && res[1] == 0);
	close(p[0]);
	close(p[1]);
	io_uring_queue_exit(&ring);
}

/* ---- links and drain ---- */

static void test_links(const char *dir)
{
	struct io_uring ring;
	struct io_uring_sqe *sqe;
	uint64_t data;
	int res[4];

	init(&ring, 0);
	for (int hard = 0; hard < 2; hard++) {
		unsigned int link = hard ? IOSQE_IO_HARDLINK : IOSQE_IO_LINK;

		sqe = get(&ring);
		io_uring_prep_nop(sqe);
		tag(sqe, 1, link);
		sqe = get(&ring);
		io_uring_prep_fsync(sqe, 12345, 0);
		tag(sqe, 2, link);
		sqe = get(&ring);
		io_uring_prep_nop(sqe);
		tag(sqe, 3, 0);
		sqe = get(&ring);
		io_uring_prep_nop(sqe);
		tag(sqe, 4, 0);
		run(&ring, 4, res);
		CHECK(res[0] == 0 && res[1] == -EBADF && res[3] == 0);
		CHECK(res[2] == (hard ? 0 : -ECANCELED));
	}
	/* In order, though one takes its time. */
	struct __kernel_timespec soon = { .tv_nsec = 5000000 };

	sqe = get(&ring);
	io_uring_prep_timeout(sqe, &soon, 0, 0);
	tag(sqe, 1, 0);
	sqe = get(&ring);
	io_uring_prep_nop(sqe);
	tag(sqe, 2, IOSQE_IO_DRAIN);
	sqe = get(&ring);
	io_uring_prep_nop(sqe);
	tag(sqe, 3, 0);
	CHECK(io_uring_submit(&ring) == 3);
	for (uint64_t i = 1; i <= 3; i++) {
		CHECK(reap(&ring, &data) == (i == 1 ? -ETIME : 0));
		CHECK(data == i);
	}
	io_uring_queue_exit(&ring);
}

/* ---- polls, and the ring's own descriptor ---- */

static void on_alarm(int sig)
{
}

static void test_polls(const char *dir)
{
	struct sigaction act = { .sa_handler = on_alarm };
	struct itimerval tick = { .it_value = { .tv_usec = 20000 } };
	struct pollfd own = { .events = POLLIN };
	struct io_uring ring;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	uint64_t data;
	char c = 'x';
	int p[2], res[1];

	init(&ring, 0);
	CHECK(!pipe(p));
	sqe = get(&ring);
	io_uring_prep_poll_add(sqe, p[0], POLLIN);
	tag(sqe, 1, 0);
	CHECK(io_uring_submit(&ring) == 1);
	own.fd = ring.ring_fd;
	CHECK(poll(&own, 1, 0) == 0);
	CHECK(write(p[1], &c, 1) == 1);
	CHECK(poll(&own, 1, 10000) == 1 && own.revents & POLLIN);
	CHECK(reap(&ring, &data) == POLLIN && data == 1);
	CHECK(poll(&own, 1, 0) == 0);

	sqe = get(&ring);
	io_uring_prep_poll_multishot(sqe, p[0], POLLIN);
	tag(sqe, 7, 0);
	CHECK(io_uring_submit(&ring) == 1);
	CHECK(reap(&ring, &data) == POLLIN && data == 7);
	CHECK(read(p[0], &c, 1) == 1);
	CHECK(write(p[1], &c, 1) == 1);
	CHECK(reap(&ring, &data) == POLLIN && data == 7);
	sqe = get(&ring);
	io_uring_prep_poll_remove(sqe, 7);
	tag(sqe, 8, 0);
	CHECK(io_uring_submit(&ring) == 1);
	for (int i = 0; i < 2; i++)
		CHECK(reap(&ring, &data) == (data == 8 ? 0 : -ECANCELED));

	/* A read waits, though the pipe would not. */
	CHECK(read(p[0], &c, 1) == 1);
	CHECK(!fcntl(p[0], F_SETFL, O_NONBLOCK));
	sqe = get(&ring);
	io_uring_prep_read(sqe, p[0], &c, 1, 0);
	tag(sqe, 3, 0);
	CHECK(io_uring_submit(&ring) == 1);
	CHECK(io_uring_peek_cqe(&ring, &cqe) == -EAGAIN);
	CHECK(write(p[1], "y", 1) == 1);
	CHECK(reap(&ring, &data) == 1 && data == 3 && c == 'y');

	/* A signal ends a wait; it is the watchdog's, lent. */
	CHECK(!sigaction(SIGALRM, &act, NULL));
	CHECK(!setitimer(ITIMER_REAL, &tick, NULL));
	CHECK(io_uring_wait_cqe(&ring, &cqe) == -EINTR);
	signal(SIGALRM, SIG_DFL);
	alarm(WATCHDOG);

	/* A dup is the same ring, and keeps it. */
	ring.enter_ring_fd = ring.ring_fd = dup(own.fd);
	CHECK(ring.ring_fd >= 0 && !close(own.fd));
	sqe = get(&ring);
	io_uring_prep_nop(sqe);
	tag(sqe, 1, 0);
	run(&ring, 1, res);
	CHECK(res[0] == 0);
	close(p[0]);
	close(p[1]);
	io_uring_queue_exit(&ring);
}

/* ---- a ring by hand ---- */

static long inline_call(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

static unsigned int *word(char *ring, unsigned int off)
{
	return (void *)(ring + off);
}

static char *by_hand(long fd, long size, long off)
{
	long p = inline_call(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_POPULATE, fd, off);

	CHECK(p > 0 || p < -4095);
	return (char *)p;
}

static void test_mapping(const char *dir)
{
	struct io_uring_params p = { 0 };
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	unsigned int *tail, *head, mask;
	char *sq, *cq;
	long fd, sq_len, cq_len;

	fd = inline_call(SYS_io_uring_setup, 4, (long)&p, 0, 0, 0, 0);
	CHECK(fd >= 0);
	CHECK(p.sq_entries == 4 && p.cq_entries == 8);
	CHECK(p.features & IORING_FEAT_SINGLE_MMAP);
	sq_len = p.sq_off.array + 4 * p.sq_entries;
	cq_len = p.cq_off.cqes + 16 * p.cq_entries;
	sq = by_hand(fd, sq_len, IORING_OFF_SQ_RING);
	cq = by_hand(fd, cq_len, IORING_OFF_CQ_RING);
	sqes = (void *)by_hand(fd, 64 * p.sq_entries, IORING_OFF_SQES);
	if (failed)
		return;
	cqes = (void *)(cq + p.cq_off.cqes);
	tail = word(sq, p.sq_off.tail);
	head = word(cq, p.cq_off.head);
	mask = *word(cq, p.cq_off.ring_mask);
	CHECK(mask == 7);
	for (unsigned int i = 0; i < 100; i++) {
		memset(&sqes[i & 3], 0, sizeof(*sqes));
		sqes[i & 3].user_data = i;
		word(sq, p.sq_off.array)[i & 3] = i & 3;
		__atomic_store_n(tail, i + 1, __ATOMIC_RELEASE);
		CHECK(inline_call(SYS_io_uring_enter, fd, 1, 1,
				  IORING_ENTER_GETEVENTS, 0, 0) == 1);
		CHECK(__atomic_load_n(word(cq, p.cq_off.tail),
				      __ATOMIC_ACQUIRE) == i + 1);
		CHECK(cqes[i & mask].user_data == i && !cqes[i & mask].res);
		__atomic_store_n(head, i + 1, __ATOMIC_RELEASE);
	}
	CHECK(inline_call(SYS_io_uring_enter, -1, 1, 0, 0, 0, 0) == -EBADF);
	CHECK(inline_call(SYS_io_uring_setup, 0, (long)&p, 0, 0, 0, 0) ==
	      -EINVAL);
	CHECK(inline_call(SYS_io_uring_setup, 4, 8, 0, 0, 0, 0) == -EFAULT);
	munmap(sq, (size_t)sq_len);
	munmap(cq, (size_t)cq_len);
	munmap(sqes, 64 * p.sq_entries);
	CHECK(!inline_call(SYS_close, fd, 0, 0, 0, 0, 0));
}

/* ---- other tasks ---- */

static void test_polled(const char *dir)
{
	struct io_uring ring;
	struct io_uring_sqe *sqe;
	int res[ENTRIES];

	init(&ring, IORING_SETUP_SQPOLL);
	for (int i = 0; i < 20; i++) {
		for (unsigned int n = 1; n <= ENTRIES; n++) {
			/* The thread takes them out in its own time. */
			CHECK(!io_uring_sqring_wait(&ring) ||
			      io_uring_sq_space_left(&ring));
			sqe = get(&ring);
			io_uring_prep_nop(sqe);
			tag(sqe, n, 0);
		}
		run(&ring, ENTRIES, res);
		for (int n = 0; n < ENTRIES; n++)
			CHECK(res[n] == 0);
	}
	io_uring_queue_exit(&ring);
}

static void test_child(const char *dir)
{
	struct io_uring before;
	int status = 0;
	pid_t pid;

	init(&before, 0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		failed = 0;
		test_files(dir);
		test_timeouts(dir);
		fflush(stdout);
		_exit(failed ? 1 : 0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	io_uring_queue_exit(&before);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(const char *dir);
	} part[] = {
		{ "files", test_files },       { "echo", test_echo },
		{ "timeouts", test_timeouts }, { "links", test_links },
		{ "polls", test_polls },       { "mapping", test_mapping },
		{ "polled", test_polled },     { "child", test_child },
	};

	int bad = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: inline DIR\n");
		return 2;
	}
	alarm(WATCHDOG);
	for (size_t i = 0; i < sizeof(part) / sizeof(*part); i++) {
		failed = 0;
		part[i].run(argv[1]);
		printf("%s: %s\n", part[i].name, failed ? "FAILED" : "ok");
		fflush(stdout);
		bad += failed;
	}
	return bad ? 1 : 0;
}
