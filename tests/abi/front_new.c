/* SPDX-License-Identifier: MIT */
/*
 * Description: what liburing exports since 2.4, called through our own
 * declarations, over the kernel.
 *
 * Results that the ABI makes certain are required; the others, which depend on
 * the kernel, are only printed, so that the same program run with another
 * liburing.so.2 in LD_LIBRARY_PATH can be compared by eye or by diff.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/liburing.h"
#include "base/atomic.h"
#include "front_test.h"

static struct io_uring_sqe *next_sqe(struct io_uring *ring, uint8_t opcode,
				     uint64_t user_data)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe)
		MUST(-EAGAIN);
	sqe->opcode = opcode;
	sqe->fd = -1;
	sqe->off = 0;
	sqe->addr = 0;
	sqe->len = 0;
	sqe->user_data = user_data;
	return sqe;
}

static void queue_nops(struct io_uring *ring, unsigned int nr, uint64_t first)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		next_sqe(ring, IORING_OP_NOP, first + i);
}

static void advance(struct io_uring *ring, unsigned int slots)
{
	au_store_release(ring->cq.khead, *ring->cq.khead + slots);
}

static unsigned int drain(struct io_uring *ring)
{
	struct io_uring_cqe *cqes[16];
	unsigned int total = 0;
	unsigned int nr, i;

	while ((nr = io_uring_peek_batch_cqe(ring, cqes, 16))) {
		unsigned int slots = 0;

		say("batch", nr);
		for (i = 0; i < nr; i++) {
			printf("  cqe %llu res %d flags %#x\n",
			       (unsigned long long)cqes[i]->user_data,
			       cqes[i]->res, cqes[i]->flags);
			slots += cqes[i]->flags & IORING_CQE_F_32 ? 2 : 1;
		}
		advance(ring, slots);
		total += nr;
	}
	return total;
}

static long cqe_data(const struct io_uring_cqe *cqe)
{
	return cqe ? (long)cqe->user_data : -1;
}

static void test_version(void)
{
	EXPECT(io_uring_major_version(), 2);
	SAY(io_uring_minor_version() >= 4);
	EXPECT(io_uring_check_version(2, 0), 0);
	EXPECT(io_uring_check_version(2, io_uring_minor_version()), 0);
	EXPECT(io_uring_check_version(2, io_uring_minor_version() + 1), 1);
	EXPECT(io_uring_check_version(1, 99), 0);
	EXPECT(io_uring_check_version(3, 0), 1);
}

static void test_memory_size(void)
{
	static const unsigned int flags[] = {
		0,
		IORING_SETUP_SQE128,
		IORING_SETUP_CQE32 | IORING_SETUP_CLAMP,
		IORING_SETUP_NO_SQARRAY | IORING_SETUP_CLAMP,
		IORING_SETUP_CQSIZE,
		IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
	};
	static const unsigned int entries[] = { 0,  1,    2,     3,
						64, 1000, 32768, 32769 };
	static const unsigned int cq_entries[] = { 0, 1, 33, 70000 };
	unsigned int f, e, c;

	printf("-- memory size\n");
	for (f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
		for (e = 0; e < sizeof(entries) / sizeof(entries[0]); e++) {
			printf("%#x %u: %ld", flags[f], entries[e],
			       (long)io_uring_memory_size(entries[e],
							  flags[f]));
			for (c = 0; c < 4; c++) {
				struct io_uring_params p = {
					.flags = flags[f],
					.cq_entries = cq_entries[c],
				};

				printf(" %ld",
				       (long)io_uring_memory_size_params(
					       entries[e], &p));
			}
			printf("\n");
		}
	}
	/* One page of SQEs, one of everything else. */
	EXPECT(io_uring_memory_size(1, 0), 2 * sysconf(_SC_PAGESIZE));
	EXPECT(io_uring_mlock_size(0, 0), -EINVAL);
	SAY(io_uring_mlock_size(40000, IORING_SETUP_CLAMP));
}

static void test_restrictions(void)
{
	struct io_uring_restriction res;
	struct io_uring ring;

	printf("-- restrictions\n");
	memset(&res, 0, sizeof(res));
	res.opcode = IORING_RESTRICTION_SQE_OP;
	res.sqe_op = IORING_OP_READ;
	MUST(io_uring_queue_init(4, &ring, IORING_SETUP_R_DISABLED));
	queue_nops(&ring, 1, 1);
	EXPECT(io_uring_submit(&ring), -EBADFD);
	EXPECT(io_uring_register_restrictions(&ring, &res, 1), 0);
	EXPECT(io_uring_register_restrictions(&ring, &res, 1), -EBUSY);
	EXPECT(io_uring_enable_rings(&ring), 0);
	SAY(io_uring_enable_rings(&ring)); /* no longer allowed */
	EXPECT(io_uring_submit(&ring), 1);
	EXPECT(drain(&ring), 1);
	io_uring_queue_exit(&ring);
}

