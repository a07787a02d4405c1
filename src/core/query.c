/* SPDX-License-Identifier: MIT */
/*
 * IORING_REGISTER_QUERY: what this engine knows, asked by a chain of entries in
 * the application's memory; no ring is needed.
 */
#include <errno.h>
#include <string.h>
#include "core/op.h"
#include "core/register.h"
#include "core/setup.h"
#include "sys/uaccess.h"

#define QUERY_ENTRIES_MAX 1000 /* a chain may be a circle */
#define QUERY_SIZE_MAX    256

struct query_hdr {
	uint64_t next, data;
	uint32_t op, size;
	int32_t result;
	uint32_t resv[3];
};

enum {
	QUERY_OPCODES,
	QUERY_LAST,
};

struct query_opcodes {
	uint32_t nr_request_opcodes, nr_register_opcodes;
	uint64_t features, setup_flags, enter_flags, sqe_flags;
	uint32_t nr_query_opcodes, pad;
};

static void query_opcodes(struct query_opcodes *q)
{
	*q = (struct query_opcodes){
		.nr_request_opcodes = IORING_OP_LAST,
		.nr_register_opcodes = IORING_REGISTER_LAST,
		.features = AU_SETUP_FEATURES,
		.setup_flags = AU_SETUP_FLAGS,
		.enter_flags = AU_ENTER_FLAGS,
		.sqe_flags = AU_SQE_FLAGS,
		.nr_query_opcodes = QUERY_LAST,
	};
}

/* The answer to one entry; its size in *size. */
static int query_answer(const struct query_hdr *h, unsigned char *data,
			uint32_t *size)
{
	unsigned char asked[QUERY_SIZE_MAX];
	struct query_opcodes q;

	*size = 0;
	if (h->op >= QUERY_LAST)
		return -EOPNOTSUPP;
	if (h->resv[0] || h->resv[1] || h->resv[2] || h->result || !h->size)
		return -EINVAL;
	if (au_copy_from_user(asked, h->data,
			      au_min_u32(h->size, QUERY_SIZE_MAX)))
		return -EFAULT;
	query_opcodes(&q);
	memcpy(data, &q, sizeof(q));
	*size = sizeof(q);
	return 0;
}

static int query_entry(uint64_t at, uint64_t *next)
{
	unsigned char data[QUERY_SIZE_MAX] = { 0 };
	uint32_t asked, size;
	struct query_hdr h;

	if (au_copy_from_user(&h, at, sizeof(h)))
		return -EFAULT;
	asked = au_min_u32(h.size, QUERY_SIZE_MAX);
	h.result = query_answer(&h, data, &size);
	if (h.result == -EFAULT)
		return -EFAULT;
	/* A longer structure than ours is zero behind it. */
	if (h.result == 0 && au_copy_to_user(h.data, data, asked))
		return -EFAULT;
	h.size = au_min_u32(h.size, size);
	if (au_copy_to_user(at, &h, sizeof(h)))
		return -EFAULT;
	*next = h.next;
	return 0;
}

int au_register_query(uint64_t arg, uint32_t nr)
{
	if (nr)
		return -EINVAL;
	for (int i = 0; arg; i++) {
		int r = i < QUERY_ENTRIES_MAX ? query_entry(arg, &arg) :
						-ERANGE;

		if (r < 0)
			return r;
	}
	return 0;
}
