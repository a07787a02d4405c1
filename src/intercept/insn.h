/* SPDX-License-Identifier: MIT */
/*
 * x86-64 instructions, as far as patching needs them: how long one is, and
 * whether it does the same at another address. Pure functions of the bytes.
 */
#ifndef AU_INTERCEPT_INSN_H
#define AU_INTERCEPT_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AU_INSN_MAX 15

struct au_insn {
	uint8_t len;
	uint8_t map; /* 0: one byte, 1: 0f, 2: 0f 38, 3: 0f 3a */
	uint8_t opcode;
	uint8_t modrm; /* where `has_modrm` */
	uint8_t rex;
	uint8_t imm; /* bytes of the immediate, which ends the instruction */
	uint8_t rip_at; /* offset of a displacement relative to rip, or 0 */
	bool has_modrm;
	bool vex; /* VEX or EVEX */
	bool p66, rep, p67, lock; /* prefixes; rep is f2 or f3 */
};

/* False for what is unknown, invalid in 64-bit mode, or passes `end`. */
bool au_insn_decode(const uint8_t *p, const uint8_t *end, struct au_insn *in);

/*
 * A plain instruction of the forms compilers put between system calls, which
 * does not jump, and does the same elsewhere once rip_at is corrected.
 */
bool au_insn_plain(const struct au_insn *in);
bool au_insn_is_syscall(const struct au_insn *in);
/* Does it never go on to what follows? A call may, so it is not meant. */
bool au_insn_is_end(const struct au_insn *in);
bool au_insn_is_nop(const struct au_insn *in);
/* Does it load a constant into eax or rax, the whole of it? */
bool au_insn_loads_eax(const struct au_insn *in, const uint8_t *p,
		       uint32_t *value);

#endif
