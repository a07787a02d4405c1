/* SPDX-License-Identifier: MIT */
/*
 * The length of x86-64 instructions, by one letter for each opcode:
 *
 *	.  nothing follows            m  ModRM
 *	b  ModRM, imm8                z  ModRM, imm16/32
 *	i  imm8                       I  imm16/32
 *	v  imm16/32/64 (mov)          o  an address of 8 bytes
 *	w  imm16                      e  enter's imm16, imm8
 *	r  rel8                       R  rel32
 *	t, T  f6, f7: an immediate for /0 and /1 only
 *	p  a prefix                   x  not here: invalid, unknown, escape
 *
 * Whatever is in doubt is refused: the caller then leaves the code alone.
 */
#include "intercept/insn.h"

#include "intercept/arch.h"

#if AU_ARCH_TRAP

/* clang-format off */
static const char insn_one[] =
	"mmmmiIxx" "mmmmiIxx" /* 00 */
	"mmmmiIxx" "mmmmiIxx"
	"mmmmiIpx" "mmmmiIpx" /* 20 */
	"mmmmiIpx" "mmmmiIpx"
	"xxxxxxxx" "xxxxxxxx" /* 40: REX, handled before */
	"........" "........"
	"xxxmpppp" "IzibXXXX" /* 60 */
	"rrrrrrrr" "rrrrrrrr"
	"bzxbmmmm" "mmmmmmmm" /* 80 */
	"........" "..x....."
	"oooo...." "iI......" /* a0 */
	"iiiiiiii" "vvvvvvvv"
	"bbw.xxbz" "e.w..ix." /* c0 */
	"mmmmxxx." "mmmmmmmm"
	"rrrriiii" "RRxr...." /* e0 */
	"p.pp..tT" "......mm";

static const char insn_0f[] =
	"mmmmx..." "..x.xm.x" /* 00 */
	"mmmmmmmm" "mmmmmmmm"
	"mmmmxxxx" "mmmmmmmm" /* 20 */
	"......x." "xxxxxxxx"
	"mmmmmmmm" "mmmmmmmm" /* 40 */
	"mmmmmmmm" "mmmmmmmm"
	"mmmmmmmm" "mmmmmmmm" /* 60 */
	"bbbbmmm." "xxxxmmmm"
	"RRRRRRRR" "RRRRRRRR" /* 80 */
	"mmmmmmmm" "mmmmmmmm"
	"...mbmxx" "...mbmmm" /* a0 */
	"mmmmmmmm" "mmbmmmmm"
	"mmbmbbbm" "........" /* c0 */
	"mmmmmmmm" "mmmmmmmm"
	"mmmmmmmm" "mmmmmmmm" /* e0 */
	"mmmmmmmm" "mmmmmmmm";
/* clang-format on */

_Static_assert(sizeof(insn_one) == 257 && sizeof(insn_0f) == 257,
	       "one letter for each opcode");

/* The prefixes up to the opcode; the REX, if any, is the last. */
static const uint8_t *insn_prefixes(const uint8_t *p, const uint8_t *end,
				    struct au_insn *in)
{
	for (; p < end && insn_one[*p] == 'p'; p++) {
		in->p66 |= *p == 0x66;
		in->p67 |= *p == 0x67;
		in->lock |= *p == 0xf0;
		in->rep |= *p == 0xf2 || *p == 0xf3;
	}
	if (p < end && (*p & 0xf0) == 0x40)
		in->rex = *p++;
	return p;
}

/* VEX (c4, c5) and EVEX (62): where the opcode is, or NULL. */
static const uint8_t *insn_vex(const uint8_t *p, const uint8_t *end,
			       struct au_insn *in)
{
	int skip = *p == 0xc5 ? 2 : *p == 0xc4 ? 3 : 4;

	if (in->p66 || in->rep || in->lock || in->rex || end - p <= skip)
		return NULL;
	in->vex = true;
	in->map = *p == 0xc5 ? 1 : *p == 0xc4 ? p[1] & 0x1f : p[1] & 0x0f;
	return in->map >= 1 && in->map <= 3 ? p + skip : NULL;
}

static char insn_form(const struct au_insn *in)
{
	switch (in->map) {
	case 0:
		return insn_one[in->opcode];
	case 1:
		return insn_0f[in->opcode];
	case 2:
		return 'm';
	default:
		return 'b';
	}
}

static int insn_imm(const struct au_insn *in, char form)
{
	int word = in->p66 && !(in->rex & 8) ? 2 : 4;

	switch (form) {
	case 'b':
	case 'i':
	case 'r':
		return 1;
	case 'z':
	case 'I':
		return word;
	case 'v':
		return in->rex & 8 ? 8 : word;
	case 'o':
		return 8;
	case 'w':
		return 2;
	case 'e':
		return 3;
	case 'R':
		return 4;
	case 't':
		return (in->modrm & 0x30) ? 0 : 1;
	case 'T':
		return (in->modrm & 0x30) ? 0 : word;
	default:
		return 0;
	}
}

