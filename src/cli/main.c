/* SPDX-License-Identifier: MIT */
/*
 * anyuring(1): the table of commands, the help, and what all commands share.
 *
 * A new command is one file with a struct cli_command, one line in cli.h and
 * one in the table.
 */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct cli_command *const commands[] = {
	&cli_run,
	&cli_doctor,
	&cli_deny,
	&cli_bench,
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct cli_command *command_find(const char *name)
{
	size_t i;

	for (i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

__attribute__((format(printf, 2, 0))) static void
say(const struct cli_command *cmd, const char *fmt, va_list ap)
{
	fputs("anyuring: ", stderr);
	if (cmd)
		fprintf(stderr, "%s: ", cmd->name);
	vfprintf(stderr, fmt, ap);
}

int cli_say(const struct cli_command *cmd, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(cmd, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return status;
}

int cli_usage(const struct cli_command *cmd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(cmd, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (see `anyuring help%s%s`)\n", cmd ? " " : "",
		cmd ? cmd->name : "");
	return CLI_USAGE;
}

bool cli_option(char **argv, int *at, const char *name, const char **value)
{
	const char *arg = argv[*at] + strlen("--");
	size_t len = strlen(name);

	if (strncmp(arg, name, len) != 0)
		return false;
	if (!arg[len]) {
		if (value) {
			*value = argv[*at + 1];
			*at += *value != NULL;
		}
		return true;
	}
	if (arg[len] != '=' || !value)
		return false;
	*value = arg + len + 1;
	return true;
}

bool cli_more_options(char **argv, int *at)
{
	const char *arg = argv[*at];

	if (!arg || arg[0] != '-' || !arg[1])
		return false;
	if (strcmp(arg, "--") != 0)
		return true;
	(*at)++;
	return false;
}

const char *cli_result_name(int result)
{
	const char *name;

	if (result >= 0)
		return "ok";
	name = strerrorname_np(-result);
	return name ? name : "unknown";
}

static int help_all(void)
{
	size_t i;

	puts("anyuring: io_uring in user space, where the kernel refuses it\n"
	     "\n"
	     "usage: anyuring COMMAND [OPTION]... [--] [PROGRAM [ARGUMENT]...]\n"
	     "\n"
	     "commands:");
	for (i = 0; i < COMMANDS; i++)
		printf("  %-8s %s\n", commands[i]->name, commands[i]->summary);
	puts("\n"
	     "  anyuring help COMMAND   what a command does, and its options\n"
	     "  anyuring --version      the version\n"
	     "\n"
	     "manual: anyuring(1), anyuring(7), anyuring(3)");
	return CLI_OK;
}

static int help_main(int argc, char **argv)
{
	const struct cli_command *cmd;

	if (argc < 2)
		return help_all();
	if (argc > 2)
		return cli_usage(NULL, "help: one command at a time");
	cmd = command_find(argv[1]);
	if (!cmd)
		return cli_usage(NULL, "help: no command '%s'", argv[1]);
	fputs(cmd->help, stdout);
	return CLI_OK;
}

static bool is_help(const char *arg)
{
	return !strcmp(arg, "--help") || !strcmp(arg, "-h");
}

/* Among the command's options, not among those of the program it runs. */
static bool wants_help(char **argv)
{
	for (; *argv && **argv == '-' && strcmp(*argv, "--") != 0; argv++)
		if (is_help(*argv))
			return true;
	return false;
}

static int dispatch(int argc, char **argv)
{
	const struct cli_command *cmd;

	if (argc < 2)
		return cli_usage(NULL, "no command");
	if (is_help(argv[1]))
		return help_all();
	if (!strcmp(argv[1], "help"))
		return help_main(argc - 1, argv + 1);
	if (!strcmp(argv[1], "--version")) {
		puts("anyuring " AU_VERSION);
		return CLI_OK;
	}
	cmd = command_find(argv[1]);
	if (!cmd)
		return cli_usage(NULL, "no %s '%s'",
				 argv[1][0] == '-' ? "option" : "command",
				 argv[1]);
	if (wants_help(argv + 2)) {
		fputs(cmd->help, stdout);
		return CLI_OK;
	}
	return cmd->main(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	int status = dispatch(argc, argv);

	if (fflush(stdout) || ferror(stdout))
		return cli_say(NULL, CLI_FAILED, "cannot write the output");
	return status;
}
