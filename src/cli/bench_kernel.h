/* SPDX-License-Identifier: MIT */
/*
 * Included before everything else into the second copy of the front, the one
 * over the kernel: gives every external name another, so that both copies fit
 * into one program. bench_kernel_names.h has the exported ones, out of the
 * front's version script.
 */
#ifndef AU_CLI_BENCH_KERNEL_H
#define AU_CLI_BENCH_KERNEL_H

#include "bench_kernel_names.h"

#define anyuring_setup              kernel_setup
#define anyuring_enter              kernel_enter
#define anyuring_register           kernel_register
#define anyuring_mmap               kernel_mmap
#define anyuring_munmap             kernel_munmap
#define anyuring_close              kernel_close

#define au_front_size               kernel_front_size
#define au_front_sqes_bytes         kernel_front_sqes_bytes
#define au_front_cqes_bytes         kernel_front_cqes_bytes
#define au_front_page_align         kernel_front_page_align
#define au_front_register           kernel_front_register
#define au_front_unregister_ring_fd kernel_front_unregister_ring_fd
#define au_front_queue_init         kernel_front_queue_init
#define au_front_queue_exit         kernel_front_queue_exit
#define au_front_map                kernel_front_map
#define au_front_unmap              kernel_front_unmap

#define BENCH_BACKEND_KERNEL

#endif
