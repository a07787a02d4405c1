/* SPDX-License-Identifier: MIT */
/* Description: reads and writes on files, pipes, devices; positions, flags. */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <signal.h>
#include <unistd.h>
#include "diff.h"

static void say_file(struct diff *d, int fd, const char *what)
{
	char buf[256];
	ssize_t n = pread(fd, buf, sizeof(buf), 0);

	diff_say(d, "%s position %ld size %zd", what,
		 (long)lseek(fd, 0, SEEK_CUR), n);
	diff_bytes(d, what, buf, n > 0 ? (size_t)n : 0);
}

/* Offset, length and async flag, on a file of ten bytes. */
static void read_matrix(struct diff *d)
{
	static const uint64_t off[] = { 0,
					5,
					9,
					10,
					11,
					1 << 20,
					(uint64_t)-1,
					(uint64_t)-2,
					1ULL << 62,
					1ULL << 63,
					INT64_MAX };
	static const uint32_t len[] = { 0, 1, 10, 64 };
	int fd = diff_file(d, "f", 10);
	struct ring r;
	char buf[64];

	ring_open(d, &r, 4, 0);
	for (size_t o = 0; o < AU_ARRAY_SIZE(off); o++) {
		for (size_t l = 0; l < AU_ARRAY_SIZE(len); l++) {
			for (int op = 0; op < 4; op++) {
				struct iovec iov = { buf, len[l] };
				struct io_uring_sqe *s;

				memset(buf, '.', sizeof(buf));
				if (op & 1)
					s = ring_sqe(&r, IORING_OP_READV, fd,
						     &iov, 1, off[o]);
				else
					s = ring_sqe(&r, IORING_OP_READ, fd,
						     buf, len[l], off[o]);
				if (op & 2)
					s->flags = IOSQE_ASYNC;
				ring_run(&r, 1, RING_ORDER);
				diff_bytes(d, "buf", buf, 12);
				diff_say(d, "position %ld",
					 (long)lseek(fd, 0, SEEK_CUR));
			}
		}
	}
	ring_close(&r);
	close(fd);
}

static void write_matrix(struct diff *d)
{
	static const uint64_t off[] = {
		0, 5, 12, (uint64_t)-1, (uint64_t)-2, INT64_MAX
	};
	static const uint32_t len[] = { 0, 1, 6 };
	static const int flags[] = { 0, O_APPEND, O_DSYNC };
	struct ring r;

	ring_open(d, &r, 4, 0);
	for (size_t f = 0; f < AU_ARRAY_SIZE(flags); f++) {
		for (size_t o = 0; o < AU_ARRAY_SIZE(off); o++) {
			for (size_t l = 0; l < AU_ARRAY_SIZE(len); l++) {
				for (int async = 0; async < 2; async++) {
					int fd;

					close(diff_file(d, "f", 10));
					fd = open("f", O_RDWR | O_CLOEXEC |
							       flags[f]);
					diff_must(d, fd, "open");
					ring_sqe(&r, IORING_OP_WRITE, fd,
						 "ABCDEF", len[l], off[o])
						->flags = async ? IOSQE_ASYNC :
								  0;
					ring_run(&r, 1, RING_ORDER);
					say_file(d, fd, "file");
					close(fd);
				}
			}
		}
	}
	ring_close(&r);
}

/* Positions in link order. */
static void positions_in_order(struct diff *d)
{
	int fd = diff_file(d, "f", 26);
	struct ring r;
	char buf[8][3];

	ring_open(d, &r, 8, 0);
	for (int async = 0; async < 2; async++) {
		lseek(fd, 0, SEEK_SET);
		for (int i = 0; i < 8; i++)
			ring_sqe(&r, IORING_OP_READ, fd, buf[i], 3,
				 (uint64_t)-1)
				->flags = (i < 7 ? IOSQE_IO_LINK : 0) |
					  (async ? IOSQE_ASYNC : 0);
		ring_run(&r, 8, RING_ORDER);
		diff_bytes(d, "all", buf, sizeof(buf));
		diff_say(d, "position %ld", (long)lseek(fd, 0, SEEK_CUR));
	}
	/* Without links, at the position and not. */
	lseek(fd, 0, SEEK_SET);
	ring_sqe(&r, IORING_OP_READ, fd, buf[0], 3, (uint64_t)-1);
	ring_sqe(&r, IORING_OP_READ, fd, buf[1], 3, 20);
	ring_run(&r, 2, RING_SORTED);
	diff_bytes(d, "two", buf, 6);
	ring_close(&r);
	close(fd);
}

