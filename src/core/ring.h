/* SPDX-License-Identifier: MIT */
/*
 * The ring (the kernel's io_ring_ctx).
 *
 * What the application maps holds ABI fields only and is hostile: heads,
 * tails, masks and counts that the engine relies on are private copies here,
 * and whatever is read from the shared side is bounded.
 *
 * One thread at a time holds `lock` and with it everything below that does not
 * say otherwise: whoever submits, waits, registers or tidies up. Workers touch
 * nothing here but the done queue.
 *
 * Rings are never freed, only reused: a stale pointer always finds a lock.
 */
#ifndef AU_CORE_RING_H
#define AU_CORE_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>
#include "base/hash.h"
#include "base/list.h"
#include "base/biased.h"
#include "base/mpscq.h"
#include "core/common.h"
#include "core/req.h"
#include "core/memory.h"
#include "core/poller.h"
#include "core/region.h"
#include "core/restrict.h"
#include "core/spin.h"
#include "core/timers.h"
#include "core/workers.h"
#include "rsrc/kbuf.h"
#include "rsrc/rsrc.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "uapi/io_uring.h"

/* The start of the region at IORING_OFF_SQ_RING, as the kernel lays it out. */
struct au_ring_shared {
	uint32_t sq_head; /* engine writes */
	uint32_t sq_tail; /* application writes */
	uint32_t cq_head; /* application writes */
	uint32_t cq_tail; /* engine writes */
	uint32_t sq_ring_mask, cq_ring_mask;
	uint32_t sq_ring_entries, cq_ring_entries;
	uint32_t sq_dropped;
	uint32_t sq_flags; /* IORING_SQ_*, set and cleared atomically */
	uint32_t cq_flags; /* IORING_CQ_*, application writes */
	uint32_t cq_overflow;
	uint32_t resv[4];
	/* CQEs follow, then the SQ array */
};

_Static_assert(sizeof(struct au_ring_shared) == 64, "CQEs start at 64");

/* A CQE that found the CQ full. */
struct au_overflow {
	struct au_slist_node node;
	uint64_t user_data;
	int32_t res;
	uint32_t flags;
	uint64_t extra[2];
};

enum {
	AU_RING_MAX_ENTRIES = 32768,
	AU_RING_MAX_CQ_ENTRIES = 2 * AU_RING_MAX_ENTRIES,
};

/* Requests held because the next one may continue them; see core/run.h. */
enum {
	AU_RUN_MAX = 64,
};

struct au_run {
	uint32_t nr;
	struct au_req *reqs[AU_RUN_MAX];
};

struct au_sqpoll;

/* Why an SQE cannot go straight through, whatever it is. */
enum {
	AU_SPECIAL_CHAIN = 1 << 0, /* a chain is being built */
	AU_SPECIAL_DRAIN = 1 << 1, /* requests wait for earlier ones */
	AU_SPECIAL_DRAIN_NEXT = 1 << 2, /* what follows the chain drains */
	AU_SPECIAL_RESTRICTED = 1 << 3,
	AU_SPECIAL_IOPOLL = 1 << 4,
};

struct au_ring {
	/* set up once; read by everybody */
	struct {
		struct au_ring_shared *shared;
		struct io_uring_cqe *cqes;
		unsigned char *sqes;
		uint32_t *sq_array; /* NULL with NO_SQARRAY */
		uint32_t sq_entries, sq_mask;
		uint32_t cq_entries, cq_mask;
		uint32_t setup_flags; /* IORING_SETUP_* */
		uint8_t sqe_shift; /* SQEs take 1 << sqe_shift bytes */
		uint8_t cqe_shift; /* CQEs take 1 << cqe_shift 16-byte slots */
		struct au_common *common; /* NULL: nobody forked since */
	} au_aligned_cacheline;

	/* submission: the submitter writes */
	struct {
		struct au_biased lock;
		uint32_t sq_head; /* the true one; the shared one follows */
		struct au_slist_node *free_reqs;
		struct au_req *link_head; /* chain being built */
		uint32_t nr_inflight; /* requests between fetch and CQE */
		uint32_t special; /* AU_SPECIAL_*: no SQE is a plain one */
		int32_t owner_tid; /* SINGLE_ISSUER: who may submit; 0 nobody */
		bool disabled; /* R_DISABLED and not enabled yet */
		bool prep_failed; /* a lazy op's pointers turned out bad */
	} au_aligned_cacheline;

