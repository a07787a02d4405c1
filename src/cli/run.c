/* SPDX-License-Identifier: MIT */
/*
 * `anyuring run`: decides who serves a program's io_uring, sets the
 * environment and becomes the program, so that its exit status and its
 * signals are its own.
 *
 * With the kernel's io_uring at hand nothing is changed at all. Otherwise the
 * preload object is the engine; what it needs to know is in the environment.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/preload.h"
#include "cli/probe.h"
#include "cli/program.h"
#include "sys/syscall.h"

enum run_engine {
	ENGINE_AUTO,
	ENGINE_USER,
	ENGINE_KERNEL
};

struct run {
	enum run_engine engine;
	bool verbose;
	char **program;
	char why[256]; /* for --verbose: why this engine */
};

__attribute__((format(printf, 2, 3))) static void
run_tell(const struct run *run, const char *fmt, ...)
{
	char text[PATH_MAX + 512];
	va_list ap;

	if (!run->verbose)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	cli_say(&cli_run, 0, "%s", text);
}

static int run_engine_parse(const char *value, enum run_engine *engine)
{
	static const char *const names[] = {
		[ENGINE_AUTO] = "auto",
		[ENGINE_USER] = "user",
		[ENGINE_KERNEL] = "kernel",
	};
	unsigned int i;

	if (!value)
		return cli_usage(&cli_run, "--engine needs a value");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(value, names[i])) {
			*engine = i;
			return 0;
		}
	}
	return cli_usage(&cli_run, "--engine is auto, user or kernel, not '%s'",
			 value);
}

static int run_parse(struct run *run, char **argv)
{
	const char *value;
	int at, r;

	for (at = 1; cli_more_options(argv, &at); at++) {
		if (cli_option(argv, &at, "verbose", NULL)) {
			run->verbose = true;
		} else if (cli_option(argv, &at, "engine", &value)) {
			r = run_engine_parse(value, &run->engine);
			if (r)
				return r;
		} else {
			return cli_usage(&cli_run, "no option '%s'", argv[at]);
		}
	}
	if (!argv[at])
		return cli_usage(&cli_run, "no program to run");
	run->program = argv + at;
	return 0;
}

/* Whether the kernel's io_uring works; if not, run->why says what refuses. */
static bool run_ask_kernel(struct run *run)
{
	struct probe_kernel kernel;
	struct probe_system sys;
	char refusal[64];
	unsigned int mask;
	size_t used;
	int i;

	probe_kernel(&kernel);
	if (probe_kernel_works(&kernel)) {
		snprintf(run->why, sizeof(run->why),
			 "the kernel's io_uring works here");
		return true;
	}
	probe_system(&sys);
	probe_refusal(&kernel, refusal, sizeof(refusal));
	mask = probe_reasons(&kernel, &sys);
	snprintf(run->why, sizeof(run->why),
		 "the kernel's io_uring is refused (%s)", refusal);
	for (i = 0; i < PROBE_REASONS; i++) {
		if (!(mask & 1U << i))
			continue;
		used = strlen(run->why);
		snprintf(run->why + used, sizeof(run->why) - used, "%s%s",
			 strstr(run->why, " by ") ? " and " : " by ",
			 probe_reason_text(i));
	}
	return false;
}

static int run_on_kernel(const struct run *run)
{
	unsetenv("ANYURING_ENGINE");
	run_tell(run, "engine kernel: %s", run->why);
	return program_exec(&cli_run, run->program);
}

/*
 * A program out of the preload's reach: an error where the user asked for
 * this engine, since it would silently not be used; only a warning where the
 * choice was ours, since the program may well do without io_uring.
 */
static int run_check_reach(const struct run *run)
{
	char path[PATH_MAX], why[128];

	if (program_find(run->program[0], path) ||
	    !program_unreachable(path, why, sizeof(why)))
		return 0;
	if (run->engine == ENGINE_USER)
		return cli_say(&cli_run, CLI_FAILED,
			       "%s: no preload reaches it: it is %s", path,
			       why);
	cli_say(&cli_run, 0,
		"warning: %s runs without io_uring: the kernel refuses it, and "
		"no preload reaches a program that is %s",
		path, why);
	return 0;
}

static int run_on_user(const struct run *run)
{
	char preload[PATH_MAX];
	int r;

	if (!preload_find(preload))
		return cli_say(&cli_run, CLI_FAILED,
			       "the engine is not there: no %s", preload);
	r = run_check_reach(run);
	if (r)
		return r;
	r = preload_add(preload);
	if (r == -EINVAL)
		return cli_say(&cli_run, CLI_FAILED,
			       "LD_PRELOAD cannot name a path with a space or "
			       "a colon: %s",
			       preload);
	if (r || setenv("ANYURING_ENGINE", "user", 1) ||
	    (run->verbose && setenv("ANYURING_VERBOSE", "1", 1)))
		return cli_say(&cli_run, CLI_FAILED, "no memory");
	run_tell(run, "engine user: %s; preload %s", run->why, preload);
	return program_exec(&cli_run, run->program);
}

static int run_main(int argc, char **argv)
{
	struct run run = { .why = "asked for", .program = argv + 1 };
	bool nested = preload_is_active();
	int r = run_parse(&run, argv);

	if (r)
		return r;
	switch (run.engine) {
	case ENGINE_USER:
		return run_on_user(&run);
	case ENGINE_KERNEL:
		if (nested)
			return preload_shed(&cli_run, argv);
		if (!run_ask_kernel(&run))
			return cli_say(&cli_run, CLI_FAILED, "%s", run.why);
		return run_on_kernel(&run);
	case ENGINE_AUTO:
		break;
	}
	if (nested) {
		snprintf(run.why, sizeof(run.why),
			 "this is already running under anyuring");
		return run_on_user(&run);
	}
	if (run_ask_kernel(&run))
		return run_on_kernel(&run);
	return run_on_user(&run);
}

const struct cli_command cli_run = {
	.name = "run",
	.summary = "run a program; its io_uring works wherever it is",
	.help = "usage: anyuring run [--engine=auto|user|kernel] [--verbose] "
		"[--] PROGRAM [ARGUMENT]...\n"
		"\n"
		"Becomes PROGRAM, with its io_uring served by the kernel where\n"
		"that works and else by anyuring, in the program itself.\n"
		"\n"
		"  --engine=auto     the kernel if its io_uring works here, "
		"else anyuring\n"
		"  --engine=user     anyuring, always\n"
		"  --engine=kernel   the kernel, or fail with what refuses it\n"
		"  --verbose         say on stderr what was decided, and why\n"
		"\n"
		"manual: anyuring-run(1), anyuring(7)\n",
	.main = run_main,
};
