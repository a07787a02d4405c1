/* SPDX-License-Identifier: MIT */
/*
 * FSETXATTR, SETXATTR, FGETXATTR, GETXATTR: name, path and the value to set are
 * copied in prep, and a worker does it.
 */
#include <errno.h>
#include <limits.h>
#include <linux/xattr.h>
#include <string.h>
#include "ops/ops.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

struct au_xattr {
	const char *name, *path; /* in async_data, with a copied value */
	uint64_t value; /* the application's, or the copy */
	uint32_t size, flags;
};

/* A name is neither empty nor longer than the limit. */
static int xattr_name(char *name, uint64_t user)
{
	long len = au_strncpy_from_user(name, user, XATTR_NAME_MAX + 1);

	if (len == 0 || len == -ENAMETOOLONG)
		return -ERANGE;
	return (int)len;
}

static int xattr_prep(struct au_req *req, const struct io_uring_sqe *sqe,
		      bool by_path, bool set)
{
	struct au_xattr *x = au_req_cmd(req, struct au_xattr);
	char name[XATTR_NAME_MAX + 1];
	long name_len, path_len = 0;
	size_t copy = 0;
	char *data;

	if (by_path && (req->flags & AU_REQ_F_FIXED_FILE))
		return -EBADF;
	x->value = AU_READ_ONCE(sqe->addr2);
	x->size = AU_READ_ONCE(sqe->len);
	x->flags = AU_READ_ONCE(sqe->xattr_flags);
	if (x->flags & ~(set ? XATTR_CREATE | XATTR_REPLACE : 0U))
		return -EINVAL;
	name_len = xattr_name(name, AU_READ_ONCE(sqe->addr));
	if (name_len < 0)
		return (int)name_len;
	if (set && x->size > XATTR_SIZE_MAX)
		return -E2BIG;
	if (set)
		copy = x->size;
	data = au_async_data_alloc(req, (size_t)name_len + 1 + copy +
						(by_path ? PATH_MAX : 1));
	if (!data)
		return -ENOMEM;
	x->name = memcpy(data, name, (size_t)name_len + 1);
	data += name_len + 1;
	/* The value is looked at before the path. */
	if (set) {
		if (au_copy_from_user(data, x->value, copy))
			return -EFAULT;
		x->value = (uintptr_t)data;
		data += copy;
	}
	x->path = data;
	if (by_path) {
		path_len = au_strncpy_from_user(data, AU_READ_ONCE(sqe->addr3),
						PATH_MAX);
		if (path_len <= 0)
			return path_len ? (int)path_len : -ENOENT;
	}
	data[path_len] = 0;
	return 0;
}

int au_fsetxattr_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	return xattr_prep(req, sqe, false, true);
}

int au_setxattr_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	return xattr_prep(req, sqe, true, true);
}

int au_fgetxattr_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	return xattr_prep(req, sqe, false, false);
}

int au_getxattr_prep(struct au_req *req, const struct io_uring_sqe *sqe)
{
	return xattr_prep(req, sqe, true, false);
}

enum au_issue au_fsetxattr(struct au_req *req, unsigned int issue_flags)
{
	struct au_xattr *x = au_req_cmd(req, struct au_xattr);

	au_req_set_res_soft(req,
			    (int)au_syscall(SYS_fsetxattr, req->fd, x->name,
					    x->value, x->size, x->flags));
	return AU_DONE;
}

enum au_issue au_setxattr(struct au_req *req, unsigned int issue_flags)
{
	struct au_xattr *x = au_req_cmd(req, struct au_xattr);

	au_req_set_res_soft(req, (int)au_syscall(SYS_setxattr, x->path, x->name,
						 x->value, x->size, x->flags));
	return AU_DONE;
}

enum au_issue au_fgetxattr(struct au_req *req, unsigned int issue_flags)
{
	struct au_xattr *x = au_req_cmd(req, struct au_xattr);

	au_req_set_res_soft(req, (int)au_syscall(SYS_fgetxattr, req->fd,
						 x->name, x->value, x->size));
	return AU_DONE;
}

enum au_issue au_getxattr(struct au_req *req, unsigned int issue_flags)
{
	struct au_xattr *x = au_req_cmd(req, struct au_xattr);

	au_req_set_res_soft(req, (int)au_syscall(SYS_getxattr, x->path, x->name,
						 x->value, x->size));
	return AU_DONE;
}