static void test_ring_fd(void)
{
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	int fd;

	printf("-- ring fd\n");
	MUST(io_uring_queue_init(4, &ring, 0));
	EXPECT(io_uring_unregister_ring_fd(&ring), -EINVAL);
	EXPECT(io_uring_close_ring_fd(&ring), -EINVAL);
	EXPECT(io_uring_register_ring_fd(&ring), 1);
	EXPECT(io_uring_register_ring_fd(&ring), -EEXIST);
	fd = ring.ring_fd;
	EXPECT(io_uring_close_ring_fd(&ring), 1);
	EXPECT(io_uring_close_ring_fd(&ring), -EBADF);
	EXPECT(ring.ring_fd, -1);
	EXPECT(fcntl(fd, F_GETFD), -1);
	queue_nops(&ring, 2, 10);
	EXPECT(io_uring_submit(&ring), 2);
	EXPECT(__io_uring_get_cqe(&ring, &cqe, 0, 2, NULL), 0);
	EXPECT(drain(&ring), 2);
	EXPECT(io_uring_register_buffers_sparse(&ring, 4), 0);
	EXPECT(io_uring_unregister_buffers(&ring), 0);
	io_uring_queue_exit(&ring);
}

/* Rings in memory of the application, one behind the other. */
static void test_init_mem(void)
{
	size_t size = 1 << 16;
	struct io_uring rings[3];
	struct io_uring_params p;
	char *memory;
	size_t i;
	int ret;

	printf("-- init mem\n");
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	for (i = 0; i < 3; i++) {
		memset(&p, 0, sizeof(p));
		ret = io_uring_queue_init_mem(16, &rings[i], &p,
					      memory + i * 8192, size);
		say("io_uring_queue_init_mem", ret);
		if (ret < 0)
			continue;
		SAY((char *)rings[i].sq.sqes - memory);
		SAY((char *)rings[i].sq.ring_ptr - memory);
		SAY(rings[i].sq.sqes_sz + rings[i].sq.ring_sz +
		    rings[i].cq.ring_sz);
		queue_nops(&rings[i], 16, 20);
		EXPECT(io_uring_submit(&rings[i]), 16);
		EXPECT(drain(&rings[i]), 16);
		EXPECT(io_uring_resize_rings(&rings[i], &p), -EINVAL);
		io_uring_queue_exit(&rings[i]);
		memory[i * 8192] = 1; /* still ours */
	}
	memset(&p, 0, sizeof(p));
	EXPECT(io_uring_queue_init_mem(1024, &rings[0], &p, memory, size),
	       -ENOMEM);
	EXPECT(io_uring_queue_init_mem(0, &rings[0], &p, memory, size),
	       -EINVAL);
	munmap(memory, size);
}

/* The front's own memory, with and without huge pages, and no descriptor. */
static void test_no_mmap(void)
{
	static const unsigned int entries[] = { 1, 16, 64, 256, 32768 };
	struct io_uring_params p;
	struct io_uring ring;
	unsigned int i;
	int ret;

	printf("-- no mmap\n");
	for (i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		ret = io_uring_queue_init(entries[i], &ring,
					  IORING_SETUP_NO_MMAP);
		say("init", ret);
		if (ret)
			continue;
		SAY(ring.sq.sqes_sz);
		SAY(ring.sq.ring_sz);
		SAY(ring.cq.ring_sz);
		queue_nops(&ring, 1, 30);
		EXPECT(io_uring_submit(&ring), 1);
		EXPECT(drain(&ring), 1);
		SAY(io_uring_ring_dontfork(&ring));
		io_uring_queue_exit(&ring);
	}
	EXPECT(io_uring_queue_init(8, &ring, IORING_SETUP_REGISTERED_FD_ONLY),
	       -EINVAL);
	memset(&p, 0, sizeof(p));
	p.flags = IORING_SETUP_REGISTERED_FD_ONLY | IORING_SETUP_NO_MMAP;
	ret = io_uring_queue_init_params(8, &ring, &p);
	say("registered only", ret);
	if (ret)
		return;
	EXPECT(ring.ring_fd, -1);
	queue_nops(&ring, 8, 40);
	EXPECT(io_uring_submit(&ring), 8);
	EXPECT(drain(&ring), 8);
	EXPECT(io_uring_register_ring_fd(&ring), -EEXIST);
	EXPECT(io_uring_close_ring_fd(&ring), -EBADF);
	io_uring_queue_exit(&ring);
}

