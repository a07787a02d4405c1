/* SPDX-License-Identifier: MIT */
/*
 * The ring fd is one end of a socket pair; a byte sent from the other end
 * makes it readable, and taking the byte out makes it unreadable. Both cost a
 * system call, so they happen only on the way from empty to not empty and
 * back, and only once somebody watches the descriptor.
 */
#include "core/notify.h"

#include <limits.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include "core/complete.h"
#include "sys/futex.h"
#include "sys/syscall.h"

void au_notify_followers(struct au_ring *ring)
{
	au_futex_wake(&ring->cq_seq, INT_MAX);
}

void au_notify_eventfd(struct au_ring *ring)
{
	uint64_t one = 1;

	if (AU_READ_ONCE(ring->shared->cq_flags) & IORING_CQ_EVENTFD_DISABLED)
		return;
	(void)au_syscall(SYS_write, ring->eventfd, &one, sizeof(one));
}

void au_notify_readable(struct au_ring *ring)
{
	if (ring->readable)
		return;
	ring->readable = ring->raised = true;
	(void)au_syscall(SYS_sendto, ring->peer_fd, "", 1,
			 MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
}

void au_notify_sync(struct au_ring *ring)
{
	struct au_fd_id id;
	char byte;

	if (!ring->readable) {
		if (ring->watched && (au_cq_ready(ring) || ring->nr_overflow))
			au_notify_readable(ring);
		return;
	}
	if (au_cq_ready(ring) || ring->nr_overflow)
		return;
	/* The number may have come to mean another file: look first. */
	if (au_fd_identify(ring->ring_fd, &id) || id.ino != ring->id.ino ||
	    id.dev != ring->id.dev)
		return;
	if (au_syscall(SYS_recvfrom, ring->ring_fd, &byte, 1, MSG_DONTWAIT,
		       NULL, NULL) == 1)
		ring->readable = false;
}

void au_notify_rings(const struct au_ring *ring)
{
	for (struct au_ring *r = au_ring_first(); r; r = r->next) {
		if (r == ring || !au_load_relaxed(&r->alive) ||
		    !au_load_relaxed(&r->poller.nr_waiters) ||
		    au_ring_defer(r) || !au_ring_trylock(r))
			continue;
		if (!r->sqpoll)
			au_ring_serve(r);
		au_ring_unlock(r);
	}
}
