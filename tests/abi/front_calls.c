/* SPDX-License-Identifier: MIT */
/*
 * Description: a program as users build them, against liburing 2.3, that calls
 * every function this version exports and prints what came back.
 *
 * It is run with the system's liburing.so.2 and with the front over the same
 * kernel (same_output.sh); a line that differs is a bug of the front. So it
 * prints no addresses, no descriptors, and nothing that liburing is free to
 * change between releases, such as the ring flags that it adds by itself; nor
 * does it go where 2.3 had bugs (the newest is what the front follows; see
 * front_new.c for what came after 2.3).
 * Exits with 77 where the kernel has no io_uring, 1 where a result is wrong
 * whatever the library.
 */
#include <dlfcn.h>
#include <liburing.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "front_test.h"

static struct io_uring_sqe *next_sqe(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe)
		MUST(-EAGAIN);
	return sqe;
}

static void queue_nops(struct io_uring *ring, unsigned int nr, __u64 first)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

		if (!sqe) {
			say("sq full after", i);
			return;
		}
		io_uring_prep_nop(sqe);
		sqe->user_data = first + i;
	}
}

/* Print and consume what is there. */
static void drain(struct io_uring *ring)
{
	struct io_uring_cqe *cqes[64];
	unsigned int nr, i;

	while ((nr = io_uring_peek_batch_cqe(ring, cqes, 64))) {
		say("batch", nr);
		for (i = 0; i < nr; i++)
			printf("  cqe %llu res %d flags %#x\n",
			       (unsigned long long)cqes[i]->user_data,
			       cqes[i]->res, cqes[i]->flags);
		io_uring_cq_advance(ring, nr);
	}
}

static void cursors(const struct io_uring *ring)
{
	printf("sq head %u tail %u khead %u ktail %u; cq khead %u ktail %u\n",
	       ring->sq.sqe_head, ring->sq.sqe_tail, *ring->sq.khead,
	       *ring->sq.ktail, *ring->cq.khead, *ring->cq.ktail);
}

static void try_setup(unsigned int entries, unsigned int flags)
{
	struct io_uring_params p = { .flags = flags, .cq_entries = 16 };
	struct io_uring ring;
	int ret;

	ret = io_uring_queue_init_params(entries, &ring, &p);
	printf("init %u flags %#x: %d\n", entries, flags, ret);
	if (!ret) {
		printf("sq %u mask %u cq %u mask %u features %#x\n",
		       ring.sq.ring_entries, ring.sq.ring_mask,
		       ring.cq.ring_entries, ring.cq.ring_mask, ring.features);
		SAY(*ring.sq.kring_entries == ring.sq.ring_entries);
		SAY(*ring.cq.kring_entries == ring.cq.ring_entries);
		queue_nops(&ring, 3, 7);
		SAY(io_uring_submit(&ring));
		drain(&ring);
		EXPECT(io_uring_ring_dontfork(&ring), 0);
		io_uring_queue_exit(&ring);
	}
	/* 2.3 leaves the SQ array out of a clamped size. */
	if (entries <= 32768) {
		SAY(io_uring_mlock_size(entries, flags));
		SAY(io_uring_mlock_size_params(entries, &p));
	}
}

static void test_setup(void)
{
	static const unsigned int flags[] = {
		0,
		IORING_SETUP_CLAMP,
		IORING_SETUP_SQE128,
		IORING_SETUP_CQE32,
		IORING_SETUP_SQE128 | IORING_SETUP_CQE32,
		IORING_SETUP_CQSIZE,
		IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_IOPOLL,
		IORING_SETUP_SQ_AFF,
		1U << 31,
	};
	static const unsigned int entries[] = { 0, 1, 3, 8, 4096, 40000 };
	struct io_uring ring;
	unsigned int f, e;

	for (f = 0; f < sizeof(flags) / sizeof(flags[0]); f++)
		for (e = 0; e < sizeof(entries) / sizeof(entries[0]); e++)
			try_setup(entries[e], flags[f]);

	memset(&ring, 0, sizeof(ring));
	EXPECT(io_uring_ring_dontfork(&ring), -EINVAL);
}

