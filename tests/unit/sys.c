/* SPDX-License-Identifier: MIT */
/*
 * Description: src/sys: an application's pointers, hidden descriptors, clocks,
 * waiting on descriptors.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/maps.h"
#include "sys/robust.h"
#include "sys/futex.h"
#include "sys/poll.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

#define PAGE 4096UL

static uint64_t addr_of(const void *p)
{
	return (uintptr_t)p;
}

/* Two pages, of which only the first is there. */
static char *page_and_hole(int prot)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	memset(p, 'a', PAGE);
	assert_int_equal(mprotect(p, PAGE, prot), 0);
	/* Not unmapped: the sanitizers map things, too. */
	assert_int_equal(mprotect(p + PAGE, PAGE, PROT_NONE), 0);
	return p;
}

static char data[16] = "data", bss[16];

static void test_copies_of_memory_that_is_there(void **state)
{
	char stack[16] = "stack", *heap = strdup("heap of some length"),
	     out[16] = "";

	assert_int_equal(au_copy_from_user(out, addr_of(stack), 6), 0);
	assert_string_equal(out, "stack");
	assert_int_equal(au_copy_from_user(out, addr_of(data), 5), 0);
	assert_string_equal(out, "data");
	assert_int_equal(au_copy_from_user(out, addr_of(heap), 5), 0);
	assert_memory_equal(out, "heap ", 5);
	assert_int_equal(au_copy_from_user(out, addr_of("text"), 5), 0);
	assert_string_equal(out, "text");
	assert_int_equal(au_copy_to_user(addr_of(bss), "bss", 4), 0);
	assert_string_equal(bss, "bss");
	assert_int_equal(au_copy_to_user(addr_of(heap), "HEAP", 4), 0);
	assert_memory_equal(heap, "HEAP of", 7);
	assert_int_equal(au_copy_to_user(addr_of(stack), "STACK", 6), 0);
	assert_string_equal(stack, "STACK");
	free(heap);
}

static void test_bad_pointers_give_efault(void **state)
{
	const uint64_t bad[] = { 0,
				 1,
				 4095,
				 PAGE,
				 0xdeadbeefULL << 32,
				 UINT64_MAX,
				 UINT64_MAX - 7,
				 1ULL << 47,
				 1ULL << 63 };
	char buf[64] = "";

	for (size_t i = 0; i < AU_ARRAY_SIZE(bad); i++) {
		assert_int_equal(au_copy_from_user(buf, bad[i], 8), -EFAULT);
		assert_int_equal(au_copy_to_user(bad[i], buf, 8), -EFAULT);
		assert_int_equal(au_strncpy_from_user(buf, bad[i], 64),
				 -EFAULT);
		assert_int_equal(au_user_writable(bad[i], 8), -EFAULT);
		/* Nothing asked for is nothing to fail. */
		assert_int_equal(au_copy_from_user(buf, bad[i], 0), 0);
		assert_int_equal(au_copy_to_user(bad[i], buf, 0), 0);
	}
	/* Lengths that wrap, from memory that is there. */
	assert_int_equal(au_user_writable(addr_of(buf), SIZE_MAX), -EFAULT);
}

static void test_page_borders(void **state)
{
	char *p = page_and_hole(PROT_READ | PROT_WRITE), buf[64];
	uint64_t end = addr_of(p) + PAGE;

	assert_int_equal(au_copy_from_user(buf, end - 64, 64), 0);
	assert_int_equal(au_copy_from_user(buf, end - 63, 64), -EFAULT);
	assert_int_equal(au_copy_to_user(end - 8, buf, 8), 0);
	assert_int_equal(au_copy_to_user(end - 7, buf, 8), -EFAULT);
	assert_int_equal(au_user_writable(addr_of(p), PAGE), 0);
	assert_int_equal(au_user_writable(addr_of(p) + 100, PAGE), -EFAULT);
	munmap(p, 2 * PAGE);
}

static void test_strings(void **state)
{
	char *p = page_and_hole(PROT_READ | PROT_WRITE), buf[PAGE + 64];
	uint64_t end = addr_of(p) + PAGE;

	/* The end lies right before the hole: no byte beyond is touched. */
	p[PAGE - 1] = 0;
	assert_int_equal(au_strncpy_from_user(buf, end - 11, sizeof(buf)), 10);
	assert_string_equal(buf, "aaaaaaaaaa");
	assert_int_equal(au_strncpy_from_user(buf, end - 1, 1), 0);
	assert_int_equal(au_strncpy_from_user(buf, end - 11, 10),
			 -ENAMETOOLONG);
	p[PAGE - 1] = 'a';
	assert_int_equal(au_strncpy_from_user(buf, end - 11, sizeof(buf)),
			 -EFAULT);
	assert_int_equal(au_strncpy_from_user(buf, end - 11, 11),
			 -ENAMETOOLONG);
	munmap(p, 2 * PAGE);
}

