/* SPDX-License-Identifier: MIT */
/*
 * Description: OPENAT, OPENAT2, CLOSE, STATX, FALLOCATE, FSYNC,
 * SYNC_FILE_RANGE, FADVISE, MADVISE, EPOLL_CTL, and the file table.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "diff.h"

static int reg(struct ring *r, unsigned int op, void *arg, unsigned int nr)
{
	return r->d->be->reg((unsigned int)r->fd, op, arg, nr);
}

static void open_result(struct diff *d, struct ring *r, const char *what)
{
	int fd = ring_one(r, NULL);

	diff_ok(d, fd, "%s", what);
	if (fd < 0)
		return;
	diff_say(d, "cloexec %d flags %#x", fcntl(fd, F_GETFD),
		 (unsigned int)fcntl(fd, F_GETFL));
	close(fd);
}

static void openat_flags(struct diff *d)
{
	struct ring r;

	close(diff_file(d, "f", 10));
	diff_must(d, mkdir("dir", 0755), "mkdir");
	diff_must(d, symlink("f", "l"), "symlink");
	ring_open(d, &r, 8, 0);
	for (int bit = 0; bit < 32; bit++) {
		static const char *const names[] = { "f", "dir", "l", "none" };

		for (size_t k = 0; k < AU_ARRAY_SIZE(names); k++) {
			struct io_uring_sqe *s;
			struct stat st;

			diff_say(d, "flags %#x %s", 1U << bit, names[k]);
			s = ring_sqe(&r, IORING_OP_OPENAT, AT_FDCWD, names[k],
				     0640, 0);
			s->open_flags = 1U << bit;
			ring_submit(&r);
			open_result(d, &r, "open");
			if (!stat("none", &st))
				diff_say(d, "mode %o", st.st_mode);
			unlink("none");
		}
	}
	ring_close(&r);
}

static void openat_arguments(struct diff *d)
{
	static char longname[5000];
	struct ring r;

	memset(longname, 'x', sizeof(longname) - 1);
	close(diff_file(d, "f", 10));
	ring_open(d, &r, 8, 0);
	for (int i = 0; i < 14; i++) {
		struct io_uring_sqe *s =
			ring_sqe(&r, IORING_OP_OPENAT, AT_FDCWD, "f", 0, 0);
		char what[32];

		snprintf(what, sizeof(what), "case %d", i);
		switch (i) {
		case 0:
			s->buf_index = 1;
			break;
		case 1:
			s->off = 1;
			break;
		case 2:
			s->ioprio = 1;
			break;
		case 3:
			s->flags = IOSQE_FIXED_FILE;
			break;
		case 4:
			s->addr = (uintptr_t)diff_bad_ptr();
			break;
		case 5:
			s->addr = (uintptr_t)longname;
			break;
		case 6:
			s->addr = (uintptr_t) "";
			break;
		case 7:
			s->fd = -1;
			break;
		case 8:
			s->file_index = 1;
			break;
		case 9:
			s->file_index = IORING_FILE_INDEX_ALLOC;
			break;
		case 10:
			s->file_index = 1;
			s->open_flags = O_CLOEXEC;
			break;
		case 11:
			s->flags = IOSQE_ASYNC;
			break;
		case 12:
			s->addr = 0;
			break;
		case 13:
			s->addr3 = 1;
			break;
		default:
			break;
		}
		ring_submit(&r);
		open_result(d, &r, what);
	}
	ring_close(&r);
}

static void openat2_arguments(struct diff *d)
{
	static const uint64_t flags[] = { 0,          O_CREAT,    O_CLOEXEC,
					  O_PATH,     1ULL << 32, 1ULL << 63,
					  0x100000000 };
	static const uint64_t resolve[] = {
		0,    RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH, RESOLVE_IN_ROOT,
		0x20, 1ULL << 40
	};

	struct {
		struct open_how how;
		char rest[64];
	} b;
	struct ring r;

	close(diff_file(d, "f", 10));
	diff_must(d, symlink("f", "l"), "symlink");
	ring_open(d, &r, 8, 0);
	for (size_t f = 0; f < AU_ARRAY_SIZE(flags); f++) {
		for (uint64_t mode = 0; mode < 3; mode++) {
			memset(&b, 0, sizeof(b));
			b.how.flags = flags[f];
			b.how.mode = mode == 2 ? 1ULL << 40 : mode * 0600;
			ring_sqe(&r, IORING_OP_OPENAT2, AT_FDCWD, "f",
				 sizeof(b.how), (uintptr_t)&b);
			ring_submit(&r);
			open_result(d, &r, "flags");
		}
	}
	for (size_t f = 0; f < AU_ARRAY_SIZE(resolve); f++) {
		for (int k = 0; k < 3; k++) {
			memset(&b, 0, sizeof(b));
			b.how.resolve = resolve[f];
			ring_sqe(&r, IORING_OP_OPENAT2, AT_FDCWD,
				 k == 0 ? "f" :
				 k == 1 ? "l" :
					  "/dev/null",
				 sizeof(b.how), (uintptr_t)&b);
			ring_submit(&r);
			open_result(d, &r, "resolve");
		}
	}
	for (uint32_t n = 0; n < 80; n += 8) {
		memset(&b, 0, sizeof(b));
		for (int junk = 0; junk < 2; junk++) {
			b.rest[20] = (char)junk;
			ring_sqe(&r, IORING_OP_OPENAT2, AT_FDCWD, "f", n,
				 (uintptr_t)&b);
			ring_submit(&r);
			diff_say(d, "size %u junk %d", n, junk);
			open_result(d, &r, "size");
		}
	}
	ring_sqe(&r, IORING_OP_OPENAT2, AT_FDCWD, "f", 5000, (uintptr_t)&b);
	ring_submit(&r);
	open_result(d, &r, "5000");
	ring_sqe(&r, IORING_OP_OPENAT2, AT_FDCWD, "f", sizeof(b.how),
		 (uintptr_t)diff_bad_ptr());
	ring_submit(&r);
	open_result(d, &r, "bad pointer");
	ring_close(&r);
}

/* Into the table: given slots, any slot, occupied ones. */
static void open_direct(struct diff *d)
{
	static const uint32_t index[] = { 1,
					  2,
					  2,
					  IORING_FILE_INDEX_ALLOC,
					  IORING_FILE_INDEX_ALLOC,
					  4,
					  5,
					  1,
					  1U << 16,
					  (1U << 16) + 1,
					  ~1U,
					  IORING_FILE_INDEX_ALLOC };
	int fds[4] = { -1, -1, -1, -1 };
	struct io_uring_sqe *s;
	struct ring r;
	char c;

	close(diff_file(d, "f", 10));
	ring_open(d, &r, 8, 0);
	for (int table = 0; table < 2; table++) {
		for (size_t i = 0; i < AU_ARRAY_SIZE(index); i++) {
			s = ring_sqe(&r, IORING_OP_OPENAT, AT_FDCWD, "f", 0, 0);
			s->file_index = index[i];
			diff_say(d, "index %u", index[i]);
			ring_run(&r, 1, RING_ORDER);
		}
		if (!table)
			diff_res(d, reg(&r, IORING_REGISTER_FILES, fds, 4),
				 "register");
	}
	for (int i = 0; i < 5; i++) {
		ring_sqe(&r, IORING_OP_READ, i, &c, 1, 0)->flags =
			IOSQE_FIXED_FILE;
		ring_run(&r, 1, RING_ORDER);
	}
	ring_close(&r);
}

