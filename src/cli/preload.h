/* SPDX-License-Identifier: MIT */
/*
 * The preload object: where it is, and LD_PRELOAD, which brings it into a
 * program.
 */
#ifndef AU_CLI_PRELOAD_H
#define AU_CLI_PRELOAD_H

#include <limits.h>
#include "cli/cli.h"

#define PRELOAD_NAME "libanyuring-preload.so"

/*
 * Finds the object beside this very executable: in the build tree, or where
 * the installation puts it. Either place is relative, so that both trees can
 * be moved. Returns whether it is there; if not, `path` is the place where an
 * installation has it.
 */
bool preload_find(char path[PATH_MAX]);

/* Whether this process was started with the object in LD_PRELOAD. */
bool preload_is_active(void);

/* Puts `path` in front of LD_PRELOAD, once. Returns 0 or -errno. */
int preload_add(const char *path);

/*
 * Executes this command again without the object, which otherwise answers
 * this very process's probes. Other entries of LD_PRELOAD stay. `argv` is the
 * command's. Returns only if that fails, after saying so, with the status.
 */
int preload_shed(const struct cli_command *cmd, char **argv);

#endif