static void test_read_only_memory(void **state)
{
	char *p = page_and_hole(PROT_READ), buf[8];

	assert_int_equal(au_copy_from_user(buf, addr_of(p), 8), 0);
	assert_int_equal(au_copy_to_user(addr_of(p), buf, 8), -EFAULT);
	assert_int_equal(au_user_writable(addr_of(p), 8), -EFAULT);
	munmap(p, 2 * PAGE);
}

/* Asking whether memory can be written changes nothing. */
static void test_writable_keeps_contents(void **state)
{
	char *p = page_and_hole(PROT_READ | PROT_WRITE);

	assert_int_equal(au_user_writable(addr_of(p), PAGE), 0);
	for (size_t i = 0; i < PAGE; i++)
		assert_int_equal(p[i], 'a');
	munmap(p, 2 * PAGE);
}

static int on_own_stack_ok;

static void *small_stack(void *arg)
{
	char local[600], out[600] = "";

	memset(local, 'x', sizeof(local));
	on_own_stack_ok =
		!au_copy_from_user(out, addr_of(local), sizeof(local)) &&
		!memcmp(local, out, sizeof(local)) &&
		/* beyond this thread's stack lies nothing, or not ours */
		au_copy_from_user(out, addr_of(arg), 8) == -EFAULT;
	return NULL;
}

/* The bounds of the stack are the calling thread's, a caller-made one too. */
static void test_stack_of_another_thread(void **state)
{
	const size_t size = 256 * PAGE;
	char *p = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	pthread_attr_t attr;
	pthread_t t;

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mprotect(p + size, PAGE, PROT_NONE), 0);
	pthread_attr_init(&attr);
	assert_int_equal(pthread_attr_setstack(&attr, p, size), 0);
	assert_int_equal(pthread_create(&t, &attr, small_stack, p + size), 0);
	pthread_join(t, NULL);
	pthread_attr_destroy(&attr);
	assert_true(on_own_stack_ok);
	munmap(p, size + PAGE);
}

