/* SPDX-License-Identifier: MIT */
/*
 * Description: everything an application may get wrong at once: opcodes, flags,
 * descriptors, pointers, ring indices and registrations at random. Nothing may
 * crash, hang, or keep a descriptor.
 */
#include "stress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <dirent.h>
#include <unistd.h>
#include "base/atomic.h"

#define PAGE     4096UL
#define SCRATCH  (16 * PAGE)
#define NR_FDS   12
#define FD_LIMIT 4096

static char *scratch; /* writable, nothing behind it */
static char *readonly;
static char *hole; /* mapped once, no more */
static int fds[NR_FDS];
static unsigned char known[FD_LIMIT]; /* open before the first round */

static char *map(size_t size, int prot)
{
	char *p = mmap(NULL, size + PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	ST_CHECK(p != MAP_FAILED);
	ST_CHECK(!mprotect(p + size, PAGE, PROT_NONE));
	return p;
}

static void memory_up(void)
{
	scratch = map(SCRATCH, PROT_READ | PROT_WRITE);
	readonly = map(PAGE, PROT_READ);
	hole = map(PAGE, PROT_READ);
	munmap(hole, 2 * PAGE);
}

/* Names, times, addresses: something that can be taken for each of them. */
static void scratch_fill(struct st_rng *r)
{
	for (size_t i = 0; i < SCRATCH; i += 64) {
		switch (st_below(r, 4)) {
		case 0:
			snprintf(scratch + i, 64, "name-%u", st_below(r, 8));
			break;
		case 1: /* small numbers, as lengths, times, descriptors */
			for (size_t k = 0; k < 64; k += 8) {
				uint64_t v = st_below(r, 4);

				memcpy(scratch + i + k, &v, 8);
			}
			break;
		case 2: /* iovecs that hold */
			for (size_t k = 0; k < 64; k += 16) {
				uint64_t v[2] = {
					(uintptr_t)scratch + st_below(r, 4096),
					st_below(r, 512)
				};

				memcpy(scratch + i + k, v, 16);
			}
			break;
		default:
			for (size_t k = 0; k < 64; k += 8) {
				uint64_t v = st_next(r);

				memcpy(scratch + i + k, &v, 8);
			}
		}
	}
}

/* `stack` is the caller's, of 256 bytes. */
static uint64_t pointer(struct st_rng *r, char *stack)
{
	switch (st_below(r, 10)) {
	case 0:
		return 0;
	case 1:
		return 1 + st_below(r, 4096);
	case 2:
		return (uintptr_t)hole + st_below(r, PAGE);
	case 3:
		return (uintptr_t)readonly + st_below(r, PAGE);
	case 4: /* runs into the hole behind */
		return (uintptr_t)scratch + SCRATCH - st_below(r, 64);
	case 5:
		return st_next(r);
	case 6:
		return stack ? (uintptr_t)stack + 8 : 0;
	default:
		return (uintptr_t)scratch +
		       (st_below(r, SCRATCH / 64) * 64);
	}
}

static int some_fd(struct st_rng *r, const struct st_ring *ring)
{
	switch (st_below(r, 12)) {
	case 0:
		return -1;
	case 1:
		return ring->fd;
	case 2: /* where the engine's own are */
		return (int)(512 + st_below(r, 64));
	case 3:
		return (int)(4096 + st_below(r, 64));
	case 4:
		return AT_FDCWD;
	case 5:
		return (int)st_next(r) | 0x10000;
	case 6: /* slots of a table, too */
		return (int)(3000 + st_below(r, 20));
	default:
		return fds[st_below(r, NR_FDS)];
	}
}

static uint32_t length(struct st_rng *r)
{
	switch (st_below(r, 5)) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return (uint32_t)st_next(r);
	default:
		return st_below(r, 300);
	}
}

static void sqe_garbage(struct st_rng *r, struct st_ring *ring,
			struct io_uring_sqe *sqe, char *stack)
{
	bool wild = st_one_in(r, 4);
	uint64_t *words = (uint64_t *)(void *)sqe;

