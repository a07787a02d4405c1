/* SPDX-License-Identifier: MIT */
/* Description: io_uring_setup(2): flags, sizes, offsets, bad arguments. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "diff.h"

#define SETUP_BITS 21

static void try_setup(struct diff *d, unsigned int entries,
		      struct io_uring_params *p, const char *what)
{
	uint32_t flags = p->flags;
	int fd = d->be->setup(entries, p);

	diff_ok(d, fd, "%s flags %#x entries %u", what, flags, entries);
	if (fd < 0)
		return;
	diff_say(d, "sq %u cq %u flags %#x", p->sq_entries, p->cq_entries,
		 p->flags);
	if (!(flags & IORING_SETUP_REGISTERED_FD_ONLY))
		d->be->close(fd);
}

/* Flags whose refusal or not is known not to depend on the engine's state. */
static bool pair_left_out(uint32_t flags)
{
	/* Newer than, or different in, the kernels of today. */
	return flags & (IORING_SETUP_CQE_MIXED | IORING_SETUP_SQE_MIXED |
			IORING_SETUP_SQ_REWIND);
}

static void flag_pairs(struct diff *d)
{
	for (int i = 0; i < SETUP_BITS; i++) {
		for (int j = i; j < SETUP_BITS; j++) {
			uint32_t f = 1U << i | 1U << j;
			struct io_uring_params p = { .flags = f,
						     .cq_entries = 16,
						     .sq_thread_idle = 10 };

			if (!pair_left_out(f))
				try_setup(d, 4, &p, "pair");
		}
	}
}

/* With what most flags need, so that the others are reached. */
static void flag_triples(struct diff *d)
{
	static const uint32_t with[] = {
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_SQPOLL,
		IORING_SETUP_IOPOLL,
		IORING_SETUP_COOP_TASKRUN,
		IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER,
	};

	for (size_t w = 0; w < AU_ARRAY_SIZE(with); w++) {
		for (int i = 0; i < SETUP_BITS; i++) {
			for (int j = i; j < SETUP_BITS; j++) {
				uint32_t f = with[w] | 1U << i | 1U << j;
				struct io_uring_params p = { .flags = f,
							     .cq_entries = 16,
							     .sq_thread_idle =
								     10 };

				if (!pair_left_out(f))
					try_setup(d, 4, &p, "triple");
			}
		}
	}
}

static void high_flags(struct diff *d)
{
	for (int i = SETUP_BITS; i < 32; i++) {
		struct io_uring_params p = { .flags = 1U << i };

		try_setup(d, 4, &p, "high");
	}
}

static void sizes(struct diff *d)
{
	static const unsigned int n[] = { 0,     1,     2,        3,
					  5,     255,   256,      257,
					  4096,  32767, 32768,    32769,
					  65536, 65537, 1U << 31, ~0U };
	static const uint32_t f[] = { 0, IORING_SETUP_CLAMP };

	for (size_t i = 0; i < AU_ARRAY_SIZE(n); i++) {
		for (size_t k = 0; k < AU_ARRAY_SIZE(f); k++) {
			struct io_uring_params p = { .flags = f[k] };

			try_setup(d, n[i], &p, "sq");
			for (size_t c = 0; c < AU_ARRAY_SIZE(n); c++) {
				p = (struct io_uring_params){
					.flags = f[k] | IORING_SETUP_CQSIZE,
					.cq_entries = n[c]
				};
				try_setup(d, n[i], &p, "cq");
			}
		}
	}
}

static void bad_arguments(struct diff *d)
{
	struct io_uring_params p;

	diff_want(d, d->be->setup(4, NULL), -EFAULT, "NULL");
	diff_want(d, d->be->setup(4, diff_bad_ptr()), -EFAULT, "bad pointer");
	diff_res(d, d->be->setup(0, NULL), "NULL and no entries");
	for (int i = 0; i < 3; i++) {
		p = (struct io_uring_params){ 0 };
		p.resv[i] = 1;
		try_setup(d, 4, &p, "resv");
	}
	/* What comes in with the offsets is overwritten. */
	memset(&p, 0xff, sizeof(p));
	p.flags = 0;
	memset(p.resv, 0, sizeof(p.resv));
	try_setup(d, 4, &p, "full of ones");
}

static void sqpoll_cpus(struct diff *d)
{
	static const uint32_t cpus[] = { 0, 100000, ~0U, 1U << 31 };

	for (size_t i = 0; i < AU_ARRAY_SIZE(cpus); i++) {
		struct io_uring_params p = { .flags = IORING_SETUP_SQPOLL |
						      IORING_SETUP_SQ_AFF,
					     .sq_thread_cpu = cpus[i] };

		try_setup(d, 4, &p, "cpu");
	}
}