static void test_buf_ring(struct io_uring *ring)
{
	struct io_uring_buf_ring *br;
	uint16_t head = 99;
	int err = 99;

	printf("-- buffer ring\n");
	br = io_uring_setup_buf_ring(ring, 8, 3, 0, &err);
	EXPECT(err, 0);
	SAY(br != NULL);
	EXPECT(io_uring_setup_buf_ring(ring, 8, 3, 0, &err) == NULL, 1);
	EXPECT(err, -EEXIST);
	EXPECT(io_uring_setup_buf_ring(ring, 7, 4, 0, &err) == NULL, 1);
	EXPECT(err, -EINVAL);
	EXPECT(io_uring_setup_buf_ring(ring, 0, 4, 0, &err) == NULL, 1);
	EXPECT(err, -EINVAL);
	SAY(io_uring_setup_buf_ring(ring, 8, 4, 0x8000, &err) == NULL);
	SAY(err);
	SAY(io_uring_buf_ring_head(ring, 3, &head));
	SAY(head);
	SAY(io_uring_buf_ring_head(ring, 5, &head));
	EXPECT(io_uring_free_buf_ring(ring, br, 8, 5), -ENOENT);
	EXPECT(io_uring_free_buf_ring(ring, br, 8, 3), 0);
}

static void test_min_timeout(struct io_uring *ring)
{
	struct au_timespec ts = { .tv_nsec = 3000000 };
	struct io_uring_cqe *cqe;
	struct io_uring old;

	printf("-- min timeout\n");
	old = *ring;
	old.features = 0;
	EXPECT(io_uring_wait_cqes_min_timeout(&old, &cqe, 1, &ts, 10, NULL),
	       -EINVAL);
	EXPECT(io_uring_submit_and_wait_min_timeout(&old, &cqe, 1, &ts, 10,
						    NULL),
	       -EINVAL);
	EXPECT(io_uring_submit_and_wait_reg(&old, &cqe, 1, 0), -EINVAL);
	EXPECT(io_uring_set_iowait(&old, false), -EOPNOTSUPP);
	if (!(ring->features & IORING_FEAT_MIN_TIMEOUT))
		return;

	EXPECT(io_uring_wait_cqes_min_timeout(ring, &cqe, 1, &ts, 10, NULL),
	       -ETIME);
	EXPECT(cqe_data(cqe), -1);
	queue_nops(ring, 2, 50);
	SAY(io_uring_submit_and_wait_min_timeout(ring, &cqe, 4, &ts, 100,
						 NULL));
	SAY(cqe_data(cqe));
	SAY(io_uring_wait_cqes_min_timeout(ring, &cqe, 4, &ts, 100, NULL));
	SAY(cqe_data(cqe));
	SAY(io_uring_wait_cqes_min_timeout(ring, &cqe, 2, NULL, 100, NULL));
	drain(ring);
	queue_nops(ring, 2, 60);
	SAY(io_uring_submit_and_wait_min_timeout(ring, &cqe, 2, NULL, 100,
						 NULL));
	EXPECT(drain(ring), 2);
}

static void test_iowait(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;

	if (!(ring->features & IORING_FEAT_NO_IOWAIT))
		return;
	printf("-- iowait\n");
	EXPECT(io_uring_set_iowait(ring, false), 0);
	queue_nops(ring, 1, 70);
	EXPECT(io_uring_submit_and_wait(ring, 1), 1);
	EXPECT(__io_uring_get_cqe(ring, &cqe, 0, 1, NULL), 0);
	EXPECT(drain(ring), 1);
	EXPECT(io_uring_set_iowait(ring, true), 0);
}

