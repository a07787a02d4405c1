/* SPDX-License-Identifier: MIT */
/*
 * Call sites that jump to the engine instead of trapping: fills the stubs and
 * swaps the pages of text that change.
 *
 * Runs in the constructor, in two steps: au_patch_prepare() before the trap
 * is set, since a filter has to know of the stubs, au_patch_commit() behind.
 * Only while there is one thread. A page of text is never writable: a changed
 * copy of it, made executable, takes its place at once; where the system
 * refuses any step the text stays as it is and the trap serves it. Whatever
 * is not patched for certain is left to the trap.
 */
#include "intercept/intercept.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "intercept/arch.h"
#include "intercept/patch.h"

#if AU_ARCH_TRAP

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum {
	PATCH_MAX = 512, /* sites; liburing has 90 */
	PATCH_SLOT = 64, /* before the stubs: the address they call */
};

unsigned int au_arch_vectors = AU_VECTORS_SSE;
unsigned int au_arch_vectors_size = AU_VECTORS_SIZE;

static struct au_site patch_site[PATCH_MAX];
static struct au_edit patch_edit[2 * PATCH_MAX];
static size_t patch_edits;

struct patch_arg {
	struct au_scan *s;
	size_t sites;
};

static bool patch_wanted(void)
{
	const char *v = getenv("ANYURING_PATCH");

	return !v || strcmp(v, "0");
}

/* /proc/self/task has a link for each thread, and two of its own. */
static bool patch_alone(void)
{
	struct stat st;

	return au_syscall(SYS_stat, "/proc/self/task", &st) == 0 &&
	       st.st_nlink == 3;
}

static bool patch_failed(long ret)
{
	return ret < 0 && ret >= -4095;
}

/*
 * Room within reach of [lo, hi), below it: above a program lies its heap, and
 * above the libraries the stack, and both grow.
 */
static uint8_t *patch_map(uintptr_t lo, uintptr_t hi, size_t len)
{
	const uintptr_t far = 1UL << 30;
	uintptr_t at;
	long ret;

	lo &= ~(AU_PATCH_PAGE - 1);
	if (hi - lo > far)
		return NULL;
	for (uintptr_t d = 0; d <= far; d = d ? d * 2 : 1UL << 16) {
		if (lo < d + len + (1UL << 16))
			break;
		at = lo - d - len;
		ret = au_syscall(SYS_mmap, at, len,
				 (long)(PROT_READ | PROT_WRITE),
				 (long)(MAP_PRIVATE | MAP_ANONYMOUS |
					MAP_FIXED_NOREPLACE),
				 -1L, 0L);
		if (ret == (long)at)
			return (uint8_t *)at;
		if (!patch_failed(ret)) /* an old kernel took it for a hint */
			au_syscall(SYS_munmap, ret, len);
	}
	return NULL;
}

/* The sites of one executable segment. */
static size_t patch_find(const struct dl_phdr_info *o, const uint8_t *p,
			 const uint8_t *end, size_t nr)
{
	struct au_func f;

	for (p = au_scan_syscall(p, end); p && nr < PATCH_MAX;
	     p = au_scan_syscall(p, end)) {
		if (!au_func_find(o, p, &f) || f.end > end) {
			p++;
			continue;
		}
		nr = au_site_find(&f, patch_site, nr, PATCH_MAX);
		p = f.end;
	}
	return nr;
}

/* The stubs of one segment's sites. */
static void patch_stubs(struct patch_arg *arg, const struct au_text *text,
			size_t nr)
{
	void (*const enter)(void) = au_arch_enter;
	size_t len = PATCH_SLOT + nr * AU_STUB_SIZE;
	struct au_text t;
	uint8_t *mem, *at;
	size_t n;

	len = (len + AU_PATCH_PAGE - 1) & ~(AU_PATCH_PAGE - 1);
	if (arg->s->nr >= AU_TEXT_MAX)
		return;
	mem = patch_map(text->start, text->end, len);
	if (!mem)
		return;
	memset(mem, 0xcc, len);
	memcpy(mem, &enter, sizeof(enter));
	at = mem + PATCH_SLOT;
	for (size_t i = 0; i < nr; i++, at += AU_STUB_SIZE) {
		n = 0;
		if (au_site_stub(&patch_site[i], at, mem))
			n = au_site_edits(&patch_site[i], at,
					  &patch_edit[patch_edits]);
		patch_edits += n;
		arg->sites += n != 0;
	}
	if (au_syscall(SYS_mprotect, mem, len, (long)(PROT_READ | PROT_EXEC))) {
		au_syscall(SYS_munmap, mem, len);
		patch_edits = 0;
		arg->sites = 0;
		return;
	}
	t.start = (uintptr_t)mem;
	t.end = t.start + len;
	t.fixed = text->fixed;
	arg->s->text[arg->s->nr++] = t;
}

