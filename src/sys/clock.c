/* SPDX-License-Identifier: MIT */
#include "sys/clock.h"

#include <linux/prctl.h>
#include "sys/syscall.h"

uint64_t au_clock_ns(int clockid)
{
	struct timespec ts;

	clock_gettime(clockid, &ts); /* vDSO; cannot fail for these clocks */
	return (uint64_t)ts.tv_sec * AU_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

uint64_t au_timer_slack_ns(void)
{
	static __thread uint64_t slack_plus_one;

	if (!slack_plus_one) {
		long r = au_syscall(SYS_prctl, PR_GET_TIMERSLACK, 0, 0, 0, 0);

		slack_plus_one = (r < 0 ? 0 : (uint64_t)r) + 1;
	}
	return slack_plus_one - 1;
}
