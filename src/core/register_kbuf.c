/* SPDX-License-Identifier: MIT */
/*
 * Rings of provided buffers: registering, giving up, asking for the head, and
 * mapping those whose memory is the engine's.
 *
 * The application's memory is checked once, when registered; a ring whose pages
 * are unmapped while registered is lost on the application, as the memory of a
 * NO_MMAP ring is.
 */
#include <errno.h>
#include <sys/mman.h>
#include "core/register.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

static bool resv_clear(const uint32_t *resv, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (resv[i])
			return false;
	}
	return true;
}

static int pbuf_check(const struct io_uring_buf_reg *reg)
{
	if (!resv_clear(reg->resv, AU_ARRAY_SIZE(reg->resv)))
		return -EINVAL;
	if (reg->flags & ~(IOU_PBUF_RING_MMAP | IOU_PBUF_RING_INC))
		return -EINVAL;
	if (reg->min_left && !(reg->flags & IOU_PBUF_RING_INC))
		return -EINVAL;
	/* Head and tail have 16 bits, and full must not look like empty. */
	if (!reg->ring_entries || reg->ring_entries >= 65536 ||
	    (reg->ring_entries & (reg->ring_entries - 1)))
		return -EINVAL;
	return 0;
}

static int pbuf_user_memory(const struct io_uring_buf_reg *reg, size_t size,
			    void **mem)
{
	if (!reg->ring_addr)
		return -EFAULT;
	if (reg->ring_addr & 4095)
		return -EINVAL;
	if (au_user_writable(reg->ring_addr, size))
		return -EFAULT;
	*mem = au_ptr(reg->ring_addr);
	return 0;
}

static int pbuf_own_memory(size_t size, void **mem, int *mem_fd)
{
	long r;

	*mem_fd = au_fd_memory("anyuring-buf");
	if (*mem_fd < 0)
		return *mem_fd;
	r = au_syscall(SYS_ftruncate, *mem_fd, size);
	if (r >= 0)
		r = au_syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
			       MAP_SHARED, *mem_fd, 0);
	if (r < 0 && r > -4096) {
		au_fd_close_hidden(*mem_fd);
		return (int)r;
	}
	*mem = (void *)r;
	return 0;
}

int au_register_pbuf_ring(struct au_ring *ring, uint64_t arg)
{
	struct io_uring_buf_reg reg;
	struct au_kbuf_group *g;
	int mem_fd = -1, r;
	void *mem = NULL;
	size_t size;

	if (au_copy_from_user(&reg, arg, sizeof(reg)))
		return -EFAULT;
	r = pbuf_check(&reg);
	if (r < 0)
		return r;
	g = au_kbuf_find(&ring->kbufs, reg.bgid);
	if (g && (g->is_ring || g->nr))
		return -EEXIST;
	size = au_align_up(reg.ring_entries * sizeof(struct io_uring_buf),
			   4096);
	if (reg.flags & IOU_PBUF_RING_MMAP)
		r = pbuf_own_memory(size, &mem, &mem_fd);
	else
		r = pbuf_user_memory(&reg, size, &mem);
	if (r < 0)
		return r;
	g = au_kbuf_group_new(&ring->kbufs, reg.bgid);
	if (!g) {
		if (mem_fd >= 0)
			(void)au_syscall(SYS_munmap, mem, size);
		au_fd_close_hidden(mem_fd);
		return -ENOMEM;
	}
	g->is_ring = true;
	g->incremental = reg.flags & IOU_PBUF_RING_INC;
	g->min_left = reg.min_left;
	g->mask = (uint16_t)(reg.ring_entries - 1);
	g->ring = mem;
	g->mem_fd = mem_fd;
	g->mem_size = size;
	return 0;
}

int au_unregister_pbuf_ring(struct au_ring *ring, uint64_t arg)
{
	struct io_uring_buf_reg reg;
	struct au_kbuf_group *g;

	if (au_copy_from_user(&reg, arg, sizeof(reg)))
		return -EFAULT;
	if (reg.flags || reg.min_left ||
	    !resv_clear(reg.resv, AU_ARRAY_SIZE(reg.resv)))
		return -EINVAL;
	g = au_kbuf_find(&ring->kbufs, reg.bgid);
	if (!g)
		return -ENOENT;
	if (!g->is_ring)
		return -EINVAL;
	au_kbuf_group_free(&ring->kbufs, g);
	return 0;
}

int au_register_pbuf_status(struct au_ring *ring, uint64_t arg)
{
	struct io_uring_buf_status st;
	struct au_kbuf_group *g;

	if (au_copy_from_user(&st, arg, sizeof(st)))
		return -EFAULT;
	if (!resv_clear(st.resv, AU_ARRAY_SIZE(st.resv)))
		return -EINVAL;
	g = st.buf_group < 65536 ?
		    au_kbuf_find(&ring->kbufs, (uint16_t)st.buf_group) :
		    NULL;
	if (!g)
		return -ENOENT;
	if (!g->is_ring)
		return -EINVAL;
	st.head = g->head;
	return au_copy_to_user(arg, &st, sizeof(st));
}

int au_pbuf_region(struct au_ring *ring, uint64_t offset, int *mem_fd)
{
	uint64_t bgid = (offset & ~(uint64_t)IORING_OFF_MMAP_MASK) >>
			IORING_OFF_PBUF_SHIFT;
	struct au_kbuf_group *g =
		bgid < 65536 ? au_kbuf_find(&ring->kbufs, (uint16_t)bgid) :
			       NULL;

	if (!g || g->mem_fd < 0)
		return -ENOMEM;
	*mem_fd = g->mem_fd;
	return 0;
}
