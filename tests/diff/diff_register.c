/* SPDX-License-Identifier: MIT */
/* Description: io_uring_register(2): files, buffers, eventfd, and the rest. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include "diff.h"

static int reg(struct ring *r, unsigned int op, void *arg, unsigned int nr)
{
	return r->d->be->reg((unsigned int)r->fd, op, arg, nr);
}

/* Opcodes that this engine leaves out, and those newer than some kernels. */
static bool reg_left_out(unsigned int op)
{
	switch (op) {
	case IORING_REGISTER_PERSONALITY:
	case IORING_UNREGISTER_PERSONALITY:
	case IORING_REGISTER_NAPI:
	case IORING_UNREGISTER_NAPI:
	case IORING_REGISTER_ZCRX_IFQ:
	case IORING_REGISTER_RESIZE_RINGS:
	case IORING_REGISTER_QUERY:
	case IORING_REGISTER_ZCRX_CTRL:
	case IORING_REGISTER_BPF_FILTER:
		return true;
	default:
		return false;
	}
}

static void opcode_garbage(struct diff *d)
{
	static const unsigned int nrs[] = { 0, 1, 2, 16, 32, 4096, ~0U };
	static uint64_t zeros[8192], ones[8192];
	void *args[4] = { NULL, diff_bad_ptr(), zeros, ones };

	for (unsigned int op = 0; op < 41; op++) {
		if (reg_left_out(op))
			continue;
		for (size_t a = 0; a < AU_ARRAY_SIZE(args); a++) {
			for (size_t n = 0; n < AU_ARRAY_SIZE(nrs); n++) {
				struct ring r;

				/* The limits of RLIMIT_NOFILE, and memory. */
				memset(zeros, 0, sizeof(zeros));
				memset(ones, 0xff, sizeof(ones));
				ring_open(d, &r, 2, 0);
				diff_res(d, reg(&r, op, args[a], nrs[n]),
					 "op %u arg %zu nr %u", op, a, nrs[n]);
				(void)d->be->unmap(r.rings, r.rings_len);
				(void)d->be->unmap(r.sqes, r.sqes_len);
				d->be->close(r.fd);
			}
		}
	}
}

static void bad_descriptors(struct diff *d)
{
	int p[2];

	diff_pipe(d, p);
	for (unsigned int op = 0; op < 41; op++) {
		if (reg_left_out(op))
			continue;
		diff_res(d, d->be->reg((unsigned int)-1, op, NULL, 0),
			 "op %u fd -1", op);
		diff_res(d, d->be->reg((unsigned int)p[0], op, NULL, 0),
			 "op %u pipe", op);
		diff_res(d, d->be->reg(3, op | 1U << 31, NULL, 0),
			 "op %u index 3", op);
	}
	diff_want(d, d->be->reg((unsigned int)p[0], ~0U, NULL, 0), -EINVAL,
		  "op ~0");
	close(p[0]);
	close(p[1]);
}

static void probe(struct diff *d)
{
	struct {
		struct io_uring_probe p;
		struct io_uring_probe_op ops[256];
	} b;

	static const unsigned int nr[] = { 0, 1, 10, 256, 257 };
	struct ring r;

	ring_open(d, &r, 2, 0);
	for (size_t i = 0; i < AU_ARRAY_SIZE(nr); i++) {
		memset(&b, 0, sizeof(b));
		diff_res(d, reg(&r, IORING_REGISTER_PROBE, &b, nr[i]), "nr %u",
			 nr[i]);
		diff_say(d, "%d ops", b.p.ops_len > 50 ? -1 : b.p.ops_len);
	}
	memset(&b, 0, sizeof(b));
	b.ops[3].resv2 = 1;
	diff_want(d, reg(&r, IORING_REGISTER_PROBE, &b, 10), -EINVAL,
		  "not zero");
	ring_close(&r);
}

static void files_basic(struct diff *d)
{
	int fds[4], f = diff_file(d, "f", 10);
	struct ring r;

	ring_open(d, &r, 4, 0);
	diff_want(d, reg(&r, IORING_UNREGISTER_FILES, NULL, 0), -ENXIO,
		  "unregister none");
	diff_want(d, reg(&r, IORING_REGISTER_FILES, fds, 0), -EINVAL, "none");
	fds[0] = f;
	fds[1] = -2;
	diff_want(d, reg(&r, IORING_REGISTER_FILES, fds, 2), -EBADF, "-2");
	fds[1] = 9999;
	diff_want(d, reg(&r, IORING_REGISTER_FILES, fds, 2), -EBADF, "9999");
	fds[1] = r.fd;
	diff_want(d, reg(&r, IORING_REGISTER_FILES, fds, 2), -EBADF, "a ring");
	fds[1] = -1;
	fds[2] = f;
	fds[3] = -1;
	diff_want(d, reg(&r, IORING_REGISTER_FILES, fds, 4), 0, "sparse");
	diff_want(d, reg(&r, IORING_REGISTER_FILES, fds, 4), -EBUSY, "again");
	diff_res(d, reg(&r, IORING_REGISTER_FILES, fds, 0), "again, none");
	diff_want(d, reg(&r, IORING_UNREGISTER_FILES, NULL, 0), 0,
		  "unregister");
	ring_close(&r);
	close(f);
}

