/* SPDX-License-Identifier: MIT */
/*
 * Description: which system call instructions are replaced and by what, in
 * functions written byte by byte; and that the result runs, with jumps into
 * what lies between the replaced instruction and the call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "intercept/insn.h"
#include "intercept/patch.h"

#define CHECK(cond)                                                          \
	do {                                                                 \
		if (!(cond)) {                                               \
			fprintf(stderr, "%s:%d: %s: failed: %s\n", __FILE__, \
				__LINE__, now, #cond);                       \
			exit(1);                                             \
		}                                                            \
	} while (0)

#define MOV_ENTER "\xb8\xaa\x01\x00\x00" /* mov $426, %eax */
#define SYSCALL   "\x0f\x05"
#define RET       "\xc3"
#define GAP       "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00" /* nopw */

static const char *now = "";
static _Alignas(4096) uint8_t text[3 * 4096];

struct sample {
	const char *what;
	const char *code;
	size_t len;
	size_t end; /* of the function; the rest lies behind it */
	int kind; /* -1: to be left alone */
	int from; /* where the first replaced bytes are */
};

/* clang-format off */
#define SAMPLE(what, fn, gap, kind, from)                            \
	{                                                            \
		what, fn gap, sizeof(fn gap) - 1, sizeof(fn) - 1, kind, from \
	}

static const struct sample samples[] = {
	SAMPLE("a hole behind", MOV_ENTER SYSCALL RET, GAP, AU_SITE_HOLE, 8),
	SAMPLE("a hole of int3", "\x89\xf8" SYSCALL RET, "\xcc\xcc\xcc\xcc\xcc",
	       AU_SITE_HOLE, 5),
	SAMPLE("too small a hole", "\x89\xf8" SYSCALL RET, "\xcc\xcc\xcc\xcc",
	       -1, 0),
	SAMPLE("a gap that may be run into", "\x89\xf8" SYSCALL
	       "\xe8\x00\x00\x00\x00", GAP, -1, 0),
	SAMPLE("no padding, but zeroes", "\x89\xf8" SYSCALL RET,
	       "\0\0\0\0\0\0\0\0", -1, 0),
	SAMPLE("no padding, but code", "\x89\xf8" SYSCALL RET,
	       "\x90\x90\x90\x90\x90\x90\x31\xc0", -1, 0),
	SAMPLE("a long nop that is run", "\x0f\x1f\x80\x00\x00\x00\x00"
	       "\x89\xf8" SYSCALL RET, "", AU_SITE_HOLE, 0),
	SAMPLE("a short nop", "\x66\x0f\x1f\x44\x00\x00\x85\xc0\x75\x00\x89\xf8"
	       SYSCALL RET, "", -1, 0),
	SAMPLE("a lead", MOV_ENTER SYSCALL RET, "", AU_SITE_LEAD, 0),
	SAMPLE("a lead farther off", MOV_ENTER "\x89\xea" SYSCALL RET, "",
	       AU_SITE_LEAD, 0),
	SAMPLE("the nearest lead", MOV_ENTER "\x4c\x8b\x4c\x24\x08\x31\xd2"
	       SYSCALL RET, "", AU_SITE_LEAD, 5),
	SAMPLE("mov $426, %rax", "\x48\xc7\xc0\xaa\x01\x00\x00" SYSCALL RET, "",
	       AU_SITE_LEAD, 0),
	SAMPLE("the lead's bytes in a store",
	       "\x90\xc7\x44\x24\xb8\xaa\x01\x00\x00\x89\xf8" SYSCALL RET, "",
	       AU_SITE_LEAD, 1),
	SAMPLE("a branch between", MOV_ENTER "\x75\x02\x89\xea" SYSCALL RET, "",
	       -1, 0),
	SAMPLE("a call between", MOV_ENTER "\xe8\x00\x00\x00\x00" SYSCALL RET,
	       "", -1, 0),
	SAMPLE("a locked add between", MOV_ENTER "\xf0\x83\x04\x24\x00"
	       SYSCALL RET, "", -1, 0),
	SAMPLE("no room", "\x48\x89\xf8" SYSCALL RET, "", -1, 0),
	SAMPLE("another number", "\xb8\x03\x00\x00\x00" SYSCALL RET, GAP, -1, 0),
	SAMPLE("read's number", "\x31\xc0\xba\x01\x00\x00\x00" SYSCALL RET, GAP,
	       -1, 0),
	SAMPLE("any number", "\x89\xc8\xba\x01\x00\x00\x00" SYSCALL RET, "",
	       AU_SITE_LEAD, 2),
	SAMPLE("an unknown instruction before", "\x06" MOV_ENTER SYSCALL RET,
	       GAP, -1, 0),
	SAMPLE("an unknown instruction behind", MOV_ENTER SYSCALL RET "\x82\x00"
	       "\x00", GAP, -1, 0),
	SAMPLE("an end in the middle", MOV_ENTER SYSCALL "\xb8\x00", GAP, -1,
	       0),
	SAMPLE("a syscall in a constant", "\xb8\x00\x0f\x05\x00\xc3", GAP, -1,
	       0),
};

