/* SPDX-License-Identifier: MIT */
/* preadv2 and pwritev2, with an RWF_NOWAIT that keeps its word. */
#ifndef AU_SYS_RW_H
#define AU_SYS_RW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include "base/atomic.h"
#include "base/util.h"
#include "sys/syscall.h"

/* 0 not asked yet, 1 honoured or refused, -1 silently ignored */
extern int au_nowait_known;

bool au_nowait_ask(void);

/*
 * True where a read or write of a stream with RWF_NOWAIT does not sleep.
 * gVisor takes the flag for pipes, eventfds and the like and ignores it.
 */
static inline bool au_nowait_honest(void)
{
	int known = au_load_relaxed(&au_nowait_known);

	return known ? known > 0 : au_nowait_ask();
}

/* The call answered `res`, which may be the answer of one that is missing. */
long au_rw_without(bool write, int fd, const struct iovec *iov, uint32_t nr,
		   uint64_t pos, uint32_t flags, long res);

/* At `pos`, or with UINT64_MAX at the file's own position. */
static inline long au_rw(bool write, int fd, const struct iovec *iov,
			 uint32_t nr, uint64_t pos, uint32_t flags)
{
	long res;

	if (au_unlikely(pos == UINT64_MAX && (flags & RWF_NOWAIT) &&
			!au_nowait_honest()))
		return -EOPNOTSUPP;
	res = au_syscall(write ? SYS_pwritev2 : SYS_preadv2, fd, iov, nr, pos,
			 pos >> 32, flags);
	if (au_unlikely(res == -ENOSYS || res == -EPERM))
		return au_rw_without(write, fd, iov, nr, pos, flags, res);
	return res;
}

#endif
