/* SPDX-License-Identifier: MIT */
/*
 * Finding the preload object, and editing LD_PRELOAD, whose entries are
 * separated by colons or spaces, with no way to quote either.
 */
#include "cli/preload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/syscall.h"

#define SEPARATORS ": "

/*
 * AU_PRELOAD_DIR comes from meson, seen from the executable's folder. The
 * executable's path is free of links, so `..` may be taken by the letter.
 */
static void candidate(char out[PATH_MAX], const char *exe_dir, const char *dir)
{
	size_t len = strlen(exe_dir);
	int n;

	while (!strncmp(dir, "../", 3)) {
		dir += 3;
		while (len && exe_dir[--len] != '/')
			;
	}
	if (dir[0] == '/')
		len = 0;
	n = snprintf(out, PATH_MAX, "%.*s%s%s/" PRELOAD_NAME, (int)len, exe_dir,
		     dir[0] == '/' ? "" : "/", dir);
	if (n >= PATH_MAX)
		out[0] = 0;
}

bool preload_find(char path[PATH_MAX])
{
	static const char *const dirs[] = { "src/intercept", AU_PRELOAD_DIR };
	char exe[PATH_MAX], real[PATH_MAX];
	long n = au_syscall(SYS_readlinkat, -1, "/proc/self/exe", exe,
			    sizeof(exe) - 1);
	unsigned int i;

	exe[n < 0 ? 0 : n] = 0;
	*(strrchr(exe, '/') ?: exe) = 0;
	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		candidate(path, exe, dirs[i]);
		if (realpath(path, real) && !access(real, R_OK)) {
			memcpy(path, real, sizeof(real));
			return true;
		}
	}
	return false;
}

static bool entry_is_ours(const char *entry, size_t len)
{
	size_t name = strlen(PRELOAD_NAME);

	return len >= name && !memcmp(entry + len - name, PRELOAD_NAME, name) &&
	       (len == name || entry[len - name - 1] == '/');
}

/* The next entry at or after *at, or NULL; *at moves behind it. */
static const char *entry_next(const char **at, size_t *len)
{
	const char *entry = *at + strspn(*at, SEPARATORS);

	*len = strcspn(entry, SEPARATORS);
	*at = entry + *len;
	return *len ? entry : NULL;
}

bool preload_is_active(void)
{
	const char *at = getenv("LD_PRELOAD"), *entry;
	size_t len;

	if (!at)
		return false;
	while ((entry = entry_next(&at, &len)))
		if (entry_is_ours(entry, len))
			return true;
	return false;
}

/* LD_PRELOAD = `first` (may be NULL) and every entry that is not ours. */
static int preload_set(const char *first)
{
	const char *at = getenv("LD_PRELOAD") ?: "", *entry;
	size_t len, used = 0;
	char *value;
	int r;

	value = malloc(strlen(at) + (first ? strlen(first) : 0) + 2);
	if (!value)
		return -ENOMEM;
	if (first) {
		used = strlen(first);
		memcpy(value, first, used);
	}
	while ((entry = entry_next(&at, &len))) {
		if (entry_is_ours(entry, len))
			continue;
		if (used)
			value[used++] = ':';
		memcpy(value + used, entry, len);
		used += len;
	}
	value[used] = 0;
	r = used ? setenv("LD_PRELOAD", value, 1) : unsetenv("LD_PRELOAD");
	free(value);
	return r ? -ENOMEM : 0;
}

int preload_add(const char *path)
{
	if (path[strcspn(path, SEPARATORS)])
		return -EINVAL;
	return preload_set(path);
}

int preload_shed(const struct cli_command *cmd, char **argv)
{
	long r = preload_set(NULL);

	unsetenv("ANYURING_ENGINE");
	/* main's argv, of which the command's is the tail. */
	if (!r)
		r = au_syscall(SYS_execve, "/proc/self/exe", argv - 1, environ);
	return cli_say(cmd, CLI_FAILED, "cannot start over without %s: %s",
		       PRELOAD_NAME, strerror((int)-r));
}
