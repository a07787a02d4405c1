/* SPDX-License-Identifier: MIT */
/* Description: MSG_RING, restrictions, cloned buffers, regions, mixed CQEs. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include "diff.h"

static int reg(struct ring *r, unsigned int op, void *arg, unsigned int nr)
{
	return r->d->be->reg((unsigned int)r->fd, op, arg, nr);
}

/* What has arrived at the other ring: its owner looks, too. */
static void arrived(struct ring *to)
{
	(void)ring_enter(to, 0, 0, IORING_ENTER_GETEVENTS);
	ring_settle(to, RING_ORDER);
}

static struct io_uring_sqe *msg(struct ring *r, int fd, uint32_t len,
				uint64_t data)
{
	return ring_sqe(r, IORING_OP_MSG_RING, fd, NULL, len, data);
}

static void data_between(struct diff *d, uint32_t from, uint32_t to)
{
	struct ring r, t;
	int p[2];

	diff_pipe(d, p);
	ring_open(d, &r, 8, from);
	ring_open(d, &t, 4, to);
	msg(&r, t.fd, 5, 0x55);
	ring_run(&r, 1, RING_ORDER);
	arrived(&t);
	msg(&r, t.fd, (uint32_t)-7, 0x56)->msg_ring_flags =
		IORING_MSG_RING_FLAGS_PASS;
	ring_run(&r, 1, RING_ORDER);
	arrived(&t);
	msg(&r, p[0], 5, 0x55);
	ring_run(&r, 1, RING_ORDER);
	msg(&r, -1, 5, 0x55);
	ring_run(&r, 1, RING_ORDER);
	msg(&r, t.fd, 5, 0x55)->file_index = 1;
	ring_run(&r, 1, RING_ORDER);
	msg(&r, t.fd, 5, 0x55)->addr3 = 1;
	ring_run(&r, 1, RING_ORDER);
	msg(&r, t.fd, 5, 0x55)->addr = 2;
	ring_run(&r, 1, RING_ORDER);
	msg(&r, t.fd, 5, 0x55)->msg_ring_flags = 4;
	ring_run(&r, 1, RING_ORDER);
	/* To itself. */
	msg(&r, r.fd, 9, 0x99);
	ring_run(&r, 2, RING_SORTED);
	/* More than the other's CQ holds. */
	for (uint32_t i = 0; i < 12; i++) {
		msg(&r, t.fd, i, 0x100 + i)->flags = IOSQE_CQE_SKIP_SUCCESS;
		if (i % 8 == 7)
			ring_submit(&r);
	}
	ring_submit(&r);
	for (int i = 0; i < 3; i++)
		arrived(&t);
	ring_close(&t);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
}

static void data_plain(struct diff *d)
{
	data_between(d, 0, 0);
}

