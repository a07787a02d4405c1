/* SPDX-License-Identifier: MIT */
/* Waiting on descriptors, with nanoseconds, on kernels that lack them too. */
#ifndef AU_SYS_POLL_H
#define AU_SYS_POLL_H

#include <signal.h>
#include <stdint.h>
#include <poll.h>
#include <sys/epoll.h>

/*
 * epoll_wait(2) until `deadline_ns` (CLOCK_MONOTONIC; AU_NSEC_FOREVER, or 0
 * not to wait at all). The number of events, or -errno. The caller's timer
 * slack is taken off the wait, so that it ends at its time and not later.
 */
int au_epoll_wait_ns(int epfd, struct epoll_event *ev, int max,
		     uint64_t deadline_ns, const sigset_t *sigmask);

/* poll(2); `timeout_ms` -1 waits for ever. */
int au_poll_fds(struct pollfd *fds, unsigned int nr, int timeout_ms);

/* The events of `mask` that `fd` has now, or -errno. */
int au_poll_now(int fd, short mask);

#endif
