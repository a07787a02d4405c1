/* SPDX-License-Identifier: MIT */
/* Stores that flagword.py has to find, whatever the compiler. */
#include "core/req.h"

void narrow_or(struct au_req *req);
void narrow_byte(struct au_req *req);
void narrow_half(struct au_req *req, uint32_t v);
void narrow_bit(struct au_req *req, int res);
void narrow_from_member(struct au_slist_node *n);

void narrow_or(struct au_req *req)
{
	((uint8_t *)&req->flags)[1] |= AU_REQ_F_FAIL >> 8;
}

void narrow_byte(struct au_req *req)
{
	((volatile uint8_t *)&req->flags)[0] = 0;
}

void narrow_half(struct au_req *req, uint32_t v)
{
	((volatile uint32_t *)&req->flags)[1] = v;
}

void narrow_bit(struct au_req *req, int res)
{
	((volatile uint8_t *)&req->flags)[2] = res < 0;
}

/* The request is known by one of its members only. */
void narrow_from_member(struct au_slist_node *n)
{
	((volatile uint8_t *)&au_req_of_node(n)->flags)[3] = 1;
}
