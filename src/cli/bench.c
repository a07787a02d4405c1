/* SPDX-License-Identifier: MIT */
/*
 * `anyuring bench`: anyuring beside the kernel and a rival, in one run.
 *
 * A machine drifts by more than the differences sought, so the contenders
 * take turns, slice by slice, in an order that rotates with each round, and
 * the ratio is the median of the rounds' own ratios. Nothing is averaged over
 * the run, and the first failure of a check ends it.
 */
#include "cli/bench.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/util.h"
#include "cli/cli.h"
#include "cli/probe.h"

#define QUICK_ROUNDS   5
#define QUICK_SLICE_MS 60
#define FULL_ROUNDS    7
#define FULL_SLICE_MS  250
#define SLICE_MS_MAX   60000

static const struct {
	const char *name;
	const char *what;
	const struct bench_case *cases; /* may hold other suites' as well */
} suites[] = {
	{ "nop", "requests that do nothing, one at a time and by 32",
	  bench_nop_cases },
	{ "sqpoll", "the same through a polling thread: rate and latency",
	  bench_nop_cases },
	{ "read", "cached 4 KiB reads and writes, on disk and tmpfs",
	  bench_read_cases },
	{ "timer",
	  "timeouts: arm and cancel, up to 1 000 000 pending; "
	  "lateness",
	  bench_timer_cases },
};

#define SUITES AU_ARRAY_SIZE(suites)

double bench_fail(struct bench_job *job, const char *fmt, ...)
{
	va_list ap;

	if (!job->failed) {
		job->failed = true;
		va_start(ap, fmt);
		vsnprintf(job->error, sizeof(job->error), fmt, ap);
		va_end(ap);
	}
	return -1;
}

bool bench_bad(struct bench_job *job, const struct bench_backend *b,
	       const char *fmt, ...)
{
	char what[sizeof(job->error) - 16];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	bench_fail(job, "%s: %s", b->is == BENCH_USER ? "anyuring" : "kernel",
		   what);
	return false;
}

/* Running */

static void progress(const struct bench_report *rep, unsigned int at,
		     unsigned int round)
{
	static bool shown;

	if (!shown && !isatty(STDERR_FILENO))
		return;
	if (at == rep->nr) {
		fputs("\r\033[K", stderr);
	} else {
		const struct bench_case *c = rep->results[at].c;

		shown = true;
		fprintf(stderr, "\r\033[K%u/%u %s: %s, round %u of %u", at + 1,
			rep->nr, c->suite, c->title, round + 1,
			rep->opt->rounds);
	}
	fflush(stderr);
}

static double contend(struct bench_job *job, enum bench_contender who)
{
	switch (who) {
	case BENCH_USER:
		return job->c->ring(job, &bench_backend_user);
	case BENCH_KERNEL:
		return job->c->ring(job, &bench_backend_kernel);
	default:
		return job->c->rival(job);
	}
}

static bool run_rounds(struct bench_report *rep, unsigned int at,
		       struct bench_job *job)
{
	struct bench_result *res = &rep->results[at];

	for (unsigned int round = 0; round < rep->opt->rounds; round++) {
		progress(rep, at, round);
		for (unsigned int i = 0; i < BENCH_CONTENDERS; i++) {
			unsigned int who = (round + i) % BENCH_CONTENDERS;

			if (!res->has[who])
				continue;
			res->rounds[who][round] = contend(job, who);
			if (job->failed)
				return false;
		}
	}
	return true;
}

static void result_stats(struct bench_result *res, unsigned int rounds)
{
	double v[BENCH_ROUNDS_MAX];

	for (unsigned int who = 0; who < BENCH_CONTENDERS; who++) {
		if (!res->has[who])
			continue;
		memcpy(v, res->rounds[who], rounds * sizeof(*v));
		res->stat[who] = bench_stat_of(v, rounds);
		for (unsigned int i = 0; i < rounds; i++)
			v[i] = res->rounds[BENCH_USER][i] / res->rounds[who][i];
		res->ratio[who] = bench_stat_of(v, rounds);
	}
}

/* False on a failure that ends the run; a case that cannot run is no such. */
static bool run_case(struct bench_report *rep, unsigned int at)
{
	struct bench_result *res = &rep->results[at];
	struct bench_job job = {
		.c = res->c,
		.opt = rep->opt,
		.slice_ns = rep->opt->slice_ms * AU_NSEC_PER_MSEC,
	};
	bool ok;

	if (res->c->open && !res->c->open(&job)) {
		snprintf(res->skipped, sizeof(res->skipped), "%s", job.error);
		memset(res->has, 0, sizeof(res->has));
		return true;
	}
	ok = run_rounds(rep, at, &job);
	if (res->c->close)
		res->c->close(&job);
	if (ok) {
		result_stats(res, rep->opt->rounds);
		return true;
	}
	progress(rep, rep->nr, 0);
	cli_say(&cli_bench, CLI_FAILED, "%s: %s: %s", res->c->suite,
		res->c->title, job.error);
	return false;
}