	for (size_t i = 0; i < sizeof(*sqe) / 8; i++)
		words[i] = wild ? st_next(r) : 0;
	sqe->opcode = (uint8_t)(st_one_in(r, 3) ? st_next(r) :
						  st_below(r, 66));
	if (!wild || st_one_in(r, 2))
		sqe->flags = (uint8_t)(st_one_in(r, 3) ? st_next(r) & 0x7f :
							 0);
	sqe->fd = some_fd(r, ring);
	sqe->addr = pointer(r, stack);
	sqe->len = length(r);
	/* The stack's array is small, and what lies behind it is ours. */
	if (sqe->addr >= (uintptr_t)stack && sqe->addr < (uintptr_t)stack + 256)
		sqe->len %= 64;
	if (st_one_in(r, 2))
		sqe->off = st_one_in(r, 2) ? pointer(r, NULL) : st_below(r, 8);
	if (st_one_in(r, 4))
		sqe->addr3 = pointer(r, NULL);
	if (st_one_in(r, 4))
		sqe->rw_flags = (int)(st_one_in(r, 2) ? st_next(r) :
							st_below(r, 16));
	if (st_one_in(r, 6))
		sqe->file_index = st_below(r, 12);
	if (st_one_in(r, 6))
		sqe->ioprio = (uint16_t)st_next(r);
	if (st_one_in(r, 6))
		sqe->buf_index = (uint16_t)st_below(r, 4);
	sqe->user_data = st_below(r, 16);
	/* MADV_HWPOISON and its kin break the machine, not the engine. */
	if (sqe->opcode == IORING_OP_MADVISE && sqe->fadvise_advice > 25)
		sqe->fadvise_advice = 4;
	/* madvise(2) on what is not the scratch memory is the test's end. */
	if (sqe->opcode == IORING_OP_MADVISE) {
		sqe->addr = (uintptr_t)scratch;
		sqe->len %= SCRATCH;
		sqe->off = 0; /* a length as well */
	}
	/* Shared with what runs this program: no such file is closed. */
	if (sqe->fd >= 0 && sqe->fd < 3)
		sqe->fd = -1;
}

static void enter_garbage(struct st_rng *r, struct st_ring *ring)
{
	static const uint32_t waits[] = {
		0, IORING_ENTER_GETEVENTS, IORING_ENTER_SQ_WAKEUP,
		IORING_ENTER_GETEVENTS | IORING_ENTER_ABS_TIMER,
		IORING_ENTER_REGISTERED_RING,
	};
	struct au_timespec ts = { .tv_nsec = st_below(r, 200000) };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	uint32_t flags = waits[st_below(r, 5)], nr = st_below(r, 40);

	if (st_one_in(r, 8)) /* an argument that is none; never waits */
		(void)anyuring_enter((unsigned int)ring->fd, nr, 0,
				     (uint32_t)st_next(r) &
					     ~(uint32_t)IORING_ENTER_SQ_WAIT,
				     (void *)(uintptr_t)pointer(r, NULL),
				     st_below(r, 40));
	else
		(void)anyuring_enter((unsigned int)ring->fd, nr,
				     st_below(r, 4) * st_below(r, 100),
				     flags | IORING_ENTER_EXT_ARG, &arg,
				     sizeof(arg));
}

static void register_garbage(struct st_rng *r, struct st_ring *ring)
{
	uint32_t op = st_one_in(r, 10) ? (uint32_t)st_next(r) :
					 st_below(r, 40);
	char stack[256] = "";
	uint64_t p = pointer(r, stack);
	uint32_t nr = st_one_in(r, 4) ? length(r) : st_below(r, 4);

	/* Waits as long as its argument says. */
	if ((op & 0x7fffffff) == IORING_REGISTER_SYNC_CANCEL) {
		struct io_uring_sync_cancel_reg sc = {
			.addr = st_below(r, 16), .fd = -1,
			.flags = st_below(r, 64),
			.timeout = { .tv_nsec = 100000 },
		};

		(void)anyuring_register((unsigned int)ring->fd, op, &sc, 1);
		return;
	}
	(void)anyuring_register((unsigned int)ring->fd, op,
				(void *)(uintptr_t)p, nr);
	/* What makes many requests meaningful. */
	if (st_one_in(r, 6))
		(void)anyuring_register((unsigned int)ring->fd,
					IORING_REGISTER_FILES, fds, NR_FDS);
}

static void indices_garbage(struct st_rng *r, struct st_ring *ring)
{
	switch (st_below(r, 4)) {
	case 0:
		ring->tail += st_below(r, 2 * ring->p.sq_entries);
		break;
	case 1:
		/* An SQPOLL thread would be busy for a while. */
		ring->tail += ring->p.flags & IORING_SETUP_SQPOLL ?
				      st_below(r, 1000) :
				      (uint32_t)st_next(r);
		break;
	case 2:
		if (ring->sq_array)
			ring->sq_array[st_below(r, ring->p.sq_entries)] =
				st_one_in(r, 2) ?
					st_below(r, 2 * ring->p.sq_entries) :
					(uint32_t)st_next(r);
		break;
	default:
		__atomic_store_n(ring->cq_head,
				 st_one_in(r, 2) ? (uint32_t)st_next(r) :
						   *ring->cq_tail,
				 __ATOMIC_RELEASE);
	}
	st_publish(ring);
	/* The rest of the header is nothing the engine may rely on. */
	if (st_one_in(r, 8))
		memset(ring->rings + ring->p.sq_off.ring_mask,
		       (int)st_below(r, 256), 8);
}

