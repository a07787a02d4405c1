/* SPDX-License-Identifier: MIT */
/*
 * Description: the front over a fake backend that records its calls: which
 * arguments reach anyuring_*, and what the front makes of scripted results.
 * Needs no io_uring; reaches what a kernel at hand may lack, or fails at will.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "abi/front.h"
#include "anyuring.h"

#define SQ_ENTRIES 8U
#define CQ_ENTRIES 16UL
#define FAKE_FD    41
#define FAKE_INDEX 5

/* The memory of a ring, laid out as this file likes. */
static struct {
	struct {
		unsigned int sq_head, sq_tail, sq_mask, sq_entries;
		unsigned int sq_flags, sq_dropped;
		unsigned int cq_head, cq_tail, cq_mask, cq_entries;
		unsigned int cq_overflow, cq_flags;
	} h;

	unsigned int array[SQ_ENTRIES];
	struct io_uring_cqe cqes[2 * CQ_ENTRIES];
	struct io_uring_sqe sqes[2 * SQ_ENTRIES];
} mem;

/* Scripted answers to, and records of, the calls. */
static struct {
	struct {
		unsigned int fd, submit, wait, flags;
		const void *arg;
		size_t argsz;
	} enter[8];

	int enter_result[8];
	unsigned int enter_posts[8]; /* CQEs that appear during the call */
	unsigned int enters;

	unsigned int reg_fd, reg_opcode, reg_nr;
	unsigned char reg_arg[64];
	int reg_result[4];
	unsigned int regs;

	int setup_result[2];
	unsigned int setup_flags[2];
	unsigned int setups;
	unsigned int features;
	long fail_mmap; /* offset of the region that cannot be mapped */
	int closed_fd;
} fake;

int anyuring_enter(unsigned int fd, unsigned int to_submit,
		   unsigned int min_complete, unsigned int flags,
		   const void *arg, size_t argsz)
{
	unsigned int n = fake.enters++;

	if (n >= 8)
		return -EIO;
	fake.enter[n].fd = fd;
	fake.enter[n].submit = to_submit;
	fake.enter[n].wait = min_complete;
	fake.enter[n].flags = flags;
	fake.enter[n].arg = arg;
	fake.enter[n].argsz = argsz;
	mem.h.cq_tail += fake.enter_posts[n];
	if (fake.enter_result[n] > 0)
		mem.h.sq_head += (unsigned int)fake.enter_result[n];
	return fake.enter_result[n];
}

int anyuring_register(unsigned int fd, unsigned int opcode, void *arg,
		      unsigned int nr_args)
{
	unsigned int n = fake.regs++;

	fake.reg_fd = fd;
	fake.reg_opcode = opcode;
	fake.reg_nr = nr_args;
	memset(fake.reg_arg, 0, sizeof(fake.reg_arg));
	switch (opcode & ~IORING_REGISTER_USE_REGISTERED_RING) {
	case IORING_REGISTER_RING_FDS:
		((struct io_uring_rsrc_update *)arg)->offset = FAKE_INDEX;
		break;
	case IORING_REGISTER_FILES2:
	case IORING_REGISTER_BUFFERS2:
	case IORING_REGISTER_FILES_UPDATE2:
	case IORING_REGISTER_BUFFERS_UPDATE:
	case IORING_REGISTER_CLONE_BUFFERS:
		memcpy(fake.reg_arg, arg, 32);
		break;
	}
	return n < 4 ? fake.reg_result[n] : 0;
}

