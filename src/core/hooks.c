/* SPDX-License-Identifier: MIT */
#include "core/hooks.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include "anyuring.h"
#include "base/atomic.h"
#include "core/aio.h"
#include "core/complete.h"
#include "core/housekeeper.h"
#include "core/issue.h"
#include "core/notify.h"
#include "core/register.h"
#include "core/ring.h"
#include "sys/fd.h"
#include "sys/syscall.h"
#include "sys/uaccess.h"

static int hooks_active;

bool au_hooks_active(void)
{
	return au_load_relaxed(&hooks_active);
}

void au_hooks_activate(void)
{
	if (au_likely(au_load_relaxed(&hooks_active)) ||
	    au_xchg(&hooks_active, 1))
		return;
	pthread_atfork(au_hooks_fork_prepare, NULL, au_hooks_fork_child);
	(void)atexit(au_common_exit);
}

bool au_hooks_fd_hidden(int fd)
{
	return au_hooks_active() && au_fd_hidden(fd);
}

/* Ring lock held. */
static void fd_closing(struct au_ring *ring, int fd)
{
	if ((uint32_t)fd < ring->hints_max)
		ring->hints[fd] = 0;
	au_aio_fd_closing(ring, fd);
	au_poller_fd_closing(ring, fd);
	au_workers_fd_closing(ring, fd);
}

void au_hooks_fd_closing(int fd)
{
	if (!au_hooks_active() || fd < 0)
		return;
	for (struct au_ring *r = au_ring_first(); r; r = r->next) {
		/* A parent's ring, never entered here, knows of none. */
		if (!au_load_relaxed(&r->alive) ||
		    (r->foreign && !au_load_relaxed(&r->enter_seq)) ||
		    !au_ring_lock_alive(r))
			continue;
		fd_closing(r, fd);
		au_ring_unlock(r);
	}
}

void au_ring_fd_closing(struct au_ring *ring, int fd)
{
	fd_closing(ring, fd);
	for (struct au_ring *r = au_ring_first(); r; r = r->next) {
		if (r == ring || !au_load_relaxed(&r->alive) ||
		    !au_ring_trylock(r))
			continue;
		if (r->alive)
			fd_closing(r, fd);
		au_ring_unlock(r);
	}
}

void au_hooks_fd_closed(int fd)
{
	struct au_ring *ring;

	if (!au_hooks_active() || fd < 0)
		return;
	ring = au_ring_lookup_fast((unsigned int)fd);
	if (!ring) {
		au_rings_check_adrift();
		return;
	}
	au_ring_map_fd((unsigned int)fd, NULL);
	if (!au_ring_lock_alive(ring))
		return;
	if (ring->ring_fd == fd)
		ring->ring_fd = -1;
	au_ring_check_closed(ring);
	au_ring_await_end(ring);
	au_ring_unlock(ring);
}

void au_hooks_fd_watched(int fd)
{
	struct au_ring *ring;

	if (!au_hooks_active() || fd < 0)
		return;
	ring = au_ring_lookup_fast((unsigned int)fd);
	if (!ring || !au_ring_lock_alive(ring))
		return;
	au_store_relaxed(&ring->watched, true);
	if (ring->ring_fd < 0)
		ring->ring_fd = fd;
	au_cq_update_notify(ring);
	au_notify_sync(ring);
	au_ring_unlock(ring);
}

void au_hooks_before_poll(void)
{
	if (!au_hooks_active())
		return;
	for (struct au_ring *r = au_ring_first(); r; r = r->next) {
		if (!au_load_relaxed(&r->watched) || !au_ring_trylock(r))
			continue;
		if (r->alive) {
			if (!au_ring_defer(r) && !r->sqpoll)
				au_ring_serve(r);
			if (r->alive)
				au_notify_sync(r);
		}
		au_ring_unlock(r);
	}
}

/* As many as the kernel takes in one message. */
#define SCM_FDS_MAX 253

static bool rights_have_ring(uint64_t at, size_t n)
{
	int fds[SCM_FDS_MAX];

	if (n > SCM_FDS_MAX || au_copy_from_user(fds, at, n * sizeof(*fds)))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (anyuring_is_ring(fds[i]))
			return true;
	}
	return false;
}

bool au_hooks_msg_passes_ring(const struct msghdr *msg)
{
	struct cmsghdr c;
	struct msghdr m;
	uint64_t at, end;

	if (!au_hooks_active() ||
	    au_copy_from_user(&m, (uintptr_t)msg, sizeof(m)) || !m.msg_control)
		return false;
	at = (uintptr_t)m.msg_control;
	end = at + m.msg_controllen;
	while (end >= at && end - at >= sizeof(c)) {
		if (au_copy_from_user(&c, at, sizeof(c)) ||
		    c.cmsg_len < sizeof(c) || c.cmsg_len > end - at)
			break;
		if (c.cmsg_level == SOL_SOCKET && c.cmsg_type == SCM_RIGHTS &&
		    rights_have_ring(at + CMSG_LEN(0),
				     (c.cmsg_len - CMSG_LEN(0)) / sizeof(int)))
			return true;
		at += CMSG_ALIGN(c.cmsg_len);
	}
	return false;
}

void au_hooks_exec(const char *path)
{
	if (!au_hooks_active() ||
	    (path && au_syscall(SYS_faccessat, AT_FDCWD, path, X_OK) < 0))
		return;
	au_common_exec();
}

void au_hooks_fork_prepare(void)
{
	if (au_hooks_active())
		au_common_fork_prepare();
}

void au_hooks_fork_child(void)
{
	if (!au_hooks_active())
		return;
	au_rings_fork_child();
	au_ring_indices_fork_child();
	au_housekeeper_reset();
	au_fd_close_all_hidden();
}

int anyuring_is_ring(int fd)
{
	int err;

	if (fd < 0 || !au_hooks_active())
		return 0;
	return au_ring_lookup_fast((unsigned int)fd) ||
	       au_ring_lookup((unsigned int)fd, &err);
}

int anyuring_close(int fd)
{
	int r;

	if (au_hooks_fd_hidden(fd))
		return -EBADF;
	au_hooks_fd_closing(fd);
	r = (int)au_syscall(SYS_close, fd);
	if (r >= 0)
		au_hooks_fd_closed(fd);
	return r;
}
