/* SPDX-License-Identifier: MIT */
/*
 * Lock order: a ring's own lock, then its common block's. A thread that holds
 * another ring only tries for the block.
 */
#include "core/common.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "core/cancel.h"
#include "core/complete.h"
#include "core/housekeeper.h"
#include "core/issue.h"
#include "core/op.h"
#include "core/sqpoll.h"
#include "core/submit.h"
#include "core/wait.h"
#include "sys/maps.h"
#include "sys/robust.h"
#include "sys/syscall.h"

#define COMMON_SPILL   4096U /* CQEs kept of a ring: a power of two */
#define COMMON_TRIES   1000 /* with a yield between: some milliseconds */
#define COMMON_PREPARE (100 * AU_NSEC_PER_MSEC)

struct common_slot {
	struct au_common common;
	struct au_overflow spill[COMMON_SPILL];
};

/* Blocks that were made at once, in one mapping; it goes with the last. */
struct au_common_batch {
	uint32_t nr; /* rings of this process; atomic */
	size_t size;
	struct common_slot *slots;
};

static int common_pid; /* getpid(2) asks the kernel each time */

static int self_pid(void)
{
	if (au_unlikely(!au_load_relaxed(&common_pid)))
		au_store_relaxed(&common_pid, getpid());
	return au_load_relaxed(&common_pid);
}

static struct common_slot *common_slot(const struct au_ring *ring)
{
	return au_container_of(ring->common, struct common_slot, common);
}

/* ---- overflow ---- */

static void spill_set(struct au_ring *ring, uint32_t first, uint32_t nr)
{
	const union au_common_overflow o = { .first = first, .nr = nr };

	/* behind the CQE, or the tail, that was stored before */
	au_store_release(&ring->common->overflow.word, o.word);
	ring->nr_overflow = nr;
}

bool au_common_spill(struct au_ring *ring, const struct au_overflow *o)
{
	struct common_slot *s = common_slot(ring);

	if (ring->nr_overflow == COMMON_SPILL)
		return false;
	s->spill[(s->common.overflow.first + ring->nr_overflow) % COMMON_SPILL] =
		*o;
	spill_set(ring, s->common.overflow.first, ring->nr_overflow + 1);
	return true;
}

struct au_overflow *au_common_spilled(struct au_ring *ring)
{
	struct common_slot *s = common_slot(ring);
	const union au_common_move move = { .which = s->common.overflow.first,
					    .tail = ring->cq_tail };

	/* behind the pop of the one before */
	au_store_release(&s->common.move.word, move.word);
	return &s->spill[s->common.overflow.first % COMMON_SPILL];
}

void au_common_spill_pop(struct au_ring *ring)
{
	spill_set(ring, ring->common->overflow.first + 1,
		  ring->nr_overflow - 1);
}

/* Who died may have published one and not have popped it yet. */
static void spill_recover(struct au_ring *ring, uint32_t tail)
{
	struct au_common *c = ring->common;

	ring->nr_overflow = c->overflow.nr;
	if (c->overflow.nr && c->move.which == c->overflow.first &&
	    (int32_t)(tail - c->move.tail) > 0)
		au_common_spill_pop(ring);
}

/* ---- the lock ---- */

/* What a holder published before it died has happened; the rest has not. */
static void common_recover(struct au_ring *ring)
{
	struct au_common *c = ring->common;
	uint32_t head = AU_READ_ONCE(ring->shared->sq_head);
	uint32_t tail = AU_READ_ONCE(ring->shared->cq_tail);

	if (head - c->sq_head <= ring->sq_entries)
		c->sq_head = head;
	if (tail - c->cq_tail_shared <= ring->cq_entries)
		c->cq_tail_shared = tail;
	c->cq_tail = c->cq_tail_shared;
	spill_recover(ring, c->cq_tail);
	/* Those whom it was about to wake. */
	c->asleep = true;
	au_common_wake(ring);
}

