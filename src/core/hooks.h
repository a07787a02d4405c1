/* SPDX-License-Identifier: MIT */
/*
 * What a way in (the preload, the library's own close) tells the engine about
 * the rest of the process: descriptors that come and go, ring fds that are
 * watched, forks. All of it is cheap when there is no ring.
 *
 * None of these functions touches errno. Called from any thread, also from
 * the SIGSYS handler.
 */
#ifndef AU_CORE_HOOKS_H
#define AU_CORE_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* The process makes its first ring. */
void au_hooks_activate(void);

/* True once the process has made a ring: a relaxed load, for fast guards. */
bool au_hooks_active(void);

/* Is `fd` one of the engine's own descriptors, which nobody may close? */
bool au_hooks_fd_hidden(int fd);

/*
 * `fd` is about to be closed, or replaced by dup2(2). Requests parked on it
 * get a reference of their own, as the kernel's hold their file.
 */
void au_hooks_fd_closing(int fd);

/* `fd` was closed or replaced: ends a ring that has no descriptor left. */
void au_hooks_fd_closed(int fd);

/* Somebody is about to poll `fd`: from now on a ring raises its readiness. */
void au_hooks_fd_watched(int fd);

/*
 * The caller is about to block in poll(2), select(2) or epoll_wait(2):
 * bring the readiness of watched ring fds up to date.
 */
void au_hooks_before_poll(void);

/*
 * Would sendmsg(2) of `msg`, the application's pointer, pass a ring on? The
 * kernel refuses that: a ring in flight may hold the socket it travels in.
 */
bool au_hooks_msg_passes_ring(const struct msghdr *msg);

/*
 * The caller is about to make execve(2) of `path`; NULL: it is not known yet. If
 * it can be executed, the requests on rings that other processes have end.
 */
void au_hooks_exec(const char *path);

/* Before fork(2): from now on the rings may be two processes'. */
void au_hooks_fork_prepare(void);

/* The child side of fork(2): what serves the parent's rings is let go. */
void au_hooks_fork_child(void);

#endif
