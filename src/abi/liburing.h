/* SPDX-License-Identifier: MIT */
/*
 * liburing's public structures and exported functions, declared by us.
 *
 * struct io_uring lies in the caller's memory and the caller's own inlined
 * code reads and writes it, so its layout is an ABI that we share with every
 * program built against liburing 2.0 to 2.15. Through those versions it never
 * moved: later fields took the place of padding. Fields marked with a version
 * are padding to older callers, which neither read nor write them.
 *
 * What each function does and returns is in liburing's manual pages; comments
 * here tell only what those leave open. None touches errno.
 */
#ifndef AU_ABI_LIBURING_H
#define AU_ABI_LIBURING_H

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "uapi/io_uring.h"

struct io_uring_bpf;
struct io_uring_query_hdr;
struct io_uring_zcrx_ifq_reg;
struct zcrx_ctrl;

/* The submission side: pointers into the shared ring, then private state. */
struct io_uring_sq {
	unsigned int *khead;
	unsigned int *ktail;
	unsigned int *kring_mask; /* up to 2.2 callers read these two */
	unsigned int *kring_entries;
	unsigned int *kflags;
	unsigned int *kdropped;
	unsigned int *array; /* NULL with IORING_SETUP_NO_SQARRAY */
	struct io_uring_sqe *sqes;

	unsigned int sqe_head; /* published up to here */
	unsigned int sqe_tail; /* handed out up to here */

	size_t ring_sz; /* 0: nothing to unmap */
	void *ring_ptr;

	unsigned int ring_mask; /* 2.3: copies of the two above */
	unsigned int ring_entries;

	unsigned int sqes_sz; /* 2.14 */
	unsigned int pad;
};

/* The completion side. */
struct io_uring_cq {
	unsigned int *khead;
	unsigned int *ktail;
	unsigned int *kring_mask;
	unsigned int *kring_entries;
	unsigned int *kflags; /* NULL if the server of the ring has none */
	unsigned int *koverflow;
	struct io_uring_cqe *cqes;

	size_t ring_sz;
	void *ring_ptr;

	unsigned int ring_mask; /* 2.3 */
	unsigned int ring_entries;

	unsigned int pad[2];
};

struct io_uring {
	struct io_uring_sq sq;
	struct io_uring_cq cq;
	unsigned int flags; /* IORING_SETUP_*, as granted */
	int ring_fd; /* -1 once closed or if never there */

	unsigned int features;
	int enter_ring_fd; /* 2.2: ring_fd, or the registered index */
	uint8_t int_flags; /* 2.2: ours alone, see front.h */
	uint8_t pad[3];
	unsigned int pad2;
};

#if __SIZEOF_POINTER__ == 8
AU_ASSERT_OFFSET(io_uring_sq, khead, 0);
AU_ASSERT_OFFSET(io_uring_sq, ktail, 8);
AU_ASSERT_OFFSET(io_uring_sq, kring_mask, 16);
AU_ASSERT_OFFSET(io_uring_sq, kring_entries, 24);
AU_ASSERT_OFFSET(io_uring_sq, kflags, 32);
AU_ASSERT_OFFSET(io_uring_sq, kdropped, 40);
AU_ASSERT_OFFSET(io_uring_sq, array, 48);
AU_ASSERT_OFFSET(io_uring_sq, sqes, 56);
AU_ASSERT_OFFSET(io_uring_sq, sqe_head, 64);
AU_ASSERT_OFFSET(io_uring_sq, sqe_tail, 68);
AU_ASSERT_OFFSET(io_uring_sq, ring_sz, 72);
AU_ASSERT_OFFSET(io_uring_sq, ring_ptr, 80);
AU_ASSERT_OFFSET(io_uring_sq, ring_mask, 88);
AU_ASSERT_OFFSET(io_uring_sq, ring_entries, 92);
AU_ASSERT_OFFSET(io_uring_sq, sqes_sz, 96);
AU_ASSERT_SIZE(io_uring_sq, 104);
AU_ASSERT_OFFSET(io_uring_cq, khead, 0);
AU_ASSERT_OFFSET(io_uring_cq, ktail, 8);
AU_ASSERT_OFFSET(io_uring_cq, kring_mask, 16);
AU_ASSERT_OFFSET(io_uring_cq, kring_entries, 24);
AU_ASSERT_OFFSET(io_uring_cq, kflags, 32);
AU_ASSERT_OFFSET(io_uring_cq, koverflow, 40);
AU_ASSERT_OFFSET(io_uring_cq, cqes, 48);
AU_ASSERT_OFFSET(io_uring_cq, ring_sz, 56);
AU_ASSERT_OFFSET(io_uring_cq, ring_ptr, 64);
AU_ASSERT_OFFSET(io_uring_cq, ring_mask, 72);
AU_ASSERT_OFFSET(io_uring_cq, ring_entries, 76);
AU_ASSERT_SIZE(io_uring_cq, 88);
AU_ASSERT_OFFSET(io_uring, sq, 0);
AU_ASSERT_OFFSET(io_uring, cq, 104);
AU_ASSERT_OFFSET(io_uring, flags, 192);
AU_ASSERT_OFFSET(io_uring, ring_fd, 196);
AU_ASSERT_OFFSET(io_uring, features, 200);
AU_ASSERT_OFFSET(io_uring, enter_ring_fd, 204);
AU_ASSERT_OFFSET(io_uring, int_flags, 208);
AU_ASSERT_SIZE(io_uring, 216);
#endif

