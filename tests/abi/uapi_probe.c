/* SPDX-License-Identifier: MIT */
/*
 * Description: the value of each name of a list, as one header has it.
 * Compiled with UAPI_HEADER, UAPI_LIST (see uapi_list.py) and UAPI_TABLE, the
 * name of the table.
 */
#include <linux/time_types.h>
#include UAPI_HEADER

#include "uapi_probe.h"

#define VALUE(name)       { #name, (unsigned long long)(name), 0 },
#define SIZE(type)        { "sizeof " #type, sizeof(struct type), 0 },
#define FLEX(type, field) { #type "." #field, offsetof(struct type, field), 0 },
#define FIELD(type, field)                                \
	{ #type "." #field, offsetof(struct type, field), \
	  sizeof(((struct type *)0)->field) },

const struct uapi_fact UAPI_TABLE[] = {
#include UAPI_LIST
};

#define PASTE(a, b)  a##b
#define NR_OF(table) PASTE(table, _nr)
const size_t NR_OF(UAPI_TABLE) = sizeof(UAPI_TABLE) / sizeof(UAPI_TABLE[0]);
