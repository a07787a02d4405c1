/* SPDX-License-Identifier: MIT */
/*
 * Registered files: a table of duplicates. A slot outlives the descriptor it
 * was made from, as the kernel's reference does; a request in flight outlives
 * the slot.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "core/register.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

#define FILES_MAX (1U << 20)

/* A reference of the table's own on the application's `fd`. */
static int file_node(int32_t fd, uint64_t tag, struct au_rsrc_node **out)
{
	int err, hidden;

	/* A ring among its own files would never end. */
	if (au_ring_lookup((unsigned int)fd, &err))
		return -EBADF;
	if (err == -EBADF)
		return -EBADF;
	hidden = au_fd_dup_hidden(fd);
	if (hidden < 0)
		return hidden;
	*out = au_rsrc_file(hidden, tag);
	if (*out)
		return 0;
	au_fd_close_hidden(hidden);
	return -ENOMEM;
}

static int fd_and_tag(uint64_t fds, uint64_t tags, uint32_t i, int32_t *fd,
		      uint64_t *tag)
{
	*tag = 0;
	if (tags &&
	    au_copy_from_user(tag, tags + i * sizeof(*tag), sizeof(*tag)))
		return -EFAULT;
	if (fds && au_copy_from_user(fd, fds + i * sizeof(*fd), sizeof(*fd)))
		return -EFAULT;
	return 0;
}