static void fds_up(void)
{
	int p[2], ep;

	ST_CHECK(!pipe2(p, O_CLOEXEC));
	fds[0] = p[0];
	fds[1] = p[1];
	ST_CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p));
	fds[2] = p[0];
	fds[3] = p[1];
	fds[4] = eventfd(0, EFD_CLOEXEC);
	fds[5] = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	fds[6] = open("/dev/zero", O_RDWR | O_CLOEXEC);
	fds[7] = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ep = fds[8] = epoll_create1(EPOLL_CLOEXEC);
	fds[9] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fds[10] = open("/dev/null", O_WRONLY | O_CLOEXEC);
	fds[11] = ep;
	for (int i = 0; i < NR_FDS; i++)
		ST_CHECK(fds[i] >= 0);
}

/* Closes what the round's requests opened; hidden ones refuse. */
static unsigned int close_new(unsigned int *hidden)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	unsigned int closed = 0;

	*hidden = 0;
	ST_CHECK(d);
	while ((e = readdir(d))) {
		int fd = atoi(e->d_name);

		if (e->d_name[0] == '.' || fd == dirfd(d) ||
		    (fd < FD_LIMIT * 2 && known[fd / 8] & (1 << (fd % 8))))
			continue;
		if (anyuring_close(fd) == -EBADF)
			++*hidden;
		else
			closed++;
	}
	closedir(d);
	return closed;
}

static void known_mark(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;

	ST_CHECK(d);
	while ((e = readdir(d))) {
		int fd = atoi(e->d_name);

		if (e->d_name[0] != '.' && fd != dirfd(d))
			known[fd / 8] |= (unsigned char)(1 << (fd % 8));
	}
	closedir(d);
}

static void one_round(uint64_t nr)
{
	static const uint32_t setups[] = {
		0, 0, IORING_SETUP_SQPOLL, IORING_SETUP_SUBMIT_ALL,
		IORING_SETUP_SQE128 | IORING_SETUP_CQE32,
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_NO_SQARRAY, IORING_SETUP_IOPOLL,
		IORING_SETUP_R_DISABLED,
	};
	struct st_rng r = st_rng(nr);
	struct io_uring_params p = {
		.flags = setups[st_below(&r, sizeof(setups) / 4)],
		.sq_thread_idle = 1,
	};
	struct st_ring ring;
	unsigned int hidden;

	fds_up();
	ST_CHECK(st_ring_try(&ring, 1U << st_below(&r, 6), &p) == 0);
	for (int step = 0; step < 60; step++) {
		char stack[256] = "";

		if (st_one_in(&r, 4))
			scratch_fill(&r);
		for (uint32_t n = st_below(&r, 12); n; n--) {
			struct io_uring_sqe *sqe = st_sqe(&ring);

			if (!sqe) /* wild indices: it is full for good */
				sqe = (void *)ring.sqes;
			sqe_garbage(&r, &ring, sqe, stack);
		}
		st_publish(&ring);
		if (st_one_in(&r, 6))
			indices_garbage(&r, &ring);
		if (st_one_in(&r, 3))
			register_garbage(&r, &ring);
		enter_garbage(&r, &ring);
		if (st_one_in(&r, 2))
			__atomic_store_n(ring.cq_head, *ring.cq_tail,
					 __ATOMIC_RELEASE);
	}
	st_ring_unmap(&ring);
	/* An SQE may have closed it, if only in the guise of a dup. */
	(void)anyuring_close(ring.fd);
	(void)anyuring_register(0, IORING_REGISTER_LAST, NULL, 0);
	/* Workers come home in their own time; they may open files yet. */
	for (int i = 0; i < 5000; i++) {
		unsigned int closed = close_new(&hidden);

		if (!closed && !hidden)
			return;
		(void)poll(NULL, 0, 1);
	}
	st_fail("round %u, setup %#x: %u hidden descriptors stay",
		(unsigned int)nr, p.flags, hidden);
}

static void unregister_indices(void)
{
	/* Registered ring indices hold rings as descriptors do. */
	for (uint32_t i = 0; i < 16; i++) {
		struct io_uring_rsrc_update up = { .offset = i };

		(void)anyuring_register(i,
					IORING_UNREGISTER_RING_FDS |
						IORING_REGISTER_USE_REGISTERED_RING,
					&up, 1);
	}
}

static char dir[] = "au-garbage-XXXXXX";

static void clean_up(void)
{
	if (!chdir("..")) {
		char cmd[64];

		snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
		(void)!system(cmd);
	}
}

int main(void)
{
	struct rlimit size = { .rlim_cur = 1 << 20, .rlim_max = 1 << 20 };
	uint64_t rounds = 0;

	st_begin("stress-garbage", 60);
#ifdef AU_TSAN
	/* This application races against the engine: that is its point. */
	st_own_views = true;
#endif
	signal(SIGXFSZ, SIG_IGN);
	if (!mkdtemp(dir) || chdir(dir))
		st_fail("no folder to work in");
	atexit(clean_up);
	setrlimit(RLIMIT_FSIZE, &size);
	memory_up();
	st_warm_up();
	known_mark();
	while (st_going()) {
		one_round(rounds++);
		unregister_indices();
	}
	printf("%u rounds\n", (unsigned int)rounds);
	return 0;
}
