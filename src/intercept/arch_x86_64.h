/* SPDX-License-Identifier: MIT */
/*
 * x86-64: the registers of a trapped call, how to send it on its way, and the
 * entry points that cannot be written in C (arch_x86_64.S holds them).
 *
 * A trapped call leaves the application's registers as they were before the
 * `syscall`, RIP behind it. A call that is not ours is not made in the
 * handler: the context is bent so that the application itself makes it, at a
 * `syscall; ret` of libc (which dispatch and filter let pass), and comes back
 * through a stub below its red zone. So masks, signal stacks, restarts and
 * non-local jumps behave as if nothing had happened.
 */
#ifndef AU_INTERCEPT_ARCH_X86_64_H
#define AU_INTERCEPT_ARCH_X86_64_H

#include <cpuid.h>
#include <errno.h>
#include <linux/audit.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>
#include "intercept/arch_x86_64_vectors.h"

#define AU_ARCH_TRAP     1
#define AU_ARCH_AUDIT    AUDIT_ARCH_X86_64
#define AU_ARCH_INSN_LEN 2
#define AU_ARCH_RED_ZONE 128

/* The bytes of `syscall`, and of the `syscall; ret` the calls are sent to. */
static const unsigned char au_arch_insn[] = { 0x0f, 0x05 };
static const unsigned char au_arch_gadget[] = { 0x0f, 0x05, 0xc3 };

/* In arch_x86_64.S; each is entered by a bent context, never called. */
void au_arch_return(void);
void au_arch_clone_thread(void);
void au_arch_clone_fork(void);
void au_arch_clone_vfork(void);
/* Called by the stubs of patched sites; it calls au_patch_call(). */
void au_arch_enter(void);
long au_arch_syscall(long nr, ...);
int au_arch_vfork_raw(void);
extern void *au_arch_real_vfork;

/* AU_VECTORS_* */
extern unsigned int au_arch_vectors;
extern unsigned int au_arch_vectors_size; /* bytes of stack they take */

/* Does xgetbv say what is in use, and are there moves for all of it? */
static inline bool au_arch_has_avx512(unsigned int leaf_13_1)
{
	unsigned int a, b, c, d;

	return (leaf_13_1 & 4) && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
	       (b & bit_AVX512VL) && (b & bit_AVX512BW);
}

/* False if they cannot be kept: then nothing is patched. */
static inline bool au_arch_vectors_init(void)
{
	unsigned int a, b, c, d, xcr0;

	au_arch_vectors = AU_VECTORS_SSE;
	au_arch_vectors_size = AU_VECTORS_SIZE;
	if (!__get_cpuid(1, &a, &b, &c, &d))
		return false;
	if (!(c & bit_OSXSAVE))
		return true;
	__asm__("xgetbv" : "=a"(xcr0), "=d"(d) : "c"(0));
	if (!(xcr0 & AU_XCR0_AVX))
		return true;
	au_arch_vectors = AU_VECTORS_AVX;
	if (!(xcr0 & AU_XCR0_AVX512))
		return true;
	if (!__get_cpuid_count(13, 1, &a, &b, &c, &d))
		return false;
	if (au_arch_has_avx512(a)) {
		au_arch_vectors = AU_VECTORS_AVX512;
		au_arch_vectors_size = AU_VECTORS_SIZE_AVX512;
		return true;
	}
	au_arch_vectors = AU_VECTORS_XSAVEC;
	au_arch_vectors_size = AU_VECTORS_SIZE_XSAVEC;
	return a & 2; /* is there an xsavec? */
}

static inline void au_arch_set_vfork(void *fn)
{
	if (fn)
		au_arch_real_vfork = fn;
}

static inline void *au_arch_mmap(void *addr, size_t len, int prot, int flags,
				 int fd, off_t off)
{
	return (void *)au_arch_syscall(9, addr, len, (long)prot, (long)flags,
				       (long)fd, off);
}

static inline int au_arch_munmap(void *addr, size_t len)
{
	return (int)au_arch_syscall(11, addr, len);
}

static inline int au_arch_close(int fd)
{
	return (int)au_arch_syscall(3, (long)fd);
}

static inline long au_arch_nr(const ucontext_t *uc)
{
	return uc->uc_mcontext.gregs[REG_RAX];
}

static inline void au_arch_args(const ucontext_t *uc, long a[6])
{
	const greg_t *g = uc->uc_mcontext.gregs;

	a[0] = g[REG_RDI];
	a[1] = g[REG_RSI];
	a[2] = g[REG_RDX];
	a[3] = g[REG_R10];
	a[4] = g[REG_R8];
	a[5] = g[REG_R9];
}

static inline void au_arch_set_ret(ucontext_t *uc, long ret)
{
	uc->uc_mcontext.gregs[REG_RAX] = ret;
}

static inline uintptr_t au_arch_pc(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
}

static inline uintptr_t au_arch_sp(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
}

static inline void au_arch_set_pc(ucontext_t *uc, uintptr_t pc)
{
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
}

/*
 * Let the application make the call at `gadget`; it pops au_arch_return, which
 * pops the way home and the red zone.
 */
static inline void au_arch_redirect(ucontext_t *uc, uintptr_t gadget)
{
	greg_t *g = uc->uc_mcontext.gregs;
	uintptr_t *sp = (uintptr_t *)(g[REG_RSP] - AU_ARCH_RED_ZONE - 16);

	sp[0] = (uintptr_t)au_arch_return;
	sp[1] = (uintptr_t)g[REG_RIP];
	g[REG_RSP] = (greg_t)sp;
	g[REG_RIP] = (greg_t)gadget;
}

#endif
