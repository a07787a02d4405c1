/* SPDX-License-Identifier: MIT */
/*
 * The poller: requests that wait for a file to become ready, one epoll
 * instance a ring, and the place where a thread sleeps for the ring.
 *
 * Each file has one edge-triggered registration that stays (a watch), with a
 * list of waiting requests. An edge is never lost, because a request is tried
 * before it waits, and waits before the next edge is taken, all under the
 * ring's lock.
 *
 * The epoll instance also holds an eventfd, edge-triggered and never read: a
 * write to it wakes the sleeper. It is written only when somebody announced
 * that he sleeps.
 */
#ifndef AU_CORE_POLLER_H
#define AU_CORE_POLLER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include "base/list.h"
#include "base/util.h"

struct au_ring;
struct au_req;

/* One file, as seen by one ring. */
struct au_watch {
	int fd; /* the number registered; a hidden one after close(2) */
	uint32_t events; /* what epoll was asked for; 0 not registered */
	uint32_t generation; /* tells stale events apart */
	uint32_t nr; /* waiting requests */
	struct au_list waiters; /* of au_req.waiter, oldest first */
	bool busy; /* its waiters are being tried */
	struct au_list orphan; /* links watches whose number was closed */
};

struct au_poller {
	int epfd, wakefd; /* -1 until first needed; hidden */
	bool sleeper; /* a thread is in epoll_wait(2), whatever it has missed */
	uint32_t nr_waiters;
	uint32_t nr_watches; /* registered */
	uint32_t watches_max;
	uint32_t generation;
	struct au_watch **watches; /* by descriptor */
	struct au_list orphans; /* closed by the program, still waited on */
	struct au_slist again; /* parked, but to be issued without an event */
};

#define AU_POLLER_EVENTS 64 /* taken at a time */

void au_poller_init(struct au_poller *p);
void au_poller_destroy(struct au_ring *ring);

/* The epoll instance, made when first asked for. 0 or -errno. */
int au_poller_open(struct au_ring *ring) au_must_check;

/* The eventfd alone, which a fork's child inherits. 0 or -errno. */
int au_poller_bell(struct au_ring *ring) au_must_check;

/*
 * Parks `req` on `fd` until `mask` (EPOLL*) or an error shows. 0; 1 if the
 * registration is new and will report what is ready already; -EPERM (the file
 * is always ready: epoll refuses it), -EBADF, -ENOMEM, -ENOSPC.
 */
int au_poller_arm(struct au_ring *ring, struct au_req *req, int fd,
		  uint32_t mask) au_must_check;
void au_poller_cancel(struct au_ring *ring, struct au_req *req);

/* Does epoll take the file? */
bool au_poller_takes(struct au_ring *ring, int fd);

/*
 * A parked request has more to do but has had its turn: it is issued again,
 * after the others, though its file raises no new edge.
 */
void au_poller_again(struct au_ring *ring, struct au_req *req);

/* One turn for each of those. True if there were any. Lock held. */
bool au_poller_run_again(struct au_ring *ring);

/* Takes what is ready now. True if there was anything. Lock held. */
bool au_poller_reap(struct au_ring *ring);

/* Acts on events that the leader took with au_epoll_wait_ns(). Lock held. */
bool au_poller_dispatch(struct au_ring *ring, const struct epoll_event *ev,
			int nr);

/* Wakes the sleeper. Any thread, no lock. */
void au_poller_wake(struct au_poller *p);

/* `fd` is about to be closed: its waiters keep the file. Lock held. */
void au_poller_fd_closing(struct au_ring *ring, int fd);

#endif
