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

int au_path_prep(struct au_req *req, uint64_t user)
{
	char path[PATH_MAX];
	long len = au_strncpy_from_user(path, user, sizeof(path));

	if (len < 0)
		return (int)len;
	if (!au_async_data_alloc(req, (size_t)len + 1))
		return -ENOMEM;
	memcpy(req->async_data, path, (size_t)len + 1);
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
	return *err < 0 ? NULL : (struct iovec *)(void *)(data + head);
}
