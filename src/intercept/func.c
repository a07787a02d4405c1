/* SPDX-License-Identifier: MIT */
/*
 * Reads .eh_frame_hdr, a sorted table of function starts, and the entries of
 * .eh_frame it points to, for their lengths. Only the encodings that linkers
 * and compilers write for x86-64 are read. Runs in the constructor.
 */
#include "intercept/func.h"

#include <stddef.h>
#include <string.h>

#ifndef PT_GNU_EH_FRAME
#define PT_GNU_EH_FRAME 0x6474e550
#endif

enum {
	FUNC_PCREL4 = 0x1b, /* DW_EH_PE_pcrel | sdata4 */
	FUNC_DATAREL4 = 0x3b, /* DW_EH_PE_datarel | sdata4 */
	FUNC_UDATA4 = 0x03,
};

struct func_table {
	const uint8_t *hdr;
	const uint8_t *lo, *hi; /* the mapped segment that holds the table */
	uint32_t nr;
};

static int32_t func_word(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static bool func_mapped(const struct func_table *t, const uint8_t *p, size_t n)
{
	return p >= t->lo && p <= t->hi && n <= (size_t)(t->hi - p);
}

static bool func_table(const struct dl_phdr_info *o, struct func_table *t)
{
	const uint8_t *base = (const uint8_t *)o->dlpi_addr;
	const ElfW(Phdr) * ph;

	*t = (struct func_table){ 0 };
	for (int i = 0; i < o->dlpi_phnum; i++)
		if (o->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			t->hdr = base + o->dlpi_phdr[i].p_vaddr;
	if (!t->hdr)
		return false;
	for (int i = 0; i < o->dlpi_phnum; i++) {
		ph = &o->dlpi_phdr[i];
		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_R) ||
		    t->hdr < base + ph->p_vaddr ||
		    t->hdr >= base + ph->p_vaddr + ph->p_filesz)
			continue;
		t->lo = base + ph->p_vaddr;
		t->hi = t->lo + ph->p_filesz;
	}
	if (!t->lo || !func_mapped(t, t->hdr, 12) || t->hdr[0] != 1 ||
	    t->hdr[1] != FUNC_PCREL4 || t->hdr[2] != FUNC_UDATA4 ||
	    t->hdr[3] != FUNC_DATAREL4)
		return false;
	t->nr = (uint32_t)func_word(t->hdr + 8);
	return t->nr && func_mapped(t, t->hdr + 12, (size_t)t->nr * 8);
}

static const uint8_t *func_start(const struct func_table *t, uint32_t i)
{
	return t->hdr + func_word(t->hdr + 12 + (size_t)i * 8);
}

/* Are the addresses of this CIE's functions relative, of 4 bytes? */
static bool func_cie(const struct func_table *t, const uint8_t *cie)
{
	const uint8_t *p = cie + 9;
	const char *aug;
	size_t left, len;

	if (!func_mapped(t, cie, 24) || func_word(cie + 4) || cie[8] != 1)
		return false;
	left = (size_t)(t->hi - p);
	aug = (const char *)p;
	len = strnlen(aug, left);
	if (len == left || aug[0] != 'z')
		return false;
	p += len + 1;
	/* Alignment factors, the register, the length: each one LEB128. */
	for (int i = 0; i < 4; i++) {
		while (p < t->hi && (*p & 0x80))
			p++;
		p++;
	}
	for (aug++; *aug; aug++) {
		if (!func_mapped(t, p, 10))
			return false;
		switch (*aug) {
		case 'R':
			return *p == FUNC_PCREL4;
		case 'L':
			p++;
			break;
		case 'P':
			if ((*p & 0x0f) != 0x0b && (*p & 0x0f) != 0x03)
				return false;
			p += 5;
			break;
		case 'S':
			break;
		default:
			return false;
		}
	}
	return false;
}

/* The end of the table's function `i`, or NULL. */
static const uint8_t *func_end(const struct func_table *t, uint32_t i)
{
	const uint8_t *fde = t->hdr + func_word(t->hdr + 16 + (size_t)i * 8);
	int32_t back, range;

	if (!func_mapped(t, fde, 16))
		return NULL;
	back = func_word(fde + 4);
	if (back <= 0 || fde + 4 - back < t->lo || !func_cie(t, fde + 4 - back))
		return NULL;
	if (fde + 8 + func_word(fde + 8) != func_start(t, i))
		return NULL;
	range = func_word(fde + 12);
	return range > 0 ? func_start(t, i) + range : NULL;
}

bool au_func_find(const struct dl_phdr_info *o, const uint8_t *at,
		  struct au_func *f)
{
	const uint8_t *end;
	struct func_table t;
	uint32_t lo = 0, hi, mid;

	if (!func_table(o, &t))
		return false;
	/* The last start that is not above `at`. */
	for (hi = t.nr; hi - lo > 1;) {
		mid = lo + (hi - lo) / 2;
		if (func_start(&t, mid) <= at)
			lo = mid;
		else
			hi = mid;
	}
	f->start = func_start(&t, lo);
	f->end = func_end(&t, lo);
	if (!f->end || at < f->start || at >= f->end)
		return false;
	f->prev = f->start;
	f->before = f->start;
	f->after = f->end;
	end = lo ? func_end(&t, lo - 1) : NULL;
	if (end && end < f->start) {
		f->prev = func_start(&t, lo - 1);
		f->before = end;
	}
	if (lo + 1 < t.nr && func_start(&t, lo + 1) < f->end)
		return false; /* overlapping: something is odd */
	if (lo + 1 < t.nr)
		f->after = func_start(&t, lo + 1);
	return true;
}