static void vectors(struct diff *d)
{
	static char mem[64];
	struct iovec iov[4];
	static const uint32_t nr[] = { 0, 1, 2, 3, 4, 1024, 1025, ~0U };
	static struct iovec many[1025];
	int fd = diff_file(d, "f", 26);
	struct ring r;

	ring_open(d, &r, 4, 0);
	for (int async = 0; async < 2; async++) {
		for (size_t i = 0; i < AU_ARRAY_SIZE(nr); i++) {
			for (int k = 0; k < 1025; k++)
				many[k] = (struct iovec){ mem + k % 32,
							  (size_t)k % 3 };
			diff_say(d, "nr %u", nr[i]);
			ring_sqe(&r, IORING_OP_READV, fd, many, nr[i], 0)
				->flags = async ? IOSQE_ASYNC : 0;
			ring_submit(&r);
			ring_wait(&r, 1, RING_ORDER);
		}
		for (int bad = 0; bad < 5; bad++) {
			iov[0] = (struct iovec){ mem, 4 };
			iov[1] = (struct iovec){ mem + 4, 4 };
			iov[2] = (struct iovec){ mem + 8, 4 };
			diff_say(d, "bad %d", bad);
			if (bad == 0)
				iov[1].iov_base = diff_bad_ptr();
			if (bad == 1)
				iov[0].iov_base = diff_bad_ptr();
			if (bad == 2)
				iov[1].iov_len = (size_t)-1;
			if (bad == 3)
				iov[1].iov_len = 0;
			if (bad == 4)
				iov[1] = (struct iovec){ NULL, 0 };
			ring_sqe(&r, IORING_OP_READV, fd, iov, 3, 0)->flags =
				async ? IOSQE_ASYNC : 0;
			ring_submit(&r);
			ring_wait(&r, 1, RING_ORDER);
		}
	}
	ring_close(&r);
	close(fd);
}

static void bad_buffers(struct diff *d)
{
	char *m = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *ro =
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = diff_file(d, "f", 10000), p[2];
	struct ring r;

	mprotect(m + 4096, 4096, PROT_NONE);
	ring_open(d, &r, 4, 0);
	for (int async = 0; async < 2; async++) {
		uint8_t fl = async ? IOSQE_ASYNC : 0;

		ring_sqe(&r, IORING_OP_READ, fd, diff_bad_ptr(), 10, 0)->flags =
			fl;
		ring_run(&r, 1, RING_ORDER);
		ring_sqe(&r, IORING_OP_READ, fd, m, 8192, 0)->flags = fl;
		ring_run(&r, 1, RING_ORDER);
		ring_sqe(&r, IORING_OP_READ, fd, ro, 10, 0)->flags = fl;
		ring_run(&r, 1, RING_ORDER);
		ring_sqe(&r, IORING_OP_WRITE, fd, diff_bad_ptr(), 10, 0)->flags =
			fl;
		ring_run(&r, 1, RING_ORDER);
		ring_sqe(&r, IORING_OP_WRITE, fd, m, 8192, 0)->flags = fl;
		ring_run(&r, 1, RING_ORDER);
		ring_sqe(&r, IORING_OP_READ, fd, (void *)(uintptr_t)-4096, 10,
			 0)
			->flags = fl;
		ring_run(&r, 1, RING_ORDER);
		ring_sqe(&r, IORING_OP_READ, fd, NULL, 0, 0)->flags = fl;
		ring_run(&r, 1, RING_ORDER);
		ring_sqe(&r, IORING_OP_READ, fd, m, 0x7fffffff, 0)->flags = fl;
		ring_run(&r, 1, RING_ORDER);
		diff_pipe(d, p);
		ring_sqe(&r, IORING_OP_READ, p[0], diff_bad_ptr(), 10, 0)
			->flags = fl;
		ring_submit(&r);
		diff_must(d, write(p[1], "0123456789", 10), "write");
		ring_wait(&r, 1, RING_ORDER);
		close(p[0]);
		close(p[1]);
	}
	ring_close(&r);
	close(fd);
	munmap(m, 8192);
	munmap(ro, 4096);
}

