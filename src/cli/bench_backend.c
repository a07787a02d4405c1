/* SPDX-License-Identifier: MIT */
/*
 * A backend of the benchmark. Compiled twice from this one text, as the front
 * is: plainly, over the engine, and with bench_kernel.h, over the kernel.
 */
#include "cli/bench.h"

#ifdef BENCH_BACKEND_KERNEL
#define BACKEND bench_backend_kernel
#define IS      BENCH_KERNEL
#else
#define BACKEND bench_backend_user
#define IS      BENCH_USER
#endif

const struct bench_backend BACKEND = {
	.is = IS,
	.queue_init_params = io_uring_queue_init_params,
	.queue_exit = io_uring_queue_exit,
	.submit = io_uring_submit,
	.submit_and_wait = io_uring_submit_and_wait,
};
