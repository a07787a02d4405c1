/* SPDX-License-Identifier: MIT */
/*
 * For the programs that fork with threads around, since that is what they are
 * about: left to itself TSan ends a child that starts a thread. Included once.
 */
#ifndef AU_TESTS_TSAN_FORK_H
#define AU_TESTS_TSAN_FORK_H

#if defined(__SANITIZE_THREAD__)
__attribute__((visibility("default"))) const char *__tsan_default_options(void);

const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}
#endif

#endif