/* A sandbox that refuses process_vm_readv: the pipe answers the same. */
static int refuse_vm(uint32_t error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 1,
			 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
	};
	struct sock_fprog prog = { .len = AU_ARRAY_SIZE(code), .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

/* In a child: exits with the line that failed, or 0. */
#define CHILD_CHECK(cond)                          \
	do {                                       \
		if (!(cond))                       \
			_exit(__LINE__ % 250 + 1); \
	} while (0)

static void fallback_child(char *p, uint32_t error)
{
	static char big[3 * PAGE], out[3 * PAGE];
	volatile uint64_t nowhere = 0;
	uint64_t end = addr_of(p) + PAGE;
	char buf[64];

	if (refuse_vm(error))
		_exit(77);
	memset(big, 'b', sizeof(big));
	CHILD_CHECK(!au_copy_from_user(buf, end - 64, 64) && buf[63] == 'a');
	CHILD_CHECK(au_copy_from_user(buf, end - 63, 64) == -EFAULT);
	CHILD_CHECK(!au_copy_to_user(end - 8, "12345678", 8));
	CHILD_CHECK(!memcmp(p + PAGE - 8, "12345678", 8));
	CHILD_CHECK(au_copy_to_user(end - 7, buf, 8) == -EFAULT);
	CHILD_CHECK(au_copy_from_user(buf, nowhere, 8) == -EFAULT);
	CHILD_CHECK(au_copy_to_user(1, buf, 8) == -EFAULT);
	/* More than a pipe takes at once, to memory that is no fast case. */
	CHILD_CHECK(!au_copy_to_user(addr_of(out), big, sizeof(big)));
	CHILD_CHECK(!memcmp(big, out, sizeof(big)));
	_exit(0);
}

static void test_pipe_stands_in_where_vm_calls_are_refused(void **state)
{
	const uint32_t errors[] = { EPERM, ENOSYS };

	for (size_t i = 0; i < AU_ARRAY_SIZE(errors); i++) {
		char *p = page_and_hole(PROT_READ | PROT_WRITE);
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (!pid)
			fallback_child(p, errors[i]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		munmap(p, 2 * PAGE);
		if (status == 77 << 8)
			skip(); /* no seccomp filters here */
		assert_int_equal(status, 0);
	}
}

/* Hidden descriptors. */

static void test_hidden_fds_are_high_known_and_cloexec(void **state)
{
	int fd = eventfd(0, 0), hidden = au_fd_dup_hidden(fd), moved;
	struct au_fd_id id;

	assert_true(hidden > fd && hidden >= 100);
	assert_true(au_fd_hidden(hidden));
	assert_false(au_fd_hidden(fd));
	assert_true(fcntl(hidden, F_GETFD) & FD_CLOEXEC);
	moved = au_fd_hide(fd);
	assert_true(moved > fd && au_fd_hidden(moved));
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(au_fd_identify(fd, &id), -EBADF);
	au_fd_close_hidden(moved);
	assert_false(au_fd_hidden(moved));
	assert_int_equal(fcntl(moved, F_GETFD), -1);
	au_fd_close_hidden(hidden);
	au_fd_close_hidden(-1);
	assert_int_equal(au_fd_hide(-EMFILE), -EMFILE);
	assert_int_equal(au_fd_dup_hidden(-1), -EBADF);
	assert_false(au_fd_hidden(-1));
	assert_false(au_fd_hidden(INT32_MAX));
}

static void test_identity_survives_dup_only(void **state)
{
	struct au_fd_id a, b, c;
	int p[2], q;

	assert_int_equal(pipe(p), 0);
	q = dup(p[0]);
	assert_int_equal(au_fd_identify(p[0], &a), 0);
	assert_int_equal(au_fd_identify(q, &b), 0);
	assert_true(a.dev == b.dev && a.ino == b.ino);
	close(p[0]);
	close(p[1]);
	close(q);
	assert_int_equal(pipe(p), 0);
	assert_int_equal(au_fd_identify(p[0], &c), 0);
	assert_false(c.dev == a.dev && c.ino == a.ino);
	close(p[0]);
	close(p[1]);
}

static void test_child_of_fork_lets_go(void **state)
{
	int fd = eventfd(0, 0), hidden = au_fd_dup_hidden(fd), status;
	int kept = au_fd_dup_hidden(fd);
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		au_fd_keep(kept);
		au_fd_close_all_hidden();
		CHILD_CHECK(au_fd_hidden(kept));
		CHILD_CHECK(fcntl(kept, F_GETFD) >= 0);
		CHILD_CHECK(!au_fd_hidden(hidden));
		CHILD_CHECK(fcntl(hidden, F_GETFD) == -1);
		CHILD_CHECK(fcntl(fd, F_GETFD) >= 0);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(fcntl(hidden, F_GETFD) >= 0);
	au_fd_close_hidden(hidden);
	au_fd_close_hidden(kept);
	close(fd);
}

static void test_a_file_is_found_among_numbers(void **state)
{
	struct au_fd_id id;
	int p[2], q, hidden;

	assert_int_equal(pipe(p), 0);
	assert_int_equal(au_fd_identify(p[0], &id), 0);
	q = fcntl(p[0], F_DUPFD, 500);
	hidden = au_fd_dup_hidden(p[0]);
	assert_true(hidden >= 0);
	/* Both ends of a pipe are one file. */
	close(p[0]);
	close(p[1]);
	assert_int_equal(au_fd_find(&id), q);
	close(q);
	assert_int_equal(au_fd_find(&id), -ENOENT);
	au_fd_close_hidden(hidden);
}

static void test_memory_tells_whether_it_is_shared(void **state)
{
	struct au_mapping last = { 0 };
	char *s = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(au_memory_shared((uintptr_t)s, 8192, &last));
	assert_true(au_memory_shared((uintptr_t)s + 4096, 4096, &last));
	assert_false(au_memory_shared((uintptr_t)p, 8192, &last));
	assert_false(au_memory_shared(4096, 1, &last));
	munmap(s, 8192);
	munmap(p, 8192);
}

static void robust_child_dies_with(uint32_t *word)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		CHILD_CHECK(!au_robust_lock(word, getpid()));
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_robust_lock_outlives_its_owner(void **state)
{
	uint32_t *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status, p[2];
	pid_t pid;

	assert_false(au_robust_lock(word, getpid()));
	au_robust_unlock(word, getpid());
	assert_int_equal(*word, 0);

	/* Died before anybody came for it. */
	robust_child_dies_with(word);
	assert_false(au_robust_trylock(word, getpid()));
	assert_true(au_robust_lock(word, getpid()));
	au_robust_unlock(word, getpid());
	assert_false(au_robust_lock(word, getpid()));
	au_robust_unlock(word, getpid());

	robust_child_dies_with(word);
	assert_true(au_robust_steal(word, getpid()));
	au_robust_unlock(word, getpid());
	assert_int_equal(*word, 0);

	/* Dies while somebody waits for it, and before it is reaped. */
	assert_int_equal(pipe(p), 0);
	pid = fork();
	if (!pid) {
		CHILD_CHECK(!au_robust_lock(word, getpid()));
		CHILD_CHECK(write(p[1], "", 1) == 1);
		CHILD_CHECK(!au_robust_trylock(word, getppid()));
		usleep(20000);
		_exit(0);
	}
	assert_int_equal(read(p[0], &status, 1), 1);
	assert_false(au_robust_steal(word, getpid()));
	assert_true(au_robust_lock(word, getpid()));
	au_robust_unlock(word, getpid());
	assert_int_equal(*word, 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(p[0]);
	close(p[1]);
	munmap(word, 4096);
}

/* Clocks and waits. */

static void test_timespecs_and_sums_saturate(void **state)
{
	struct au_timespec ts = { .tv_sec = 1, .tv_nsec = 5 };

	assert_int_equal(au_timespec_ns(&ts), 1000000005);
	ts.tv_sec = INT64_MAX;
	assert_true(au_timespec_ns(&ts) == AU_NSEC_FOREVER);
	assert_true(au_ns_add(AU_NSEC_FOREVER - 1, 2) == AU_NSEC_FOREVER);
	assert_true(au_ns_add(AU_NSEC_FOREVER, AU_NSEC_FOREVER) ==
		    AU_NSEC_FOREVER);
	assert_int_equal(au_ns_add(1, 2), 3);
}

static void test_clocks_go_forward(void **state)
{
	uint64_t last = au_now_ns();

	for (int i = 0; i < 1000; i++) {
		uint64_t now = au_now_ns();

		assert_true(now >= last);
		last = now;
	}
	assert_true(au_clock_ns(CLOCK_BOOTTIME) >= last);
	assert_true(au_timer_slack_ns() < AU_NSEC_PER_SEC);
}

static void test_errno_survives_a_failing_call(void **state)
{
	errno = 4711;
	assert_int_equal(au_syscall(SYS_close, -1), -EBADF);
	assert_int_equal(errno, 4711);
}

static void test_epoll_wait_ends_in_time(void **state)
{
	int ep = epoll_create1(0);
	struct epoll_event ev;
	uint64_t from = au_now_ns(), until = from + 2 * AU_NSEC_PER_MSEC;

	assert_int_equal(au_epoll_wait_ns(ep, &ev, 1, until, NULL), 0);
	assert_true(au_now_ns() + AU_NSEC_PER_MSEC >= until);
	/* A time gone by does not wait. */
	assert_int_equal(au_epoll_wait_ns(ep, &ev, 1, from, NULL), 0);
	assert_int_equal(au_epoll_wait_ns(ep, &ev, 1, 0, NULL), 0);
	close(ep);
	assert_int_equal(au_epoll_wait_ns(ep, &ev, 1, 0, NULL), -EBADF);
}

static void test_poll_now(void **state)
{
	int p[2];

	assert_int_equal(pipe(p), 0);
	assert_int_equal(au_poll_now(p[0], POLLIN), 0);
	assert_int_equal(write(p[1], "x", 1), 1);
	assert_int_equal(au_poll_now(p[0], POLLIN), POLLIN);
	close(p[1]);
	assert_int_equal(au_poll_now(p[0], POLLIN), POLLIN | POLLHUP);
	close(p[0]);
	assert_int_equal(au_poll_now(p[0], POLLIN), -EBADF);
}

static void test_futex_wait_checks_value_and_deadline(void **state)
{
	uint32_t word = 1;
	uint64_t ns = au_now_ns() + AU_NSEC_PER_MSEC;
	struct timespec ts = { .tv_sec = (time_t)(ns / AU_NSEC_PER_SEC),
			       .tv_nsec = (long)(ns % AU_NSEC_PER_SEC) };

	assert_int_equal(au_futex_wait(&word, 2, NULL), -EAGAIN);
	assert_int_equal(au_futex_wait(&word, 1, &ts), -ETIMEDOUT);
	assert_int_equal(au_futex_wake(&word, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies_of_memory_that_is_there),
		cmocka_unit_test(test_bad_pointers_give_efault),
		cmocka_unit_test(test_page_borders),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_read_only_memory),
		cmocka_unit_test(test_writable_keeps_contents),
		cmocka_unit_test(test_stack_of_another_thread),
		cmocka_unit_test(
			test_pipe_stands_in_where_vm_calls_are_refused),
		cmocka_unit_test(test_hidden_fds_are_high_known_and_cloexec),
		cmocka_unit_test(test_identity_survives_dup_only),
		cmocka_unit_test(test_child_of_fork_lets_go),
		cmocka_unit_test(test_a_file_is_found_among_numbers),
		cmocka_unit_test(test_memory_tells_whether_it_is_shared),
		cmocka_unit_test(test_robust_lock_outlives_its_owner),
		cmocka_unit_test(test_timespecs_and_sums_saturate),
		cmocka_unit_test(test_clocks_go_forward),
		cmocka_unit_test(test_errno_survives_a_failing_call),
		cmocka_unit_test(test_epoll_wait_ends_in_time),
		cmocka_unit_test(test_poll_now),
		cmocka_unit_test(test_futex_wait_checks_value_and_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
