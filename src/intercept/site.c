/* SPDX-License-Identifier: MIT */
/*
 * Which `syscall` instructions can be turned into a jump, and the bytes that
 * do it. A function is read from its first instruction, which the unwind
 * table names, to its last; one that does not end where the table says, or
 * holds an unknown instruction, is left alone. So every instruction looked at
 * here is one, and not a part of another or data.
 *
 *  hole:  syscall              ->  jmp hole      (2 bytes for 2)
 *         padding, >= 5 bytes  ->  hole: jmp stub
 *    stub:  if eax is io_uring's: call the engine, else syscall
 *           jmp after the syscall
 *
 *  lead:  mov $426, %eax       ->  jmp stub      (5 bytes or more for 5)
 *         mov %ebp, %edx           (these stay, for jumps to them)
 *         syscall
 *    stub:  mov $426, %eax
 *           mov %ebp, %edx
 *           if eax is io_uring's: call the engine, jmp after the syscall
 *           else jmp to the syscall
 */
#include "intercept/patch.h"

#include <string.h>

#include "intercept/arch.h"
#include "intercept/insn.h"

#if AU_ARCH_TRAP

enum {
	SITE_JUMP = 5, /* jmp rel32 */
	SITE_SHORT = 2, /* jmp rel8, and `syscall` */
	SITE_RUN = 24, /* instructions remembered before a syscall */
	SITE_GAP = 64, /* bytes between functions that are padding for sure */
};

/* The instructions since the last one that is not plain. */
struct site_run {
	const uint8_t *at[SITE_RUN];
	struct au_insn in[SITE_RUN];
	unsigned int nr; /* the last SITE_RUN of them are kept */
	bool known; /* eax is `value` */
	uint32_t value;
};

static bool site_one_page(const uint8_t *p, size_t len)
{
	return ((uintptr_t)p & (AU_PATCH_PAGE - 1)) + len <= AU_PATCH_PAGE;
}

static bool site_same_page(const uint8_t *a, const uint8_t *b)
{
	return !(((uintptr_t)a ^ (uintptr_t)b) & ~(AU_PATCH_PAGE - 1));
}

static bool site_reaches(const uint8_t *call, const uint8_t *to)
{
	ptrdiff_t d = to - (call + SITE_SHORT);

	return d >= INT8_MIN && d <= INT8_MAX;
}

static bool site_is_number(uint32_t nr)
{
	return nr >= 425 && nr <= 427;
}

static bool site_free(const uint8_t *p, const struct au_site *sites, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (sites[i].from == p)
			return false;
	return true;
}

/* Is it nothing but what linkers fill gaps with? */
static bool site_padding(const uint8_t *p, const uint8_t *end)
{
	struct au_insn in;

	if (end - p > SITE_GAP)
		return false;
	while (p < end) {
		if (*p == 0xcc) {
			p++;
			continue;
		}
		if (!au_insn_decode(p, end, &in) || !au_insn_is_nop(&in))
			return false;
		p += in.len;
	}
	return true;
}

/* Does the function [p, end) never run on into what follows it? */
static bool site_closed(const uint8_t *p, const uint8_t *end)
{
	struct au_insn in = { 0 };

	for (; p < end; p += in.len)
		if (!au_insn_decode(p, end, &in))
			return false;
	return au_insn_is_end(&in);
}

/*
 * Holes in the gap [lo, hi) behind the function that starts at `fn`: never
 * run, and no function's.
 */
static bool site_gap(struct au_site *s, const uint8_t *fn, const uint8_t *lo,
		     const uint8_t *hi, const struct au_site *sites, size_t nr)
{
	if (hi - lo < SITE_JUMP || !site_padding(lo, hi) ||
	    !site_closed(fn, lo))
		return false;
	for (; hi - lo >= SITE_JUMP; lo += SITE_JUMP) {
		if (!site_reaches(s->call, lo) ||
		    !site_same_page(s->call, lo) ||
		    !site_one_page(lo, SITE_JUMP) || !site_free(lo, sites, nr))
			continue;
		s->kind = AU_SITE_HOLE;
		s->from = lo;
		s->len = SITE_JUMP;
		s->live = false;
		return true;
	}
	return false;
}

