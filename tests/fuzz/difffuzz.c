/* SPDX-License-Identifier: MIT */
/*
 * Description: random programs on the kernel's io_uring and on anyuring; what
 * comes out must be the same. A difference is cut down, printed as a program
 * that --replay reads, and reproduced by the line printed with it.
 *
 * Every run is a child of its own in an empty folder. A difference counts only
 * if the kernel agrees with itself: both are run again before it is reported.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "anyuring.h"
#include "program.h"

enum { SKIP = 77, RUN_SECONDS = 10 };

static struct outcome *kernel_out, *mine_out, *again_out;
static char top[] = "/tmp/difffuzz-XXXXXX";
static const char *self;
static unsigned int runs;

static void clean(const char *dir)
{
	pid_t pid = fork();

	if (!pid) {
		execlp("rm", "rm", "-rf", dir, (char *)NULL);
		_exit(127);
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void run(const struct program *p, const struct backend *b,
		const struct outcome *known, struct outcome *out)
{
	char dir[64];
	pid_t pid;
	int status = 0;

	out->len = 0;
	out->over = false;
	memset(out->got, 0, sizeof(out->got));
	snprintf(dir, sizeof(dir), "%s/%u", top, runs++);
	if (mkdir(dir, 0755)) {
		perror(dir);
		exit(1);
	}
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (chdir(dir))
			_exit(1);
		alarm(RUN_SECONDS);
		program_run(p, b, known, out);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!out->over)
		out->len += (uint32_t)snprintf(
			out->text + out->len, sizeof(out->text) - out->len,
			"ended early: %s %d\n",
			WIFSIGNALED(status) ? "signal" : "exit",
			WIFSIGNALED(status) ? WTERMSIG(status) :
					      WEXITSTATUS(status));
	clean(dir);
}

static bool same(const struct outcome *a, const struct outcome *b)
{
	return a->len == b->len && !memcmp(a->text, b->text, a->len);
}

/* 0 the same, 1 different, -1 the kernel does not agree with itself. */
static int compare(const struct program *p)
{
	run(p, &backend_kernel, NULL, kernel_out);
	run(p, &backend_anyuring, kernel_out, mine_out);
	if (same(kernel_out, mine_out))
		return 0;
	for (int i = 0; i < 3; i++) {
		run(p, &backend_kernel, NULL, again_out);
		if (!same(kernel_out, again_out))
			return -1;
		run(p, &backend_anyuring, kernel_out, again_out);
		if (same(kernel_out, again_out))
			return -1;
	}
	return 1;
}

/* Drops SQEs, steps and words while the difference stays. */
static bool still(struct program *try, struct program *best)
{
	if (compare(try) != 1)
		return false;
	*best = *try;
	return true;
}

static void shrink(struct program *best)
{
	static const uint8_t simple = IOSQE_ASYNC | IOSQE_CQE_SKIP_SUCCESS;
	static struct program try;
	time_t end = time(NULL) + 120;
	bool again = true;

	while (again && time(NULL) < end) {
		again = false;
		for (uint32_t i = best->n; i-- > 0 && time(NULL) < end;) {
			try = *best;
			memmove(&try.steps[i], &try.steps[i + 1],
				(try.n - i - 1) * sizeof(try.steps[0]));
			try.n--;
			if (still(&try, best)) {
				again = true;
				continue;
			}
			for (uint32_t j = best->steps[i].n; j-- > 0;) {
				struct step *s = &try.steps[i];

				try = *best;
				memmove(&s->sqes[j], &s->sqes[j + 1],
					(s->n - j - 1) * sizeof(s->sqes[0]));
				s->n--;
				again |= still(&try, best);
			}
		}
	}
	for (uint32_t i = 0; i < best->n; i++) {
		for (uint32_t j = 0; j < best->steps[i].n; j++) {
			struct fsqe *q = &try.steps[i].sqes[j];

			try = *best;
			/* Without its links it would be another program. */
			if (q->flags & simple) {
				q->flags &= (uint8_t)~simple;
				(void)still(&try, best);
			}
		}
	}
	(void)compare(best);
}

/* Is the line in the text? */
static bool has_line(const char *text, const char *line, size_t n)
{
	for (const char *at = text; *at; at += strcspn(at, "\n") + 1) {
		if (strcspn(at, "\n") == n && !memcmp(at, line, n))
			return true;
	}
	return false;
}

/* The lines of one that the other lacks. */
static void show_lines(FILE *f, const char *who, const struct outcome *a,
		       const struct outcome *b)
{
	int shown = 0;

	for (const char *at = a->text; *at && shown < 12;
	     at += strcspn(at, "\n") + 1) {
		size_t n = strcspn(at, "\n");

		if (!has_line(b->text, at, n) && ++shown)
			fprintf(f, "# %s: %.*s\n", who, (int)n, at);
	}
}

static void show_difference(FILE *f)
{
	kernel_out->text[kernel_out->len] = '\0';
	mine_out->text[mine_out->len] = '\0';
	show_lines(f, "kernel", kernel_out, mine_out);
	show_lines(f, "anyuring", mine_out, kernel_out);
}