/* A vector that cannot be is told of before the descriptor. */
static void bad_vectors(struct diff *d)
{
	static const uint64_t base[] = {
		0,
		4096,
		(1UL << 47) - 4096,
		(1UL << 47) - 4095,
		1UL << 47,
		1UL << 55,
		1UL << 57,
		0x2020202020202020,
		1UL << 63,
		(uint64_t)-1,
	};
	static const uint64_t len[] = { 0, 1, 1UL << 46, 1UL << 63 };
	static const uint8_t op[] = { IORING_OP_READV, IORING_OP_WRITEV };
	int good = diff_file(d, "f", 10);
	struct iovec iov[2] = { 0 };
	struct ring r;

	ring_open(d, &r, 4, IORING_SETUP_SUBMIT_ALL);
	for (size_t b = 0; b < AU_ARRAY_SIZE(base); b++) {
		for (size_t l = 0; l < 2 * AU_ARRAY_SIZE(len); l++) {
			iov[l % 2].iov_base = (void *)base[b];
			iov[l % 2].iov_len = len[l / 2];
			iov[1 - l % 2] = (struct iovec){ 0 };
			diff_say(d, "base %#llx len %#llx",
				 (unsigned long long)base[b],
				 (unsigned long long)len[l / 2]);
			for (int k = 0; k < 4; k++) {
				ring_sqe(&r, op[k % 2], k / 2 ? good : 9999,
					 iov, 2, 0);
				ring_run(&r, 1, RING_ORDER);
			}
			ring_sqe(&r, IORING_OP_READV, 9999, &iov[l % 2], 1, 0);
			ring_run(&r, 1, RING_ORDER);
		}
	}
	ring_close(&r);
	close(good);
}

