/* SPDX-License-Identifier: MIT */
/*
 * Registered buffers: ranges of the application's memory that were there and
 * writable when registered. The kernel pins the pages; here the addresses are
 * handed to ordinary system calls, so a range unmapped later gives EFAULT.
 */
#include <errno.h>
#include <stdlib.h>
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
		au_rsrc_table_drop(ring, &ring->buffers, true);
	return r;
}

int au_register_buffers2(struct au_ring *ring, uint64_t arg, uint32_t size)
{
	struct io_uring_rsrc_register rr;
	int r = au_rsrc_register_arg(&rr, arg, size);

	if (r < 0)
		return r;
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
	au_rsrc_table_drop(ring, &ring->buffers, false);
	return 0;
}

/* What another ring's table holds, copied under that ring's lock alone. */
struct clone {
	struct iovec *bufs; /* base NULL: an empty slot */
	uint32_t nr;
};

static int clone_read(struct au_ring *src, struct clone *c)
{
	if ((src->setup_flags & IORING_SETUP_SINGLE_ISSUER) && src->owner_tid &&
	    src->owner_tid != au_gettid())
		return -EEXIST;
	c->nr = src->buffers.nr;
	if (!c->nr)
		return -ENXIO;
	c->bufs = calloc(c->nr, sizeof(*c->bufs));
	if (!c->bufs)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->nr; i++) {
		const struct au_rsrc_node *n = src->buffers.nodes[i];

		if (!n)
			continue;
		c->bufs[i].iov_base = au_ptr(n->addr);
		c->bufs[i].iov_len = n->len;
	}
	return 0;
}

/* Two locks are never held at once: this ring's is let go meanwhile. */
static int clone_source(struct au_ring *ring, struct au_ring *src,
			struct clone *c)
{
	int r = -EBADF;

	if (src == ring)
		return clone_read(src, c);
	au_ring_unlock(ring);
	au_ring_lock(src);
	if (src->alive)
		r = clone_read(src, c);
	au_ring_unlock(src);
	au_ring_lock(ring);
	return r;
}

static int clone_range(const struct io_uring_clone_buffers *b, uint32_t nr_src,
		       uint32_t *nr, uint32_t *end)
{
	uint32_t src_end;

	*nr = b->nr ? b->nr : nr_src;
	if (*nr > nr_src || *nr > BUFFERS_MAX)
		return -EINVAL;
	if (__builtin_add_overflow(*nr, b->src_off, &src_end) ||
	    src_end > nr_src || __builtin_add_overflow(*nr, b->dst_off, end))
		return -EOVERFLOW;
	return *end > BUFFERS_MAX ? -EINVAL : 0;
}

/* The new table: the old one's slots, with the clones among them. */
static int clone_fill(struct au_ring *ring, struct au_rsrc_table *t,
		      const struct io_uring_clone_buffers *b,
		      const struct clone *c, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		const struct iovec *iov = &c->bufs[b->src_off + i];

		if (!iov->iov_base)
			continue;
		t->nodes[b->dst_off + i] = au_rsrc_buffer(
			(uintptr_t)iov->iov_base, iov->iov_len, 0);
		if (!t->nodes[b->dst_off + i])
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < ring->buffers.nr; i++) {
		struct au_rsrc_node *n = ring->buffers.nodes[i];

		if (!n || (i >= b->dst_off && i < b->dst_off + nr))
			continue;
		t->nodes[i] = n;
		ring->buffers.nodes[i] = NULL;
	}
	return 0;
}

static int clone_buffers(struct au_ring *ring,
			 const struct io_uring_clone_buffers *b,
			 const struct clone *c)
{
	struct au_rsrc_table t;
	uint32_t nr, end;
	int r = clone_range(b, c->nr, &nr, &end);

	if (r < 0)
		return r;
	r = au_rsrc_table_alloc(&t, end > ring->buffers.nr ? end :
							     ring->buffers.nr);
	if (r < 0)
		return r;
	r = clone_fill(ring, &t, b, c, nr);
	if (r < 0) {
		for (uint32_t i = 0; i < t.nr; i++)
			free(t.nodes[i]);
		au_rsrc_table_free(&t);
		return r;
	}
	au_rsrc_table_drop(ring, &ring->buffers, false);
	ring->buffers = t;
	return 0;
}

int au_register_clone_buffers(struct au_ring *ring, uint64_t arg)
{
	struct io_uring_clone_buffers b;
	struct clone c = { 0 };
	struct au_ring *src;
	bool replace;
	int r;

	if (au_copy_from_user(&b, arg, sizeof(b)))
		return -EFAULT;
	if (b.flags &
	    ~(IORING_REGISTER_SRC_REGISTERED | IORING_REGISTER_DST_REPLACE))
		return -EINVAL;
	replace = b.flags & IORING_REGISTER_DST_REPLACE;
	if (!replace && ring->buffers.nr)
		return -EBUSY;
	if (b.pad[0] || b.pad[1] || b.pad[2])
		return -EINVAL;
	src = b.flags & IORING_REGISTER_SRC_REGISTERED ?
		      au_ring_by_index(b.src_fd, &r) :
		      au_ring_lookup(b.src_fd, &r);
	if (!src)
		return r;
	if (!b.nr && (b.dst_off || b.src_off))
		return -EINVAL;
	r = clone_source(ring, src, &c);
	/* The lock was let go: look again. */
	if (r >= 0 && !replace && ring->buffers.nr)
		r = -EBUSY;
	if (r >= 0)
		r = clone_buffers(ring, &b, &c);
	free(c.bufs);
	return r;
}