static void files_limits(struct diff *d)
{
	static const unsigned int nr[] = { 1000,  1024,     1025,
					   32768, 1U << 20, (1U << 20) + 1 };
	struct rlimit lim = { 1024, 1024 };
	static int fds[32768];
	struct ring r;

	memset(fds, 0xff, sizeof(fds));
	setrlimit(RLIMIT_NOFILE, &lim);
	ring_open(d, &r, 4, 0);
	for (size_t i = 0; i < AU_ARRAY_SIZE(nr); i++) {
		struct io_uring_rsrc_register rr = {
			.nr = nr[i], .flags = IORING_RSRC_REGISTER_SPARSE
		};

		if (nr[i] <= AU_ARRAY_SIZE(fds)) {
			diff_res(d, reg(&r, IORING_REGISTER_FILES, fds, nr[i]),
				 "files %u", nr[i]);
			reg(&r, IORING_UNREGISTER_FILES, NULL, 0);
		}
		diff_res(d, reg(&r, IORING_REGISTER_FILES2, &rr, sizeof(rr)),
			 "sparse files %u", nr[i]);
		reg(&r, IORING_UNREGISTER_FILES, NULL, 0);
		diff_res(d, reg(&r, IORING_REGISTER_BUFFERS2, &rr, sizeof(rr)),
			 "sparse buffers %u", nr[i]);
		reg(&r, IORING_UNREGISTER_BUFFERS, NULL, 0);
	}
	ring_close(&r);
}

static void files_update(struct diff *d)
{
	static const int off[] = { 0, 1, 2, 3, 4, 5, -1 };
	int fds[4] = { -1, -1, -1, -1 }, f = diff_file(d, "f", 10);
	struct io_uring_rsrc_update up;
	struct ring r;

	ring_open(d, &r, 4, 0);
	memset(&up, 0, sizeof(up));
	up.data = (uintptr_t)fds;
	diff_want(d, reg(&r, IORING_REGISTER_FILES_UPDATE, &up, 1), -ENXIO,
		  "no table");
	reg(&r, IORING_REGISTER_FILES, fds, 4);
	for (size_t i = 0; i < AU_ARRAY_SIZE(off); i++) {
		for (unsigned int n = 0; n < 6; n++) {
			up.offset = (uint32_t)off[i];
			diff_res(d,
				 reg(&r, IORING_REGISTER_FILES_UPDATE, &up, n),
				 "offset %d nr %u", off[i], n);
		}
	}
	up.offset = 0;
	fds[0] = f;
	fds[1] = IORING_REGISTER_FILES_SKIP;
	fds[2] = 9999;
	fds[3] = f;
	diff_res(d, reg(&r, IORING_REGISTER_FILES_UPDATE, &up, 4),
		 "a bad one third");
	diff_res(d, reg(&r, IORING_REGISTER_FILES_UPDATE, &up, 2), "two");
	fds[0] = 9999;
	diff_res(d, reg(&r, IORING_REGISTER_FILES_UPDATE, &up, 1), "a bad one");
	fds[0] = r.fd;
	diff_res(d, reg(&r, IORING_REGISTER_FILES_UPDATE, &up, 1), "a ring");
	fds[0] = -3;
	diff_res(d, reg(&r, IORING_REGISTER_FILES_UPDATE, &up, 1), "-3");
	up.resv = 1;
	diff_res(d, reg(&r, IORING_REGISTER_FILES_UPDATE, &up, 1), "resv");
	up.resv = 0;
	up.data = (uintptr_t)diff_bad_ptr();
	diff_res(d, reg(&r, IORING_REGISTER_FILES_UPDATE, &up, 1),
		 "bad pointer");
	/* What is where now? */
	for (int i = 0; i < 6; i++) {
		char c;

		ring_sqe(&r, IORING_OP_READ, i, &c, 1, 0)->flags =
			IOSQE_FIXED_FILE;
		ring_run(&r, 1, RING_ORDER);
	}
	ring_close(&r);
	close(f);
}

static void files_update_op(struct diff *d)
{
	int fds[4] = { -1, -1, -1, -1 }, f = diff_file(d, "f", 10);
	struct io_uring_sqe *s;
	struct ring r;
	char c;

	ring_open(d, &r, 16, 0);
	ring_sqe(&r, IORING_OP_FILES_UPDATE, -1, fds, 1, 0);
	ring_run(&r, 1, RING_ORDER);
	reg(&r, IORING_REGISTER_FILES, fds, 4);
	fds[0] = fds[1] = f;
	ring_sqe(&r, IORING_OP_FILES_UPDATE, -1, fds, 2, 1);
	ring_sqe(&r, IORING_OP_READ, 0, &c, 1, 0)->flags = IOSQE_FIXED_FILE;
	ring_sqe(&r, IORING_OP_READ, 1, &c, 1, 0)->flags = IOSQE_FIXED_FILE;
	ring_run(&r, 3, RING_SORTED);
	ring_sqe(&r, IORING_OP_FILES_UPDATE, -1, fds, 0, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_FILES_UPDATE, -1, fds, 2, 3);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_FILES_UPDATE, -1, fds, 1, (uint64_t)-1);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_FILES_UPDATE, -1, diff_bad_ptr(), 1, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_FILES_UPDATE, -1, fds, 1, 0)->flags =
		IOSQE_FIXED_FILE;
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_FILES_UPDATE, -1, fds, 1, 0)->rw_flags = 1;
	ring_run(&r, 1, RING_ORDER);
	/* Any free slots, their numbers given back. */
	s = ring_sqe(&r, IORING_OP_FILES_UPDATE, -1, fds, 2,
		     IORING_FILE_INDEX_ALLOC);
	s->user_data = 100;
	ring_run(&r, 1, RING_ORDER);
	diff_say(d, "slot %d, then untouched %d", fds[0], fds[1] == f);
	fds[0] = f;
	fds[1] = f;
	ring_sqe(&r, IORING_OP_FILES_UPDATE, -1, fds, 2,
		 IORING_FILE_INDEX_ALLOC);
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
	close(f);
}

