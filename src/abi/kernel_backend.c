/* SPDX-License-Identifier: MIT */
/*
 * include/anyuring.h over the running kernel's io_uring, so that the front can
 * stand in front of the kernel: for tests, where what differs from liburing is
 * then the front's doing, and for `anyuring bench`, where what differs from
 * the engine is the kernel's. No state, any thread.
 */
#include "anyuring.h"
#include "sys/syscall.h"
#include "uapi/io_uring.h"

int anyuring_setup(unsigned int entries, struct io_uring_params *p)
{
	return (int)au_syscall(AU_NR_io_uring_setup, (long)entries, p);
}

int anyuring_enter(unsigned int fd, unsigned int to_submit,
		   unsigned int min_complete, unsigned int flags,
		   const void *arg, size_t argsz)
{
	return (int)au_syscall(AU_NR_io_uring_enter, (long)fd, (long)to_submit,
			       (long)min_complete, (long)flags, arg, argsz);
}

int anyuring_register(unsigned int fd, unsigned int opcode, void *arg,
		      unsigned int nr_args)
{
	return (int)au_syscall(AU_NR_io_uring_register, (long)fd, (long)opcode,
			       arg, (long)nr_args);
}

void *anyuring_mmap(void *addr, size_t length, int prot, int flags, int fd,
		    off_t offset)
{
	return (void *)au_syscall(SYS_mmap, addr, length, (long)prot,
				  (long)flags, (long)fd, offset);
}

int anyuring_munmap(void *addr, size_t length)
{
	return (int)au_syscall(SYS_munmap, addr, length);
}

int anyuring_close(int fd)
{
	return (int)au_syscall(SYS_close, (long)fd);
}
