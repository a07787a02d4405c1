/* SPDX-License-Identifier: MIT */
/* Description: opcodes that are one system call each: paths, xattrs, pipes. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "diff.h"

static struct io_uring_sqe *two_paths(struct ring *r, uint8_t op, int dfd,
				      const char *a, int dfd2, const char *b)
{
	return ring_sqe(r, op, dfd, a, (uint32_t)dfd2, (uintptr_t)b);
}

static void paths(struct diff *d)
{
	struct ring r;
	int fd = diff_file(d, "f", 10);
	struct stat st;

	ring_open(d, &r, 8, 0);
	ring_sqe(&r, IORING_OP_MKDIRAT, AT_FDCWD, "d", 0700, 0);
	ring_run(&r, 1, RING_ORDER);
	diff_res(d, stat("d", &st) ? -1 : (int)(st.st_mode & 07777), "mode");
	ring_sqe(&r, IORING_OP_MKDIRAT, AT_FDCWD, "d", 0700, 0);
	ring_run(&r, 1, RING_ORDER);
	two_paths(&r, IORING_OP_LINKAT, AT_FDCWD, "f", AT_FDCWD, "l");
	ring_run(&r, 1, RING_ORDER);
	two_paths(&r, IORING_OP_LINKAT, fd, "", AT_FDCWD, "l2")->hardlink_flags =
		AT_EMPTY_PATH;
	ring_run(&r, 1, RING_ORDER);
	/* The descriptor is the directory of the link itself. */
	ring_sqe(&r, IORING_OP_SYMLINKAT, AT_FDCWD, "what", 0, (uintptr_t) "s");
	ring_run(&r, 1, RING_ORDER);
	two_paths(&r, IORING_OP_RENAMEAT, AT_FDCWD, "s", AT_FDCWD, "t");
	ring_run(&r, 1, RING_ORDER);
	two_paths(&r, IORING_OP_RENAMEAT, AT_FDCWD, "l", AT_FDCWD, "t")
		->rename_flags = 1; /* RENAME_NOREPLACE */
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_UNLINKAT, AT_FDCWD, "d", 0, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_UNLINKAT, AT_FDCWD, "d", 0, 0)->unlink_flags =
		AT_REMOVEDIR;
	ring_run(&r, 1, RING_ORDER);
	diff_res(d, access("d", F_OK) ? -1 : 0, "d");
	diff_res(d, access("l2", F_OK) ? -1 : 0, "l2");
	ring_close(&r);
	close(fd);
}

/* Every field an op does not use is refused, in prep. */
static void unused_fields(struct diff *d)
{
	static const uint8_t ops[] = {
		IORING_OP_RENAMEAT,
		IORING_OP_UNLINKAT,
		IORING_OP_MKDIRAT,
		IORING_OP_SYMLINKAT,
		IORING_OP_LINKAT,
		IORING_OP_FTRUNCATE,
		IORING_OP_FSETXATTR,
		IORING_OP_SETXATTR,
		IORING_OP_FGETXATTR,
		IORING_OP_GETXATTR,
		IORING_OP_SPLICE,
		IORING_OP_TEE,
		IORING_OP_BIND,
		IORING_OP_LISTEN,
		IORING_OP_FIXED_FD_INSTALL,
		IORING_OP_PIPE,
		IORING_OP_PROVIDE_BUFFERS,
		IORING_OP_REMOVE_BUFFERS,
		IORING_OP_MSG_RING,
		IORING_OP_WAITID,
		IORING_OP_FUTEX_WAIT,
		IORING_OP_FUTEX_WAKE,
		IORING_OP_FUTEX_WAITV,
		IORING_OP_EPOLL_WAIT,
		IORING_OP_READ_MULTISHOT,
		IORING_OP_SEND_ZC,
		IORING_OP_READV_FIXED,
		IORING_OP_WRITEV_FIXED,
	};

	for (size_t i = 0; i < AU_ARRAY_SIZE(ops); i++) {
		for (int field = 0; field < 10; field++) {
			struct io_uring_sqe *s;
			struct ring r;

			ring_open(d, &r, 2, IORING_SETUP_SUBMIT_ALL);
			/* Nothing of this can succeed: the pointer is bad. */
			s = ring_sqe(&r, ops[i], -1, diff_bad_ptr(), 1, 0);
			switch (field) {
			case 1:
				s->off = 1;
				break;
			case 2:
				s->ioprio = 0x80;
				break;
			case 3:
				s->op_flags = 0x40000000;
				break;
			case 4:
				s->buf_index = 1;
				break;
			case 5:
				s->file_index = 1;
				break;
			case 6:
				s->addr3 = 1;
				break;
			case 7:
				s->pad2[0] = 2; /* 1 is an attribute */
				break;
			case 8:
				s->flags = IOSQE_FIXED_FILE;
				break;
			case 9:
				s->flags = IOSQE_BUFFER_SELECT;
				break;
			default:
				break;
			}
			diff_say(d, "op %u field %d", ops[i], field);
			ring_run(&r, 1, RING_ORDER);
			ring_settle(&r, RING_ORDER);
			ring_close(&r);
		}
	}
}