int anyuring_setup(unsigned int entries, struct io_uring_params *p)
{
	unsigned int n = fake.setups++;

	if (n >= 2)
		return -EIO;
	fake.setup_flags[n] = p->flags;
	if (fake.setup_result[n] < 0)
		return fake.setup_result[n];

	p->sq_entries = SQ_ENTRIES;
	p->cq_entries = CQ_ENTRIES;
	p->features = fake.features;
#define AT(field) (uint32_t)(offsetof(__typeof__(mem), field))
	p->sq_off.head = AT(h.sq_head);
	p->sq_off.tail = AT(h.sq_tail);
	p->sq_off.ring_mask = AT(h.sq_mask);
	p->sq_off.ring_entries = AT(h.sq_entries);
	p->sq_off.flags = AT(h.sq_flags);
	p->sq_off.dropped = AT(h.sq_dropped);
	p->sq_off.array = AT(array);
	p->cq_off.head = AT(h.cq_head);
	p->cq_off.tail = AT(h.cq_tail);
	p->cq_off.ring_mask = AT(h.cq_mask);
	p->cq_off.ring_entries = AT(h.cq_entries);
	p->cq_off.overflow = AT(h.cq_overflow);
	p->cq_off.cqes = AT(cqes);
	p->cq_off.flags = AT(h.cq_flags);
	return FAKE_FD;
}

