/* SPDX-License-Identifier: MIT */
#include "sys/membarrier.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/single_threaded.h>
#include "base/atomic.h"
#include "sys/clock.h"
#include "sys/syscall.h"
#include "sys/thread.h"

/* No CPU keeps a store to itself that long. */
#define STORE_VISIBLE AU_NSEC_PER_MSEC

enum {
	MEMBARRIER_UNKNOWN,
	MEMBARRIER_ASKED,
	MEMBARRIER_READY,
	MEMBARRIER_REFUSED,
};

static uint32_t membarrier_state;

static void *membarrier_register(void *unused)
{
	long r = au_syscall(SYS_membarrier,
			    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);

	au_store_relaxed(&membarrier_state,
			 r < 0 ? MEMBARRIER_REFUSED : MEMBARRIER_READY);
	return NULL;
}

static bool membarrier_ask(void)
{
	uint32_t unknown = MEMBARRIER_UNKNOWN;

	return au_cmpxchg(&membarrier_state, &unknown, MEMBARRIER_ASKED);
}

void au_membarrier_begin(void)
{
	if (__libc_single_threaded && membarrier_ask())
		(void)membarrier_register(NULL);
}

bool au_membarrier_ready(void)
{
	uint32_t state = au_load_relaxed(&membarrier_state);

	if (au_likely(state != MEMBARRIER_UNKNOWN))
		return state == MEMBARRIER_READY;
	/* It waits for all CPUs: not in the way of whoever is to be sped up. */
	if (membarrier_ask() && au_thread_start(membarrier_register, NULL) < 0)
		au_store_relaxed(&membarrier_state, MEMBARRIER_REFUSED);
	return false;
}

/* A sandbox that the program entered meanwhile may refuse the call. */
static au_cold void membarrier_by_time(void)
{
	uint64_t end = au_now_ns() + STORE_VISIBLE;

	au_store_relaxed(&membarrier_state, MEMBARRIER_REFUSED);
	au_fence_full();
	while (au_now_ns() < end)
		sched_yield();
}

void au_membarrier(void)
{
	if (au_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0,
		       0) < 0)
		membarrier_by_time();
}
