/* SPDX-License-Identifier: MIT */
/*
 * anyuring: io_uring in user space.
 *
 * The first calls below take the place of io_uring_setup(2),
 * io_uring_enter(2), io_uring_register(2) and of mmap(2) and munmap(2) on a
 * ring's file descriptor, with the kernel's ABI: same structures, same numbers, same
 * results. A ring made here is served by the calling process; no call reaches
 * the kernel's io_uring.
 *
 * Result codes: every function returns a value >= 0, or -errno. errno itself
 * is never touched.
 *
 * Threads: any thread may call any function at any time. A ring set up with
 * IORING_SETUP_SINGLE_ISSUER answers -EEXIST to other threads, as the kernel
 * does.
 */
#ifndef ANYURING_H
#define ANYURING_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ANYURING_API __attribute__((visibility("default")))

struct io_uring_params;

/*
 * Make a ring. `entries` is the number of SQEs wanted (1 to 32768, rounded up
 * to a power of two); `p` carries flags in and offsets, sizes and features
 * out.
 *
 * Returns the ring's file descriptor: a real, close-on-exec descriptor that
 * can be polled, dup-ed and passed on. The ring lives until the last such
 * descriptor is closed. Errors: -EINVAL, -EFAULT, -ENOMEM, -EMFILE, -EBADF,
 * -EPERM as io_uring_setup(2).
 */
ANYURING_API int anyuring_setup(unsigned int entries,
				struct io_uring_params *p);

/*
 * Submit up to `to_submit` SQEs and, with IORING_ENTER_GETEVENTS in `flags`,
 * wait until `min_complete` CQEs are there. `arg` and `argsz` are the signal
 * mask (and its size), or with IORING_ENTER_EXT_ARG a struct
 * io_uring_getevents_arg.
 *
 * Returns the number of SQEs consumed, or -errno as io_uring_enter(2): among
 * them -EBADF, -EOPNOTSUPP (not a ring), -EBADFD (ring disabled), -EINTR,
 * -ETIME, -EFAULT, -EEXIST. Everything an SQE points to is read before this
 * returns; data buffers are not.
 */
ANYURING_API int anyuring_enter(unsigned int fd, unsigned int to_submit,
				unsigned int min_complete, unsigned int flags,
				const void *arg, size_t argsz);

/*
 * io_uring_register(2). `opcode` is an IORING_REGISTER_* value; what `arg`
 * and `nr_args` mean depends on it. An opcode this engine lacks answers
 * -EINVAL.
 */
ANYURING_API int anyuring_register(unsigned int fd, unsigned int opcode,
				   void *arg, unsigned int nr_args);

/*
 * mmap(2) of one of the ring's regions (IORING_OFF_*). Returns the address, or
 * -errno cast to a pointer (test with ANYURING_IS_ERR). The mapping outlives
 * the ring and is undone with anyuring_munmap().
 *
 * With no `addr`, PROT_READ | PROT_WRITE and MAP_SHARED the rings and the SQEs
 * come as the engine itself sees them, at one address however often they are
 * mapped; munmap(2) would take them away from it.
 */
ANYURING_API void *anyuring_mmap(void *addr, size_t length, int prot,
				 int flags, int fd, off_t offset);

/*
 * munmap(2) of what anyuring_mmap() gave, or of anything else; what the engine
 * still uses stays until the ring ends. Under the preload munmap(2) does the
 * same by itself. Returns 0 or -EINVAL.
 */
ANYURING_API int anyuring_munmap(void *addr, size_t length);

#define ANYURING_IS_ERR(p) ((unsigned long)(p) >= (unsigned long)-4095)

/* 1 if `fd` is a ring of this library in this process, else 0. */
ANYURING_API int anyuring_is_ring(int fd);

/*
 * close(2) for a ring's descriptor; ends the ring if this was the last one.
 * Under the preload close(2) does the same by itself.
 */
ANYURING_API int anyuring_close(int fd);

/* The version of the library, "major.minor.patch". */
ANYURING_API const char *anyuring_version(void);

#ifdef __cplusplus
}
#endif

#endif