static const struct au_text *patch_text(const struct au_scan *s, uintptr_t at)
{
	for (int i = 0; i < s->nr; i++)
		if (s->text[i].start == at)
			return &s->text[i];
	return NULL;
}

static int patch_object(struct dl_phdr_info *o, size_t size, void *data)
{
	struct patch_arg *arg = data;
	const struct au_text *text;
	const ElfW(Phdr) * ph;
	const uint8_t *p;
	size_t nr;

	for (int i = 0; i < o->dlpi_phnum; i++) {
		ph = &o->dlpi_phdr[i];
		if (ph->p_type != PT_LOAD || (ph->p_flags & PF_W) ||
		    (ph->p_flags & (PF_X | PF_R)) != (PF_X | PF_R))
			continue;
		p = (const uint8_t *)o->dlpi_addr + ph->p_vaddr;
		text = patch_text(arg->s, (uintptr_t)p);
		if (!text)
			continue;
		nr = patch_find(o, p, p + ph->p_filesz, 0);
		if (nr + patch_edits / 2 > PATCH_MAX)
			nr = PATCH_MAX - patch_edits / 2;
		if (nr)
			patch_stubs(arg, text, nr);
	}
	return 0;
}

size_t au_patch_prepare(struct au_scan *s)
{
	struct patch_arg arg = { s, 0 };

	/* A goroutine's stack is too small for the engine. */
	if (!s->found || s->go || !patch_wanted() || !patch_alone() ||
	    !au_arch_vectors_init())
		return 0;
	dl_iterate_phdr(patch_object, &arg);
	return arg.sites;
}

static uintptr_t patch_page(const struct au_edit *e)
{
	return (uintptr_t)e->at & ~(AU_PATCH_PAGE - 1);
}

/* One page of text and all its changes, or none. */
static bool patch_swap(uintptr_t page)
{
	const struct au_edit *e;
	uint8_t *copy;
	long ret;

	ret = au_syscall(SYS_mmap, 0L, AU_PATCH_PAGE,
			 (long)(PROT_READ | PROT_WRITE),
			 (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L);
	if (patch_failed(ret))
		return false;
	copy = (uint8_t *)ret;
	memcpy(copy, (const void *)page, AU_PATCH_PAGE);
	for (size_t i = 0; i < patch_edits; i++) {
		e = &patch_edit[i];
		if (patch_page(e) == page)
			memcpy(copy + ((uintptr_t)e->at - page), e->byte,
			       e->len);
	}
	ret = au_syscall(SYS_mprotect, copy, AU_PATCH_PAGE,
			 (long)(PROT_READ | PROT_EXEC));
	if (!ret)
		ret = au_syscall(SYS_mremap, copy, AU_PATCH_PAGE, AU_PATCH_PAGE,
				 (long)(MREMAP_MAYMOVE | MREMAP_FIXED), page);
	if (ret != (long)page)
		au_syscall(SYS_munmap, copy, AU_PATCH_PAGE);
	return ret == (long)page;
}

bool au_patch_commit(void)
{
	uintptr_t done = 0;
	bool all = true;

	/* The edits come in the order of their pages, as the text was read. */
	for (size_t i = 0; i < patch_edits; i++) {
		if (patch_page(&patch_edit[i]) == done)
			continue;
		done = patch_page(&patch_edit[i]);
		all &= patch_swap(done);
	}
	return all;
}

#else

size_t au_patch_prepare(struct au_scan *s)
{
	return 0;
}

bool au_patch_commit(void)
{
	return false;
}

#endif