static void bad_descriptors(struct diff *d)
{
	int ro = diff_file(d, "f", 10), wo, dir, opath, p[2];
	static const uint8_t op[] = { IORING_OP_READ, IORING_OP_WRITE,
				      IORING_OP_READV, IORING_OP_WRITEV };
	char buf[8];
	struct iovec iov = { buf, 8 };
	struct ring r;
	int fds[8], n = 0;

	close(ro);
	diff_pipe(d, p);
	ro = open("f", O_RDONLY | O_CLOEXEC);
	wo = open("f", O_WRONLY | O_CLOEXEC);
	dir = open(".", O_RDONLY | O_CLOEXEC);
	opath = open("f", O_PATH | O_CLOEXEC);
	fds[n++] = -1;
	fds[n++] = 9999;
	fds[n++] = INT_MAX;
	fds[n++] = ro;
	fds[n++] = wo;
	fds[n++] = dir;
	fds[n++] = opath;
	ring_open(d, &r, 4, 0);
	for (int i = 0; i < n; i++) {
		for (size_t k = 0; k < AU_ARRAY_SIZE(op); k++) {
			for (int async = 0; async < 2; async++) {
				diff_say(d, "file %d op %u async %d", i, op[k],
					 async);
				ring_sqe(&r, op[k], fds[i],
					 k < 2 ? (void *)buf : &iov,
					 k < 2 ? 8 : 1, 0)
					->flags = async ? IOSQE_ASYNC : 0;
				ring_run(&r, 1, RING_ORDER);
			}
		}
	}
	ring_sqe(&r, IORING_OP_READ, p[1], buf, 8, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_WRITE, p[0], buf, 8, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
	close(ro);
	close(wo);
	close(dir);
	close(opath);
	close(p[0]);
	close(p[1]);
}

static void pipes(struct diff *d)
{
	static char big[200000];
	struct ring r;
	int p[2];
	char buf[16];

	ring_open(d, &r, 8, 0);
	for (int nb = 0; nb < 2; nb++) {
		for (int async = 0; async < 2; async++) {
			uint8_t fl = async ? IOSQE_ASYNC : 0;

			diff_say(d, "nonblock %d async %d", nb, async);
			diff_pipe(d, p);
			if (nb) {
				fcntl(p[0], F_SETFL, O_NONBLOCK);
				fcntl(p[1], F_SETFL, O_NONBLOCK);
			}
			ring_sqe(&r, IORING_OP_READ, p[0], buf, 16,
				 (uint64_t)-1)
				->flags = fl;
			ring_submit(&r);
			ring_settle(&r, RING_ORDER);
			diff_must(d, write(p[1], "hello", 5), "write");
			ring_wait(&r, 1, RING_ORDER);
			/* An offset means nothing here. */
			ring_sqe(&r, IORING_OP_READ, p[0], buf, 16, 7)->flags =
				fl;
			ring_submit(&r);
			diff_must(d, write(p[1], "world", 5), "write");
			ring_wait(&r, 1, RING_ORDER);
			diff_bytes(d, "read", buf, 5);
			ring_sqe(&r, IORING_OP_WRITE, p[1], "abc", 3, 0)->flags =
				fl;
			ring_run(&r, 1, RING_ORDER);
			ring_sqe(&r, IORING_OP_WRITE, p[1], big, 0, 0)->flags =
				fl;
			ring_run(&r, 1, RING_ORDER);
			ring_sqe(&r, IORING_OP_READ, p[0], buf, 0, 0)->flags =
				fl;
			ring_run(&r, 1, RING_ORDER);
			/* The end. */
			ring_sqe(&r, IORING_OP_READ, p[0], buf, 3, 0)->flags =
				fl;
			ring_run(&r, 1, RING_ORDER);
			close(p[1]);
			ring_sqe(&r, IORING_OP_READ, p[0], buf, 16, 0)->flags =
				fl;
			ring_run(&r, 1, RING_ORDER);
			close(p[0]);
		}
	}
	/* Nobody reads. */
	signal(SIGPIPE, SIG_IGN);
	diff_pipe(d, p);
	close(p[0]);
	ring_sqe(&r, IORING_OP_WRITE, p[1], "abc", 3, 0);
	ring_run(&r, 1, RING_ORDER);
	close(p[1]);
	ring_close(&r);
}

static void pipe_full(struct diff *d)
{
	static char big[200000], out[200000];
	struct ring r;
	int p[2];

	ring_open(d, &r, 8, 0);
	diff_pipe(d, p);
	ring_sqe(&r, IORING_OP_WRITE, p[1], big, 65536, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_WRITE, p[1], big, 4096, 0);
	ring_submit(&r);
	ring_settle(&r, RING_ORDER);
	diff_res(d, read(p[0], out, 65536), "read");
	ring_wait(&r, 1, RING_ORDER);
	diff_res(d, read(p[0], out, 65536), "read");
	close(p[0]);
	close(p[1]);
	ring_close(&r);
}

static void rwf_flags(struct diff *d)
{
	static const uint8_t op[] = { IORING_OP_READ, IORING_OP_WRITE };
	struct ring r;
	char buf[8];
	int p[2];

	ring_open(d, &r, 4, 0);
	for (int bit = 0; bit < 32; bit++) {
		for (int k = 0; k < 2; k++) {
			int fd;

			/* Cached reads without the cache: file system's say. */
			if (bit == 6 || bit == 7)
				continue;
			fd = diff_file(d, "f", 10);
			diff_say(d, "flags %#x op %d", 1U << bit, op[k]);
			memset(buf, 'x', 8);
			ring_sqe(&r, op[k], fd, buf, 8, 5)->rw_flags = 1U
								       << bit;
			ring_run(&r, 1, RING_ORDER);
			say_file(d, fd, "file");
			close(fd);
		}
	}
	/* NOWAIT where there is nothing. */
	for (int async = 0; async < 2; async++) {
		struct io_uring_sqe *s;

		diff_pipe(d, p);
		s = ring_sqe(&r, IORING_OP_READ, p[0], buf, 8, 0);
		s->rw_flags = RWF_NOWAIT;
		s->flags = async ? IOSQE_ASYNC : 0;
		ring_run(&r, 1, RING_ORDER);
		s = ring_sqe(&r, IORING_OP_WRITE, p[1], buf, 8, 0);
		s->rw_flags = RWF_NOWAIT;
		s->flags = async ? IOSQE_ASYNC : 0;
		ring_run(&r, 1, RING_ORDER);
		close(p[0]);
		close(p[1]);
	}
	ring_close(&r);
}

static void fields(struct diff *d)
{
	static const uint8_t op[] = { IORING_OP_READ, IORING_OP_WRITE,
				      IORING_OP_READV, IORING_OP_WRITEV,
				      IORING_OP_READ_FIXED };
	int fd = diff_file(d, "f", 10);
	char buf[8] = "";
	struct iovec iov = { buf, 8 };
	struct ring r;

	ring_open(d, &r, 4, 0);
	for (size_t k = 0; k < AU_ARRAY_SIZE(op); k++) {
		for (int i = 0; i < 8; i++) {
			bool vec = k == 2 || k == 3;
			struct io_uring_sqe *s = ring_sqe(
				&r, op[k], fd, vec ? (void *)&iov : buf,
				vec ? 1 : 8, 0);

			diff_say(d, "op %u field %d", op[k], i);
			s->buf_index = i == 0;
			s->splice_fd_in = i == 1;
			s->ioprio = i == 2;
			s->personality = i == 3;
			s->attr_ptr = i == 4;
			s->attr_type_mask = i == 5 ? 2 : 0;
			s->flags = i == 6 ? IOSQE_FIXED_FILE : 0;
			if (i == 7)
				s->ioprio = 2 << 13 | 4;
			ring_submit(&r);
			ring_wait(&r, 1, RING_ORDER);
		}
	}
	for (unsigned int prio = 0; prio < 65536; prio += 1021) {
		ring_sqe(&r, IORING_OP_READ, fd, buf, 8, 0)->ioprio =
			(uint16_t)prio;
		diff_say(d, "ioprio %#x", prio);
		ring_submit(&r);
		ring_wait(&r, 1, RING_ORDER);
	}
	ring_close(&r);
	close(fd);
}

/* Files that are neither regular nor pipes. */
static void devices(struct diff *d)
{
	static const char *const name[] = {
		"/dev/null",    "/dev/zero",       "/dev/full",
		"/dev/urandom", "/proc/self/comm", "/proc/self/mem"
	};
	struct ring r;
	char buf[8];

	ring_open(d, &r, 4, 0);
	for (size_t i = 0; i < AU_ARRAY_SIZE(name); i++) {
		int fd = open(name[i], O_RDWR | O_CLOEXEC);

		if (fd < 0)
			continue;
		for (int async = 0; async < 2; async++) {
			diff_say(d, "%s async %d", name[i], async);
			ring_sqe(&r, IORING_OP_READ, fd, buf, 4, 0)->flags =
				async ? IOSQE_ASYNC : 0;
			ring_run(&r, 1, RING_ORDER);
			if (i == 4 || i == 5)
				continue;
			ring_sqe(&r, IORING_OP_WRITE, fd, buf, 4, 0)->flags =
				async ? IOSQE_ASYNC : 0;
			ring_run(&r, 1, RING_ORDER);
			ring_sqe(&r, IORING_OP_READ, fd, buf, 4, (uint64_t)-1);
			ring_run(&r, 1, RING_ORDER);
		}
		close(fd);
	}
	ring_close(&r);
}

static void eventfds(struct diff *d)
{
	struct ring r;
	uint64_t v = 0, w = 5;
	int fd;

	ring_open(d, &r, 4, 0);
	for (int nb = 0; nb < 2; nb++) {
		fd = eventfd(0, EFD_CLOEXEC | (nb ? EFD_NONBLOCK : 0));
		diff_say(d, "nonblock %d", nb);
		ring_sqe(&r, IORING_OP_READ, fd, &v, 8, (uint64_t)-1);
		ring_submit(&r);
		ring_settle(&r, RING_ORDER);
		ring_sqe(&r, IORING_OP_WRITE, fd, &w, 8, (uint64_t)-1);
		ring_run(&r, 2, RING_SORTED);
		diff_say(d, "value %llu", (unsigned long long)v);
		ring_sqe(&r, IORING_OP_READ, fd, &v, 4, 0);
		ring_run(&r, 1, RING_SORTED);
		close(fd);
	}
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	timerfd_settime(fd, 0,
			&(struct itimerspec){ .it_value.tv_nsec = 5000000 },
			NULL);
	ring_sqe(&r, IORING_OP_READ, fd, &v, 8, 0);
	ring_run(&r, 1, RING_ORDER);
	diff_say(d, "value %llu", (unsigned long long)v);
	close(fd);
	ring_close(&r);
}

/* Limits of the file system and of the process. */
static void file_size_limit(struct diff *d)
{
	const uint64_t max = 1 << 20; /* the transcript stays below */
	struct rlimit lim = { max, max };
	int fd = diff_file(d, "f", 10);
	struct ring r;
	char buf[32] = "";

	signal(SIGXFSZ, SIG_IGN);
	ring_open(d, &r, 4, 0);
	setrlimit(RLIMIT_FSIZE, &lim);
	ring_sqe(&r, IORING_OP_WRITE, fd, buf, 8, max - 12);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_WRITE, fd, buf, 32, max - 12);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_WRITE, fd, buf, 8, max);
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
	close(fd);
}