/* The pieces: setup(2) by hand, queue_mmap, the bare calls. */
static void test_bare_calls(void)
{
	struct io_uring_params p;
	struct io_uring ring;
	int fd;

	memset(&p, 0, sizeof(p));
	fd = io_uring_setup(4, &p);
	MUST(fd);
	EXPECT(io_uring_queue_mmap(fd, &p, &ring), 0);
	SAY(ring.ring_fd == fd && ring.enter_ring_fd == fd);
	SAY(ring.flags);
	ring.sq.array[0] = 0;
	queue_nops(&ring, 1, 11);
	SAY(io_uring_submit(&ring));
	drain(&ring);
	EXPECT(io_uring_enter(fd, 0, 0, IORING_ENTER_GETEVENTS, NULL), 0);
	EXPECT(io_uring_enter2(fd, 0, 0, 0, NULL, 0), 0);
	EXPECT(io_uring_enter2(fd, 0, 0, 1U << 30, NULL, 0), -EINVAL);
	EXPECT(io_uring_enter(-1, 0, 0, 0, NULL), -EBADF);
	EXPECT(io_uring_enter(0, 1, 0, 0, NULL), -EOPNOTSUPP);
	EXPECT(io_uring_register(fd, 250, NULL, 0), -EINVAL);
	SAY(io_uring_register(-1, IORING_REGISTER_PROBE, NULL, 0));
	EXPECT(io_uring_setup(0, &p), -EINVAL);
	EXPECT(io_uring_queue_mmap(-1, &p, &ring), -EBADF);
	io_uring_queue_mmap(fd, &p, &ring);
	io_uring_queue_exit(&ring);
}

static void test_submit(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;

	printf("-- submit\n");
	EXPECT(io_uring_submit(ring), 0);
	EXPECT(io_uring_submit_and_wait(ring, 0), 0);
	EXPECT(io_uring_submit_and_get_events(ring), 0);
	EXPECT(io_uring_get_events(ring), 0);
	EXPECT(io_uring_peek_cqe(ring, &cqe), -EAGAIN);
	SAY(cqe == NULL);

	queue_nops(ring, 20, 100);
	cursors(ring);
	EXPECT(io_uring_submit(ring), 8);
	cursors(ring);
	drain(ring);

	queue_nops(ring, 3, 200);
	EXPECT(io_uring_submit_and_wait(ring, 2), 3);
	drain(ring);
	queue_nops(ring, 2, 300);
	EXPECT(io_uring_submit_and_get_events(ring), 2);
	EXPECT(io_uring_wait_cqe_nr(ring, &cqe, 2), 0);
	SAY(cqe->user_data);
	drain(ring);

	/* The first entry fails, which ends the batch early. */
	queue_nops(ring, 1, 400);
	next_sqe(ring)->opcode = 255;
	queue_nops(ring, 2, 401);
	SAY(io_uring_submit(ring));
	cursors(ring);
	SAY(io_uring_submit(ring));
	cursors(ring);
	drain(ring);
	EXPECT(io_uring_sqring_wait(ring), 0);
	SAY(__io_uring_sqring_wait(ring));
}

typedef struct io_uring_sqe *(*get_sqe_fn)(struct io_uring *ring);

/* Programs built before 2.2 call what has been inlined since. */
static void test_old_get_sqe(struct io_uring *ring)
{
	get_sqe_fn get_sqe =
		(get_sqe_fn)dlsym(RTLD_DEFAULT, "io_uring_get_sqe");
	struct io_uring_sqe *sqe;
	unsigned int nr = 0;

	printf("-- old get_sqe\n");
	if (!get_sqe)
		MUST(-ENOENT);
	while ((sqe = get_sqe(ring))) {
		io_uring_prep_nop(sqe);
		sqe->user_data = 450 + nr++;
	}
	EXPECT(nr, 8);
	EXPECT(io_uring_submit(ring), 8);
	drain(ring);
}