/* The report's lines, in the suites' order; false without memory. */
static bool report_lay_out(struct bench_report *rep, unsigned int mask)
{
	for (unsigned int s = 0; s < SUITES; s++) {
		const struct bench_case *c = suites[s].cases;

		for (; mask & (1U << s) && c->suite; c++) {
			struct bench_result *grown, *res;

			if (strcmp(c->suite, suites[s].name) != 0)
				continue;
			grown = reallocarray(rep->results, rep->nr + 1,
					     sizeof(*res));
			if (!grown)
				return false;
			rep->results = grown;
			res = &grown[rep->nr++];
			memset(res, 0, sizeof(*res));
			res->c = c;
			res->has[BENCH_USER] = true;
			res->has[BENCH_KERNEL] = !rep->refusal[0];
			res->has[BENCH_RIVAL] = c->rival != NULL;
			for (int who = 0; who < BENCH_CONTENDERS; who++) {
				res->rounds[who] = calloc(rep->opt->rounds,
							  sizeof(double));
				if (!res->rounds[who])
					return false;
			}
		}
	}
	return true;
}

static void report_free(struct bench_report *rep)
{
	for (unsigned int i = 0; i < rep->nr; i++) {
		for (int who = 0; who < BENCH_CONTENDERS; who++)
			free(rep->results[i].rounds[who]);
	}
	free(rep->results);
}

static bool report_plot(const struct bench_report *rep)
{
	FILE *f = fopen(rep->opt->plot, "we");
	bool ok;

	if (!f)
		return false;
	bench_plot(rep, f);
	ok = !ferror(f);
	return !fclose(f) && ok;
}

static int bench_run(const struct bench_options *opt, unsigned int mask)
{
	struct bench_report rep = { .opt = opt };
	struct probe_kernel kernel;
	int status = CLI_FAILED;

	probe_kernel(&kernel);
	if (!probe_kernel_works(&kernel)) {
		probe_refusal(&kernel, rep.refusal, sizeof(rep.refusal));
		cli_say(&cli_bench, 0,
			"the kernel refuses io_uring (%s): measured without it",
			rep.refusal);
	}
	if (getloadavg(&rep.load, 1) != 1)
		rep.load = -1;
	bench_filesystem(opt->dir, rep.filesystem, sizeof(rep.filesystem));
	if (!report_lay_out(&rep, mask)) {
		cli_say(&cli_bench, CLI_FAILED, "no memory");
		goto out_free;
	}

	for (unsigned int i = 0; i < rep.nr; i++) {
		if (!run_case(&rep, i))
			goto out_free;
	}
	progress(&rep, rep.nr, 0);

	if (opt->json)
		bench_print_json(&rep);
	else
		bench_print_text(&rep);
	status = CLI_OK;
	if (opt->plot && !report_plot(&rep))
		status = cli_say(&cli_bench, CLI_FAILED, "cannot write '%s'",
				 opt->plot);
out_free:
	report_free(&rep);
	return status;
}

/* Options */

static int bench_list(void)
{
	for (size_t i = 0; i < SUITES; i++)
		printf("%-7s %s\n", suites[i].name, suites[i].what);
	printf("%-7s %s\n", "all", "all of them, in this order (default)");
	return CLI_OK;
}

