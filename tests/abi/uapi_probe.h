/* SPDX-License-Identifier: MIT */
/*
 * Description: what uapi_probe.c, compiled once for each header, tells
 * abi_uapi.c.
 */
#ifndef AU_TESTS_UAPI_PROBE_H
#define AU_TESTS_UAPI_PROBE_H

#include <stddef.h>

struct uapi_fact {
	const char *name;
	unsigned long long value; /* or size, or offset */
	size_t size; /* of a field */
};

extern const struct uapi_fact uapi_ours[];
extern const struct uapi_fact uapi_theirs[];
extern const size_t uapi_ours_nr;
extern const size_t uapi_theirs_nr;

#endif