static void alloc_range(struct diff *d)
{
	static const struct io_uring_file_index_range tries[] = {
		{ 0, 4, 0 }, { 0, 5, 0 }, { 4, 0, 0 },   { 5, 0, 0 },
		{ 3, 1, 0 }, { 2, 0, 0 }, { ~0U, 2, 0 }, { ~0U, 1, 0 },
		{ 0, 4, 1 }, { 1, 2, 0 },
	};
	int fds[4] = { -1, -1, -1, -1 };
	struct ring r;

	ring_open(d, &r, 16, 0);
	close(diff_file(d, "f", 10));
	for (size_t i = 0; i < AU_ARRAY_SIZE(tries); i++) {
		struct io_uring_file_index_range t = tries[i];

		diff_res(d, reg(&r, IORING_REGISTER_FILE_ALLOC_RANGE, &t, 0),
			 "no table, %u %u", t.off, t.len);
	}
	reg(&r, IORING_REGISTER_FILES, fds, 4);
	for (size_t i = 0; i < AU_ARRAY_SIZE(tries); i++) {
		struct io_uring_file_index_range t = tries[i];

		diff_res(d, reg(&r, IORING_REGISTER_FILE_ALLOC_RANGE, &t, 0),
			 "%u %u", t.off, t.len);
		for (int k = 0; k < 5; k++) {
			ring_sqe(&r, IORING_OP_OPENAT, AT_FDCWD, "f", 0, 0)
				->file_index = IORING_FILE_INDEX_ALLOC;
			ring_run(&r, 1, RING_ORDER);
		}
		for (uint32_t k = 1; k < 5; k++) {
			ring_sqe(&r, IORING_OP_CLOSE, 0, NULL, 0, 0)
				->file_index = k;
			ring_run(&r, 1, RING_ORDER);
		}
	}
	ring_close(&r);
}