static void truncates(struct diff *d)
{
	int fd = diff_file(d, "f", 100);
	struct stat st;
	struct ring r;

	ring_open(d, &r, 4, 0);
	ring_sqe(&r, IORING_OP_FTRUNCATE, fd, NULL, 0, 7);
	ring_run(&r, 1, RING_ORDER);
	fstat(fd, &st);
	diff_res(d, st.st_size, "size");
	ring_sqe(&r, IORING_OP_FTRUNCATE, fd, NULL, 0, UINT64_MAX);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_FTRUNCATE, -1, NULL, 0, 7);
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
	close(fd);
}

static void xattrs(struct diff *d)
{
	int fd = diff_file(d, "f", 1);
	char buf[16] = "";
	struct ring r;

	ring_open(d, &r, 4, 0);
	ring_sqe(&r, IORING_OP_FSETXATTR, fd, "user.a", 3, (uintptr_t) "xyz");
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_SETXATTR, 0, "user.b", 2, (uintptr_t) "12")
		->addr3 = (uintptr_t) "f";
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_FGETXATTR, fd, "user.b", 16, (uintptr_t)buf);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_GETXATTR, 0, "user.a", 16, (uintptr_t)buf)
		->addr3 = (uintptr_t) "f";
	ring_run(&r, 1, RING_ORDER);
	diff_bytes(d, "value", buf, 4);
	ring_sqe(&r, IORING_OP_FGETXATTR, fd, "user.a", 1, (uintptr_t)buf);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_FGETXATTR, fd, "", 1, (uintptr_t)buf);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_FSETXATTR, fd, "user.a", 70000, (uintptr_t)buf);
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
	close(fd);
}

static struct io_uring_sqe *splice_sqe(struct ring *r, uint8_t op, int in,
				       int out, uint32_t len)
{
	struct io_uring_sqe *s = ring_sqe(r, op, out, NULL, len, 0);

	if (op == IORING_OP_SPLICE)
		s->off = s->splice_off_in = UINT64_MAX;
	s->splice_fd_in = in;
	return s;
}

static void splices(struct diff *d)
{
	int a[2], b[2], fd = diff_file(d, "f", 26);
	char buf[32] = "";
	struct ring r;

	diff_pipe(d, a);
	diff_pipe(d, b);
	diff_must(d, write(a[1], "hello", 5), "write");
	ring_open(d, &r, 8, 0);
	splice_sqe(&r, IORING_OP_TEE, a[0], b[1], 5);
	ring_run(&r, 1, RING_ORDER);
	splice_sqe(&r, IORING_OP_SPLICE, a[0], b[1], 5);
	ring_run(&r, 1, RING_ORDER);
	splice_sqe(&r, IORING_OP_SPLICE, fd, b[1], 10)->splice_off_in = 3;
	ring_run(&r, 1, RING_ORDER);
	diff_must(d, read(b[0], buf, sizeof(buf)), "read");
	diff_bytes(d, "moved", buf, 20);
	splice_sqe(&r, IORING_OP_SPLICE, -1, b[1], 5);
	ring_run(&r, 1, RING_ORDER);
	splice_sqe(&r, IORING_OP_SPLICE, a[0], b[1], 0);
	ring_run(&r, 1, RING_ORDER);
	splice_sqe(&r, IORING_OP_SPLICE, 3, b[1], 5)->splice_flags =
		SPLICE_F_FD_IN_FIXED;
	ring_run(&r, 1, RING_ORDER);
	/* Short: breaks its chain. */
	diff_must(d, write(a[1], "abc", 3), "write");
	splice_sqe(&r, IORING_OP_SPLICE, a[0], b[1], 9)->flags = IOSQE_IO_LINK;
	ring_nop(&r);
	ring_run(&r, 2, RING_SORTED);
	/* Waits for data that comes later. */
	splice_sqe(&r, IORING_OP_SPLICE, a[0], b[1], 2);
	ring_submit(&r);
	diff_sleep_ms(d, 20);
	diff_must(d, write(a[1], "de", 2), "write");
	ring_wait(&r, 1, RING_ORDER);
	ring_close(&r);
	close(a[0]);
	close(a[1]);
	close(b[0]);
	close(b[1]);
	close(fd);
}