static void close_arguments(struct diff *d)
{
	int fds[2] = { -1, -1 }, fd;
	struct io_uring_sqe *s;
	struct ring r;

	ring_open(d, &r, 8, 0);
	for (int table = 0; table < 2; table++) {
		for (int i = 0; i < 14; i++) {
			fd = diff_file(d, "f", 1);
			s = ring_sqe(&r, IORING_OP_CLOSE, fd, NULL, 0, 0);
			switch (i) {
			case 0:
				s->off = 1;
				break;
			case 1:
				s->addr = 1;
				break;
			case 2:
				s->len = 1;
				break;
			case 3:
				s->rw_flags = 1;
				break;
			case 4:
				s->buf_index = 1;
				break;
			case 5:
				s->flags = IOSQE_FIXED_FILE;
				break;
			case 6:
				s->file_index = 1;
				break;
			case 7:
				s->fd = 0;
				s->file_index = 1;
				break;
			case 8:
				s->fd = 0;
				s->file_index = 3;
				break;
			case 9:
				s->fd = -1;
				break;
			case 10:
				s->fd = 9999;
				break;
			case 11:
				s->fd = r.fd;
				break;
			case 12:
				s->ioprio = 1;
				break;
			case 13:
				s->flags = IOSQE_ASYNC;
				break;
			default:
				break;
			}
			ring_run(&r, 1, RING_ORDER);
			diff_say(d, "case %d still open %d", i,
				 fcntl(fd, F_GETFD) >= 0);
			close(fd);
		}
		reg(&r, IORING_REGISTER_FILES, fds, 2);
	}
	ring_close(&r);
}

