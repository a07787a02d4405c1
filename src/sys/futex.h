/* SPDX-License-Identifier: MIT */
/* futex(2) on words private to the process. */
#ifndef AU_SYS_FUTEX_H
#define AU_SYS_FUTEX_H

#include <stdint.h>
#include <time.h>

/*
 * Sleeps while *word == val, at most until `deadline` (CLOCK_MONOTONIC, NULL
 * for ever). Returns 0 when woken, -EAGAIN, -EINTR or -ETIMEDOUT.
 */
int au_futex_wait(uint32_t *word, uint32_t val,
		  const struct timespec *deadline);

/* Wakes up to `nr` sleepers; returns how many. */
int au_futex_wake(uint32_t *word, int nr);

#endif
