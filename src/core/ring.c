/* SPDX-License-Identifier: MIT */
/*
 * Rings: making, finding and ending them.
 *
 * A ring's descriptor is one end of a socket pair. It has an identity of its
 * own (an inode), can be polled, dup-ed and passed on, and when its last copy
 * is closed the other end, ours, reports HUP: that ends the ring.
 *
 * Lock order: rings.lock (the registry), then a ring's lock.
 */
#include "core/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include "anyuring.h"
#include "core/aio.h"
#include "core/cancel.h"
#include "core/housekeeper.h"
#include "core/issue.h"
#include "core/message.h"
#include "core/register.h"
#include "core/sqpoll.h"
#include "sys/clock.h"
#include "sys/futex.h"
#include "sys/membarrier.h"
#include "sys/poll.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

#define REQS_PER_CHUNK 64

static struct {
	struct au_lock lock;
	struct au_ring *first;
	uint32_t nr_adrift; /* rings with `adrift` set */
	unsigned int forks; /* this process is so many forks deep */
} rings;

struct au_ring *au_ring_first(void)
{
	/* pairs with the release in ring_new() */
	return au_load_acquire(&rings.first);
}

int au_gettid(void)
{
	static __thread int tid;
	static __thread unsigned int forks;

	/* The child of a fork has a new one. */
	if (au_unlikely(!tid || forks != rings.forks)) {
		tid = (int)au_syscall(SYS_gettid);
		forks = rings.forks;
	}
	return tid;
}

struct au_ring **au_fdmap[AU_FDMAP_BLOCKS];

static struct au_ring **fdmap_slot(unsigned int fd, bool make)
{
	struct au_ring ***block, **fresh, **none = NULL;

	if (fd >= AU_FDMAP_BLOCK * AU_FDMAP_BLOCKS)
		return NULL;
	block = &au_fdmap[fd / AU_FDMAP_BLOCK];
	if (!au_load_acquire(block) && make) {
		fresh = calloc(AU_FDMAP_BLOCK, sizeof(*fresh));
		if (fresh && !au_cmpxchg(block, &none, fresh))
			free(fresh);
	}
	/* pairs with the exchange above */
	return au_load_acquire(block) ? *block + fd % AU_FDMAP_BLOCK : NULL;
}

void au_ring_map_fd(unsigned int fd, struct au_ring *ring)
{
	struct au_ring **slot = fdmap_slot(fd, ring);

	if (slot)
		au_store_release(slot, ring);
}

struct au_ring *au_ring_lookup_slow(unsigned int fd, int *err)
{
	struct au_fd_id id;
	struct au_ring *r;

	if (au_fd_identify((int)fd, &id) < 0) {
		*err = -EBADF;
		return NULL;
	}
	for (r = au_ring_first(); r; r = r->next) {
		/* pairs with the release in au_ring_create() */
		if (au_load_acquire(&r->alive) &&
		    au_load_relaxed(&r->id.ino) == id.ino &&
		    au_load_relaxed(&r->id.dev) == id.dev) {
			au_ring_map_fd(fd, r);
			return r;
		}
	}
	*err = -EOPNOTSUPP;
	return NULL;
}

void au_ring_unlocked_slow(struct au_ring *ring)
{
	bool again = true;

	while (again) {
		if (au_mpscq_empty(&ring->done) || !au_ring_trylock(ring))
			return;
		au_ring_serve(ring);
		/* What a DEFER_TASKRUN ring's owner has to do stays there. */
		again = !ring->announced;
		au_ring_release(ring);
	}
}

void au_ring_serve(struct au_ring *ring)
{
	if (!ring->alive)
		return;
	if (au_ring_defer(ring) && !ring->ending) {
		if (!au_mpscq_empty(&ring->done))
			au_ring_announce(ring);
		if (ring->has_leader)
			au_ring_kick(ring);
	} else {
		au_ring_run(ring);
	}
	if (au_unlikely(ring->closing))
		au_ring_maybe_destroy(ring);
	else if (!ring->nr_inside)
		au_housekeeper_attend(ring);
}

struct au_req *au_req_alloc_slow(struct au_ring *ring)
{
	struct au_req *reqs =
		aligned_alloc(AU_CACHELINE, REQS_PER_CHUNK * sizeof(*reqs));
	void **chunks;

