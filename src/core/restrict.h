/* SPDX-License-Identifier: MIT */
/*
 * IORING_REGISTER_RESTRICTIONS: what a ring may still be asked for once it is
 * enabled. A ring without restrictions has none of this.
 */
#ifndef AU_CORE_RESTRICT_H
#define AU_CORE_RESTRICT_H

#include <stdbool.h>
#include <stdint.h>

struct au_ring;

struct au_restrictions {
	uint64_t register_ops, sqe_ops[2]; /* allowed: a bit each */
	uint8_t flags_allowed, flags_required; /* IOSQE_* */
	bool registered, active; /* active: the ring was enabled since */
};

bool au_restrict_sqe(const struct au_ring *ring, uint8_t opcode, uint8_t flags);
bool au_restrict_register(const struct au_ring *ring, uint32_t opcode);

/* The ring was enabled. Ring lock held. */
void au_restrict_begin(struct au_ring *ring);

/* Ring lock held. */
int au_register_restrictions(struct au_ring *ring, uint64_t arg, uint32_t nr);

#endif
