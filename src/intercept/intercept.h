/* SPDX-License-Identifier: MIT */
/*
 * What the files of the preload share: libc's own functions, the handling of
 * a call that may concern the engine, the trap for inline calls, and the
 * patching of their sites.
 *
 * Everything here may run in any thread and inside the SIGSYS handler: no
 * allocation, no stdio, no lock. The engine is reached by include/anyuring.h
 * and core/hooks.h only.
 */
#ifndef AU_INTERCEPT_INTERCEPT_H
#define AU_INTERCEPT_INTERCEPT_H

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <threads.h>
#include <time.h>

#include "base/atomic.h"
#include "base/util.h"
#include "sys/syscall.h"

#define AU_EXPORT __attribute__((visibility("default")))
/* A second name of one function; gcc wants their attributes to agree. */
#ifdef __clang__
#define AU_ALIAS(fn) __attribute__((alias(#fn)))
#else
#define AU_ALIAS(fn) __attribute__((alias(#fn), copy(fn)))
#endif
/* The preload is there from the start, so its TLS is static. */
#define AU_TLS __thread __attribute__((tls_model("initial-exec")))

/* libc's own functions, or the next preload's; a missing one is NULL. */
struct au_real {
	au_syscall_fn syscall;
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	int (*close)(int);
	int (*dup2)(int, int);
	int (*dup3)(int, int, int);
	int (*close_range)(unsigned int, unsigned int, int);
	ssize_t (*sendmsg)(int, const struct msghdr *, int);
	void (*closefrom)(int);
	int (*poll)(struct pollfd *, nfds_t, int);
	int (*ppoll)(struct pollfd *, nfds_t, const struct timespec *,
		     const sigset_t *);
	int (*poll_chk)(struct pollfd *, nfds_t, int, size_t);
	int (*ppoll_chk)(struct pollfd *, nfds_t, const struct timespec *,
			 const sigset_t *, size_t);
	int (*select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
	int (*pselect)(int, fd_set *, fd_set *, fd_set *,
		       const struct timespec *, const sigset_t *);
	int (*epoll_wait)(int, struct epoll_event *, int, int);
	int (*epoll_pwait)(int, struct epoll_event *, int, int,
			   const sigset_t *);
	int (*epoll_pwait2)(int, struct epoll_event *, int,
			    const struct timespec *, const sigset_t *);
	int (*epoll_ctl)(int, int, int, struct epoll_event *);
	int (*sigaction)(int, const struct sigaction *, struct sigaction *);
	int (*sigprocmask)(int, const sigset_t *, sigset_t *);
	int (*pthread_sigmask)(int, const sigset_t *, sigset_t *);
	int (*sigsuspend)(const sigset_t *);
	int (*attr_setsigmask)(pthread_attr_t *, const sigset_t *);
	sighandler_t (*signal)(int, sighandler_t);
	sighandler_t (*sysv_signal)(int, sighandler_t);
	int (*pthread_create)(pthread_t *, const pthread_attr_t *,
			      void *(*)(void *), void *);
	int (*thrd_create)(thrd_t *, thrd_start_t, void *);
	pid_t (*fork_raw)(void); /* _Fork */
	int (*clone)(int (*)(void *), void *, int, void *, ...);
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
	int (*spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
		     const posix_spawnattr_t *, char *const[], char *const[]);
	int (*spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
		      const posix_spawnattr_t *, char *const[], char *const[]);
};

extern struct au_real au_real_fns;
extern int au_real_ready;
void au_real_resolve(void);

/*
 * Calls that come before the constructor resolve on their own; calls made by
 * the dynamic linker while it resolves find the raw fallbacks.
 */
static inline const struct au_real *au_real(void)
{
	if (au_unlikely(!au_load_acquire(&au_real_ready)))
		au_real_resolve();
	return &au_real_fns;
}

/*
 * Set while a vfork child borrows this thread: same memory, other descriptor
 * table, so the engine must hear nothing of what it closes.
 */
extern AU_TLS int au_in_vfork;

bool au_fds_matter(void); /* a ring exists, and this is not a vfork child */

/* Around a close of `fd`; the first answers -EBADF for a hidden one. */
int au_fd_close_begin(int fd);
void au_fd_close_end(int fd);
/* close_range(2) around hidden descriptors; 0 or -errno. */
int au_fd_close_range(unsigned int first, unsigned int last,
		      unsigned int flags);

/* Tell the engine which of these descriptors are rings about to be polled. */
void au_watch_poll(const struct pollfd *fds, nfds_t nr);
void au_watch_select(int nr, const fd_set *r, const fd_set *w, const fd_set *e);

/*
 * One system call, by number: true if it was handled here, with the kernel's
 * result in `ret`; false if it is to be made as it stands.
 */
bool au_call(long nr, const long a[6], long *ret);

/* Copy from or to memory the application named; 0 or -EFAULT. */
int au_copy_in(void *to, const void *from, size_t len);
int au_copy_out(void *to, const void *from, size_t len);

/* In the child of a fork, whoever made it. */
void au_forked(void);

/* ---- objects of the process ---- */

/* As many as a seccomp filter has room for. */
#define AU_TEXT_MAX 200

struct au_text {
	uintptr_t start;
	uintptr_t end;
	bool fixed; /* not relocated: the same in every process that runs it */
};

struct au_scan {
	struct au_text libc;
	bool found; /* an object makes io_uring calls inline */
	bool go; /* a Go runtime: tiny stacks, so use the signal stack */
	int nr;
	struct au_text text[AU_TEXT_MAX]; /* where inline calls may come from */
	char name[64]; /* the first object found */
};

/* With `all`, text[] takes every object that is not the runtime's own. */
void au_scan(struct au_scan *s, bool all);
/* Does this machine code make io_uring calls inline? */
bool au_scan_text(const void *text, size_t len);
/* The next bytes of a system call instruction in [p, end), or NULL. */
const unsigned char *au_scan_syscall(const unsigned char *p,
				     const unsigned char *end);
bool au_scan_own_text(const void *addr);

/* ---- the trap ---- */

enum au_trap_mode {
	AU_TRAP_OFF,
	AU_TRAP_SUD,
	AU_TRAP_SECCOMP,
};

extern int au_trap_mode; /* written once, by the constructor */

static inline bool au_trap_on(void)
{
	return au_unlikely(AU_READ_ONCE(au_trap_mode) != AU_TRAP_OFF);
}

int au_trap_start(const struct au_scan *s, enum au_trap_mode mode);
/* A new thread, or the child of a fork: dispatch is not inherited. */
void au_trap_thread(void);
/* sigaction(SIGSYS) as the application sees it. */
void au_trap_sigaction(const struct sigaction *act, struct sigaction *old);
int au_seccomp_install(const struct au_scan *s);
/* SIGSYS handlers run so far. */
extern unsigned long au_trap_count;

/*
 * Let inline call sites jump to the engine. Prepare makes the stubs, adds
 * them to the texts the trap watches, and says for how many sites; commit,
 * behind the trap's start, changes the program: false if not all of it.
 */
size_t au_patch_prepare(struct au_scan *s);
bool au_patch_commit(void);
/* A call by one of io_uring's numbers from a patched site. */
long au_patch_call(long nr, const long a[6]);
/* From now on every program this one starts gets the preload. */
void au_exec_keep_preload(void);

/* What our filter's traps carry in si_errno. */
#define AU_SECCOMP_COOKIE 0x4155

/* A copy of `set` that does not block SIGSYS, when the trap needs that. */
static inline const sigset_t *au_mask(const sigset_t *set, sigset_t *copy)
{
	if (!au_trap_on() || !set || sigismember(set, SIGSYS) != 1)
		return set;
	*copy = *set;
	sigdelset(copy, SIGSYS);
	return copy;
}

#endif