static void tags(struct diff *d)
{
	int p[2], fds[2];
	uint64_t tag[2] = { 100, 200 };
	struct io_uring_rsrc_register rr = { .nr = 2 };
	struct io_uring_rsrc_update2 up = { .nr = 1 };
	struct ring r;
	char c;

	diff_pipe(d, p);
	fds[0] = p[0];
	fds[1] = p[1];
	ring_open(d, &r, 16, 0);
	rr.data = (uintptr_t)fds;
	rr.tags = (uintptr_t)tag;
	diff_want(d, reg(&r, IORING_REGISTER_FILES2, &rr, sizeof(rr)), 0,
		  "register");
	ring_settle(&r, RING_ORDER);
	/* In use: the tag comes after the request that uses the file. */
	ring_sqe(&r, IORING_OP_READ, 0, &c, 1, 0)->flags = IOSQE_FIXED_FILE;
	ring_submit(&r);
	fds[0] = -1;
	tag[0] = 0;
	up.data = (uintptr_t)fds;
	up.tags = (uintptr_t)tag;
	diff_want(d, reg(&r, IORING_REGISTER_FILES_UPDATE2, &up, sizeof(up)), 1,
		  "remove in use");
	ring_settle(&r, RING_ORDER);
	diff_must(d, write(p[1], "x", 1), "write");
	ring_wait(&r, 2, RING_ORDER);
	/* A removal with a tag is refused. */
	tag[0] = 5;
	diff_res(d, reg(&r, IORING_REGISTER_FILES_UPDATE2, &up, sizeof(up)),
		 "tagged removal");
	fds[0] = IORING_REGISTER_FILES_SKIP;
	diff_res(d, reg(&r, IORING_REGISTER_FILES_UPDATE2, &up, sizeof(up)),
		 "tagged skip");
	ring_settle(&r, RING_ORDER);
	diff_want(d, reg(&r, IORING_UNREGISTER_FILES, NULL, 0), 0,
		  "unregister");
	ring_settle(&r, RING_ORDER);
	/* A registration that fails posts none. */
	fds[0] = p[0];
	fds[1] = 9999;
	tag[0] = tag[1] = 7;
	diff_res(d, reg(&r, IORING_REGISTER_FILES2, &rr, sizeof(rr)),
		 "failing registration");
	ring_settle(&r, RING_ORDER);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static void files2_arguments(struct diff *d)
{
	/* Read as vectors too: two of them are 32 bytes. */
	int fds[16] = { -1, -1 };
	struct io_uring_rsrc_register rr;
	struct io_uring_rsrc_update2 up;
	struct ring r;

	ring_open(d, &r, 4, 0);
	for (int which = 0; which < 8; which++) {
		memset(&rr, 0, sizeof(rr));
		rr.nr = which == 0 ? 0 : 2;
		rr.data = (uintptr_t)fds;
		if (which == 1)
			rr.flags = 2;
		if (which == 2)
			rr.resv2 = 1;
		if (which == 3)
			rr.flags = IORING_RSRC_REGISTER_SPARSE;
		if (which == 4)
			rr.data = 0;
		if (which == 5)
			rr.tags = (uintptr_t)diff_bad_ptr();
		if (which == 6)
			rr.data = (uintptr_t)diff_bad_ptr();
		for (int op = 0; op < 2; op++) {
			diff_res(d,
				 reg(&r,
				     op ? IORING_REGISTER_BUFFERS2 :
					  IORING_REGISTER_FILES2,
				     &rr, sizeof(rr)),
				 "case %d buffers %d", which, op);
			reg(&r, IORING_UNREGISTER_FILES, NULL, 0);
			reg(&r, IORING_UNREGISTER_BUFFERS, NULL, 0);
		}
	}
	diff_res(d, reg(&r, IORING_REGISTER_FILES2, &rr, sizeof(rr) - 1),
		 "short");
	reg(&r, IORING_REGISTER_FILES, fds, 2);
	for (int which = 0; which < 7; which++) {
		memset(&up, 0, sizeof(up));
		up.nr = which == 0 ? 0 : 1;
		up.data = (uintptr_t)fds;
		if (which == 1)
			up.resv = 1;
		if (which == 2)
			up.resv2 = 1;
		if (which == 3)
			up.offset = 2;
		if (which == 4)
			up.offset = ~0U;
		if (which == 5)
			up.tags = (uintptr_t)diff_bad_ptr();
		diff_res(d,
			 reg(&r, IORING_REGISTER_FILES_UPDATE2, &up,
			     sizeof(up)),
			 "update case %d", which);
		diff_res(d,
			 reg(&r, IORING_REGISTER_BUFFERS_UPDATE, &up,
			     sizeof(up)),
			 "buffers update case %d", which);
	}
	ring_close(&r);
}

static void buffers_basic(struct diff *d)
{
	size_t n = 1 << 16;
	char *m = mmap(NULL, n, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *ro =
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static struct iovec many[16385];
	struct iovec iov;
	struct ring r;

	munmap(m + n / 2, n / 2);
	ring_open(d, &r, 4, 0);
	diff_want(d, reg(&r, IORING_UNREGISTER_BUFFERS, NULL, 0), -ENXIO,
		  "unregister none");
	iov = (struct iovec){ NULL, 0 };
	diff_want(d, reg(&r, IORING_REGISTER_BUFFERS, &iov, 1), 0, "sparse");
	diff_want(d, reg(&r, IORING_REGISTER_BUFFERS, &iov, 1), -EBUSY,
		  "again");
	diff_want(d, reg(&r, IORING_UNREGISTER_BUFFERS, NULL, 0), 0,
		  "unregister");
	iov = (struct iovec){ NULL, 16 };
	diff_want(d, reg(&r, IORING_REGISTER_BUFFERS, &iov, 1), -EFAULT,
		  "NULL, 16");
	iov = (struct iovec){ m, 0 };
	diff_want(d, reg(&r, IORING_REGISTER_BUFFERS, &iov, 1), -EFAULT,
		  "m, 0");
	iov = (struct iovec){ m, n };
	diff_want(d, reg(&r, IORING_REGISTER_BUFFERS, &iov, 1), -EFAULT,
		  "half unmapped");
	iov = (struct iovec){ m, (1UL << 30) + 1 };
	diff_res(d, reg(&r, IORING_REGISTER_BUFFERS, &iov, 1), "too long");
	iov = (struct iovec){ (void *)-4096L, 8192 };
	diff_res(d, reg(&r, IORING_REGISTER_BUFFERS, &iov, 1), "wraps");
	iov = (struct iovec){ ro, 4096 };
	diff_res(d, reg(&r, IORING_REGISTER_BUFFERS, &iov, 1), "read-only");
	iov = (struct iovec){ m + 17, 100 };
	diff_res(d, reg(&r, IORING_REGISTER_BUFFERS, &iov, 1), "unaligned");
	reg(&r, IORING_UNREGISTER_BUFFERS, NULL, 0);
	diff_res(d, reg(&r, IORING_REGISTER_BUFFERS, diff_bad_ptr(), 1),
		 "bad pointer");
	diff_res(d, reg(&r, IORING_REGISTER_BUFFERS, &iov, 0), "none");
	diff_res(d, reg(&r, IORING_REGISTER_BUFFERS, many, 1024), "1024");
	reg(&r, IORING_UNREGISTER_BUFFERS, NULL, 0);
	diff_res(d, reg(&r, IORING_REGISTER_BUFFERS, many, 16384), "16384");
	reg(&r, IORING_UNREGISTER_BUFFERS, NULL, 0);
	diff_res(d, reg(&r, IORING_REGISTER_BUFFERS, many, 16385), "16385");
	diff_want(d, reg(&r, IORING_REGISTER_BUFFERS, many, 1000000), -EINVAL,
		  "1000000");
	ring_close(&r);
	munmap(m, n / 2);
	munmap(ro, 4096);
}

static void buffers_io(struct diff *d)
{
	static const struct {
		int off;
		unsigned int len;
		int index;
	} t[] = { { 0, 0, 0 },    { 0, 10, 0 },    { 0, 4096, 0 },
		  { 0, 4097, 0 }, { -1, 10, 0 },   { 4096, 0, 0 },
		  { 4096, 1, 0 }, { 4090, 6, 0 },  { 4090, 7, 0 },
		  { 0, 0, 1 },    { 0, 10, 1 },    { 0, 0, 2 },
		  { 0, 10, 2 },   { -5000, 0, 0 }, { 0, 10, 65535 } };

	static const uint8_t ops[] = { IORING_OP_READ_FIXED,
				       IORING_OP_WRITE_FIXED };
	int f = diff_file(d, "f", 5000);
	char *m = mmap(NULL, 12288, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec iov[2] = { { m + 4096, 4096 }, { NULL, 0 } };
	struct ring r;

	ring_open(d, &r, 4, 0);
	for (int table = 0; table < 2; table++) {
		for (size_t i = 0; i < AU_ARRAY_SIZE(t); i++) {
			for (int op = 0; op < 2; op++) {
				for (int async = 0; async < 2; async++) {
					struct io_uring_sqe *s =
						ring_sqe(&r, ops[op], f,
							 m + 4096 + t[i].off,
							 t[i].len, 0);

					s->buf_index = (uint16_t)t[i].index;
					s->flags = async ? IOSQE_ASYNC : 0;
					ring_run(&r, 1, RING_ORDER);
				}
			}
		}
		diff_res(d, reg(&r, IORING_REGISTER_BUFFERS, iov, 2),
			 "register");
	}
	ring_close(&r);
	close(f);
	munmap(m, 12288);
}

static void buffers_update(struct diff *d)
{
	static char a[4096], b[4096];
	struct iovec iov[2] = { { a, sizeof(a) }, { NULL, 0 } };
	uint64_t tag[2] = { 50, 0 };
	struct io_uring_rsrc_update2 up = { .nr = 1 };
	struct io_uring_rsrc_register rr = { .nr = 2 };
	struct io_uring_sqe *s;
	struct ring r;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 4, 0);
	up.data = rr.data = (uintptr_t)iov;
	up.tags = rr.tags = (uintptr_t)tag;
	diff_res(d, reg(&r, IORING_REGISTER_BUFFERS_UPDATE, &up, sizeof(up)),
		 "no table");
	diff_res(d, reg(&r, IORING_REGISTER_BUFFERS2, &rr, sizeof(rr)),
		 "register");
	s = ring_sqe(&r, IORING_OP_READ_FIXED, p[0], a, 4, 0);
	s->buf_index = 0;
	ring_submit(&r);
	iov[0] = (struct iovec){ b, sizeof(b) };
	tag[0] = 60;
	diff_res(d, reg(&r, IORING_REGISTER_BUFFERS_UPDATE, &up, sizeof(up)),
		 "replace in use");
	ring_settle(&r, RING_ORDER);
	diff_must(d, write(p[1], "data", 4), "write");
	ring_wait(&r, 2, RING_ORDER);
	diff_bytes(d, "a", a, 4);
	iov[0] = (struct iovec){ NULL, 0 };
	diff_res(d, reg(&r, IORING_REGISTER_BUFFERS_UPDATE, &up, sizeof(up)),
		 "remove with tag");
	tag[0] = 0;
	diff_res(d, reg(&r, IORING_REGISTER_BUFFERS_UPDATE, &up, sizeof(up)),
		 "remove");
	ring_settle(&r, RING_ORDER);
	up.offset = 1;
	up.nr = 2;
	diff_res(d, reg(&r, IORING_REGISTER_BUFFERS_UPDATE, &up, sizeof(up)),
		 "past the end");
	up.offset = ~0U;
	diff_res(d, reg(&r, IORING_REGISTER_BUFFERS_UPDATE, &up, sizeof(up)),
		 "wraps");
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static long efd_value(int fd)
{
	eventfd_t v = 0;

	return eventfd_read(fd, &v) ? -errno : (long)v;
}

static void eventfds(struct diff *d)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), bad, p[2];
	struct ring r;

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	diff_want(d, reg(&r, IORING_UNREGISTER_EVENTFD, NULL, 0), -ENXIO,
		  "unregister none");
	bad = -1;
	diff_res(d, reg(&r, IORING_REGISTER_EVENTFD, &bad, 1), "-1");
	bad = p[0];
	diff_res(d, reg(&r, IORING_REGISTER_EVENTFD, &bad, 1), "pipe");
	bad = p[1];
	diff_res(d, reg(&r, IORING_REGISTER_EVENTFD, &bad, 1), "pipe's end");
	diff_res(d, reg(&r, IORING_REGISTER_EVENTFD, diff_bad_ptr(), 1),
		 "bad pointer");
	diff_want(d, reg(&r, IORING_REGISTER_EVENTFD, &fd, 1), 0, "register");
	diff_want(d, reg(&r, IORING_REGISTER_EVENTFD, &fd, 1), -EBUSY, "again");
	ring_run(&r, 0, RING_ORDER);
	diff_res(d, efd_value(fd), "nothing yet");
	ring_nop(&r);
	ring_run(&r, 1, RING_ORDER);
	diff_res(d, efd_value(fd), "one");
	ring_nop(&r);
	ring_nop(&r);
	ring_nop(&r);
	ring_run(&r, 3, RING_ORDER);
	diff_res(d, efd_value(fd) > 0 ? 1 : 0, "a batch");
	ring_nop(&r)->flags = IOSQE_CQE_SKIP_SUCCESS;
	ring_run(&r, 0, RING_ORDER);
	diff_res(d, efd_value(fd), "skipped");
	*r.cq_flags = IORING_CQ_EVENTFD_DISABLED;
	ring_nop(&r);
	ring_run(&r, 1, RING_ORDER);
	diff_res(d, efd_value(fd), "disabled");
	*r.cq_flags = 0;
	ring_nop(&r);
	ring_run(&r, 1, RING_ORDER);
	diff_res(d, efd_value(fd), "enabled");
	diff_want(d, reg(&r, IORING_UNREGISTER_EVENTFD, NULL, 0), 0,
		  "unregister");
	ring_nop(&r);
	ring_run(&r, 1, RING_ORDER);
	diff_res(d, efd_value(fd), "unregistered");
	ring_close(&r);
	close(fd);
	close(p[0]);
	close(p[1]);
}

/* Only what did not end inline signals. */
static void eventfd_async(struct diff *d)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), p[2];
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct ring r;
	char c;

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	diff_want(d, reg(&r, IORING_REGISTER_EVENTFD_ASYNC, &fd, 1), 0,
		  "register");
	ring_nop(&r);
	ring_run(&r, 1, RING_ORDER);
	diff_res(d, efd_value(fd), "inline");
	diff_must(d, write(p[1], "x", 1), "write");
	ring_sqe(&r, IORING_OP_READ, p[0], &c, 1, 0)->flags = IOSQE_ASYNC;
	ring_submit(&r);
	diff_res(d, poll(&pfd, 1, (int)(1000 * d->scale)), "from a worker");
	ring_wait(&r, 1, RING_ORDER);
	ring_close(&r);
	close(fd);
	close(p[0]);
	close(p[1]);
}

