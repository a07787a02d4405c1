/* SPDX-License-Identifier: MIT */
/*
 * Description: src/uapi/io_uring.h agrees with a header of the system in every
 * name that both have: values, sizes, offsets.
 */
#include <stdio.h>
#include <string.h>

#include "uapi_probe.h"

/* Fewer than any header has: the list's generator must have lost its way. */
#define FACTS_MIN 250

int main(void)
{
	size_t wrong = 0;
	size_t i;

	if (uapi_ours_nr != uapi_theirs_nr || uapi_ours_nr < FACTS_MIN) {
		printf("%zu names against %zu, at least %d expected\n",
		       uapi_ours_nr, uapi_theirs_nr, FACTS_MIN);
		return 1;
	}
	for (i = 0; i < uapi_ours_nr; i++) {
		const struct uapi_fact *a = &uapi_ours[i];
		const struct uapi_fact *b = &uapi_theirs[i];

		if (!strcmp(a->name, b->name) && a->value == b->value &&
		    a->size == b->size)
			continue;
		printf("%s: %llu (size %zu), theirs %llu (size %zu)\n", a->name,
		       a->value, a->size, b->value, b->size);
		wrong++;
	}
	printf("%zu names compared, %zu differ\n", uapi_ours_nr, wrong);
	return wrong != 0;
}