/* ModRM, SIB and displacement; NULL past the end. */
static const uint8_t *insn_operand(const uint8_t *start, const uint8_t *p,
				   const uint8_t *end, struct au_insn *in)
{
	int mod, rm;

	if (p >= end)
		return NULL;
	in->has_modrm = true;
	in->modrm = *p++;
	mod = in->modrm >> 6;
	rm = in->modrm & 7;
	if (mod == 3)
		return p;
	if (rm == 4) {
		if (p >= end)
			return NULL;
		if (!mod && (*p & 7) == 5)
			mod = 2;
		p++;
	} else if (!mod && rm == 5) {
		in->rip_at = (uint8_t)(p - start);
		mod = 2;
	}
	return p + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

bool au_insn_decode(const uint8_t *start, const uint8_t *end,
		    struct au_insn *in)
{
	const uint8_t *p;
	char form;

	*in = (struct au_insn){ 0 };
	p = insn_prefixes(start, end, in);
	if (p >= end)
		return false;
	if (*p == 0xc4 || *p == 0xc5 || *p == 0x62) {
		p = insn_vex(p, end, in);
		if (!p)
			return false;
	} else if (*p == 0x0f) {
		if (++p >= end)
			return false;
		in->map = 1;
		if (*p == 0x38 || *p == 0x3a) {
			in->map = *p == 0x38 ? 2 : 3;
			p++;
		}
	}
	if (p >= end)
		return false;
	in->opcode = *p++;
	form = insn_form(in);
	if (form == 'p' || form == 'x' || form == 'X')
		return false;
	/* Processors disagree on these with 66 and 67. */
	if ((form == 'R' && in->p66 && !(in->rex & 8)) ||
	    (form == 'o' && in->p67))
		return false;
	/* pop is 8f /0; the others are AMD's XOP. */
	if (form == 'm' || form == 'b' || form == 'z' || form == 't' ||
	    form == 'T') {
		p = insn_operand(start, p, end, in);
		if (!p)
			return false;
		if (!in->map && in->opcode == 0x8f && (in->modrm & 0x38))
			return false;
	}
	in->imm = (uint8_t)insn_imm(in, form);
	p += in->imm;
	if (p > end || p - start > AU_INSN_MAX)
		return false;
	in->len = (uint8_t)(p - start);
	return true;
}

static bool insn_plain_one(const struct au_insn *in)
{
	int reg = in->modrm >> 3 & 7;

	switch (in->opcode) {
	case 0x00 ... 0x3f: /* add, or, and, sub, xor, cmp */
	case 0x50 ... 0x5f: /* push, pop */
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0x80 ... 0x8b: /* the same with a constant, test, xchg, mov */
	case 0x8d:
	case 0x98:
	case 0x99:
	case 0xa8:
	case 0xa9:
	case 0xb0 ... 0xbf:
	case 0xc0:
	case 0xc1:
	case 0xd0 ... 0xd3:
		return true;
	case 0xc6:
	case 0xc7:
		return reg == 0;
	case 0xf6:
	case 0xf7:
		return reg <= 3; /* no division: it may fault */
	case 0xfe:
	case 0xff:
		return reg <= 1;
	default:
		return false;
	}
}

static bool insn_plain_0f(const struct au_insn *in)
{
	switch (in->opcode) {
	case 0x10 ... 0x17: /* SSE */
	case 0x28 ... 0x2f:
	case 0x40 ... 0x4f: /* cmov */
	case 0x50 ... 0x76: /* SSE */
	case 0x7c ... 0x7f:
	case 0x90 ... 0x9f: /* setcc */
	case 0xa3: /* bt, and the double shifts */
	case 0xa4:
	case 0xa5:
	case 0xac:
	case 0xad:
	case 0xaf: /* imul */
	case 0xb6: /* movzx, movsx */
	case 0xb7:
	case 0xba:
	case 0xbc ... 0xbf:
	case 0xc6:
	case 0xc8 ... 0xcf: /* bswap */
	case 0xd0 ... 0xfe: /* SSE */
		return true;
	default:
		return false;
	}
}

bool au_insn_plain(const struct au_insn *in)
{
	if (in->p67 || in->lock)
		return false;
	if (in->vex || au_insn_is_nop(in))
		return true;
	if (in->map == 1)
		return insn_plain_0f(in);
	return !in->map && !in->rep && insn_plain_one(in);
}

bool au_insn_is_syscall(const struct au_insn *in)
{
	return in->map == 1 && !in->vex && in->opcode == 0x05 && in->len == 2;
}

bool au_insn_is_end(const struct au_insn *in)
{
	if (in->vex)
		return false;
	if (in->map)
		return in->map == 1 && in->opcode == 0x0b; /* ud2 */
	switch (in->opcode) {
	case 0xc2: /* ret */
	case 0xc3:
	case 0xe9: /* jmp */
	case 0xeb:
		return true;
	case 0xff:
		return (in->modrm >> 3 & 7) == 4;
	default:
		return false;
	}
}

bool au_insn_is_nop(const struct au_insn *in)
{
	if (in->vex || in->lock || in->rep || in->p67)
		return false;
	if (in->map == 1)
		return in->opcode == 0x1f && !(in->modrm & 0x38);
	return !in->map && in->opcode == 0x90 && !in->rex;
}

bool au_insn_loads_eax(const struct au_insn *in, const uint8_t *p,
		       uint32_t *value)
{
	bool move, clear;

	if (in->map || in->vex || in->p66)
		return false;
	move = (in->opcode == 0xb8 && in->imm == 4 && !(in->rex & 1)) ||
	       (in->opcode == 0xc7 && in->modrm == 0xc0 && !(in->rex & 1));
	clear = (in->opcode == 0x31 || in->opcode == 0x33) &&
		in->modrm == 0xc0 && !(in->rex & 5);
	if (move)
		__builtin_memcpy(value, p + in->len - 4, 4);
	else if (clear)
		*value = 0;
	return move || clear;
}

#endif
