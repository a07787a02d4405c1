/* SPDX-License-Identifier: MIT */
/* Nanoseconds, and what the caller's timer slack adds to a sleep. */
#ifndef AU_SYS_CLOCK_H
#define AU_SYS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include "base/util.h"
#include "uapi/io_uring.h"

#define AU_NSEC_FOREVER UINT64_MAX

/* `clockid` is one of the three clocks io_uring knows. */
uint64_t au_clock_ns(int clockid);

static inline uint64_t au_now_ns(void)
{
	return au_clock_ns(CLOCK_MONOTONIC);
}

/*
 * Seconds too large for 63 bits of nanoseconds mean "for ever", a negative
 * time one long gone by.
 */
static inline uint64_t au_timespec_ns(const struct au_timespec *ts)
{
	int64_t ns;

	if (__builtin_mul_overflow(ts->tv_sec, (int64_t)AU_NSEC_PER_SEC, &ns) ||
	    __builtin_add_overflow(ns, ts->tv_nsec, &ns))
		return ts->tv_sec < 0 ? 0 : AU_NSEC_FOREVER;
	return ns < 0 ? 0 : (uint64_t)ns;
}

static inline uint64_t au_ns_add(uint64_t a, uint64_t b)
{
	return a + b < a ? AU_NSEC_FOREVER : a + b;
}

/* The calling thread's slack (PR_GET_TIMERSLACK), asked for once a thread. */
uint64_t au_timer_slack_ns(void);

#endif
