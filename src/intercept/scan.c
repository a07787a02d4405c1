/* SPDX-License-Identifier: MIT */
/*
 * Which objects of the process make io_uring calls inline, and where is libc?
 *
 * Runs once, in the constructor. libc, the dynamic linker, the vdso and the
 * preload itself are left out: their calls are not the application's.
 */
#include "intercept/intercept.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

struct scan_arg {
	struct au_scan *s;
	bool all;
};

static bool scan_holds(const struct dl_phdr_info *o, const void *addr)
{
	uintptr_t at = (uintptr_t)addr;
	const ElfW(Phdr) * ph;
	uintptr_t start;

	for (int i = 0; i < o->dlpi_phnum; i++) {
		ph = &o->dlpi_phdr[i];
		start = o->dlpi_addr + ph->p_vaddr;
		if (ph->p_type == PT_LOAD && at >= start &&
		    at < start + ph->p_memsz)
			return true;
	}
	return false;
}

static bool scan_named(const struct dl_phdr_info *o, const char *prefix)
{
	const char *base = strrchr(o->dlpi_name, '/');

	base = base ? base + 1 : o->dlpi_name;
	return !strncmp(base, prefix, strlen(prefix));
}

/* What does not fit is not watched: a range must never reach over libc. */
static void scan_add(struct au_scan *s, struct au_text t)
{
	if (s->nr < AU_TEXT_MAX)
		s->text[s->nr++] = t;
}

static bool scan_inline(const struct dl_phdr_info *o)
{
	const ElfW(Phdr) * ph;
	uintptr_t text, page;

	for (int i = 0; i < o->dlpi_phnum; i++) {
		ph = &o->dlpi_phdr[i];
		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) ||
		    !(ph->p_flags & PF_R))
			continue;
		text = o->dlpi_addr + ph->p_vaddr;
		page = text & ~4095UL;
		/* In one call instead of a fault for every 64 KiB. */
		au_syscall(SYS_madvise, page, text - page + ph->p_filesz,
			   (long)MADV_POPULATE_READ);
		if (au_scan_text((const void *)text, ph->p_filesz))
			return true;
	}
	return false;
}

/* A Go binary carries a note of its own. */
static bool scan_is_go(const struct dl_phdr_info *o)
{
	const ElfW(Phdr) * ph;
	const ElfW(Nhdr) * n;
	uintptr_t at, end;

	for (int i = 0; i < o->dlpi_phnum; i++) {
		ph = &o->dlpi_phdr[i];
		if (ph->p_type != PT_NOTE)
			continue;
		at = o->dlpi_addr + ph->p_vaddr;
		end = at + ph->p_memsz;
		while (at + sizeof(*n) <= end) {
			n = (const void *)at;
			if (n->n_namesz == 4 && !memcmp(n + 1, "Go\0", 4))
				return true;
			at += sizeof(*n) + ((n->n_namesz + 3UL) & ~3UL) +
			      ((n->n_descsz + 3UL) & ~3UL);
		}
	}
	return false;
}

/* The runtime's own objects: no call of theirs is the application's. */
static bool scan_skips(const struct dl_phdr_info *o)
{
	unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
	unsigned long ld = getauxval(AT_BASE);

	if (scan_holds(o, (const void *)scan_skips))
		return true;
	if (vdso && scan_holds(o, (const void *)vdso))
		return true;
	if (ld && o->dlpi_addr == ld)
		return true;
#ifdef AU_FRONT
	/* Every symbol of liburing is ours: its own code never runs. */
	if (scan_named(o, "liburing.so") || scan_named(o, "liburing-ffi.so"))
		return true;
#endif
	return scan_named(o, "libpthread.so") || scan_named(o, "libpthread-");
}

static int scan_object(struct dl_phdr_info *o, size_t size, void *data)
{
	struct scan_arg *arg = data;
	struct au_scan *s = arg->s;
	const ElfW(Phdr) * ph;
	bool libc, hit;
	struct au_text t;

	libc = scan_holds(o, (const void *)au_real()->syscall);
	if (!libc && scan_skips(o))
		return 0;
	hit = !libc && scan_inline(o);
	if (hit && !s->found) {
		s->found = true;
		strncpy(s->name, *o->dlpi_name ? o->dlpi_name : "the program",
			sizeof(s->name) - 1);
	}
	if (hit && scan_is_go(o))
		s->go = true;
	for (int i = 0; i < o->dlpi_phnum; i++) {
		ph = &o->dlpi_phdr[i];
		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		t.start = o->dlpi_addr + ph->p_vaddr;
		t.end = t.start + ph->p_memsz;
		t.fixed = !o->dlpi_addr;
		if (libc)
			s->libc = t;
		else if (hit || arg->all)
			scan_add(s, t);
	}
	return 0;
}

void au_scan(struct au_scan *s, bool all)
{
	struct scan_arg arg = { s, all };

	memset(s, 0, sizeof(*s));
	dl_iterate_phdr(scan_object, &arg);
}

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

bool au_scan_own_text(const void *addr)
{
	const char *p = addr;

	return p >= __ehdr_start && p < etext;
}
