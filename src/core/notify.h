/* SPDX-License-Identifier: MIT */
/*
 * Telling others that CQEs are there: threads that wait in enter, a registered
 * eventfd, and whoever polls the ring's descriptor. Ring lock held.
 */
#ifndef AU_CORE_NOTIFY_H
#define AU_CORE_NOTIFY_H

#include "core/ring.h"

void au_notify_followers(struct au_ring *ring);
void au_notify_eventfd(struct au_ring *ring);

/* Makes the ring fd readable, if it is not. */
void au_notify_readable(struct au_ring *ring);

/*
 * Serves the other rings of the process, one of which may poll this one's
 * descriptor, as task work would on the way out of enter. No lock held.
 */
void au_notify_rings(const struct au_ring *ring);

/* Makes it unreadable again once the CQ is empty. */
void au_notify_sync(struct au_ring *ring);

#endif
