/* SPDX-License-Identifier: MIT */
/*
 * Description: a libFuzzer target. The input is a hostile application: it
 * fills SQEs, pokes at the ring's memory, calls enter and register, in any
 * order. Nothing may crash, hang or leak.
 *
 * What it may do to others is bounded. Descriptors come from a table of
 * objects made afresh for each input; pointers lie in an arena with nothing
 * behind it, or nowhere; names are relative and without slashes, in an empty
 * folder; files end at 1 MiB; advice that takes pages from the machine is
 * not given.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "anyuring.h"
#include "uapi/io_uring.h"

#define ARENA (128U << 10)
#define NOTHING (8ULL << 30) /* behind the arena: as far as any length goes */
#define FD_FIRST 40
#define NR_FDS 12
#define NR_RINGS 2

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned char *arena;
static const uint8_t *in, *in_end;

static struct fuzz_ring {
	int fd;
	uint32_t sqe_shift, entries;
	unsigned char *rings, *sqes;
	size_t rings_size, sqes_size;
	struct io_uring_params p;
} rings[NR_RINGS];

/* The next `n` bytes of the input, little-endian; 0 past its end. */
static uint64_t take(unsigned int n)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < n && in < in_end; i++)
		v |= (uint64_t)*in++ << (8 * i);
	return v;
}

/*
 * A word that may be used as a pointer: small numbers and addresses no
 * process has stay, all others fall into the arena.
 */
static uint64_t harmless(uint64_t v)
{
	if (v < 1U << 16 || v >> 48)
		return v;
	return (uint64_t)(uintptr_t)arena + v % ARENA;
}

static void make_fd(int at, int fd)
{
	if (fd < 0)
		abort();
	if (fd != at) {
		dup2(fd, at);
		close(fd);
	}
}

static void make_world(void)
{
	int s[2];

	for (int i = 0; i < 2; i++) {
		if (pipe2(s, i ? O_NONBLOCK : 0))
			abort();
		make_fd(FD_FIRST + 2 * i, s[0]);
		make_fd(FD_FIRST + 2 * i + 1, s[1]);
		if (socketpair(AF_UNIX, i ? SOCK_DGRAM : SOCK_STREAM, 0, s))
			abort();
		make_fd(FD_FIRST + 4 + 2 * i, s[0]);
		make_fd(FD_FIRST + 5 + 2 * i, s[1]);
	}
	make_fd(FD_FIRST + 8,
		open("file", O_RDWR | O_CREAT | O_TRUNC, 0600));
	make_fd(FD_FIRST + 9, eventfd(0, 0));
	make_fd(FD_FIRST + 10, open("/dev/zero", O_RDWR));
	make_fd(FD_FIRST + 11, socket(AF_UNIX, SOCK_STREAM, 0));
}

static int any_fd(uint64_t v)
{
	if (v % 16 < NR_FDS)
		return FD_FIRST + (int)(v % 16);
	if (v % 16 == 12)
		return AT_FDCWD;
	if (v % 16 == 13)
		return rings[v / 16 % NR_RINGS].fd;
	return v % 16 == 14 ? (int)(v / 16) : -1;
}

static void make_ring(struct fuzz_ring *r)
{
	static const uint32_t kinds[] = {
		0, IORING_SETUP_SUBMIT_ALL, IORING_SETUP_SQE128,
		IORING_SETUP_CQE32, IORING_SETUP_NO_SQARRAY,
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_R_DISABLED, IORING_SETUP_IOPOLL,
		IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
		IORING_SETUP_SQPOLL, IORING_SETUP_CQE_MIXED,
		IORING_SETUP_SQE_MIXED,
	};

	memset(r, 0, sizeof(*r));
	r->p.flags = kinds[take(1) % 12] ^ (uint32_t)(take(1) & 0x60);
	r->p.sq_thread_idle = 1;
	r->p.cq_entries = (uint32_t)take(1) % 65;
	if (r->p.cq_entries)
		r->p.flags |= IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
	r->p.flags &= ~(uint32_t)IORING_SETUP_ATTACH_WQ;
	r->fd = anyuring_setup(1 + (uint32_t)take(1) % 32, &r->p);
	if (r->fd < 0)
		return;
	r->sqe_shift = r->p.flags & IORING_SETUP_SQE128 ? 7 : 6;
	r->entries = r->p.sq_entries;
	r->rings_size = r->p.cq_off.cqes;
	r->sqes_size = (size_t)r->entries << r->sqe_shift;
	r->rings = anyuring_mmap(NULL, r->rings_size, PROT_READ | PROT_WRITE,
				 MAP_SHARED, r->fd, IORING_OFF_SQ_RING);
	r->sqes = anyuring_mmap(NULL, r->sqes_size, PROT_READ | PROT_WRITE,
				MAP_SHARED, r->fd, IORING_OFF_SQES);
	if (ANYURING_IS_ERR(r->rings) || ANYURING_IS_ERR(r->sqes))
		abort();
}