static void common_load(struct au_ring *ring)
{
	const struct au_common *c = ring->common;

	/* An SQPOLL thread reads it without the lock, and only it changes it. */
	if (ring->sq_head != c->sq_head)
		ring->sq_head = c->sq_head;
	ring->cq_tail = c->cq_tail;
	ring->cq_tail_shared = c->cq_tail_shared;
	ring->cq_limit = c->cq_tail; /* how much room there is must be seen */
	ring->nr_timeouts = c->nr_timeouts;
	ring->nr_overflow = c->overflow.nr;
	ring->owner_tid = c->owner_tid;
	ring->readable = c->readable;
	if (ring->watched != c->watched)
		au_store_relaxed(&ring->watched, c->watched);
	if (au_unlikely(ring->disabled && !c->disabled)) {
		ring->disabled = false;
		au_restrict_begin(ring);
	}
}

/* Whom to ask for requests that are not here. */
static void common_count(struct au_ring *ring)
{
	struct au_common *c = ring->common;
	uint32_t i = ring->process;

	if (au_likely(!ring->pending.nr && i == AU_COMMON_PROCESSES))
		return;
	if (i == AU_COMMON_PROCESSES || c->processes[i].pid != self_pid()) {
		for (i = 0; i < AU_COMMON_PROCESSES; i++) {
			if (!c->processes[i].nr_pending)
				break;
		}
		ring->process = (uint8_t)i;
		if (i == AU_COMMON_PROCESSES)
			return;
		c->processes[i].pid = self_pid();
	}
	c->processes[i].nr_pending = ring->pending.nr;
	if (!ring->pending.nr)
		ring->process = AU_COMMON_PROCESSES;
}

static void common_store(struct au_ring *ring)
{
	struct au_common *c = ring->common;

	c->sq_head = ring->sq_head;
	c->cq_tail = ring->cq_tail;
	c->cq_tail_shared = ring->cq_tail_shared;
	c->nr_timeouts = ring->nr_timeouts;
	c->owner_tid = ring->owner_tid;
	c->readable = ring->readable;
	c->watched = ring->watched;
	c->disabled = ring->disabled;
	common_count(ring);
}

void au_common_enter(struct au_ring *ring)
{
	if (au_unlikely(au_robust_lock(&ring->common->lock, au_gettid())))
		common_recover(ring);
	common_load(ring);
}

bool au_common_try_enter(struct au_ring *ring)
{
	uint32_t *lock = &ring->common->lock;

	for (int i = 0; i < COMMON_TRIES; i++) {
		if (au_robust_trylock(lock, au_gettid())) {
			common_load(ring);
			return true;
		}
		sched_yield();
	}
	if (au_robust_steal(lock, au_gettid())) {
		common_recover(ring);
		common_load(ring);
		return true;
	}
	/* What was left to us meanwhile must not wait for the next enter. */
	au_housekeeper_hurry();
	return false;
}

void au_common_leave(struct au_ring *ring)
{
	common_store(ring);
	au_robust_unlock(&ring->common->lock, au_gettid());
}

void au_common_wake(struct au_ring *ring)
{
	if (!ring->common->asleep)
		return;
	ring->common->asleep = false;
	au_poller_wake(&ring->poller);
}

/* The thread that forks or exits may itself hold the lock, in a signal handler. */
static bool lock_patiently(struct au_ring *ring, uint64_t deadline)
{
	while (!au_ring_trylock(ring)) {
		if (au_now_ns() > deadline)
			return false;
		sched_yield();
	}
	return true;
}

/* ---- SQPOLL ---- */

bool au_common_sqpoll_alive(const struct au_ring *ring)
{
	const struct au_common *c = ring->common;

	/* A thread goes at once, though its process may wait to be reaped. */
	return au_syscall(SYS_tgkill, c->sqpoll_pid, c->sqpoll_tid, 0) !=
	       -ESRCH;
}

/* ---- cancel ---- */

static int process_open(int pid)
{
	return au_fd_hide((int)au_syscall(SYS_pidfd_open, pid, 0));
}

