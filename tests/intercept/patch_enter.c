/* SPDX-License-Identifier: MIT */
/*
 * Description: a call from a patched site changes rax, rcx and r11 only: all
 * other registers, with the vectors, mxcsr and the flags, and the red zone
 * survive an engine that spoils whatever it may. In each of the ways the
 * vectors are kept, with each part of them in use and not, as far as this
 * processor has them.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "intercept/arch.h"
#include "intercept/intercept.h"

/* What arch_x86_64.S shares with files that are not here. */
unsigned long au_libc_start, au_libc_len;
int au_forked_raw;
AU_TLS char au_selector;
AU_TLS uintptr_t au_clone_home, au_vfork_home;
AU_TLS int au_in_vfork;
unsigned int au_arch_vectors, au_arch_vectors_size;

struct state {
	uint64_t gpr[14]; /* rdi rsi rdx r10 r8 r9 rbx r12-15 rbp, flags, rax */
	uint32_t mxcsr[2];
	uint64_t zone[2];
	_Alignas(64) uint8_t zmm[32][64];
	uint64_t mask[8];
};

/* How much of the first 16 registers is in use. */
enum {
	XMM,
	YMM,
	ZMM
};

struct state in, out;
/* An XSAVE area that says nothing is in use. */
_Alignas(64) uint8_t unused[AU_VECTORS_SIZE_XSAVEC];
static long seen[7];
bool has_avx, has_avx512;
uint8_t width; /* of the first 16 */
bool upper; /* are zmm16-31 and the masks in use? */

