/* SPDX-License-Identifier: MIT */
/*
 * The op tables: one row an opcode, the only file that knows them all. An
 * opcode without a row here is one this engine lacks: it completes with
 * -EINVAL, as on a kernel that lacks it, and the probe does not show it.
 */
#include <errno.h>
#include "ops/ops.h"

static int unsupported_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	return -EINVAL;
}

static enum au_issue unsupported(struct au_req *req, unsigned int issue_flags)
{
	au_req_set_res(req, -EINVAL);
	return AU_DONE;
}

#define FILE AU_OP_NEEDS_FILE
#define UNSUPPORTED                              \
	{                                        \
		unsupported_prep, unsupported, 0 \
	}

/* clang-format off */
const struct au_op au_ops[AU_OPCODES] = {
	[IORING_OP_NOP] = { au_nop_prep, au_nop, AU_OP_IOPOLL },
	[IORING_OP_READV] = { au_readv_prep, au_read,
		FILE | AU_OP_IOPRIO | AU_OP_IOPOLL | AU_OP_POLLIN |
		AU_OP_BUFFER_SELECT | AU_OP_LAZY },
	[IORING_OP_WRITEV] = { au_writev_prep, au_write,
		FILE | AU_OP_IOPRIO | AU_OP_IOPOLL | AU_OP_POLLOUT |
		AU_OP_LAZY },
	[IORING_OP_FSYNC] = { au_fsync_prep, au_fsync,
		FILE | AU_OP_BLOCKING },
	[IORING_OP_READ_FIXED] = { au_read_fixed_prep, au_read,
		FILE | AU_OP_IOPRIO | AU_OP_IOPOLL | AU_OP_POLLIN },
	[IORING_OP_WRITE_FIXED] = { au_read_fixed_prep, au_write,
		FILE | AU_OP_IOPRIO | AU_OP_IOPOLL | AU_OP_POLLOUT },
	[IORING_OP_POLL_ADD] = { au_poll_add_prep, au_poll_add, FILE },
	[IORING_OP_POLL_REMOVE] = { au_poll_remove_prep, au_poll_remove, 0 },
	[IORING_OP_SYNC_FILE_RANGE] = { au_sync_file_range_prep,
		au_sync_file_range, FILE | AU_OP_BLOCKING },
	[IORING_OP_SENDMSG] = { au_sendmsg_prep, au_sendmsg,
		FILE | AU_OP_SOCKET | AU_OP_IOPRIO | AU_OP_POLLOUT | AU_OP_LAZY },
	[IORING_OP_RECVMSG] = { au_recvmsg_prep, au_recvmsg,
		FILE | AU_OP_SOCKET | AU_OP_IOPRIO | AU_OP_POLLIN | AU_OP_LAZY |
		AU_OP_BUFFER_SELECT },
	[IORING_OP_TIMEOUT] = { au_timeout_prep, au_timeout, 0 },
	[IORING_OP_TIMEOUT_REMOVE] = { au_timeout_remove_prep,
		au_timeout_remove, 0 },
	[IORING_OP_ACCEPT] = { au_accept_prep, au_accept,
		FILE | AU_OP_SOCKET | AU_OP_IOPRIO | AU_OP_POLLIN },
	[IORING_OP_ASYNC_CANCEL] = { au_async_cancel_prep, au_async_cancel,
		0 },
	[IORING_OP_LINK_TIMEOUT] = { au_link_timeout_prep, au_link_timeout,
		0 },
	[IORING_OP_CONNECT] = { au_connect_prep, au_connect,
		FILE | AU_OP_SOCKET | AU_OP_POLLOUT | AU_OP_LAZY },
	[IORING_OP_FALLOCATE] = { au_fallocate_prep, au_fallocate,
		FILE | AU_OP_BLOCKING },
	[IORING_OP_OPENAT] = { au_openat_prep, au_openat, AU_OP_BLOCKING },
	[IORING_OP_CLOSE] = { au_close_prep, au_close, 0 },
	[IORING_OP_FILES_UPDATE] = { au_files_update_prep, au_files_update,
		AU_OP_IOPOLL },
	[IORING_OP_STATX] = { au_statx_prep, au_statx, AU_OP_BLOCKING },
	[IORING_OP_READ] = { au_read_prep, au_read,
		FILE | AU_OP_RUN | AU_OP_IOPRIO | AU_OP_IOPOLL |
		AU_OP_POLLIN | AU_OP_BUFFER_SELECT },
	[IORING_OP_WRITE] = { au_write_prep, au_write,
		FILE | AU_OP_RUN | AU_OP_IOPRIO | AU_OP_IOPOLL | AU_OP_POLLOUT },
	[IORING_OP_FADVISE] = { au_fadvise_prep, au_fadvise,
		FILE | AU_OP_BLOCKING },
	[IORING_OP_MADVISE] = { au_madvise_prep, au_madvise,
		AU_OP_BLOCKING },
	[IORING_OP_SEND] = { au_send_prep, au_send,
		FILE | AU_OP_SOCKET | AU_OP_IOPRIO | AU_OP_POLLOUT | AU_OP_LAZY |
		AU_OP_BUFFER_SELECT },
	[IORING_OP_RECV] = { au_recv_prep, au_recv,
		FILE | AU_OP_SOCKET | AU_OP_IOPRIO | AU_OP_POLLIN |
		AU_OP_BUFFER_SELECT },
	[IORING_OP_OPENAT2] = { au_openat2_prep, au_openat2,
		AU_OP_BLOCKING },
	[IORING_OP_EPOLL_CTL] = { au_epoll_ctl_prep, au_epoll_ctl, 0 },
	[IORING_OP_SHUTDOWN] = { au_shutdown_prep, au_shutdown, FILE | AU_OP_SOCKET },
	[IORING_OP_SOCKET] = { au_socket_prep, au_socket, 0 },
	[IORING_OP_RENAMEAT] = { au_renameat_prep, au_renameat,
		AU_OP_BLOCKING },
	[IORING_OP_UNLINKAT] = { au_unlinkat_prep, au_unlinkat,
		AU_OP_BLOCKING },
	[IORING_OP_MKDIRAT] = { au_mkdirat_prep, au_mkdirat,
		AU_OP_BLOCKING },
	[IORING_OP_SYMLINKAT] = { au_symlinkat_prep, au_symlinkat,
		AU_OP_BLOCKING },
	[IORING_OP_LINKAT] = { au_linkat_prep, au_linkat,
		AU_OP_BLOCKING },
	[IORING_OP_FTRUNCATE] = { au_ftruncate_prep, au_ftruncate,
		FILE | AU_OP_BLOCKING },
	[IORING_OP_FSETXATTR] = { au_fsetxattr_prep, au_fsetxattr,
		FILE | AU_OP_BLOCKING },
	[IORING_OP_SETXATTR] = { au_setxattr_prep, au_setxattr,
		AU_OP_BLOCKING },
	[IORING_OP_FGETXATTR] = { au_fgetxattr_prep, au_fgetxattr,
		FILE | AU_OP_BLOCKING },
	[IORING_OP_GETXATTR] = { au_getxattr_prep, au_getxattr,
		AU_OP_BLOCKING },
	[IORING_OP_SPLICE] = { au_splice_prep, au_splice,
		FILE | AU_OP_BLOCKING | AU_OP_UNBOUND },
	[IORING_OP_TEE] = { au_tee_prep, au_tee,
		FILE | AU_OP_BLOCKING | AU_OP_UNBOUND },
	[IORING_OP_BIND] = { au_bind_prep, au_bind, FILE | AU_OP_SOCKET },
	[IORING_OP_LISTEN] = { au_listen_prep, au_listen, FILE | AU_OP_SOCKET },
	[IORING_OP_FIXED_FD_INSTALL] = { au_fixed_fd_install_prep,
		au_fixed_fd_install, FILE },
	[IORING_OP_PIPE] = { au_pipe_prep, au_pipe, 0 },
	[IORING_OP_PROVIDE_BUFFERS] = { au_provide_buffers_prep,
		au_provide_buffers, AU_OP_IOPOLL },
	[IORING_OP_REMOVE_BUFFERS] = { au_remove_buffers_prep,
		au_remove_buffers, AU_OP_IOPOLL },
	[IORING_OP_READ_MULTISHOT] = { au_read_multishot_prep,
		au_read_multishot, FILE | AU_OP_IOPRIO | AU_OP_POLLIN |
		AU_OP_BUFFER_SELECT },
	[IORING_OP_MSG_RING] = { au_msg_ring_prep, au_msg_ring,
		FILE | AU_OP_IOPOLL },
	[IORING_OP_EPOLL_WAIT] = { au_epoll_wait_op_prep,
		au_epoll_wait_op, FILE | AU_OP_POLLIN },
	[IORING_OP_URING_CMD] = { au_uring_cmd_prep, au_uring_cmd,
		FILE | AU_OP_IOPOLL | AU_OP_BUFFER_SELECT },
	[IORING_OP_FUTEX_WAIT] = { au_futex_wait_op_prep,
		au_futex_wait_op, AU_OP_CANCEL_COUNTS },
	[IORING_OP_FUTEX_WAKE] = { au_futex_wake_op_prep,
		au_futex_wake_op, 0 },
	[IORING_OP_FUTEX_WAITV] = { au_futex_waitv_prep, au_futex_waitv,
		AU_OP_CANCEL_COUNTS },
	[IORING_OP_WAITID] = { au_waitid_prep, au_waitid,
		AU_OP_BLOCKING | AU_OP_UNBOUND | AU_OP_CANCEL_COUNTS },
	[IORING_OP_SEND_ZC] = { au_send_zc_prep, au_send_zc,
		FILE | AU_OP_SOCKET | AU_OP_IOPRIO | AU_OP_POLLOUT | AU_OP_LAZY },
	[IORING_OP_SENDMSG_ZC] = { au_sendmsg_zc_prep, au_sendmsg_zc,
		FILE | AU_OP_SOCKET | AU_OP_IOPRIO | AU_OP_POLLOUT | AU_OP_LAZY },
	[IORING_OP_READV_FIXED] = { au_readv_fixed_prep, au_read,
		FILE | AU_OP_IOPRIO | AU_OP_IOPOLL | AU_OP_POLLIN |
		AU_OP_LAZY },
	[IORING_OP_WRITEV_FIXED] = { au_readv_fixed_prep, au_write,
		FILE | AU_OP_IOPRIO | AU_OP_IOPOLL | AU_OP_POLLOUT |
		AU_OP_LAZY },

	/* lacking */
	[IORING_OP_RECV_ZC] = UNSUPPORTED,
	[IORING_OP_NOP128] = UNSUPPORTED,
	[IORING_OP_URING_CMD128] = UNSUPPORTED,
	[IORING_OP_LAST ... AU_OPCODES - 1] = UNSUPPORTED,
};

