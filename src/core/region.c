/* SPDX-License-Identifier: MIT */
#include "core/region.h"

#include <errno.h>
#include <sys/mman.h>
#include "core/ring.h"
#include "sys/fd.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

static int region_check(const struct io_uring_region_desc *d)
{
	bool user = d->flags & IORING_MEM_REGION_TYPE_USER;

	for (size_t i = 0; i < AU_ARRAY_SIZE(d->resv); i++) {
		if (d->resv[i])
			return -EINVAL;
	}
	if (d->flags & ~IORING_MEM_REGION_TYPE_USER)
		return -EINVAL;
	if (user != (d->user_addr != 0))
		return -EFAULT;
	if (!d->size || d->mmap_offset || d->id)
		return -EINVAL;
	if (d->size >> 12 > INT32_MAX)
		return -E2BIG;
	if ((d->user_addr | d->size) & 4095)
		return -EINVAL;
	if (d->user_addr + d->size < d->user_addr)
		return -EOVERFLOW;
	return 0;
}

static int region_user(struct au_region *g,
		       const struct io_uring_region_desc *d)
{
	if (au_user_writable(d->user_addr, d->size))
		return -EFAULT;
	g->ptr = au_ptr(d->user_addr);
	return 0;
}

static int region_own(struct au_region *g, struct io_uring_region_desc *d)
{
	long r;

	g->mem_fd = au_fd_memory("anyuring-region");
	if (g->mem_fd < 0)
		return g->mem_fd;
	r = au_syscall(SYS_ftruncate, g->mem_fd, d->size);
	if (r >= 0)
		r = au_syscall(SYS_mmap, NULL, d->size, PROT_READ | PROT_WRITE,
			       MAP_SHARED, g->mem_fd, 0);
	if (r < 0 && r > -4096) {
		au_fd_close_hidden(g->mem_fd);
		return (int)r;
	}
	g->ptr = (void *)r;
	d->mmap_offset = AU_OFF_PARAM_REGION;
	return 0;
}

void au_region_release(struct au_region *region)
{
	if (region->ptr && region->mem_fd >= 0) {
		(void)au_syscall(SYS_munmap, region->ptr, region->size);
		au_fd_close_hidden(region->mem_fd);
	}
	region->ptr = NULL;
}

int au_register_mem_region(struct au_ring *ring, uint64_t arg)
{
	struct io_uring_mem_region_reg reg;
	struct io_uring_region_desc d;
	struct au_region g = { .mem_fd = -1 };
	int r;

	if (ring->region.ptr)
		return -EBUSY;
	if (au_copy_from_user(&reg, arg, sizeof(reg)) ||
	    au_copy_from_user(&d, reg.region_uptr, sizeof(d)))
		return -EFAULT;
	if (reg.resv[0] || reg.resv[1] ||
	    (reg.flags & ~(uint64_t)IORING_MEM_REGION_REG_WAIT_ARG))
		return -EINVAL;
	/* Nobody waits on a ring that is not enabled yet. */
	if (reg.flags && !ring->disabled)
		return -EINVAL;
	r = region_check(&d);
	if (r < 0)
		return r;
	r = d.user_addr ? region_user(&g, &d) : region_own(&g, &d);
	if (r < 0)
		return r;
	g.size = d.size;
	g.holds_waits = reg.flags;
	if (au_copy_to_user(reg.region_uptr, &d, sizeof(d))) {
		au_region_release(&g);
		return -EFAULT;
	}
	ring->region = g;
	return 0;
}

int au_region_wait(const struct au_ring *ring, uint64_t offset,
		   struct io_uring_reg_wait *out)
{
	const struct au_region *g = &ring->region;
	uint64_t end;

	if (!g->ptr || !g->holds_waits || offset % sizeof(long) ||
	    __builtin_add_overflow(offset, sizeof(*out), &end) || end > g->size)
		return -EFAULT;
	return au_copy_from_user(out, (uintptr_t)g->ptr + offset, sizeof(*out));
}