bool au_common_cancel(struct au_ring *ring, struct au_req *req,
		      const struct au_cancel *what, uint32_t *at)
{
	struct au_common *c = ring->common;
	uint32_t i = *at;
	int fd = -1;

	/* Who asked may have died before the answer came. */
	if (c->mail.from && au_syscall(SYS_kill, c->mail.from, 0) == -ESRCH)
		memset(&c->mail, 0, sizeof(c->mail));
	/* Descriptors of other processes are not to be compared. */
	if (ring->asking || c->mail.asked || c->mail.answered ||
	    (what->flags & IORING_ASYNC_CANCEL_FD))
		return false;
	for (; fd < 0 && i < AU_COMMON_PROCESSES; i++) {
		if (!c->processes[i].nr_pending ||
		    c->processes[i].pid == self_pid())
			continue;
		fd = process_open(c->processes[i].pid);
		if (fd == -ESRCH)
			c->processes[i].nr_pending = 0;
	}
	if (fd < 0)
		return false;
	/* Readable once the process has gone. */
	if (au_poller_arm(ring, req, fd, EPOLLIN) < 0) {
		au_fd_close_hidden(fd);
		return false;
	}
	req->fd = fd;
	au_req_set(req, AU_REQ_F_NEED_CLEANUP);
	c->mail = (struct au_common_mail){
		.from = self_pid(),
		.to = c->processes[i - 1].pid,
		.asked = true,
		.opcode = what->opcode,
		.flags = what->flags,
		.user_data = what->user_data,
	};
	ring->asking = req;
	*at = i;
	au_poller_wake(&ring->poller);
	return true;
}

bool au_common_cancel_end(struct au_ring *ring, struct au_req *req, int *res)
{
	struct au_common_mail *m = &ring->common->mail;
	bool answered = m->answered;

	*res = answered ? m->res : -ENOENT;
	memset(m, 0, sizeof(*m));
	ring->asking = NULL;
	au_fd_close_hidden(req->fd);
	req->fd = -1;
	au_req_clear(req, AU_REQ_F_NEED_CLEANUP);
	return answered;
}

/* ---- exit ---- */

static bool common_exiting; /* nothing more is taken over here */

static bool bequeath(struct au_ring *ring, struct au_req *req)
{
	struct au_common *c = ring->common;
	struct au_common_legacy *l = &c->legacies[c->nr_legacies];
	const struct au_op_cold *op = &au_ops_cold[req->opcode];

	if (!op->bequeath || c->nr_legacies == AU_COMMON_LEGACIES)
		return false;
	memset(l, 0, sizeof(*l));
	if (!op->bequeath(req, &l->sqe, &l->ts) || au_cancel_take(ring, req))
		return false;
	c->nr_legacies++;
	ring->nr_inflight--;
	return true;
}

/* True if the request has left the table, and others perhaps with it. */
static bool req_exit(struct au_ring *ring, struct au_req *req)
{
	bool ends = req->at == AU_AT_WORKERS ||
		    ((au_ops[req->opcode].traits & AU_OP_NEEDS_FILE) &&
		     au_ring_lookup_fast((unsigned int)req->fd));

	if (req->cancelled)
		return false;
	return ends ? au_cancel_req(ring, req) == 0 : bequeath(ring, req);
}

static bool ring_exit_one(struct au_ring *ring)
{
	for (uint32_t b = 0; ring->pending.bits && b < 1U << ring->pending.bits;
	     b++) {
		struct au_hash_node *n = ring->pending.buckets[b];

		for (; n; n = n->next) {
			if (req_exit(ring, au_container_of(n, struct au_req,
							   pending)))
				return true;
		}
	}
	return false;
}

static void ring_exit(struct au_ring *ring, bool all, uint64_t deadline)
{
	if (all)
		au_cancel_all(ring);
	while (!all && ring_exit_one(ring))
		;
	au_cancelled_complete(ring);
	au_ring_after_complete(ring);
	au_cq_commit(ring);
	/* Those that run come back interrupted. */
	while (au_workers_interrupt_again(ring) && au_now_ns() < deadline) {
		if (au_ring_sleep(ring, au_now_ns() + AU_NSEC_PER_MSEC, NULL))
			break;
		au_ring_run(ring);
	}
	au_poller_wake(&ring->poller);
}