/* A mapping of its own, so that the front can really unmap it. */
void *anyuring_mmap(void *addr, size_t length, int prot, int flags, int fd,
		    off_t offset)
{
	char *p;

	if (fd != FAKE_FD || offset == fake.fail_mmap)
		return (void *)(intptr_t)-EAGAIN;
	p = mmap(NULL, length, prot, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
	if ((unsigned long)offset != IORING_OFF_SQES)
		memcpy(p, &mem,
		       length < sizeof(mem.h) ? length : sizeof(mem.h));
	return p;
}

int anyuring_munmap(void *addr, size_t length)
{
	return munmap(addr, length);
}

int anyuring_close(int fd)
{
	fake.closed_fd = fd;
	return 0;
}

static struct io_uring ring;

/* A ring in `mem`, as queue_init would have left it. */
static int fresh_ring(void **state)
{
	memset(&fake, 0, sizeof(fake));
	memset(&mem, 0, sizeof(mem));
	memset(&ring, 0, sizeof(ring));
	fake.fail_mmap = -1;
	mem.h.sq_mask = SQ_ENTRIES - 1;
	mem.h.sq_entries = SQ_ENTRIES;
	mem.h.cq_mask = CQ_ENTRIES - 1;
	mem.h.cq_entries = CQ_ENTRIES;

	ring.sq.khead = &mem.h.sq_head;
	ring.sq.ktail = &mem.h.sq_tail;
	ring.sq.kflags = &mem.h.sq_flags;
	ring.sq.sqes = mem.sqes;
	ring.sq.ring_mask = mem.h.sq_mask;
	ring.sq.ring_entries = mem.h.sq_entries;
	ring.cq.khead = &mem.h.cq_head;
	ring.cq.ktail = &mem.h.cq_tail;
	ring.cq.cqes = mem.cqes;
	ring.cq.ring_mask = mem.h.cq_mask;
	ring.cq.ring_entries = mem.h.cq_entries;
	ring.features = ~0U;
	ring.ring_fd = FAKE_FD;
	ring.enter_ring_fd = FAKE_FD;
	return 0;
}

static void get_sqes(unsigned int nr)
{
	while (nr--)
		assert_non_null(io_uring_get_sqe(&ring));
}

static void assert_entered(unsigned int n, unsigned int submit,
			   unsigned int wait, unsigned int flags)
{
	assert_int_equal(fake.enter[n].fd, ring.enter_ring_fd);
	assert_int_equal(fake.enter[n].submit, submit);
	assert_int_equal(fake.enter[n].wait, wait);
	assert_int_equal(fake.enter[n].flags, flags);
}

/* The SQ */

static void test_get_sqe_fills_and_wraps(void **state)
{
	struct io_uring_sqe *sqe;

	memset(mem.sqes, 0xff, sizeof(mem.sqes));
	get_sqes(SQ_ENTRIES);
	assert_null(io_uring_get_sqe(&ring));
	mem.h.sq_head = 1;
	sqe = io_uring_get_sqe(&ring);
	assert_ptr_equal(sqe, &mem.sqes[0]);
	assert_int_equal(sqe->flags, 0);
	assert_int_equal(sqe->ioprio, 0);
	assert_int_equal(sqe->rw_flags, 0);
	assert_int_equal(sqe->buf_index, 0);
	assert_int_equal(sqe->personality, 0);
	assert_int_equal(sqe->file_index, 0);
	assert_int_equal(sqe->addr3, 0);
	assert_int_equal(sqe->pad2[0], 0);
	assert_int_equal(sqe->opcode, 0xff); /* the caller's to fill in */
	assert_null(io_uring_get_sqe(&ring));

	fresh_ring(NULL);
	ring.flags = IORING_SETUP_SQE128;
	get_sqes(1);
	assert_ptr_equal(io_uring_get_sqe(&ring), &mem.sqes[2]);
}

static void test_submit_enters_once(void **state)
{
	get_sqes(3);
	fake.enter_result[0] = 2;
	assert_int_equal(io_uring_submit(&ring), 2);
	assert_int_equal(fake.enters, 1);
	assert_entered(0, 3, 0, 0);
	assert_int_equal(fake.enter[0].argsz, 8);
	assert_null(fake.enter[0].arg);
	assert_int_equal(mem.h.sq_tail, 3);

	/* What was left over goes along the next time. */
	get_sqes(1);
	fake.enter_result[1] = 2;
	assert_int_equal(io_uring_submit(&ring), 2);
	assert_entered(1, 2, 0, 0);

	assert_int_equal(io_uring_submit(&ring), 0);
	assert_int_equal(fake.enters, 2);
}

static void test_submit_passes_errors(void **state)
{
	get_sqes(1);
	fake.enter_result[0] = -EBUSY;
	assert_int_equal(io_uring_submit(&ring), -EBUSY);
}

static void test_submit_flags(void **state)
{
	io_uring_submit_and_wait(&ring, 4);
	assert_entered(0, 0, 4, IORING_ENTER_GETEVENTS);
	io_uring_submit_and_get_events(&ring);
	assert_entered(1, 0, 0, IORING_ENTER_GETEVENTS);
	mem.h.sq_flags = IORING_SQ_TASKRUN;
	io_uring_submit(&ring);
	assert_entered(2, 0, 0, IORING_ENTER_GETEVENTS);
	mem.h.sq_flags = IORING_SQ_CQ_OVERFLOW;
	io_uring_submit(&ring);
	assert_entered(3, 0, 0, IORING_ENTER_GETEVENTS);

	mem.h.sq_flags = 0;
	ring.int_flags = FRONT_CQ_ENTER;
	io_uring_submit(&ring);
	assert_entered(4, 0, 0, IORING_ENTER_GETEVENTS);

	ring.int_flags = FRONT_REG_RING | FRONT_REG_REG;
	ring.enter_ring_fd = FAKE_INDEX;
	assert_int_equal(io_uring_set_iowait(&ring, false), 0);
	io_uring_get_events(&ring);
	assert_entered(5, 0, 0,
		       IORING_ENTER_GETEVENTS | IORING_ENTER_REGISTERED_RING |
			       IORING_ENTER_NO_IOWAIT);
	assert_int_equal(io_uring_set_iowait(&ring, true), 0);
	__io_uring_sqring_wait(&ring);
	assert_entered(6, 0, 0,
		       IORING_ENTER_SQ_WAIT | IORING_ENTER_REGISTERED_RING);
}

static void test_sqpoll_enters_to_wake(void **state)
{
	ring.flags = IORING_SETUP_SQPOLL;
	get_sqes(2);
	assert_int_equal(io_uring_submit(&ring), 2);
	assert_int_equal(fake.enters, 0);
	assert_int_equal(mem.h.sq_tail, 2);

	mem.h.sq_flags = IORING_SQ_NEED_WAKEUP;
	fake.enter_result[0] = 2;
	assert_int_equal(io_uring_submit(&ring), 2);
	assert_entered(0, 2, 0, IORING_ENTER_SQ_WAKEUP);

	/* Nothing to submit: let it sleep. */
	assert_int_equal(io_uring_submit(&ring), 0);
	assert_int_equal(fake.enters, 1);
}

static void test_rewind_starts_over(void **state)
{
	ring.flags = IORING_SETUP_SQ_REWIND | IORING_SETUP_NO_SQARRAY;
	get_sqes(3);
	io_uring_submit(&ring);
	assert_entered(0, 3, 0, 0);
	assert_int_equal(mem.h.sq_tail, 0);
	assert_ptr_equal(io_uring_get_sqe(&ring), &mem.sqes[0]);
	assert_int_equal(ring.sq.sqe_head, 0);
}

/* Waiting */

static void test_wait_returns_count_submitted(void **state)
{
	struct io_uring_cqe *cqe;

	fake.enter_result[0] = 2;
	fake.enter_posts[0] = 1;
	assert_int_equal(__io_uring_get_cqe(&ring, &cqe, 2, 1, NULL), 2);
	assert_ptr_equal(cqe, &mem.cqes[0]);
	assert_entered(0, 2, 1, IORING_ENTER_GETEVENTS);

	/* One was there already: entered to submit, 0 returned. */
	fake.enter_result[1] = 2;
	assert_int_equal(__io_uring_get_cqe(&ring, &cqe, 2, 1, NULL), 0);
	assert_entered(1, 2, 1, 0);
	assert_non_null(cqe);
}

static void test_wait_count_hides_later_error(void **state)
{
	struct io_uring_cqe *cqe;

	fake.enter_result[0] = 3;
	fake.enter_result[1] = -EINTR;
	assert_int_equal(__io_uring_get_cqe(&ring, &cqe, 3, 1, NULL), 3);
	assert_null(cqe);
	assert_int_equal(fake.enters, 2);
	assert_entered(1, 0, 1, IORING_ENTER_GETEVENTS);

	fresh_ring(NULL);
	fake.enter_result[0] = -EINTR;
	assert_int_equal(__io_uring_get_cqe(&ring, &cqe, 0, 1, NULL), -EINTR);
}

static void test_peek_enters_at_most_once(void **state)
{
	struct io_uring_cqe *cqe;

	assert_int_equal(__io_uring_get_cqe(&ring, &cqe, 0, 0, NULL), -EAGAIN);
	assert_int_equal(fake.enters, 0);
	mem.h.sq_flags = IORING_SQ_TASKRUN;
	assert_int_equal(__io_uring_get_cqe(&ring, &cqe, 0, 0, NULL), -EAGAIN);
	assert_int_equal(fake.enters, 1);
	assert_entered(0, 0, 0, IORING_ENTER_GETEVENTS);
}

static void test_timed_wait_enters_once(void **state)
{
	struct au_timespec ts = { .tv_sec = 1 };
	const unsigned int ext = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;
	struct io_uring_cqe *cqe;
	sigset_t mask = { { 0 } };

	assert_int_equal(io_uring_wait_cqe_timeout(&ring, &cqe, &ts), -ETIME);
	assert_int_equal(fake.enters, 1);
	assert_entered(0, 0, 1, ext);
	assert_int_equal(fake.enter[0].argsz, 24);

	get_sqes(1);
	fake.enter_result[1] = 1;
	assert_int_equal(
		io_uring_submit_and_wait_timeout(&ring, &cqe, 2, &ts, NULL), 1);
	assert_int_equal(fake.enters, 2);
	assert_entered(1, 1, 2, ext);

	assert_int_equal(io_uring_submit_and_wait_reg(&ring, &cqe, 1, 3),
			 -ETIME);
	assert_entered(2, 0, 1, ext | IORING_ENTER_EXT_ARG_REG);
	assert_int_equal((uintptr_t)fake.enter[2].arg, 3 * 64);
	assert_int_equal(fake.enter[2].argsz, 64);

	/* Without a timeout the mask goes as it is, and waiting goes on. */
	fake.enter_posts[4] = 1;
	assert_int_equal(io_uring_wait_cqes(&ring, &cqe, 1, NULL, &mask), 0);
	assert_int_equal(fake.enters, 5);
	assert_entered(3, 0, 1, IORING_ENTER_GETEVENTS);
	assert_ptr_equal(fake.enter[3].arg, &mask);
	assert_int_equal(fake.enter[3].argsz, 8);
}

/* Padding is skipped, on its own or in front of a batch. */
static void test_skip_entries(void **state)
{
	struct io_uring_cqe *cqes[4], *cqe;

	ring.flags = IORING_SETUP_CQE_MIXED;
	mem.cqes[0].flags = IORING_CQE_F_SKIP;
	mem.cqes[1].flags = IORING_CQE_F_32;
	mem.cqes[4].flags = IORING_CQE_F_SKIP;
	mem.h.cq_tail = 6;
	assert_int_equal(io_uring_peek_batch_cqe(&ring, cqes, 4), 2);
	assert_int_equal(mem.h.cq_head, 1);
	assert_ptr_equal(cqes[0], &mem.cqes[1]);
	assert_ptr_equal(cqes[1], &mem.cqes[3]);

	mem.h.cq_head = 4;
	assert_int_equal(__io_uring_get_cqe(&ring, &cqe, 0, 1, NULL), 0);
	assert_ptr_equal(cqe, &mem.cqes[5]);
	assert_int_equal(mem.h.cq_head, 5);
	assert_int_equal(fake.enters, 0);
}

static void test_batch_wraps(void **state)
{
	struct io_uring_cqe *cqes[4];

	ring.flags = IORING_SETUP_CQE32;
	mem.h.cq_head = CQ_ENTRIES - 1;
	mem.h.cq_tail = CQ_ENTRIES + 5;
	assert_int_equal(io_uring_peek_batch_cqe(&ring, cqes, 4), 4);
	assert_ptr_equal(cqes[0], &mem.cqes[2 * (CQ_ENTRIES - 1)]);
	assert_ptr_equal(cqes[1], &mem.cqes[0]);
	assert_ptr_equal(cqes[3], &mem.cqes[4]);
	assert_int_equal(mem.h.cq_head, CQ_ENTRIES - 1);
}

static void test_batch_flushes_overflow(void **state)
{
	struct io_uring_cqe *cqes[4];

	mem.h.sq_flags = IORING_SQ_CQ_OVERFLOW;
	fake.enter_posts[0] = 2;
	assert_int_equal(io_uring_peek_batch_cqe(&ring, cqes, 4), 2);
	assert_entered(0, 0, 0, IORING_ENTER_GETEVENTS);
	assert_int_equal(io_uring_peek_batch_cqe(&ring, cqes, 4), 2);
	assert_int_equal(fake.enters, 1);
}

/* Registration: opcode and count, by descriptor and by index */

#define ASSERT_REGISTERS(call, op, nr)                                        \
	do {                                                                  \
		ring.int_flags = 0;                                           \
		(void)(call);                                                 \
		assert_int_equal(fake.reg_fd, FAKE_FD);                       \
		assert_int_equal(fake.reg_opcode, (op));                      \
		assert_int_equal(fake.reg_nr, (nr));                          \
		ring.int_flags = FRONT_REG_RING | FRONT_REG_REG;              \
		ring.enter_ring_fd = FAKE_INDEX;                              \
		(void)(call);                                                 \
		assert_int_equal(fake.reg_fd, FAKE_INDEX);                    \
		assert_int_equal(fake.reg_opcode,                             \
				 (op) | IORING_REGISTER_USE_REGISTERED_RING); \
		assert_int_equal(fake.reg_nr, (nr));                          \
	} while (0)

static void test_register_opcodes(void **state)
{
	struct io_uring *r = &ring;
	struct io_uring_buf_reg buf_reg = { .bgid = 1 };
	int fds[3] = { 0, 1, 2 };
	struct iovec iov[3] = { { 0 } };
	uint64_t tags[3] = { 0 };
	uint16_t head = 0;
	cpu_set_t cpus = { { 0 } };

	ASSERT_REGISTERS(io_uring_register_buffers(r, iov, 3), 0, 3);
	ASSERT_REGISTERS(io_uring_unregister_buffers(r), 1, 0);
	ASSERT_REGISTERS(io_uring_register_files(r, fds, 3), 2, 3);
	ASSERT_REGISTERS(io_uring_unregister_files(r), 3, 0);
	ASSERT_REGISTERS(io_uring_register_eventfd(r, 1), 4, 1);
	ASSERT_REGISTERS(io_uring_unregister_eventfd(r), 5, 0);
	ASSERT_REGISTERS(io_uring_register_files_update(r, 2, fds, 3), 6, 3);
	ASSERT_REGISTERS(io_uring_register_eventfd_async(r, 1), 7, 1);
	ASSERT_REGISTERS(io_uring_register_probe(r, NULL, 9), 8, 9);
	ASSERT_REGISTERS(io_uring_register_personality(r), 9, 0);
	ASSERT_REGISTERS(io_uring_unregister_personality(r, 7), 10, 7);
	ASSERT_REGISTERS(io_uring_register_restrictions(r, NULL, 2), 11, 2);
	ASSERT_REGISTERS(io_uring_enable_rings(r), 12, 0);
	ASSERT_REGISTERS(io_uring_register_files_tags(r, fds, tags, 3), 13, 32);
	ASSERT_REGISTERS(io_uring_register_files_sparse(r, 3), 13, 32);
	ASSERT_REGISTERS(io_uring_register_files_update_tag(r, 1, fds, tags, 3),
			 14, 32);
	ASSERT_REGISTERS(io_uring_register_buffers_tags(r, iov, tags, 3), 15,
			 32);
	ASSERT_REGISTERS(io_uring_register_buffers_sparse(r, 3), 15, 32);
	ASSERT_REGISTERS(io_uring_register_buffers_update_tag(r, 1, iov, tags,
							      3),
			 16, 32);
	ASSERT_REGISTERS(io_uring_register_iowq_aff(r, 128, &cpus), 17, 128);
	ASSERT_REGISTERS(io_uring_unregister_iowq_aff(r), 18, 0);
	ASSERT_REGISTERS(io_uring_register_iowq_max_workers(r, NULL), 19, 2);
	ASSERT_REGISTERS(io_uring_register_buf_ring(r, &buf_reg, 2), 22, 1);
	ASSERT_REGISTERS(io_uring_unregister_buf_ring(r, 3), 23, 1);
	ASSERT_REGISTERS(io_uring_register_sync_cancel(r, NULL), 24, 1);
	ASSERT_REGISTERS(io_uring_register_file_alloc_range(r, 1, 2), 25, 0);
	ASSERT_REGISTERS(io_uring_buf_ring_head(r, 3, &head), 26, 1);
	ASSERT_REGISTERS(io_uring_register_napi(r, NULL), 27, 1);
	ASSERT_REGISTERS(io_uring_unregister_napi(r, NULL), 28, 1);
	ASSERT_REGISTERS(io_uring_register_clock(r, NULL), 29, 0);
	ASSERT_REGISTERS(io_uring_clone_buffers(r, r), 30, 1);
	ASSERT_REGISTERS(io_uring_register_ifq(r, NULL), 32, 1);
	ASSERT_REGISTERS(io_uring_register_region(r, NULL), 34, 1);
	ASSERT_REGISTERS(io_uring_register_zcrx_ctrl(r, NULL), 36, 0);
	ASSERT_REGISTERS(io_uring_register_bpf_filter(r, NULL), 37, 1);
	assert_int_equal(buf_reg.flags, 2);
}

static void test_register_without_ring(void **state)
{
	io_uring_register_sync_msg(NULL);
	assert_int_equal(fake.reg_fd, -1U);
	assert_int_equal(fake.reg_opcode, 31);
	assert_int_equal(fake.reg_nr, 1);
	io_uring_register_query(NULL);
	assert_int_equal(fake.reg_fd, -1U);
	assert_int_equal(fake.reg_opcode, 35);
	assert_int_equal(fake.reg_nr, 0);
	io_uring_register_bpf_filter_task(NULL);
	assert_int_equal(fake.reg_fd, -1U);
	assert_int_equal(fake.reg_opcode, 37);
	assert_int_equal(fake.reg_nr, 1);
}

static void test_register_structures(void **state)
{
	struct io_uring_rsrc_register *reg = (void *)fake.reg_arg;
	struct io_uring_rsrc_update2 *up = (void *)fake.reg_arg;
	struct io_uring_clone_buffers *clone = (void *)fake.reg_arg;
	struct io_uring src = ring;
	uint64_t tags[2] = { 0 };
	int fds[2] = { 0 };

	io_uring_register_files_tags(&ring, fds, tags, 2);
	assert_int_equal(reg->nr, 2);
	assert_int_equal(reg->flags, 0);
	assert_int_equal(reg->data, (uintptr_t)fds);
	assert_int_equal(reg->tags, (uintptr_t)tags);
	io_uring_register_buffers_sparse(&ring, 6);
	assert_int_equal(reg->nr, 6);
	assert_int_equal(reg->flags, IORING_RSRC_REGISTER_SPARSE);
	assert_int_equal(reg->data, 0);
	io_uring_register_files_update_tag(&ring, 4, fds, tags, 2);
	assert_int_equal(up->offset, 4);
	assert_int_equal(up->nr, 2);
	assert_int_equal(up->data, (uintptr_t)fds);
	assert_int_equal(up->tags, (uintptr_t)tags);

	src.ring_fd = 50;
	src.enter_ring_fd = 2;
	io_uring_clone_buffers_offset(&ring, &src, 7, 8, 9, 2);
	assert_int_equal(clone->src_fd, 50);
	assert_int_equal(clone->flags, 2);
	assert_int_equal(clone->dst_off, 7);
	assert_int_equal(clone->src_off, 8);
	assert_int_equal(clone->nr, 9);
	src.int_flags = FRONT_REG_RING | FRONT_REG_REG;
	io_uring_clone_buffers_offset(&ring, &src, 7, 8, 9, 2);
	assert_int_equal(clone->src_fd, 2);
	assert_int_equal(clone->flags, 3);
	__io_uring_clone_buffers(&ring, &src, 2);
	assert_int_equal(clone->src_fd, 50);
	assert_int_equal(clone->flags, 2);
}

static void test_register_files_retries_once(void **state)
{
	struct rlimit before, after;

	getrlimit(RLIMIT_NOFILE, &before);
	fake.reg_result[0] = -EMFILE;
	fake.reg_result[1] = -EMFILE;
	assert_int_equal(io_uring_register_files(&ring, NULL, 4), -EMFILE);
	assert_int_equal(fake.regs, 2);
	getrlimit(RLIMIT_NOFILE, &after);
	assert_int_equal(before.rlim_cur, after.rlim_cur);

	fake.regs = 0;
	fake.reg_result[1] = 0;
	assert_int_equal(io_uring_register_files_sparse(&ring, 4), 0);
	assert_int_equal(fake.regs, 2);
	fake.regs = 0;
	fake.reg_result[0] = -EBADF;
	assert_int_equal(io_uring_register_files(&ring, NULL, 4), -EBADF);
	assert_int_equal(fake.regs, 1);
}

static void test_ring_fd_states(void **state)
{
	fake.reg_result[0] = 1;
	fake.reg_result[1] = 1;
	assert_int_equal(io_uring_close_ring_fd(&ring), -EINVAL);
	assert_int_equal(io_uring_unregister_ring_fd(&ring), -EINVAL);
	assert_int_equal(io_uring_register_ring_fd(&ring), 1);
	assert_int_equal(fake.reg_opcode, IORING_REGISTER_RING_FDS);
	assert_int_equal(ring.enter_ring_fd, FAKE_INDEX);
	assert_int_equal(io_uring_register_ring_fd(&ring), -EEXIST);
	assert_int_equal(io_uring_close_ring_fd(&ring), 1);
	assert_int_equal(fake.closed_fd, FAKE_FD);
	assert_int_equal(io_uring_close_ring_fd(&ring), -EBADF);
	assert_int_equal(io_uring_unregister_ring_fd(&ring), 1);
	assert_int_equal(fake.reg_fd, FAKE_INDEX);
	assert_int_equal(fake.regs, 2);
	assert_int_equal(ring.int_flags, 0);

	ring.features = 0;
	assert_int_equal(io_uring_close_ring_fd(&ring), -EOPNOTSUPP);
}

/* Setup */

static void test_init_without_sq_array(void **state)
{
	fake.features = IORING_FEAT_SINGLE_MMAP;
	assert_int_equal(io_uring_queue_init(8, &ring, 0), 0);
	assert_int_equal(fake.setups, 1);
	assert_int_equal(fake.setup_flags[0], IORING_SETUP_NO_SQARRAY);
	assert_int_equal(ring.flags, IORING_SETUP_NO_SQARRAY);
	assert_null(ring.sq.array);
	assert_ptr_equal(ring.sq.ring_ptr, ring.cq.ring_ptr);
	assert_int_equal(ring.sq.ring_sz, ring.cq.ring_sz);
	assert_int_equal(ring.sq.sqes_sz, SQ_ENTRIES * 64);
	assert_int_equal(ring.sq.ring_entries, SQ_ENTRIES);
	assert_int_equal(ring.cq.ring_mask, CQ_ENTRIES - 1);
	assert_int_equal(ring.ring_fd, FAKE_FD);
	io_uring_queue_exit(&ring);
	assert_int_equal(fake.closed_fd, FAKE_FD);
}

static void test_init_falls_back_to_sq_array(void **state)
{
	unsigned int i;

	fake.setup_result[0] = -EINVAL;
	assert_int_equal(io_uring_queue_init(8, &ring, IORING_SETUP_IOPOLL), 0);
	assert_int_equal(fake.setups, 2);
	assert_int_equal(fake.setup_flags[1], IORING_SETUP_IOPOLL);
	assert_ptr_not_equal(ring.sq.ring_ptr, ring.cq.ring_ptr);
	for (i = 0; i < SQ_ENTRIES; i++)
		assert_int_equal(ring.sq.array[i], i);
	assert_int_equal(ring.int_flags, FRONT_CQ_ENTER);
	io_uring_queue_exit(&ring);
}

static void test_init_errors(void **state)
{
	static const long regions[] = {
		(long)IORING_OFF_SQ_RING,
		(long)IORING_OFF_CQ_RING,
		(long)IORING_OFF_SQES,
	};
	unsigned int i;

	fake.setup_result[0] = -EINVAL;
	assert_int_equal(io_uring_queue_init(8, &ring, IORING_SETUP_NO_SQARRAY),
			 -EINVAL);
	assert_int_equal(fake.setups, 1);

	fresh_ring(NULL);
	fake.setup_result[0] = -EPERM;
	assert_int_equal(io_uring_queue_init(8, &ring, 0), -EPERM);
	assert_int_equal(fake.setups, 1);

	for (i = 0; i < 3; i++) {
		fresh_ring(NULL);
		fake.fail_mmap = regions[i];
		assert_int_equal(io_uring_queue_init(8, &ring, 0), -EAGAIN);
		assert_int_equal(fake.closed_fd, FAKE_FD);
	}
}

static void test_mlock_size_of_an_old_server(void **state)
{
	assert_int_equal(io_uring_mlock_size(1, 0), 8192);
	fresh_ring(NULL);
	fake.setup_result[0] = -ENOMEM;
	assert_int_equal(io_uring_mlock_size(1, 0), 8192);
	fresh_ring(NULL);
	fake.features = IORING_FEAT_NATIVE_WORKERS;
	assert_int_equal(io_uring_mlock_size(1, 0), 0);
}

#define UNIT(test) cmocka_unit_test_setup(test, fresh_ring)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(test_get_sqe_fills_and_wraps),
		UNIT(test_submit_enters_once),
		UNIT(test_submit_passes_errors),
		UNIT(test_submit_flags),
		UNIT(test_sqpoll_enters_to_wake),
		UNIT(test_rewind_starts_over),
		UNIT(test_wait_returns_count_submitted),
		UNIT(test_wait_count_hides_later_error),
		UNIT(test_peek_enters_at_most_once),
		UNIT(test_timed_wait_enters_once),
		UNIT(test_skip_entries),
		UNIT(test_batch_wraps),
		UNIT(test_batch_flushes_overflow),
		UNIT(test_register_opcodes),
		UNIT(test_register_without_ring),
		UNIT(test_register_structures),
		UNIT(test_register_files_retries_once),
		UNIT(test_ring_fd_states),
		UNIT(test_init_without_sq_array),
		UNIT(test_init_falls_back_to_sq_array),
		UNIT(test_init_errors),
		UNIT(test_mlock_size_of_an_old_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