	/* who is inside, who serves: every enter writes */
	struct {
		struct au_sqpoll *sqpoll;
		struct au_hash pending; /* every parked request, by user_data */
		uint64_t now_ns; /* see au_ring_now(); 0 is not read yet */
		uint32_t nr_inside; /* threads inside enter */
		uint32_t enter_seq; /* enters so far: is anybody attending? */
		uint32_t nr_followers; /* threads waiting for cq_seq */
		bool closing; /* the last descriptor is gone */
		bool has_leader; /* a thread waits in the poller */
		bool attended; /* the housekeeper looks every tick */
		bool announced; /* DEFER_TASKRUN: the owner was told */
		bool nested; /* the housekeeper waits on the poller's epoll */
		bool ending; /* nobody will see its CQEs any more: no new work */
		bool adrift; /* open, but under no number we know */
		bool readable; /* the ring fd was made readable */
		bool raised; /* just now: rings that poll it are not served */
	} au_aligned_cacheline;

	/* completion: whoever posts writes */
	struct {
		uint32_t cq_tail; /* the true one */
		uint32_t cq_tail_shared; /* what the application was told */
		uint32_t cq_limit; /* up to here a CQE is simply written */
		uint32_t cq_head_seen; /* a bound that spares reads of it */
		uint32_t nr_overflow;
		uint32_t nr_timeouts; /* timeouts fired: they end waits */
		bool notify; /* somebody must hear of new CQEs */
		bool eventfd_async;
		bool eventfd_due; /* async: a worker has had a hand in it */
		/* Timeouts with a completion count; NULL while there are none. */
		void (*run_counted)(struct au_ring *ring);
		struct au_list counted;
		uint32_t counted_last; /* completions at the last look */
		int eventfd; /* registered, -1 none (a hidden duplicate) */
		struct au_slist overflow;
	} au_aligned_cacheline;

	/* remote posting: workers and other threads write, expect bouncing */
	struct {
		struct au_mpscq done; /* requests that workers finished */
		uint32_t asleep; /* the leader sleeps (or is about to) */
		uint32_t cq_seq; /* futex: bumped for followers */
	} au_aligned_cacheline;

	/* engines */
	struct {
		struct au_poller poller;
		struct au_timers timers;
		struct au_workers *workers; /* NULL until first needed */
		struct au_spin spin;
	} au_aligned_cacheline;

	/* the submitter writes */
	uint8_t *hints au_aligned_cacheline; /* see au_fd_hint() */
	uint32_t hints_max;
	uint32_t nr_deferred; /* in flight, waiting for earlier ones */
	struct au_req *link_tail;
	bool submitting; /* transfers are held until the call's end */
	bool drain_disabled;
	bool drain_running;
	bool link_running; /* the next of a chain is being started */
	struct au_aio *aio; /* NULL until first needed */
	struct au_slist link_next; /* chained requests whose turn it is */
	struct au_slist cancelled; /* taken back, not completed yet */
	struct au_run run;

	/* cold from here on */
	struct au_rsrc_table files, buffers;
	struct au_kbufs kbufs; /* provided buffers */
	struct au_restrictions restrictions;
	struct au_region region; /* registered memory */
	struct au_list deferred; /* requests waiting in drain order */
	uint32_t hk_seq, hk_quiet; /* enter_seq it saw last; looks since */
	int ring_fd; /* a number the application has for it, or -1 */
	int peer_fd; /* our end of the socket pair; hidden */
	struct au_memory memory; /* behind `shared` and `sqes` */
	void *chunks; /* slabs of requests */
	uint32_t nr_chunks;
	int clockid; /* of waits */
	uint32_t refs_index; /* registered ring indices that hold it */
	struct au_common_batch *batch; /* what `common` is a part of */
	struct au_req *asking; /* a cancel that another process looks at */
	uint8_t process; /* which of the common block's we are, or past them */
	bool no_common; /* its memory is this process's alone */
	bool foreign; /* made by a parent of this process */
	bool changing; /* a register call is at work */

