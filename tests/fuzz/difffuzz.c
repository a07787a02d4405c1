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
#include "core/op.h"
#include "program.h"

enum {
	SKIP = 77,
	RUN_SECONDS = 10
};

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

/* Is the line in the text? */
static bool has_line(const char *text, const char *line, size_t n)
{
	for (const char *at = text; *at; at += strcspn(at, "\n") + 1) {
		if (strcspn(at, "\n") == n && !memcmp(at, line, n))
			return true;
	}
	return false;
}

/* The first line of one that the other lacks; NULL: there is none. */
static const char *first_lacking(const struct outcome *a,
				 const struct outcome *b)
{
	for (const char *at = a->text; *at; at += strcspn(at, "\n") + 1) {
		if (!has_line(b->text, at, strcspn(at, "\n")))
			return at;
	}
	return NULL;
}

/*
 * What a difference is known by while the program shrinks: which request, which
 * object it is about. Hashes and the rest may change.
 */
static void difference_key(char *key, size_t size)
{
	const char *at = first_lacking(kernel_out, mine_out);

	kernel_out->text[kernel_out->len] = '\0';
	mine_out->text[mine_out->len] = '\0';
	if (!at)
		at = first_lacking(mine_out, kernel_out);
	snprintf(key, size, "%.*s", at ? (int)strcspn(at, "\n") : 0, at);
	/* A CQE counts whole, anything else by its first two words. */
	if (strncmp(key, "ring", 4)) {
		char *space = strchr(key, ' ');

		space = space ? strchr(space + 1, ' ') : NULL;
		if (space)
			*space = '\0';
	}
}

/* Keeps `try` if it is different in the same way. */
static bool still(struct program *try, struct program *best, const char *key)
{
	char now[256];

	if (compare(try) != 1)
		return false;
	difference_key(now, sizeof(now));
	if (strcmp(now, key))
		return false;
	*best = *try;
	return true;
}

static void without_steps(struct program *p, uint32_t at, uint32_t n)
{
	memmove(&p->steps[at], &p->steps[at + n],
		(p->n - at - n) * sizeof(p->steps[0]));
	p->n -= n;
}

static void without_sqes(struct step *s, uint32_t at, uint32_t n)
{
	memmove(&s->sqes[at], &s->sqes[at + n],
		(s->n - at - n) * sizeof(s->sqes[0]));
	s->n -= n;
}

/* Drops steps, then SQEs, by halves first, while the difference stays. */
static bool shrink_pass(struct program *best, const char *key, time_t end)
{
	static struct program try;
	bool any = false;

	for (uint32_t n = best->n / 2; n; n /= 2) {
		for (uint32_t i = 0; i + n <= best->n && time(NULL) < end;) {
			try = *best;
			without_steps(&try, i, n);
			if (still(&try, best, key))
				any = true;
			else
				i += n;
		}
	}
	for (uint32_t s = 0; s < best->n; s++) {
		for (uint32_t n = (best->steps[s].n + 1) / 2; n; n /= 2) {
			for (uint32_t i = 0;
			     i + n <= best->steps[s].n && time(NULL) < end;) {
				try = *best;
				without_sqes(&try.steps[s], i, n);
				if (still(&try, best, key))
					any = true;
				else
					i += n;
			}
		}
	}
	return any;
}

