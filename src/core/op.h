/* SPDX-License-Identifier: MIT */
/*
 * What an opcode is: a row of two tables (ops/table.c). The hot row is all
 * that submitting and issuing look at, the cold row is for names, cleaning up
 * and letting go of the application's memory.
 */
#ifndef AU_CORE_OP_H
#define AU_CORE_OP_H

#include <stdbool.h>
#include <stdint.h>
#include "core/req.h"

/* What issue says. Results go into req->res, never into this. */
enum au_issue {
	AU_DONE, /* finished: req->res is the result */
	AU_QUEUED, /* it is parked: somebody else completes it */
	AU_RETRY, /* would block: wait for the file, then issue again */
	AU_PUNT, /* would block where no poll helps: run it in a worker */
	AU_REQUEUE, /* a multishot's turn is over, not its data: go on later */
	AU_REFUSED, /* only from au_ops_straight: prep's error is in req->res */
};

/* How issue is called. */
enum {
	AU_ISSUE_NONBLOCK = 1 << 0, /* ring lock held: must not sleep */
	AU_ISSUE_WORKER = 1 << 1, /* in a worker, no lock: may sleep */
};

/* Traits of an opcode. */
enum {
	AU_OP_NEEDS_FILE = 1 << 0,
	AU_OP_IOPRIO = 1 << 1, /* sqe->ioprio means something */
	AU_OP_IOPOLL = 1 << 2, /* allowed on an IOPOLL ring */
	AU_OP_BUFFER_SELECT = 1 << 3,
	AU_OP_POLLIN = 1 << 4, /* AU_RETRY waits until readable */
	AU_OP_POLLOUT = 1 << 5, /* ... until writable */
	AU_OP_BLOCKING = 1 << 6, /* always in a worker (path operations) */
	AU_OP_UNBOUND = 1 << 7, /* may sleep for ever: not a disk's speed */
	AU_OP_LAZY = 1 << 8, /* has a stabilise step, see the cold row */
	AU_OP_RUN = 1 << 9, /* neighbours may be done by one call */
	AU_OP_CANCEL_COUNTS = 1 << 10, /* cancelling it results in 1 */
	AU_OP_SOCKET = 1 << 11, /* wants a socket, which a ring is not */
};

struct au_op {
	/*
	 * Copies the SQE into the request and rejects what the op does not
	 * use. 0 or -errno. The SQE is the application's: read each field
	 * once. Ring lock held.
	 */
	int (*prep)(struct au_req *req, const struct io_uring_sqe *sqe);

	/* Does it, or says why not now. `issue_flags`: AU_ISSUE_*. */
	enum au_issue (*issue)(struct au_req *req, unsigned int issue_flags);

	uint32_t traits; /* AU_OP_* */
} __attribute__((aligned(32))); /* found by a shift */

struct au_op_cold {
	const char *name;

	/*
	 * AU_OP_LAZY: copies what the SQE points to (iovecs, a msghdr, an
	 * address), because the request is about to outlive its submit call.
	 * Until then issue hands the application's pointers straight to the
	 * system call, which checks them. 0, -EFAULT, -ENOMEM, -EINVAL.
	 */
	int (*stabilise)(struct au_req *req);

	/* Frees async_data; only with AU_REQ_F_NEED_CLEANUP. */
	void (*cleanup)(struct au_req *req);

	/*
	 * AU_OP_RUN: may `req` be done by the call that does `last`? The
	 * opcodes may differ.
	 */
	bool (*follows)(const struct au_req *last, const struct au_req *req);

	/* Does a run by one call: how many from the front are finished. */
	uint32_t (*run)(struct au_ring *ring, struct au_req **reqs,
			uint32_t nr);

	/* What au_aio_start() came to; as issue. */
	enum au_issue (*aio_done)(struct au_req *req, long res);

	/*
	 * The process ends, and others have the ring: an SQE that does the
	 * rest, with `ts` at its address. False if there is none. May be NULL.
	 */
	bool (*bequeath)(const struct au_req *req, struct io_uring_sqe *sqe,
			 struct au_timespec *ts);

	/*
	 * The file of a parked request has `events`, or its deadline passed
	 * (0). True if the request left its place. NULL: issue it again.
	 */
	bool (*ready)(struct au_ring *ring, struct au_req *req,
		      uint32_t events);
};

/* Whatever opcode an SQE names, there is a row for it. */
enum {
	AU_OPCODES = UINT8_MAX + 1,
};

extern const struct au_op au_ops[AU_OPCODES] au_hidden;

/*
 * Prep and issue in one, for ops that need no file and start at once: one
 * indirect call in place of two. NULL: the op goes the long way.
 */
typedef enum au_issue (*au_straight_fn)(struct au_req *req,
					const struct io_uring_sqe *sqe);

extern const au_straight_fn au_ops_straight[AU_OPCODES] au_hidden;
extern const struct au_op_cold au_ops_cold[AU_OPCODES];

/* Does this engine serve the opcode? What the probe reports. */
bool au_op_supported(uint8_t opcode);

#endif
