/* SPDX-License-Identifier: MIT */
#include "sys/poll.h"

#include <errno.h>
#include <stdbool.h>
#include "base/atomic.h"
#include "sys/clock.h"
#include "sys/syscall.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* Sticky: no epoll_pwait2 here (before Linux 5.11, or filtered). */
static int poll_no_pwait2;

static struct timespec ns_timespec(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / AU_NSEC_PER_SEC),
		.tv_nsec = (long)(ns % AU_NSEC_PER_SEC),
	};
}

/* The wait itself with ppoll(2), which has nanoseconds everywhere. */
static int epoll_by_ppoll(int epfd, struct epoll_event *ev, int max,
			  const struct timespec *ts, const sigset_t *sigmask)
{
	struct pollfd p = { .fd = epfd, .events = POLLIN };
	struct timespec copy = ts ? *ts : (struct timespec){ 0 };
	int r = (int)au_syscall(SYS_ppoll, &p, 1, ts ? &copy : NULL, sigmask,
				_NSIG / 8);

	if (r <= 0)
		return r;
	return (int)au_syscall(SYS_epoll_pwait, epfd, ev, max, 0, NULL, 0);
}

int au_epoll_wait_ns(int epfd, struct epoll_event *ev, int max,
		     uint64_t deadline_ns, const sigset_t *sigmask)
{
	struct timespec ts, *tsp = NULL;
	int r;

	if (deadline_ns == 0)
		return (int)au_syscall(SYS_epoll_pwait, epfd, ev, max, 0, NULL,
				       0);
	if (deadline_ns != AU_NSEC_FOREVER) {
		uint64_t now = au_now_ns() + au_timer_slack_ns();

		/* Even a wait that is over lets signals in. */
		ts = ns_timespec(deadline_ns > now ? deadline_ns - now : 1);
		tsp = &ts;
	}
	if (!au_load_relaxed(&poll_no_pwait2)) {
		r = (int)au_syscall(SYS_epoll_pwait2, epfd, ev, max, tsp,
				    sigmask, _NSIG / 8);
		if (r != -ENOSYS && r != -EPERM)
			return r;
		au_store_relaxed(&poll_no_pwait2, 1);
	}
	return epoll_by_ppoll(epfd, ev, max, tsp, sigmask);
}

int au_poll_fds(struct pollfd *fds, unsigned int nr, int timeout_ms)
{
	struct timespec ts =
		ns_timespec((uint64_t)timeout_ms * AU_NSEC_PER_MSEC);

	return (int)au_syscall(SYS_ppoll, fds, nr, timeout_ms < 0 ? NULL : &ts,
			       NULL, 0);
}

int au_poll_now(int fd, short mask)
{
	struct pollfd p = { .fd = fd, .events = mask };
	int r = au_poll_fds(&p, 1, 0);

	if (r <= 0)
		return r;
	return p.revents & POLLNVAL ? -EBADF : p.revents;
}