static void data_defer(struct diff *d)
{
	data_between(d, 0,
		     IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
}

static void files(struct diff *d)
{
	int fd = diff_file(d, "f", 26), slots[3] = { -1, -1, -1 };
	static const uint32_t index[] = {
		1, IORING_FILE_INDEX_ALLOC, 9,
		0, IORING_FILE_INDEX_ALLOC, IORING_FILE_INDEX_ALLOC
	};
	struct io_uring_sqe *s;
	struct ring r, t;
	char buf[8] = "";

	ring_open(d, &r, 8, 0);
	ring_open(d, &t, 8, 0);
	diff_must(d, reg(&r, IORING_REGISTER_FILES, &fd, 1), "files");
	s = msg(&r, t.fd, 0, 0x70);
	s->addr = IORING_MSG_SEND_FD;
	s->file_index = 1;
	ring_run(&r, 1, RING_ORDER); /* no table there */
	diff_must(d, reg(&t, IORING_REGISTER_FILES, slots, 3), "files");
	for (size_t i = 0; i < AU_ARRAY_SIZE(index); i++) {
		s = msg(&r, t.fd, 0, 0x71 + i);
		s->addr = IORING_MSG_SEND_FD;
		s->file_index = index[i];
		if (i == 4)
			s->msg_ring_flags = IORING_MSG_RING_CQE_SKIP;
		ring_run(&r, 1, RING_ORDER);
		arrived(&t);
	}
	s = msg(&r, t.fd, 0, 0x80);
	s->addr = IORING_MSG_SEND_FD;
	s->addr3 = 5; /* an empty slot */
	ring_run(&r, 1, RING_ORDER);
	s = ring_sqe(&t, IORING_OP_READ, 1, buf, 3, 4);
	s->flags = IOSQE_FIXED_FILE;
	ring_run(&t, 1, RING_ORDER);
	diff_bytes(d, "read", buf, 3);
	ring_close(&t);
	ring_close(&r);
	close(fd);
}

static void without_ring(struct diff *d)
{
	struct io_uring_sqe s = { .opcode = IORING_OP_MSG_RING,
				  .len = 3,
				  .off = 0x33 };
	struct ring t;

	ring_open(d, &t, 4, 0);
	s.fd = t.fd;
	diff_res(d,
		 d->be->reg(UINT32_MAX, IORING_REGISTER_SEND_MSG_RING, &s, 1),
		 "sync");
	arrived(&t);
	s.flags = IOSQE_IO_LINK;
	diff_res(d,
		 d->be->reg(UINT32_MAX, IORING_REGISTER_SEND_MSG_RING, &s, 1),
		 "flags");
	s.flags = 0;
	s.addr = IORING_MSG_SEND_FD;
	diff_res(d,
		 d->be->reg(UINT32_MAX, IORING_REGISTER_SEND_MSG_RING, &s, 1),
		 "a file");
	diff_res(d,
		 d->be->reg(UINT32_MAX, IORING_REGISTER_SEND_MSG_RING, &s, 2),
		 "two");
	ring_close(&t);
}

static void restricted(struct diff *d)
{
	struct io_uring_restriction res[] = {
		{ .opcode = IORING_RESTRICTION_SQE_OP,
		  .sqe_op = IORING_OP_NOP },
		{ .opcode = IORING_RESTRICTION_REGISTER_OP,
		  .register_op = IORING_REGISTER_PROBE },
		{ .opcode = IORING_RESTRICTION_SQE_FLAGS_REQUIRED,
		  .sqe_flags = IOSQE_ASYNC },
		{ .opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED,
		  .sqe_flags = IOSQE_IO_LINK },
	};
	struct ring r;
	int fd = -1;

	ring_open(d, &r, 4, IORING_SETUP_R_DISABLED);
	diff_res(d, reg(&r, IORING_REGISTER_RESTRICTIONS, NULL, 1), "null");
	diff_res(d, reg(&r, IORING_REGISTER_RESTRICTIONS, res, 4), "register");
	diff_res(d, reg(&r, IORING_REGISTER_RESTRICTIONS, res, 4), "again");
	diff_res(d, reg(&r, IORING_REGISTER_ENABLE_RINGS, NULL, 0), "enable");
	diff_res(d, reg(&r, IORING_REGISTER_RESTRICTIONS, res, 4), "late");
	ring_nop(&r);
	ring_run(&r, 1, RING_ORDER);
	ring_nop(&r)->flags = IOSQE_ASYNC;
	ring_run(&r, 1, RING_ORDER);
	ring_nop(&r)->flags = IOSQE_ASYNC | IOSQE_IO_LINK;
	ring_run(&r, 1, RING_ORDER);
	ring_nop(&r)->flags = IOSQE_ASYNC | IOSQE_IO_DRAIN;
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_CLOSE, -1, NULL, 0, 0)->flags = IOSQE_ASYNC;
	ring_run(&r, 1, RING_ORDER);
	diff_res(d, reg(&r, IORING_REGISTER_FILES, &fd, 1), "files");
	ring_close(&r);
	/* An empty set allows nothing. */
	ring_open(d, &r, 4, IORING_SETUP_R_DISABLED);
	diff_res(d, reg(&r, IORING_REGISTER_RESTRICTIONS, res, 0), "empty");
	diff_res(d, reg(&r, IORING_REGISTER_ENABLE_RINGS, NULL, 0), "enable");
	ring_nop(&r);
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
}

static int clone(struct ring *to, struct ring *from, uint32_t flags,
		 uint32_t src_off, uint32_t dst_off, uint32_t nr)
{
	struct io_uring_clone_buffers c = {
		.src_fd = (uint32_t)from->fd,
		.flags = flags,
		.src_off = src_off,
		.dst_off = dst_off,
		.nr = nr,
	};

	return reg(to, IORING_REGISTER_CLONE_BUFFERS, &c, 1);
}

static void cloned(struct diff *d)
{
	static char mem[4 * 4096];
	struct iovec iov[3] = { { mem, 100 }, { NULL, 0 }, { mem + 4096, 50 } };
	int fd = diff_file(d, "f", 26);
	struct ring a, b;

	ring_open(d, &a, 4, 0);
	ring_open(d, &b, 4, 0);
	diff_res(d, clone(&b, &a, 0, 0, 0, 0), "nothing there");
	diff_must(d, reg(&a, IORING_REGISTER_BUFFERS, iov, 3), "buffers");
	diff_res(d, clone(&b, &a, 0, 1, 0, 0), "an offset alone");
	diff_res(d, clone(&b, &a, 0, 0, 0, 4), "too many");
	diff_res(d, clone(&b, &a, 0, 2, 0, 2), "past the end");
	diff_res(d, clone(&b, &a, 0, 0, UINT32_MAX, 2), "wraps");
	diff_res(d, clone(&b, &a, 8, 0, 0, 0), "flags");
	diff_res(d, clone(&b, &a, 0, 0, 0, 0), "all");
	diff_res(d, clone(&b, &a, 0, 0, 0, 0), "again");
	diff_res(d, clone(&b, &a, IORING_REGISTER_DST_REPLACE, 2, 4, 1),
		 "replace");
	diff_res(d, clone(&a, &a, IORING_REGISTER_DST_REPLACE, 0, 1, 1),
		 "itself");
	for (uint16_t i = 0; i < 6; i++) {
		ring_sqe(&b, IORING_OP_READ_FIXED, fd,
			 i == 0 ? mem : mem + 4096, 10, 0)
			->buf_index = i;
		ring_run(&b, 1, RING_ORDER);
	}
	ring_close(&b);
	ring_close(&a);
	close(fd);
}

