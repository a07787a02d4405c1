/* SPDX-License-Identifier: MIT */
/*
 * An engine for the tests of the preload: the kernel's own io_uring behind
 * the engine's interface, and a count of every call that arrives. What a
 * program does natively it must do through the preload, and the counts say
 * that it did go through.
 *
 * Any thread, and the SIGSYS handler. Every call leaves by the gate.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "anyuring.h"
#include "core/memory.h"
#include "base/atomic.h"
#include "core/hooks.h"
#include "passthrough.h"
#include "sys/syscall.h"

#define PASS_RINGS 1024

static unsigned long pass_counts[PASS_NR];
static unsigned char pass_ring[PASS_RINGS]; /* by number, as they were made */
static int pass_active;
static int pass_hidden = -1;

static void pass_note(enum pass_count what)
{
	__atomic_fetch_add(&pass_counts[what], 1, __ATOMIC_RELAXED);
}

extern unsigned long au_trap_count;

ANYURING_API unsigned long au_test_count(int what)
{
	if (what == PASS_TRAPS)
		return __atomic_load_n(&au_trap_count, __ATOMIC_RELAXED);
	return __atomic_load_n(&pass_counts[what], __ATOMIC_RELAXED);
}

ANYURING_API int au_test_hidden(void)
{
	return pass_hidden;
}

/* At exit, the counts go where AU_TEST_COUNTS says: for programs not ours. */
__attribute__((destructor)) static void pass_report(void)
{
	const char *path = getenv("AU_TEST_COUNTS");
	char line[256];
	long fd;
	size_t at = 0;

	if (!path || !pass_counts[PASS_SETUP])
		return;
	for (int i = 0; i < PASS_NR; i++) {
		char digits[24];
		unsigned long v = pass_counts[i];
		int n = 0;

		do
			digits[n++] = (char)('0' + v % 10);
		while (v /= 10);
		while (n)
			line[at++] = digits[--n];
		line[at++] = i == PASS_NR - 1 ? '\n' : ' ';
	}
	fd = au_syscall(SYS_openat, (long)AT_FDCWD, path,
			(long)(O_WRONLY | O_CREAT | O_APPEND), 0600L);
	if (fd >= 0) {
		au_syscall(SYS_write, fd, line, at);
		au_syscall(SYS_close, fd);
	}
}

int anyuring_setup(unsigned int entries, struct io_uring_params *p)
{
	long fd = au_syscall(SYS_io_uring_setup, (long)entries, p);
	long ev;

	pass_note(PASS_SETUP);
	if (fd < 0)
		return (int)fd;
	if (fd < PASS_RINGS)
		AU_WRITE_ONCE(pass_ring[fd], 1);
	if (!AU_READ_ONCE(pass_active)) {
		AU_WRITE_ONCE(pass_active, 1);
		ev = au_syscall(SYS_fcntl, fd, (long)F_DUPFD_CLOEXEC, 500L);
		/* Not the ring itself: that would keep it alive. */
		if (ev >= 0) {
			long null = au_syscall(SYS_openat, (long)AT_FDCWD,
					       "/dev/null",
					       (long)(O_RDWR | O_CLOEXEC), 0L);

			if (null >= 0) {
				au_syscall(SYS_dup3, null, ev, (long)O_CLOEXEC);
				au_syscall(SYS_close, null);
				pass_hidden = (int)ev;
			} else {
				au_syscall(SYS_close, ev);
			}
		}
	}
	return (int)fd;
}

int anyuring_enter(unsigned int fd, unsigned int to_submit,
		   unsigned int min_complete, unsigned int flags,
		   const void *arg, size_t argsz)
{
	pass_note(PASS_ENTER);
	return (int)au_syscall(SYS_io_uring_enter, (long)fd, (long)to_submit,
			       (long)min_complete, (long)flags, arg, argsz);
}

int anyuring_register(unsigned int fd, unsigned int opcode, void *arg,
		      unsigned int nr_args)
{
	pass_note(PASS_REGISTER);
	return (int)au_syscall(SYS_io_uring_register, (long)fd, (long)opcode,
			       arg, (long)nr_args);
}

void *anyuring_mmap(void *addr, size_t length, int prot, int flags, int fd,
		    off_t offset)
{
	pass_note(PASS_MMAP);
	return (void *)au_syscall(SYS_mmap, addr, length, (long)prot,
				  (long)flags, (long)fd, offset);
}

int anyuring_munmap(void *addr, size_t length)
{
	return (int)au_syscall(SYS_munmap, addr, length);
}

void au_memory_lend_no_more(void)
{
}

int anyuring_is_ring(int fd)
{
	static const char want[] = "anon_inode:[io_uring]";
	char path[40] = "/proc/self/fd/", link[sizeof(want)];
	int at = 14, n = 0, v = fd;
	char digits[12];

	if (fd < 0)
		return 0;
	if (fd < PASS_RINGS && AU_READ_ONCE(pass_ring[fd]))
		return 1;
	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		path[at++] = digits[--n];
	if (au_syscall(SYS_readlink, path, link, sizeof(link)) !=
	    sizeof(want) - 1)
		return 0;
	return !__builtin_memcmp(link, want, sizeof(want) - 1);
}

int anyuring_close(int fd)
{
	return (int)au_syscall(SYS_close, (long)fd);
}

bool au_hooks_active(void)
{
	return AU_READ_ONCE(pass_active);
}

bool au_hooks_fd_hidden(int fd)
{
	return fd == pass_hidden;
}

void au_hooks_fd_closing(int fd)
{
	pass_note(PASS_CLOSING);
}

void au_hooks_fd_closed(int fd)
{
	pass_note(PASS_CLOSED);
	if (fd < PASS_RINGS)
		AU_WRITE_ONCE(pass_ring[fd], 0);
}

void au_hooks_fd_watched(int fd)
{
	pass_note(PASS_WATCHED);
}

void au_hooks_before_poll(void)
{
	pass_note(PASS_POLLS);
}

/* The kernel sees to it itself. */
bool au_hooks_msg_passes_ring(const struct msghdr *msg)
{
	return false;
}

void au_hooks_exec(const char *path)
{
}

void au_hooks_fork_prepare(void)
{
}

void au_hooks_fork_child(void)
{
	pass_note(PASS_FORKS);
}