/* Closed is closed when the CQE is there. */
static void close_is_done(struct diff *d)
{
	struct ring r;
	char c;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	ring_sqe(&r, IORING_OP_CLOSE, p[1], NULL, 0, 0);
	ring_run(&r, 1, RING_ORDER);
	diff_want(d, read(p[0], &c, 1), 0, "read");
	close(p[0]);
	/* While a read waits on it: that goes on. */
	diff_pipe(d, p);
	ring_sqe(&r, IORING_OP_READ, p[0], &c, 1, 0);
	ring_submit(&r);
	ring_sqe(&r, IORING_OP_CLOSE, p[0], NULL, 0, 0);
	ring_run(&r, 1, RING_ORDER);
	diff_must(d, write(p[1], "x", 1), "write");
	ring_wait(&r, 1, RING_ORDER);
	close(p[1]);
	ring_close(&r);
}

/* A slot emptied while a request uses its file. */
static void slot_in_use(struct diff *d)
{
	struct io_uring_sqe *s;
	struct ring r;
	int p[2], fds[1];
	char c;

	diff_pipe(d, p);
	fds[0] = p[0];
	ring_open(d, &r, 8, 0);
	reg(&r, IORING_REGISTER_FILES, fds, 1);
	ring_sqe(&r, IORING_OP_READ, 0, &c, 1, 0)->flags = IOSQE_FIXED_FILE;
	ring_submit(&r);
	s = ring_sqe(&r, IORING_OP_CLOSE, 0, NULL, 0, 0);
	s->file_index = 1;
	ring_run(&r, 1, RING_ORDER);
	close(p[0]);
	ring_sqe(&r, IORING_OP_READ, 0, &c, 1, 0)->flags = IOSQE_FIXED_FILE;
	ring_run(&r, 1, RING_ORDER);
	diff_must(d, write(p[1], "x", 1), "write");
	ring_wait(&r, 1, RING_ORDER);
	ring_close(&r);
	close(p[1]);
}

/* Unregistering with a request under way. */
static void table_in_use(struct diff *d)
{
	struct ring r;
	int p[2], fds[1];
	char c;

	diff_pipe(d, p);
	fds[0] = p[0];
	ring_open(d, &r, 8, 0);
	reg(&r, IORING_REGISTER_FILES, fds, 1);
	ring_sqe(&r, IORING_OP_READ, 0, &c, 1, 0)->flags = IOSQE_FIXED_FILE;
	ring_submit(&r);
	diff_res(d, reg(&r, IORING_UNREGISTER_FILES, NULL, 0), "unregister");
	close(p[0]);
	diff_must(d, write(p[1], "x", 1), "write");
	ring_wait(&r, 1, RING_ORDER);
	diff_bytes(d, "read", &c, 1);
	ring_close(&r);
	close(p[1]);
}

/* When the ring ends, so do its references. */
static void teardown_drops_files(struct diff *d)
{
	struct ring r;
	int p[2], fds[1];
	char c;

	diff_pipe(d, p);
	fds[0] = p[1];
	ring_open(d, &r, 8, 0);
	reg(&r, IORING_REGISTER_FILES, fds, 1);
	close(p[1]);
	ring_close(&r);
	diff_want(d, read(p[0], &c, 1), 0, "end of file");
	close(p[0]);
	/* And its waiting requests. */
	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	ring_sqe(&r, IORING_OP_POLL_ADD, p[1], NULL, 0, 0);
	ring_submit(&r);
	d->be->close(p[1]);
	ring_close(&r);
	diff_want(d, read(p[0], &c, 1), 0, "end of file");
	close(p[0]);
}

