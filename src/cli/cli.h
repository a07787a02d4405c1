/* SPDX-License-Identifier: MIT */
/*
 * The command line's own conventions: what a command is, its exit statuses,
 * its one-line errors, and how options are read. Every command is one file
 * that defines one struct cli_command; main.c holds the table.
 *
 * The command is one thread: it looks at the system, sets the environment and
 * becomes the program it was asked to run. Only `bench` uses the engine, which
 * it links.
 */
#ifndef AU_CLI_CLI_H
#define AU_CLI_CLI_H

#include <stdbool.h>

enum cli_exit {
	CLI_OK = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_NOT_EXECUTABLE = 126, /* as env(1) and the shells */
	CLI_NOT_FOUND = 127,
};

struct cli_command {
	const char *name;
	const char *summary; /* one line of `anyuring --help` */
	const char *help; /* `anyuring help NAME` */
	int (*main)(int argc, char **argv); /* argv[0] is the name */
};

extern const struct cli_command cli_run;
extern const struct cli_command cli_deny;
extern const struct cli_command cli_doctor;
extern const struct cli_command cli_bench;

/* `anyuring: NAME: text` on stderr, one line; returns `status`. */
__attribute__((format(printf, 3, 4))) int
cli_say(const struct cli_command *cmd, int status, const char *fmt, ...);

/* As cli_say, with the way to the help; returns CLI_USAGE. */
__attribute__((format(printf, 2, 3))) int
cli_usage(const struct cli_command *cmd, const char *fmt, ...);

/*
 * Reads the option at argv[*at] if it is `--name`. With `value` NULL the
 * option takes none; else both `--name=value` and `--name value` are taken,
 * and *value is NULL when the value is missing. Returns whether it matched;
 * *at then stands on the option's last word.
 */
bool cli_option(char **argv, int *at, const char *name, const char **value);

/*
 * Whether the words at argv[at] still are options; steps over `--`, which
 * ends them.
 */
bool cli_more_options(char **argv, int *at);

/* EPERM for -EPERM, "ok" for 0 and above. */
const char *cli_result_name(int result);

#endif