static void test_clone(struct io_uring *ring)
{
	static char memory[2][4096];
	struct iovec iov[2] = { { memory[0], 4096 }, { memory[1], 4096 } };
	struct io_uring other;
	int registered;

	printf("-- clone\n");
	MUST(io_uring_queue_init(4, &other, 0));
	SAY(io_uring_clone_buffers(&other, ring));
	EXPECT(io_uring_register_buffers(ring, iov, 2), 0);
	for (registered = 0; registered < 2; registered++) {
		SAY(io_uring_clone_buffers(&other, ring));
		SAY(io_uring_clone_buffers(&other, ring));
		SAY(io_uring_unregister_buffers(&other));
		SAY(__io_uring_clone_buffers(&other, ring, 0));
		SAY(__io_uring_clone_buffers(&other, ring,
					     IORING_REGISTER_DST_REPLACE));
		SAY(io_uring_clone_buffers_offset(&other, ring, 1, 0, 2,
						  IORING_REGISTER_DST_REPLACE));
		SAY(io_uring_clone_buffers_offset(&other, ring, 0, 1, 4, 0));
		SAY(__io_uring_clone_buffers_offset(
			&other, ring, 0, 0, 1,
			IORING_REGISTER_SRC_REGISTERED |
				IORING_REGISTER_DST_REPLACE));
		SAY(__io_uring_clone_buffers(&other, ring, 1U << 9));
		SAY(io_uring_unregister_buffers(&other));
		if (!registered)
			EXPECT(io_uring_register_ring_fd(ring), 1);
	}
	EXPECT(io_uring_unregister_ring_fd(ring), 1);
	EXPECT(io_uring_unregister_buffers(ring), 0);
	io_uring_queue_exit(&other);
}

static void test_resize(void)
{
	static const unsigned int sizes[] = { 32, 4, 0, 128 };
	struct io_uring_params p;
	struct io_uring ring;
	unsigned int i;
	int ret;

	printf("-- resize\n");
	MUST(io_uring_queue_init(8, &ring, 0));
	memset(&p, 0, sizeof(p));
	p.sq_entries = 32;
	SAY(io_uring_resize_rings(&ring, &p));
	io_uring_queue_exit(&ring);

	ret = io_uring_queue_init(8, &ring,
				  IORING_SETUP_SINGLE_ISSUER |
					  IORING_SETUP_DEFER_TASKRUN);
	say("init", ret);
	if (ret)
		return;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		queue_nops(&ring, 2, 80);
		SAY(io_uring_submit(&ring));
		queue_nops(&ring, 1, 82); /* not yet submitted */
		memset(&p, 0, sizeof(p));
		p.sq_entries = sizes[i];
		p.cq_entries = 2 * sizes[i];
		p.flags = IORING_SETUP_CQSIZE;
		SAY(io_uring_resize_rings(&ring, &p));
		EXPECT(p.flags, 0);
		SAY(ring.sq.ring_entries);
		SAY(ring.cq.ring_entries);
		SAY(ring.sq.ring_sz);
		SAY(ring.sq.sqes_sz);
		SAY(ring.sq.sqe_tail - ring.sq.sqe_head);
		SAY(io_uring_submit(&ring));
		SAY(drain(&ring));
	}
	io_uring_queue_exit(&ring);
}