	if (!reqs)
		return NULL;
	chunks = realloc(ring->chunks, (ring->nr_chunks + 1) * sizeof(*chunks));
	if (!chunks) {
		free(reqs);
		return NULL;
	}
	chunks[ring->nr_chunks++] = reqs;
	ring->chunks = chunks;
	memset(reqs, 0, REQS_PER_CHUNK * sizeof(*reqs));
	for (int i = REQS_PER_CHUNK - 1; i >= 0; i--) {
		reqs[i].ring = ring;
		if (i)
			au_req_free(ring, &reqs[i]);
	}
	return &reqs[0];
}

uint8_t *au_fd_hint(struct au_ring *ring, int fd)
{
	uint32_t max = ring->hints_max ? ring->hints_max : 64;
	uint8_t *hints;

	if (au_likely((uint32_t)fd < ring->hints_max))
		return &ring->hints[fd];
	if (fd < 0 || fd >= AU_FDMAP_BLOCK * AU_FDMAP_BLOCKS)
		return NULL;
	while (max <= (uint32_t)fd)
		max *= 2;
	hints = realloc(ring->hints, max);
	if (!hints)
		return NULL;
	memset(hints + ring->hints_max, 0, max - ring->hints_max);
	ring->hints = hints;
	ring->hints_max = max;
	return &hints[fd];
}

int au_ring_keep_fd(int fd)
{
	int err;

	/* A copy that the table does not know is a ring's, too. */
	if (au_ring_lookup((unsigned int)fd, &err))
		return -ELOOP;
	return au_fd_dup_hidden(fd);
}

void au_req_keep_fd(struct au_req *req, int fd)
{
	int hidden;

	if (req->fd != fd ||
	    (req->flags & (AU_REQ_F_NODE_FILE | AU_REQ_F_HIDDEN_FD)))
		return;
	hidden = au_ring_keep_fd(fd);
	if (hidden < 0)
		return;
	req->fd = hidden;
	au_req_set(req, AU_REQ_F_HIDDEN_FD | AU_REQ_F_COMPLETE_SLOW);
}

/* A dead ring to use again, or a new one; locked. */
static struct au_ring *ring_new(void)
{
	struct au_ring *r;

	au_lock(&rings.lock);
	for (r = rings.first; r; r = r->next) {
		if (au_load_relaxed(&r->alive) || !au_ring_trylock(r))
			continue;
		if (!r->alive && !r->nr_inside)
			break;
		au_ring_unlock(r);
	}
	if (!r) {
		r = aligned_alloc(AU_CACHELINE, sizeof(*r));
		if (r) {
			memset(r, 0, sizeof(*r));
			au_list_init(&r->hk_node);
			au_ring_lock(r);
			r->next = rings.first;
			au_store_release(&rings.first, r);
		}
	}
	au_unlock(&rings.lock);
	return r;
}

/* Clears the fields from `from` up to `to`. */
#define RING_CLEAR(r, from, to)                                 \
	memset((char *)(r) + offsetof(struct au_ring, from), 0, \
	       offsetof(struct au_ring, to) - offsetof(struct au_ring, from))

/*
 * Everything starts afresh but what others use without the lock: the lock
 * itself, on which somebody may be about to sleep, the queue and words for
 * remote posting, which a dead ring leaves as they should be, and the end.
 */
static void ring_reset(struct au_ring *r)
{
	RING_CLEAR(r, shared, lock);
	RING_CLEAR(r, sq_head, done);
	RING_CLEAR(r, poller, next);
	au_store_relaxed(&r->watched, false);
	au_slist_init(&r->link_next);
	au_slist_init(&r->cancelled);
	r->ring_fd = r->peer_fd = r->memory.fd = r->eventfd = -1;
	r->clockid = CLOCK_MONOTONIC;
	au_slist_init(&r->overflow);
	au_list_init(&r->counted);
	au_list_init(&r->deferred);
	au_poller_init(&r->poller);
}

