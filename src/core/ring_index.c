/* SPDX-License-Identifier: MIT */
/*
 * Registered ring indices: a table of the calling thread, each entry holding
 * its ring as a descriptor would.
 */
#include <errno.h>
#include "core/register.h"
#include "sys/uaccess.h"

#define RING_INDICES 16

static __thread struct au_ring *indices[RING_INDICES];
static unsigned int indices_forks;
static __thread unsigned int indices_seen;

/* The parent's entries mean nothing in its child. */
static void indices_check(void)
{
	if (au_likely(indices_seen == indices_forks))
		return;
	for (int i = 0; i < RING_INDICES; i++)
		indices[i] = NULL;
	indices_seen = indices_forks;
}

void au_ring_indices_fork_child(void)
{
	indices_forks++;
}

struct au_ring *au_ring_by_index(unsigned int index, int *err)
{
	indices_check();
	*err = -EBADF;
	if (index >= RING_INDICES) {
		*err = -EINVAL;
		return NULL;
	}
	return indices[index];
}

int au_ring_index_add(struct au_ring *ring, int slot)
{
	int first = slot < 0 ? 0 : slot,
	    last = slot < 0 ? RING_INDICES - 1 : slot;

	indices_check();
	for (int i = first; i <= last; i++) {
		if (indices[i])
			continue;
		if (!au_ring_lock_alive(ring))
			return -EBADF;
		ring->refs_index++;
		au_ring_unlock(ring);
		indices[i] = ring;
		return i;
	}
	return -EBUSY;
}

static void index_remove(unsigned int i)
{
	struct au_ring *ring = indices[i];

	indices[i] = NULL;
	if (!ring || !au_ring_lock_alive(ring))
		return;
	if (!--ring->refs_index)
		au_ring_check_closed(ring);
	au_ring_unlock(ring);
}

int au_register_ring_fds(uint64_t arg, uint32_t nr)
{
	uint32_t done;
	int r = 0;

	if (!nr || nr > RING_INDICES)
		return -EINVAL;
	for (done = 0; done < nr; done++) {
		uint64_t at = arg + done * sizeof(struct io_uring_rsrc_update);
		struct io_uring_rsrc_update up;
		struct au_ring *ring;

		if (au_copy_from_user(&up, at, sizeof(up))) {
			r = -EFAULT;
			break;
		}
		r = -EINVAL;
		if (up.resv || (up.offset != -1U && up.offset >= RING_INDICES))
			break;
		ring = au_ring_lookup((unsigned int)up.data, &r);
		if (!ring)
			break;
		r = au_ring_index_add(ring, (int)up.offset);
		if (r < 0)
			break;
		up.offset = (uint32_t)r;
		if (au_copy_to_user(at, &up, sizeof(up))) {
			index_remove((unsigned int)r);
			r = -EFAULT;
			break;
		}
	}
	return done ? (int)done : r;
}

int au_unregister_ring_fds(uint64_t arg, uint32_t nr)
{
	uint32_t done;
	int r = 0;

	if (!nr || nr > RING_INDICES)
		return -EINVAL;
	indices_check();
	for (done = 0; done < nr; done++) {
		struct io_uring_rsrc_update up;

		if (au_copy_from_user(&up, arg + done * sizeof(up),
				      sizeof(up))) {
			r = -EFAULT;
			break;
		}
		if (up.resv || up.data || up.offset >= RING_INDICES) {
			r = -EINVAL;
			break;
		}
		index_remove(up.offset);
	}
	return done ? (int)done : r;
}