static void find_ops(bool *ops)
{
	struct {
		struct io_uring_probe p;
		struct io_uring_probe_op ops[256];
	} *k = mmap(NULL, 2 * sizeof(*k), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct backend *b[] = { &backend_kernel, &backend_anyuring };

	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (!pid) {
			struct io_uring_params p = { 0 };
			int fd = b[i]->setup(1, &p);

			if (fd >= 0)
				b[i]->reg((unsigned int)fd,
					  IORING_REGISTER_PROBE, &k[i], 256);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	for (int i = 0; i < 256; i++)
		ops[i] = i < k[0].p.ops_len && i < k[1].p.ops_len &&
			 (k[0].ops[i].flags & k[1].ops[i].flags &
			  IO_URING_OP_SUPPORTED);
}

static bool kernel_serves(void)
{
	struct io_uring_params p = { 0 };
	int fd = backend_kernel.setup(1, &p);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int replay(const char *path, bool cut)
{
	static struct program p;
	FILE *f = fopen(path, "r");
	int r;

	if (!f || !program_parse(&p, f)) {
		fprintf(stderr, "cannot read %s\n", path);
		return 1;
	}
	fclose(f);
	for (int i = 0; i < 3; i++) {
		r = compare(&p);
		if (r >= 0)
			break;
	}
	if (r == 1 && cut) {
		shrink(&p);
		program_print(&p, stdout);
	}
	printf("%s: %s\n", path, r == 0 ? "the same" :
				 r == 1 ? "DIFFERENT" : "unstable");
	if (r)
		show_difference(stdout);
	return r > 0;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: difffuzz [--seed N] [--steps M] [--seconds S] "
		"[--count N] [--show] [--keep DIR]\n"
		"       difffuzz [--shrink] --replay FILE...\n");
	exit(2);
}

struct opts {
	uint64_t seed, count;
	unsigned int steps, seconds;
	bool show, replay, cut;
	const char *keep;
};

static void difference(struct program *p, const struct opts *o, uint64_t seed)
{
	char path[512];
	FILE *f;

	printf("DIFFERENT: %s --seed %" PRIu64 " --steps %u\n", self, seed,
	       o->steps);
	shrink(p);
	program_print(p, stdout);
	show_difference(stdout);
	fflush(stdout);
	if (!o->keep)
		return;
	snprintf(path, sizeof(path), "%s/seed-%" PRIu64 ".txt", o->keep, seed);
	f = fopen(path, "w");
	if (!f)
		return;
	program_print(p, f);
	show_difference(f);
	fclose(f);
}

static int fuzz(const struct opts *o)
{
	static struct program p;
	bool ops[256];
	time_t end = time(NULL) + o->seconds;
	unsigned int different = 0, unstable = 0, n = 0;
	uint64_t sqes = 0, cqes = 0;

	find_ops(ops);
	for (uint64_t seed = o->seed; n < o->count; seed++) {
		int r;

		program_generate(&p, seed, o->steps, ops);
		if (o->show) {
			program_print(&p, stdout);
			fflush(stdout);
		}
		r = compare(&p);
		if (o->show) {
			printf("# kernel\n%.*s# anyuring\n%.*s",
			       (int)kernel_out->len, kernel_out->text,
			       (int)mine_out->len, mine_out->text);
		}
		n++;
		for (uint32_t i = 0; i < p.n; i++) {
			sqes += p.steps[i].n;
			cqes += kernel_out->got[i];
		}
		if (r < 0) {
			unstable++;
			printf("unstable: --seed %" PRIu64 " --steps %u\n",
			       seed, o->steps);
			fflush(stdout);
		}
		if (r > 0) {
			different++;
			difference(&p, o, seed);
		}
		if (o->seconds && time(NULL) >= end)
			break;
	}
	printf("difffuzz: %u programs, %" PRIu64 " SQEs, %" PRIu64
	       " CQEs: %u different, %u unstable; next --seed %" PRIu64 "\n",
	       n, sqes, cqes, different, unstable, o->seed + n);
	return different > 0;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "seed", 1, NULL, 's' },    { "steps", 1, NULL, 'n' },
		{ "seconds", 1, NULL, 't' }, { "count", 1, NULL, 'c' },
		{ "show", 0, NULL, 'v' },    { "keep", 1, NULL, 'k' },
		{ "replay", 0, NULL, 'r' },  { "shrink", 0, NULL, 'x' },
		{ NULL, 0, NULL, 0 },
	};
	struct opts o = { .seed = 1, .steps = 12, .count = 1 };
	int c, r = 0;

	self = argv[0];
	while ((c = getopt_long(argc, argv, "", longs, NULL)) >= 0) {
		switch (c) {
		case 's':
			o.seed = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			o.steps = (unsigned int)strtoul(optarg, NULL, 0);
			break;
		case 't':
			o.seconds = (unsigned int)strtoul(optarg, NULL, 0);
			o.count = UINT64_MAX;
			break;
		case 'c':
			o.count = strtoull(optarg, NULL, 0);
			break;
		case 'v':
			o.show = true;
			break;
		case 'k':
			o.keep = optarg;
			break;
		case 'r':
			o.replay = true;
			break;
		case 'x':
			o.cut = true;
			break;
		default:
			usage();
		}
	}
	if (!kernel_serves()) {
		printf("skipped: the kernel's io_uring is not there\n");
		return SKIP;
	}
	if (!mkdtemp(top)) {
		perror(top);
		return 1;
	}
	kernel_out = mmap(NULL, 3 * sizeof(*kernel_out), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	mine_out = kernel_out + 1;
	again_out = kernel_out + 2;
	if (o.replay) {
		for (; optind < argc; optind++)
			r |= replay(argv[optind], o.cut);
	} else {
		r = fuzz(&o);
	}
	clean(top);
	return r;
}
