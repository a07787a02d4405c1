/* SPDX-License-Identifier: MIT */
/*
 * The program to run: where it is, whether a preload can reach it, and
 * becoming it.
 */
#ifndef AU_CLI_PROGRAM_H
#define AU_CLI_PROGRAM_H

#include <limits.h>
#include <stddef.h>

#include "cli/cli.h"

/*
 * Looks `name` up as execvp(3) would. Returns 0 with its path in `path`,
 * -ENOENT, or -EACCES when only something not executable was found.
 */
int program_find(const char *name, char path[PATH_MAX]);

/*
 * Whether LD_PRELOAD has no effect on the program: then true, with the reason
 * in `why`, worded to follow "it is ". Looks through `#!` lines. A file that
 * cannot be read is taken to be reachable.
 */
bool program_unreachable(const char *path, char *why, size_t size);

/*
 * Becomes the program. Returns only if that fails, after saying so for `cmd`,
 * with the status to exit with.
 */
int program_exec(const struct cli_command *cmd, char **argv);

#endif
