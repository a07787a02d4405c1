/* SPDX-License-Identifier: MIT */
/*
 * Registered buffers: ranges of the application's memory that were there and
 * writable when registered. The kernel pins the pages; here the addresses are
 * handed to ordinary system calls, so a range unmapped later gives EFAULT.
 */
#include <errno.h>
#include <sys/uio.h>
#include "core/register.h"
#include "sys/uaccess.h"

#define BUFFERS_MAX    (1U << 14)
#define BUFFER_LEN_MAX (1ULL << 30)

static int buffer_node(const struct iovec *iov, uint64_t tag,
		       struct au_rsrc_node **out)
{
	uint64_t addr = (uintptr_t)iov->iov_base;

	*out = NULL;
	if (!addr)
		return tag ? -EINVAL : 0;
	if (au_user_writable(addr, iov->iov_len))
		return -EFAULT;
	*out = au_rsrc_buffer(addr, iov->iov_len, tag);
	return *out ? 0 : -ENOMEM;
}

/* What can be said of it without looking at the memory. */
static int iov_check(const struct iovec *iov)
{
	uint64_t addr = (uintptr_t)iov->iov_base;

	if ((ssize_t)iov->iov_len < 0)
		return -EINVAL;
	if (!addr)
		return iov->iov_len ? -EFAULT : 0;
	if (!iov->iov_len || iov->iov_len > BUFFER_LEN_MAX)
		return -EFAULT;
	return addr + iov->iov_len + 4095 < addr ? -EOVERFLOW : 0;
}

/* In the kernel's order: a bad vector speaks before a bad tag. */
static int iov_and_tag(uint64_t iovs, uint64_t tags, uint32_t i,
		       struct iovec *iov, uint64_t *tag)
{
	int r;

	*tag = 0;
	*iov = (struct iovec){ 0 };
	if (iovs &&
	    au_copy_from_user(iov, iovs + i * sizeof(*iov), sizeof(*iov)))
		return -EFAULT;
	r = iov_check(iov);
	if (r >= 0 && tags)
		r = au_copy_from_user(tag, tags + i * sizeof(*tag),
				      sizeof(*tag));
	return r;
}

static void buffers_drop(struct au_ring *ring, bool silent)
{
	for (uint32_t i = 0; i < ring->buffers.nr; i++) {
		struct au_rsrc_node *n = ring->buffers.nodes[i];

		if (!n)
			continue;
		if (silent)
			n->tag = 0;
		au_node_put(ring, n);
	}
	au_rsrc_table_free(&ring->buffers);
}

int au_register_buffers(struct au_ring *ring, uint64_t iovs, uint32_t nr,
			uint64_t tags)
{
	int r;

	if (ring->buffers.registered)
		return -EBUSY;
	if (!nr || nr > BUFFERS_MAX)
		return -EINVAL;
	r = au_rsrc_table_alloc(&ring->buffers, nr);
	for (uint32_t i = 0; r >= 0 && i < nr; i++) {
		struct iovec iov;
		uint64_t tag;

		r = iov_and_tag(iovs, tags, i, &iov, &tag);
		if (r >= 0)
			r = buffer_node(&iov, tag, &ring->buffers.nodes[i]);
	}
	if (r < 0)
		buffers_drop(ring, true);
	return r;
}

int au_register_buffers2(struct au_ring *ring, uint64_t arg, uint32_t size)
{
	struct io_uring_rsrc_register rr;

	if (size != sizeof(rr))
		return -EINVAL;
	if (au_copy_from_user(&rr, arg, sizeof(rr)))
		return -EFAULT;
	if (!rr.nr || rr.resv2 || (rr.flags & ~IORING_RSRC_REGISTER_SPARSE))
		return -EINVAL;
	if ((rr.flags & IORING_RSRC_REGISTER_SPARSE) && rr.data)
		return -EINVAL;
	return au_register_buffers(ring, rr.data, rr.nr, rr.tags);
}

int au_register_buffers_update(struct au_ring *ring, uint64_t arg,
			       uint32_t size)
{
	struct io_uring_rsrc_update2 up;
	uint32_t done;
	int r = 0;

	if (size != sizeof(up))
		return -EINVAL;
	if (au_copy_from_user(&up, arg, sizeof(up)))
		return -EFAULT;
	if (!up.nr || up.resv || up.resv2)
		return -EINVAL;
	if (up.offset + up.nr < up.offset)
		return -EOVERFLOW;
	if (!ring->buffers.registered)
		return -ENXIO;
	if (up.offset + up.nr > ring->buffers.nr)
		return -EINVAL;
	for (done = 0; done < up.nr; done++) {
		struct au_rsrc_node *n, **slot;
		struct iovec iov;
		uint64_t tag;

		r = iov_and_tag(up.data, up.tags, done, &iov, &tag);
		if (r >= 0)
			r = buffer_node(&iov, tag, &n);
		if (r < 0)
			break;
		slot = &ring->buffers.nodes[up.offset + done];
		if (*slot)
			au_node_put(ring, *slot);
		*slot = n;
	}
	return done ? (int)done : r;
}

int au_unregister_buffers(struct au_ring *ring)
{
	if (!ring->buffers.registered)
		return -ENXIO;
	buffers_drop(ring, false);
	return 0;
}
