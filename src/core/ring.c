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
	r->ring_fd = r->peer_fd = r->mem_fd = r->eventfd = -1;
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
static void ring_layout(struct au_ring *ring, struct io_uring_params *p)
{
	/* The kernel, too, doubles the header for 32-byte CQEs. */
	size_t cqes = (64 + (size_t)ring->cq_entries * 16) << ring->cqe_shift;
	size_t array = au_align_up(cqes, 64);

	/* Of what came in only the addresses of NO_MMAP mean something. */
	if (!(p->flags & IORING_SETUP_NO_MMAP))
		p->cq_off.user_addr = p->sq_off.user_addr = 0;
	p->cq_off.resv1 = p->sq_off.resv1 = 0;
	ring->rings_size = array;
	if (!(p->flags & IORING_SETUP_NO_SQARRAY)) {
		p->sq_off.array = (uint32_t)array;
		ring->rings_size += ring->sq_entries * sizeof(uint32_t);
	}
	ring->rings_size = au_align_up(ring->rings_size, 4096);
	ring->sqes_size =
		au_align_up((size_t)ring->sq_entries << ring->sqe_shift, 4096);

	p->sq_off.head = offsetof(struct au_ring_shared, sq_head);
	p->sq_off.tail = offsetof(struct au_ring_shared, sq_tail);
	p->sq_off.ring_mask = offsetof(struct au_ring_shared, sq_ring_mask);
	p->sq_off.ring_entries =
		offsetof(struct au_ring_shared, sq_ring_entries);
	p->sq_off.flags = offsetof(struct au_ring_shared, sq_flags);
	p->sq_off.dropped = offsetof(struct au_ring_shared, sq_dropped);
	p->cq_off.head = offsetof(struct au_ring_shared, cq_head);
	p->cq_off.tail = offsetof(struct au_ring_shared, cq_tail);
	p->cq_off.ring_mask = offsetof(struct au_ring_shared, cq_ring_mask);
	p->cq_off.ring_entries =
		offsetof(struct au_ring_shared, cq_ring_entries);
	p->cq_off.overflow = offsetof(struct au_ring_shared, cq_overflow);
	p->cq_off.cqes = sizeof(struct au_ring_shared);
	p->cq_off.flags = offsetof(struct au_ring_shared, cq_flags);
}

/* NO_MMAP: the application brings the memory. */
/*
 * A view of our own of the application's memory, which it may unmap before it
 * is done with the ring, as the kernel keeps the pages. Bytes to unmap; 0: the
 * memory is private, and there is but the one view.
 */
static size_t ring_view(void **at, size_t size)
{
	long r = au_syscall(SYS_mremap, *at, 0, size, MREMAP_MAYMOVE, NULL);

	if (r < 0 && r > -4096)
		return 0;
	*at = (void *)r;
	return size;
}

static int ring_use_memory(struct au_ring *ring,
			   const struct io_uring_params *p, void **shared,
			   void **sqes)
{
	uint64_t r = p->cq_off.user_addr, s = p->sq_off.user_addr;

	if ((r | s) & 4095)
		return -EINVAL;
	if (!r || !s || au_user_writable(r, ring->rings_size) ||
	    au_user_writable(s, ring->sqes_size))
		return -EFAULT;
	*shared = au_ptr(r);
	*sqes = au_ptr(s);
	ring->view_rings = ring_view(shared, ring->rings_size);
	ring->view_sqes = ring_view(sqes, ring->sqes_size);
	memset(*shared, 0, sizeof(*ring->shared));
	return 0;
}

static int ring_make_memory(struct au_ring *ring, void **shared, void **sqes)
{
	size_t size = ring->rings_size + ring->sqes_size;
	long r;

	ring->mem_fd = au_fd_memory("anyuring");
	if (ring->mem_fd < 0)
		return ring->mem_fd;
	r = au_syscall(SYS_ftruncate, ring->mem_fd, size);
	if (r < 0)
		return (int)r;
	r = au_syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, ring->mem_fd, 0);
	if (r < 0 && r > -4096)
		return (int)r;
	ring->mapped = size;
	*shared = (void *)r;
	*sqes = (char *)*shared + ring->rings_size;
	return 0;
}

int au_ring_memory_make(struct au_ring *ring, struct io_uring_params *p)
{
	void *shared = NULL, *sqes = NULL;
	int r;

	ring_layout(ring, p);
	if (p->flags & IORING_SETUP_NO_MMAP)
		r = ring_use_memory(ring, p, &shared, &sqes);
	else
		r = ring_make_memory(ring, &shared, &sqes);
	if (r < 0)
		return r;
	ring->shared = shared;
	ring->cqes = (void *)((char *)shared + p->cq_off.cqes);
	ring->sqes = sqes;
	if (!(p->flags & IORING_SETUP_NO_SQARRAY))
		ring->sq_array = (void *)((char *)shared + p->sq_off.array);
	ring->shared->sq_ring_mask = ring->sq_mask;
	ring->shared->cq_ring_mask = ring->cq_mask;
	ring->shared->sq_ring_entries = ring->sq_entries;
	ring->shared->cq_ring_entries = ring->cq_entries;
	return 0;
}

static void ring_unview(void *at, size_t *size)
{
	if (*size)
		(void)au_syscall(SYS_munmap, at, *size);
	*size = 0;
}

void au_ring_memory_free(struct au_ring *ring)
{
	if (ring->mapped)
		(void)au_syscall(SYS_munmap, ring->shared, ring->mapped);
	ring_unview(ring->shared, &ring->view_rings);
	ring_unview(ring->sqes, &ring->view_sqes);
	au_fd_close_hidden(ring->mem_fd);
	ring->mem_fd = -1;
	ring->mapped = 0;
	ring->shared = NULL;
}

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
	au_ring_memory_free(ring);
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

/*
 * The ring's memory is the application's, which may do with it what it likes
 * from now on: what is still posted goes elsewhere.
 */
static void ring_leave_memory(struct au_ring *ring)
{
	long r = au_syscall(SYS_mmap, NULL, ring->rings_size,
			    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	if (r < 0 && r > -4096)
		return;
	ring->cqes = (void *)((char *)r +
			      ((char *)ring->cqes - (char *)ring->shared));
	ring_unview(ring->shared, &ring->view_rings);
	ring->shared = (void *)r;
	ring->mapped = ring->rings_size;
}

void au_ring_await_end(struct au_ring *ring)
{
	struct au_sqpoll *sp = ring->sqpoll;

	while (sp && !ring->mapped && ring->closing && ring->alive &&
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
	ring->ending = true;
	au_aio_stop(ring);
	if (!ring->mapped)
		ring_leave_memory(ring);
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

	r = au_ring_memory_make(ring, p);
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