static void test_wait(struct io_uring *ring)
{
	struct __kernel_timespec ts = { .tv_nsec = 2000000 };
	struct io_uring_cqe *cqe = NULL;
	sigset_t mask;

	printf("-- wait\n");
	sigemptyset(&mask);
	EXPECT(io_uring_wait_cqe_timeout(ring, &cqe, &ts), -ETIME);
	SAY(cqe == NULL);
	EXPECT(io_uring_wait_cqes(ring, &cqe, 1, &ts, NULL), -ETIME);
	EXPECT(io_uring_wait_cqes(ring, &cqe, 1, &ts, &mask), -ETIME);
	EXPECT(io_uring_submit_and_wait_timeout(ring, &cqe, 1, &ts, NULL),
	       -ETIME);

	queue_nops(ring, 2, 500);
	SAY(io_uring_submit_and_wait_timeout(ring, &cqe, 1, &ts, NULL));
	SAY(cqe ? (long)cqe->user_data : -1);
	SAY(io_uring_wait_cqes(ring, &cqe, 2, &ts, NULL));
	SAY(io_uring_wait_cqe_timeout(ring, &cqe, &ts));
	SAY(io_uring_wait_cqes(ring, &cqe, 1, NULL, &mask));
	SAY(io_uring_wait_cqe_timeout(ring, &cqe, NULL));
	SAY(io_uring_wait_cqes(ring, &cqe, 3, &ts, NULL));
	SAY(cqe ? (long)cqe->user_data : -1);
	queue_nops(ring, 1, 510);
	SAY(io_uring_submit_and_wait_timeout(ring, &cqe, 1, &ts, NULL));
	drain(ring);

	queue_nops(ring, 2, 520);
	SAY(io_uring_submit_and_wait_timeout(ring, &cqe, 1, NULL, &mask));
	SAY(cqe ? (long)cqe->user_data : -1);
	drain(ring);
	queue_nops(ring, 1, 530);
	SAY(io_uring_submit_and_wait_timeout(ring, &cqe, 4, &ts, NULL));
	SAY(cqe ? (long)cqe->user_data : -1);
	drain(ring);

	queue_nops(ring, 1, 540);
	SAY(io_uring_submit(ring));
	SAY(__io_uring_get_cqe(ring, &cqe, 0, 1, NULL));
	SAY(cqe ? (long)cqe->user_data : -1);
	drain(ring);
	EXPECT(__io_uring_get_cqe(ring, &cqe, 0, 0, NULL), -EAGAIN);
}

/* More completions than the CQ holds: the rest comes with the next peek. */
static void test_overflow(void)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_CQSIZE,
		.cq_entries = 8,
	};
	struct io_uring_cqe *cqes[4];
	struct io_uring ring;
	int i;

	printf("-- overflow\n");
	MUST(io_uring_queue_init_params(8, &ring, &p));
	for (i = 0; i < 3; i++) {
		queue_nops(&ring, 8, 600 + 10 * i);
		SAY(io_uring_submit(&ring));
	}
	SAY(io_uring_cq_has_overflow(&ring));
	SAY(io_uring_peek_batch_cqe(&ring, cqes, 4));
	io_uring_cq_advance(&ring, 4);
	drain(&ring);
	SAY(io_uring_cq_has_overflow(&ring));
	cursors(&ring);
	io_uring_queue_exit(&ring);
}

static void test_sqpoll(void)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_SQPOLL,
		.sq_thread_idle = 20,
	};
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	int i, ret;

	printf("-- sqpoll\n");
	ret = io_uring_queue_init_params(4, &ring, &p);
	say("init", ret);
	if (ret)
		return;
	for (i = 0; i < 3; i++) {
		struct io_uring_sqe *sqe = next_sqe(&ring);

		io_uring_prep_nop(sqe);
		sqe->user_data = 700 + i;
		SAY(io_uring_submit(&ring));
		SAY(io_uring_wait_cqe(&ring, &cqe));
		SAY(cqe->user_data);
		io_uring_cqe_seen(&ring, cqe);
		usleep(60000); /* the thread falls asleep */
	}
	SAY(__io_uring_sqring_wait(&ring));
	SAY(io_uring_sqring_wait(&ring));
	io_uring_queue_exit(&ring);
}

