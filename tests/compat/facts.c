/* SPDX-License-Identifier: MIT */
/*
 * Says what the engine answers, for tools/mkcompat: a line a name that it
 * serves, found by asking it. With --kernel it asks the kernel, to test the
 * questions.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "anyuring.h"
#include "uapi/io_uring.h"

static bool kernel;

static int setup(unsigned int n, struct io_uring_params *p)
{
	long r;

	if (!kernel)
		return anyuring_setup(n, p);
	r = syscall(SYS_io_uring_setup, n, p);
	return r < 0 ? -errno : (int)r;
}

static int enter(int fd, unsigned int n, unsigned int min, unsigned int flags,
		 const void *arg, size_t size)
{
	long r;

	if (!kernel)
		return anyuring_enter((unsigned int)fd, n, min, flags, arg,
				      size);
	r = syscall(SYS_io_uring_enter, fd, n, min, flags, arg, size);
	return r < 0 ? -errno : (int)r;
}

static int reg(int fd, unsigned int op, void *arg, unsigned int nr)
{
	long r;

	if (!kernel)
		return anyuring_register((unsigned int)fd, op, arg, nr);
	r = syscall(SYS_io_uring_register, fd, op, arg, nr);
	return r < 0 ? -errno : (int)r;
}

static void end(int fd)
{
	if (kernel)
		close(fd);
	else
		anyuring_close(fd);
}

static void ask_ops(void)
{
	struct {
		struct io_uring_probe p;
		struct io_uring_probe_op ops[256];
	} probe = { 0 };
	struct io_uring_params p = { 0 };
	int fd = setup(1, &p);

	if (fd < 0 || reg(fd, IORING_REGISTER_PROBE, &probe, 256) < 0)
		exit(1);
	for (int i = 0; i < probe.p.ops_len; i++) {
		if (probe.ops[i].flags & IO_URING_OP_SUPPORTED)
			printf("op %d\n", i);
	}
	for (int i = 0; i < 32; i++) {
		if (p.features & 1U << i)
			printf("feature %d\n", i);
	}
	end(fd);
}

/* Each flag, with what it needs beside it. */
static void ask_setup(void)
{
	static const struct {
		uint32_t flag, with;
	} needs[] = {
		{ IORING_SETUP_SQ_AFF, IORING_SETUP_SQPOLL },
		{ IORING_SETUP_TASKRUN_FLAG, IORING_SETUP_COOP_TASKRUN },
		{ IORING_SETUP_DEFER_TASKRUN, IORING_SETUP_SINGLE_ISSUER },
		{ IORING_SETUP_REGISTERED_FD_ONLY, IORING_SETUP_NO_MMAP },
		{ IORING_SETUP_HYBRID_IOPOLL, IORING_SETUP_IOPOLL },
		{ IORING_SETUP_SQ_REWIND, IORING_SETUP_NO_SQARRAY },
	};
	struct io_uring_params base = { 0 };
	int other = setup(1, &base);

	for (int i = 0; i < 32; i++) {
		struct io_uring_params p = { .flags = 1U << i,
					     .cq_entries = 8,
					     .wq_fd = (uint32_t)other };
		int fd;

		for (size_t n = 0; n < sizeof(needs) / sizeof(needs[0]); n++) {
			if (p.flags == needs[n].flag)
				p.flags |= needs[n].with;
		}
		if (p.flags & IORING_SETUP_NO_MMAP) {
			p.sq_off.user_addr = (uintptr_t)mmap(
				NULL, 4096, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
			p.cq_off.user_addr = (uintptr_t)mmap(
				NULL, 4096, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		}
		fd = setup(1, &p);
		if (fd >= 0) {
			printf("setup %d\n", i);
			if (!(p.flags & IORING_SETUP_REGISTERED_FD_ONLY))
				end(fd);
		}
	}
}

/*
 * An unknown opcode is -EINVAL whatever comes with it; a known one has some
 * other answer to one of these.
 */
static bool knows_register(unsigned int op)
{
	static char zeros[4096];
	void *args[] = { NULL, (void *)8, zeros };
	static const unsigned int sizes[] = { 0, 1, 2, 4, 16, 24, 32, 64, 96 };

	for (size_t a = 0; a < 3; a++) {
		for (size_t s = 0; s < sizeof(sizes) / sizeof(int); s++) {
			struct io_uring_params p = { 0 };
			int fd, r;

			p.flags = s & 1 ? IORING_SETUP_R_DISABLED : 0;
			if (a == 1)
				p.flags |= IORING_SETUP_SINGLE_ISSUER |
					   IORING_SETUP_DEFER_TASKRUN |
					   IORING_SETUP_CQE32;
			fd = setup(1, &p);
			memset(zeros, 0, sizeof(zeros));
			if (op == IORING_UNREGISTER_PERSONALITY)
				r = reg(fd, op, NULL,
					(unsigned int)reg(
						fd, IORING_REGISTER_PERSONALITY,
						NULL, 0));
			else
				r = reg(fd, op, args[a], sizes[s]);
			end(fd);
			if (r != -EINVAL)
				return true;
		}
	}
	return false;
}

static void ask_register(void)
{
	for (unsigned int op = 0; op < IORING_REGISTER_LAST; op++) {
		/* These are called without a ring. */
		if (knows_register(op) ||
		    (op == IORING_REGISTER_SEND_MSG_RING &&
		     reg(-1, op, (void *)8, 1) == -EFAULT))
			printf("register %u\n", op);
	}
}

static int one(uint8_t op, uint8_t flags)
{
	struct io_uring_params p = { .flags = IORING_SETUP_NO_SQARRAY };
	int fd = setup(1, &p), res, fds[2];
	unsigned char *rings, *sqes;
	struct io_uring_sqe *e;
	struct io_uring_cqe *c;
	char byte = 0;

	if (fd < 0 || pipe(fds) || write(fds[1], &byte, 1) != 1)
		exit(1);
	if (kernel) {
		rings = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			     fd, IORING_OFF_SQ_RING);
		sqes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			    fd, IORING_OFF_SQES);
	} else {
		rings = anyuring_mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				      MAP_SHARED, fd, IORING_OFF_SQ_RING);
		sqes = anyuring_mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				     MAP_SHARED, fd, IORING_OFF_SQES);
	}
	e = (void *)sqes;
	c = (void *)(rings + p.cq_off.cqes);
	memset(e, 0, sizeof(*e));
	e->opcode = op;
	e->flags = flags;
	e->fd = fds[0];
	e->len = op == IORING_OP_READ ? 1 : 0;
	e->buf_group = op == IORING_OP_READ ? 77 : 0;
	*(uint32_t *)(void *)(rings + p.sq_off.tail) = 1;
	(void)enter(fd, 1, flags & IOSQE_CQE_SKIP_SUCCESS ? 0 : 1,
		    IORING_ENTER_GETEVENTS, NULL, 0);
	res = c->res;
	(void)anyuring_munmap(rings, 4096);
	(void)anyuring_munmap(sqes, 4096);
	end(fd);
	close(fds[0]);
	close(fds[1]);
	return res;
}

