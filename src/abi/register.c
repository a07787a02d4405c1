/* SPDX-License-Identifier: MIT */
/*
 * The liburing front: one function per kind of registration, each of which
 * puts its arguments into the structure of its IORING_REGISTER_* opcode.
 *
 * The last argument of a registration counts entries for some opcodes, gives
 * the structure's size for others, and is 0 for a third group: the ABI's
 * choice, opcode by opcode.
 */
#include <errno.h>
#include <sys/resource.h>

#include "abi/front.h"
#include "anyuring.h"
#include "sys/syscall.h"

/* Not a ring: for registrations that concern the calling task. */
#define NO_RING ((unsigned int)-1)

int au_front_register(struct io_uring *ring, unsigned int opcode,
		      const void *arg, unsigned int nr_args)
{
	int fd = ring->ring_fd;

	if (ring->int_flags & FRONT_REG_REG) {
		opcode |= IORING_REGISTER_USE_REGISTERED_RING;
		fd = ring->enter_ring_fd;
	}
	/* Written to only where the caller's argument is not const. */
	return anyuring_register((unsigned int)fd, opcode, (void *)arg,
				 nr_args);
}

/* Buffers and files, with tags */

static int register_tagged(struct io_uring *ring, unsigned int opcode,
			   const void *data, const uint64_t *tags,
			   unsigned int nr, unsigned int flags)
{
	struct io_uring_rsrc_register reg = {
		.nr = nr,
		.flags = flags,
		.data = (uintptr_t)data,
		.tags = (uintptr_t)tags,
	};

	return au_front_register(ring, opcode, &reg, sizeof(reg));
}

static int update_tagged(struct io_uring *ring, unsigned int opcode,
			 unsigned int off, const void *data,
			 const uint64_t *tags, unsigned int nr)
{
	struct io_uring_rsrc_update2 up = {
		.offset = off,
		.data = (uintptr_t)data,
		.tags = (uintptr_t)tags,
		.nr = nr,
	};

	return au_front_register(ring, opcode, &up, sizeof(up));
}

int io_uring_register_buffers(struct io_uring *ring, const struct iovec *iovecs,
			      unsigned int nr_iovecs)
{
	return au_front_register(ring, IORING_REGISTER_BUFFERS, iovecs,
				 nr_iovecs);
}

int io_uring_register_buffers_tags(struct io_uring *ring,
				   const struct iovec *iovecs,
				   const uint64_t *tags, unsigned int nr)
{
	return register_tagged(ring, IORING_REGISTER_BUFFERS2, iovecs, tags, nr,
			       0);
}

int io_uring_register_buffers_sparse(struct io_uring *ring, unsigned int nr)
{
	return register_tagged(ring, IORING_REGISTER_BUFFERS2, NULL, NULL, nr,
			       IORING_RSRC_REGISTER_SPARSE);
}

int io_uring_register_buffers_update_tag(struct io_uring *ring,
					 unsigned int off,
					 const struct iovec *iovecs,
					 const uint64_t *tags, unsigned int nr)
{
	return update_tagged(ring, IORING_REGISTER_BUFFERS_UPDATE, off, iovecs,
			     tags, nr);
}

int io_uring_unregister_buffers(struct io_uring *ring)
{
	return au_front_register(ring, IORING_UNREGISTER_BUFFERS, NULL, 0);
}

/*
 * The source goes by its descriptor unless the caller allows, and the source
 * has, a registered index.
 */
static int clone_buffers(struct io_uring *dst, const struct io_uring *src,
			 unsigned int dst_off, unsigned int src_off,
			 unsigned int nr, unsigned int flags)
{
	struct io_uring_clone_buffers buf = {
		.src_fd = (uint32_t)src->ring_fd,
		.flags = flags & ~IORING_REGISTER_SRC_REGISTERED,
		.src_off = src_off,
		.dst_off = dst_off,
		.nr = nr,
	};

	if ((flags & IORING_REGISTER_SRC_REGISTERED) &&
	    (src->int_flags & FRONT_REG_REG)) {
		buf.src_fd = (uint32_t)src->enter_ring_fd;
		buf.flags = flags;
	}
	return au_front_register(dst, IORING_REGISTER_CLONE_BUFFERS, &buf, 1);
}

int __io_uring_clone_buffers_offset(struct io_uring *dst, struct io_uring *src,
				    unsigned int dst_off, unsigned int src_off,
				    unsigned int nr, unsigned int flags)
{
	return clone_buffers(dst, src, dst_off, src_off, nr, flags);
}

int io_uring_clone_buffers_offset(struct io_uring *dst, struct io_uring *src,
				  unsigned int dst_off, unsigned int src_off,
				  unsigned int nr, unsigned int flags)
{
	return clone_buffers(dst, src, dst_off, src_off, nr,
			     flags | IORING_REGISTER_SRC_REGISTERED);
}

int __io_uring_clone_buffers(struct io_uring *dst, struct io_uring *src,
			     unsigned int flags)
{
	return clone_buffers(dst, src, 0, 0, 0, flags);
}