static void statx_cases(struct diff *d)
{
	struct statx sx;
	struct ring r;

	close(diff_file(d, "f", 10));
	diff_must(d, symlink("f", "l"), "symlink");
	ring_open(d, &r, 8, 0);
	for (int i = 0; i < 16; i++) {
		struct io_uring_sqe *s = ring_sqe(&r, IORING_OP_STATX, AT_FDCWD,
						  "f", STATX_SIZE | STATX_MODE,
						  (uintptr_t)&sx);

		memset(&sx, 0, sizeof(sx));
		switch (i) {
		case 0:
			break;
		case 1:
			s->addr = (uintptr_t) "none";
			break;
		case 2:
			s->addr = (uintptr_t) "l";
			s->statx_flags = AT_SYMLINK_NOFOLLOW;
			break;
		case 3:
			s->addr = (uintptr_t) "";
			break;
		case 4:
			s->addr = (uintptr_t) "";
			s->statx_flags = AT_EMPTY_PATH;
			break;
		case 5:
			s->statx_flags = 1U << 30;
			break;
		case 6:
			s->len = ~0U;
			break;
		case 7:
			s->off = (uintptr_t)diff_bad_ptr();
			break;
		case 8:
			s->addr = (uintptr_t)diff_bad_ptr();
			break;
		case 9:
			s->buf_index = 1;
			break;
		case 10:
			s->splice_fd_in = 1;
			break;
		case 11:
			s->flags = IOSQE_FIXED_FILE;
			break;
		case 12:
			s->flags = IOSQE_ASYNC;
			break;
		case 13:
			s->ioprio = 1;
			break;
		case 14:
			s->addr = 0;
			s->statx_flags = AT_EMPTY_PATH;
			break;
		case 15:
			s->off = 0;
			break;
		default:
			break;
		}
		ring_run(&r, 1, RING_ORDER);
		diff_say(d, "case %d size %llu mode %o", i,
			 (unsigned long long)sx.stx_size, sx.stx_mode);
	}
	ring_close(&r);
}

/* Descriptors that FSYNC and its kin are given. */
static void sync_family(struct diff *d)
{
	static const uint8_t op[] = { IORING_OP_FSYNC,
				      IORING_OP_SYNC_FILE_RANGE,
				      IORING_OP_FALLOCATE, IORING_OP_FADVISE };
	int f = diff_file(d, "f", 10), p[2], dir = open(".", O_RDONLY);
	int fds[5];
	struct ring r;

	diff_pipe(d, p);
	fds[0] = f;
	fds[1] = p[0];
	fds[2] = dir;
	fds[3] = -1;
	fds[4] = 9999;
	ring_open(d, &r, 8, 0);
	for (size_t k = 0; k < AU_ARRAY_SIZE(op); k++) {
		for (int i = 0; i < 5; i++) {
			struct io_uring_sqe *s =
				ring_sqe(&r, op[k], fds[i], NULL, 0, 0);

			if (op[k] == IORING_OP_FALLOCATE)
				s->addr = 100;
			diff_say(d, "op %u file %d", op[k], i);
			ring_run(&r, 1, RING_ORDER);
		}
		for (int i = 0; i < 10; i++) {
			struct io_uring_sqe *s =
				ring_sqe(&r, op[k], f, NULL, 0, 0);

			if (op[k] == IORING_OP_FALLOCATE)
				s->addr = 100;
			diff_say(d, "op %u field %d", op[k], i);
			switch (i) {
			case 0:
				s->addr = 1;
				break;
			case 1:
				s->buf_index = 1;
				break;
			case 2:
				s->splice_fd_in = 1;
				break;
			case 3:
				s->off = (uint64_t)-1;
				break;
			case 4:
				s->len = 1;
				break;
			case 5:
				s->rw_flags = 1;
				break;
			case 6:
				s->rw_flags = 1U << 31;
				break;
			case 7:
				s->ioprio = 1;
				break;
			case 8:
				s->flags = IOSQE_ASYNC;
				break;
			case 9:
				s->off = 1ULL << 63;
				break;
			default:
				break;
			}
			ring_run(&r, 1, RING_ORDER);
		}
	}
	ring_close(&r);
	close(f);
	close(dir);
	close(p[0]);
	close(p[1]);
}

static void fallocates(struct diff *d)
{
	static const uint32_t mode[] = { 0,
					 FALLOC_FL_KEEP_SIZE,
					 FALLOC_FL_PUNCH_HOLE,
					 FALLOC_FL_PUNCH_HOLE |
						 FALLOC_FL_KEEP_SIZE,
					 FALLOC_FL_ZERO_RANGE,
					 1U << 20 };
	static const int64_t off[] = { 0, 5, -1 }, len[] = { 0, 8, 100, -1 };
	struct stat st;
	struct ring r;

	ring_open(d, &r, 8, 0);
	for (size_t m = 0; m < AU_ARRAY_SIZE(mode); m++) {
		for (size_t o = 0; o < AU_ARRAY_SIZE(off); o++) {
			for (size_t l = 0; l < AU_ARRAY_SIZE(len); l++) {
				int f = diff_file(d, "f", 10);
				char buf[16] = "";

				diff_say(d, "mode %#x off %lld len %lld",
					 mode[m], (long long)off[o],
					 (long long)len[l]);
				ring_sqe(&r, IORING_OP_FALLOCATE, f,
					 (void *)(intptr_t)len[l], mode[m],
					 (uint64_t)off[o]);
				ring_run(&r, 1, RING_ORDER);
				fstat(f, &st);
				diff_say(d, "size %lld", (long long)st.st_size);
				diff_must(d, pread(f, buf, 16, 0), "read");
				diff_bytes(d, "file", buf, 10);
				close(f);
			}
		}
	}
	ring_close(&r);
}

