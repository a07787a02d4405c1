/* SPDX-License-Identifier: MIT */
#include "sys/syscall.h"

#include "base/atomic.h"

#ifndef AU_TSAN

au_syscall_fn au_syscall_gate = syscall;

#else

#include <stdarg.h>
#include <stdbool.h>
#include <sys/mman.h>

/*
 * ThreadSanitizer hears of memory and descriptors that come and go through
 * libc's functions only, and would take a new one for the old one at its place.
 * It dies when it hears of an address that it has no shadow for.
 */
static bool tsan_knows(long addr)
{
	return !((unsigned long)addr >> 47);
}

static long tsan_gate(long nr, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if ((nr == SYS_mmap || nr == SYS_munmap) && !tsan_knows(a[0]))
		return syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	switch (nr) {
	case SYS_mmap:
		return (long)mmap((void *)a[0], (size_t)a[1], (int)a[2],
				  (int)a[3], (int)a[4], a[5]);
	case SYS_munmap:
		return munmap((void *)a[0], (size_t)a[1]);
	case SYS_close:
		return close((int)a[0]);
	default:
		return syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	}
}

au_syscall_fn au_syscall_gate = tsan_gate;

#endif
