/* SPDX-License-Identifier: MIT */
/*
 * A request: one SQE from its fetch to its CQE (the kernel's io_kiocb).
 *
 * Three cache lines. Line 0 is all that issuing an op touches, line 1 what
 * completing it adds, line 2 is for a request that has to wait, or whose CQE is
 * wide. A nop, or a read that hits the page cache, never writes line 2. Only the
 * table of those that wait has its node on line 1: whoever looks for a
 * user_data, or puts a request before others in a chain, touches one cold line
 * of each, not two.
 *
 * Who may touch a request: the holder of its ring's lock; while it runs in a
 * worker, that worker alone (cmd, res, async_data), until it hands the request
 * back through the ring's done queue.
 */
#ifndef AU_CORE_REQ_H
#define AU_CORE_REQ_H

#include <stdbool.h>
#include <stdint.h>
#include "base/atomic.h"
#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/util.h"
#include "uapi/io_uring.h"

struct au_ring;
struct au_rsrc_node;
struct au_watch;
struct au_worker;

/* The low byte holds the SQE's flags with their ABI values. */
enum {
	AU_REQ_F_FIXED_FILE = IOSQE_FIXED_FILE,
	AU_REQ_F_IO_DRAIN = IOSQE_IO_DRAIN,
	AU_REQ_F_LINK = IOSQE_IO_LINK,
	AU_REQ_F_HARDLINK = IOSQE_IO_HARDLINK,
	AU_REQ_F_ASYNC = IOSQE_ASYNC,
	AU_REQ_F_BUFFER_SELECT = IOSQE_BUFFER_SELECT,
	AU_REQ_F_CQE_SKIP = IOSQE_CQE_SKIP_SUCCESS,

	AU_REQ_F_FAIL = 1 << 8, /* ended in error: breaks its chain */
	AU_REQ_F_SKIP_LINK_CQES = 1 << 9, /* failed under CQE_SKIP */
	AU_REQ_F_ARM_LTIMEOUT = 1 << 10, /* next in chain is a LINK_TIMEOUT */
	AU_REQ_F_LINK_TIMEOUT = 1 << 11, /* that timeout is armed */
	AU_REQ_F_STABLE = 1 << 12, /* what the SQE points to is copied */
	AU_REQ_F_NEED_CLEANUP = 1 << 13, /* the op's cleanup must run */
	AU_REQ_F_DEFERRED = 1 << 15, /* waits for earlier requests */
	AU_REQ_F_MULTISHOT = 1 << 16,
	AU_REQ_F_COMPLETE_SLOW = 1 << 17, /* completion has more to do */
	AU_REQ_F_NODE_FILE = 1 << 18, /* holds a reference on file_node */
	AU_REQ_F_NODE_BUF = 1 << 19, /* holds a reference on buf_node */
	AU_REQ_F_NOWAIT = 1 << 20, /* EAGAIN is the answer, do not wait */
	AU_REQ_F_STREAM = 1 << 21, /* the file has no positions */
	AU_REQ_F_CQE32 = 1 << 22, /* extra[] goes into the CQE */
	AU_REQ_F_NO_AIO = 1 << 24, /* the kernel's AIO would not have it */
	AU_REQ_F_HIDDEN_FD = 1 << 23, /* fd is a reference of its own */
	AU_REQ_F_MESSAGE = 1 << 26, /* no request: a CQE from elsewhere */
	AU_REQ_F_NOTIF = 1 << 27, /* a second CQE follows, with extra[0] */
	AU_REQ_F_AGAIN = 1 << 25, /* in the poller's list of those to go on */
};

#define AU_REQ_F_LINKS (AU_REQ_F_LINK | AU_REQ_F_HARDLINK)

/* Where a request waits; the index of the engine that can give it back. */
enum au_parked_at {
	AU_AT_NONE, /* being worked on, or not issued yet */
	AU_AT_POLLER, /* a file's readiness */
	AU_AT_TIMERS, /* a deadline */
	AU_AT_WORKERS, /* queued for, or running in, a worker */
	AU_AT_DRAIN, /* earlier requests */
	AU_AT_AIO, /* the kernel: its transfer is under way */
	AU_AT_LAST,
};

#define AU_REQ_CMD_SIZE 40

struct au_req {
	/* line 0: issue */
	uint64_t flags; /* AU_REQ_F_*: only through the helpers below */

	union {
		uint64_t sqe_head; /* an SQE's first word, as it was fetched */