	/*
	 * Looked at without the lock, and so never cleared: a ring that is made
	 * where another one ended sets them anew.
	 */
	struct au_ring *next; /* all rings ever made */
	struct au_list hk_node; /* in its list; under its lock */
	struct au_fd_id id; /* of the application's end */
	struct au_lent lent[AU_MEMORY_PARTS];
	bool alive;
	bool watched; /* somebody polls the ring fd */
};

/* A group a set of cache lines, by who writes it; see docs/architecture.md. */
#define AU_ASSERT_GROUP(field)                                              \
	_Static_assert(offsetof(struct au_ring, field) % AU_CACHELINE == 0, \
		       "the group of " #field " starts a cache line")

AU_ASSERT_GROUP(shared); /* set up once */
AU_ASSERT_GROUP(lock); /* submission */
AU_ASSERT_GROUP(sqpoll); /* enter */
AU_ASSERT_GROUP(cq_tail); /* completion */
AU_ASSERT_GROUP(done); /* remote posting */
AU_ASSERT_GROUP(poller); /* engines */
_Static_assert(offsetof(struct au_ring, lock) == AU_CACHELINE,
	       "what everybody reads is one line");
_Static_assert(offsetof(struct au_ring, sqpoll) -
			       offsetof(struct au_ring, lock) ==
		       AU_CACHELINE,
	       "what every submission touches is one line");
_Static_assert(offsetof(struct au_ring, cq_tail) -
			       offsetof(struct au_ring, sqpoll) ==
		       AU_CACHELINE,
	       "what every enter touches is one line");
_Static_assert(offsetof(struct au_ring, counted) -
			       offsetof(struct au_ring, cq_tail) <
		       AU_CACHELINE,
	       "what posting a CQE touches is one line");

/* Descriptor to ring, two levels, read without a lock. */
enum {
	AU_FDMAP_BLOCK = 1024,
	AU_FDMAP_BLOCKS = 1024,
};

extern struct au_ring **au_fdmap[AU_FDMAP_BLOCKS] au_hidden;

/* Only what the table knows: no system call. */
static inline struct au_ring *au_ring_lookup_fast(unsigned int fd)
{
	struct au_ring **block;

	if (au_unlikely(fd >= AU_FDMAP_BLOCK * AU_FDMAP_BLOCKS))
		return NULL;
	/* Both pair with the releases in ring.c:au_ring_map_fd(). */
	block = au_load_acquire(&au_fdmap[fd / AU_FDMAP_BLOCK]);
	return block ? au_load_acquire(&block[fd % AU_FDMAP_BLOCK]) : NULL;
}

/* A descriptor the table does not know: a dup, or no ring at all. */
au_cold struct au_ring *au_ring_lookup_slow(unsigned int fd, int *err);

/*
 * The ring behind a descriptor, or NULL with *err = -EBADF or -EOPNOTSUPP.
 * The ring may end at any time until its lock is held and `alive` seen.
 */
static inline struct au_ring *au_ring_lookup(unsigned int fd, int *err)
{
	struct au_ring *ring = au_ring_lookup_fast(fd);

	if (au_likely(ring && au_load_relaxed(&ring->alive)))
		return ring;
	return au_ring_lookup_slow(fd, err);
}

/* The lock is taken through these two: what was cached is stale then. */
static inline void au_ring_lock(struct au_ring *ring) AU_NO_ANALYSIS
{
	au_biased_lock(&ring->lock);
	ring->now_ns = 0;
	if (au_unlikely(ring->common))
		au_common_enter(ring);
}

static inline bool au_ring_trylock(struct au_ring *ring) AU_NO_ANALYSIS
{
	if (!au_biased_trylock(&ring->lock))
		return false;
	ring->now_ns = 0;
	if (au_unlikely(ring->common) && !au_common_try_enter(ring)) {
		au_biased_unlock(&ring->lock);
		return false;
	}
	return true;
}

/* Gives it up, and does nothing else. */
static inline void au_ring_release(struct au_ring *ring) AU_NO_ANALYSIS
{
	if (au_unlikely(ring->common))
		au_common_leave(ring);
	au_biased_unlock(&ring->lock);
}

/*
 * CLOCK_MONOTONIC, read once between taking the lock and giving it up: a
 * timer armed meanwhile counts from the start of the call that arms it.
 */
static inline uint64_t au_ring_now(struct au_ring *ring)
{
	if (!ring->now_ns)
		ring->now_ns = au_now_ns();
	return ring->now_ns;
}

/* Takes the lock if the ring lives. */
static inline bool au_ring_lock_alive(struct au_ring *ring) AU_NO_ANALYSIS
{
	au_ring_lock(ring);
	if (au_likely(ring->alive))
		return true;
	au_ring_release(ring);
	return false;
}

void au_ring_unlocked_slow(struct au_ring *ring);

/*
 * Unlocks, then does what arrived for the holder meanwhile: a worker that found
 * the lock taken left its request to us (issue.c:au_ring_hand_back()).
 */
static inline void au_ring_unlock(struct au_ring *ring) AU_NO_ANALYSIS
{
	au_ring_release(ring);
	if (au_unlikely(!au_mpscq_empty(&ring->done)))
		au_ring_unlocked_slow(ring);
}

/* Whoever is not inside enter does what is ready, or says so. Lock held. */
void au_ring_serve(struct au_ring *ring);

static inline bool au_ring_defer(const struct au_ring *ring)
{
	return ring->setup_flags & IORING_SETUP_DEFER_TASKRUN;
}

/*
 * The ring's descriptor, or -errno. The caller counts as inside the ring, and
 * takes itself out of nr_inside when it is set up.
 */
int au_ring_create(unsigned int entries, struct io_uring_params *p,
		   struct au_ring **out) au_must_check;

/* Ends the ring if nobody is inside and no descriptor is left. Lock held. */
void au_ring_maybe_destroy(struct au_ring *ring);

/* Asks whether the ring has a descriptor left; ends it if not. Lock held. */
void au_ring_check_closed(struct au_ring *ring);

/*
 * Lock held; released for a while if the ring is in the application's memory
 * and its SQPOLL thread still looks at that: the memory may go after close(2).
 */
void au_ring_await_end(struct au_ring *ring);

/* A descriptor we know nothing of was closed: was it a ring's last one? */
void au_rings_check_adrift(void);

/* Every ring ever made, for walks; entries may be dead. */
struct au_ring *au_ring_first(void);

/* The number `fd` means `ring` from now on; NULL: no ring any more. */
void au_ring_map_fd(unsigned int fd, struct au_ring *ring);

void au_rings_fork_child(void);

/* Of a ring in the child of a fork: all that was the parent's alone. */
void au_ring_reset_private(struct au_ring *ring);

/*
 * An op is about to close `fd` under `ring`'s lock: as au_hooks_fd_closing(),
 * but another ring that is busy right now is passed over.
 */
void au_ring_fd_closing(struct au_ring *ring, int fd);

struct au_req *au_req_alloc_slow(struct au_ring *ring);

static inline struct au_req *au_req_alloc(struct au_ring *ring)
{
	struct au_slist_node *n = ring->free_reqs;

	if (au_unlikely(!n))
		return au_req_alloc_slow(ring);
	ring->free_reqs = n->next;
	return au_req_of_node(n);
}

/* A free request is parked nowhere and links to nothing. */
static inline void au_req_free(struct au_ring *ring, struct au_req *req)
{
	req->node.next = ring->free_reqs;
	ring->free_reqs = &req->node;
}

/*
 * Where the ring keeps what it learnt of a descriptor's file (AU_HINT_*), or
 * NULL. A hint may be stale when the number was closed unseen; none can do
 * worse than cost time.
 */
uint8_t *au_fd_hint(struct au_ring *ring, int fd);

/*
 * A reference of a request's own on `fd`, which is about to be closed: hidden,
 * or -errno. -ELOOP for a ring's: held by a request it would never end.
 */
int au_ring_keep_fd(int fd) au_must_check;

/* `fd` is about to be closed: if it is what `req` is about, req keeps it. */
void au_req_keep_fd(struct au_req *req, int fd);

/* The calling thread, as the kernel numbers it. */
int au_gettid(void);

#endif