static void regions(struct diff *d)
{
	struct io_uring_region_desc desc = { .size = 4096 };
	struct io_uring_mem_region_reg m = { .region_uptr = (uintptr_t)&desc };
	struct io_uring_reg_wait *w;
	struct ring r;
	static const uint64_t offsets[] = { 0,    64,   4032,
					    4040, 4096, UINT64_MAX - 7 };

	ring_open(d, &r, 4, 0);
	m.flags = IORING_MEM_REGION_REG_WAIT_ARG;
	diff_res(d, reg(&r, IORING_REGISTER_MEM_REGION, &m, 1), "enabled");
	ring_close(&r);
	ring_open(d, &r, 4, IORING_SETUP_R_DISABLED);
	desc.size = 0;
	diff_res(d, reg(&r, IORING_REGISTER_MEM_REGION, &m, 1), "no size");
	desc.size = 100;
	diff_res(d, reg(&r, IORING_REGISTER_MEM_REGION, &m, 1), "odd size");
	desc.size = 4096;
	desc.user_addr = 4096;
	diff_res(d, reg(&r, IORING_REGISTER_MEM_REGION, &m, 1), "no flag");
	desc.flags = IORING_MEM_REGION_TYPE_USER;
	diff_res(d, reg(&r, IORING_REGISTER_MEM_REGION, &m, 1), "unmapped");
	desc = (struct io_uring_region_desc){ .size = 4096 };
	diff_res(d, reg(&r, IORING_REGISTER_MEM_REGION, &m, 1), "register");
	diff_res(d, reg(&r, IORING_REGISTER_MEM_REGION, &m, 1), "again");
	diff_res(d, reg(&r, IORING_REGISTER_ENABLE_RINGS, NULL, 0), "enable");
	w = d->be->map(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, r.fd,
		       (off_t)desc.mmap_offset);
	diff_say(d, "mapped %d", (uintptr_t)w < (uintptr_t)-4096);
	w[0].flags = w[1].flags = w[63].flags = IORING_REG_WAIT_TS;
	w[1].ts.tv_nsec = 1000000;
	for (size_t i = 0; i < AU_ARRAY_SIZE(offsets); i++)
		diff_res(d,
			 d->be->enter((unsigned int)r.fd, 0, 1,
				      IORING_ENTER_GETEVENTS |
					      IORING_ENTER_EXT_ARG |
					      IORING_ENTER_EXT_ARG_REG,
				      au_ptr(offsets[i]), sizeof(*w)),
			 "wait at %zu", i);
	ring_close(&r);
}

static void mixed(struct diff *d)
{
	struct io_uring_params p = { .flags = IORING_SETUP_CQE_MIXED };
	struct ring r;

	ring_open_params(d, &r, 4, &p);
	for (int round = 0; round < 3; round++) {
		uint32_t head = *r.cq_head;

		for (int i = 0; i < 5; i++) {
			struct io_uring_sqe *s;

			if (i == 4)
				ring_submit(&r);
			s = ring_nop(&r);
			if (i & 1) {
				s->nop_flags = IORING_NOP_CQE32;
				s->off = 0x11U + (unsigned int)i;
				s->addr = 0x22U + (unsigned int)i;
			}
		}
		ring_submit(&r);
		for (; head != *r.cq_tail; head++) {
			struct io_uring_cqe *c =
				(void *)(r.cqes + (head & 7) * 16);

			diff_say(d, "slot %u: %llu %d %x", head & 7,
				 (unsigned long long)c->user_data, c->res,
				 c->flags);
			if (!(c->flags & IORING_CQE_F_32))
				continue;
			diff_say(d, "  %llx %llx",
				 (unsigned long long)c->big_cqe[0],
				 (unsigned long long)c->big_cqe[1]);
			head++;
		}
		/* The second round overflows into the third. */
		if (round != 1)
			__atomic_store_n(r.cq_head, head, __ATOMIC_RELEASE);
		(void)ring_enter(&r, 0, 0, IORING_ENTER_GETEVENTS);
	}
	ring_close(&r);
}

static const struct diff_test tests[] = {
	{ "data_plain", data_plain, DIFF_PLAIN | DIFF_DEFER | DIFF_COOP },
	{ "data_defer", data_defer, DIFF_PLAIN },
	{ "files", files, DIFF_PLAIN | DIFF_DEFER },
	{ "without_ring", without_ring, DIFF_PLAIN | DIFF_DEFER },
	{ "restricted", restricted, DIFF_PLAIN | DIFF_DEFER },
	{ "cloned", cloned, DIFF_PLAIN },
	{ "regions", regions, DIFF_PLAIN },
	{ "mixed", mixed, DIFF_PLAIN },
};

DIFF_MAIN(tests)