/* liburing's names, the reserved ones among them, are not ours to choose. */
/* NOLINTBEGIN(bugprone-reserved-identifier) */
#pragma GCC visibility push(default)

/* setup.c */
int io_uring_queue_init(unsigned int entries, struct io_uring *ring,
			unsigned int flags);
int io_uring_queue_init_params(unsigned int entries, struct io_uring *ring,
			       struct io_uring_params *p);
/* Returns the bytes of `buf` used, so that another ring can follow there. */
int io_uring_queue_init_mem(unsigned int entries, struct io_uring *ring,
			    struct io_uring_params *p, void *buf,
			    size_t buf_size);
int io_uring_queue_mmap(int fd, struct io_uring_params *p,
			struct io_uring *ring);
void io_uring_queue_exit(struct io_uring *ring);
int io_uring_ring_dontfork(struct io_uring *ring);
/* Leaves p->flags 0, ready for the next resize, whatever the result. */
int io_uring_resize_rings(struct io_uring *ring, struct io_uring_params *p);

/* size.c */
ssize_t io_uring_memory_size(unsigned int entries, unsigned int ring_flags);
ssize_t io_uring_memory_size_params(unsigned int entries,
				    struct io_uring_params *p);
ssize_t io_uring_mlock_size(unsigned int entries, unsigned int flags);
ssize_t io_uring_mlock_size_params(unsigned int entries,
				   struct io_uring_params *p);

/* queue.c */
struct io_uring_sqe *io_uring_get_sqe(struct io_uring *ring);
int io_uring_submit(struct io_uring *ring);
int io_uring_submit_and_wait(struct io_uring *ring, unsigned int wait_nr);
int io_uring_submit_and_get_events(struct io_uring *ring);
int io_uring_get_events(struct io_uring *ring);
unsigned int io_uring_peek_batch_cqe(struct io_uring *ring,
				     struct io_uring_cqe **cqes,
				     unsigned int count);
int __io_uring_get_cqe(struct io_uring *ring, struct io_uring_cqe **cqe_ptr,
		       unsigned int submit, unsigned int wait_nr,
		       sigset_t *sigmask);
int __io_uring_sqring_wait(struct io_uring *ring);
int io_uring_wait_cqes(struct io_uring *ring, struct io_uring_cqe **cqe_ptr,
		       unsigned int wait_nr, struct au_timespec *ts,
		       sigset_t *sigmask);
int io_uring_wait_cqe_timeout(struct io_uring *ring,
			      struct io_uring_cqe **cqe_ptr,
			      struct au_timespec *ts);
int io_uring_wait_cqes_min_timeout(struct io_uring *ring,
				   struct io_uring_cqe **cqe_ptr,
				   unsigned int wait_nr, struct au_timespec *ts,
				   unsigned int min_wait_usec,
				   sigset_t *sigmask);
int io_uring_submit_and_wait_timeout(struct io_uring *ring,
				     struct io_uring_cqe **cqe_ptr,
				     unsigned int wait_nr,
				     struct au_timespec *ts, sigset_t *sigmask);
int io_uring_submit_and_wait_min_timeout(struct io_uring *ring,
					 struct io_uring_cqe **cqe_ptr,
					 unsigned int wait_nr,
					 struct au_timespec *ts,
					 unsigned int min_wait_usec,
					 sigset_t *sigmask);
int io_uring_submit_and_wait_reg(struct io_uring *ring,
				 struct io_uring_cqe **cqe_ptr,
				 unsigned int wait_nr, int reg_index);
int io_uring_set_iowait(struct io_uring *ring, bool enable_iowait);

/* register.c */
int io_uring_register_buffers(struct io_uring *ring, const struct iovec *iovecs,
			      unsigned int nr_iovecs);
int io_uring_register_buffers_tags(struct io_uring *ring,
				   const struct iovec *iovecs,
				   const uint64_t *tags, unsigned int nr);
int io_uring_register_buffers_sparse(struct io_uring *ring, unsigned int nr);
int io_uring_register_buffers_update_tag(struct io_uring *ring,
					 unsigned int off,
					 const struct iovec *iovecs,
					 const uint64_t *tags, unsigned int nr);
int io_uring_unregister_buffers(struct io_uring *ring);
int io_uring_clone_buffers(struct io_uring *dst, struct io_uring *src);
int io_uring_clone_buffers_offset(struct io_uring *dst, struct io_uring *src,
				  unsigned int dst_off, unsigned int src_off,
				  unsigned int nr, unsigned int flags);
int __io_uring_clone_buffers(struct io_uring *dst, struct io_uring *src,
			     unsigned int flags);
