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
#include "base/atomic.h"
#include "base/util.h"

/*
 * Sanitizers take these copies for the engine's own, and know of what lies
 * between the application's variables: under them none is plain.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(AU_TSAN)
#define AU_UACCESS_PLAIN false
#elif defined(__has_feature)
#define AU_UACCESS_PLAIN (!__has_feature(address_sanitizer))
#else
#define AU_UACCESS_PLAIN true
#endif

/* The calling thread's stack, once somebody asked for it. */
extern __thread struct au_stack {
	uint64_t lo, hi;
} au_stack;

/*
 * Does the range lie between this frame and the end of the stack, all of which
 * is mapped? On a stack the thread switched to by itself it never does.
 */
static inline bool au_on_stack(uint64_t addr, size_t n)
{
	uint64_t sp = (uint64_t)(uintptr_t)__builtin_frame_address(0);

	return AU_UACCESS_PLAIN && sp >= au_stack.lo && addr >= sp &&
	       addr < au_stack.hi && n <= au_stack.hi - addr;
}

int au_copy_from_user_slow(void *dst, uint64_t src, size_t n) au_must_check;

/* 0, or -EFAULT with nothing promised about `dst`. */
static inline int au_must_check au_copy_from_user(void *dst, uint64_t src,
						  size_t n)
{
	if (au_unlikely(!au_on_stack(src, n)))
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

/* Could the range be user memory at all, mapped or not? */
bool au_user_range(uint64_t addr, uint64_t n);

/* Is every page of the range mapped and writable? 0 or -EFAULT. */
int au_user_writable(uint64_t addr, size_t n) au_must_check;

#endif