		struct {
			uint8_t opcode;
			uint8_t sqe_flags; /* became the low byte of flags */
			uint16_t buf_index; /* in the SQE: ioprio */
			int32_t fd; /* once assigned, the descriptor itself */
		};
	};

	int32_t res;
	uint32_t cqe_flags;
	uint64_t cmd[AU_REQ_CMD_SIZE / 8]; /* the op's private struct */

	/* line 1: complete, link, hand over */
	struct au_ring *ring;
	uint64_t user_data;
	struct au_hash_node pending; /* while parked; beside its key */
	struct au_req *link; /* next in the chain */
	struct au_slist_node node; /* free list, queues of the done, of again */
	void *async_data; /* the op's copies; freed by cleanup */
	uint8_t at; /* enum au_parked_at */
	bool cancelled; /* while in a worker; ring's lock and pool's */
	uint8_t pad[6];

	/* line 2: wait, or a wide CQE */
	uint64_t extra[2]; /* upper half of a 32-byte CQE */
	struct au_rsrc_node *file_node, *buf_node;

	union {
		struct { /* AU_AT_POLLER */
			struct au_list waiter;
			struct au_watch *watch;
			uint32_t poll_mask;
		};

		struct { /* AU_AT_TIMERS */
			struct au_heap_node timer;
			uint32_t clock; /* index of the heap */
			uint64_t deadline_ns;
			struct au_req *timed; /* a link timeout's target */
		};

		struct { /* AU_AT_WORKERS, AU_AT_DRAIN, AU_AT_AIO */
			struct au_list queued;
			struct au_worker *worker;
		};
	};
} au_aligned_cacheline;

_Static_assert(sizeof(struct au_req) == 3 * AU_CACHELINE, "three lines");
_Static_assert(offsetof(struct au_req, ring) == AU_CACHELINE, "line 1");
_Static_assert(offsetof(struct au_req, extra) == 2 * AU_CACHELINE, "line 2");

/* The op's private view of req->cmd. */
#define au_req_cmd(req, type)                                   \
	({                                                      \
		_Static_assert(sizeof(type) <= AU_REQ_CMD_SIZE, \
			       "command does not fit");         \
		(type *)(void *)(req)->cmd;                     \
	})

/*
 * The flag word is read whole (64 bits) right after it was written; a
 * byte-wide store that a compiler makes of `flags |= BIT` would keep that load
 * from being forwarded out of the store buffer. So every store is of the whole
 * word, which an atomic access guarantees. Only whoever has the request writes
 * the word; others may look at it (relaxed) while a worker does.
 */
static inline void au_req_set(struct au_req *req, uint64_t f)
{
	au_store_relaxed(&req->flags, req->flags | f);
}

static inline void au_req_clear(struct au_req *req, uint64_t f)
{
	au_store_relaxed(&req->flags, req->flags & ~f);
}

/* Clears `from` and sets `to` in one store. */
static inline void au_req_switch(struct au_req *req, uint64_t from, uint64_t to)
{
	au_store_relaxed(&req->flags, (req->flags & ~from) | to);
}

/* A poll looks on, where others read or write: any number may be told. */
static inline bool au_req_is_poll(const struct au_req *req)
{
	return req->opcode == IORING_OP_POLL_ADD;
}

static inline struct au_req *au_req_of_node(struct au_slist_node *n)
{
	return au_container_of(n, struct au_req, node);
}

/*
 * An error ends the chain; under CQE_SKIP it speaks for the whole chain. Alone
 * it is a result like others.
 */
static inline void au_req_set_fail(struct au_req *req)
{
	if (au_unlikely(req->flags & AU_REQ_F_CQE_SKIP))
		au_req_switch(req, AU_REQ_F_CQE_SKIP,
			      AU_REQ_F_FAIL | AU_REQ_F_SKIP_LINK_CQES |
				      AU_REQ_F_COMPLETE_SLOW);
	else
		au_req_set(req, AU_REQ_F_FAIL);
}

/*
 * The result of an op whose errors, in the kernel, break no chain and are
 * skipped like a success: path operations, sync, truncate, madvise, shutdown.
 * A descriptor that is none never gets as far as the op, and does break it.
 */
void au_req_set_res_soft(struct au_req *req, int res);

/* The result of an op; a negative one fails the request. */
static inline void au_req_set_res(struct au_req *req, int res)
{
	req->res = res;
	if (au_unlikely(res < 0))
		au_req_set_fail(req);
}

#endif
