/* SPDX-License-Identifier: MIT */
/* What this engine takes and promises: for setup, enter, submit and queries. */
#ifndef AU_CORE_SETUP_H
#define AU_CORE_SETUP_H

#include "base/util.h"
#include "uapi/io_uring.h"

#define AU_SETUP_FLAGS                                                       \
	(IORING_SETUP_IOPOLL | IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF |   \
	 IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | IORING_SETUP_ATTACH_WQ | \
	 IORING_SETUP_R_DISABLED | IORING_SETUP_SUBMIT_ALL |                 \
	 IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG |             \
	 IORING_SETUP_SQE128 | IORING_SETUP_CQE32 |                          \
	 IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |           \
	 IORING_SETUP_NO_MMAP | IORING_SETUP_REGISTERED_FD_ONLY |            \
	 IORING_SETUP_NO_SQARRAY | IORING_SETUP_HYBRID_IOPOLL |              \
	 IORING_SETUP_CQE_MIXED)

/* Rounds and bounds the entries of both queues. 0 or -EINVAL. */
int au_setup_sizes(unsigned int entries,
		   struct io_uring_params *p) au_must_check;

/* Each bit is a promise kept somewhere in this tree. */
#define AU_SETUP_FEATURES                                        \
	(IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP |          \
	 IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_RW_CUR_POS |    \
	 IORING_FEAT_CUR_PERSONALITY | IORING_FEAT_FAST_POLL |   \
	 IORING_FEAT_POLL_32BITS | IORING_FEAT_SQPOLL_NONFIXED | \
	 IORING_FEAT_EXT_ARG | IORING_FEAT_NATIVE_WORKERS |      \
	 IORING_FEAT_RSRC_TAGS | IORING_FEAT_CQE_SKIP |          \
	 IORING_FEAT_LINKED_FILE | IORING_FEAT_REG_REG_RING |    \
	 IORING_FEAT_MIN_TIMEOUT | IORING_FEAT_RECVSEND_BUNDLE)

#define AU_ENTER_FLAGS                                           \
	(IORING_ENTER_GETEVENTS | IORING_ENTER_SQ_WAKEUP |       \
	 IORING_ENTER_SQ_WAIT | IORING_ENTER_EXT_ARG |           \
	 IORING_ENTER_REGISTERED_RING | IORING_ENTER_ABS_TIMER | \
	 IORING_ENTER_EXT_ARG_REG)

#define AU_SQE_FLAGS                                                     \
	(IOSQE_FIXED_FILE | IOSQE_IO_LINK | IOSQE_IO_HARDLINK |          \
	 IOSQE_BUFFER_SELECT | IOSQE_IO_DRAIN | IOSQE_CQE_SKIP_SUCCESS | \
	 IOSQE_ASYNC)

#endif
