/* SPDX-License-Identifier: MIT */
/*
 * The io_uring ABI: numbers and layouts shared by the application, liburing
 * and whoever serves the ring.
 *
 * Numbers and offsets are facts; they are written down here in our own words
 * so that the engine builds on a system whose kernel headers are older than
 * the programs it serves. tests/abi compares every name that the system's
 * header knows with this one, and the offsets are asserted below.
 */
#ifndef AU_UAPI_IO_URING_H
#define AU_UAPI_IO_URING_H

#include <stddef.h>
#include <stdint.h>

/* What the kernel calls struct __kernel_timespec: 64 bits on every ABI. */
struct au_timespec {
	int64_t tv_sec;
	long long tv_nsec;
};

/* Submission queue entry: 64 bytes, or 128 with IORING_SETUP_SQE128. */
struct io_uring_sqe {
	uint8_t opcode;
	uint8_t flags; /* IOSQE_* */
	uint16_t ioprio; /* I/O priority, or the op's own flags (net, poll) */
	int32_t fd;

	union {
		uint64_t off;
		uint64_t addr2;

		struct {
			uint32_t cmd_op;
			uint32_t pad1;
		};
	};

	union {
		uint64_t addr;
		uint64_t splice_off_in;

		struct {
			uint32_t level;
			uint32_t optname;
		};
	};

	uint32_t len;

	union { /* one word, named by each op as it pleases */
		uint32_t op_flags;
		uint32_t rw_flags;
		uint32_t fsync_flags;
		uint16_t poll_events; /* before IORING_FEAT_POLL_32BITS */
		uint32_t poll32_events;
		uint32_t sync_range_flags;
		uint32_t msg_flags;
		uint32_t timeout_flags;
		uint32_t accept_flags;
		uint32_t cancel_flags;
		uint32_t open_flags;
		uint32_t statx_flags;
		uint32_t fadvise_advice;
		uint32_t splice_flags;
		uint32_t rename_flags;
		uint32_t unlink_flags;
		uint32_t hardlink_flags;
		uint32_t xattr_flags;
		uint32_t msg_ring_flags;
		uint32_t uring_cmd_flags;
		uint32_t waitid_flags;
		uint32_t futex_flags;
		uint32_t install_fd_flags;
		uint32_t nop_flags;
		uint32_t pipe_flags;
	};

	uint64_t user_data;

	union {
		uint16_t buf_index;
		uint16_t buf_group;
	};

	uint16_t personality;

	union {
		int32_t splice_fd_in;
		uint32_t file_index;
		uint32_t optlen;

		struct {
			uint16_t addr_len;
			uint16_t pad3[1];
		};
	};

	union {
		struct {
			uint64_t addr3;
			uint64_t pad2[1];
		};

		struct {
			uint64_t attr_ptr;
			uint64_t attr_type_mask;
		};

		uint64_t optval;
		uint8_t cmd[16]; /* 80 bytes in a 128-byte SQE */
	};
};

/* Completion queue entry: 16 bytes, or 32 with IORING_SETUP_CQE32. */
struct io_uring_cqe {
	uint64_t user_data;
	int32_t res;
	uint32_t flags; /* IORING_CQE_F_* */
	uint64_t big_cqe[];
};

/* SQE flags */
enum {
	IOSQE_FIXED_FILE_BIT,
	IOSQE_IO_DRAIN_BIT,
	IOSQE_IO_LINK_BIT,
	IOSQE_IO_HARDLINK_BIT,
	IOSQE_ASYNC_BIT,
	IOSQE_BUFFER_SELECT_BIT,
	IOSQE_CQE_SKIP_SUCCESS_BIT,
};

#define IOSQE_FIXED_FILE       (1U << IOSQE_FIXED_FILE_BIT)
#define IOSQE_IO_DRAIN         (1U << IOSQE_IO_DRAIN_BIT)
#define IOSQE_IO_LINK          (1U << IOSQE_IO_LINK_BIT)
#define IOSQE_IO_HARDLINK      (1U << IOSQE_IO_HARDLINK_BIT)
#define IOSQE_ASYNC            (1U << IOSQE_ASYNC_BIT)
#define IOSQE_BUFFER_SELECT    (1U << IOSQE_BUFFER_SELECT_BIT)
#define IOSQE_CQE_SKIP_SUCCESS (1U << IOSQE_CQE_SKIP_SUCCESS_BIT)

