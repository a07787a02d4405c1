/* SPDX-License-Identifier: MIT */
/* Programs as text: one line a step, its SQEs on lines of their own below. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "core/op.h"
#include "program.h"

static const char *const kinds[ARG_LAST] = {
	"num",  "obj",  "ring", "mem",   "iov",    "msg",   "path", "time",
	"sun",  "how",  "ev",   "fds",   "bufs",   "statx", "fiov", "iov1",
	"msg1", "name", "pbuf", "futex", "futexv", "len",
};

static void print_arg(FILE *f, const char *name, struct arg a)
{
	if (a.kind == ARG_NUM && !a.val)
		return;
	if (a.kind == ARG_NUM)
		fprintf(f, " %s=%#" PRIx64, name, a.val);
	else
		fprintf(f, " %s=%s:%" PRIu64, name, kinds[a.kind], a.val);
}

static void print_num(FILE *f, const char *name, uint64_t v)
{
	if (v)
		fprintf(f, " %s=%#" PRIx64, name, v);
}

static void print_sqe(FILE *f, const struct fsqe *s)
{
	if (s->op < IORING_OP_LAST && au_ops_cold[s->op].name)
		fprintf(f, "  %s", au_ops_cold[s->op].name);
	else
		fprintf(f, "  OP%u", s->op);
	print_arg(f, "fd", s->fd);
	print_arg(f, "addr", s->addr);
	print_num(f, "len", s->len);
	print_arg(f, "off", s->off);
	print_num(f, "flags", s->flags);
	print_num(f, "opflags", s->opflags);
	print_num(f, "ioprio", s->ioprio);
	print_num(f, "buf", s->buf_index);
	print_num(f, "pers", s->personality);
	print_num(f, "file", s->file_index);
	print_arg(f, "addr3", s->addr3);
	print_num(f, "pad2", s->pad2);
	print_num(f, "ud", s->ud);
	fputc('\n', f);
}

void program_print(const struct program *p, FILE *f)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct step *s = &p->steps[i];

		switch (s->kind) {
		case STEP_RING:
			fprintf(f, "ring %u", s->ring);
			print_num(f, "entries", s->entries);
			print_num(f, "setup", s->setup_flags);
			print_num(f, "cq", s->cq);
			break;
		case STEP_REGISTER:
			fprintf(f, "register %u op=%u", s->ring, s->op);
			print_arg(f, "addr", s->addr);
			print_num(f, "nr", s->nr);
			break;
		case STEP_FILL:
			fprintf(f, "fill %u op=%u", s->ring, s->op);
			print_num(f, "nr", s->nr);
			break;
		default:
			fprintf(f, "submit %u", s->ring);
			break;
		}
		print_num(f, "expect", s->expect);
		print_num(f, "own", s->own);
		print_num(f, "hold", s->hold);
		fputc('\n', f);
		for (uint32_t j = 0; j < s->n; j++)
			print_sqe(f, &s->sqes[j]);
	}
}

static struct arg parse_arg(const char *v)
{
	struct arg a = { ARG_NUM, 0 };
	const char *colon = strchr(v, ':');

	for (uint8_t k = 0; colon && k < ARG_LAST; k++) {
		if (strlen(kinds[k]) == (size_t)(colon - v) &&
		    !strncmp(v, kinds[k], (size_t)(colon - v)))
			a.kind = k;
	}
	a.val = strtoull(colon ? colon + 1 : v, NULL, 0);
	return a;
}

static bool parse_sqe_word(struct fsqe *s, const char *key, const char *v)
{
	uint64_t n = strtoull(v, NULL, 0);

	if (!strcmp(key, "fd"))
		s->fd = parse_arg(v);
	else if (!strcmp(key, "addr"))
		s->addr = parse_arg(v);
	else if (!strcmp(key, "off"))
		s->off = parse_arg(v);
	else if (!strcmp(key, "len"))
		s->len = (uint32_t)n;
	else if (!strcmp(key, "flags"))
		s->flags = (uint8_t)n;
	else if (!strcmp(key, "opflags"))
		s->opflags = (uint32_t)n;
	else if (!strcmp(key, "ioprio"))
		s->ioprio = (uint16_t)n;
	else if (!strcmp(key, "buf"))
		s->buf_index = (uint16_t)n;
	else if (!strcmp(key, "pers"))
		s->personality = (uint16_t)n;
	else if (!strcmp(key, "file"))
		s->file_index = (uint32_t)n;
	else if (!strcmp(key, "addr3"))
		s->addr3 = parse_arg(v);
	else if (!strcmp(key, "pad2"))
		s->pad2 = n;
	else if (!strcmp(key, "ud"))
		s->ud = n;
	else
		return false;
	return true;
}

static bool parse_step_word(struct step *s, const char *key, const char *v)
{
	uint32_t n = (uint32_t)strtoull(v, NULL, 0);

	if (!strcmp(key, "entries"))
		s->entries = n;
	else if (!strcmp(key, "setup"))
		s->setup_flags = n;
	else if (!strcmp(key, "cq"))
		s->cq = n;
	else if (!strcmp(key, "op"))
		s->op = n;
	else if (!strcmp(key, "nr"))
		s->nr = n;
	else if (!strcmp(key, "addr"))
		s->addr = parse_arg(v);
	else if (!strcmp(key, "expect"))
		s->expect = n;
	else if (!strcmp(key, "own"))
		s->own = n;
	else if (!strcmp(key, "hold"))
		s->hold = n;
	else
		return false;
	return true;
}

static int op_by_name(const char *name)
{
	for (int i = 0; i < IORING_OP_LAST; i++) {
		if (au_ops_cold[i].name && !strcmp(au_ops_cold[i].name, name))
			return i;
	}
	return strncmp(name, "OP", 2) ? -1 : atoi(name + 2) & 0xff;
}

static bool parse_line(struct program *p, char *line)
{
	char *save = NULL;
	char *word = strtok_r(line, " \t\n", &save);
	struct step *s = p->n ? &p->steps[p->n - 1] : NULL;
	struct fsqe *q = NULL;
	int kind = -1;

	if (!word || *word == '#')
		return true;
	if (!strcmp(word, "ring"))
		kind = STEP_RING;
	else if (!strcmp(word, "submit"))
		kind = STEP_SUBMIT;
	else if (!strcmp(word, "register"))
		kind = STEP_REGISTER;
	else if (!strcmp(word, "fill"))
		kind = STEP_FILL;
	if (kind >= 0) {
		if (p->n == MAX_STEPS)
			return false;
		s = &p->steps[p->n++];
		s->kind = (uint8_t)kind;
		word = strtok_r(NULL, " \t\n", &save);
		if (!word || (unsigned int)atoi(word) >= MAX_RINGS)
			return false;
		s->ring = (uint8_t)atoi(word);
	} else {
		int op = op_by_name(word);

		if (!s || op < 0 || s->n == MAX_SQES)
			return false;
		q = &s->sqes[s->n++];
		q->op = (uint8_t)op;
	}
	while ((word = strtok_r(NULL, " \t\n", &save))) {
		char *v = strchr(word, '=');

		if (!v)
			return false;
		*v++ = '\0';
		if (!(q ? parse_sqe_word(q, word, v) :
			  parse_step_word(s, word, v)))
			return false;
	}
	return true;
}

bool program_parse(struct program *p, FILE *f)
{
	char line[512];

	memset(p, 0, sizeof(*p));
	while (fgets(line, sizeof(line), f)) {
		if (!parse_line(p, line)) {
			fprintf(stderr, "not understood: %s\n", line);
			return false;
		}
	}
	return true;
}
