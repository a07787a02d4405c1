/* SPDX-License-Identifier: MIT */
/*
 * `anyuring doctor`: whether io_uring works here, what refuses it, what
 * `anyuring run` would do, and what the user engine finds.
 *
 * The findings are gathered once, then told in words or as JSON; both must
 * say the same.
 */
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/cli.h"
#include "cli/filter.h"
#include "cli/json.h"
#include "cli/preload.h"
#include "cli/probe.h"
#include "sys/syscall.h"

/* Far more than a ring takes, and short enough to wait for. */
#define ENGINE_TRY_S 5

struct doctor {
	struct probe_kernel kernel;
	struct probe_system sys;
	bool kernel_works;
	unsigned int reasons;

	bool preload_there;
	bool engine_works;
	char preload[PATH_MAX];
	int user_dispatch;
	int seccomp_trap;
	struct probe_feature features[PROBE_FEATURES];

	struct rlimit nofile;
	struct rlimit memlock;
};

/*
 * Runs this command again with the engine inside and lets it ask for a ring:
 * that the file is there does not say that it loads and serves. The kernel is
 * refused meanwhile, lest it answer in the engine's place.
 */
static bool doctor_try_engine(const char *preload)
{
	char *const args[] = { (char *)"anyuring", (char *)"doctor",
			       (char *)"--inside", NULL };
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(ENGINE_TRY_S);
		(void)cli_filter_install(SECCOMP_RET_ERRNO | EPERM);
		setenv("ANYURING_ENGINE", "user", 1);
		if (!preload_add(preload))
			au_syscall(SYS_execve, "/proc/self/exe", args, environ);
		_exit(CLI_FAILED);
	}
	if (pid > 0)
		while (au_syscall(SYS_wait4, pid, &status, 0, NULL) == -EINTR)
			;
	return !status;
}

static void doctor_gather(struct doctor *d)
{
	probe_kernel(&d->kernel);
	probe_system(&d->sys);
	d->kernel_works = probe_kernel_works(&d->kernel);
	d->reasons = probe_reasons(&d->kernel, &d->sys);
	d->preload_there = preload_find(d->preload);
	d->engine_works = d->preload_there && doctor_try_engine(d->preload);
	d->user_dispatch = probe_user_dispatch();
	d->seccomp_trap = probe_seccomp_trap();
	probe_features(d->features);
	getrlimit(RLIMIT_NOFILE, &d->nofile);
	getrlimit(RLIMIT_MEMLOCK, &d->memlock);
}

static const char *doctor_engine(const struct doctor *d)
{
	return d->kernel_works ? "kernel" : d->engine_works ? "user" : "none";
}

/* The preload's own choice: dispatch, which spares other calls, comes first. */
static const char *doctor_trap(const struct doctor *d)
{
	if (!d->user_dispatch)
		return "sud";
	return !d->seccomp_trap ? "seccomp" : "none";
}

static const char *text_engine_fault(const struct doctor *d)
{
	return d->preload_there ? "broken" : "missing";
}

static void text_verdict(const struct doctor *d)
{
	if (d->kernel_works)
		puts("io_uring works here: the kernel serves it.");
	else if (d->engine_works)
		puts("The kernel refuses io_uring here; `anyuring run` makes "
		     "programs that use it work.");
	else
		printf("The kernel refuses io_uring here, and anyuring's "
		       "engine is %s.\n",
		       text_engine_fault(d));
}

static void text_kernel(const struct doctor *d)
{
	int i;

	printf("\nkernel:         %s %s %s%s\n", d->sys.uname.sysname,
	       d->sys.uname.release, d->sys.uname.machine,
	       d->sys.gvisor ? " (gVisor)" : "");
	printf("  setup         %s\n", probe_result_name(d->kernel.setup));
	printf("  enter         %s\n", probe_result_name(d->kernel.enter));
	printf("  register      %s\n", probe_result_name(d->kernel.reg));
	if (d->kernel.ops)
		printf("  operations    %u\n", d->kernel.ops);
	for (i = 0; i < PROBE_REASONS; i++)
		if (d->reasons & 1U << i)
			printf("  refused by    %s\n", probe_reason_text(i));
	if (d->sys.uring_disabled == PROBE_ABSENT)
		puts("  sysctl        no kernel.io_uring_disabled");
	else
		printf("  sysctl        kernel.io_uring_disabled = %ld\n",
		       d->sys.uring_disabled);
	if (d->sys.uring_disabled == 1)
		printf("                only CAP_SYS_ADMIN%s may make rings "
		       "(kernel.io_uring_group = %ld)\n",
		       d->sys.uring_group < 0 ? "" : " and that group",
		       d->sys.uring_group);
	printf("  seccomp       %s\n",
	       d->sys.seccomp == 2 ? "this process is filtered" : "no filter");
}

static void text_user(const struct doctor *d)
{
	static const char *const trap_text[][2] = {
		{ "sud", "caught by syscall user dispatch" },
		{ "seccomp", "caught by a seccomp trap" },
		{ "none", "not caught: only programs that call io_uring "
			  "through libc or liburing are served" },
	};
	const char *trap = doctor_trap(d);
	size_t i;

	printf("\nanyuring:       `anyuring run` uses %s\n",
	       d->kernel_works ? "the kernel's io_uring" : "its own engine");
	printf("  engine        %s: %s\n",
	       d->engine_works ? "works" : text_engine_fault(d), d->preload);
	for (i = 0; i < sizeof(trap_text) / sizeof(trap_text[0]); i++)
		if (!strcmp(trap, trap_text[i][0]))
			printf("  inline calls  %s\n", trap_text[i][1]);
	printf("  dispatch      %s\n", probe_result_name(d->user_dispatch));
	printf("  seccomp trap  %s\n", probe_result_name(d->seccomp_trap));
	printf("  system calls ");
	for (i = 0; i < PROBE_FEATURES; i++)
		printf("%s %s %s", i ? "," : "", d->features[i].name,
		       probe_result_name(d->features[i].result));
	putchar('\n');
}

