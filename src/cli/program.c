/* SPDX-License-Identifier: MIT */
/*
 * Finding and becoming a program, with the meaning of execvp(3) and the exit
 * statuses of env(1).
 *
 * The search is written out, because the program has to be known before it is
 * executed and because only src/sys reads errno.
 */
#include "cli/program.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sys/syscall.h"

/* What execvp(3) takes when PATH is not set. */
#define PATH_DEFAULT "/bin:/usr/bin"

static int file_check(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -ENOENT;
	if (!S_ISREG(st.st_mode) || access(path, X_OK))
		return -EACCES;
	return 0;
}

static int path_join(char out[PATH_MAX], const char *dir, size_t len,
		     const char *name)
{
	size_t name_len = strlen(name);

	if (len + 1 + name_len >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(out, dir, len);
	/* An empty entry is the current directory. */
	if (len)
		out[len++] = '/';
	memcpy(out + len, name, name_len + 1);
	return 0;
}

int program_find(const char *name, char path[PATH_MAX])
{
	const char *dir = getenv("PATH");
	int result = -ENOENT;

	if (!*name)
		return -ENOENT;
	if (strchr(name, '/')) {
		if (path_join(path, "", 0, name))
			return -ENOENT;
		return file_check(path);
	}
	if (!dir)
		dir = PATH_DEFAULT;
	for (;;) {
		size_t len = strcspn(dir, ":");

		if (!path_join(path, dir, len, name)) {
			int r = file_check(path);

			if (!r)
				return 0;
			if (r == -EACCES)
				result = r;
		}
		if (!dir[len])
			return result;
		dir += len + 1;
	}
}

/* A file that is no ELF and has no `#!` is a shell script: POSIX says so. */
static long exec_by_shell(const char *path, char **argv)
{
	char **args;
	size_t n = 0;
	long r;

	while (argv[n])
		n++;
	args = calloc(n + 2, sizeof(*args));
	if (!args)
		return -ENOMEM;
	args[0] = (char *)"/bin/sh";
	args[1] = (char *)path;
	/* argv[0] gives way to the path; its NULL comes along. */
	memcpy(args + 2, argv + 1, n * sizeof(*args));
	r = au_syscall(SYS_execve, args[0], args, environ);
	free(args);
	return r;
}

int program_exec(const struct cli_command *cmd, char **argv)
{
	char path[PATH_MAX];
	long r = program_find(argv[0], path);

	if (r == -ENOENT)
		return cli_say(cmd, CLI_NOT_FOUND, "%s: command not found",
			       argv[0]);
	if (!r)
		r = au_syscall(SYS_execve, path, argv, environ);
	if (r == -ENOEXEC)
		r = exec_by_shell(path, argv);
	/* The file is there, so it is what the file asks for. */
	if (r == -ENOENT)
		return cli_say(cmd, CLI_NOT_FOUND,
			       "%s: its interpreter or loader is missing",
			       argv[0]);
	return cli_say(cmd, CLI_NOT_EXECUTABLE, "%s: cannot execute: %s",
		       argv[0], strerror((int)-r));
}
