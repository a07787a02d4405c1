/* SPDX-License-Identifier: MIT */
/*
 * Reading and writing memory that an application's pointer names, and that may
 * not be there: -EFAULT instead of a crash, without catching SIGSEGV.
 *
 * Most such pointers name the caller's own stack or the program's data, which
 * are certainly mapped: those are plain copies. Everything else goes through
 * process_vm_readv(2) on the own process, which answers EFAULT as the kernel's
 * copy_from_user() would, or where that is refused through a pipe, whose
 * write(2) does the same.
 */
#ifndef AU_SYS_UACCESS_H
#define AU_SYS_UACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/util.h"

/* Is the range certainly mapped: the caller's stack, the program's data? */
bool au_user_known(uint64_t addr, size_t n);
int au_copy_from_user_slow(void *dst, uint64_t src, size_t n) au_must_check;

/* 0, or -EFAULT with nothing promised about `dst`. */
static inline int au_must_check au_copy_from_user(void *dst, uint64_t src,
						  size_t n)
{
	if (au_unlikely(!au_user_known(src, n)))
		return au_copy_from_user_slow(dst, src, n);
	memcpy(dst, au_ptr(src), n);
	return 0;
}

int au_copy_to_user(uint64_t dst, const void *src, size_t n) au_must_check;

/*
 * A string of at most `max` bytes with its end: its length, -EFAULT or
 * -ENAMETOOLONG. `dst` holds `max` bytes.
 */
long au_strncpy_from_user(char *dst, uint64_t src, size_t max) au_must_check;

/* Is every page of the range mapped and writable? 0 or -EFAULT. */
int au_user_writable(uint64_t addr, size_t n) au_must_check;

#endif