static void rings_exit(bool all)
{
	uint64_t deadline = au_now_ns() + COMMON_PREPARE;

	for (struct au_ring *r = au_ring_first(); r; r = r->next) {
		if (!au_load_relaxed(&r->alive) ||
		    !au_load_relaxed(&r->common) ||
		    !au_load_relaxed(&r->pending.nr) ||
		    !lock_patiently(r, deadline))
			continue;
		if (r->alive && !r->ending)
			ring_exit(r, all, deadline);
		au_ring_unlock(r);
	}
}

void au_common_exit(void)
{
	au_store_relaxed(&common_exiting, true);
	rings_exit(false);
}

void au_common_exec(void)
{
	rings_exit(true);
}

static void common_inherit(struct au_ring *ring)
{
	struct au_common *c = ring->common;

	while (c->nr_legacies) {
		struct au_common_legacy l = c->legacies[--c->nr_legacies];

		l.sqe.addr = (uintptr_t)&l.ts;
		au_submit_own(ring, &l.sqe);
	}
}

void au_common_run(struct au_ring *ring)
{
	struct au_common_mail *m = &ring->common->mail;
	struct au_req *req = ring->asking;

	if (ring->common->nr_legacies && !au_load_relaxed(&common_exiting))
		common_inherit(ring);

	if (m->asked && m->to == self_pid()) {
		struct au_cancel what = { .flags = m->flags,
					  .user_data = m->user_data,
					  .opcode = m->opcode };

		m->res = au_cancel(ring, &what);
		m->asked = false;
		m->answered = true;
		au_poller_wake(&ring->poller);
	}
	if (req && m->answered && m->from == self_pid()) {
		au_poller_cancel(ring, req);
		au_req_unpark(ring, req);
		au_req_issue(ring, req);
	}
}

/* ---- fork ---- */

static struct au_common_batch *batch_new(uint32_t nr)
{
	struct au_common_batch *b = calloc(1, sizeof(*b));
	long r;

	if (!b)
		return NULL;
	b->size = nr * sizeof(*b->slots);
	r = au_syscall(SYS_mmap, NULL, b->size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r < 0 && r > -4096) {
		free(b);
		return NULL;
	}
	b->slots = (void *)r;
	/* A reference of whoever fills it. */
	b->nr = 1;
	return b;
}

static void batch_put(struct au_common_batch *b)
{
	if (au_fetch_sub(&b->nr, 1) != 1)
		return;
	(void)au_syscall(SYS_munmap, b->slots, b->size);
	free(b);
}

/* The ring from now on is one of several processes. Lock held. */
static void common_share(struct au_ring *ring, struct au_common_batch *b,
			 struct common_slot *s)
{
	struct au_slist_node *n;

	if (au_poller_bell(ring) < 0)
		return;
	au_fetch_add(&b->nr, 1);
	ring->batch = b;
	au_store_relaxed(&ring->common, &s->common);
	ring->process = AU_COMMON_PROCESSES;
	common_store(ring);
	s->common.asleep = true;
	s->common.sqpoll_pid = self_pid();
	s->common.sqpoll_tid = au_sqpoll_tid(ring);
	s->common.move.which = UINT32_MAX; /* none of them, yet */
	ring->nr_overflow = 0;
	while ((n = au_slist_pop(&ring->overflow))) {
		struct au_overflow *o =
			au_container_of(n, struct au_overflow, node);

		(void)!au_common_spill(ring, o);
		free(o);
	}
	s->common.lock = (uint32_t)au_gettid();
	au_cq_update_notify(ring);
}