static void text_limit(const char *name, rlim_t value)
{
	if (value == RLIM_INFINITY)
		printf("  %-13s unlimited\n", name);
	else
		printf("  %-13s %llu\n", name, (unsigned long long)value);
}

static void doctor_text(const struct doctor *d)
{
	text_verdict(d);
	text_kernel(d);
	text_user(d);
	puts("\nlimits:");
	text_limit("open files", d->nofile.rlim_cur);
	text_limit("  at most", d->nofile.rlim_max);
	text_limit("locked bytes", d->memlock.rlim_cur);
	text_limit("  at most", d->memlock.rlim_max);
}

static void json_known(struct json *j, const char *key, long value)
{
	json_number(j, key, value, value != PROBE_ABSENT);
}

static void json_limit(struct json *j, const char *key, rlim_t value)
{
	json_number(j, key, (long long)value, value != RLIM_INFINITY);
}

static void json_result(struct json *j, const char *key, int result)
{
	json_string(j, key, probe_result_name(result));
}

static void json_kernel(struct json *j, const struct doctor *d)
{
	int i;

	json_open(j, "kernel", '{');
	json_bool(j, "works", d->kernel_works);
	json_result(j, "setup", d->kernel.setup);
	json_result(j, "enter", d->kernel.enter);
	json_result(j, "register", d->kernel.reg);
	json_number(j, "operations", d->kernel.ops, d->kernel.ops);
	json_open(j, "refused_by", '[');
	for (i = 0; i < PROBE_REASONS; i++)
		if (d->reasons & 1U << i)
			json_string(j, NULL, probe_reason_key(i));
	json_close(j, ']');
	json_close(j, '}');
}

static void json_system(struct json *j, const struct doctor *d)
{
	json_open(j, "system", '{');
	json_string(j, "name", d->sys.uname.sysname);
	json_string(j, "release", d->sys.uname.release);
	json_string(j, "machine", d->sys.uname.machine);
	json_bool(j, "gvisor", d->sys.gvisor);
	json_known(j, "io_uring_disabled", d->sys.uring_disabled);
	json_known(j, "io_uring_group", d->sys.uring_group);
	json_known(j, "seccomp_mode", d->sys.seccomp);
	json_known(j, "seccomp_filters", d->sys.seccomp_filters);
	json_known(j, "no_new_privs", d->sys.no_new_privs);
	json_close(j, '}');
}

static void json_user(struct json *j, const struct doctor *d)
{
	int i;

	json_open(j, "user", '{');
	json_bool(j, "installed", d->preload_there);
	json_bool(j, "works", d->engine_works);
	json_string(j, "preload", d->preload);
	json_string(j, "trap", doctor_trap(d));
	json_result(j, "user_dispatch", d->user_dispatch);
	json_result(j, "seccomp_trap", d->seccomp_trap);
	for (i = 0; i < PROBE_FEATURES; i++)
		json_result(j, d->features[i].name, d->features[i].result);
	json_close(j, '}');
}

static void doctor_json(const struct doctor *d)
{
	struct json json = { 0 }, *j = &json;

	json_open(j, NULL, '{');
	json_string(j, "version", AU_VERSION);
	json_bool(j, "works", d->kernel_works || d->engine_works);
	json_string(j, "engine", doctor_engine(d));
	json_kernel(j, d);
	json_system(j, d);
	json_user(j, d);
	json_open(j, "limits", '{');
	json_limit(j, "nofile_soft", d->nofile.rlim_cur);
	json_limit(j, "nofile_hard", d->nofile.rlim_max);
	json_limit(j, "memlock_soft", d->memlock.rlim_cur);
	json_limit(j, "memlock_hard", d->memlock.rlim_max);
	json_close(j, '}');
	json_close(j, '}');
}

/* Not for users: the other half of doctor_try_engine. */
static int doctor_inside(void)
{
	struct probe_kernel k;

	probe_kernel(&k);
	return probe_kernel_works(&k) ? CLI_OK : CLI_FAILED;
}

static int doctor_main(int argc, char **argv)
{
	struct doctor d;
	bool json = false;
	int at;

	for (at = 1; cli_more_options(argv, &at); at++) {
		if (cli_option(argv, &at, "inside", NULL))
			return doctor_inside();
		if (!cli_option(argv, &at, "json", NULL))
			return cli_usage(&cli_doctor, "no option '%s'",
					 argv[at]);
		json = true;
	}
	if (argv[at])
		return cli_usage(&cli_doctor, "no argument '%s' is taken",
				 argv[at]);
	/* With the engine inside this process it would examine itself. */
	if (preload_is_active())
		return preload_shed(&cli_doctor, argv);

	doctor_gather(&d);
	if (json)
		doctor_json(&d);
	else
		doctor_text(&d);
	return d.kernel_works || d.engine_works ? CLI_OK : CLI_FAILED;
}

const struct cli_command cli_doctor = {
	.name = "doctor",
	.summary = "say whether io_uring works here, and what refuses it",
	.help = "usage: anyuring doctor [--json]\n"
		"\n"
		"Says whether the kernel's io_uring works here, what refuses\n"
		"it, what `anyuring run` would do, and what anyuring's engine\n"
		"finds. Exits with 0 if programs that use io_uring can run\n"
		"here, by the kernel or by anyuring, else with 1.\n"
		"\n"
		"  --json   one JSON object, for programs\n"
		"\n"
		"manual: anyuring-doctor(1)\n",
	.main = doctor_main,
};