const au_straight_fn au_ops_straight[AU_OPCODES] = {
	[IORING_OP_NOP] = au_nop_straight,
	[IORING_OP_POLL_REMOVE] = au_poll_remove_straight,
	[IORING_OP_TIMEOUT] = au_timeout_straight,
	[IORING_OP_TIMEOUT_REMOVE] = au_timeout_remove_straight,
	[IORING_OP_ASYNC_CANCEL] = au_async_cancel_straight,
};

const struct au_op_cold au_ops_cold[AU_OPCODES] = {
	[IORING_OP_NOP] = { .name = "NOP" },
	[IORING_OP_READV] = { .name = "READV",
		.stabilise = au_rw_stabilise, .cleanup = au_async_data_free },
	[IORING_OP_WRITEV] = { .name = "WRITEV",
		.stabilise = au_rw_stabilise, .cleanup = au_async_data_free },
	[IORING_OP_FSYNC] = { .name = "FSYNC" },
	[IORING_OP_READ_FIXED] = { .name = "READ_FIXED" },
	[IORING_OP_WRITE_FIXED] = { .name = "WRITE_FIXED" },
	[IORING_OP_POLL_ADD] = { .name = "POLL_ADD",
		.ready = au_poll_add_ready },
	[IORING_OP_POLL_REMOVE] = { .name = "POLL_REMOVE" },
	[IORING_OP_SYNC_FILE_RANGE] = { .name = "SYNC_FILE_RANGE" },
	[IORING_OP_SENDMSG] = { .name = "SENDMSG",
		.stabilise = au_msg_stabilise, .cleanup = au_async_data_free },
	[IORING_OP_RECVMSG] = { .name = "RECVMSG",
		.stabilise = au_msg_stabilise, .cleanup = au_async_data_free },
	[IORING_OP_TIMEOUT] = { .name = "TIMEOUT",
		.ready = au_timeout_ready, .cleanup = au_timeout_cleanup },
	[IORING_OP_TIMEOUT_REMOVE] = { .name = "TIMEOUT_REMOVE" },
	[IORING_OP_ACCEPT] = { .name = "ACCEPT" },
	[IORING_OP_ASYNC_CANCEL] = { .name = "ASYNC_CANCEL" },
	[IORING_OP_LINK_TIMEOUT] = { .name = "LINK_TIMEOUT",
		.ready = au_link_timeout_ready },
	[IORING_OP_CONNECT] = { .name = "CONNECT",
		.stabilise = au_connect_stabilise,
		.cleanup = au_async_data_free },
	[IORING_OP_FALLOCATE] = { .name = "FALLOCATE" },
	[IORING_OP_OPENAT] = { .name = "OPENAT",
		.cleanup = au_async_data_free },
	[IORING_OP_CLOSE] = { .name = "CLOSE" },
	[IORING_OP_FILES_UPDATE] = { .name = "FILES_UPDATE" },
	[IORING_OP_STATX] = { .name = "STATX",
		.cleanup = au_async_data_free },
	[IORING_OP_READ] = { .name = "READ",
		.follows = au_rw_follows, .run = au_rw_run },
	[IORING_OP_WRITE] = { .name = "WRITE",
		.follows = au_rw_follows, .run = au_rw_run },
	[IORING_OP_FADVISE] = { .name = "FADVISE" },
	[IORING_OP_MADVISE] = { .name = "MADVISE" },
	[IORING_OP_SEND] = { .name = "SEND",
		.stabilise = au_send_stabilise,
		.cleanup = au_async_data_free },
	[IORING_OP_RECV] = { .name = "RECV" },
	[IORING_OP_OPENAT2] = { .name = "OPENAT2",
		.cleanup = au_async_data_free },
	[IORING_OP_EPOLL_CTL] = { .name = "EPOLL_CTL" },
	[IORING_OP_SHUTDOWN] = { .name = "SHUTDOWN" },
	[IORING_OP_SOCKET] = { .name = "SOCKET" },
	[IORING_OP_RENAMEAT] = { .name = "RENAMEAT",
		.cleanup = au_async_data_free },
	[IORING_OP_UNLINKAT] = { .name = "UNLINKAT",
		.cleanup = au_async_data_free },
	[IORING_OP_MKDIRAT] = { .name = "MKDIRAT",
		.cleanup = au_async_data_free },
	[IORING_OP_SYMLINKAT] = { .name = "SYMLINKAT",
		.cleanup = au_async_data_free },
	[IORING_OP_LINKAT] = { .name = "LINKAT",
		.cleanup = au_async_data_free },
	[IORING_OP_FTRUNCATE] = { .name = "FTRUNCATE" },
	[IORING_OP_FSETXATTR] = { .name = "FSETXATTR",
		.cleanup = au_async_data_free },
	[IORING_OP_SETXATTR] = { .name = "SETXATTR",
		.cleanup = au_async_data_free },
	[IORING_OP_FGETXATTR] = { .name = "FGETXATTR",
		.cleanup = au_async_data_free },
	[IORING_OP_GETXATTR] = { .name = "GETXATTR",
		.cleanup = au_async_data_free },
	[IORING_OP_SPLICE] = { .name = "SPLICE" },
	[IORING_OP_TEE] = { .name = "TEE" },
	[IORING_OP_BIND] = { .name = "BIND",
		.cleanup = au_async_data_free },
	[IORING_OP_LISTEN] = { .name = "LISTEN" },
	[IORING_OP_FIXED_FD_INSTALL] = { .name = "FIXED_FD_INSTALL" },
	[IORING_OP_PIPE] = { .name = "PIPE" },
	[IORING_OP_PROVIDE_BUFFERS] = { .name = "PROVIDE_BUFFERS" },
	[IORING_OP_REMOVE_BUFFERS] = { .name = "REMOVE_BUFFERS" },
	[IORING_OP_READ_MULTISHOT] = { .name = "READ_MULTISHOT" },
	[IORING_OP_MSG_RING] = { .name = "MSG_RING" },
	[IORING_OP_EPOLL_WAIT] = { .name = "EPOLL_WAIT" },
	[IORING_OP_URING_CMD] = { .name = "URING_CMD" },
	[IORING_OP_FUTEX_WAIT] = { .name = "FUTEX_WAIT",
		.cleanup = au_async_data_free },
	[IORING_OP_FUTEX_WAKE] = { .name = "FUTEX_WAKE" },
	[IORING_OP_FUTEX_WAITV] = { .name = "FUTEX_WAITV",
		.cleanup = au_async_data_free },
	[IORING_OP_WAITID] = { .name = "WAITID" },
	[IORING_OP_SEND_ZC] = { .name = "SEND_ZC",
		.stabilise = au_send_stabilise, .cleanup = au_async_data_free },
	[IORING_OP_SENDMSG_ZC] = { .name = "SENDMSG_ZC",
		.stabilise = au_msg_stabilise, .cleanup = au_async_data_free },
	[IORING_OP_READV_FIXED] = { .name = "READV_FIXED",
		.stabilise = au_rw_stabilise, .cleanup = au_async_data_free },
	[IORING_OP_WRITEV_FIXED] = { .name = "WRITEV_FIXED",
		.stabilise = au_rw_stabilise, .cleanup = au_async_data_free },

	/* lacking */
	[IORING_OP_RECV_ZC] = { .name = "RECV_ZC" },
	[IORING_OP_NOP128] = { .name = "NOP128" },
	[IORING_OP_URING_CMD128] = { .name = "URING_CMD128" },
};

/* clang-format on */

bool au_op_supported(uint8_t opcode)
{
	return opcode < IORING_OP_LAST && au_ops[opcode].issue != unsupported;
}
