/* SPDX-License-Identifier: MIT */
/* What clang makes a byte-wide store of, and gcc 12 does not. */
#include "core/req.h"

void plain_or(struct au_req *req);
void plain_and(struct au_req *req);

void plain_or(struct au_req *req)
{
	req->flags |= AU_REQ_F_FAIL;
}

void plain_and(struct au_req *req)
{
	req->flags &= ~(uint64_t)AU_REQ_F_ARM_LTIMEOUT;
}