static void test_reg_wait(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct io_uring_mem_region_reg mr;
	struct io_uring_region_desc rd;
	struct io_uring_reg_wait *waits;
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	int ret;

	printf("-- registered wait\n");
	MUST(io_uring_queue_init(8, &ring, IORING_SETUP_R_DISABLED));
	waits = mmap(NULL, page, PROT_READ | PROT_WRITE,
		     MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
	memset(&rd, 0, sizeof(rd));
	memset(&mr, 0, sizeof(mr));
	rd.user_addr = (uintptr_t)waits;
	rd.size = page;
	rd.flags = IORING_MEM_REGION_TYPE_USER;
	mr.region_uptr = (uintptr_t)&rd;
	mr.flags = IORING_MEM_REGION_REG_WAIT_ARG;
	EXPECT(io_uring_register_wait_reg(&ring, waits, 1), -EINVAL);
	ret = io_uring_register_region(&ring, &mr);
	say("io_uring_register_region", ret);
	EXPECT(io_uring_enable_rings(&ring), 0);
	if (!ret) {
		waits[1].flags = IORING_REG_WAIT_TS;
		waits[1].ts.tv_nsec = 2000000;
		EXPECT(io_uring_submit_and_wait_reg(&ring, &cqe, 1, 1), -ETIME);
		EXPECT(cqe_data(cqe), -1);
		queue_nops(&ring, 2, 90);
		SAY(io_uring_submit_and_wait_reg(&ring, &cqe, 4, 1));
		SAY(cqe_data(cqe));
		SAY(io_uring_submit_and_wait_reg(&ring, &cqe, 2, 1));
		SAY(io_uring_submit_and_wait_reg(&ring, &cqe, 3, 4000));
		SAY(io_uring_submit_and_wait_reg(&ring, &cqe, 3, -1));
		EXPECT(drain(&ring), 2);
	}
	io_uring_queue_exit(&ring);
	munmap(waits, page);
}

/* 16-byte and 32-byte CQEs in one ring, across the wrap. */
static void test_mixed_cqes(void)
{
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	unsigned int i;
	int ret;

	printf("-- mixed CQEs\n");
	ret = io_uring_queue_init(8, &ring, IORING_SETUP_CQE_MIXED);
	say("init", ret);
	if (ret)
		return;
	for (i = 0; i < 40; i++) {
		struct io_uring_sqe *sqe;

		queue_nops(&ring, i % 3, 100 + 10 * i);
		sqe = next_sqe(&ring, IORING_OP_NOP, 105 + 10 * i);
		sqe->nop_flags = IORING_NOP_CQE32;
		queue_nops(&ring, i % 2, 107 + 10 * i);
		SAY(io_uring_submit(&ring));
		if (i % 4 == 3) {
			SAY(__io_uring_get_cqe(&ring, &cqe, 0, 1, NULL));
			SAY(cqe_data(cqe));
		}
		EXPECT(drain(&ring), i % 3 + 1 + i % 2);
	}
	io_uring_queue_exit(&ring);
}

struct query_hdr {
	uint64_t next_entry;
	uint64_t query_data;
	uint32_t query_op;
	uint32_t size;
	int32_t result;
	uint32_t resv[3];
};

/* Opcodes whose structures the front does not look at. */
static void test_pass_through(struct io_uring *ring)
{
	struct io_uring_clock_register clock;
	uint64_t zeros[64];
	struct query_hdr hdr;
	struct io_uring_napi napi;
	struct io_uring_sqe msg;

	printf("-- pass-through\n");
	memset(zeros, 0, sizeof(zeros));
	memset(&clock, 0, sizeof(clock));
	clock.clockid = 1;
	SAY(io_uring_register_clock(ring, &clock));
	clock.clockid = 77;
	SAY(io_uring_register_clock(ring, &clock));

	memset(&napi, 0, sizeof(napi));
	napi.busy_poll_to = 10;
	SAY(io_uring_register_napi(ring, &napi));
	memset(&napi, 0, sizeof(napi));
	SAY(io_uring_unregister_napi(ring, &napi));
	SAY(napi.busy_poll_to);

	memset(&msg, 0, sizeof(msg));
	msg.opcode = IORING_OP_MSG_RING;
	msg.fd = ring->ring_fd;
	msg.len = 5;
	msg.off = 777;
	SAY(io_uring_register_sync_msg(&msg));
	SAY(drain(ring));
	msg.opcode = IORING_OP_NOP;
	SAY(io_uring_register_sync_msg(&msg));

	memset(&hdr, 0, sizeof(hdr));
	hdr.query_data = (uintptr_t)zeros;
	hdr.size = sizeof(zeros);
	SAY(io_uring_register_query((struct io_uring_query_hdr *)&hdr));
	SAY(hdr.result);
	SAY(hdr.size);
	SAY(zeros[0]);
	memset(zeros, 0, sizeof(zeros));
	SAY(io_uring_register_ifq(ring, (struct io_uring_zcrx_ifq_reg *)zeros));
	SAY(io_uring_register_zcrx_ctrl(ring, (struct zcrx_ctrl *)zeros));
	SAY(io_uring_register_bpf_filter(ring, (struct io_uring_bpf *)zeros));
	SAY(io_uring_register_bpf_filter_task((struct io_uring_bpf *)zeros));
}

int main(void)
{
	struct io_uring ring;
	int ret;

	setvbuf(stdout, NULL, _IOLBF, 0);
	test_version();
	ret = io_uring_queue_init(8, &ring, 0);
	skip_without_ring(ret);
	MUST(ret);
	test_memory_size();
	test_restrictions();
	test_ring_fd();
	test_init_mem();
	test_no_mmap();
	test_buf_ring(&ring);
	test_min_timeout(&ring);
	test_iowait(&ring);
	test_clone(&ring);
	test_resize();
	test_reg_wait();
	test_mixed_cqes();
	test_pass_through(&ring);
	io_uring_queue_exit(&ring);
	return finish();
}