static void test_sizes(void)
{
	struct io_uring ring;

	printf("-- big entries\n");
	MUST(io_uring_queue_init(8, &ring,
				 IORING_SETUP_SQE128 | IORING_SETUP_CQE32));
	queue_nops(&ring, 8, 800);
	SAY((char *)io_uring_get_sqe(&ring) == NULL);
	SAY(io_uring_submit(&ring));
	drain(&ring);
	queue_nops(&ring, 5, 810);
	SAY((char *)io_uring_get_sqe(&ring) - (char *)ring.sq.sqes);
	io_uring_queue_exit(&ring);
}

static void test_probe(struct io_uring *ring)
{
	struct io_uring_probe *own = io_uring_get_probe();
	struct io_uring_probe *probe = io_uring_get_probe_ring(ring);

	printf("-- probe\n");
	SAY(own && probe);
	if (!own || !probe)
		return;
	SAY(probe->last_op == own->last_op);
	SAY(probe->last_op);
	SAY(probe->ops_len);
	SAY(io_uring_opcode_supported(probe, IORING_OP_READV));
	SAY(memcmp(own, probe,
		   sizeof(*own) + 256 * sizeof(struct io_uring_probe_op)));
	memset(probe, 0, sizeof(*probe));
	SAY(io_uring_register_probe(ring, probe, 4));
	SAY(probe->ops_len);
	SAY(io_uring_register_probe(ring, probe, 4));
	SAY(io_uring_register_probe(ring, NULL, 4));
	io_uring_free_probe(own);
	io_uring_free_probe(probe);
}

static void test_buffers(struct io_uring *ring)
{
	static char memory[4][4096];
	struct iovec iov[4];
	__u64 tags[4] = { 0, 901, 902, 0 };
	int i;

	printf("-- buffers\n");
	for (i = 0; i < 4; i++) {
		iov[i].iov_base = memory[i];
		iov[i].iov_len = sizeof(memory[i]);
	}
	EXPECT(io_uring_unregister_buffers(ring), -ENXIO);
	EXPECT(io_uring_register_buffers(ring, iov, 4), 0);
	EXPECT(io_uring_register_buffers(ring, iov, 4), -EBUSY);
	EXPECT(io_uring_unregister_buffers(ring), 0);
	SAY(io_uring_register_buffers(ring, NULL, 0));
	EXPECT(io_uring_register_buffers_sparse(ring, 4), 0);
	SAY(io_uring_register_buffers_update_tag(ring, 1, iov, tags, 3));
	SAY(io_uring_register_buffers_update_tag(ring, 3, iov, tags, 3));
	SAY(io_uring_register_buffers_update_tag(ring, 1, iov, NULL, 2));
	drain(ring);
	EXPECT(io_uring_unregister_buffers(ring), 0);
	EXPECT(io_uring_register_buffers_tags(ring, iov, tags, 4), 0);
	EXPECT(io_uring_unregister_buffers(ring), 0);
	drain(ring);
	SAY(io_uring_register_buffers_tags(ring, iov, NULL, 0));
}

static void test_files(struct io_uring *ring)
{
	struct rlimit before, low, after;
	int files[4] = { 0, 1, -1, 1 };
	__u64 tags[4] = { 911, 912, 0, 914 };
	int minus[2] = { -1, -1 };

	printf("-- files\n");
	EXPECT(io_uring_unregister_files(ring), -ENXIO);
	EXPECT(io_uring_register_files(ring, files, 4), 0);
	EXPECT(io_uring_register_files_update(ring, 0, minus, 2), 2);
	SAY(io_uring_register_files_update(ring, 3, minus, 2));
	SAY(io_uring_register_files_update_tag(ring, 0, files, tags, 2));
	SAY(io_uring_register_files_update_tag(ring, 0, minus, NULL, 2));
	drain(ring);
	EXPECT(io_uring_unregister_files(ring), 0);
	EXPECT(io_uring_register_files_tags(ring, files, tags, 2), 0);
	EXPECT(io_uring_unregister_files(ring), 0);
	drain(ring);
	EXPECT(io_uring_register_files_sparse(ring, 16), 0);
	SAY(io_uring_register_file_alloc_range(ring, 4, 8));
	SAY(io_uring_register_file_alloc_range(ring, 4, 80));
	EXPECT(io_uring_register_files_sparse(ring, 16), -EBUSY);
	EXPECT(io_uring_unregister_files(ring), 0);

	/* Beyond RLIMIT_NOFILE: the library raises the limit. */
	getrlimit(RLIMIT_NOFILE, &before);
	low = before;
	low.rlim_cur = 64;
	setrlimit(RLIMIT_NOFILE, &low);
	SAY(io_uring_register_files_sparse(ring, 100));
	getrlimit(RLIMIT_NOFILE, &after);
	SAY(after.rlim_cur);
	setrlimit(RLIMIT_NOFILE, &before);
	io_uring_unregister_files(ring);
	SAY(io_uring_register_files_sparse(ring, 1U << 30));
	getrlimit(RLIMIT_NOFILE, &after);
	SAY(after.rlim_cur == before.rlim_cur);
	setrlimit(RLIMIT_NOFILE, &before);
}