static void shrink(struct program *best)
{
	static const uint8_t simple = IOSQE_ASYNC | IOSQE_CQE_SKIP_SUCCESS;
	static struct program try;
	time_t end = time(NULL) + 60;
	char key[256];

	difference_key(key, sizeof(key));
	while (time(NULL) < end && shrink_pass(best, key, end))
		;
	for (uint32_t i = 0; i < best->n; i++) {
		for (uint32_t j = 0; j < best->steps[i].n; j++) {
			struct fsqe *q = &try.steps[i].sqes[j];

			try = *best;
			/* Without its links it would be another program. */
			if (q->flags & simple) {
				q->flags &= (uint8_t)~simple;
				(void)still(&try, best, key);
			}
		}
	}
	(void)compare(best);
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

struct opts {
	uint64_t seed, count;
	unsigned int steps, seconds;
	bool show, whole, replay, cut, ops;
	const char *keep;
};

static void show_both(void)
{
	printf("# kernel\n%.*s# anyuring\n%.*s", (int)kernel_out->len,
	       kernel_out->text, (int)mine_out->len, mine_out->text);
}

static int replay(const char *path, const struct opts *o)
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
	if (o->show)
		show_both();
	if (r == 1 && o->cut) {
		shrink(&p);
		program_print(&p, stdout);
	}
	printf("%s: %s\n", path,
	       r == 0 ? "the same" :
	       r == 1 ? "DIFFERENT" :
			"unstable");
	if (r)
		show_difference(stdout);
	return r > 0;
}

static void usage(void)
{
	fprintf(stderr, "usage: difffuzz [--seed N] [--steps M] [--seconds S] "
			"[--count N] [--show] [--whole] [--keep DIR]\n"
			"       difffuzz [--show] [--shrink] --replay FILE...\n"
			"       difffuzz --ops\n");
	exit(2);
}

static void difference(struct program *p, const struct opts *o, uint64_t seed)
{
	char path[512];
	FILE *f;

	printf("DIFFERENT: %s --seed %" PRIu64 " --steps %u\n", self, seed,
	       o->steps);
	if (!o->whole)
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

/* Opcodes that no program has, and why. None, at present. */
static const struct {
	uint8_t op;
	const char *why;
} left_out[] = {
	{ IORING_OP_LAST, NULL },
};

static const char *why_left_out(uint8_t op)
{
	for (size_t i = 0; left_out[i].op != IORING_OP_LAST; i++) {
		if (left_out[i].op == op)
			return left_out[i].why;
	}
	return NULL;
}

/* Does the generator know every opcode that the engine serves? */
static int check_ops(void)
{
	static struct program p;
	uint32_t seen[256] = { 0 }, missing = 0;
	bool ops[256];

	memset(ops, true, sizeof(ops));
	for (uint64_t seed = 1; seed <= 500; seed++) {
		program_generate(&p, seed, 12, ops);
		for (uint32_t i = 0; i < p.n; i++) {
			for (uint32_t j = 0; j < p.steps[i].n; j++)
				seen[p.steps[i].sqes[j].op]++;
		}
	}
	for (uint8_t op = 0; op < IORING_OP_LAST; op++) {
		const char *why = why_left_out(op);
		bool lacks = au_op_supported(op) && !seen[op] && !why;

		missing += lacks;
		printf("%-18s %6u%s%s\n", au_ops_cold[op].name, seen[op],
		       lacks                ? " MISSING" :
		       !au_op_supported(op) ? " not served" :
		       why                  ? " left out: " :
					      "",
		       why ? why : "");
	}
	printf("%u opcodes that are served are in none of 500 programs\n",
	       missing);
	return missing > 0;
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
		if (o->show)
			show_both();
		n++;
		for (uint32_t i = 0; i < p.n; i++) {
			sqes += p.steps[i].n;
			cqes += kernel_out->got[i];
		}
		if (r < 0) {
			unstable++;
			printf("unstable: --seed %" PRIu64 " --steps %u\n",
			       seed, o->steps);
			show_difference(stdout);
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
		{ "whole", 0, NULL, 'w' },   { "ops", 0, NULL, 'o' },
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
		case 'w':
			o.whole = true;
			break;
		case 'o':
			o.ops = true;
			break;
		default:
			usage();
		}
	}
	if (o.ops)
		return check_ops();
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
			r |= replay(argv[optind], &o);
	} else {
		r = fuzz(&o);
	}
	clean(top);
	return r;
}
