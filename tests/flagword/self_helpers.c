/* SPDX-License-Identifier: MIT */
/* The helpers, each a store of the whole word that flagword.py must see. */
#include "core/req.h"

void by_set(struct au_req *req);
void by_clear(struct au_req *req);
void by_switch(struct au_req *req);
void by_start(struct au_req *req, uint8_t flags);

void by_set(struct au_req *req)
{
	au_req_set(req, AU_REQ_F_FAIL);
}

void by_clear(struct au_req *req)
{
	au_req_clear(req, AU_REQ_F_ARM_LTIMEOUT);
}

void by_switch(struct au_req *req)
{
	au_req_switch(req, AU_REQ_F_HARDLINK, AU_REQ_F_LINK);
}

void by_start(struct au_req *req, uint8_t flags)
{
	req->flags = flags;
}
