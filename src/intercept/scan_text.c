/* SPDX-License-Identifier: MIT */
/*
 * Does this machine code make io_uring calls inline? Two signs, either will
 * do:
 *  - one of io_uring's numbers is loaded into rax and a `syscall` follows
 *    closely: a call compiled in place, as of liburing, fio, Rust, Zig;
 *  - setup's and enter's are loaded somewhere, and there is a `syscall` whose
 *    number comes from a register or from memory: a wrapper that was not
 *    inlined, as in a debug build.
 * The bytes are searched, not decoded: a false alarm costs its process the
 * trap, no more. Of 2367 objects of a Debian system with development tools
 * seven were false alarms.
 */
#include "intercept/intercept.h"

#include "intercept/arch.h"

#if AU_ARCH_TRAP

#include <emmintrin.h>

typedef unsigned char byte;

enum {
	/* io_uring_setup, enter and register are 0x1a9 to 0x1ab */
	TEXT_NR_LOW = 0xa9,
	TEXT_NR_LAST = 0xab,
	TEXT_NR_HIGH = 0x01,
	TEXT_CLOSE = 100, /* bytes from the number to the syscall */
	TEXT_BEFORE = 48, /* bytes from the move into rax to the syscall */
};

/* `mov $nr, %eax` or `mov $nr, %rax`: `at` is where the number is. */
static bool text_loads_rax(const byte *start, const byte *at)
{
	return (at - start >= 1 && at[-1] == 0xb8) ||
	       (at - start >= 3 && at[-3] == 0x48 && at[-2] == 0xc7 &&
		at[-1] == 0xc0);
}

/* Into any register, or onto the stack. */
static bool text_loads(const byte *start, const byte *at)
{
	if (at - start >= 1 &&
	    ((at[-1] >= 0xb8 && at[-1] <= 0xbf) || at[-1] == 0x68))
		return true;
	if (at - start >= 2 && at[-2] == 0xc7 && at[-1] >= 0xc0 &&
	    at[-1] <= 0xc7)
		return true;
	return at - start >= 3 && at[-3] == 0xc7 &&
	       (at[-2] == 0x45 || at[-2] == 0x04 || at[-2] == 0x44);
}

/* libc's memmem is slow on two bytes. */
const byte *au_scan_syscall(const byte *p, const byte *end)
{
	const __m128i first = _mm_set1_epi8((char)au_arch_insn[0]);
	const __m128i second = _mm_set1_epi8((char)au_arch_insn[1]);
	__m128i a, b;
	unsigned int hits;

	for (; end - p >= 17; p += 16) {
		a = _mm_loadu_si128((const void *)p);
		b = _mm_loadu_si128((const void *)(p + 1));
		a = _mm_and_si128(_mm_cmpeq_epi8(a, first),
				  _mm_cmpeq_epi8(b, second));
		hits = (unsigned int)_mm_movemask_epi8(a);
		if (hits)
			return p + __builtin_ctz(hits);
	}
	for (; end - p >= 2; p++)
		if (p[0] == au_arch_insn[0] && p[1] == au_arch_insn[1])
			return p;
	return NULL;
}

/* Something is moved into rax shortly before, from a register or memory. */
static bool text_moves_rax(const byte *start, const byte *at)
{
	const byte *p = at - start > TEXT_BEFORE ? at - TEXT_BEFORE : start;

	for (; p + 3 <= at; p++) {
		if (p[0] != 0x48 && p[0] != 0x4c)
			continue;
		/* mov %reg, %rax, or mov memory, %rax */
		if (p[1] == 0x89 && (p[2] & 0xc7) == 0xc0)
			return true;
		if (p[1] == 0x8b && (p[2] & 0x38) == 0)
			return true;
	}
	return false;
}

/* What compilers put behind a syscall: return, pops, tests, moves. */
static bool text_goes_on(const byte *p, const byte *end)
{
	if (p >= end)
		return false;
	switch (p[0]) {
	case 0xc3:
	case 0xc9:
	case 0x5b:
	case 0x5d:
	case 0x89:
		return true;
	case 0x48:
		return end - p >= 2 &&
		       (p[1] == 0x89 || p[1] == 0x8b || p[1] == 0x8d ||
			p[1] == 0x3d || p[1] == 0x83);
	default:
		return false;
	}
}

static bool text_has_wrapper(const byte *start, const byte *end)
{
	const byte *p = au_scan_syscall(start, end);

	for (; p; p = au_scan_syscall(p + 1, end))
		if (text_goes_on(p + 2, end) && text_moves_rax(start, p))
			return true;
	return false;
}

/* Is one of the numbers at `p`, as 32 bits? */
static bool text_is_number(const byte *p)
{
	return p[0] >= TEXT_NR_LOW && p[0] <= TEXT_NR_LAST &&
	       p[1] == TEXT_NR_HIGH && !p[2] && !p[3];
}

/* The next number; text is large and read cold, so 16 bytes at a time. */
static const byte *text_number(const byte *p, const byte *end)
{
	const __m128i base = _mm_set1_epi8((char)(TEXT_NR_LOW - 128));
	const __m128i span = _mm_set1_epi8(TEXT_NR_LAST - TEXT_NR_LOW - 128);
	const __m128i high = _mm_set1_epi8(TEXT_NR_HIGH);
	__m128i a, b;
	unsigned int hits;

	for (; end - p >= 32; p += 16) {
		a = _mm_loadu_si128((const void *)p);
		b = _mm_loadu_si128((const void *)(p + 1));
		/* a - LOW <= LAST - LOW, unsigned by way of signed */
		a = _mm_cmpgt_epi8(_mm_sub_epi8(a, base), span);
		b = _mm_cmpeq_epi8(b, high);
		hits = (unsigned int)_mm_movemask_epi8(_mm_andnot_si128(a, b));
		for (; hits; hits &= hits - 1)
			if (text_is_number(p + __builtin_ctz(hits)))
				return p + __builtin_ctz(hits);
	}
	for (; end - p >= 4; p++)
		if (text_is_number(p))
			return p;
	return NULL;
}

bool au_scan_text(const void *text, size_t len)
{
	const byte *start = text, *end = start + len;
	const byte *at, *stop;
	unsigned int seen = 0;

	for (at = text_number(start, end); at; at = text_number(at + 1, end)) {
		stop = end - at > TEXT_CLOSE ? at + TEXT_CLOSE : end;
		if (text_loads_rax(start, at) && au_scan_syscall(at + 4, stop))
			return true;
		if (text_loads(start, at))
			seen |= 1U << (at[0] - TEXT_NR_LOW);
	}
	return (seen & 3) == 3 && text_has_wrapper(start, end);
}

#else

bool au_scan_text(const void *text, size_t len)
{
	return false;
}

#endif