int io_uring_clone_buffers(struct io_uring *dst, struct io_uring *src)
{
	return clone_buffers(dst, src, 0, 0, 0, IORING_REGISTER_SRC_REGISTERED);
}

/* Raise the soft limit of open files by `nr` if it is below that. */
static void raise_nofile(unsigned int nr)
{
	struct rlimit64 lim;

	if (au_syscall(SYS_prlimit64, 0L, (long)RLIMIT_NOFILE, NULL, &lim) < 0)
		return;
	if (lim.rlim_cur >= nr)
		return;
	lim.rlim_cur += nr;
	(void)au_syscall(SYS_prlimit64, 0L, (long)RLIMIT_NOFILE, &lim, NULL);
}

/* A table larger than RLIMIT_NOFILE is refused: raise that and retry once. */
static int register_files(struct io_uring *ring, unsigned int opcode,
			  const void *arg, unsigned int nr_args,
			  unsigned int nr_files)
{
	int ret = au_front_register(ring, opcode, arg, nr_args);

	if (ret != -EMFILE)
		return ret;
	raise_nofile(nr_files);
	return au_front_register(ring, opcode, arg, nr_args);
}

int io_uring_register_files(struct io_uring *ring, const int *files,
			    unsigned int nr_files)
{
	return register_files(ring, IORING_REGISTER_FILES, files, nr_files,
			      nr_files);
}

int io_uring_register_files_tags(struct io_uring *ring, const int *files,
				 const uint64_t *tags, unsigned int nr)
{
	struct io_uring_rsrc_register reg = {
		.nr = nr,
		.data = (uintptr_t)files,
		.tags = (uintptr_t)tags,
	};

	return register_files(ring, IORING_REGISTER_FILES2, &reg, sizeof(reg),
			      nr);
}

int io_uring_register_files_sparse(struct io_uring *ring, unsigned int nr)
{
	struct io_uring_rsrc_register reg = {
		.nr = nr,
		.flags = IORING_RSRC_REGISTER_SPARSE,
	};

	return register_files(ring, IORING_REGISTER_FILES2, &reg, sizeof(reg),
			      nr);
}

/* Returns the number of entries updated. */
int io_uring_register_files_update(struct io_uring *ring, unsigned int off,
				   const int *files, unsigned int nr_files)
{
	struct io_uring_rsrc_update up = {
		.offset = off,
		.data = (uintptr_t)files,
	};

	return au_front_register(ring, IORING_REGISTER_FILES_UPDATE, &up,
				 nr_files);
}

int io_uring_register_files_update_tag(struct io_uring *ring, unsigned int off,
				       const int *files, const uint64_t *tags,
				       unsigned int nr_files)
{
	return update_tagged(ring, IORING_REGISTER_FILES_UPDATE2, off, files,
			     tags, nr_files);
}

int io_uring_unregister_files(struct io_uring *ring)
{
	return au_front_register(ring, IORING_UNREGISTER_FILES, NULL, 0);
}

int io_uring_register_file_alloc_range(struct io_uring *ring, unsigned int off,
				       unsigned int len)
{
	struct io_uring_file_index_range range = { .off = off, .len = len };

	return au_front_register(ring, IORING_REGISTER_FILE_ALLOC_RANGE, &range,
				 0);
}

/* Notification, personalities, restrictions */

int io_uring_register_eventfd(struct io_uring *ring, int fd)
{
	return au_front_register(ring, IORING_REGISTER_EVENTFD, &fd, 1);
}

int io_uring_register_eventfd_async(struct io_uring *ring, int fd)
{
	return au_front_register(ring, IORING_REGISTER_EVENTFD_ASYNC, &fd, 1);
}

int io_uring_unregister_eventfd(struct io_uring *ring)
{
	return au_front_register(ring, IORING_UNREGISTER_EVENTFD, NULL, 0);
}

int io_uring_register_probe(struct io_uring *ring, struct io_uring_probe *p,
			    unsigned int nr)
{
	return au_front_register(ring, IORING_REGISTER_PROBE, p, nr);
}

int io_uring_register_personality(struct io_uring *ring)
{
	return au_front_register(ring, IORING_REGISTER_PERSONALITY, NULL, 0);
}

int io_uring_unregister_personality(struct io_uring *ring, int id)
{
	return au_front_register(ring, IORING_UNREGISTER_PERSONALITY, NULL,
				 (unsigned int)id);
}

int io_uring_register_restrictions(struct io_uring *ring,
				   struct io_uring_restriction *res,
				   unsigned int nr_res)
{
	return au_front_register(ring, IORING_REGISTER_RESTRICTIONS, res,
				 nr_res);
}