/* A long nop inside the function, which may be run. */
static bool site_nop(struct au_site *s, const struct au_func *f,
		     const struct au_site *sites, size_t nr)
{
	struct au_insn in;

	for (const uint8_t *p = f->start; p < f->end; p += in.len) {
		if (!au_insn_decode(p, f->end, &in))
			return false;
		if (!au_insn_is_nop(&in) || in.len < SITE_SHORT + SITE_JUMP ||
		    !site_reaches(s->call, p + SITE_SHORT) ||
		    !site_same_page(s->call, p) || !site_one_page(p, in.len) ||
		    !site_free(p, sites, nr))
			continue;
		s->kind = AU_SITE_HOLE;
		s->from = p;
		s->len = in.len;
		s->live = true;
		return true;
	}
	return false;
}

/* The nearest instruction before the call that has room for a jump. */
static bool site_lead(struct au_site *s, const struct site_run *run,
		      const struct au_site *sites, size_t nr_sites)
{
	unsigned int nr = run->nr < SITE_RUN ? run->nr : SITE_RUN;
	unsigned int at;

	for (unsigned int i = 1; i <= nr; i++) {
		at = (run->nr - i) % SITE_RUN;
		if (s->call - run->at[at] > AU_STUB_COPY)
			return false;
		if (run->in[at].len < SITE_JUMP ||
		    !site_one_page(run->at[at], run->in[at].len) ||
		    !site_free(run->at[at], sites, nr_sites))
			continue;
		s->kind = AU_SITE_LEAD;
		s->from = run->at[at];
		s->len = run->in[at].len;
		return true;
	}
	return false;
}

static bool site_choose(struct au_site *s, const struct au_func *f,
			const struct site_run *run, const struct au_site *sites,
			size_t nr)
{
	if (site_one_page(s->call, SITE_SHORT) &&
	    (site_gap(s, f->start, f->end, f->after, sites, nr) ||
	     site_gap(s, f->prev, f->before, f->start, sites, nr) ||
	     site_nop(s, f, sites, nr)))
		return true;
	return site_lead(s, run, sites, nr);
}

static void site_note(struct site_run *run, const uint8_t *p,
		      const struct au_insn *in)
{
	unsigned int at = run->nr++ % SITE_RUN;

	if (!au_insn_plain(in)) {
		run->nr = 0;
		run->known = false;
		return;
	}
	run->at[at] = p;
	run->in[at] = *in;
	if (au_insn_loads_eax(in, p, &run->value))
		run->known = true;
}

size_t au_site_find(const struct au_func *f, struct au_site *sites, size_t nr,
		    size_t max)
{
	struct site_run run = { .nr = 0 };
	struct au_insn in;
	struct au_site s;
	const uint8_t *p;

	/* To the end first: what does not add up is not code as we know it. */
	for (p = f->start; p < f->end; p += in.len)
		if (!au_insn_decode(p, f->end, &in))
			return nr;
	for (p = f->start; p < f->end && nr < max; p += in.len) {
		if (!au_insn_decode(p, f->end, &in))
			return nr;
		if (au_insn_is_syscall(&in) &&
		    (!run.known || site_is_number(run.value))) {
			s = (struct au_site){ .call = p };
			if (site_choose(&s, f, &run, sites, nr))
				sites[nr++] = s;
		}
		site_note(&run, p, &in);
	}
	return nr;
}

/* ---- the bytes ---- */

struct site_out {
	uint8_t *p;
	bool far; /* a distance did not fit */
};

static void site_put(struct site_out *o, const void *bytes, size_t len)
{
	memcpy(o->p, bytes, len);
	o->p += len;
}

static void site_rel32(struct site_out *o, const uint8_t *to)
{
	intptr_t d = to - (o->p + 4);
	int32_t rel = (int32_t)d;

	o->far |= d != rel;
	site_put(o, &rel, sizeof(rel));
}

/* The instructions from the lead on, at their new place. */
static void site_copy(struct site_out *o, const uint8_t *p, const uint8_t *call)
{
	struct au_insn in;
	uint8_t *was;
	int32_t rel;

	for (; p < call; p += in.len) {
		if (!au_insn_decode(p, call, &in)) {
			o->far = true;
			return;
		}
		site_put(o, p, in.len);
		if (!in.rip_at)
			continue;
		/* A displacement counts from the instruction's end. */
		memcpy(&rel, p + in.rip_at, sizeof(rel));
		was = o->p;
		o->p = was - in.len + in.rip_at;
		site_rel32(o, p + in.len + rel - (was - o->p - 4));
		o->p = was;
	}
}

