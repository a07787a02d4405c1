/* SPDX-License-Identifier: MIT */
/* What a run of the benchmark found, as a table and as JSON. */
#include "cli/bench.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "cli/json.h"

/* A load above this takes processor time from one contender or the other. */
#define BUSY 0.5

static const char *const keys[BENCH_CONTENDERS] = { "anyuring", "kernel",
						    "rival" };

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct bench_stat bench_stat_of(double *v, unsigned int nr)
{
	qsort(v, nr, sizeof(*v), compare);
	return (struct bench_stat){
		.median = nr % 2 ? v[nr / 2] : (v[nr / 2 - 1] + v[nr / 2]) / 2,
		.min = v[0],
		.max = v[nr - 1],
	};
}

double bench_median(double *v, unsigned int nr)
{
	return bench_stat_of(v, nr).median;
}

double bench_gain(const struct bench_result *r, enum bench_contender other)
{
	double ratio = r->ratio[other].median;

	return r->c->less ? 1 / ratio : ratio;
}

/* Three digits that count: 1.23, 12.3, 123. */
static const char *digits(double v, char *buf, size_t size, const char *unit)
{
	snprintf(buf, size, "%.*f%s",
		 v < 9.995 ? 2 :
		 v < 99.95 ? 1 :
			     0,
		 v, unit);
	return buf;
}

static void figure(double v, bool less, char *buf, size_t size)
{
	if (less && v < 9995)
		digits(v, buf, size, " ns");
	else if (less)
		digits(v / 1e3, buf, size, " us");
	else if (v < 999.5)
		digits(v, buf, size, " /s");
	else if (v < 999.5e3)
		digits(v / 1e3, buf, size, " k/s");
	else
		digits(v / 1e6, buf, size, " M/s");
}

static void text_figure(const struct bench_result *res,
			enum bench_contender who)
{
	const struct bench_stat *s = &res->stat[who];
	char value[32] = "-", spread[16] = "";

	if (res->has[who]) {
		figure(s->median, res->c->less, value, sizeof(value));
		snprintf(spread, sizeof(spread), "%.0f%%",
			 (s->max - s->min) / s->median * 100);
	}
	printf(" %9s %5s", value, spread);
}

static void text_ratio(const struct bench_result *res, enum bench_contender who)
{
	char ratio[16] = "-", min[16], max[16], range[40] = "";
	const struct bench_stat *s = &res->ratio[who];

	if (res->has[who]) {
		digits(s->median, ratio, sizeof(ratio), "");
		snprintf(range, sizeof(range), "%s..%s",
			 digits(s->min, min, sizeof(min), ""),
			 digits(s->max, max, sizeof(max), ""));
	}
	printf(" %7s %13s", ratio, range);
}

static void text_line(const struct bench_result *res)
{
	printf("%-7s %-33s", res->c->suite, res->c->title);
	if (res->skipped[0]) {
		printf(" skipped: %s\n", res->skipped);
		return;
	}
	text_figure(res, BENCH_USER);
	text_figure(res, BENCH_KERNEL);
	text_ratio(res, BENCH_KERNEL);
	if (res->has[BENCH_RIVAL]) {
		char value[32];

		figure(res->stat[BENCH_RIVAL].median, res->c->less, value,
		       sizeof(value));
		printf(" %9s %s\n", value, res->c->rival_name);
	} else {
		printf(" %9s\n", "-");
	}
}

void bench_print_text(const struct bench_report *rep)
{
	printf("%-7s %-33s %9s %5s %9s %5s %7s %13s %9s\n", "suite", "work",
	       "anyuring", "+-", "kernel", "+-", "ratio", "min..max", "rival");
	for (unsigned int i = 0; i < rep->nr; i++)
		text_line(&rep->results[i]);
	printf("\nMedians of %u rounds of %u ms; +-: highest less lowest; "
	       "ratio: anyuring to kernel, of\nrates (/s) more is better, of "
	       "times (ns, us) less. Files in %s (%s).\n",
	       rep->opt->rounds, rep->opt->slice_ms, rep->opt->dir,
	       rep->filesystem);
	if (rep->load > BUSY)
		printf("The machine was busy (load %.1f on %ld processors): "
		       "trust the ratios at most.\n",
		       rep->load, sysconf(_SC_NPROCESSORS_ONLN));
}

/* JSON */

static void json_stat(struct json *j, const struct bench_result *res,
		      enum bench_contender who, unsigned int rounds)
{
	const struct bench_stat *s = &res->stat[who];

	if (!res->has[who]) {
		json_string(j, keys[who], NULL);
		return;
	}
	json_open(j, keys[who], '{');
	if (who == BENCH_RIVAL)
		json_string(j, "name", res->c->rival_name);
	json_real(j, "median", s->median, true);
	json_real(j, "min", s->min, true);
	json_real(j, "max", s->max, true);
	json_open(j, "rounds", '[');
	for (unsigned int i = 0; i < rounds; i++)
		json_real(j, NULL, res->rounds[who][i], true);
	json_close(j, ']');
	json_close(j, '}');
}

static void json_result(struct json *j, const struct bench_report *rep,
			const struct bench_result *res)
{
	bool both = res->has[BENCH_KERNEL];

	json_open(j, NULL, '{');
	json_string(j, "suite", res->c->suite);
	json_string(j, "key", res->c->key);
	json_string(j, "title", res->c->title);
	json_string(j, "unit", res->c->less ? "ns" : "1/s");
	json_string(j, "better", res->c->less ? "less" : "more");
	json_string(j, "skipped", res->skipped[0] ? res->skipped : NULL);
	for (int who = 0; who < BENCH_CONTENDERS; who++)
		json_stat(j, res, who, rep->opt->rounds);
	json_real(j, "ratio", res->ratio[BENCH_KERNEL].median, both);
	json_real(j, "ratio_min", res->ratio[BENCH_KERNEL].min, both);
	json_real(j, "ratio_max", res->ratio[BENCH_KERNEL].max, both);
	json_real(j, "ratio_rival", res->ratio[BENCH_RIVAL].median,
		  res->has[BENCH_RIVAL]);
	json_close(j, '}');
}

void bench_print_json(const struct bench_report *rep)
{
	struct json j = { 0 };
	struct utsname uts;

	if (uname(&uts))
		snprintf(uts.release, sizeof(uts.release), "unknown");
	json_open(&j, NULL, '{');
	json_string(&j, "version", AU_VERSION);
	json_string(&j, "release", uts.release);
	json_number(&j, "cpus", sysconf(_SC_NPROCESSORS_ONLN), true);
	json_real(&j, "load", rep->load, rep->load >= 0);
	json_string(&j, "refused", rep->refusal[0] ? rep->refusal : NULL);
	json_number(&j, "rounds", rep->opt->rounds, true);
	json_number(&j, "slice_ms", rep->opt->slice_ms, true);
	json_bool(&j, "quick", rep->opt->quick);
	json_string(&j, "directory", rep->opt->dir);
	json_string(&j, "filesystem", rep->filesystem);
	json_open(&j, "measurements", '[');
	for (unsigned int i = 0; i < rep->nr; i++)
		json_result(&j, rep, &rep->results[i]);
	json_close(&j, ']');
	json_close(&j, '}');
}