/* clang-format on */

static struct au_func put(const struct sample *s, uint8_t *at)
{
	struct au_func f = { at, at + s->end, at, at, at + s->len };

	memcpy(at, s->code, s->len);
	return f;
}

static void test_samples(void)
{
	struct au_edit e[2];
	struct au_site site;
	struct au_func f;
	size_t nr;

	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		const struct sample *s = &samples[i];

		now = s->what;
		memset(text, 0xf4, sizeof(text));
		f = put(s, text + 64);
		nr = au_site_find(&f, &site, 0, 1);
		CHECK(nr == (s->kind >= 0));
		if (!nr)
			continue;
		CHECK((int)site.kind == s->kind);
		CHECK(site.from == f.start + s->from);
		CHECK(au_site_edits(&site, text + 4096, e) ==
		      (site.kind == AU_SITE_HOLE ? 2 : 1));
		CHECK(e[0].at == site.from && e[0].len == site.len);
		/* Whatever is written is one instruction, or in the gap. */
		for (const uint8_t *p = f.start; p < f.end;) {
			struct au_insn in;

			CHECK(au_insn_decode(p, f.end, &in));
			CHECK(site.from <= p || site.from >= p + in.len);
			CHECK(site.from != p || site.len == in.len);
			p += in.len;
		}
	}
	now = "";
}

/* A change never crosses from one page into another. */
static void test_pages(void)
{
	static const struct sample hole =
		SAMPLE("", MOV_ENTER SYSCALL RET, GAP, 0, 0);
	struct au_site s;
	struct au_func f;
	size_t nr;

	for (int back = 0; back <= 20; back++) {
		uint8_t *border = text + 4096;

		memset(text, 0xf4, sizeof(text));
		f = put(&hole, border - back);
		nr = au_site_find(&f, &s, 0, 1);
		if (!nr)
			continue;
		CHECK(s.from >= border || s.from + s.len <= border);
		if (s.kind == AU_SITE_HOLE) {
			CHECK(s.call >= border || s.call + 2 <= border);
			CHECK((s.call < border) == (s.from < border));
		}
	}
}

/* ---- running it ---- */

static unsigned int entered;

__attribute__((used)) static long engine(void)
{
	entered++;
	return 4242;
}

/* In place of au_arch_enter: only rax, rcx, r11 may change here as well. */
void enter(void);
__asm__(".text\nenter:\n\tpushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n\t"
	"pushq %r8\n\tpushq %r9\n\tpushq %r10\n\tpushq %rbp\n\t"
	"movq %rsp, %rbp\n\tandq $-16, %rsp\n\tcall engine\n\t"
	"movq %rbp, %rsp\n\tpopq %rbp\n\tpopq %r10\n\tpopq %r9\n\tpopq %r8\n\t"
	"popq %rdx\n\tpopq %rsi\n\tpopq %rdi\n\tret\n");

