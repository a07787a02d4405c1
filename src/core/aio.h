/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own asynchronous I/O (io_submit(2)), for files opened with
 * O_DIRECT: the only way besides io_uring to have many transfers of one thread
 * on their way to a disk. A plain call would be over when its transfer is.
 *
 * Submitted with RWF_NOWAIT: what could not start at once comes back with
 * EAGAIN, as whatever does not take part does with an error of its own, and
 * goes the usual way. Completions ring the poller's eventfd; they are read
 * from the memory that the kernel shares, without a call.
 *
 * All with the ring's lock held.
 */
#ifndef AU_CORE_AIO_H
#define AU_CORE_AIO_H

#include <stdbool.h>
#include <stdint.h>
#include "base/util.h"

struct au_ring;
struct au_req;
struct au_aio;

struct au_aio_io {
	uint64_t addr; /* a buffer, or iovecs that stay until the end */
	uint64_t len; /* bytes, or iovecs */
	uint64_t pos;
	uint32_t rw_flags; /* RWF_* */
	bool write, vector;
};

/*
 * Takes `req` over: it is parked AU_AT_AIO, and its op's `aio_done` is called
 * with what came of it. During a submit call it is held until au_aio_flush(),
 * so that one call starts many. False: not here, or not now.
 */
bool au_aio_start(struct au_ring *ring, struct au_req *req,
		  const struct au_aio_io *io);

/* Starts what is held. */
void au_aio_flush(struct au_ring *ring);

/* Takes what has ended. True if there was anything. */
bool au_aio_reap(struct au_ring *ring);

/* Has anything ended? Any thread. */
bool au_aio_ready(const struct au_ring *ring);

/* Takes `req` back if that can be: 0, or -EALREADY. */
int au_aio_cancel(struct au_ring *ring, struct au_req *req);

/* `fd` is about to be closed: requests that may yet need it keep the file. */
void au_aio_fd_closing(struct au_ring *ring, int fd);

/* Waits for what is under way; afterwards all can be taken back. */
void au_aio_stop(struct au_ring *ring);
void au_aio_destroy(struct au_ring *ring);

#endif