/* The eventfd of a ring whose owner does nothing is signalled all the same. */
static void eventfd_when_ready(struct diff *d)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), p[2];
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct ring r;
	char c;

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	diff_want(d, reg(&r, IORING_REGISTER_EVENTFD, &fd, 1), 0, "register");
	ring_sqe(&r, IORING_OP_READ, p[0], &c, 1, 0);
	ring_submit(&r);
	diff_res(d, poll(&pfd, 1, 5), "before");
	diff_must(d, write(p[1], "x", 1), "write");
	diff_res(d, poll(&pfd, 1, (int)(1000 * d->scale)), "after");
	ring_wait(&r, 1, RING_ORDER);
	ring_close(&r);
	close(fd);
	close(p[0]);
	close(p[1]);
}

static void clock_register(struct diff *d)
{
	static const int clocks[] = { CLOCK_REALTIME,
				      CLOCK_MONOTONIC,
				      CLOCK_PROCESS_CPUTIME_ID,
				      CLOCK_BOOTTIME,
				      CLOCK_TAI,
				      100,
				      -1 };
	struct io_uring_clock_register c;
	struct ring r;

	ring_open(d, &r, 4, 0);
	for (size_t i = 0; i < AU_ARRAY_SIZE(clocks); i++) {
		memset(&c, 0, sizeof(c));
		c.clockid = (uint32_t)clocks[i];
		diff_res(d, reg(&r, IORING_REGISTER_CLOCK, &c, 0), "clock %d",
			 clocks[i]);
	}
	memset(&c, 0, sizeof(c));
	c.clockid = CLOCK_MONOTONIC;
	c.resv[1] = 1;
	diff_res(d, reg(&r, IORING_REGISTER_CLOCK, &c, 0), "resv");
	diff_res(d, reg(&r, IORING_REGISTER_CLOCK, NULL, 0), "NULL");
	diff_res(d, reg(&r, IORING_REGISTER_CLOCK, &c, 1), "nr 1");
	ring_close(&r);
}

