/* SPDX-License-Identifier: MIT */
/*
 * Call sites of system calls, and how one is made to jump to the engine
 * instead. site.c looks at bytes only; patch.c changes the process's text.
 * docs/decisions/patching.md has the reasons.
 *
 * Only whole instructions are replaced, one by one, so no jump of the program
 * can land in the middle of what is written.
 */
#ifndef AU_INTERCEPT_PATCH_H
#define AU_INTERCEPT_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "intercept/func.h"

#define AU_PATCH_PAGE 4096UL

/* Bytes of code a stub may take: the copies, and what follows them. */
#define AU_STUB_COPY 64
#define AU_STUB_SIZE 144

enum au_site_kind {
	AU_SITE_HOLE, /* `syscall` becomes a short jump to a jump in padding */
	AU_SITE_LEAD, /* an instruction before `syscall` becomes the jump */
};

struct au_site {
	enum au_site_kind kind;
	const uint8_t *call; /* the `syscall` */
	const uint8_t *from; /* the instruction or the hole that is replaced */
	uint8_t len; /* bytes of it */
	bool live; /* a hole that is run through, so jump over the jump */
};

/* Bytes [at, at + len) of text become byte[]; they lie in one page. */
struct au_edit {
	const uint8_t *at;
	uint8_t len;
	uint8_t byte[16];
};

/*
 * Add to the `nr` sites known so far those of one function that may carry
 * io_uring's numbers and can be replaced for certain; returns the new count.
 * Adds none if the function cannot be read to its end.
 */
size_t au_site_find(const struct au_func *f, struct au_site *sites, size_t nr,
		    size_t max);

/*
 * Write the code a site jumps to, at `to`, where it will run; `entry` is where
 * the address of au_arch_enter is kept. 0 if something is out of reach.
 */
size_t au_site_stub(const struct au_site *s, uint8_t *to, const uint8_t *entry);

/* The changes that make the site jump to `stub`; how many, or 0. */
size_t au_site_edits(const struct au_site *s, const uint8_t *stub,
		     struct au_edit edits[2]);

#endif
