/* SPDX-License-Identifier: MIT */
/*
 * Prints what the three io_uring calls answer to arguments that a kernel
 * would only find fault with: EFAULT EBADF EBADF where it serves them.
 *
 * calls [x32|i386]: made through the other ABIs of x86-64, which a filter
 * could forget. Exits with 77 where they do not exist.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define X32_BIT 0x40000000L
/* Open nowhere; -1 would have a meaning of its own to register. */
#define NO_RING 0x7fffffffL

static int result(long r)
{
	return r < 0 ? errno : 0;
}

static int call(long bit, long nr)
{
	return nr == SYS_io_uring_setup ?
		       result(syscall(nr | bit, 1, NULL)) :
		       result(syscall(nr | bit, NO_RING, 0, 0, 0, 0, 0));
}

/* int $0x80 takes i386's numbers and registers. */
static int call_i386(long nr)
{
#ifdef __x86_64__
	long r;

	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "0"(nr), "b"(NO_RING), "c"(0L), "d"(0L), "S"(0L),
			   "D"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)r < 0 ? -(int)r : 0;
#else
	return ENOSYS;
#endif
}

int main(int argc, char **argv)
{
	const char *abi = argc > 1 ? argv[1] : "";
	long nr;

#ifndef __x86_64__
	if (*abi) {
		puts("no other ABI on this machine");
		return 77;
	}
#endif
	for (nr = SYS_io_uring_setup; nr <= SYS_io_uring_register; nr++) {
		int e = !strcmp(abi, "i386") ?
				call_i386(nr) :
				call(!strcmp(abi, "x32") ? X32_BIT : 0, nr);

		printf("%s%s", nr == SYS_io_uring_setup ? "" : " ",
		       e ? strerrorname_np(e) : "ok");
	}
	putchar('\n');
	return 0;
}