static void iowq(struct diff *d)
{
	unsigned int v[2] = { 0, 0 };
	unsigned long mask = 1;
	struct ring r;

	ring_open(d, &r, 4, 0);
	diff_res(d, reg(&r, IORING_REGISTER_IOWQ_MAX_WORKERS, v, 2), "ask");
	diff_say(d, "some %d %d", v[0] > 0, v[1] > 0);
	v[0] = 3;
	v[1] = 4;
	diff_res(d, reg(&r, IORING_REGISTER_IOWQ_MAX_WORKERS, v, 2), "set");
	diff_say(d, "some %d %d", v[0] > 0, v[1] > 0);
	v[0] = v[1] = 0;
	diff_res(d, reg(&r, IORING_REGISTER_IOWQ_MAX_WORKERS, v, 2), "ask");
	diff_say(d, "now %u %u", v[0], v[1]);
	v[0] = 1U << 31;
	diff_res(d, reg(&r, IORING_REGISTER_IOWQ_MAX_WORKERS, v, 2), "huge");
	diff_res(d, reg(&r, IORING_REGISTER_IOWQ_MAX_WORKERS, v, 1), "nr 1");
	diff_res(d, reg(&r, IORING_REGISTER_IOWQ_MAX_WORKERS, v, 3), "nr 3");
	diff_res(d, reg(&r, IORING_REGISTER_IOWQ_MAX_WORKERS, NULL, 2), "NULL");
	diff_res(d, reg(&r, IORING_REGISTER_IOWQ_AFF, &mask, sizeof(mask)),
		 "affinity");
	mask = 0;
	diff_res(d, reg(&r, IORING_REGISTER_IOWQ_AFF, &mask, sizeof(mask)),
		 "no CPU");
	mask = 1UL << 60;
	diff_res(d, reg(&r, IORING_REGISTER_IOWQ_AFF, &mask, sizeof(mask)),
		 "absent CPU");
	diff_res(d, reg(&r, IORING_REGISTER_IOWQ_AFF, NULL, 8), "NULL");
	diff_res(d, reg(&r, IORING_UNREGISTER_IOWQ_AFF, NULL, 0), "unregister");
	diff_res(d, reg(&r, IORING_UNREGISTER_IOWQ_AFF, NULL, 0),
		 "unregister again");
	ring_close(&r);
}