struct run {
	const char *what;
	const char *code;
	size_t len, end;
	int entry; /* of a second way in */
	long first, second; /* what the ways return */
};

/* clang-format off */
#define RUN(what, fn, gap, entry, first, second)                       \
	{                                                              \
		what, fn gap, sizeof(fn gap) - 1, sizeof(fn) - 1, entry, \
			first, second                                  \
	}

#define GETPPID -1 /* stands for getppid() */

static const struct run runs[] = {
	RUN("hole", "\x89\xf8" SYSCALL RET, GAP, 0, 4242, 4242),
	RUN("live hole",
	    "\x0f\x1f\x80\x00\x00\x00\x00\x89\xf8" SYSCALL RET, "", 7, 4242,
	    4242),
	RUN("lead", MOV_ENTER "\x89\xea" SYSCALL RET, "", 0, 4242, 4242),
	/* the second way sets eax and jumps behind the lead */
	RUN("a jump behind the lead",
	    MOV_ENTER "\x31\xd2" SYSCALL RET "\xb0\x6e\x0f\xb6\xc0\xeb\xf4", "",
	    10, 4242, GETPPID),
	/* mov 5(%rip), %eax; xor %edx, %edx; syscall; ret; 426 */
	RUN("a lead relative to rip",
	    "\x8b\x05\x05\x00\x00\x00\x31\xd2" SYSCALL RET "\xaa\x01\x00\x00\x00",
	    "", 0, 4242, 4242),
	RUN("a store of a constant relative to rip",
	    "\xc7\x05\x0b\x00\x00\x00\xaa\x01\x00\x00\x8b\x05\x05\x00\x00\x00"
	    SYSCALL RET "\xb8\x00\x00\x00\x00", "", 0, 4242, 4242),
	RUN("another number at run time", "\xb0\x6e\x0f\xb6\xc0" SYSCALL RET,
	    GAP, 0, GETPPID, GETPPID),
	RUN("another number at run time, lead",
	    "\xb0\x6e\x0f\xb6\xc0\xba\x00\x00\x00\x00" SYSCALL RET, "", 0,
	    GETPPID, GETPPID),
};

/* clang-format on */

static void test_run(const struct run *r)
{
	uint8_t *code = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct au_func f = { code, code + r->end, code, code, code + r->len };
	void (*const target)(void) = enter;
	uint8_t *stub = code + 4096 + 64;
	long (*fn)(long), ret, want;
	struct au_edit e[2];
	struct au_site s;
	size_t n;

	now = r->what;
	CHECK(code != MAP_FAILED);
	memcpy(code, r->code, r->len);
	memcpy(code + 4096, &target, sizeof(target));
	CHECK(au_site_find(&f, &s, 0, 1) == 1);
	n = au_site_stub(&s, stub, code + 4096);
	CHECK(n && n <= AU_STUB_SIZE);
	n = au_site_edits(&s, stub, e);
	for (size_t i = 0; i < n; i++)
		memcpy(code + (e[i].at - code), e[i].byte, e[i].len);
	/* Writable too: one of the samples stores beside itself. */
	if (mprotect(code, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) {
		puts("no memory can be written and run here");
		exit(77);
	}
	for (int way = 0; way < 2; way++) {
		want = way ? r->second : r->first;
		uint8_t *at = code + (way ? r->entry : 0);

		memcpy(&fn, &at, sizeof(at));
		entered = 0;
		ret = fn(426);
		CHECK(ret == (want == GETPPID ? (long)getppid() : want));
		CHECK(entered == (want != GETPPID));
	}
	munmap(code, 8192);
	now = "";
}

int main(void)
{
	test_samples();
	test_pages();
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++)
		test_run(&runs[i]);
	return 0;
}