static void direct_io(struct diff *d)
{
	char *m = mmap(NULL, 16384, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = diff_file(d, "f", 10000);
	struct ring r;

	close(fd);
	fd = open("f", O_RDWR | O_DIRECT | O_CLOEXEC);
	if (fd < 0) {
		diff_res(d, -errno, "open");
		return;
	}
	ring_open(d, &r, 8, 0);
	ring_sqe(&r, IORING_OP_READ, fd, m, 4096, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_READ, fd, m, 8192, 4096);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_READ, fd, m, 16384, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_WRITE, fd, m, 4096, 8192);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_READ, fd, m, 4096, 16384);
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
	close(fd);
	munmap(m, 16384);
}

#define BLOCK  4096
#define BLOCKS 64

/* A file of BLOCKS, each begins with its number; opened with O_DIRECT. */
static int direct_file(struct diff *d, char *m)
{
	int fd = diff_file(d, "d", 0);

	for (int i = 0; i < BLOCKS; i++) {
		memset(m, 'a' + i % 26, BLOCK);
		memcpy(m, &i, sizeof(i));
		diff_must(d, pwrite(fd, m, BLOCK, (off_t)i * BLOCK), "pwrite");
	}
	close(fd);
	memset(m, 0, BLOCK);
	fd = open("d", O_RDWR | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		diff_res(d, -errno, "open");
	return fd;
}

static char *direct_memory(void)
{
	char *m = mmap(NULL, BLOCKS * BLOCK, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return m;
}

/* Vectors, registered buffers and files, chains, what is not aligned. */
static void direct_kinds(struct diff *d)
{
	char *m = direct_memory();
	int fd = direct_file(d, m), fd2;
	struct iovec iov[3] = { { m, BLOCK },
				{ m + 3 * BLOCK, 2 * BLOCK },
				{ m + 9 * BLOCK, BLOCK } };
	struct iovec all = { m, BLOCKS * BLOCK };
	struct ring r;

	if (fd < 0)
		return;
	ring_open(d, &r, 16, 0);
	ring_sqe(&r, IORING_OP_READV, fd, iov, 3, 8 * BLOCK);
	ring_run(&r, 1, RING_ORDER);
	diff_say(d, "blocks %d %d %d %d", *(int *)(void *)m,
		 *(int *)(void *)(m + 3 * BLOCK),
		 *(int *)(void *)(m + 4 * BLOCK),
		 *(int *)(void *)(m + 9 * BLOCK));
	ring_sqe(&r, IORING_OP_WRITEV, fd, iov, 3, 60 * BLOCK);
	ring_run(&r, 1, RING_ORDER);
	/* Not aligned: in memory, in length, in the file. */
	ring_sqe(&r, IORING_OP_READ, fd, m + 1, BLOCK, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_READ, fd, m, 100, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_READ, fd, m, BLOCK, 100);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_READ, fd, diff_bad_ptr(), BLOCK, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_READ, fd, m, BLOCK, (uint64_t)-BLOCK);
	ring_run(&r, 1, RING_ORDER);
	/* Behind the end, and into a hole. */
	ring_sqe(&r, IORING_OP_READ, fd, m, 4 * BLOCK, 62 * BLOCK);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_WRITE, fd, m, BLOCK, 100 * BLOCK);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_READ, fd, m, BLOCK, 80 * BLOCK);
	ring_run(&r, 1, RING_ORDER);
	diff_bytes(d, "hole", m, 8);
	/* A chain that breaks at a short read. */
	ring_sqe(&r, IORING_OP_READ, fd, m, BLOCK, 0)->flags = IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_READ, fd, m, 2 * BLOCK, 100 * BLOCK)->flags =
		IOSQE_IO_LINK;
	ring_sqe(&r, IORING_OP_READ, fd, m, BLOCK, 0);
	ring_run(&r, 3, RING_SORTED);
	/* Registered ones. */
	diff_res(d,
		 d->be->reg((unsigned int)r.fd, IORING_REGISTER_BUFFERS, &all,
			    1),
		 "buffers");
	diff_res(d,
		 d->be->reg((unsigned int)r.fd, IORING_REGISTER_FILES, &fd, 1),
		 "files");
	ring_sqe(&r, IORING_OP_READ_FIXED, 0, m + 5 * BLOCK, BLOCK, 5 * BLOCK)
		->flags = IOSQE_FIXED_FILE;
	ring_run(&r, 1, RING_ORDER);
	diff_say(d, "fixed %d", *(int *)(void *)(m + 5 * BLOCK));
	ring_sqe(&r, IORING_OP_WRITE_FIXED, fd, m + 5 * BLOCK, BLOCK, 0);
	ring_run(&r, 1, RING_ORDER);
	fd2 = open("d", O_RDONLY | O_DIRECT | O_CLOEXEC);
	ring_sqe(&r, IORING_OP_WRITE, fd2, m, BLOCK, 0);
	ring_run(&r, 1, RING_ORDER);
	close(fd2);
	ring_close(&r);
	close(fd);
	munmap(m, BLOCKS * BLOCK);
}