/* file_index that asks for any free slot of the file table */
#define IORING_FILE_INDEX_ALLOC (~0U)

enum io_uring_op {
	IORING_OP_NOP = 0,
	IORING_OP_READV = 1,
	IORING_OP_WRITEV = 2,
	IORING_OP_FSYNC = 3,
	IORING_OP_READ_FIXED = 4,
	IORING_OP_WRITE_FIXED = 5,
	IORING_OP_POLL_ADD = 6,
	IORING_OP_POLL_REMOVE = 7,
	IORING_OP_SYNC_FILE_RANGE = 8,
	IORING_OP_SENDMSG = 9,
	IORING_OP_RECVMSG = 10,
	IORING_OP_TIMEOUT = 11,
	IORING_OP_TIMEOUT_REMOVE = 12,
	IORING_OP_ACCEPT = 13,
	IORING_OP_ASYNC_CANCEL = 14,
	IORING_OP_LINK_TIMEOUT = 15,
	IORING_OP_CONNECT = 16,
	IORING_OP_FALLOCATE = 17,
	IORING_OP_OPENAT = 18,
	IORING_OP_CLOSE = 19,
	IORING_OP_FILES_UPDATE = 20,
	IORING_OP_STATX = 21,
	IORING_OP_READ = 22,
	IORING_OP_WRITE = 23,
	IORING_OP_FADVISE = 24,
	IORING_OP_MADVISE = 25,
	IORING_OP_SEND = 26,
	IORING_OP_RECV = 27,
	IORING_OP_OPENAT2 = 28,
	IORING_OP_EPOLL_CTL = 29,
	IORING_OP_SPLICE = 30,
	IORING_OP_PROVIDE_BUFFERS = 31,
	IORING_OP_REMOVE_BUFFERS = 32,
	IORING_OP_TEE = 33,
	IORING_OP_SHUTDOWN = 34,
	IORING_OP_RENAMEAT = 35,
	IORING_OP_UNLINKAT = 36,
	IORING_OP_MKDIRAT = 37,
	IORING_OP_SYMLINKAT = 38,
	IORING_OP_LINKAT = 39,
	IORING_OP_MSG_RING = 40,
	IORING_OP_FSETXATTR = 41,
	IORING_OP_SETXATTR = 42,
	IORING_OP_FGETXATTR = 43,
	IORING_OP_GETXATTR = 44,
	IORING_OP_SOCKET = 45,
	IORING_OP_URING_CMD = 46,
	IORING_OP_SEND_ZC = 47,
	IORING_OP_SENDMSG_ZC = 48,
	IORING_OP_READ_MULTISHOT = 49,
	IORING_OP_WAITID = 50,
	IORING_OP_FUTEX_WAIT = 51,
	IORING_OP_FUTEX_WAKE = 52,
	IORING_OP_FUTEX_WAITV = 53,
	IORING_OP_FIXED_FD_INSTALL = 54,
	IORING_OP_FTRUNCATE = 55,
	IORING_OP_BIND = 56,
	IORING_OP_LISTEN = 57,
	IORING_OP_RECV_ZC = 58,
	IORING_OP_EPOLL_WAIT = 59,
	IORING_OP_READV_FIXED = 60,
	IORING_OP_WRITEV_FIXED = 61,
	IORING_OP_PIPE = 62,
	IORING_OP_NOP128 = 63,
	IORING_OP_URING_CMD128 = 64,
	IORING_OP_LAST = 65,
};