size_t au_site_stub(const struct au_site *s, uint8_t *to, const uint8_t *entry)
{
	/* Without touching the flags: is eax 426, 425 or 427? */
	static const uint8_t test[] = {
		0x8d, 0x88, 0x56, 0xfe, 0xff, 0xff, /* lea -426(%rax), %ecx */
		0xe3, 0x11, /*                         jrcxz ours */
		0x8d, 0x49, 0x01, /*                   lea 1(%rcx), %ecx */
		0xe3, 0x0c, /*                         jrcxz ours */
		0x8d, 0x49, 0xfe, /*                   lea -2(%rcx), %ecx */
		0xe3, 0x07, /*                         jrcxz ours */
	};
	/* Below the red zone; rcx is the address behind, as the kernel has it,
	 * and is pushed for who unwinds the stack. */
	static const uint8_t ours[] = {
		0x48, 0x8d, 0x64, 0x24, 0x80, /* lea -128(%rsp), %rsp */
		0x51, /*                         push %rcx */
	};
	static const uint8_t home[] = {
		0x48, 0x8d, 0xa4, 0x24, 0x88, 0x00, 0x00, 0x00,
		/* lea 136(%rsp), %rsp */
	};
	static const uint8_t lea_rcx[] = { 0x48, 0x8d, 0x0d };
	static const uint8_t call_mem[] = { 0xff, 0x15 };
	static const uint8_t jmp[] = { 0xe9 };
	static const uint8_t call_jmp[] = { 0x0f, 0x05, 0xe9 };
	static const uint8_t jmp_nop[] = { 0x66, 0x90, 0xe9 };
	const uint8_t *behind = s->call + SITE_SHORT;
	struct site_out o = { .p = to };

	if (s->kind == AU_SITE_LEAD)
		site_copy(&o, s->from, s->call);
	site_put(&o, test, sizeof(test));
	if (s->kind == AU_SITE_HOLE) {
		site_put(&o, call_jmp, sizeof(call_jmp));
		site_rel32(&o, behind);
	} else {
		site_put(&o, jmp_nop, sizeof(jmp_nop));
		site_rel32(&o, s->call);
	}
	site_put(&o, lea_rcx, sizeof(lea_rcx));
	site_rel32(&o, behind);
	site_put(&o, ours, sizeof(ours));
	site_put(&o, call_mem, sizeof(call_mem));
	site_rel32(&o, entry);
	site_put(&o, home, sizeof(home));
	site_put(&o, jmp, sizeof(jmp));
	site_rel32(&o, behind);
	return o.far ? 0 : (size_t)(o.p - to);
}

static bool site_jump(struct au_edit *e, uint8_t *byte, const uint8_t *from,
		      const uint8_t *to)
{
	intptr_t d = to - (from + SITE_JUMP);
	int32_t rel = (int32_t)d;

	byte[0] = 0xe9;
	memcpy(byte + 1, &rel, sizeof(rel));
	return d == rel;
}

size_t au_site_edits(const struct au_site *s, const uint8_t *stub,
		     struct au_edit edits[2])
{
	struct au_edit *e = &edits[0];
	int skip = s->live ? SITE_SHORT : 0;

	/* What is left over of an instruction is never run. */
	memset(edits, 0xcc, 2 * sizeof(*edits));
	e->at = s->from;
	e->len = s->len;
	if (s->live) {
		e->byte[0] = 0xeb;
		e->byte[1] = (uint8_t)(s->len - SITE_SHORT);
	}
	if (!site_jump(e, e->byte + skip, s->from + skip, stub))
		return 0;
	if (s->kind == AU_SITE_LEAD)
		return 1;
	e = &edits[1];
	e->at = s->call;
	e->len = SITE_SHORT;
	e->byte[0] = 0xeb;
	e->byte[1] = (uint8_t)(s->from + skip - (s->call + SITE_SHORT));
	return 2;
}

#endif