static void attach(struct diff *d)
{
	struct io_uring_params p = { .flags = IORING_SETUP_ATTACH_WQ };
	struct ring r;
	int pp[2];

	diff_pipe(d, pp);
	p.wq_fd = (uint32_t)-1;
	try_setup(d, 4, &p, "to -1");
	p = (struct io_uring_params){ .flags = IORING_SETUP_ATTACH_WQ };
	p.wq_fd = (uint32_t)pp[0];
	try_setup(d, 4, &p, "to a pipe");
	ring_open(d, &r, 4, 0);
	p = (struct io_uring_params){ .flags = IORING_SETUP_ATTACH_WQ };
	p.wq_fd = (uint32_t)r.fd;
	try_setup(d, 4, &p, "to a ring");
	ring_close(&r);
	close(pp[0]);
	close(pp[1]);
}

static void say_offsets(struct diff *d, const struct io_uring_params *p)
{
	diff_say(d, "sq %u %u %u %u %u %u %u", p->sq_off.head, p->sq_off.tail,
		 p->sq_off.ring_mask, p->sq_off.ring_entries, p->sq_off.flags,
		 p->sq_off.dropped, p->sq_off.array);
	diff_say(d, "cq %u %u %u %u %u %u %u", p->cq_off.head, p->cq_off.tail,
		 p->cq_off.ring_mask, p->cq_off.ring_entries,
		 p->cq_off.overflow, p->cq_off.cqes, p->cq_off.flags);
	diff_say(d, "resv %u %u %llu %llu", p->sq_off.resv1, p->cq_off.resv1,
		 (unsigned long long)p->sq_off.user_addr,
		 (unsigned long long)p->cq_off.user_addr);
}

static void offsets(struct diff *d)
{
	static const uint32_t f[] = { 0, IORING_SETUP_CQE32,
				      IORING_SETUP_SQE128,
				      IORING_SETUP_NO_SQARRAY,
				      IORING_SETUP_CQE32 |
					      IORING_SETUP_NO_SQARRAY };
	static const unsigned int n[] = { 1, 2, 4, 7, 64, 4096 };

	for (size_t i = 0; i < AU_ARRAY_SIZE(f); i++) {
		for (size_t k = 0; k < AU_ARRAY_SIZE(n); k++) {
			struct io_uring_params p = { .flags = f[i] };
			int fd;

			memset(&p.sq_off, 0xff, sizeof(p.sq_off));
			memset(&p.cq_off, 0xff, sizeof(p.cq_off));
			fd = d->be->setup(n[k], &p);
			diff_ok(d, fd, "flags %#x entries %u", f[i], n[k]);
			say_offsets(d, &p);
			d->be->close(fd);
		}
	}
}

static void initial_values(struct diff *d)
{
	struct ring r;
	char *at;

	ring_open(d, &r, 5, 0);
	at = r.rings;
	for (int i = 0; i < 16; i++)
		diff_say(d, "word %d = %u", i, ((uint32_t *)(void *)at)[i]);
	ring_close(&r);
}

static void mapping(struct diff *d)
{
	static const uint64_t off[] = {
		IORING_OFF_SQ_RING, IORING_OFF_CQ_RING,  IORING_OFF_SQES, 4096,
		0x18000000,         IORING_OFF_PBUF_RING
	};
	static const size_t len[] = { 1, 512, 4096, 8192, 1 << 20 };
	struct ring r;

	ring_open(d, &r, 4, 0);
	for (size_t i = 0; i < AU_ARRAY_SIZE(off); i++) {
		for (size_t k = 0; k < AU_ARRAY_SIZE(len); k++) {
			void *p = d->be->map(NULL, len[k],
					     PROT_READ | PROT_WRITE, MAP_SHARED,
					     r.fd, (off_t)off[i]);
			bool bad = (uintptr_t)p >= (uintptr_t)-4095;

			diff_ok(d, bad ? (long)(intptr_t)p : 0,
				"map %zu at %#llx", len[k],
				(unsigned long long)off[i]);
			if (!bad)
				(void)d->be->unmap(p, len[k]);
		}
	}
	ring_close(&r);
}