static void direct_position(struct diff *d)
{
	char *m = direct_memory();
	int fd = direct_file(d, m);
	struct ring r;

	if (fd < 0)
		return;
	ring_open(d, &r, 16, 0);
	for (int i = 0; i < 2; i++) {
		ring_sqe(&r, IORING_OP_READ, fd, m, BLOCK, UINT64_MAX);
		ring_run(&r, 1, RING_ORDER);
	}
	diff_say(d, "second block %d", *(int *)(void *)m);
	ring_close(&r);
	close(fd);
	munmap(m, BLOCKS * BLOCK);
}

/* All at once; closed while under way; each has its own block. */
static void direct_many(struct diff *d)
{
	char *m = direct_memory();
	int fd = direct_file(d, m), wrong = 0;
	struct ring r;

	if (fd < 0)
		return;
	ring_open(d, &r, BLOCKS, 0);
	for (int turn = 0; turn < 4; turn++) {
		memset(m, 0xff, BLOCKS * BLOCK);
		for (int i = 0; i < BLOCKS; i++)
			ring_sqe(&r, IORING_OP_READ, fd, m + i * BLOCK, BLOCK,
				 (uint64_t)(BLOCKS - 1 - i) * BLOCK);
		ring_submit(&r);
		if (turn == 3)
			close(fd);
		ring_wait(&r, BLOCKS, RING_SORTED);
		for (int i = 0; i < BLOCKS; i++)
			wrong += *(int *)(void *)(m + i * BLOCK) !=
				 BLOCKS - 1 - i;
	}
	diff_say(d, "wrong blocks %d", wrong);
	/* The ring goes first. */
	fd = open("d", O_RDWR | O_DIRECT | O_CLOEXEC);
	for (int i = 0; i < BLOCKS; i++)
		ring_sqe(&r, IORING_OP_WRITE, fd, m + i * BLOCK, BLOCK,
			 (uint64_t)i * BLOCK);
	ring_submit(&r);
	ring_close_quiet(&r);
	close(fd);
	munmap(m, BLOCKS * BLOCK);
}