static void binds(struct diff *d)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int s = socket(AF_INET, SOCK_STREAM, 0), p[2];
	struct ring r;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	diff_pipe(d, p);
	ring_open(d, &r, 4, 0);
	ring_sqe(&r, IORING_OP_BIND, s, &sin, 0, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_BIND, s, &sin, 0, 129);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_BIND, s, &sin, 0, sizeof(sin));
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_LISTEN, s, NULL, 5, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_BIND, p[0], &sin, 0, sizeof(sin));
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_LISTEN, p[0], NULL, 5, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
	close(p[0]);
	close(p[1]);
	close(s);
}

static void pipes(struct diff *d)
{
	int fds[2] = { -9, -9 }, slots[4] = { -1, -1, -1, -1 };
	struct io_uring_sqe *s;
	int installed;
	struct ring r;
	char c = 0;

	ring_open(d, &r, 4, 0);
	ring_sqe(&r, IORING_OP_PIPE, 0, fds, 0, 0)->pipe_flags = O_CLOEXEC;
	ring_run(&r, 1, RING_ORDER);
	diff_res(d, fcntl(fds[0], F_GETFD), "close-on-exec");
	diff_res(d, write(fds[1], "x", 1), "write");
	diff_res(d, read(fds[0], &c, 1), "read");
	diff_bytes(d, "byte", &c, 1);
	close(fds[0]);
	close(fds[1]);
	ring_sqe(&r, IORING_OP_PIPE, 0, diff_bad_ptr(), 0, 0);
	ring_run(&r, 1, RING_ORDER);
	ring_sqe(&r, IORING_OP_PIPE, 0, fds, 0, 0)->file_index = 1;
	ring_run(&r, 1, RING_ORDER);
	diff_must(d,
		  d->be->reg((unsigned int)r.fd, IORING_REGISTER_FILES, slots,
			     4),
		  "files");
	for (uint32_t i = 0; i < 4; i++) {
		static const uint32_t index[] = { 1, 4, IORING_FILE_INDEX_ALLOC,
						  IORING_FILE_INDEX_ALLOC };

		fds[0] = fds[1] = -9;
		ring_sqe(&r, IORING_OP_PIPE, 0, fds, 0, 0)->file_index =
			index[i];
		ring_run(&r, 1, RING_ORDER);
		diff_say(d, "slots %d %d", fds[0], fds[1]);
	}
	s = ring_sqe(&r, IORING_OP_FIXED_FD_INSTALL, 1, NULL, 0, 0);
	s->flags = IOSQE_FIXED_FILE;
	ring_submit(&r);
	installed = ring_one(&r, NULL);
	diff_ok(d, installed, "install");
	close(installed);
	s = ring_sqe(&r, IORING_OP_FIXED_FD_INSTALL, 1, NULL, 0, 0);
	ring_run(&r, 1, RING_ORDER);
	s = ring_sqe(&r, IORING_OP_FIXED_FD_INSTALL, 9, NULL, 0, 0);
	s->flags = IOSQE_FIXED_FILE;
	ring_run(&r, 1, RING_ORDER);
	ring_close(&r);
}

static const struct diff_test tests[] = {
	{ "paths", paths, DIFF_ALL },
	{ "unused_fields", unused_fields, DIFF_PLAIN },
	{ "truncates", truncates, DIFF_PLAIN | DIFF_DEFER },
	{ "xattrs", xattrs, DIFF_PLAIN | DIFF_DEFER },
	{ "splices", splices, DIFF_SYNC },
	{ "binds", binds, DIFF_PLAIN },
	{ "pipes", pipes, DIFF_PLAIN | DIFF_DEFER },
};

DIFF_MAIN(tests)
