/* SPDX-License-Identifier: MIT */
/*
 * What kernels and sandboxes make of preadv2 and RWF_NOWAIT, asked when it
 * first matters. Any thread; two that ask at once get the same answer.
 */
#include "sys/rw.h"

#include <sys/timerfd.h>

#define NOWAIT_WAIT_NS 1000000
#define NOWAIT_TRIES   3

int au_nowait_known;

/*
 * A timer is about to expire: whoever reads its count did wait for it. Only
 * three counts in a row tell, as any thread may be late by a millisecond.
 */
static bool nowait_waited(int fd)
{
	struct itimerspec soon = { .it_value.tv_nsec = NOWAIT_WAIT_NS };
	uint64_t count;
	struct iovec iov = { .iov_base = &count, .iov_len = sizeof(count) };

	return au_syscall(SYS_timerfd_settime, fd, 0, &soon, NULL) >= 0 &&
	       au_syscall(SYS_preadv2, fd, &iov, 1, -1L, -1L, RWF_NOWAIT) > 0;
}

static bool rw_missing(bool write)
{
	return au_syscall(write ? SYS_pwritev2 : SYS_preadv2, -1, NULL, 0, 0, 0,
			  0) != -EBADF;
}

au_cold enum au_nowait au_nowait_ask(void)
{
	enum au_nowait known = AU_NOWAIT_HONEST;
	int fd, tries = 0;

	if (rw_missing(false)) {
		au_store_relaxed(&au_nowait_known, AU_NOWAIT_MISSING);
		return AU_NOWAIT_MISSING;
	}
	fd = (int)au_syscall(SYS_timerfd_create, CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		return known; /* ask another time */
	while (fd >= 0 && tries < NOWAIT_TRIES && nowait_waited(fd))
		tries++;
	if (fd >= 0)
		(void)au_syscall(SYS_close, fd);
	if (tries == NOWAIT_TRIES)
		known = AU_NOWAIT_IGNORED;
	au_store_relaxed(&au_nowait_known, (int)known);
	return known;
}

au_cold long au_rw_without(bool write, int fd, const struct iovec *iov,
			   uint32_t nr, uint64_t pos, uint32_t flags, long res)
{
	/* Where the call exists the error is the file's (a seal, say). */
	if (!rw_missing(write))
		return res;
	if (flags)
		return -EOPNOTSUPP;
	if (pos == UINT64_MAX)
		return au_syscall(write ? SYS_writev : SYS_readv, fd, iov, nr);
	return au_syscall(write ? SYS_pwritev : SYS_preadv, fd, iov, nr, pos,
			  pos >> 32);
}