/* Many at once, and the file is right afterwards. */
static void many_writes(struct diff *d)
{
	int fd = diff_file(d, "f", 0);
	static char buf[64][16], back[1024];
	struct ring r;

	ring_open(d, &r, 64, 0);
	for (int i = 0; i < 64; i++) {
		memset(buf[i], 'A' + i % 26, 16);
		ring_sqe(&r, IORING_OP_WRITE, fd, buf[i], 16, (uint64_t)i * 16)
			->flags = i % 3 ? 0 : IOSQE_ASYNC;
	}
	ring_run(&r, 64, RING_SORTED);
	for (int i = 0; i < 64; i++)
		ring_sqe(&r, IORING_OP_READ, fd, back + i * 16, 16,
			 (uint64_t)i * 16);
	ring_run(&r, 64, RING_SORTED);
	diff_bytes(d, "back", back, sizeof(back));
	/* The last ones beyond the end. */
	for (int i = 0; i < 8; i++)
		ring_sqe(&r, IORING_OP_READ, fd, back + i * 16, 16,
			 (uint64_t)i * 16 + 960);
	ring_run(&r, 8, RING_SORTED);
	/* Adjacent, but the middle one's file or buffer is bad. */
	for (int i = 0; i < 6; i++)
		ring_sqe(&r, IORING_OP_READ, i == 2 ? -1 : fd,
			 i == 4 ? diff_bad_ptr() : back + i * 16, 16,
			 (uint64_t)i * 16);
	ring_run(&r, 6, RING_SORTED);
	for (int i = 0; i < 6; i++)
		ring_sqe(&r, IORING_OP_WRITE, fd,
			 i == 3 ? diff_bad_ptr() : buf[i], 16,
			 (uint64_t)i * 16);
	ring_run(&r, 6, RING_SORTED);
	ring_close(&r);
	close(fd);
}

/* Adjacent reads that end a chain, skip, or use the position. */
static void adjacent(struct diff *d)
{
	static const uint8_t flags[] = { 0, IOSQE_CQE_SKIP_SUCCESS,
					 IOSQE_IO_LINK, IOSQE_ASYNC,
					 IOSQE_IO_DRAIN };
	int fd = diff_file(d, "f", 40);
	static char back[128];
	struct ring r;

	for (size_t f = 0; f < AU_ARRAY_SIZE(flags); f++) {
		ring_open(d, &r, 8, 0);
		memset(back, '.', sizeof(back));
		diff_say(d, "flags %#x", flags[f]);
		for (int i = 0; i < 6; i++)
			ring_sqe(&r, IORING_OP_READ, fd, back + i * 10, 10,
				 (uint64_t)i * 10)
				->flags = i < 5 ? flags[f] : 0;
		ring_submit(&r);
		ring_settle(&r, RING_SORTED);
		diff_bytes(d, "back", back, 60);
		for (int i = 0; i < 6; i++)
			ring_sqe(&r, IORING_OP_READ, fd, back + i * 10, 10,
				 (uint64_t)(i * 10 + 5))
				->rw_flags = i == 3 ? RWF_NOWAIT : 0;
		ring_submit(&r);
		ring_settle(&r, RING_SORTED);
		ring_close(&r);
	}
	close(fd);
}

