/* SPDX-License-Identifier: MIT */
/* What net.c and netbuf.c share: sends and receives. */
#ifndef AU_OPS_NET_H
#define AU_OPS_NET_H

#include <sys/socket.h>
#include <sys/uio.h>
#include "core/op.h"

/* SEND, RECV, SENDMSG, RECVMSG, SEND_ZC, SENDMSG_ZC. */
struct au_sr {
	uint64_t addr; /* buffer, or msghdr (the application's or copied) */
	uint32_t len;
	uint32_t msg_flags;
	uint32_t done; /* MSG_WAITALL: bytes so far */
	uint16_t flags; /* IORING_RECVSEND_*, AU_SR_* */
	uint16_t addr_len;

	union {
		uint64_t to; /* SEND: destination */

		struct { /* with a selected buffer */
			uint32_t want; /* what the SQE asked for; 0 all */
			uint32_t left; /* until a multishot's limit */
		};
	};

	uint32_t queued; /* bytes that waited after the last receive; 0? */
};

enum {
	AU_SR_WAITED = 1 << 11, /* it did not go at the first try */
	AU_SR_LIMIT = 1 << 12, /* `left` counts */
	AU_SR_MSG =
		1 << 13, /* SEND, RECV: addr is a copied message after all */
	AU_SR_STREAM = 1 << 14, /* bytes that wait can be asked for */
	AU_SR_LOOKED = 1 << 15, /* whether it is a stream is known */
};

/* A message copied to outlive the submit call. */
struct au_net_msg {
	struct msghdr hdr;
	uint64_t user; /* the application's header, for what recvmsg returns */
	struct iovec one; /* a selected buffer */
	uint32_t name_len, control_len; /* a multishot's room for each */
	struct sockaddr_storage name;
	struct iovec iov[];
};

static inline bool au_sr_is_msg(const struct au_req *req,
				const struct au_sr *sr)
{
	return (sr->flags & AU_SR_MSG) || req->opcode == IORING_OP_SENDMSG ||
	       req->opcode == IORING_OP_RECVMSG ||
	       req->opcode == IORING_OP_SENDMSG_ZC;
}

/* net.c: a plain send or receive. */
enum au_issue au_sr_issue(struct au_req *req);

/* net.c: what recvmsg(2) wrote into the header goes to the application's. */
void au_msg_give_back(struct au_req *req, const struct au_net_msg *m);

/* netbuf.c: with IOSQE_BUFFER_SELECT. */
enum au_issue au_recv_select(struct au_req *req);
enum au_issue au_send_select(struct au_req *req);

/* netbuf.c: IORING_RECVSEND_BUNDLE without it. */
enum au_issue au_send_bundle(struct au_req *req);

#endif
