/* SPDX-License-Identifier: MIT */
/*
 * io_uring_register(2) and what it leaves behind: registered files, buffers,
 * eventfd, and ring indices. Ring lock held unless said otherwise.
 */
#ifndef AU_CORE_REGISTER_H
#define AU_CORE_REGISTER_H

#include "core/ring.h"

/* Drops a reference; the last one ends the node and posts its tag. */
void au_node_put(struct au_ring *ring, struct au_rsrc_node *n);

/*
 * Takes every node out of a table and frees it. `silent`: no tag is posted,
 * because registering failed.
 */
void au_rsrc_table_drop(struct au_ring *ring, struct au_rsrc_table *t,
			bool silent);

/* The argument of REGISTER_FILES2 and REGISTER_BUFFERS2, checked. */
int au_rsrc_register_arg(struct io_uring_rsrc_register *rr, uint64_t arg,
			 uint32_t size) au_must_check;

/* Everything registered is given up: the ring ends. */
void au_register_release(struct au_ring *ring);

/* Puts a file into a slot, taking over `hidden_fd`; replaces what was there. */
int au_file_install(struct au_ring *ring, uint32_t slot,
		    int hidden_fd) au_must_check;

/*
 * Installs `fd` (taking it over, also on failure) as `file_index` of an SQE
 * asked: slot + 1, or IORING_FILE_INDEX_ALLOC. 0 for a given slot, the slot's
 * number for ALLOC, or -errno.
 */
int au_file_install_fd(struct au_ring *ring, uint32_t file_index,
		       int fd) au_must_check;

/* The same with a descriptor that is hidden already. */
int au_file_install_hidden(struct au_ring *ring, uint32_t file_index,
			   int hidden) au_must_check;

/* Empties a slot: 0, -EBADF if it was, -EINVAL past the end, -ENXIO. */
int au_file_remove(struct au_ring *ring, uint32_t slot) au_must_check;

/* Opcode by opcode: each in register_*.c, args as io_uring_register(2). */
int au_register_files(struct au_ring *ring, uint64_t fds, uint32_t nr,
		      uint64_t tags);
int au_register_files2(struct au_ring *ring, uint64_t arg, uint32_t size);
int au_unregister_files(struct au_ring *ring);
int au_register_files_update(struct au_ring *ring, uint64_t arg, uint32_t nr);
int au_register_files_update2(struct au_ring *ring, uint64_t arg,
			      uint32_t size);
int au_files_update_table(struct au_ring *ring, uint32_t offset, uint64_t fds,
			  uint64_t tags, uint32_t nr);
/* FILES_UPDATE with FILE_INDEX_ALLOC: writes the slots back over the fds. */
int au_files_alloc_slots(struct au_ring *ring, uint64_t fds, uint32_t nr);
int au_register_file_alloc_range(struct au_ring *ring, uint64_t arg);
int au_register_buffers(struct au_ring *ring, uint64_t iovs, uint32_t nr,
			uint64_t tags);
int au_register_buffers2(struct au_ring *ring, uint64_t arg, uint32_t size);
int au_register_buffers_update(struct au_ring *ring, uint64_t arg,
			       uint32_t size);
int au_unregister_buffers(struct au_ring *ring);

int au_register_resize(struct au_ring *ring, uint64_t arg);
int au_register_clone_buffers(struct au_ring *ring, uint64_t arg);
int au_register_query(uint64_t arg, uint32_t nr); /* no lock needed */
int au_register_pbuf_ring(struct au_ring *ring, uint64_t arg);
int au_unregister_pbuf_ring(struct au_ring *ring, uint64_t arg);
int au_register_pbuf_status(struct au_ring *ring, uint64_t arg);

/* The memory behind an mmap(2) offset of a buffer ring. 0 or -ENOMEM. */
int au_pbuf_region(struct au_ring *ring, uint64_t offset,
		   int *mem_fd) au_must_check;

/*
 * The calling thread's table of ring indices (IORING_REGISTER_RING_FDS). No
 * lock held. `slot` -1: any free one.
 */
struct au_ring *au_ring_by_index(unsigned int index, int *err);
int au_ring_index_add(struct au_ring *ring, int slot) au_must_check;
int au_register_ring_fds(uint64_t arg, uint32_t nr);
int au_unregister_ring_fds(uint64_t arg, uint32_t nr);
void au_ring_indices_fork_child(void);

#endif