static void advice(struct diff *d)
{
	char *m = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int f = diff_file(d, "f", 10);
	struct ring r;

	ring_open(d, &r, 8, 0);
	for (uint32_t a = 0; a < 30; a++) {
		struct io_uring_sqe *s;

		/* Those that would kill or change the process. */
		if (a >= 9 && a < 22)
			continue;
		diff_say(d, "advice %u", a);
		m[0] = 'x';
		s = ring_sqe(&r, IORING_OP_MADVISE, -1, m, 4096, 0);
		s->fadvise_advice = a;
		ring_run(&r, 1, RING_ORDER);
		diff_say(d, "byte %d", m[0]);
		s = ring_sqe(&r, IORING_OP_FADVISE, f, NULL, 100, 0);
		s->fadvise_advice = a;
		ring_run(&r, 1, RING_ORDER);
	}
	for (int i = 0; i < 7; i++) {
		struct io_uring_sqe *s =
			ring_sqe(&r, IORING_OP_MADVISE, -1, m, 4096, 0);

		s->fadvise_advice = MADV_DONTNEED;
		s->buf_index = i == 0;
		s->splice_fd_in = i == 1;
		s->ioprio = i == 2;
		if (i == 3)
			s->addr++;
		if (i == 4)
			s->addr = (uintptr_t)m + 8192;
		if (i == 5)
			s->off = 4096;
		if (i == 6)
			s->flags = IOSQE_FIXED_FILE;
		diff_say(d, "case %d", i);
		if (i == 4)
			munmap(m + 4096, 4096);
		if (i == 4)
			s->addr = (uintptr_t)diff_bad_ptr();
		ring_run(&r, 1, RING_ORDER);
	}
	ring_close(&r);
	close(f);
	munmap(m, 4096);
}

static void epoll_ctls(struct diff *d)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = 7 }, got;
	int ep = epoll_create1(EPOLL_CLOEXEC), p[2];
	struct io_uring_sqe *s;
	struct ring r;

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	for (uint32_t op = 0; op < 5; op++) {
		ring_sqe(&r, IORING_OP_EPOLL_CTL, ep, &ev, op, (uint64_t)p[0]);
		ring_run(&r, 1, RING_ORDER);
	}
	for (int i = 0; i < 10; i++) {
		s = ring_sqe(&r, IORING_OP_EPOLL_CTL, ep, &ev, EPOLL_CTL_ADD,
			     (uint64_t)p[0]);
		s->buf_index = i == 0;
		s->splice_fd_in = i == 1;
		s->ioprio = i == 2;
		if (i == 3)
			s->addr = (uintptr_t)diff_bad_ptr();
		if (i == 4)
			s->fd = p[1];
		if (i == 5)
			s->fd = -1;
		if (i == 6)
			s->off = (uint64_t)ep;
		if (i == 7)
			s->off = (uint64_t)-1;
		s->flags = i == 8 ? IOSQE_ASYNC : 0;
		diff_say(d, "case %d", i);
		ring_run(&r, 1, RING_ORDER);
	}
	diff_must(d, write(p[1], "x", 1), "write");
	diff_res(d, epoll_wait(ep, &got, 1, 100), "epoll_wait");
	diff_say(d, "data %llu", (unsigned long long)got.data.u64);
	ring_close(&r);
	close(ep);
	close(p[0]);
	close(p[1]);
}

static const struct diff_test tests[] = {
	{ "openat_flags", openat_flags, 0 },
	{ "openat_arguments", openat_arguments, DIFF_PLAIN | DIFF_DEFER },
	{ "openat2_arguments", openat2_arguments, 0 },
	{ "open_direct", open_direct, DIFF_SYNC },
	{ "close_arguments", close_arguments, 0 },
	{ "close_is_done", close_is_done, DIFF_ALL },
	{ "slot_in_use", slot_in_use, DIFF_ALL },
	{ "table_in_use", table_in_use, DIFF_SYNC },
	{ "teardown_drops_files", teardown_drops_files, DIFF_ALL },
	{ "statx_cases", statx_cases, DIFF_PLAIN | DIFF_DEFER },
	{ "sync_family", sync_family, 0 },
	{ "fallocates", fallocates, 0 },
	{ "advice", advice, 0 },
	{ "epoll_ctls", epoll_ctls, 0 },
};

DIFF_MAIN(tests)