/*
 * Two files in turns, one of them in memory; places and buffers in every order,
 * neighbours among them, some short or past the end, none overlapping.
 */
static void scattered(struct diff *d)
{
	static char from[64 * 8], back[64 * 8], whole[64 * 8];
	int fd[2] = { diff_file(d, "f", 0), memfd_create("m", MFD_CLOEXEC) };
	struct ring r;

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (char)('a' + i % 26);
	ring_open(d, &r, 64, 0);
	for (unsigned int step = 1; step < 64; step += 2) {
		/* An odd step visits every one of the 64 places. */
		for (unsigned int i = 0; i < 64; i++) {
			unsigned int at = i * step % 64;

			ring_sqe(&r, IORING_OP_WRITE, fd[at / 8 & 1],
				 from + i * 8, 8, at * 8);
		}
		ring_run(&r, 64, RING_SORTED);
		memset(back, '.', sizeof(back));
		for (unsigned int i = 0; i < 64; i++) {
			unsigned int at = i * step % 64;

			ring_sqe(&r, IORING_OP_READ, fd[i / 8 & 1],
				 back + at * 8, 8, i * 8 + step % 7);
		}
		ring_run(&r, 64, RING_SORTED);
		diff_bytes(d, "back", back, sizeof(back));
		for (int k = 0; k < 2; k++) {
			ssize_t n = pread(fd[k], whole, sizeof(whole), 0);

			diff_bytes(d, "whole", whole, n > 0 ? (size_t)n : 0);
			diff_must(d, ftruncate(fd[k], step * 4), "ftruncate");
		}
	}
	ring_close(&r);
	close(fd[0]);
	close(fd[1]);
}

/* Two wait for one pipe: whose is what comes? */
static void two_readers(struct diff *d)
{
	struct io_uring_cqe cqe;
	struct ring r;
	char buf[2];
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	for (int i = 0; i < 2; i++) {
		ring_sqe(&r, IORING_OP_READ, p[0], &buf[i], 1, 0)->user_data =
			(uint64_t)i + 1;
		ring_submit(&r);
	}
	diff_must(d, write(p[1], "x", 1), "write");
	(void)ring_one(&r, &cqe);
	diff_say(d, "reader %u", (unsigned int)cqe.user_data);
	ring_close_quiet(&r);
	close(p[0]);
	close(p[1]);
}

static const struct diff_test tests[] = {
	{ "read_matrix", read_matrix, DIFF_PLAIN | DIFF_DEFER },
	{ "write_matrix", write_matrix, DIFF_PLAIN | DIFF_DEFER },
	{ "positions_in_order", positions_in_order, DIFF_ALL },
	{ "vectors", vectors, DIFF_PLAIN | DIFF_DEFER },
	{ "bad_buffers", bad_buffers, DIFF_SYNC },
	{ "bad_vectors", bad_vectors, DIFF_PLAIN },
	{ "bad_descriptors", bad_descriptors, DIFF_PLAIN | DIFF_DEFER },
	{ "pipes", pipes, DIFF_ALL },
	{ "pipe_full", pipe_full, DIFF_ALL },
	{ "rwf_flags", rwf_flags, 0 },
	{ "fields", fields, 0 },
	{ "devices", devices, 0 },
	{ "eventfds", eventfds, DIFF_ALL },
	{ "file_size_limit", file_size_limit, DIFF_PLAIN },
	{ "direct_io", direct_io, DIFF_SYNC },
	{ "direct_kinds", direct_kinds, DIFF_SYNC },
	{ "direct_position", direct_position, DIFF_PLAIN },
	{ "direct_many", direct_many, DIFF_ALL },
	{ "many_writes", many_writes, DIFF_ALL },
	{ "adjacent", adjacent, DIFF_SYNC },
	{ "scattered", scattered, DIFF_SYNC },
	{ "two_readers", two_readers, DIFF_PLAIN },
};

DIFF_MAIN(tests)
