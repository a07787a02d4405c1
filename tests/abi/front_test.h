/* SPDX-License-Identifier: MIT */
/*
 * Description: print a result, and require it where it is certain. What is
 * printed must be the same with every liburing: no addresses, no descriptors.
 */
#ifndef AU_TESTS_FRONT_TEST_H
#define AU_TESTS_FRONT_TEST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define EXIT_SKIP 77

static int failures;

static inline void say(const char *what, long value)
{
	printf("%s: %ld\n", what, value);
}

static inline void expect(const char *what, long value, long wanted)
{
	say(what, value);
	if (value == wanted)
		return;
	printf("%s: expected %ld\n", what, wanted);
	failures++;
}

/* Without this the rest of the program makes no sense. */
static inline void must(const char *what, long value)
{
	if (value >= 0)
		return;
	printf("%s: %ld\n", what, value);
	exit(1);
}

/* Leave, with a reason, where there is nothing to test. */
static inline void skip_without_ring(int setup_result)
{
	if (setup_result != -ENOSYS && setup_result != -EPERM &&
	    setup_result != -EACCES)
		return;
	printf("no io_uring in this kernel: %d\n", setup_result);
	exit(EXIT_SKIP);
}

static inline int finish(void)
{
	if (failures)
		printf("%d results are wrong\n", failures);
	return failures != 0;
}

#define SAY(expr)            say(#expr, (long)(expr))
#define EXPECT(expr, wanted) expect(#expr, (long)(expr), (wanted))
#define MUST(expr)           must(#expr, (long)(expr))

#endif
