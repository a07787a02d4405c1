/* SPDX-License-Identifier: MIT */
/*
 * Asked once, of a timer that is about to expire: whoever reads its count
 * did wait for it. Only three counts in a row tell, as any thread may be late
 * by a millisecond once.
 */
#include "sys/nowait.h"

#include <sys/timerfd.h>
#include <sys/uio.h>
#include "sys/syscall.h"

#define NOWAIT_WAIT_NS 1000000
#define NOWAIT_TRIES   3

int au_nowait_known;

static bool nowait_waited(int fd)
{
	struct itimerspec soon = { .it_value.tv_nsec = NOWAIT_WAIT_NS };
	uint64_t count;
	struct iovec iov = { .iov_base = &count, .iov_len = sizeof(count) };

	return au_syscall(SYS_timerfd_settime, fd, 0, &soon, NULL) >= 0 &&
	       au_syscall(SYS_preadv2, fd, &iov, 1, -1L, -1L, RWF_NOWAIT) > 0;
}

bool au_nowait_ask(void)
{
	int fd, tries = 0;

	fd = (int)au_syscall(SYS_timerfd_create, CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (fd < 0)
		return true; /* out of descriptors: ask another time */
	while (tries < NOWAIT_TRIES && nowait_waited(fd))
		tries++;
	(void)au_syscall(SYS_close, fd);
	au_store_relaxed(&au_nowait_known, tries == NOWAIT_TRIES ? -1 : 1);
	return tries < NOWAIT_TRIES;
}
