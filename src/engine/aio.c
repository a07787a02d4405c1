/* SPDX-License-Identifier: MIT */
#include "core/aio.h"

#include <errno.h>
#include <linux/aio_abi.h>
#include <stdlib.h>
#include <string.h>
#include "core/complete.h"
#include "core/issue.h"
#include "core/op.h"
#include "core/ring.h"
#include "sys/syscall.h"

#define AIO_HELD_MAX   32U
#define AIO_RING_MAGIC 0xa10a10a1U
/* In flight at most; of /proc/sys/fs/aio-max-nr, which all programs share. */
#define AIO_MIN 64U
#define AIO_MAX 1024U

/* What the kernel maps at the address that is the context's name. */
struct aio_ring {
	uint32_t id, nr;
	uint32_t head, tail;
	uint32_t magic, compat, incompat, header_length;
	struct io_event events[];
};

struct au_aio {
	struct aio_ring *done; /* also the context; NULL: none to be had */
	uint32_t nr, max; /* in flight, the held included */
	uint32_t nr_held;
	struct iocb held[AIO_HELD_MAX];
	struct au_list reqs; /* in flight, by au_req.queued */
};

static au_cold void aio_open(struct au_aio *aio, struct au_ring *ring)
{
	uint32_t max = au_min_u32(ring->cq_entries, AIO_MAX);
	aio_context_t ctx = 0;
	struct aio_ring *done;

	if (max < AIO_MIN)
		max = AIO_MIN;
	if (au_poller_open(ring) < 0 || au_syscall(SYS_io_setup, max, &ctx) < 0)
		return;
	done = au_ptr(ctx);
	/* gVisor's has no memory to share. */
	if (done->magic != AIO_RING_MAGIC || done->incompat) {
		(void)au_syscall(SYS_io_destroy, ctx);
		return;
	}
	aio->done = done;
	aio->max = max;
}

static struct au_aio *aio_get(struct au_ring *ring)
{
	struct au_aio *aio = ring->aio;

	if (au_likely(aio))
		return aio;
	aio = calloc(1, sizeof(*aio));
	if (!aio)
		return NULL;
	au_list_init(&aio->reqs);
	aio_open(aio, ring);
	ring->aio = aio;
	return aio;
}

static void aio_put(struct au_aio *aio, struct au_req *req)
{
	au_list_del(&req->queued);
	aio->nr--;
}

/* It ended, or never began. */
static void aio_end(struct au_ring *ring, struct au_req *req, long res)
{
	enum au_issue out;

	aio_put(ring->aio, req);
	au_req_unpark(ring, req);
	out = au_ops_cold[req->opcode].aio_done(req, res);
	au_req_issued(ring, req, out);
}

bool au_aio_start(struct au_ring *ring, struct au_req *req,
		  const struct au_aio_io *io)
{
	struct au_aio *aio = aio_get(ring);
	uint16_t opcode;

	if (!aio || !aio->done || aio->nr == aio->max)
		return false;
	if (au_req_park(ring, req, AU_AT_AIO) < 0)
		return false;
	if (io->vector)
		opcode = io->write ? IOCB_CMD_PWRITEV : IOCB_CMD_PREADV;
	else
		opcode = io->write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
	aio->held[aio->nr_held++] = (struct iocb){
		.aio_data = (uintptr_t)req,
		.aio_lio_opcode = opcode,
		.aio_fildes = (uint32_t)req->fd,
		.aio_buf = io->addr,
		.aio_nbytes = io->len,
		.aio_offset = (int64_t)io->pos,
		.aio_rw_flags = (int)io->rw_flags,
		.aio_flags = IOCB_FLAG_RESFD,
		.aio_resfd = (uint32_t)ring->poller.wakefd,
	};
	aio->nr++;
	au_list_add_tail(&aio->reqs, &req->queued);
	if (aio->nr_held == AIO_HELD_MAX || !ring->submitting)
		au_aio_flush(ring);
	return true;
}

void au_aio_flush(struct au_ring *ring)
{
	struct iocb *cbs[AIO_HELD_MAX];
	struct au_aio *aio = ring->aio;
	uint32_t nr = aio->nr_held, at = 0;
	struct iocb held[AIO_HELD_MAX];

	/* One that does not begin may end here, and start others. */
	aio->nr_held = 0;
	memcpy(held, aio->held, nr * sizeof(*held));
	for (uint32_t i = 0; i < nr; i++)
		cbs[i] = &held[i];
	while (at < nr) {
		long r =
			au_syscall(SYS_io_submit, aio->done, nr - at, cbs + at);

		/* The first of them was refused, or too many are under way. */
		if (r <= 0)
			aio_end(ring, au_ptr(held[at++].aio_data),
				r < 0 ? r : -EAGAIN);
		else
			at += (uint32_t)r;
	}
}

bool au_aio_ready(const struct au_ring *ring)
{
	const struct au_aio *aio = au_load_acquire(&ring->aio);

	return aio && aio->done &&
	       au_load_relaxed(&aio->done->tail) !=
		       au_load_relaxed(&aio->done->head);
}

bool au_aio_reap(struct au_ring *ring)
{
	struct au_aio *aio = ring->aio;
	struct aio_ring *done = aio->done;
	bool any = false;

	if (!done)
		return false;
	for (;;) {
		uint32_t head = au_load_relaxed(&done->head);
		struct io_event ev;

		/* pairs with the kernel's store of the tail, behind the event */
		if (head == au_load_acquire(&done->tail) || head >= done->nr)
			return any;
		ev = done->events[head];
		/* pairs with the kernel's load: the slot is free */
		au_store_release(&done->head, (head + 1) % done->nr);
		aio_end(ring, au_ptr(ev.data), (long)ev.res);
		any = true;
	}
}

int au_aio_cancel(struct au_ring *ring, struct au_req *req)
{
	/* A transfer is not stopped; with the context gone, none is left. */
	if (ring->aio->done)
		return -EALREADY;
	aio_put(ring->aio, req);
	return 0;
}

void au_aio_fd_closing(struct au_ring *ring, int fd)
{
	struct au_list *pos;

	if (!ring->aio || !ring->aio->nr)
		return;
	au_aio_flush(ring);
	for (pos = ring->aio->reqs.next; pos != &ring->aio->reqs;
	     pos = pos->next)
		au_req_keep_fd(au_container_of(pos, struct au_req, queued), fd);
}

void au_aio_stop(struct au_ring *ring)
{
	struct au_aio *aio = ring->aio;

	if (!aio || !aio->done)
		return;
	au_aio_flush(ring);
	(void)au_syscall(SYS_io_destroy, aio->done);
	aio->done = NULL;
}

void au_aio_destroy(struct au_ring *ring)
{
	au_aio_stop(ring);
	free(ring->aio);
	ring->aio = NULL;
}
