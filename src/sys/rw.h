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

enum au_nowait {
	AU_NOWAIT_UNKNOWN, /* not asked yet */
	AU_NOWAIT_HONEST, /* honoured, or refused file by file */
	AU_NOWAIT_MISSING, /* no preadv2 at all */
	AU_NOWAIT_IGNORED, /* taken, and slept with all the same */
};

extern int au_nowait_known;

enum au_nowait au_nowait_ask(void);

static inline enum au_nowait au_nowait(void)
{
	int known = au_load_relaxed(&au_nowait_known);

	return known ? (enum au_nowait)known : au_nowait_ask();
}

/*
 * True where a read or write of a stream with RWF_NOWAIT does not sleep.
 * gVisor takes the flag for pipes, eventfds and the like and ignores it.
 */
static inline bool au_nowait_honest(void)
{
	return au_likely(au_nowait() == AU_NOWAIT_HONEST);
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
