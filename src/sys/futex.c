/* SPDX-License-Identifier: MIT */
#include "sys/futex.h"

#include <linux/futex.h>
#include "sys/syscall.h"

int au_futex_wait(uint32_t *word, uint32_t val, const struct timespec *deadline)
{
	return (int)au_syscall(SYS_futex, word,
			       FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, val,
			       deadline, NULL, FUTEX_BITSET_MATCH_ANY);
}

int au_futex_wake(uint32_t *word, int nr)
{
	return (int)au_syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG,
			       nr, NULL, NULL, 0);
}
