/* SPDX-License-Identifier: MIT */
/*
 * `anyuring deny`: a program without the kernel's io_uring, as under a
 * container profile, for demonstrations and tests.
 */
#include <linux/seccomp.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/filter.h"
#include "cli/program.h"
#include "sys/syscall.h"

static int deny_errno(const char *name)
{
	if (!strcmp(name, "EPERM"))
		return EPERM;
	if (!strcmp(name, "ENOSYS"))
		return ENOSYS;
	return 0;
}

static int deny_main(int argc, char **argv)
{
	int error = EPERM, at, r;
	const char *value;

	for (at = 1; cli_more_options(argv, &at); at++) {
		if (!cli_option(argv, &at, "errno", &value))
			return cli_usage(&cli_deny, "no option '%s'", argv[at]);
		if (!value)
			return cli_usage(&cli_deny, "--errno needs a value");
		error = deny_errno(value);
		if (!error)
			return cli_usage(&cli_deny,
					 "--errno is EPERM or ENOSYS, "
					 "not '%s'",
					 value);
	}
	if (!argv[at])
		return cli_usage(&cli_deny, "no program to run");

	r = cli_filter_install(SECCOMP_RET_ERRNO | (uint32_t)error);
	if (r < 0)
		return cli_say(&cli_deny, CLI_FAILED,
			       "the kernel takes no seccomp filter: %s",
			       strerror(-r));
	return program_exec(&cli_deny, argv + at);
}

const struct cli_command cli_deny = {
	.name = "deny",
	.summary = "run a program with the kernel's io_uring refused",
	.help = "usage: anyuring deny [--errno=EPERM|ENOSYS] [--] PROGRAM "
		"[ARGUMENT]...\n"
		"\n"
		"Runs PROGRAM, and all it starts, with io_uring_setup,\n"
		"io_uring_enter and io_uring_register refused by a seccomp\n"
		"filter, as container profiles do. Everything else is allowed.\n"
		"\n"
		"  --errno=E   what the calls answer: EPERM (default) or "
		"ENOSYS\n"
		"\n"
		"manual: anyuring-deny(1)\n",
	.main = deny_main,
};