int io_uring_enable_rings(struct io_uring *ring)
{
	return au_front_register(ring, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
}

/* Workers */

int io_uring_register_iowq_aff(struct io_uring *ring, size_t cpusz,
			       const cpu_set_t *mask)
{
	if (cpusz >= 1U << 31)
		return -EINVAL;
	return au_front_register(ring, IORING_REGISTER_IOWQ_AFF, mask,
				 (unsigned int)cpusz);
}

int io_uring_unregister_iowq_aff(struct io_uring *ring)
{
	return au_front_register(ring, IORING_UNREGISTER_IOWQ_AFF, NULL, 0);
}

int io_uring_register_iowq_max_workers(struct io_uring *ring,
				       unsigned int *values)
{
	return au_front_register(ring, IORING_REGISTER_IOWQ_MAX_WORKERS, values,
				 2);
}

/* The ring's own descriptor, registered with the calling thread */

int io_uring_register_ring_fd(struct io_uring *ring)
{
	struct io_uring_rsrc_update up = {
		.offset = -1U, /* any free slot; comes back as the index */
		.data = (uint64_t)ring->ring_fd,
	};
	int ret;

	if (ring->int_flags & FRONT_REG_RING)
		return -EEXIST;

	ret = au_front_register(ring, IORING_REGISTER_RING_FDS, &up, 1);
	if (ret != 1)
		return ret;
	ring->enter_ring_fd = (int)up.offset;
	ring->int_flags |= FRONT_REG_RING;
	if (ring->features & IORING_FEAT_REG_REG_RING)
		ring->int_flags |= FRONT_REG_REG;
	return 1;
}

int au_front_unregister_ring_fd(struct io_uring *ring)
{
	struct io_uring_rsrc_update up = {
		.offset = (uint32_t)ring->enter_ring_fd,
	};
	int ret;

	if (!(ring->int_flags & FRONT_REG_RING))
		return -EINVAL;

	ret = au_front_register(ring, IORING_UNREGISTER_RING_FDS, &up, 1);
	if (ret != 1)
		return ret;
	ring->enter_ring_fd = ring->ring_fd;
	ring->int_flags &= (uint8_t) ~(FRONT_REG_RING | FRONT_REG_REG);
	return 1;
}

int io_uring_unregister_ring_fd(struct io_uring *ring)
{
	return au_front_unregister_ring_fd(ring);
}

/* Close the descriptor and go on by the registered index. Returns 1. */
int io_uring_close_ring_fd(struct io_uring *ring)
{
	if (!(ring->features & IORING_FEAT_REG_REG_RING))
		return -EOPNOTSUPP;
	if (!(ring->int_flags & FRONT_REG_RING))
		return -EINVAL;
	if (ring->ring_fd == -1)
		return -EBADF;

	(void)anyuring_close(ring->ring_fd);
	ring->ring_fd = -1;
	return 1;
}

/* Single structures, passed on as they are */

int io_uring_register_sync_cancel(struct io_uring *ring,
				  struct io_uring_sync_cancel_reg *reg)
{
	return au_front_register(ring, IORING_REGISTER_SYNC_CANCEL, reg, 1);
}

int io_uring_register_napi(struct io_uring *ring, struct io_uring_napi *napi)
{
	return au_front_register(ring, IORING_REGISTER_NAPI, napi, 1);
}

int io_uring_unregister_napi(struct io_uring *ring, struct io_uring_napi *napi)
{
	return au_front_register(ring, IORING_UNREGISTER_NAPI, napi, 1);
}

int io_uring_register_clock(struct io_uring *ring,
			    struct io_uring_clock_register *arg)
{
	return au_front_register(ring, IORING_REGISTER_CLOCK, arg, 0);
}

int io_uring_register_region(struct io_uring *ring,
			     struct io_uring_mem_region_reg *reg)
{
	return au_front_register(ring, IORING_REGISTER_MEM_REGION, reg, 1);
}

int io_uring_register_wait_reg(struct io_uring *ring,
			       struct io_uring_reg_wait *reg, int nr)
{
	return -EINVAL;
}

int io_uring_register_ifq(struct io_uring *ring,
			  struct io_uring_zcrx_ifq_reg *reg)
{
	return au_front_register(ring, IORING_REGISTER_ZCRX_IFQ, reg, 1);
}

int io_uring_register_zcrx_ctrl(struct io_uring *ring, struct zcrx_ctrl *ctrl)
{
	return au_front_register(ring, IORING_REGISTER_ZCRX_CTRL, ctrl, 0);
}

int io_uring_register_bpf_filter(struct io_uring *ring,
				 struct io_uring_bpf *bpf)
{
	return au_front_register(ring, IORING_REGISTER_BPF_FILTER, bpf, 1);
}

int io_uring_register_bpf_filter_task(struct io_uring_bpf *bpf)
{
	return anyuring_register(NO_RING, IORING_REGISTER_BPF_FILTER, bpf, 1);
}

int io_uring_register_sync_msg(struct io_uring_sqe *sqe)
{
	return anyuring_register(NO_RING, IORING_REGISTER_SEND_MSG_RING, sqe,
				 1);
}

int io_uring_register_query(struct io_uring_query_hdr *query)
{
	return anyuring_register(NO_RING, IORING_REGISTER_QUERY, query, 0);
}