/* io_uring_setup(2): params.flags */
#define IORING_SETUP_IOPOLL             (1U << 0)
#define IORING_SETUP_SQPOLL             (1U << 1)
#define IORING_SETUP_SQ_AFF             (1U << 2)
#define IORING_SETUP_CQSIZE             (1U << 3)
#define IORING_SETUP_CLAMP              (1U << 4)
#define IORING_SETUP_ATTACH_WQ          (1U << 5)
#define IORING_SETUP_R_DISABLED         (1U << 6)
#define IORING_SETUP_SUBMIT_ALL         (1U << 7)
#define IORING_SETUP_COOP_TASKRUN       (1U << 8)
#define IORING_SETUP_TASKRUN_FLAG       (1U << 9)
#define IORING_SETUP_SQE128             (1U << 10)
#define IORING_SETUP_CQE32              (1U << 11)
#define IORING_SETUP_SINGLE_ISSUER      (1U << 12)
#define IORING_SETUP_DEFER_TASKRUN      (1U << 13)
#define IORING_SETUP_NO_MMAP            (1U << 14)
#define IORING_SETUP_REGISTERED_FD_ONLY (1U << 15)
#define IORING_SETUP_NO_SQARRAY         (1U << 16)
#define IORING_SETUP_HYBRID_IOPOLL      (1U << 17)
#define IORING_SETUP_CQE_MIXED          (1U << 18)
#define IORING_SETUP_SQE_MIXED          (1U << 19)
#define IORING_SETUP_SQ_REWIND          (1U << 20)

/* io_uring_setup(2): params.features */
#define IORING_FEAT_SINGLE_MMAP     (1U << 0)
#define IORING_FEAT_NODROP          (1U << 1)
#define IORING_FEAT_SUBMIT_STABLE   (1U << 2)
#define IORING_FEAT_RW_CUR_POS      (1U << 3)
#define IORING_FEAT_CUR_PERSONALITY (1U << 4)
#define IORING_FEAT_FAST_POLL       (1U << 5)
#define IORING_FEAT_POLL_32BITS     (1U << 6)
#define IORING_FEAT_SQPOLL_NONFIXED (1U << 7)
#define IORING_FEAT_EXT_ARG         (1U << 8)
#define IORING_FEAT_NATIVE_WORKERS  (1U << 9)
#define IORING_FEAT_RSRC_TAGS       (1U << 10)
#define IORING_FEAT_CQE_SKIP        (1U << 11)
#define IORING_FEAT_LINKED_FILE     (1U << 12)
#define IORING_FEAT_REG_REG_RING    (1U << 13)
#define IORING_FEAT_RECVSEND_BUNDLE (1U << 14)
#define IORING_FEAT_MIN_TIMEOUT     (1U << 15)
#define IORING_FEAT_RW_ATTR         (1U << 16)
#define IORING_FEAT_NO_IOWAIT       (1U << 17)

/* io_uring_enter(2): flags */
#define IORING_ENTER_GETEVENTS       (1U << 0)
#define IORING_ENTER_SQ_WAKEUP       (1U << 1)
#define IORING_ENTER_SQ_WAIT         (1U << 2)
#define IORING_ENTER_EXT_ARG         (1U << 3)
#define IORING_ENTER_REGISTERED_RING (1U << 4)
#define IORING_ENTER_ABS_TIMER       (1U << 5)
#define IORING_ENTER_EXT_ARG_REG     (1U << 6)
#define IORING_ENTER_NO_IOWAIT       (1U << 7)

/* CQE flags */
#define IORING_CQE_F_BUFFER        (1U << 0)
#define IORING_CQE_F_MORE          (1U << 1)
#define IORING_CQE_F_SOCK_NONEMPTY (1U << 2)
#define IORING_CQE_F_NOTIF         (1U << 3)
#define IORING_CQE_F_BUF_MORE      (1U << 4)
#define IORING_CQE_F_SKIP          (1U << 5)
#define IORING_CQE_F_32            (1U << 15)
#define IORING_CQE_BUFFER_SHIFT    16

/* mmap(2) offsets of a ring's regions */
#define IORING_OFF_SQ_RING    0ULL
#define IORING_OFF_CQ_RING    0x8000000ULL
#define IORING_OFF_SQES       0x10000000ULL
#define IORING_OFF_PBUF_RING  0x80000000ULL
#define IORING_OFF_PBUF_SHIFT 16
#define IORING_OFF_MMAP_MASK  0xf8000000ULL