static void ring_fds(struct diff *d)
{
	struct io_uring_rsrc_update up[20];
	unsigned int fd, idx;
	struct ring r;

	ring_open(d, &r, 4, 0);
	fd = (unsigned int)r.fd;
	memset(up, 0, sizeof(up));
	up[0].offset = ~0U;
	up[0].data = fd;
	diff_want(d, reg(&r, IORING_REGISTER_RING_FDS, up, 1), 1, "register");
	idx = up[0].offset;
	diff_say(d, "index %u", idx);
	ring_nop(&r);
	__atomic_store_n(r.sq_tail, r.tail, __ATOMIC_RELEASE);
	diff_want(d,
		  d->be->enter(idx, 1, 1,
			       IORING_ENTER_GETEVENTS |
				       IORING_ENTER_REGISTERED_RING,
			       NULL, 0),
		  1, "enter by index");
	ring_reap(&r, RING_ORDER);
	diff_res(d,
		 d->be->enter(idx + 1, 0, 0, IORING_ENTER_REGISTERED_RING, NULL,
			      0),
		 "next index");
	diff_res(d,
		 d->be->reg(idx, IORING_UNREGISTER_FILES | 1U << 31, NULL, 0),
		 "register by index");
	up[0].offset = 5;
	up[0].data = fd;
	diff_res(d, reg(&r, IORING_REGISTER_RING_FDS, up, 1), "at 5");
	up[0].offset = 16;
	diff_res(d, reg(&r, IORING_REGISTER_RING_FDS, up, 1), "at 16");
	up[0].offset = 5;
	diff_res(d, reg(&r, IORING_REGISTER_RING_FDS, up, 1), "at 5 again");
	up[0].resv = 1;
	diff_res(d, reg(&r, IORING_REGISTER_RING_FDS, up, 1), "resv");
	up[0].resv = 0;
	up[0].offset = ~0U;
	up[0].data = 9999;
	diff_res(d, reg(&r, IORING_REGISTER_RING_FDS, up, 1), "bad fd");
	up[0].data = 0;
	diff_res(d, reg(&r, IORING_REGISTER_RING_FDS, up, 1), "not a ring");
	for (int i = 0; i < 20; i++)
		up[i] = (struct io_uring_rsrc_update){ .offset = ~0U,
						       .data = fd };
	diff_res(d, reg(&r, IORING_REGISTER_RING_FDS, up, 17), "17");
	diff_res(d, reg(&r, IORING_REGISTER_RING_FDS, up, 0), "none");
	diff_res(d, reg(&r, IORING_REGISTER_RING_FDS, up, 16), "16");
	for (int i = 0; i < 16; i++)
		diff_say(d, "got %u", up[i].offset);
	for (int i = 0; i < 20; i++)
		up[i] = (struct io_uring_rsrc_update){ .offset = (uint32_t)i };
	diff_res(d, reg(&r, IORING_UNREGISTER_RING_FDS, up, 3), "unregister");
	diff_res(d, reg(&r, IORING_UNREGISTER_RING_FDS, up, 16),
		 "unregister 16");
	up[0].data = 1;
	diff_res(d, reg(&r, IORING_UNREGISTER_RING_FDS, up, 1), "data");
	up[0].data = 0;
	up[0].offset = 99;
	diff_res(d, reg(&r, IORING_UNREGISTER_RING_FDS, up, 1), "99");
	ring_close(&r);
}

/* The descriptor is closed, the index keeps the ring. */
static void ring_index_keeps(struct diff *d)
{
	struct io_uring_rsrc_update up = { .offset = ~0U };
	struct ring r;

	ring_open(d, &r, 4, 0);
	up.data = (uint64_t)r.fd;
	diff_want(d, reg(&r, IORING_REGISTER_RING_FDS, &up, 1), 1, "register");
	d->be->close(r.fd);
	ring_nop(&r);
	__atomic_store_n(r.sq_tail, r.tail, __ATOMIC_RELEASE);
	diff_res(d,
		 d->be->enter(up.offset, 1, 1,
			      IORING_ENTER_GETEVENTS |
				      IORING_ENTER_REGISTERED_RING,
			      NULL, 0),
		 "enter");
	ring_reap(&r, RING_ORDER);
	diff_res(d, d->be->enter((unsigned int)r.fd, 0, 0, 0, NULL, 0),
		 "by descriptor");
	up.data = 0;
	diff_res(d,
		 d->be->reg(up.offset, IORING_UNREGISTER_RING_FDS | 1U << 31,
			    &up, 1),
		 "unregister");
	diff_res(d,
		 d->be->enter(up.offset, 0, 0, IORING_ENTER_REGISTERED_RING,
			      NULL, 0),
		 "enter after");
	(void)d->be->unmap(r.rings, r.rings_len);
	(void)d->be->unmap(r.sqes, r.sqes_len);
}

