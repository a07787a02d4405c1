/* SPDX-License-Identifier: MIT */
/*
 * libc's exec family and posix_spawn, for two rare cases; otherwise these are
 * libc's functions. On a ring that a fork shares, the requests of who execs end.
 * And where a seccomp filter watches text at a fixed address: it outlives exec,
 * the next program may have its own calls at the very same place, and without a
 * handler one of its io_uring calls would kill it. So the preload goes along,
 * even where the program cleans its environment.
 *
 * Runs in vfork children: nothing is allocated, nothing but the stack written.
 */
#include "intercept/intercept.h"

#include <alloca.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/hooks.h"

#define EXEC_KEY     "LD_PRELOAD="
#define EXEC_KEY_LEN (sizeof(EXEC_KEY) - 1)

static char exec_line[4096]; /* LD_PRELOAD=... as this process was given it */
static int exec_keep;

void au_exec_keep_preload(void)
{
	const char *v = getenv("LD_PRELOAD");
	size_t len = v ? strlen(v) : 0;

	if (!len || len + sizeof(EXEC_KEY) > sizeof(exec_line))
		return;
	memcpy(exec_line, EXEC_KEY, EXEC_KEY_LEN);
	memcpy(exec_line + EXEC_KEY_LEN, v, len + 1);
	AU_WRITE_ONCE(exec_keep, 1);
}

static size_t exec_count(char *const env[])
{
	size_t n = 0;

	while (env && env[n])
		n++;
	return n;
}

/* The bytes needed to put ours in front of theirs. */
static size_t exec_room(char *const env[])
{
	size_t len = sizeof(exec_line);

	for (size_t i = 0; env && env[i]; i++)
		if (!strncmp(env[i], EXEC_KEY, EXEC_KEY_LEN))
			len += strlen(env[i]);
	return len;
}

static char *const *exec_env(char *const env[], char **out, char *line)
{
	size_t n = 0;

	strcpy(line, exec_line);
	for (size_t i = 0; env && env[i]; i++) {
		if (strncmp(env[i], EXEC_KEY, EXEC_KEY_LEN)) {
			out[n++] = env[i];
			continue;
		}
		if (strstr(env[i], exec_line + EXEC_KEY_LEN))
			return env; /* it goes along anyway */
		strcat(line, ":");
		strcat(line, env[i] + EXEC_KEY_LEN);
	}
	out[n++] = line;
	out[n] = NULL;
	return out;
}

/* A vfork child has none of our rings. */
static void exec_begin(const char *path)
{
	if (au_unlikely(au_fds_matter()))
		au_hooks_exec(path && strchr(path, '/') ? path : NULL);
}

/* `env`, or a copy of it on the caller's stack that keeps the preload. */
#define EXEC_ENV(env)                                                     \
	(au_likely(!AU_READ_ONCE(exec_keep)) ?                            \
		 (env) :                                                  \
		 exec_env((env),                                          \
			  alloca((exec_count(env) + 2) * sizeof(char *)), \
			  alloca(exec_room(env))))

AU_EXPORT int execve(const char *path, char *const argv[], char *const env[])
{
	char *const *e = EXEC_ENV(env);

	exec_begin(path);
	return au_real()->execve(path, argv, e);
}

AU_EXPORT int execv(const char *path, char *const argv[])
{
	char *const *e = EXEC_ENV(environ);

	exec_begin(path);
	return au_real()->execve(path, argv, e);
}

AU_EXPORT int execvpe(const char *file, char *const argv[], char *const env[])
{
	char *const *e = EXEC_ENV(env);

	exec_begin(file);
	return au_real()->execvpe(file, argv, e);
}

AU_EXPORT int execvp(const char *file, char *const argv[])
{
	char *const *e = EXEC_ENV(environ);

	exec_begin(file);
	return au_real()->execvpe(file, argv, e);
}

AU_EXPORT int fexecve(int fd, char *const argv[], char *const env[])
{
	char *const *e = EXEC_ENV(env);

	exec_begin(NULL);
	return au_real()->fexecve(fd, argv, e);
}

AU_EXPORT int posix_spawn(pid_t *pid, const char *path,
			  const posix_spawn_file_actions_t *acts,
			  const posix_spawnattr_t *attr, char *const argv[],
			  char *const env[])
{
	char *const *e = EXEC_ENV(env);

	return au_real()->spawn(pid, path, acts, attr, argv, e);
}

AU_EXPORT int posix_spawnp(pid_t *pid, const char *file,
			   const posix_spawn_file_actions_t *acts,
			   const posix_spawnattr_t *attr, char *const argv[],
			   char *const env[])
{
	char *const *e = EXEC_ENV(env);

	return au_real()->spawnp(pid, file, acts, attr, argv, e);
}

static size_t exec_args(va_list ap)
{
	size_t n = 1;

	while (va_arg(ap, char *))
		n++;
	return n;
}

/* Declares `argv` from the function's variable arguments and `arg`. */
#define EXEC_ARGV                               \
	char **argv;                            \
	size_t n;                               \
	va_list ap;                             \
                                                \
	va_start(ap, arg);                      \
	n = exec_args(ap);                      \
	va_end(ap);                             \
	argv = alloca((n + 1) * sizeof(*argv)); \
	argv[0] = (char *)arg;                  \
	va_start(ap, arg);                      \
	for (size_t i = 1; i <= n; i++)         \
	argv[i] = va_arg(ap, char *)

AU_EXPORT int execl(const char *path, const char *arg, ...)
{
	EXEC_ARGV;

	va_end(ap);
	return execv(path, argv);
}

AU_EXPORT int execlp(const char *file, const char *arg, ...)
{
	EXEC_ARGV;

	va_end(ap);
	return execvp(file, argv);
}

AU_EXPORT int execle(const char *path, const char *arg, ...)
{
	char *const *env;
	EXEC_ARGV;

	env = va_arg(ap, char **);
	va_end(ap);
	return execve(path, argv, env);
}