/* SQ ring flags, written by the server of the ring */
#define IORING_SQ_NEED_WAKEUP (1U << 0)
#define IORING_SQ_CQ_OVERFLOW (1U << 1)
#define IORING_SQ_TASKRUN     (1U << 2)

/* CQ ring flags, written by the application */
#define IORING_CQ_EVENTFD_DISABLED (1U << 0)

/* FSYNC */
#define IORING_FSYNC_DATASYNC (1U << 0)

/* TIMEOUT, TIMEOUT_REMOVE, LINK_TIMEOUT */
#define IORING_TIMEOUT_ABS           (1U << 0)
#define IORING_TIMEOUT_UPDATE        (1U << 1)
#define IORING_TIMEOUT_BOOTTIME      (1U << 2)
#define IORING_TIMEOUT_REALTIME      (1U << 3)
#define IORING_LINK_TIMEOUT_UPDATE   (1U << 4)
#define IORING_TIMEOUT_ETIME_SUCCESS (1U << 5)
#define IORING_TIMEOUT_MULTISHOT     (1U << 6)
#define IORING_TIMEOUT_IMMEDIATE_ARG (1U << 7)
#define IORING_TIMEOUT_CLOCK_MASK \
	(IORING_TIMEOUT_BOOTTIME | IORING_TIMEOUT_REALTIME)
#define IORING_TIMEOUT_UPDATE_MASK \
	(IORING_TIMEOUT_UPDATE | IORING_LINK_TIMEOUT_UPDATE)

/* SPLICE, TEE: the input is a registered file */
#define SPLICE_F_FD_IN_FIXED (1U << 31)

/* POLL_ADD, POLL_REMOVE: carried in sqe->len */
#define IORING_POLL_ADD_MULTI        (1U << 0)
#define IORING_POLL_UPDATE_EVENTS    (1U << 1)
#define IORING_POLL_UPDATE_USER_DATA (1U << 2)
#define IORING_POLL_ADD_LEVEL        (1U << 3)

/* ASYNC_CANCEL */
#define IORING_ASYNC_CANCEL_ALL      (1U << 0)
#define IORING_ASYNC_CANCEL_FD       (1U << 1)
#define IORING_ASYNC_CANCEL_ANY      (1U << 2)
#define IORING_ASYNC_CANCEL_FD_FIXED (1U << 3)
#define IORING_ASYNC_CANCEL_USERDATA (1U << 4)
#define IORING_ASYNC_CANCEL_OP       (1U << 5)

/* SEND, RECV and friends: carried in sqe->ioprio */
#define IORING_RECVSEND_POLL_FIRST  (1U << 0)
#define IORING_RECV_MULTISHOT       (1U << 1)
#define IORING_RECVSEND_FIXED_BUF   (1U << 2)
#define IORING_SEND_ZC_REPORT_USAGE (1U << 3)
#define IORING_RECVSEND_BUNDLE      (1U << 4)
#define IORING_SEND_VECTORIZED      (1U << 5)

/* zero-copy notification: the data was copied after all */
#define IORING_NOTIF_USAGE_ZC_COPIED (1U << 31)

/* ACCEPT: carried in sqe->ioprio */
#define IORING_ACCEPT_MULTISHOT  (1U << 0)
#define IORING_ACCEPT_DONTWAIT   (1U << 1)
#define IORING_ACCEPT_POLL_FIRST (1U << 2)

/* MSG_RING */
enum {
	IORING_MSG_DATA = 0,
	IORING_MSG_SEND_FD = 1,
};

/* MSG_RING flags */
#define IORING_MSG_RING_CQE_SKIP   (1U << 0)
#define IORING_MSG_RING_FLAGS_PASS (1U << 1)

/* FIXED_FD_INSTALL */
#define IORING_FIXED_FD_NO_CLOEXEC (1U << 0)

