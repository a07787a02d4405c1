/* SPDX-License-Identifier: MIT */
/* See dispatch.h. */
#include "dispatch.h"

#define DEFINE(n)                                        \
	int dispatch_prep_##n(struct dispatch_req *req)  \
	{                                                \
		req->value += (n) + 1;                   \
		return 0;                                \
	}                                                \
	int dispatch_issue_##n(struct dispatch_req *req) \
	{                                                \
		req->value ^= (n) + 3;                   \
		return 0;                                \
	}
DISPATCH_ALL(DEFINE)
