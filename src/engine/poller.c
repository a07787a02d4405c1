/* SPDX-License-Identifier: MIT */
/*
 * Watches are found by descriptor number. A number can come to mean another
 * file behind our back; the kernel then has dropped the registration, and
 * EPOLL_CTL_MOD says ENOENT. That question is asked at each arming of a watch
 * nobody waited on: not every close is reported (fclose(3) closes within libc).
 */
#include "core/poller.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include "core/issue.h"
#include "core/ring.h"
#include "sys/poll.h"
#include "sys/syscall.h"

#define POLLER_MIN_WATCHES 64
#define POLLER_WAKE        UINT64_MAX

/* Edge-triggered, with the errors epoll always reports. */
#define WATCH_ALWAYS (EPOLLERR | EPOLLHUP)

/* The SQPOLL thread looks without the lock. */
static void poller_count(struct au_poller *p, int by)
{
	au_store_relaxed(&p->nr_waiters, p->nr_waiters + (uint32_t)by);
}

void au_poller_init(struct au_poller *p)
{
	memset(p, 0, sizeof(*p));
	p->epfd = p->wakefd = -1;
	au_list_init(&p->orphans);
	au_slist_init(&p->again);
}

int au_poller_bell(struct au_ring *ring)
{
	struct au_poller *p = &ring->poller;
	int fd;

	if (p->wakefd >= 0)
		return 0;
	fd = au_fd_hide(
		(int)au_syscall(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (fd < 0)
		return fd;
	p->wakefd = fd;
	return 0;
}

int au_poller_open(struct au_ring *ring)
{
	struct au_poller *p = &ring->poller;
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET,
				  .data.u64 = POLLER_WAKE };
	int epfd, r;

	if (au_likely(p->epfd >= 0))
		return 0;
	r = au_poller_bell(ring);
	if (r < 0)
		return r;
	epfd = au_fd_hide((int)au_syscall(SYS_epoll_create1, EPOLL_CLOEXEC));
	if (epfd < 0)
		return epfd;
	r = (int)au_syscall(SYS_epoll_ctl, epfd, EPOLL_CTL_ADD, p->wakefd, &ev);
	if (r < 0) {
		au_fd_close_hidden(epfd);
		return r;
	}
	p->epfd = epfd;
	return 0;
}

void au_poller_wake(struct au_poller *p)
{
	uint64_t one = 1;

	(void)au_syscall(SYS_write, p->wakefd, &one, sizeof(one));
}

static struct au_watch *watch_get(struct au_poller *p, int fd)
{
	struct au_watch **watches, *w;
	uint32_t max = p->watches_max ? p->watches_max : POLLER_MIN_WATCHES;

	if ((uint32_t)fd >= p->watches_max) {
		while (max <= (uint32_t)fd)
			max *= 2;
		watches = realloc(p->watches, max * sizeof(*watches));
		if (!watches)
			return NULL;
		memset(watches + p->watches_max, 0,
		       (max - p->watches_max) * sizeof(*watches));
		p->watches = watches;
		p->watches_max = max;
	}
	w = p->watches[fd];
	if (!w) {
		w = calloc(1, sizeof(*w));
		if (!w)
			return NULL;
		w->fd = fd;
		w->generation = ++p->generation;
		au_list_init(&w->waiters);
		au_list_init(&w->orphan);
		p->watches[fd] = w;
	}
	return w;
}

static int watch_ctl(struct au_poller *p, struct au_watch *w, int op,
		     uint32_t events)
{
	struct epoll_event ev = {
		.events = events | EPOLLET,
		.data.u64 = (uint64_t)w->generation << 32 | (uint32_t)w->fd,
	};

	return (int)au_syscall(SYS_epoll_ctl, p->epfd, op, w->fd, &ev);
}

/* Makes the registration cover `events`: 1 if it is a new one. */
static int watch_register(struct au_poller *p, struct au_watch *w,
			  uint32_t events)
{
	int r = -ENOENT;

	events |= w->events;
	if (w->events) {
		if (events == w->events && w->nr)
			return 0;
		r = watch_ctl(p, w, EPOLL_CTL_MOD, events);
	}
	if (r == -ENOENT) {
		/* Never registered, or the number means another file now. */
		w->generation = ++p->generation;
		r = watch_ctl(p, w, EPOLL_CTL_ADD, events);
		if (r == -EEXIST)
			r = watch_ctl(p, w, EPOLL_CTL_MOD, events);
	}
	if (r < 0)
		return r;
	w->events = events;
	return 1;
}

int au_poller_arm(struct au_ring *ring, struct au_req *req, int fd,
		  uint32_t mask)
{
	struct au_poller *p = &ring->poller;
	struct au_watch *w;
	int r;

	if (fd < 0)
		return -EBADF;
	r = au_poller_open(ring);
	if (r < 0)
		return r;
	w = watch_get(p, fd);
	if (!w)
		return -ENOMEM;
	r = watch_register(p, w, mask);
	if (r < 0)
		return r;
	if (au_req_park(ring, req, AU_AT_POLLER) < 0)
		return -ENOMEM;
	req->watch = w;
	req->poll_mask = mask;
	au_list_add_tail(&w->waiters, &req->waiter);
	w->nr++;
	poller_count(p, 1);
	return r;
}

bool au_poller_takes(struct au_ring *ring, int fd)
{
	struct au_poller *p = &ring->poller;
	struct epoll_event ev = { .events = 0, .data.u64 = POLLER_WAKE };
	long r;

	if (au_poller_open(ring) < 0)
		return true;
	r = au_syscall(SYS_epoll_ctl, p->epfd, EPOLL_CTL_ADD, fd, &ev);
	if (r >= 0)
		(void)au_syscall(SYS_epoll_ctl, p->epfd, EPOLL_CTL_DEL, fd,
				 &ev);
	return r != -EPERM;
}

static void watch_free(struct au_poller *p, struct au_watch *w, bool hidden)
{
	au_list_del(&w->orphan);
	if (hidden)
		au_fd_close_hidden(w->fd);
	free(w);
}

/* Rare, and the list is short: those that wait for their next turn. */
static au_cold void again_remove(struct au_poller *p, struct au_req *req)
{
	struct au_slist_node *n = p->again.head;

	au_slist_init(&p->again);
	while (n) {
		struct au_slist_node *next = n->next;

		if (n != &req->node)
			au_slist_push(&p->again, n);
		n = next;
	}
	au_req_clear(req, AU_REQ_F_AGAIN);
}

void au_poller_cancel(struct au_ring *ring, struct au_req *req)
{
	struct au_watch *w = req->watch;

	au_list_del(&req->waiter);
	poller_count(&ring->poller, -1);
	if (au_unlikely(req->flags & AU_REQ_F_AGAIN))
		again_remove(&ring->poller, req);
	/* The last one on a closed file takes our reference with it. */
	if (!--w->nr && !au_list_empty(&w->orphan) && !w->busy)
		watch_free(&ring->poller, w, true);
}

/* The watch has a new descriptor: so have those that wait. */
static au_cold void watch_follow(struct au_watch *w)
{
	for (struct au_list *n = w->waiters.next; n != &w->waiters; n = n->next)
		au_container_of(n, struct au_req, waiter)->fd = w->fd;
}

/*
 * The file has `events`: tries who waits for them, oldest first. After one
 * that would still block, later ones in the same direction would too.
 */
static void watch_ready(struct au_ring *ring, struct au_watch *w,
			uint32_t events)
{
	struct au_list run, back;
	uint32_t blocked = 0;
	int fd = w->fd;

	au_list_splice(&w->waiters, &run);
	au_list_init(&back);
	w->busy = true;
	while (!au_list_empty(&run)) {
		struct au_req *req =
			au_container_of(run.next, struct au_req, waiter);
		uint32_t mask = req->poll_mask | WATCH_ALWAYS;

		au_list_del(&req->waiter);
		if (!(mask & events) || (req->poll_mask & blocked) ||
		    (req->flags & AU_REQ_F_AGAIN)) {
			au_list_add_tail(&back, &req->waiter);
			continue;
		}
		w->nr--;
		poller_count(&ring->poller, -1);
		/* One before may have closed the descriptor. */
		req->fd = w->fd;
		if (au_req_poll_ready(ring, req, events & mask))
			continue;
		w->nr++;
		poller_count(&ring->poller, 1);
		au_list_add_tail(&back, &req->waiter);
		if (!au_req_is_poll(req))
			blocked |= req->poll_mask & (EPOLLIN | EPOLLOUT);
	}
	w->busy = false;
	/* Whoever was armed meanwhile stands behind those that waited on. */
	while (!au_list_empty(&w->waiters)) {
		struct au_list *n = w->waiters.next;

		au_list_del(n);
		au_list_add_tail(&back, n);
	}
	au_list_splice(&back, &w->waiters);
	if (au_unlikely(w->fd != fd))
		watch_follow(w);
	if (!w->nr && !au_list_empty(&w->orphan))
		watch_free(&ring->poller, w, true);
}

void au_poller_again(struct au_ring *ring, struct au_req *req)
{
	if (req->flags & AU_REQ_F_AGAIN)
		return;
	au_req_set(req, AU_REQ_F_AGAIN);
	au_slist_push(&ring->poller.again, &req->node);
	if (ring->has_leader)
		au_ring_kick(ring);
}

/* One request's next turn; it keeps its place before later ones. */
static void watch_again(struct au_ring *ring, struct au_watch *w,
			struct au_req *req)
{
	struct au_list *behind = req->waiter.next;

	if (w->busy)
		return;
	w->busy = true;
	au_list_del(&req->waiter);
	w->nr--;
	poller_count(&ring->poller, -1);
	if (!au_req_poll_ready(ring, req, req->poll_mask)) {
		w->nr++;
		poller_count(&ring->poller, 1);
		au_list_add_tail(behind, &req->waiter);
	}
	w->busy = false;
	if (!w->nr && !au_list_empty(&w->orphan))
		watch_free(&ring->poller, w, true);
}

bool au_poller_run_again(struct au_ring *ring)
{
	struct au_poller *p = &ring->poller;
	struct au_slist_node *last;

	if (au_likely(au_slist_empty(&p->again)))
		return false;
	last = au_container_of(p->again.tail, struct au_slist_node, next);
	/* Those that ask for one more turn come behind `last`. */
	for (;;) {
		struct au_slist_node *n = au_slist_pop(&p->again);
		struct au_req *req = au_req_of_node(n);

		au_req_clear(req, AU_REQ_F_AGAIN);
		watch_again(ring, req->watch, req);
		if (n == last || au_slist_empty(&p->again))
			return true;
	}
}

static struct au_watch *watch_of_event(struct au_poller *p, uint64_t data)
{
	uint32_t fd = (uint32_t)data, generation = (uint32_t)(data >> 32);
	struct au_watch *w = fd < p->watches_max ? p->watches[fd] : NULL;
	struct au_list *pos, *tmp;

	if (w && w->generation == generation)
		return w;
	au_list_for_each_safe(pos, tmp, &p->orphans) {
		w = au_container_of(pos, struct au_watch, orphan);
		if (w->generation == generation)
			return w;
	}
	return NULL;
}

bool au_poller_dispatch(struct au_ring *ring, const struct epoll_event *ev,
			int nr)
{
	bool any = false;

	for (int i = 0; i < nr; i++) {
		struct au_watch *w;

		if (ev[i].data.u64 == POLLER_WAKE)
			continue;
		w = watch_of_event(&ring->poller, ev[i].data.u64);
		if (!w || !w->nr)
			continue;
		watch_ready(ring, w, ev[i].events);
		any = true;
	}
	return any;
}

static bool poller_is_wake(const struct epoll_event *ev, int nr)
{
	for (int i = 0; i < nr; i++) {
		if (ev[i].data.u64 == POLLER_WAKE)
			return true;
	}
	return false;
}

bool au_poller_reap(struct au_ring *ring)
{
	struct epoll_event ev[AU_POLLER_EVENTS];
	bool any = false, wake = false;
	int n;

	do {
		n = au_epoll_wait_ns(ring->poller.epfd, ev, AU_POLLER_EVENTS, 0,
				     NULL);
		wake |= poller_is_wake(ev, n);
		any |= au_poller_dispatch(ring, ev, n);
	} while (n == AU_POLLER_EVENTS);
	/* An edge is seen once: it was the sleeper's, who may have missed it. */
	if (wake && ring->poller.sleeper)
		au_poller_wake(&ring->poller);
	return any;
}

void au_poller_fd_closing(struct au_ring *ring, int fd)
{
	struct au_poller *p = &ring->poller;
	struct au_watch *w = (uint32_t)fd < p->watches_max ? p->watches[fd] :
							     NULL;
	int hidden;

	if (!w)
		return;
	if (!w->nr) {
		/* The kernel drops the registration with the file. */
		if (w->events)
			(void)watch_ctl(p, w, EPOLL_CTL_DEL, 0);
		w->events = 0;
		return;
	}
	hidden = au_ring_keep_fd(fd);
	/* A ring's waiters stay behind, to be cancelled. */
	if (hidden < 0 && hidden != -ELOOP)
		return;
	(void)watch_ctl(p, w, EPOLL_CTL_DEL, 0);
	p->watches[fd] = NULL;
	w->fd = hidden < 0 ? -1 : hidden;
	w->generation = ++p->generation;
	au_list_add_tail(&p->orphans, &w->orphan);
	if (w->fd >= 0)
		(void)watch_ctl(p, w, EPOLL_CTL_ADD, w->events);
	watch_follow(w);
}

void au_poller_destroy(struct au_ring *ring)
{
	struct au_poller *p = &ring->poller;

	while (!au_list_empty(&p->orphans))
		watch_free(p,
			   au_container_of(p->orphans.next, struct au_watch,
					   orphan),
			   true);
	for (uint32_t i = 0; i < p->watches_max; i++)
		free(p->watches[i]);
	free(p->watches);
	au_fd_close_hidden(p->epfd);
	au_fd_close_hidden(p->wakefd);
	au_poller_init(p);
}
