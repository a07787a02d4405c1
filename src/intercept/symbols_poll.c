/* SPDX-License-Identifier: MIT */
/*
 * libc's polls: rings about to be watched are told so, and their readiness is
 * brought up to date. Any thread; before the first ring each costs a load.
 * When inline calls are trapped, a wait's own mask does not block SIGSYS.
 */
#include "intercept/intercept.h"

#include "anyuring.h"
#include "core/hooks.h"

/* The fortified entry points have no public declaration. */
int __poll_chk(struct pollfd *fds, nfds_t nr, int timeout, size_t len);
int __ppoll_chk(struct pollfd *fds, nfds_t nr, const struct timespec *ts,
		const sigset_t *mask, size_t len);

static inline void poll_before(const struct pollfd *fds, nfds_t nr)
{
	if (au_unlikely(au_fds_matter()))
		au_watch_poll(fds, nr);
}

static inline void epoll_before(void)
{
	if (au_unlikely(au_fds_matter()))
		au_hooks_before_poll();
}

AU_EXPORT int poll(struct pollfd *fds, nfds_t nr, int timeout)
{
	poll_before(fds, nr);
	return au_real()->poll(fds, nr, timeout);
}

AU_EXPORT int __poll(struct pollfd *fds, nfds_t nr, int timeout) AU_ALIAS(poll);

AU_EXPORT int ppoll(struct pollfd *fds, nfds_t nr, const struct timespec *ts,
		    const sigset_t *mask)
{
	sigset_t copy;

	poll_before(fds, nr);
	return au_real()->ppoll(fds, nr, ts, au_mask(mask, &copy));
}

AU_EXPORT int __poll_chk(struct pollfd *fds, nfds_t nr, int timeout, size_t len)
{
	const struct au_real *real = au_real();

	poll_before(fds, nr);
	if (!real->poll_chk)
		return real->poll(fds, nr, timeout);
	return real->poll_chk(fds, nr, timeout, len);
}

AU_EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t nr,
			  const struct timespec *ts, const sigset_t *mask,
			  size_t len)
{
	const struct au_real *real = au_real();
	sigset_t copy;

	poll_before(fds, nr);
	mask = au_mask(mask, &copy);
	if (!real->ppoll_chk)
		return real->ppoll(fds, nr, ts, mask);
	return real->ppoll_chk(fds, nr, ts, mask, len);
}

AU_EXPORT int select(int nr, fd_set *r, fd_set *w, fd_set *e,
		     struct timeval *tv)
{
	if (au_unlikely(au_fds_matter()))
		au_watch_select(nr, r, w, e);
	return au_real()->select(nr, r, w, e, tv);
}

AU_EXPORT int pselect(int nr, fd_set *r, fd_set *w, fd_set *e,
		      const struct timespec *ts, const sigset_t *mask)
{
	sigset_t copy;

	if (au_unlikely(au_fds_matter()))
		au_watch_select(nr, r, w, e);
	return au_real()->pselect(nr, r, w, e, ts, au_mask(mask, &copy));
}

AU_EXPORT int epoll_wait(int ep, struct epoll_event *ev, int max, int timeout)
{
	epoll_before();
	return au_real()->epoll_wait(ep, ev, max, timeout);
}

AU_EXPORT int epoll_pwait(int ep, struct epoll_event *ev, int max, int timeout,
			  const sigset_t *mask)
{
	sigset_t copy;

	epoll_before();
	return au_real()->epoll_pwait(ep, ev, max, timeout,
				      au_mask(mask, &copy));
}

AU_EXPORT int epoll_pwait2(int ep, struct epoll_event *ev, int max,
			   const struct timespec *ts, const sigset_t *mask)
{
	const struct au_real *real = au_real();
	sigset_t copy;

	epoll_before();
	mask = au_mask(mask, &copy);
	if (real->epoll_pwait2)
		return real->epoll_pwait2(ep, ev, max, ts, mask);
	return (int)real->syscall(441, (long)ep, ev, (long)max, ts, mask, 8L);
}

AU_EXPORT int epoll_ctl(int ep, int op, int fd, struct epoll_event *ev)
{
	if (au_unlikely(au_fds_matter()) && op != EPOLL_CTL_DEL && fd >= 0 &&
	    anyuring_is_ring(fd))
		au_hooks_fd_watched(fd);
	return au_real()->epoll_ctl(ep, op, fd, ev);
}
