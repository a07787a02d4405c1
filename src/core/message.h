/* SPDX-License-Identifier: MIT */
/*
 * CQEs posted to a ring from outside: another ring's MSG_RING, or a thread that
 * has no ring at all.
 *
 * The sender may hold its own ring's lock, so the target's is only tried. If it
 * is taken, or the target defers its work to its owner, the CQE travels through
 * the target's done queue, like a worker's finished request.
 */
#ifndef AU_CORE_MESSAGE_H
#define AU_CORE_MESSAGE_H

#include "core/ring.h"

/* What a MSG_RING SQE says. */
struct au_message {
	uint64_t user_data, cmd; /* IORING_MSG_* */
	uint32_t len, src_fd; /* CQE's res; slot of the file to send */
	uint32_t dst_fd; /* file_index to fill, or the CQE's flags */
	uint32_t flags; /* IORING_MSG_RING_* */
};

int au_message_prep(struct au_message *m,
		    const struct io_uring_sqe *sqe) au_must_check;

/* The ring behind `fd`: NULL with *err = -EBADF or -EBADFD. */
struct au_ring *au_message_target(int fd, int *err);

/* IORING_MSG_DATA. `held`: a ring whose lock is held, or NULL. */
int au_message_data(struct au_ring *held, struct au_ring *target,
		    const struct au_message *m) au_must_check;

/* IORING_REGISTER_SEND_MSG_RING: `arg` points to an SQE. No lock held. */
int au_message_sync(uint64_t arg) au_must_check;

/* 0, -EBADFD (disabled, or gone) or -ENOMEM. `held`: a ring whose lock is. */
int au_message_post(struct au_ring *held, struct au_ring *target,
		    uint64_t user_data, int32_t res,
		    uint32_t flags) au_must_check;

/* One came out of the done queue. Ring lock held. */
void au_message_arrived(struct au_ring *ring, struct au_req *msg);

/* The ring ends: drops what has come since. Ring lock held. */
void au_messages_drop(struct au_ring *ring);

#endif