int __io_uring_clone_buffers_offset(struct io_uring *dst, struct io_uring *src,
				    unsigned int dst_off, unsigned int src_off,
				    unsigned int nr, unsigned int flags);
int io_uring_register_files(struct io_uring *ring, const int *files,
			    unsigned int nr_files);
int io_uring_register_files_tags(struct io_uring *ring, const int *files,
				 const uint64_t *tags, unsigned int nr);
int io_uring_register_files_sparse(struct io_uring *ring, unsigned int nr);
int io_uring_register_files_update(struct io_uring *ring, unsigned int off,
				   const int *files, unsigned int nr_files);
int io_uring_register_files_update_tag(struct io_uring *ring, unsigned int off,
				       const int *files, const uint64_t *tags,
				       unsigned int nr_files);
int io_uring_unregister_files(struct io_uring *ring);
int io_uring_register_file_alloc_range(struct io_uring *ring, unsigned int off,
				       unsigned int len);
int io_uring_register_eventfd(struct io_uring *ring, int fd);
int io_uring_register_eventfd_async(struct io_uring *ring, int fd);
int io_uring_unregister_eventfd(struct io_uring *ring);
int io_uring_register_probe(struct io_uring *ring, struct io_uring_probe *p,
			    unsigned int nr);
int io_uring_register_personality(struct io_uring *ring);
int io_uring_unregister_personality(struct io_uring *ring, int id);
int io_uring_register_restrictions(struct io_uring *ring,
				   struct io_uring_restriction *res,
				   unsigned int nr_res);
int io_uring_enable_rings(struct io_uring *ring);
int io_uring_register_iowq_aff(struct io_uring *ring, size_t cpusz,
			       const cpu_set_t *mask);
int io_uring_unregister_iowq_aff(struct io_uring *ring);
int io_uring_register_iowq_max_workers(struct io_uring *ring,
				       unsigned int *values);
int io_uring_register_ring_fd(struct io_uring *ring);
int io_uring_unregister_ring_fd(struct io_uring *ring);
int io_uring_close_ring_fd(struct io_uring *ring);
int io_uring_register_sync_cancel(struct io_uring *ring,
				  struct io_uring_sync_cancel_reg *reg);
int io_uring_register_sync_msg(struct io_uring_sqe *sqe);
int io_uring_register_napi(struct io_uring *ring, struct io_uring_napi *napi);
int io_uring_unregister_napi(struct io_uring *ring, struct io_uring_napi *napi);
int io_uring_register_clock(struct io_uring *ring,
			    struct io_uring_clock_register *arg);
int io_uring_register_region(struct io_uring *ring,
			     struct io_uring_mem_region_reg *reg);
/* Withdrawn in liburing for io_uring_register_region(): always -EINVAL. */
int io_uring_register_wait_reg(struct io_uring *ring,
			       struct io_uring_reg_wait *reg, int nr);
int io_uring_register_ifq(struct io_uring *ring,
			  struct io_uring_zcrx_ifq_reg *reg);
int io_uring_register_zcrx_ctrl(struct io_uring *ring, struct zcrx_ctrl *ctrl);
int io_uring_register_bpf_filter(struct io_uring *ring,
				 struct io_uring_bpf *bpf);
int io_uring_register_bpf_filter_task(struct io_uring_bpf *bpf);
int io_uring_register_query(struct io_uring_query_hdr *query);

/* bufring.c */
int io_uring_register_buf_ring(struct io_uring *ring,
			       struct io_uring_buf_reg *reg,
			       unsigned int flags);
int io_uring_unregister_buf_ring(struct io_uring *ring, int bgid);
int io_uring_buf_ring_head(struct io_uring *ring, int buf_group,
			   uint16_t *head);
struct io_uring_buf_ring *io_uring_setup_buf_ring(struct io_uring *ring,
						  unsigned int nentries,
						  int bgid, unsigned int flags,
						  int *err);
int io_uring_free_buf_ring(struct io_uring *ring, struct io_uring_buf_ring *br,
			   unsigned int nentries, int bgid);

/* misc.c */
struct io_uring_probe *io_uring_get_probe(void);
struct io_uring_probe *io_uring_get_probe_ring(struct io_uring *ring);
void io_uring_free_probe(struct io_uring_probe *probe);
int io_uring_major_version(void);
int io_uring_minor_version(void);
/* True if the library is older than major.minor. */
bool io_uring_check_version(int major, int minor);
int io_uring_setup(unsigned int entries, struct io_uring_params *p);
int io_uring_enter(unsigned int fd, unsigned int to_submit,
		   unsigned int min_complete, unsigned int flags,
		   sigset_t *sig);
int io_uring_enter2(unsigned int fd, unsigned int to_submit,
		    unsigned int min_complete, unsigned int flags, void *arg,
		    size_t sz);
int io_uring_register(unsigned int fd, unsigned int opcode, const void *arg,
		      unsigned int nr_args);

#pragma GCC visibility pop
/* NOLINTEND(bugprone-reserved-identifier) */

#endif
