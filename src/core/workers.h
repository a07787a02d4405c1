/* SPDX-License-Identifier: MIT */
/*
 * The worker pool (the kernel's io-wq): threads that may sleep in system calls,
 * for requests that no readiness helps: path operations, fsync, reads that
 * miss the page cache, devices without RWF_NOWAIT.
 *
 * Two kinds of work: bounded (a disk's speed bounds it) and unbounded (may
 * sleep for ever); each has its own limit on threads, as the kernel has.
 * Finished requests go back through the ring's done queue.
 *
 * Workers block every signal but the one that interrupts a cancelled request.
 */
#ifndef AU_CORE_WORKERS_H
#define AU_CORE_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

struct au_ring;
struct au_req;
struct au_workers;

enum au_work_kind {
	AU_WORK_BOUND,
	AU_WORK_UNBOUND,
	AU_WORK_LAST,
};

/* Hands a request over: it is parked AU_AT_WORKERS. 0, -ENOMEM, -EAGAIN. */
int au_workers_queue(struct au_ring *ring, struct au_req *req,
		     enum au_work_kind kind) au_must_check;

/*
 * Takes back a request that no worker has started (0), or interrupts the one
 * that runs it (-EALREADY: it will come back through the done queue).
 */
int au_workers_cancel(struct au_ring *ring, struct au_req *req);

/* Interrupts again whoever was to be interrupted and still runs. */
bool au_workers_interrupt_again(struct au_ring *ring);

/* A request came back through the done queue. Ring lock held. */
void au_workers_returned(struct au_ring *ring, struct au_req *req);

/* Is a request in a worker's hands? */
bool au_workers_busy(struct au_ring *ring);

/* `fd` is about to be closed: requests queued on it keep the file. */
void au_workers_fd_closing(struct au_ring *ring, int fd);

/* Ends the pool: idle workers leave, the others when they are done. */
void au_workers_destroy(struct au_ring *ring);

/* IORING_REGISTER_IOWQ_MAX_WORKERS: sets non-zero limits, gives the old. */
int au_workers_limits(struct au_ring *ring,
		      uint32_t limits[AU_WORK_LAST]) au_must_check;

/* IORING_REGISTER_IOWQ_AFF: `mask` NULL lifts it. */
int au_workers_affinity(struct au_ring *ring, const void *mask, size_t size);

#endif