/* NOP */
#define IORING_NOP_INJECT_RESULT (1U << 0)
#define IORING_NOP_FILE          (1U << 1)
#define IORING_NOP_FIXED_FILE    (1U << 2)
#define IORING_NOP_FIXED_BUFFER  (1U << 3)
#define IORING_NOP_TW            (1U << 4)
#define IORING_NOP_CQE32         (1U << 5)

/* URING_CMD */
#define IORING_URING_CMD_FIXED (1U << 0)
#define IORING_URING_CMD_MASK  IORING_URING_CMD_FIXED

enum io_uring_register_op {
	IORING_REGISTER_BUFFERS = 0,
	IORING_UNREGISTER_BUFFERS = 1,
	IORING_REGISTER_FILES = 2,
	IORING_UNREGISTER_FILES = 3,
	IORING_REGISTER_EVENTFD = 4,
	IORING_UNREGISTER_EVENTFD = 5,
	IORING_REGISTER_FILES_UPDATE = 6,
	IORING_REGISTER_EVENTFD_ASYNC = 7,
	IORING_REGISTER_PROBE = 8,
	IORING_REGISTER_PERSONALITY = 9,
	IORING_UNREGISTER_PERSONALITY = 10,
	IORING_REGISTER_RESTRICTIONS = 11,
	IORING_REGISTER_ENABLE_RINGS = 12,
	IORING_REGISTER_FILES2 = 13,
	IORING_REGISTER_FILES_UPDATE2 = 14,
	IORING_REGISTER_BUFFERS2 = 15,
	IORING_REGISTER_BUFFERS_UPDATE = 16,
	IORING_REGISTER_IOWQ_AFF = 17,
	IORING_UNREGISTER_IOWQ_AFF = 18,
	IORING_REGISTER_IOWQ_MAX_WORKERS = 19,
	IORING_REGISTER_RING_FDS = 20,
	IORING_UNREGISTER_RING_FDS = 21,
	IORING_REGISTER_PBUF_RING = 22,
	IORING_UNREGISTER_PBUF_RING = 23,
	IORING_REGISTER_SYNC_CANCEL = 24,
	IORING_REGISTER_FILE_ALLOC_RANGE = 25,
	IORING_REGISTER_PBUF_STATUS = 26,
	IORING_REGISTER_NAPI = 27,
	IORING_UNREGISTER_NAPI = 28,
	IORING_REGISTER_CLOCK = 29,
	IORING_REGISTER_CLONE_BUFFERS = 30,
	IORING_REGISTER_SEND_MSG_RING = 31,
	IORING_REGISTER_ZCRX_IFQ = 32,
	IORING_REGISTER_RESIZE_RINGS = 33,
	IORING_REGISTER_MEM_REGION = 34,
	IORING_REGISTER_QUERY = 35,
	IORING_REGISTER_ZCRX_CTRL = 36,
	IORING_REGISTER_BPF_FILTER = 37,
	IORING_REGISTER_LAST = 38,

	/* or-ed into the opcode: fd is an index of the calling task's table */
	IORING_REGISTER_USE_REGISTERED_RING = 1U << 31,
};

#define IORING_RSRC_REGISTER_SPARSE (1U << 0)
#define IORING_REGISTER_FILES_SKIP  (-2)
#define IO_URING_OP_SUPPORTED       (1U << 0)

enum io_wq_type {
	IO_WQ_BOUND,
	IO_WQ_UNBOUND,
};

struct io_sqring_offsets {
	uint32_t head;
	uint32_t tail;
	uint32_t ring_mask;
	uint32_t ring_entries;
	uint32_t flags;
	uint32_t dropped;
	uint32_t array;
	uint32_t resv1;
	uint64_t user_addr;
};

struct io_cqring_offsets {
	uint32_t head;
	uint32_t tail;
	uint32_t ring_mask;
	uint32_t ring_entries;
	uint32_t overflow;
	uint32_t cqes;
	uint32_t flags;
	uint32_t resv1;
	uint64_t user_addr;
};

struct io_uring_params {
	uint32_t sq_entries;
	uint32_t cq_entries;
	uint32_t flags;
	uint32_t sq_thread_cpu;
	uint32_t sq_thread_idle;
	uint32_t features;
	uint32_t wq_fd;
	uint32_t resv[3];
	struct io_sqring_offsets sq_off;
	struct io_cqring_offsets cq_off;
};