static bool memory_shared(const struct au_ring *ring, struct au_mapping *last)
{
	/* Ours is. */
	if (ring->memory.fd >= 0)
		return true;
	return au_memory_shared((uintptr_t)ring->shared,
				ring->memory.rings_size, last) &&
	       au_memory_shared((uintptr_t)ring->sqes, ring->memory.sqes_size,
				last);
}

static bool common_wanted(const struct au_ring *ring)
{
	return au_load_relaxed(&ring->alive) &&
	       !au_load_relaxed(&ring->common) &&
	       !au_load_relaxed(&ring->no_common);
}

void au_common_fork_prepare(void)
{
	uint64_t deadline = au_now_ns() + COMMON_PREPARE;
	struct au_mapping last = { 0 };
	struct au_common_batch *b;
	uint32_t nr = 0, used = 0;

	for (struct au_ring *r = au_ring_first(); r; r = r->next)
		nr += common_wanted(r);
	b = nr ? batch_new(nr) : NULL;
	if (!b)
		return;
	for (struct au_ring *r = au_ring_first(); r && used < nr; r = r->next) {
		if (!common_wanted(r) || !lock_patiently(r, deadline))
			continue;
		if (r->alive && !r->closing && !r->common) {
			au_store_relaxed(&r->no_common,
					 !memory_shared(r, &last));
			if (!r->no_common)
				common_share(r, b, &b->slots[used++]);
		}
		au_ring_unlock(r);
	}
	batch_put(b);
}

/* Descriptors that the ring has in a child, too. */
static void keep_fds(struct au_ring *ring)
{
	const int fds[] = { ring->peer_fd, ring->memory.fd, ring->eventfd,
			    ring->poller.wakefd, ring->region.mem_fd };

	for (size_t i = 0; i < AU_ARRAY_SIZE(fds); i++)
		au_fd_keep(fds[i]);
	for (uint32_t i = 0; i < ring->files.nr; i++) {
		if (ring->files.nodes[i])
			au_fd_keep(ring->files.nodes[i]->fd);
	}
	au_kbufs_keep(&ring->kbufs);
}

/*
 * What was registered is the child's as well, unless another thread of the
 * parent was changing it when the process was copied.
 */
static void keep_registered(struct au_ring *ring)
{
	if (!au_biased_held(&ring->lock))
		return;
	memset(&ring->kbufs, 0, sizeof(ring->kbufs));
	if (!ring->changing)
		return;
	memset(&ring->files, 0, sizeof(ring->files));
	memset(&ring->buffers, 0, sizeof(ring->buffers));
	memset(&ring->region, 0, sizeof(ring->region));
	ring->region.mem_fd = -1;
	ring->changing = false;
}

/*
 * Requests, workers and timers are the parent's. Their memory may have been
 * copied in the middle of a change, so nothing looks at it again.
 */
void au_common_fork_child(struct au_ring *ring, bool keeps)
{
	struct au_common *common = ring->common;
	uint32_t special = ring->special &
			   (AU_SPECIAL_RESTRICTED | AU_SPECIAL_IOPOLL);
	bool disabled = ring->disabled;
	bool keep = keeps && ring->alive && common && !ring->closing &&
		    !ring->ending;

	keep = keep && au_memory_inherited(ring);
	if (keep) {
		keep_registered(ring);
		keep_fds(ring);
	}
	au_ring_reset_private(ring);
	ring->asking = NULL;
	common_pid = 0;
	memset(&ring->lock, 0, sizeof(ring->lock));
	ring->common = NULL;
	ring->foreign = keep;
	au_store_relaxed(&ring->alive, keep);
	if (!keep)
		return;
	ring->common = common;
	ring->process = AU_COMMON_PROCESSES;
	ring->special = special;
	/* With restrictions the next to lock it sees that it was enabled. */
	ring->disabled = disabled;
	au_cq_update_notify(ring);
}

void au_common_drop(struct au_ring *ring)
{
	struct au_common_batch *b = ring->batch;

	if (!ring->common)
		return;
	au_common_leave(ring);
	au_store_relaxed(&ring->common, NULL);
	ring->batch = NULL;
	batch_put(b);
}