/* A whole number in 1..max, or 0. */
static unsigned int number(const char *s, unsigned int max)
{
	char *end;
	unsigned long n;

	if (s[0] < '0' || s[0] > '9')
		return 0;
	n = strtoul(s, &end, 10);
	return *end || n > max ? 0 : (unsigned int)n;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Said before minutes of measuring, not behind them. */
static bool can_write(const char *path)
{
	char *dir, *slash;
	bool ok;

	if (!access(path, F_OK))
		return !access(path, W_OK) && !is_directory(path);
	dir = strdup(path);
	if (!dir)
		return false;
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	ok = path[0] && !access(slash ? dir : ".", W_OK);
	free(dir);
	return ok;
}

/* 0, or the status of one line of error. */
static int option_value(struct bench_options *opt, const char *name,
			const char *value)
{
	if (!value || !*value)
		return cli_usage(&cli_bench, "--%s needs a value", name);
	switch (name[0]) {
	case 'r':
		opt->rounds = number(value, BENCH_ROUNDS_MAX);
		if (!opt->rounds)
			return cli_usage(&cli_bench,
					 "--rounds is 1 to %d, not '%s'",
					 BENCH_ROUNDS_MAX, value);
		return 0;
	case 's':
		opt->slice_ms = number(value, SLICE_MS_MAX);
		if (!opt->slice_ms)
			return cli_usage(&cli_bench,
					 "--slice is 1 to %d ms, not '%s'",
					 SLICE_MS_MAX, value);
		return 0;
	case 'd':
		opt->dir = value;
		if (!is_directory(value))
			return cli_usage(&cli_bench, "no directory '%s'",
					 value);
		return 0;
	default:
		opt->plot = value;
		if (!can_write(value))
			return cli_usage(&cli_bench, "cannot write '%s'",
					 value);
		return 0;
	}
}

static int option(struct bench_options *opt, bool *list, char **argv, int *at)
{
	static const char *const valued[] = { "rounds", "slice", "dir",
					      "plot" };
	const char *value;

	if (cli_option(argv, at, "quick", NULL)) {
		opt->quick = true;
		return 0;
	}
	if (cli_option(argv, at, "json", NULL)) {
		opt->json = true;
		return 0;
	}
	if (cli_option(argv, at, "list", NULL)) {
		*list = true;
		return 0;
	}
	for (size_t i = 0; i < AU_ARRAY_SIZE(valued); i++) {
		if (cli_option(argv, at, valued[i], &value))
			return option_value(opt, valued[i], value);
	}
	return cli_usage(&cli_bench, "no option '%s'", argv[*at]);
}

/* The suite's bit, all of them for `all`, or 0. */
static unsigned int suite_mask(const char *name)
{
	if (!strcmp(name, "all"))
		return (1U << SUITES) - 1;
	for (unsigned int i = 0; i < SUITES; i++) {
		if (!strcmp(name, suites[i].name))
			return 1U << i;
	}
	return 0;
}

static const char *default_dir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && is_directory(dir) ? dir : "/tmp";
}

/* Under the preload both columns would be anyuring's. */
static bool under_preload(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "libanyuring-preload");
}

static int bench_main(int argc, char **argv)
{
	struct bench_options opt = { .dir = default_dir() };
	unsigned int mask = 0;
	bool list = false;
	int at = 1, status;

	/* Options may stand on both sides of the suites. */
	while (argv[at]) {
		if (!cli_more_options(argv, &at)) {
			unsigned int bit;

			if (!argv[at])
				break;
			bit = suite_mask(argv[at]);
			if (!bit)
				return cli_usage(&cli_bench, "no suite '%s'",
						 argv[at]);
			mask |= bit;
			at++;
			continue;
		}
		status = option(&opt, &list, argv, &at);
		if (status)
			return status;
		at++;
	}
	if (list)
		return bench_list();
	if (under_preload())
		return cli_say(&cli_bench, CLI_FAILED,
			       "runs beside the kernel, not under "
			       "`anyuring run`");
	if (!opt.rounds)
		opt.rounds = opt.quick ? QUICK_ROUNDS : FULL_ROUNDS;
	if (!opt.slice_ms)
		opt.slice_ms = opt.quick ? QUICK_SLICE_MS : FULL_SLICE_MS;
	return bench_run(&opt, mask ? mask : suite_mask("all"));
}

const struct cli_command cli_bench = {
	.name = "bench",
	.summary = "measure anyuring beside the kernel's io_uring",
	.help = "usage: anyuring bench [OPTION]... [SUITE]...\n"
		"\n"
		"Measures anyuring, the kernel's io_uring, and a rival without\n"
		"a ring, in turns, in one run. The ratio is anyuring's figure\n"
		"to the kernel's. Every completion is checked.\n"
		"\n"
		"Suites: nop, sqpoll, read, timer; all, which is the default.\n"
		"\n"
		"  --quick       half a minute instead of three\n"
		"  --json        one JSON object instead of a table\n"
		"  --plot=FILE   also draw the ratios as SVG\n"
		"  --rounds=N    turns each contender takes (7; quick: 5)\n"
		"  --slice=MS    length of a turn (250; quick: 60)\n"
		"  --dir=DIR     where the files to read lie (TMPDIR, or "
		"/tmp)\n"
		"  --list        the suites, one a line\n"
		"\n"
		"manual: anyuring-bench(1)\n",
	.main = bench_main,
};
