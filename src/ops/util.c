/* SPDX-License-Identifier: MIT */
/* What several families need: copies that a request keeps until it ends. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include "ops/ops.h"
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
		uintptr_t base = (uintptr_t)iov[i].iov_base;

		if ((intptr_t)(base | (base + iov[i].iov_len)) < 0)
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