static void end_ring(struct fuzz_ring *r)
{
	if (r->fd < 0)
		return;
	(void)anyuring_munmap(r->rings, r->rings_size);
	(void)anyuring_munmap(r->sqes, r->sqes_size);
	anyuring_close(r->fd);
}

static void fill_sqe(struct fuzz_ring *r, bool submit)
{
	struct io_uring_sqe e = { 0 };
	uint32_t *tail = (void *)(r->rings + r->p.sq_off.tail);
	uint32_t at = (uint32_t)take(1) % r->entries;

	e.opcode = (uint8_t)take(1);
	e.flags = (uint8_t)take(1);
	e.fd = e.flags & IOSQE_FIXED_FILE ? (int32_t)take(1) % 20 :
					    any_fd(take(1));
	e.addr = harmless(take(4) * 8);
	e.len = (uint32_t)take(2);
	e.off = harmless(take(2) * 8);
	e.op_flags = (uint32_t)take(2);
	e.ioprio = (uint16_t)take(1);
	e.buf_index = (uint16_t)take(1);
	e.file_index = (uint32_t)take(1);
	e.user_data = take(1);
	if (take(1) & 1) {
		e.off = harmless(take(8));
		e.addr3 = harmless(take(8));
		e.pad2[0] = take(1);
		e.personality = (uint16_t)take(1);
		e.len = (uint32_t)take(4);
	}
	/* Names are looked up from the folder; never from another process. */
	if (e.opcode == IORING_OP_MADVISE)
		e.op_flags %= 26;
	if (e.opcode == IORING_OP_RENAMEAT || e.opcode == IORING_OP_LINKAT)
		e.len = (uint32_t)AT_FDCWD;
	if (e.opcode == IORING_OP_SPLICE || e.opcode == IORING_OP_TEE)
		e.splice_fd_in = any_fd((uint64_t)e.file_index);
	if (e.opcode == IORING_OP_SOCKET && e.fd > 64)
		e.fd = AF_UNIX;
	memcpy(r->sqes + ((size_t)at << r->sqe_shift), &e, sizeof(e));
	if (!submit)
		return;
	if (!(r->p.flags & IORING_SETUP_NO_SQARRAY)) {
		uint32_t *array = (void *)(r->rings + r->p.sq_off.array);

		/* Behind the CQEs, so not in the part mapped for poking. */
		if (r->p.sq_off.array + 4 * r->entries <= r->rings_size)
			array[*tail % r->entries] = at;
	}
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
}

static void enter(struct fuzz_ring *r)
{
	struct au_timespec ts = { 0, 1000000 };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	uint32_t n = (uint32_t)take(1) % 40, min = (uint32_t)take(1) % 4;
	uint32_t flags = (uint32_t)take(1) &
			 ~(uint32_t)IORING_ENTER_SQ_WAIT;

	(void)anyuring_enter((unsigned int)r->fd, n, min,
			     flags | IORING_ENTER_EXT_ARG, &arg, sizeof(arg));
}

static void reg(struct fuzz_ring *r)
{
	uint32_t op = (uint32_t)take(1);
	uint64_t at = harmless(take(3) * 8);
	uint32_t nr = (uint32_t)take(1);

	/* Waits as long as its argument says: not here. */
	if (op == IORING_REGISTER_SYNC_CANCEL)
		return;
	(void)anyuring_register((unsigned int)r->fd, op,
				(void *)(uintptr_t)at, nr);
}