void au_ring_reset_private(struct au_ring *r)
{
	int eventfd = r->eventfd, wakefd = r->poller.wakefd;
	bool async = r->eventfd_async;

	RING_CLEAR(r, sq_head, poller);
	r->eventfd = eventfd;
	r->eventfd_async = async;
	au_slist_init(&r->overflow);
	au_list_init(&r->counted);
	au_poller_init(&r->poller);
	r->poller.wakefd = wakefd;
	memset(&r->timers, 0, sizeof(r->timers));
	r->workers = NULL;
	r->aio = NULL;
	r->hints = NULL;
	r->hints_max = 0;
	au_slist_init(&r->link_next);
	au_slist_init(&r->cancelled);
	r->run.nr = 0;
	au_list_init(&r->deferred);
	r->hk_seq = r->hk_quiet = 0;
	r->chunks = NULL;
	r->nr_chunks = 0;
	r->refs_index = 0;
	au_list_init(&r->hk_node);
}

static void ring_not_adrift(struct au_ring *ring)
{
	if (ring->adrift)
		au_fetch_sub(&rings.nr_adrift, 1);
	ring->adrift = false;
}

/* Rings whose last descriptor was closed behind our back. */
static void rings_collect(void)
{
	for (struct au_ring *r = au_ring_first(); r; r = r->next) {
		if (!au_load_relaxed(&r->alive) || !au_ring_trylock(r))
			continue;
		if (r->alive)
			au_ring_check_closed(r);
		au_ring_unlock(r);
	}
}

/*
 * Other processes have the ring, and may have it for long. Is this one done
 * with it? Nothing else would tell.
 */
static bool ring_left_to_others(struct au_ring *ring)
{
	int fd;

	if (!ring->common || ring->ring_fd >= 0 || ring->sqpoll ||
	    ring->pending.nr)
		return false;
	fd = au_fd_find(&ring->id);
	if (fd < 0)
		return fd == -ENOENT;
	ring->ring_fd = fd;
	au_ring_map_fd((unsigned int)fd, ring);
	return false;
}

void au_ring_check_closed(struct au_ring *ring)
{
	int ev;

	if (ring->refs_index || ring->peer_fd < 0)
		return;
	ev = au_poll_now(ring->peer_fd, POLLIN);
	if (ev >= 0 && !(ev & POLLHUP) && !ring_left_to_others(ring)) {
		/* A copy is open somewhere; its close will not name the ring. */
		if (ring->ring_fd < 0 && !ring->adrift) {
			ring->adrift = true;
			au_fetch_add(&rings.nr_adrift, 1);
		}
		return;
	}
	ring_not_adrift(ring);
	ring->closing = true;
	au_ring_maybe_destroy(ring);
}

void au_rings_check_adrift(void)
{
	if (au_unlikely(au_load_relaxed(&rings.nr_adrift)))
		rings_collect();
}

static int ring_make_fd(struct au_ring *ring)
{
	struct au_fd_id id = { 0 };
	int fds[2];
	int r = (int)au_syscall(SYS_socketpair, AF_UNIX,
				SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
				fds);

	if (r < 0)
		return r;
	ring->ring_fd = fds[0];
	ring->peer_fd = au_fd_hide(fds[1]);
	r = au_fd_identify(fds[0], &id);
	au_store_relaxed(&ring->id.dev, id.dev);
	au_store_relaxed(&ring->id.ino, id.ino);
	return r;
}

/* Where things lie in the ring's memory. */
/* Gives back all that a ring holds; it may be half made. Lock held. */
static void ring_teardown(struct au_ring *ring)
{
	au_store_relaxed(&ring->alive, false);
	au_cancel_all(ring);
	au_aio_destroy(ring);
	au_workers_destroy(ring);
	au_messages_drop(ring);
	au_poller_destroy(ring);
	au_timers_destroy(&ring->timers);
	au_hash_free(&ring->pending);
	au_register_release(ring);
	while (!au_slist_empty(&ring->overflow))
		free(au_container_of(au_slist_pop(&ring->overflow),
				     struct au_overflow, node));
	au_common_drop(ring);
	au_memory_free(ring);
	au_fd_close_hidden(ring->peer_fd);
	for (uint32_t i = 0; i < ring->nr_chunks; i++)
		free(((void **)ring->chunks)[i]);
	free(ring->chunks);
	free(ring->hints);
	ring->hints = NULL;
	ring->hints_max = 0;
	ring->chunks = NULL;
	ring->free_reqs = NULL;
	ring->nr_chunks = 0;
	ring->peer_fd = -1;
	for (unsigned int fd = 0; fd < AU_FDMAP_BLOCK * AU_FDMAP_BLOCKS;
	     fd += AU_FDMAP_BLOCK) {
		struct au_ring **b = fdmap_slot(fd, false);

		for (int i = 0; b && i < AU_FDMAP_BLOCK; i++) {
			if (au_load_relaxed(&b[i]) == ring)
				au_store_release(&b[i], NULL);
		}
	}
}