struct io_uring_files_update {
	uint32_t offset;
	uint32_t resv;
	uint64_t fds;
};

struct io_uring_region_desc {
	uint64_t user_addr;
	uint64_t size;
	uint32_t flags;
	uint32_t id;
	uint64_t mmap_offset;
	uint64_t resv[4];
};

struct io_uring_mem_region_reg {
	uint64_t region_uptr;
	uint64_t flags;
	uint64_t resv[2];
};

struct io_uring_rsrc_register {
	uint32_t nr;
	uint32_t flags;
	uint64_t resv2;
	uint64_t data;
	uint64_t tags;
};

struct io_uring_rsrc_update {
	uint32_t offset;
	uint32_t resv;
	uint64_t data;
};

struct io_uring_rsrc_update2 {
	uint32_t offset;
	uint32_t resv;
	uint64_t data;
	uint64_t tags;
	uint32_t nr;
	uint32_t resv2;
};

struct io_uring_probe_op {
	uint8_t op;
	uint8_t resv;
	uint16_t flags;
	uint32_t resv2;
};

struct io_uring_probe {
	uint8_t last_op;
	uint8_t ops_len;
	uint16_t resv;
	uint32_t resv2[3];
	struct io_uring_probe_op ops[];
};

struct io_uring_restriction {
	uint16_t opcode;

	union {
		uint8_t register_op;
		uint8_t sqe_op;
		uint8_t sqe_flags;
	};

	uint8_t resv;
	uint32_t resv2[3];
};

struct io_uring_task_restriction {
	uint16_t flags;
	uint16_t nr_res;
	uint32_t resv[3];
	struct io_uring_restriction restrictions[];
};

struct io_uring_clock_register {
	uint32_t clockid;
	uint32_t resv[3];
};

struct io_uring_clone_buffers {
	uint32_t src_fd;
	uint32_t flags;
	uint32_t src_off;
	uint32_t dst_off;
	uint32_t nr;
	uint32_t pad[3];
};

struct io_uring_buf {
	uint64_t addr;
	uint32_t len;
	uint16_t bid;
	uint16_t resv;
};

struct io_uring_buf_ring {
	union {
		struct {
			uint64_t resv1;
			uint32_t resv2;
			uint16_t resv3;
			uint16_t tail;
		};
		struct io_uring_buf bufs[0];
	};
};

struct io_uring_buf_reg {
	uint64_t ring_addr;
	uint32_t ring_entries;
	uint16_t bgid;
	uint16_t flags;
	uint32_t min_left;
	uint32_t resv[5];
};

struct io_uring_buf_status {
	uint32_t buf_group;
	uint32_t head;
	uint32_t resv[8];
};

struct io_uring_napi {
	uint32_t busy_poll_to;
	uint8_t prefer_busy_poll;
	uint8_t pad[3];
	uint64_t resv;
};

struct io_uring_reg_wait {
	struct au_timespec ts;
	uint32_t min_wait_usec;
	uint32_t flags;
	uint64_t sigmask;
	uint32_t sigmask_sz;
	uint32_t pad[3];
	uint64_t pad2[2];
};

struct io_uring_getevents_arg {
	uint64_t sigmask;
	uint32_t sigmask_sz;
	uint32_t min_wait_usec;
	uint64_t ts;
};

struct io_uring_sync_cancel_reg {
	uint64_t addr;
	int32_t fd;
	uint32_t flags;
	struct au_timespec timeout;
	uint8_t opcode;
	uint8_t pad[7];
	uint64_t pad2[3];
};

struct io_uring_file_index_range {
	uint32_t off;
	uint32_t len;
	uint64_t resv;
};

struct io_uring_recvmsg_out {
	uint32_t namelen;
	uint32_t controllen;
	uint32_t payloadlen;
	uint32_t flags;
};

/* provided-buffer ring flags */
#define IOU_PBUF_RING_MMAP 1U
#define IOU_PBUF_RING_INC  2U