static void words(void)
{
	uint32_t at = (uint32_t)take(1) * 64, n = (uint32_t)take(1) % 9;

	for (uint32_t i = 0; i < n; i++, at += 8) {
		uint64_t v = harmless(take(8));

		memcpy(arena + at, &v, 8);
		for (int j = 0; j < 8 && v >> 48; j++) {
			if (arena[at + (uint32_t)j] == '/')
				arena[at + (uint32_t)j] = 'x';
		}
	}
}

/* Something an SQE can point to. */
static void thing(void)
{
	uint32_t at = (uint32_t)take(1) * 64;
	struct iovec v[4];
	struct msghdr m = { .msg_iov = (void *)(arena + at + 64),
			    .msg_iovlen = 2 };
	int fds[4];
	struct au_timespec ts = { 0, (long long)take(1) * 10000 };

	for (int i = 0; i < 4; i++) {
		v[i].iov_base = arena + take(2) % ARENA;
		v[i].iov_len = take(2);
		fds[i] = any_fd(take(1));
	}
	switch (take(1) % 5) {
	case 0:
		memcpy(arena + at, v, sizeof(v));
		break;
	case 1:
		memcpy(arena + at, &m, sizeof(m));
		memcpy(arena + at + 64, v, sizeof(v));
		break;
	case 2:
		memcpy(arena + at, &ts, sizeof(ts));
		break;
	case 3:
		memcpy(arena + at, fds, sizeof(fds));
		break;
	default:
		memcpy(arena + at, "name", 5);
		arena[at + 3] = (unsigned char)('0' + take(1) % 8);
		break;
	}
}

static void poke(struct fuzz_ring *r)
{
	uint32_t at = (uint32_t)take(1) * 4;
	uint32_t v = (uint32_t)take(4);

	if (at + 4 <= r->rings_size)
		__atomic_store_n((uint32_t *)(void *)(r->rings + at), v,
				 __ATOMIC_RELAXED);
}

static void drain_cq(struct fuzz_ring *r)
{
	uint32_t *head = (void *)(r->rings + r->p.cq_off.head);
	uint32_t *tail = (void *)(r->rings + r->p.cq_off.tail);

	__atomic_store_n(head, __atomic_load_n(tail, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}

static void one_step(void)
{
	uint8_t what = (uint8_t)take(1);
	struct fuzz_ring *r = &rings[what >> 7];

	if (r->fd < 0)
		r = &rings[0];
	switch (what % 16) {
	case 0:
	case 1:
	case 2:
	case 3:
		fill_sqe(r, true);
		break;
	case 4:
		fill_sqe(r, false);
		break;
	case 5:
	case 6:
		enter(r);
		break;
	case 7:
		reg(r);
		break;
	case 8:
		words();
		break;
	case 9:
	case 10:
		thing();
		break;
	case 11:
		poke(r);
		break;
	case 12:
		/* The application writes by itself. */
		(void)!write(FD_FIRST + 1 + 2 * (int)(take(1) % 4), arena,
			     take(1));
		break;
	case 13:
		drain_cq(r);
		break;
	case 14:
		if (rings[1].fd < 0)
			make_ring(&rings[1]);
		break;
	default:
		close(FD_FIRST + (int)(take(1) % NR_FDS));
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	in = data;
	in_end = data + size;
	memset(arena, 0, ARENA);
	make_world();
	rings[1].fd = -1;
	make_ring(&rings[0]);
	for (int i = 0; rings[0].fd >= 0 && i < 200 && in < in_end; i++)
		one_step();
	for (int i = 0; i < NR_RINGS; i++)
		end_ring(&rings[i]);
	/* Opened by requests: low numbers, the engine's own are high. */
	for (int fd = 20; fd < 200; fd++)
		close(fd);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct rlimit small = { 1 << 20, 1 << 20 }, none = { 0, 0 };
	char dir[] = "/tmp/ringfuzz-XXXXXX";

	(void)argc;
	(void)argv;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	setrlimit(RLIMIT_CORE, &none);
	(void)unshare(CLONE_NEWNET);
	/* Numbers below 20 stay with libFuzzer. */
	while (open("/dev/null", O_RDWR) < 19)
		;
	if (!mkdtemp(dir) || chdir(dir))
		abort();
	arena = mmap(NULL, ARENA + NOTHING, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (arena == MAP_FAILED ||
	    mprotect(arena, ARENA, PROT_READ | PROT_WRITE))
		abort();
	return 0;
}