void au_ring_await_end(struct au_ring *ring)
{
	struct au_sqpoll *sp = ring->sqpoll;

	while (sp && ring->memory.fd < 0 && ring->closing && ring->alive &&
	       !ring->nr_inside && ring->sqpoll == sp) {
		uint32_t seq = au_load_relaxed(&ring->cq_seq);
		struct timespec tick;
		uint64_t ns = au_now_ns() + AU_NSEC_PER_MSEC;

		tick.tv_sec = (time_t)(ns / AU_NSEC_PER_SEC);
		tick.tv_nsec = (long)(ns % AU_NSEC_PER_SEC);
		au_ring_release(ring);
		(void)au_futex_wait(&ring->cq_seq, seq, &tick);
		au_ring_lock(ring);
	}
}

void au_ring_maybe_destroy(struct au_ring *ring)
{
	if (!ring->closing || ring->nr_inside || !ring->alive)
		return;
	if (ring->sqpoll) {
		/* Its thread comes back here on its way out. */
		au_sqpoll_stop(ring);
		return;
	}
	if (!ring->ending)
		au_memory_leave(ring);
	ring->ending = true;
	au_aio_stop(ring);
	au_cancel_all(ring);
	if (au_workers_busy(ring)) {
		/*
		 * They come back through the done queue; see there. The
		 * housekeeper interrupts those who missed their signal.
		 */
		au_housekeeper_attend_slow(ring);
		return;
	}
	au_housekeeper_forget(ring);
	ring_teardown(ring);
}

int au_ring_create(unsigned int entries, struct io_uring_params *p,
		   struct au_ring **out)
{
	struct au_ring *ring;
	int r;

	au_membarrier_begin();
	rings_collect();
	ring = ring_new();
	if (!ring)
		return -ENOMEM;
	ring_reset(ring);
	ring->setup_flags = p->flags;
	ring->sq_entries = p->sq_entries;
	ring->sq_mask = p->sq_entries - 1;
	ring->cq_entries = p->cq_entries;
	ring->cq_mask = p->cq_entries - 1;
	ring->sqe_shift = p->flags & IORING_SETUP_SQE128 ? 7 : 6;
	ring->cqe_shift = p->flags & IORING_SETUP_CQE32 ? 1 : 0;
	if (p->flags & IORING_SETUP_IOPOLL)
		ring->special = AU_SPECIAL_IOPOLL;
	ring->disabled = p->flags & IORING_SETUP_R_DISABLED;
	if ((p->flags & IORING_SETUP_SINGLE_ISSUER) && !ring->disabled)
		ring->owner_tid = au_gettid();

	r = au_memory_make(ring, p);
	if (r >= 0)
		r = ring_make_fd(ring);
	if (r < 0) {
		if (ring->ring_fd >= 0)
			(void)au_syscall(SYS_close, ring->ring_fd);
		ring_teardown(ring);
		au_ring_release(ring);
		return r;
	}
	/* Others may find it, and close it, before it is set up. */
	ring->nr_inside = 1;
	r = ring->ring_fd;
	/* pairs with the acquire in au_ring_lookup_slow() */
	au_store_release(&ring->alive, true);
	au_ring_map_fd((unsigned int)r, ring);
	*out = ring;
	au_ring_release(ring);
	return r;
}

void au_rings_fork_child(void)
{
	bool others;

	rings.lock.word = 0;
	rings.nr_adrift = 0;
	rings.forks++;
	/* Thread ids of another pid namespace cannot name a lock's owner. */
	others = rings.first && au_syscall(SYS_getppid) == 0;
	for (struct au_ring *r = rings.first; r; r = r->next)
		au_common_fork_child(r, !others);
	/* The numbers of rings that are not ours are those of other files. */
	for (unsigned int b = 0; b < AU_FDMAP_BLOCKS; b++) {
		for (int i = 0; au_fdmap[b] && i < AU_FDMAP_BLOCK; i++) {
			if (au_fdmap[b][i] && !au_fdmap[b][i]->alive)
				au_fdmap[b][i] = NULL;
		}
	}
}
