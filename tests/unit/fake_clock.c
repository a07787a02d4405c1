/* SPDX-License-Identifier: MIT */
#include "fake_clock.h"

#include "base/atomic.h"
#include "sys/clock.h"

/* Far from zero, and each clock from the others. */
static uint64_t now_ns = 1000 * AU_NSEC_PER_SEC;
static int64_t boottime_shift = 3600 * 1000000000LL;
static int64_t realtime_shift = 1700000000 * 1000000000LL;

void fake_clock_advance(uint64_t ns)
{
	au_fetch_add(&now_ns, ns);
}

void fake_clock_shift(int clockid, int64_t ns)
{
	au_fetch_add(clockid == CLOCK_REALTIME ? &realtime_shift :
						 &boottime_shift,
		     ns);
}

uint64_t au_clock_ns(int clockid)
{
	uint64_t now = au_load_relaxed(&now_ns);

	if (clockid == CLOCK_REALTIME)
		return now + (uint64_t)au_load_relaxed(&realtime_shift);
	if (clockid == CLOCK_BOOTTIME)
		return now + (uint64_t)au_load_relaxed(&boottime_shift);
	return now;
}

uint64_t au_timer_slack_ns(void)
{
	return 0;
}
