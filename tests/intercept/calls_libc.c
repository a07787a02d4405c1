/* SPDX-License-Identifier: MIT */
/*
 * Description: io_uring by libc's syscall() and mmap(), and what libc's other
 * functions do to a ring's descriptor and to the engine's hidden ones. Runs
 * natively too, without the counts.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>

#include "helper.h"

static long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;

	if (nr == SYS_mmap) {
		void *p = mmap((void *)a, (size_t)b, (int)c, (int)d, (int)e, f);

		return p == MAP_FAILED ? -errno : (long)p;
	}
	if (nr == SYS_close)
		return close((int)a) ? -errno : 0;
	ret = syscall(nr, a, b, c, d, e, f);
	return ret == -1 ? -errno : ret;
}

static void test_errno(void)
{
	errno = 0;
	CHECK(syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0) == -1);
	CHECK(errno == EBADF);
	CHECK(syscall(SYS_getpid) == getpid());
	CHECK(syscall(SYS_close, -1) == -1 && errno == EBADF);
	errno = 77;
	CHECK(syscall(SYS_getppid) == getppid() && errno == 77);
	/* Six arguments, one of them on the stack. */
	CHECK(syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 0) ==
	      -1);
	CHECK(errno == EBADF);
}

static void test_closes(void)
{
	int hid = hidden_fd(), fd = dup(0), top;
	unsigned long before;

	CHECK(hid >= 0 && fd >= 0);
	CHECK(close(hid) == -1 && errno == EBADF);
	CHECK(syscall(SYS_close, hid) == -1 && errno == EBADF);
	CHECK(dup2(0, hid) == -1 && errno == EBADF);
	CHECK(dup3(0, hid, O_CLOEXEC) == -1 && errno == EBADF);
	CHECK(dup2(hid, 600) == -1 && errno == EBADF);

	before = count(PASS_CLOSED);
	CHECK(dup2(0, fd) == fd);
	CHECK(dup2(fd, fd) == fd);
	CHECK(dup3(0, fd, O_CLOEXEC) == fd);
	CHECK(close(fd) == 0);
	CHECK(count(PASS_CLOSED) == before + 3);

	top = dup3(0, hid + 1, 0);
	CHECK(top == hid + 1 && dup3(0, hid - 1, 0) == hid - 1);
	CHECK(close_range((unsigned int)hid - 1, (unsigned int)hid + 1, 0) ==
	      0);
	CHECK(fcntl(hid - 1, F_GETFD) < 0 && fcntl(hid + 1, F_GETFD) < 0);
	CHECK(fcntl(hid, F_GETFD) >= 0);
	CHECK(close_range(5, 4, 0) == -1 && errno == EINVAL);
	CHECK(dup3(0, hid + 1, 0) == hid + 1);
	closefrom(hid - 3);
	CHECK(fcntl(hid + 1, F_GETFD) < 0 && fcntl(hid, F_GETFD) >= 0);
}

static void test_polls(struct ring *r)
{
	struct pollfd p = { r->fd, POLLIN | POLLOUT, 0 };
	struct epoll_event ev = { EPOLLOUT, { 0 } };
	struct timespec ts = { 0, 0 };
	struct timeval tv = { 0, 0 };
	unsigned long watched = count(PASS_WATCHED);
	unsigned long polls = count(PASS_POLLS);
	int ep = epoll_create1(0);
	fd_set set;

	CHECK(poll(&p, 1, 0) == 1 && p.revents == POLLOUT);
	CHECK(ppoll(&p, 1, &ts, NULL) == 1);
	FD_ZERO(&set);
	FD_SET(r->fd, &set);
	CHECK(select(r->fd + 1, NULL, &set, NULL, &tv) == 1);
	CHECK(pselect(r->fd + 1, NULL, &set, NULL, &ts, NULL) == 1);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, r->fd, &ev) == 0);
	CHECK(epoll_wait(ep, &ev, 1, 0) == 1);
	CHECK(epoll_pwait(ep, &ev, 1, 0, NULL) == 1);
	CHECK(syscall(SYS_poll, &p, 1, 0) == 1);
	CHECK(syscall(SYS_poll, 16L, 1, 0) == -1 && errno == EFAULT);
	close(ep);
	if (under_preload()) {
		CHECK(count(PASS_WATCHED) - watched == 6);
		CHECK(count(PASS_POLLS) - polls >= 8);
	}
}

/* A ring is not passed on; another file is, beside it or not. */
static void test_rights(struct ring *r)
{
	struct iovec iov = { (char[]){ 'x' }, 1 };

	union {
		struct cmsghdr hdr;
		char space[CMSG_SPACE(2 * sizeof(int))];
	} c = { .hdr = { CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };

	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &c,
			    .msg_controllen = sizeof(c) };
	int sp[2], fds[2] = { 0, r->fd };

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, sp) == 0);
	memcpy(CMSG_DATA(&c.hdr), fds, sizeof(fds));
	CHECK(sendmsg(sp[0], &m, 0) == -1 && errno == EINVAL);
	CHECK(syscall(SYS_sendmsg, sp[0], &m, 0) == -1 && errno == EINVAL);
	CHECK(sendmsg(sp[0], NULL, 0) == -1 && errno == EFAULT);
	fds[1] = sp[1];
	memcpy(CMSG_DATA(&c.hdr), fds, sizeof(fds));
	CHECK(sendmsg(sp[0], &m, 0) == 1);
	m.msg_controllen = 0;
	CHECK(sendmsg(sp[0], &m, 0) == 1);
	close(sp[0]);
	close(sp[1]);
}

/* A fork's child, however it was made: the parent's ring is its as well. */
static int test_forked(void *arg)
{
	ring_nop(arg);
	return count(PASS_FORKS) == (unsigned long)under_preload();
}

static void test_tasks(struct ring *r)
{
	static char stack[65536] __attribute__((aligned(16)));
	unsigned long closed = count(PASS_CLOSED);
	int status, fd = dup(0);
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(test_forked(r));
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 1);
	pid = (pid_t)syscall(SYS_fork);
	if (!pid)
		_exit(test_forked(r));
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 1);

	pid = clone(test_forked, stack + sizeof(stack), SIGCHLD, r);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 1);

	/* A vfork child closes its own table's descriptors, not ours. */
	pid = vfork();
	if (!pid) {
		close(fd);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(count(PASS_CLOSED) == closed && count(PASS_FORKS) == 0);
	CHECK(close(fd) == 0);
	CHECK(count(PASS_CLOSED) == closed + (unsigned long)under_preload());
}

static int test_thrd(void *arg)
{
	ring_nop(arg);
	return 42;
}

int main(void)
{
	struct ring r;
	thrd_t t;
	int ret;

	test_errno();
	ring_make(&r);
	for (int i = 0; i < 100; i++)
		ring_nop(&r);
	CHECK(SYS(427, r.fd, 99, 0, 0, 0, 0) == -EINVAL);
	CHECK(thrd_create(&t, test_thrd, &r) == thrd_success);
	CHECK(thrd_join(t, &ret) == thrd_success && ret == 42);
	test_polls(&r);
	test_rights(&r);
	if (under_preload()) {
		CHECK(count(PASS_SETUP) == 1);
		CHECK(count(PASS_ENTER) == 102);
		CHECK(count(PASS_REGISTER) == 1);
		CHECK(count(PASS_MMAP) == 2);
		test_closes();
	}
	test_tasks(&r);
	ring_nop(&r);
	ring_free(&r);
	return 0;
}
