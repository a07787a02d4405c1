/* SPDX-License-Identifier: MIT */
/*
 * `anyuring bench`: what its files share.
 *
 * A case is one line of the report. It has up to three contenders: anyuring,
 * the kernel's io_uring, and a rival that does the same work without a ring.
 * The two rings are driven by one function, compiled once, through a struct
 * bench_backend; both backends are the liburing front (bench_backend.c), over
 * the engine and over the kernel. One thread runs everything, and one
 * contender at a time.
 */
#ifndef AU_CLI_BENCH_H
#define AU_CLI_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "abi/liburing.h"

/* The order of columns, and of every array below that has one a contender. */
enum bench_contender {
	BENCH_USER,
	BENCH_KERNEL,
	BENCH_RIVAL,
	BENCH_CONTENDERS,
};

#define BENCH_ROUNDS_MAX 1000

/* liburing's functions that are calls in a program, not inlined. */
struct bench_backend {
	enum bench_contender is;
	int (*queue_init_params)(unsigned int entries, struct io_uring *ring,
				 struct io_uring_params *p);
	void (*queue_exit)(struct io_uring *ring);
	int (*submit)(struct io_uring *ring);
	int (*submit_and_wait)(struct io_uring *ring, unsigned int wait_nr);
};

extern const struct bench_backend bench_backend_user;
extern const struct bench_backend bench_backend_kernel;

/* What the user asked for; the same for all cases. */
struct bench_options {
	bool quick;
	bool json;
	const char *plot;
	const char *dir; /* where the files of the read suite lie */
	unsigned int rounds;
	unsigned int slice_ms; /* of one contender in one round */
};

struct bench_case;

/* A case while it runs. */
struct bench_job {
	const struct bench_case *c;
	const struct bench_options *opt;
	uint64_t slice_ns;
	void *state; /* the case's own, from open to close */
	bool failed;
	char error[160]; /* why it failed or is skipped; one line */
};

struct bench_case {
	const char *suite;
	const char *key; /* stable, for --json */
	const char *title;
	bool less; /* nanoseconds, less is better; else operations per second */
	unsigned int arg; /* of the functions below: batch, pending... */
	const char *rival_name; /* NULL: none */

	/* Optional. False if the case cannot run here; says why in error. */
	bool (*open)(struct bench_job *job);
	/* One slice: operations per second, or ns. bench_fail() on failure. */
	double (*ring)(struct bench_job *job, const struct bench_backend *b);
	double (*rival)(struct bench_job *job);
	void (*close)(struct bench_job *job);
};

extern const struct bench_case bench_nop_cases[];
extern const struct bench_case bench_read_cases[];
extern const struct bench_case bench_timer_cases[];

/* Keeps the first reason; returns a value that stands for no measurement. */
__attribute__((format(printf, 2, 3))) double bench_fail(struct bench_job *job,
							const char *fmt, ...);

/* As bench_fail(), naming the contender; false. */
__attribute__((format(printf, 3, 4))) bool
bench_bad(struct bench_job *job, const struct bench_backend *b, const char *fmt,
	  ...);

/* Results */

struct bench_stat {
	double median, min, max;
};

struct bench_result {
	const struct bench_case *c;
	bool has[BENCH_CONTENDERS];
	double *rounds[BENCH_CONTENDERS]; /* opt->rounds each */
	struct bench_stat stat[BENCH_CONTENDERS];
	/* anyuring to the others, round by round; [BENCH_USER] is unused. */
	struct bench_stat ratio[BENCH_CONTENDERS];
	char skipped[160]; /* why there are no figures, or "" */
};

struct bench_report {
	const struct bench_options *opt;
	struct bench_result *results;
	unsigned int nr;
	char refusal[80]; /* "io_uring_setup: EPERM", or "" */
	char filesystem[32];
	double load; /* average of the minute before; below 0: unknown */
};

/* Sorts `v`. */
struct bench_stat bench_stat_of(double *v, unsigned int nr);
double bench_median(double *v, unsigned int nr);

/* How many times better than `other` anyuring is: above 1, whatever the unit. */
double bench_gain(const struct bench_result *r, enum bench_contender other);

void bench_print_text(const struct bench_report *report);
void bench_print_json(const struct bench_report *report);
void bench_plot(const struct bench_report *report, FILE *f);

/* The name of the file system that holds `dir`, or its magic number. */
void bench_filesystem(const char *dir, char *buf, size_t size);

#endif
