/* SPDX-License-Identifier: MIT */
#include "core/restrict.h"

#include <errno.h>
#include "core/ring.h"
#include "sys/uaccess.h"

#define RESTRICTIONS_MAX \
	(IORING_RESTRICTION_LAST + IORING_REGISTER_LAST + IORING_OP_LAST)

_Static_assert(IORING_REGISTER_LAST <= 64 && IORING_OP_LAST <= 128,
	       "a bit each");

bool au_restrict_sqe(const struct au_ring *ring, uint8_t opcode, uint8_t flags)
{
	const struct au_restrictions *r = &ring->restrictions;

	return (r->sqe_ops[opcode / 64] >> (opcode % 64) & 1) &&
	       (flags & r->flags_required) == r->flags_required &&
	       !(flags & ~(r->flags_allowed | r->flags_required));
}

bool au_restrict_register(const struct au_ring *ring, uint32_t opcode)
{
	return ring->restrictions.register_ops >> opcode & 1;
}

static int restriction_add(struct au_restrictions *r,
			   const struct io_uring_restriction *in)
{
	switch (in->opcode) {
	case IORING_RESTRICTION_REGISTER_OP:
		if (in->register_op >= IORING_REGISTER_LAST)
			return -EINVAL;
		r->register_ops |= 1ULL << in->register_op;
		return 0;
	case IORING_RESTRICTION_SQE_OP:
		if (in->sqe_op >= IORING_OP_LAST)
			return -EINVAL;
		r->sqe_ops[in->sqe_op / 64] |= 1ULL << (in->sqe_op % 64);
		return 0;
	case IORING_RESTRICTION_SQE_FLAGS_ALLOWED:
		r->flags_allowed = in->sqe_flags;
		return 0;
	case IORING_RESTRICTION_SQE_FLAGS_REQUIRED:
		r->flags_required = in->sqe_flags;
		return 0;
	default:
		return -EINVAL;
	}
}

void au_restrict_begin(struct au_ring *ring)
{
	ring->restrictions.active = ring->restrictions.registered;
	if (ring->restrictions.active)
		ring->special |= AU_SPECIAL_RESTRICTED;
}

int au_register_restrictions(struct au_ring *ring, uint64_t arg, uint32_t nr)
{
	struct au_restrictions fresh = { .registered = true };

	if (!ring->disabled)
		return -EBADFD;
	if (ring->restrictions.registered)
		return -EBUSY;
	if (!arg || nr > RESTRICTIONS_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < nr; i++) {
		struct io_uring_restriction in;
		int r = 0;

		if (au_copy_from_user(&in, arg + i * sizeof(in), sizeof(in)))
			r = -EFAULT;
		if (r >= 0)
			r = restriction_add(&fresh, &in);
		if (r < 0)
			return r;
	}
	ring->restrictions = fresh;
	return 0;
}
