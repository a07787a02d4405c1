/* SPDX-License-Identifier: MIT */
/* Whether a test runs together with a sanitizer. */
#ifndef AU_TESTS_SANITIZED_H
#define AU_TESTS_SANITIZED_H

/* Built under a sanitizer, whose runtime and code are then part of the test? */
static inline int sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return 1;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
	return 1;
#endif
#endif
	return 0;
}

#endif