static void test_eventfd(struct io_uring *ring)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	eventfd_t value = 0;

	printf("-- eventfd\n");
	EXPECT(io_uring_unregister_eventfd(ring), -ENXIO);
	EXPECT(io_uring_register_eventfd(ring, -1), -EBADF);
	EXPECT(io_uring_register_eventfd(ring, fd), 0);
	EXPECT(io_uring_register_eventfd(ring, fd), -EBUSY);
	queue_nops(ring, 1, 920);
	SAY(io_uring_submit(ring));
	SAY(eventfd_read(fd, &value));
	SAY(value);
	drain(ring);
	EXPECT(io_uring_unregister_eventfd(ring), 0);
	EXPECT(io_uring_register_eventfd_async(ring, fd), 0);
	queue_nops(ring, 1, 921);
	SAY(io_uring_submit(ring));
	SAY(eventfd_read(fd, &value));
	drain(ring);
	EXPECT(io_uring_unregister_eventfd(ring), 0);
	close(fd);
}

static void test_misc_registrations(struct io_uring *ring)
{
	unsigned int workers[2] = { 3, 5 };
	cpu_set_t cpus;
	int id;

	printf("-- personality, workers\n");
	id = io_uring_register_personality(ring);
	SAY(id);
	EXPECT(io_uring_unregister_personality(ring, id), 0);
	EXPECT(io_uring_unregister_personality(ring, id), -EINVAL);

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	SAY(io_uring_register_iowq_aff(ring, sizeof(cpus), &cpus));
	SAY(io_uring_register_iowq_aff(ring, 0, &cpus));
	SAY(io_uring_register_iowq_aff(ring, 1UL << 31, &cpus));
	SAY(io_uring_unregister_iowq_aff(ring));
	SAY(io_uring_register_iowq_max_workers(ring, workers));
	workers[0] = 0;
	workers[1] = 0;
	SAY(io_uring_register_iowq_max_workers(ring, workers));
	SAY(workers[0]);
	SAY(workers[1]);
	SAY(io_uring_register_iowq_max_workers(ring, NULL));
}

static void test_ring_fd(void)
{
	struct io_uring_cqe *cqe;
	struct io_uring ring;

	printf("-- registered ring fd\n");
	MUST(io_uring_queue_init(4, &ring, 0));
	EXPECT(io_uring_register_ring_fd(&ring), 1);
	SAY(ring.enter_ring_fd);
	queue_nops(&ring, 2, 940);
	EXPECT(io_uring_submit(&ring), 2);
	EXPECT(io_uring_wait_cqe(&ring, &cqe), 0);
	drain(&ring);
	SAY(io_uring_register_files_sparse(&ring, 4));
	EXPECT(io_uring_get_events(&ring), 0);
	EXPECT(io_uring_unregister_ring_fd(&ring), 1);
	SAY(ring.enter_ring_fd == ring.ring_fd);
	queue_nops(&ring, 1, 942);
	EXPECT(io_uring_submit(&ring), 1);
	EXPECT(io_uring_register_ring_fd(&ring), 1);
	io_uring_queue_exit(&ring);

	/* The slot is free again. */
	MUST(io_uring_queue_init(4, &ring, 0));
	EXPECT(io_uring_register_ring_fd(&ring), 1);
	SAY(ring.enter_ring_fd);
	io_uring_queue_exit(&ring);
}