/* io_uring_region_desc.flags, io_uring_mem_region_reg.flags */
#define IORING_MEM_REGION_TYPE_USER    1U
#define IORING_MEM_REGION_REG_WAIT_ARG 1U

/* io_uring_reg_wait.flags */
#define IORING_REG_WAIT_TS (1U << 0)

/* io_uring_clone_buffers.flags */
#define IORING_REGISTER_SRC_REGISTERED (1U << 0)
#define IORING_REGISTER_DST_REPLACE    (1U << 1)

/* io_uring_restriction.opcode */
enum {
	IORING_RESTRICTION_REGISTER_OP = 0,
	IORING_RESTRICTION_SQE_OP = 1,
	IORING_RESTRICTION_SQE_FLAGS_ALLOWED = 2,
	IORING_RESTRICTION_SQE_FLAGS_REQUIRED = 3,
	IORING_RESTRICTION_LAST = 4,
};

/* URING_CMD on a socket */
enum {
	SOCKET_URING_OP_SIOCINQ = 0,
	SOCKET_URING_OP_SIOCOUTQ,
	SOCKET_URING_OP_GETSOCKOPT,
	SOCKET_URING_OP_SETSOCKOPT,
	SOCKET_URING_OP_TX_TIMESTAMP,
	SOCKET_URING_OP_GETSOCKNAME,
};

/* The three system calls: the same numbers on every architecture. */
#define AU_NR_io_uring_setup    425
#define AU_NR_io_uring_enter    426
#define AU_NR_io_uring_register 427

#define AU_ASSERT_OFFSET(type, field, at)                    \
	_Static_assert(offsetof(struct type, field) == (at), \
		       #type "." #field " moved")
#define AU_ASSERT_SIZE(type, size) \
	_Static_assert(sizeof(struct type) == (size), #type " changed size")

AU_ASSERT_OFFSET(io_uring_sqe, opcode, 0);
AU_ASSERT_OFFSET(io_uring_sqe, flags, 1);
AU_ASSERT_OFFSET(io_uring_sqe, ioprio, 2);
AU_ASSERT_OFFSET(io_uring_sqe, fd, 4);
AU_ASSERT_OFFSET(io_uring_sqe, off, 8);
AU_ASSERT_OFFSET(io_uring_sqe, addr, 16);
AU_ASSERT_OFFSET(io_uring_sqe, len, 24);
AU_ASSERT_OFFSET(io_uring_sqe, op_flags, 28);
AU_ASSERT_OFFSET(io_uring_sqe, user_data, 32);
AU_ASSERT_OFFSET(io_uring_sqe, buf_index, 40);
AU_ASSERT_OFFSET(io_uring_sqe, personality, 42);
AU_ASSERT_OFFSET(io_uring_sqe, file_index, 44);
AU_ASSERT_OFFSET(io_uring_sqe, addr3, 48);
AU_ASSERT_OFFSET(io_uring_params, sq_off, 40);
AU_ASSERT_OFFSET(io_uring_params, cq_off, 80);
AU_ASSERT_SIZE(io_uring_sqe, 64);
AU_ASSERT_SIZE(io_uring_cqe, 16);
AU_ASSERT_SIZE(io_uring_params, 120);
AU_ASSERT_SIZE(io_uring_getevents_arg, 24);
AU_ASSERT_SIZE(io_uring_reg_wait, 64);
AU_ASSERT_SIZE(io_uring_probe, 16);
AU_ASSERT_SIZE(io_uring_probe_op, 8);
AU_ASSERT_SIZE(io_uring_rsrc_register, 32);
AU_ASSERT_SIZE(io_uring_rsrc_update2, 32);
AU_ASSERT_SIZE(io_uring_buf_reg, 40);
AU_ASSERT_SIZE(io_uring_buf, 16);
AU_ASSERT_SIZE(io_uring_sync_cancel_reg, 64);
AU_ASSERT_SIZE(io_uring_region_desc, 64);
AU_ASSERT_SIZE(io_uring_clone_buffers, 32);
AU_ASSERT_SIZE(io_uring_restriction, 16);

#endif