static void ask_sqe_flags(void)
{
	for (int i = 0; i < 8; i++) {
		int r = 1 << i == IOSQE_BUFFER_SELECT ?
				one(IORING_OP_READ, (uint8_t)(1 << i)) :
				one(IORING_OP_NOP, (uint8_t)(1 << i));

		if (r == 0 || r == -ENOBUFS)
			printf("sqe %d\n", i);
	}
}

static void ask_enter(void)
{
	struct io_uring_getevents_arg arg = { 0 };

	for (int i = 0; i < 32; i++) {
		struct io_uring_params p = { .flags = IORING_SETUP_SQPOLL };
		unsigned int f = 1U << i;
		int fd, r;

		if (!(f & (IORING_ENTER_SQ_WAKEUP | IORING_ENTER_SQ_WAIT)))
			p.flags = 0;
		if (f & (IORING_ENTER_ABS_TIMER | IORING_ENTER_EXT_ARG_REG))
			f |= IORING_ENTER_EXT_ARG;
		fd = setup(1, &p);
		r = enter(fd, 0, 0, f | IORING_ENTER_GETEVENTS,
			  f & IORING_ENTER_EXT_ARG && !(f & IORING_ENTER_EXT_ARG_REG) ?
				  &arg :
				  NULL,
			  f & IORING_ENTER_EXT_ARG_REG ?
				  sizeof(struct io_uring_reg_wait) :
			  f & IORING_ENTER_EXT_ARG ? sizeof(arg) :
						     0);
		end(fd);
		/* A registered ring's index is looked up, a region too. */
		if (r >= 0 || (r == -EBADF || r == -EFAULT))
			printf("enter %d\n", i);
		else if (f & IORING_ENTER_REGISTERED_RING && r == -EINVAL) {
			struct io_uring_rsrc_update up = {
				.offset = -1U,
			};

			fd = setup(1, &p);
			up.data = (uint32_t)fd;
			if (reg(fd, IORING_REGISTER_RING_FDS, &up, 1) == 1 &&
			    enter((int)up.offset, 0, 0,
				  IORING_ENTER_REGISTERED_RING, NULL, 0) == 0)
				printf("enter %d\n", i);
			end(fd);
		}
	}
}

int main(int argc, char **argv)
{
	kernel = argc > 1 && !strcmp(argv[1], "--kernel");
	ask_ops();
	ask_setup();
	ask_register();
	ask_sqe_flags();
	ask_enter();
	return 0;
}