static void no_mmap(struct diff *d)
{
	size_t n = 1 << 16;
	char *a = mmap(NULL, n, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *b = mmap(NULL, n, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	static const struct {
		int a, b;
	} at[] = { { 0, 0 },   { 1, 0 },  { 0, 1 },
		   { 64, 64 }, { -1, 0 }, { 0, -1 } };

	for (size_t i = 0; i < AU_ARRAY_SIZE(at); i++) {
		struct io_uring_params p = { .flags = IORING_SETUP_NO_MMAP };
		int fd;

		p.cq_off.user_addr =
			at[i].a < 0 ? 0 : (uintptr_t)a + (size_t)at[i].a;
		p.sq_off.user_addr =
			at[i].b < 0 ? 0 : (uintptr_t)b + (size_t)at[i].b;
		fd = d->be->setup(4, &p);
		diff_ok(d, fd, "at %d %d", at[i].a, at[i].b);
		if (fd < 0)
			continue;
		say_offsets(d, &(struct io_uring_params){
				       .sq_off.array = p.sq_off.array });
		d->be->close(fd);
	}
	for (int which = 0; which < 2; which++) {
		struct io_uring_params p = { .flags = IORING_SETUP_NO_MMAP };

		p.cq_off.user_addr = (uintptr_t)(which ? a : diff_bad_ptr());
		p.sq_off.user_addr = (uintptr_t)(which ? diff_bad_ptr() : b);
		try_setup(d, 4, &p, "PROT_NONE");
	}
	munmap(a, n);
	munmap(b, n);
}

/* A ring in the application's memory is a ring. */
static void no_mmap_works(struct diff *d)
{
	size_t n = 1 << 16;
	char *a = mmap(NULL, n, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *b = mmap(NULL, n, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct io_uring_params p = { .flags = IORING_SETUP_NO_MMAP |
					      IORING_SETUP_NO_SQARRAY };
	struct io_uring_sqe *sqe = (void *)b;
	struct io_uring_cqe *cqe;
	int fd;

	memset(a, 0x5a, n);
	memset(b, 0x5a, n);
	p.cq_off.user_addr = (uintptr_t)a;
	p.sq_off.user_addr = (uintptr_t)b;
	fd = d->be->setup(4, &p);
	diff_ok(d, fd, "setup");
	diff_bytes(d, "header", a, 64);
	diff_bytes(d, "cqes", a + 64, 16);
	memset(sqe, 0, sizeof(*sqe));
	sqe->user_data = 7;
	*(uint32_t *)(void *)(a + p.sq_off.tail) = 1;
	diff_want(d,
		  d->be->enter((unsigned int)fd, 1, 1, IORING_ENTER_GETEVENTS,
			       NULL, 0),
		  1, "enter");
	cqe = (void *)(a + p.cq_off.cqes);
	diff_say(d, "user_data %llu res %d", (unsigned long long)cqe->user_data,
		 cqe->res);
	d->be->close(fd);
	munmap(a, n);
	munmap(b, n);
}

static void descriptor(struct diff *d)
{
	struct pollfd p = { .events = POLLIN | POLLOUT };
	struct ring r;
	char c;

	ring_open(d, &r, 4, 0);
	diff_want(d, read(r.fd, &c, 1) < 0 ? -1 : 0, -1, "read");
	diff_res(d, lseek(r.fd, 0, SEEK_SET) < 0 ? -1 : 0, "lseek");
	p.fd = r.fd;
	diff_res(d, poll(&p, 1, 0), "poll");
	diff_say(d, "revents %#x", (unsigned int)p.revents);
	ring_close(&r);
	diff_want(d, ring_enter(&r, 0, 0, 0), -EBADF, "enter when closed");
}

static int resize_try(struct ring *r, uint32_t sq, uint32_t cq, uint32_t flags,
		      struct io_uring_params *p)
{
	*p = (struct io_uring_params){ .sq_entries = sq,
				       .cq_entries = cq,
				       .flags = flags };
	return (int)diff_res(r->d,
			     r->d->be->reg((unsigned int)r->fd,
					   IORING_REGISTER_RESIZE_RINGS, p, 1),
			     "resize %u %u flags %#x", sq, cq, flags);
}

/* What the application does: maps the descriptor anew. */
static void resize(struct ring *r, uint32_t sq, uint32_t cq, uint32_t flags)
{
	uint32_t setup = r->p.flags;
	struct io_uring_params p;
	struct ring old = *r;

	if (resize_try(r, sq, cq, flags, &p) < 0)
		return;
	diff_say(r->d, "now %u %u flags %#x", p.sq_entries, p.cq_entries,
		 p.flags);
	ring_map(r, &p);
	r->p.flags = setup;
	(void)r->d->be->unmap(old.rings, old.rings_len);
	(void)r->d->be->unmap(old.sqes, old.sqes_len);
	for (uint32_t i = 0; r->sq_array && i < p.sq_entries; i++)
		r->sq_array[i] = i;
	diff_say(r->d, "masks %u %u", ((uint32_t *)(void *)r->rings)[4],
		 ((uint32_t *)(void *)r->rings)[5]);
}

static void resizes(struct diff *d, uint32_t flags)
{
	struct io_uring_params p;
	struct ring r;

	ring_open(d, &r, 8, flags);
	resize(&r, 0, 0, 0);
	resize(&r, 40000, 0, 0);
	resize(&r, 4, 2, IORING_SETUP_CQSIZE);
	resize(&r, 4, 4, IORING_SETUP_SQPOLL);
	diff_res(d,
		 d->be->reg((unsigned int)r.fd, IORING_REGISTER_RESIZE_RINGS,
			    NULL, 1),
		 "no params");
	diff_res(d,
		 d->be->reg((unsigned int)r.fd, IORING_REGISTER_RESIZE_RINGS,
			    diff_bad_ptr(), 1),
		 "bad params");
	diff_res(d,
		 d->be->reg((unsigned int)r.fd, IORING_REGISTER_RESIZE_RINGS,
			    &p, 2),
		 "two of them");
	/* CQEs wait, SQEs are filled in but not submitted. */
	for (int i = 0; i < 7; i++)
		ring_nop(&r);
	ring_submit(&r);
	ring_nop(&r);
	ring_nop(&r);
	__atomic_store_n(r.sq_tail, r.tail, __ATOMIC_RELEASE);
	resize(&r, 32, 0, 0);
	ring_submit(&r);
	diff_say(d, "%u ready", ring_ready(&r));
	resize(&r, 4, 0, 0);
	resize(&r, 4, 64, IORING_SETUP_CQSIZE);
	ring_reap(&r, RING_ORDER);
	resize(&r, 1, 0, 0);
	ring_nop(&r);
	ring_run(&r, 1, RING_ORDER);
	for (int lap = 0; lap < 5; lap++) {
		resize(&r, 8, 16, 0);
		for (int i = 0; i < 8; i++)
			ring_nop(&r);
		ring_run(&r, 8, RING_ORDER);
		resize(&r, 2, 4, 0);
		ring_nop(&r);
		ring_run(&r, 1, RING_ORDER);
	}
	/* The CQ is full: what overflows comes after. */
	for (int i = 0; i < 3; i++) {
		ring_nop(&r);
		ring_nop(&r);
		ring_submit(&r);
	}
	resize(&r, 2, 16, IORING_SETUP_CQSIZE);
	diff_say(d, "%u ready", ring_ready(&r));
	ring_settle(&r, RING_ORDER);
	/* More than fit the SQ. */
	resize(&r, 8, 0, 0);
	for (int i = 0; i < 8; i++)
		ring_nop(&r);
	__atomic_store_n(r.sq_tail, r.tail, __ATOMIC_RELEASE);
	resize(&r, 4, 0, 0);
	resize(&r, 8, 0, 0);
	ring_run(&r, 8, RING_ORDER);
	ring_close(&r);
}

/* With an SQ array the kernel (6.18) does not tell where it lies. */
static void resized(struct diff *d)
{
	resizes(d, IORING_SETUP_NO_SQARRAY);
}

static void resized_wide(struct diff *d)
{
	resizes(d, IORING_SETUP_SQE128 | IORING_SETUP_CQE32 |
			   IORING_SETUP_NO_SQARRAY);
}

static const struct diff_test tests[] = {
	{ "resized", resized, DIFF_DEFER },
	{ "resized_wide", resized_wide, DIFF_DEFER },
	{ "flag_pairs", flag_pairs, 0 },
	{ "flag_triples", flag_triples, 0 },
	{ "high_flags", high_flags, 0 },
	{ "sizes", sizes, 0 },
	{ "bad_arguments", bad_arguments, 0 },
	{ "sqpoll_cpus", sqpoll_cpus, 0 },
	{ "attach", attach, 0 },
	{ "offsets", offsets, 0 },
	{ "initial_values", initial_values, DIFF_SYNC },
	{ "mapping", mapping, DIFF_SYNC },
	{ "no_mmap", no_mmap, 0 },
	{ "no_mmap_works", no_mmap_works, 0 },
	{ "descriptor", descriptor, 0 },
};

DIFF_MAIN(tests)