static int files_fill(struct au_ring *ring, uint64_t fds, uint64_t tags)
{
	for (uint32_t i = 0; i < ring->files.nr; i++) {
		int32_t fd = -1;
		uint64_t tag;
		int r = fd_and_tag(fds, tags, i, &fd, &tag);

		if (r < 0)
			return r;
		if (fd == -1) {
			if (tag)
				return -EINVAL;
			continue;
		}
		r = file_node(fd, tag, &ring->files.nodes[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int au_register_files(struct au_ring *ring, uint64_t fds, uint32_t nr,
		      uint64_t tags)
{
	struct rlimit lim = { .rlim_cur = 1024 };
	int r;

	if (ring->files.registered)
		return -EBUSY;
	if (!nr)
		return -EINVAL;
	if (nr > FILES_MAX)
		return -EMFILE;
	(void)au_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &lim);
	if (nr > lim.rlim_cur)
		return -EMFILE;
	r = au_rsrc_table_alloc(&ring->files, nr);
	if (r < 0)
		return r;
	r = files_fill(ring, fds, tags);
	if (r < 0)
		au_rsrc_table_drop(ring, &ring->files, true);
	return r;
}

int au_register_files2(struct au_ring *ring, uint64_t arg, uint32_t size)
{
	struct io_uring_rsrc_register rr;
	int r = au_rsrc_register_arg(&rr, arg, size);

	if (r < 0)
		return r;
	return au_register_files(ring, rr.data, rr.nr, rr.tags);
}

int au_unregister_files(struct au_ring *ring)
{
	if (!ring->files.registered)
		return -ENXIO;
	au_rsrc_table_drop(ring, &ring->files, false);
	return 0;
}

static void file_replace(struct au_ring *ring, uint32_t slot,
			 struct au_rsrc_node *n)
{
	struct au_rsrc_node *old = ring->files.nodes[slot];

	ring->files.nodes[slot] = n;
	/* Where the next ALLOC looks first: behind this one, or here. */
	if (n || old)
		ring->files.alloc_hint = n ? slot + 1 : slot;
	if (old)
		au_node_put(ring, old);
}

static int file_update(struct au_ring *ring, uint32_t slot, int32_t fd,
		       uint64_t tag)
{
	struct au_rsrc_node *n = NULL;
	int r;

	if ((fd == IORING_REGISTER_FILES_SKIP || fd == -1) && tag)
		return -EINVAL;
	if (fd == IORING_REGISTER_FILES_SKIP)
		return 0;
	/* The old file goes even if the new one turns out bad. */
	file_replace(ring, slot, NULL);
	if (fd == -1)
		return 0;
	r = file_node(fd, tag, &n);
	if (r < 0)
		return r;
	file_replace(ring, slot, n);
	return 0;
}

int au_files_update_table(struct au_ring *ring, uint32_t offset, uint64_t fds,
			  uint64_t tags, uint32_t nr)
{
	uint32_t done;
	int r = 0;

	if (offset + nr < offset)
		return -EOVERFLOW;
	if (!ring->files.registered)
		return -ENXIO;
	if (offset + nr > ring->files.nr)
		return -EINVAL;
	for (done = 0; done < nr; done++) {
		int32_t fd;
		uint64_t tag;

		r = fd_and_tag(fds, tags, done, &fd, &tag);
		if (r >= 0)
			r = file_update(ring, offset + done, fd, tag);
		if (r < 0)
			break;
	}
	return done ? (int)done : r;
}

int au_files_alloc_slots(struct au_ring *ring, uint64_t fds, uint32_t nr)
{
	uint32_t done;
	int r = 0;

	if (!ring->files.registered)
		return -ENXIO;
	for (done = 0; done < nr; done++) {
		uint64_t at = fds + done * sizeof(int32_t);
		struct au_rsrc_node *n;
		int32_t fd, slot;

		if (au_copy_from_user(&fd, at, sizeof(fd))) {
			r = -EFAULT;
			break;
		}
		r = file_node(fd, 0, &n);
		if (r < 0)
			break;
		r = slot = au_rsrc_find_free(&ring->files);
		if (r < 0 || au_copy_to_user(at, &slot, sizeof(slot))) {
			au_node_put(ring, n);
			r = r < 0 ? r : -EFAULT;
			break;
		}
		ring->files.nodes[slot] = n;
	}
	return done ? (int)done : r;
}

int au_register_files_update(struct au_ring *ring, uint64_t arg, uint32_t nr)
{
	struct io_uring_rsrc_update up;

	if (!nr)
		return -EINVAL;
	if (au_copy_from_user(&up, arg, sizeof(up)))
		return -EFAULT;
	if (up.resv)
		return -EINVAL;
	return au_files_update_table(ring, up.offset, up.data, 0, nr);
}

int au_register_files_update2(struct au_ring *ring, uint64_t arg, uint32_t size)
{
	struct io_uring_rsrc_update2 up;

	if (size != sizeof(up))
		return -EINVAL;
	if (au_copy_from_user(&up, arg, sizeof(up)))
		return -EFAULT;
	if (!up.nr || up.resv || up.resv2)
		return -EINVAL;
	return au_files_update_table(ring, up.offset, up.data, up.tags, up.nr);
}

int au_register_file_alloc_range(struct au_ring *ring, uint64_t arg)
{
	struct io_uring_file_index_range range;
	uint32_t end;

	if (au_copy_from_user(&range, arg, sizeof(range)))
		return -EFAULT;
	end = range.off + range.len;
	if (end < range.off)
		return -EOVERFLOW;
	if (range.resv || end > ring->files.nr)
		return -EINVAL;
	ring->files.alloc_start = range.off;
	ring->files.alloc_end = end;
	ring->files.alloc_hint = range.off;
	return 0;
}

int au_file_install(struct au_ring *ring, uint32_t slot, int hidden_fd)
{
	struct au_rsrc_node *n;

	if (!ring->files.registered)
		return -ENXIO;
	if (slot >= ring->files.nr)
		return -EINVAL;
	n = au_rsrc_file(hidden_fd, 0);
	if (!n)
		return -ENOMEM;
	file_replace(ring, slot, n);
	return 0;
}

int au_file_install_hidden(struct au_ring *ring, uint32_t file_index,
			   int hidden)
{
	bool alloc = file_index == IORING_FILE_INDEX_ALLOC;
	uint32_t slot = file_index - 1;
	int r = 0;

	if (alloc) {
		r = ring->files.registered ? au_rsrc_find_free(&ring->files) :
					     -ENFILE;
		slot = (uint32_t)r;
	}
	if (r >= 0)
		r = au_file_install(ring, slot, hidden);
	if (r < 0) {
		au_fd_close_hidden(hidden);
		return r;
	}
	return alloc ? (int)slot : 0;
}

int au_file_install_fd(struct au_ring *ring, uint32_t file_index, int fd)
{
	int hidden = au_fd_hide(fd);

	return hidden < 0 ? hidden :
			    au_file_install_hidden(ring, file_index, hidden);
}

int au_file_remove(struct au_ring *ring, uint32_t slot)
{
	if (!ring->files.registered)
		return -ENXIO;
	if (slot >= ring->files.nr)
		return -EINVAL;
	if (!ring->files.nodes[slot])
		return -EBADF;
	file_replace(ring, slot, NULL);
	return 0;
}
