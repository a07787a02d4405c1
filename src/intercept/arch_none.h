/* SPDX-License-Identifier: MIT */
/*
 * The processor's part of the preload where there is none: calls by symbol
 * work, inline calls are not caught. See arch_x86_64.h for the contract.
 */
#ifndef AU_INTERCEPT_ARCH_NONE_H
#define AU_INTERCEPT_ARCH_NONE_H

#include <errno.h>
#include <stddef.h>
#include <sys/types.h>

#define AU_ARCH_TRAP 0

static inline long au_arch_syscall(long nr, ...)
{
	errno = ENOSYS;
	return -1;
}

static inline void *au_arch_mmap(void *addr, size_t len, int prot, int flags,
				 int fd, off_t off)
{
	errno = ENOSYS;
	return (void *)-1;
}

static inline int au_arch_munmap(void *addr, size_t len)
{
	errno = ENOSYS;
	return -1;
}

static inline int au_arch_close(int fd)
{
	errno = ENOSYS;
	return -1;
}

static inline void au_arch_set_vfork(void *fn)
{
}

#endif
