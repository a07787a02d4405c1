/* SPDX-License-Identifier: MIT */
/* What several families need: copies that a request keeps until it ends. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include "core/poller.h"
#include "ops/ops.h"
#include "sys/poll.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

void *au_async_data_alloc(struct au_req *req, size_t size)
{
	/* What a failed attempt to copy has left. */
	if (au_unlikely(req->flags & AU_REQ_F_NEED_CLEANUP))
		au_async_data_free(req);
	req->async_data = malloc(size);
	if (req->async_data)
		au_req_set(req, AU_REQ_F_NEED_CLEANUP);
	return req->async_data;
}

void au_async_data_free(struct au_req *req)
{
	free(req->async_data);
	req->async_data = NULL;
}

static int path_copy(char *path, uint64_t user, unsigned int flags)
{
	long len = au_strncpy_from_user(path, user, PATH_MAX);

	return len || (flags & AU_PATHS_EMPTY) ? (int)len : -ENOENT;
}

int au_paths_prep(struct au_req *req, uint64_t user1, uint64_t user2,
		  const char **second, unsigned int flags)
{
	char path1[PATH_MAX], path2[PATH_MAX];
	int len1 = path_copy(path1, user1, flags), len2 = -1;
	char *data;

	if (len1 < 0)
		return len1;
	if (second) {
		len2 = path_copy(path2, user2, 0);
		if (len2 < 0)
			return len2;
	}
	data = au_async_data_alloc(req, (size_t)(len1 + len2) + 2);
	if (!data)
		return -ENOMEM;
	memcpy(data, path1, (size_t)len1 + 1);
	if (second)
		*second = memcpy(data + len1 + 1, path2, (size_t)len2 + 1);
	return 0;
}

/* What the system call would say of it, were it asked. */
static int iovec_check(const struct iovec *iov, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		if ((ssize_t)iov[i].iov_len < 0)
			return -EINVAL;
	}
	for (uint32_t i = 0; i < nr; i++) {
		if (!au_user_range((uintptr_t)iov[i].iov_base, iov[i].iov_len))
			return -EFAULT;
	}
	return 0;
}

struct iovec *au_iovec_copy(struct au_req *req, uint64_t user, uint32_t nr,
			    size_t head, int *err)
{
	char *data;

	*err = -EINVAL;
	if (nr > IOV_MAX)
		return NULL;
	*err = -ENOMEM;
	data = au_async_data_alloc(req, head + nr * sizeof(struct iovec) + 1);
	if (!data)
		return NULL;
	*err = au_copy_from_user(data + head, user, nr * sizeof(struct iovec));
	if (*err >= 0)
		*err = iovec_check((struct iovec *)(void *)(data + head), nr);
	return *err < 0 ? NULL : (struct iovec *)(void *)(data + head);
}

bool au_file_is_pollable(struct au_req *req)
{
	struct stat st;

	if (au_syscall(SYS_fstat, req->fd, &st) < 0)
		return true;
	if (S_ISCHR(st.st_mode))
		return au_poller_takes(req->ring, req->fd);
	return !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) ||
		 S_ISBLK(st.st_mode));
}

enum au_issue au_multishot_async(struct au_req *req)
{
	int r = -EBADFD;

	au_req_clear(req, AU_REQ_F_ASYNC);
	if (au_file_is_pollable(req))
		r = au_poller_arm(req->ring, req, req->fd,
				  EPOLLIN | EPOLLRDHUP);
	if (r < 0) {
		au_req_set_res(req, r);
		return AU_DONE;
	}
	/* A registration that was there says nothing of what is ready. */
	if (r == 0 && au_poll_now(req->fd, POLLIN | POLLRDHUP) != 0)
		au_poller_again(req->ring, req);
	return AU_QUEUED;
}