#define CHECK(cond)                                                     \
	do {                                                            \
		if (!(cond)) {                                          \
			fprintf(stderr, "%d, %d: failed: %s\n",         \
				(int)au_arch_vectors, __LINE__, #cond); \
			exit(1);                                        \
		}                                                       \
	} while (0)

/* The engine: spoils all that a C function may. */
long au_patch_call(long nr, const long a[6])
{
	uint32_t mxcsr = 0x1fbf;
	volatile char stack[512];

	memset((void *)stack, 0xa5, sizeof(stack));
	CHECK(((uintptr_t)__builtin_frame_address(0) & 15) == 0);
	seen[0] = nr;
	memcpy(seen + 1, a, 6 * sizeof(*a));
	__asm__ volatile(
		"ldmxcsr %0\n\t"
		".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
		"pcmpeqd %%xmm\\n, %%xmm\\n\n\t"
		".endr" ::"m"(mxcsr));
	if (has_avx)
		__asm__ volatile(
			".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
			"vinsertf128 $1, %xmm\\n, %ymm\\n, %ymm\\n\n\t"
			".endr");
	if (has_avx512)
		__asm__ volatile(
			".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
			"vpternlogd $0xff, %zmm\\n, %zmm\\n, %zmm\\n\n\t"
			".endr\n\t"
			".irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n\t"
			"vpternlogd $0xff, %zmm\\n, %zmm\\n, %zmm\\n\n\t"
			".endr\n\t"
			".irp n, 0, 1, 2, 3, 4, 5, 6, 7\n\t"
			"kxnorq %k\\n, %k\\n, %k\\n\n\t"
			".endr");
	return 0x123456789aL;
}

/* clang-format off */
/* As a stub has it, between two pictures of the registers. */
void picture(void);
__asm__(".text\npicture:\n\t"
	"pushq %rbx\n\tpushq %rbp\n\tpushq %r12\n\tpushq %r13\n\t"
	"pushq %r14\n\tpushq %r15\n\tpushfq\n\tsubq $256, %rsp\n\t"
	"leaq in(%rip), %rax\n\t"
	"movq 0(%rax), %rdi\n\tmovq 8(%rax), %rsi\n\tmovq 16(%rax), %rdx\n\t"
	"movq 24(%rax), %r10\n\tmovq 32(%rax), %r8\n\tmovq 40(%rax), %r9\n\t"
	"movq 48(%rax), %rbx\n\tmovq 56(%rax), %r12\n\tmovq 64(%rax), %r13\n\t"
	"movq 72(%rax), %r14\n\tmovq 80(%rax), %r15\n\tmovq 88(%rax), %rbp\n\t"
	"ldmxcsr 112(%rax)\n\t"
	"movq 120(%rax), %rcx\n\tmovq %rcx, -8(%rsp)\n\t"
	"movq 128(%rax), %rcx\n\tmovq %rcx, -128(%rsp)\n\t"
	"cmpb $0, has_avx512(%rip)\n\tje 1f\n\t"
	/* Puts masks and zmm as they are in a new process: not in use. */
	"movq %rax, %rbx\n\tmovl $0xe0, %eax\n\txorl %edx, %edx\n\t"
	"xrstor64 unused(%rip)\n\tmovq %rbx, %rax\n\t"
	"movq 16(%rax), %rdx\n\tmovq 48(%rax), %rbx\n\t"
	"cmpb $0, upper(%rip)\n\tje 1f\n\t"
	".irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n\t"
	"vmovaps (192 + \\n * 64)(%rax), %zmm\\n\n\t.endr\n\t"
	".irp n, 0, 1, 2, 3, 4, 5, 6, 7\n\t"
	"kmovq (2240 + \\n * 8)(%rax), %k\\n\n\t.endr\n"
	"1:\tcmpb $0, has_avx(%rip)\n\tje 1f\n\tvzeroupper\n"
	"1:\tcmpb $1, width(%rip)\n\tje 2f\n\tja 7f\n\t"
	".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
	"movaps (192 + \\n * 64)(%rax), %xmm\\n\n\t.endr\n\tjmp 3f\n"
	"2:\t.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
	"vmovaps (192 + \\n * 64)(%rax), %ymm\\n\n\t.endr\n\tjmp 3f\n"
	"7:\t.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
	"vmovaps (192 + \\n * 64)(%rax), %zmm\\n\n\t.endr\n"
	"3:\tpushq 96(%rax)\n\tpopfq\n\t"
	/* The red zone again, for the push was in it. */
	"movq 120(%rax), %rcx\n\tmovq %rcx, -8(%rsp)\n\t"
	"movl $426, %eax\n\t"
	"leaq 4f(%rip), %rcx\n\tleaq -128(%rsp), %rsp\n\tpushq %rcx\n\t"
	"call au_arch_enter\n\tleaq 136(%rsp), %rsp\n"
	"4:\tmovq %rax, 104 + out(%rip)\n\t"
	"movq -8(%rsp), %rcx\n\tmovq %rcx, 120 + out(%rip)\n\t"
	"movq -128(%rsp), %rcx\n\tmovq %rcx, 128 + out(%rip)\n\t"
	"pushfq\n\tpopq %rcx\n\tmovq %rcx, 96 + out(%rip)\n\tcld\n\t"
	"leaq out(%rip), %rax\n\t"
	"movq %rdi, 0(%rax)\n\tmovq %rsi, 8(%rax)\n\tmovq %rdx, 16(%rax)\n\t"
	"movq %r10, 24(%rax)\n\tmovq %r8, 32(%rax)\n\tmovq %r9, 40(%rax)\n\t"
	"movq %rbx, 48(%rax)\n\tmovq %r12, 56(%rax)\n\tmovq %r13, 64(%rax)\n\t"
	"movq %r14, 72(%rax)\n\tmovq %r15, 80(%rax)\n\tmovq %rbp, 88(%rax)\n\t"
	"stmxcsr 112(%rax)\n\t"
	"cmpb $0, has_avx512(%rip)\n\tjne 7f\n\t"
	"cmpb $0, has_avx(%rip)\n\tjne 5f\n\t"
	".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
	"movaps %xmm\\n, (192 + \\n * 64)(%rax)\n\t.endr\n\tjmp 6f\n"
	"7:\t.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
	"vmovaps %zmm\\n, (192 + \\n * 64)(%rax)\n\t.endr\n\t"
	".irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n\t"
	"vmovaps %zmm\\n, (192 + \\n * 64)(%rax)\n\t.endr\n\t"
	".irp n, 0, 1, 2, 3, 4, 5, 6, 7\n\t"
	"kmovq %k\\n, (2240 + \\n * 8)(%rax)\n\t.endr\n\tvzeroupper\n\tjmp 6f\n"
	"5:\t.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
	"vmovaps %ymm\\n, (192 + \\n * 64)(%rax)\n\t.endr\n\tvzeroupper\n"
	"6:\taddq $256, %rsp\n\tpopfq\n\tpopq %r15\n\tpopq %r14\n\t"
	"popq %r13\n\tpopq %r12\n\tpopq %rbp\n\tpopq %rbx\n\tret\n");
/* clang-format on */

_Static_assert(offsetof(struct state, mxcsr) == 112 &&
		       offsetof(struct state, zone) == 120 &&
		       offsetof(struct state, zmm) == 192 &&
		       offsetof(struct state, mask) == 2240,
	       "the numbers in picture()");

/* Each register is as wide as `width`; the rest of it is zero. */
static void in_vectors(void)
{
	size_t n = 16U << width;

	for (int i = 0; i < 32; i++) {
		if (i < 16)
			memset(in.zmm[i] + n, 0, sizeof(in.zmm[i]) - n);
		else if (!upper)
			memset(in.zmm[i], 0, sizeof(in.zmm[i]));
	}
	if (!upper)
		memset(in.mask, 0, sizeof(in.mask));
}

static void test_enter(void)
{
	uint8_t *p = (void *)&in;

	memset(&out, 0, sizeof(out));
	for (size_t i = 0; i < sizeof(in); i++)
		p[i] = (uint8_t)(rand() | 1);
	in.mxcsr[0] = 0xffc0; /* flush to zero, rounding towards zero */
	in.gpr[12] = 0xcd7; /* every arithmetic flag, and direction */
	in.gpr[13] = 0x123456789aL;
	in_vectors();
	in.mxcsr[1] = 0;
	picture();
	CHECK(seen[0] == 426 && !memcmp(seen + 1, in.gpr, 6 * sizeof(long)));
	out.gpr[12] = (out.gpr[12] & 0xcd5) | 2; /* without the trap flag's */
	in.gpr[12] = (in.gpr[12] & 0xcd5) | 2;
	CHECK(!memcmp(in.gpr, out.gpr, sizeof(in.gpr)));
	CHECK(in.mxcsr[0] == out.mxcsr[0]);
	CHECK(!memcmp(in.zone, out.zone, sizeof(in.zone)));
	CHECK(!memcmp(in.zmm, out.zmm, sizeof(in.zmm)));
	CHECK(!memcmp(in.mask, out.mask, sizeof(in.mask)));
}

/* One way of keeping them, with all that the processor still counts as having. */
static void test_way(unsigned int way, unsigned int size)
{
	bool all = has_avx512;
	uint8_t last = all ? ZMM : has_avx ? YMM : XMM;

	au_arch_vectors = way;
	au_arch_vectors_size = size;
	for (width = XMM; width <= last; width++) {
		upper = false;
		test_enter();
		upper = all;
		test_enter();
	}
}

int main(void)
{
	unsigned int best, a, b, c, d, leaf = 0;

	CHECK(au_arch_vectors_init());
	best = au_arch_vectors;
	has_avx = best >= AU_VECTORS_AVX;
	has_avx512 = best == AU_VECTORS_AVX512;
	if (__get_cpuid_count(13, 1, &a, &b, &c, &d))
		leaf = a;
	test_way(best, au_arch_vectors_size);
	if (has_avx && (leaf & 2))
		test_way(AU_VECTORS_XSAVEC, AU_VECTORS_SIZE_XSAVEC);
	if (!has_avx512)
		puts("no AVX-512 here: it was not run");
	has_avx512 = false;
	if (has_avx)
		test_way(AU_VECTORS_AVX, AU_VECTORS_SIZE);
	has_avx = false;
	test_way(AU_VECTORS_SSE, AU_VECTORS_SIZE);
	return 0;
}