static void sync_cancel_arguments(struct diff *d)
{
	struct io_uring_sync_cancel_reg c;
	struct ring r;

	ring_open(d, &r, 4, 0);
	for (int bit = -1; bit < 32; bit++) {
		memset(&c, 0, sizeof(c));
		c.addr = 77;
		c.fd = -1;
		c.flags = bit < 0 ? 0 : 1U << bit;
		c.timeout.tv_sec = -1;
		c.timeout.tv_nsec = -1;
		diff_res(d, reg(&r, IORING_REGISTER_SYNC_CANCEL, &c, 1),
			 "flags %#x", c.flags);
	}
	c.flags = 0;
	c.pad[2] = 1;
	diff_res(d, reg(&r, IORING_REGISTER_SYNC_CANCEL, &c, 1), "pad");
	c.pad[2] = 0;
	c.pad2[2] = 1;
	diff_res(d, reg(&r, IORING_REGISTER_SYNC_CANCEL, &c, 1), "pad2");
	c.pad2[2] = 0;
	c.timeout.tv_sec = 0;
	diff_res(d, reg(&r, IORING_REGISTER_SYNC_CANCEL, &c, 1),
		 "negative nsec");
	diff_res(d, reg(&r, IORING_REGISTER_SYNC_CANCEL, &c, 2), "nr 2");
	diff_res(d, reg(&r, IORING_REGISTER_SYNC_CANCEL, NULL, 1), "NULL");
	ring_close(&r);
}

static void sync_cancel_works(struct diff *d)
{
	struct io_uring_sync_cancel_reg c = { .timeout = { -1, -1 } };
	struct ring r;
	char buf[4][8];
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, 0);
	for (int async = 0; async < 2; async++) {
		for (int i = 0; i < 3; i++) {
			struct io_uring_sqe *s = ring_sqe(&r, IORING_OP_READ,
							  p[0], buf[i], 8, 0);

			s->flags = async ? IOSQE_ASYNC : 0;
			s->user_data = 7;
		}
		ring_submit(&r);
		diff_sleep_ms(d, 5);
		c.addr = 7;
		c.flags = 0;
		diff_res(d, reg(&r, IORING_REGISTER_SYNC_CANCEL, &c, 1), "one");
		ring_wait(&r, 1, RING_ORDER);
		c.flags = IORING_ASYNC_CANCEL_ALL;
		diff_res(d, reg(&r, IORING_REGISTER_SYNC_CANCEL, &c, 1), "all");
		ring_wait(&r, 2, RING_ORDER);
		diff_res(d, reg(&r, IORING_REGISTER_SYNC_CANCEL, &c, 1),
			 "all of none");
		c.flags = 0;
		diff_res(d, reg(&r, IORING_REGISTER_SYNC_CANCEL, &c, 1),
			 "one of none");
	}
	/* By file. */
	ring_sqe(&r, IORING_OP_READ, p[0], buf[0], 8, 0);
	ring_submit(&r);
	c.flags = IORING_ASYNC_CANCEL_FD;
	c.fd = p[1];
	diff_res(d, reg(&r, IORING_REGISTER_SYNC_CANCEL, &c, 1), "other fd");
	c.fd = 9999;
	diff_res(d, reg(&r, IORING_REGISTER_SYNC_CANCEL, &c, 1), "bad fd");
	c.fd = p[0];
	diff_res(d, reg(&r, IORING_REGISTER_SYNC_CANCEL, &c, 1), "fd");
	ring_wait(&r, 1, RING_ORDER);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static const struct diff_test tests[] = {
	{ "opcode_garbage", opcode_garbage, 0 },
	{ "bad_descriptors", bad_descriptors, 0 },
	{ "probe", probe, 0 },
	{ "files_basic", files_basic, DIFF_SYNC },
	{ "files_limits", files_limits, 0 },
	{ "files_update", files_update, DIFF_ALL },
	{ "files_update_op", files_update_op, DIFF_SYNC },
	{ "alloc_range", alloc_range, 0 },
	{ "tags", tags, DIFF_SYNC },
	{ "files2_arguments", files2_arguments, 0 },
	{ "buffers_basic", buffers_basic, 0 },
	{ "buffers_io", buffers_io, DIFF_PLAIN | DIFF_DEFER },
	{ "buffers_update", buffers_update, DIFF_SYNC },
	{ "eventfds", eventfds, DIFF_SYNC },
	{ "eventfd_async", eventfd_async, DIFF_SYNC },
	{ "eventfd_when_ready", eventfd_when_ready, DIFF_SYNC },
	{ "clock_register", clock_register, 0 },
	{ "iowq", iowq, 0 },
	{ "ring_fds", ring_fds, 0 },
	{ "ring_index_keeps", ring_index_keeps, 0 },
	{ "sync_cancel_arguments", sync_cancel_arguments, 0 },
	{ "sync_cancel_works", sync_cancel_works, DIFF_PLAIN | DIFF_DEFER },
};

DIFF_MAIN(tests)