static void test_buf_ring(struct io_uring *ring)
{
	struct io_uring_buf_reg reg;
	struct io_uring_buf_ring *br;
	struct io_uring_sqe *sqe;
	char data[16];
	int pipefd[2];

	printf("-- buffer ring\n");
	br = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		  MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
	memset(&reg, 0, sizeof(reg));
	reg.ring_addr = (unsigned long)br;
	reg.ring_entries = 8;
	reg.bgid = 7;
	EXPECT(io_uring_unregister_buf_ring(ring, 7), -ENOENT);
	EXPECT(io_uring_register_buf_ring(ring, &reg, 0), 0);
	EXPECT(io_uring_register_buf_ring(ring, &reg, 0), -EEXIST);
	io_uring_buf_ring_init(br);
	io_uring_buf_ring_add(br, data, sizeof(data), 3,
			      io_uring_buf_ring_mask(8), 0);
	io_uring_buf_ring_advance(br, 1);

	MUST(pipe(pipefd));
	SAY(write(pipefd[1], "hello", 5));
	sqe = next_sqe(ring);
	io_uring_prep_read(sqe, pipefd[0], NULL, sizeof(data), 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = 7;
	sqe->user_data = 950;
	SAY(io_uring_submit_and_wait(ring, 1));
	drain(ring);
	SAY(memcmp(data, "hello", 5));
	close(pipefd[0]);
	close(pipefd[1]);

	EXPECT(io_uring_unregister_buf_ring(ring, 7), 0);
	reg.ring_entries = 7;
	EXPECT(io_uring_register_buf_ring(ring, &reg, 0), -EINVAL);
	munmap(br, 4096);
}

static void test_sync_cancel(struct io_uring *ring)
{
	struct io_uring_sync_cancel_reg reg;
	struct io_uring_sqe *sqe;
	int pipefd[2];

	printf("-- sync cancel\n");
	MUST(pipe(pipefd));
	memset(&reg, 0, sizeof(reg));
	reg.addr = 960;
	reg.fd = -1;
	reg.timeout.tv_sec = -1;
	reg.timeout.tv_nsec = -1;
	EXPECT(io_uring_register_sync_cancel(ring, &reg), -ENOENT);
	sqe = next_sqe(ring);
	io_uring_prep_poll_add(sqe, pipefd[0], 1);
	sqe->user_data = 960;
	SAY(io_uring_submit(ring));
	SAY(io_uring_register_sync_cancel(ring, &reg));
	SAY(io_uring_get_events(ring));
	drain(ring);
	close(pipefd[0]);
	close(pipefd[1]);
}

/* errno belongs to the program: no call may change it. */
static void test_errno(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	struct io_uring bad;

	printf("-- errno\n");
	errno = 12345;
	io_uring_queue_init(0, &bad, 0);
	io_uring_unregister_buffers(ring);
	io_uring_peek_cqe(ring, &cqe);
	io_uring_enter(-1, 1, 0, 0, NULL);
	EXPECT(errno, 12345);
}

int main(void)
{
	struct io_uring ring;
	int ret;

	setvbuf(stdout, NULL, _IOLBF, 0);
	ret = io_uring_queue_init(8, &ring, 0);
	skip_without_ring(ret);
	MUST(ret);
	test_setup();
	test_bare_calls();
	test_submit(&ring);
	test_old_get_sqe(&ring);
	test_wait(&ring);
	test_overflow();
	test_sqpoll();
	test_sizes();
	test_probe(&ring);
	test_buffers(&ring);
	test_files(&ring);
	test_eventfd(&ring);
	test_misc_registrations(&ring);
	test_ring_fd();
	test_buf_ring(&ring);
	test_sync_cancel(&ring);
	test_errno(&ring);
	cursors(&ring);
	io_uring_queue_exit(&ring);
	return finish();
}
