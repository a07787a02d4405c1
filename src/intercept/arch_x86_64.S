/* SPDX-License-Identifier: MIT */
/*
 * x86-64 entry points of the preload: the way home from a redirected call,
 * the calls that return twice, and vfork(3).
 *
 * A call that makes a task cannot be issued by the handler, whose frame the
 * child would return into. The handler sets the thread's dispatch selector to
 * "allow" and sends the application here; the parent blocks again and goes
 * home by the address kept in its TLS. The child goes home
 *  - with a stack of its own: by the word below its stack pointer, where the
 *    handler left the address (its TLS may be anybody's);
 *  - by fork or vfork: by the same TLS word; a fork's child first enables
 *    dispatch again, which the kernel clears in every child.
 * Only rax, rcx and r11 change, as in any system call.
 */
#include "intercept/arch_x86_64_vectors.h"

#define PR_SET_SYSCALL_USER_DISPATCH 59
#define NR_PRCTL 157
#define NR_VFORK 58

/* Of vector registers, and of masks. */
#define LOW   0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define HIGH  16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
#define MASKS 0, 1, 2, 3, 4, 5, 6, 7

	.text

	.hidden au_arch_return
	.globl au_arch_return
	.type au_arch_return, @function
au_arch_return:
	ret $128
	.size au_arch_return, .-au_arch_return

	/* Block again and go home by TLS. */
	.macro PARENT_HOME
	movq au_selector@gottpoff(%rip), %rcx
	movb $1, %fs:(%rcx)
	movq au_in_vfork@gottpoff(%rip), %rcx
	movl $0, %fs:(%rcx)
	TLS_HOME
	.endm

	.macro TLS_HOME
	movq au_clone_home@gottpoff(%rip), %rcx
	movq %fs:(%rcx), %rcx
	jmpq *%rcx
	.endm

	.hidden au_arch_clone_thread
	.globl au_arch_clone_thread
	.type au_arch_clone_thread, @function
au_arch_clone_thread:
	syscall
	testq %rax, %rax
	jz 1f
	PARENT_HOME
1:	movq -8(%rsp), %rcx
	jmpq *%rcx
	.size au_arch_clone_thread, .-au_arch_clone_thread

	.hidden au_arch_clone_vfork
	.globl au_arch_clone_vfork
	.type au_arch_clone_vfork, @function
au_arch_clone_vfork:
	syscall
	testq %rax, %rax
	jz 1f
	PARENT_HOME
1:	TLS_HOME
	.size au_arch_clone_vfork, .-au_arch_clone_vfork

	.hidden au_arch_clone_fork
	.globl au_arch_clone_fork
	.type au_arch_clone_fork, @function
au_arch_clone_fork:
	syscall
	testq %rax, %rax
	jz 1f
	PARENT_HOME
1:	leaq -128(%rsp), %rsp
	pushq %rdi
	pushq %rsi
	pushq %rdx
	pushq %r10
	pushq %r8
	movl $PR_SET_SYSCALL_USER_DISPATCH, %edi
	movl $1, %esi
	movq au_libc_start(%rip), %rdx
	movq au_libc_len(%rip), %r10
	movq au_selector@gottpoff(%rip), %r8
	addq %fs:0, %r8
	movl $NR_PRCTL, %eax
	syscall
	movb $1, (%r8)
	popq %r8
	popq %r10
	popq %rdx
	popq %rsi
	popq %rdi
	leaq 128(%rsp), %rsp
	movl $1, au_forked_raw(%rip)
	xorl %eax, %eax
	TLS_HOME
	.size au_arch_clone_fork, .-au_arch_clone_fork

	/*
	 * From the stub of a patched site, with the registers of a system call.
	 * Above the return address lies the address behind the site, then the
	 * red zone: the unwind table makes that address the caller, so the
	 * stub is not seen. All but rax, rcx and r11 is kept, as the kernel
	 * does: the vector registers too, whose upper halves most programs
	 * leave clear. mxcsr as well; the x87 is not used.
	 */
	/* Registers by their numbers, each to its place on the stack, and back. */
	.macro KEEP move, reg, size, numbers:vararg
	.irp n, \numbers
	\move %\reg\n, (\n * \size)(%rsp)
	.endr
	.endm

	.macro BACK move, reg, size, numbers:vararg
	.irp n, \numbers
	\move (\n * \size)(%rsp), %\reg\n
	.endr
	.endm

	.hidden au_arch_enter
	.globl au_arch_enter
	.type au_arch_enter, @function
au_arch_enter:
	.cfi_startproc
	.cfi_def_cfa %rsp, 144
	.cfi_offset %rip, -136
	pushfq
	.cfi_adjust_cfa_offset 8
	cld
	pushq %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbp, -160
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq %rax /* room for mxcsr, before and after */
	pushq %rbx
	.cfi_offset %rbx, -176
	pushq %r9
	pushq %r8
	pushq %r10
	pushq %rdx
	pushq %rsi
	pushq %rdi
	movslq %eax, %rdi
	movq %rsp, %rsi
	movl au_arch_vectors_size(%rip), %ecx
	subq %rcx, %rsp
	andq $-64, %rsp
	stmxcsr -8(%rbp)
	movl au_arch_vectors(%rip), %ecx
	cmpl $AU_VECTORS_AVX, %ecx
	je 2f
	cmpl $AU_VECTORS_AVX512, %ecx
	je 4f
	ja 6f

	KEEP movaps, xmm, 16, LOW
	call au_patch_call
	BACK movaps, xmm, 16, LOW
	jmp 9f

2:	KEEP vmovaps, ymm, 32, LOW
	/* Is any upper half in use? Loading clear ones would make them so. */
	.irp n, 2, 4, 6, 8, 10, 12, 14
	vorps %ymm\n, %ymm0, %ymm0
	.endr
	.irp n, 3, 5, 7, 9, 11, 13, 15
	vorps %ymm\n, %ymm1, %ymm1
	.endr
	vorps %ymm1, %ymm0, %ymm0
	vextractf128 $1, %ymm0, %xmm0
	xorl %ebx, %ebx
	vptest %xmm0, %xmm0
	setnz %bl
	vzeroupper
	call au_patch_call
	vzeroupper
	testl %ebx, %ebx
	jnz 3f
	BACK movaps, xmm, 32, LOW
	jmp 9f
3:	BACK vmovaps, ymm, 32, LOW
	jmp 9f

	/*
	 * The processor says what is in use (xgetbv of 1), and moves keep that:
	 * xsavec and xrstor take five times as long. libc's string functions
	 * leave upper registers and masks in use for good, but no upper halves.
	 * What was not in use is zero, and is made so again.
	 */
4:	movl $1, %ecx
	xgetbv
	movl %eax, %ebx
	.irp n, MASKS
	kmovq %k\n, (AU_VECTORS_MASKS + \n * 8)(%rsp)
	.endr
	testb $AU_XCR0_HI16_ZMM, %bl
	jz .Lkeep_low
	KEEP vmovaps, zmm, 64, HIGH
.Lkeep_low:
	testb $AU_XCR0_ZMM_HI256, %bl
	jnz .Lkeep_zmm
	testb $AU_XCR0_AVX, %bl
	jnz .Lkeep_ymm
	KEEP movaps, xmm, 64, LOW
	jmp .Lkept
.Lkeep_zmm:
	KEEP vmovaps, zmm, 64, LOW
	jmp .Lkept
.Lkeep_ymm:
	KEEP vmovaps, ymm, 64, LOW
.Lkept:	vzeroupper
	call au_patch_call
	vzeroupper
	.irp n, MASKS
	kmovq (AU_VECTORS_MASKS + \n * 8)(%rsp), %k\n
	.endr
	testb $AU_XCR0_HI16_ZMM, %bl
	jz .Lclear_high
	BACK vmovaps, zmm, 64, HIGH
	jmp .Lback_low
.Lclear_high:
	.irp n, HIGH
	vpxord %xmm\n, %xmm\n, %xmm\n
	.endr
.Lback_low:
	testb $AU_XCR0_ZMM_HI256, %bl
	jnz .Lback_zmm
	testb $AU_XCR0_AVX, %bl
	jnz .Lback_ymm
	BACK movaps, xmm, 64, LOW
	jmp 9f
.Lback_zmm:
	BACK vmovaps, zmm, 64, LOW
	jmp 9f
.Lback_ymm:
	BACK vmovaps, ymm, 64, LOW
	jmp 9f

6:	movl $AU_XCR0_ALL, %eax
	xorl %edx, %edx
	/* xrstor refuses a header with anything in its reserved bytes. */
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7
	movq $0, (512 + \n * 8)(%rsp)
	.endr
	xsavec64 (%rsp)
	call au_patch_call
	movq %rax, %rbx
	movl $AU_XCR0_ALL, %eax
	xorl %edx, %edx
	xrstor64 (%rsp)
	movq %rbx, %rax

	/* Restoring it is slow, and it hardly ever changes. */
9:	stmxcsr -4(%rbp)
	movl -4(%rbp), %ecx
	cmpl -8(%rbp), %ecx
	je 1f
	ldmxcsr -8(%rbp)
1:	leaq -64(%rbp), %rsp
	popq %rdi
	popq %rsi
	popq %rdx
	popq %r10
	popq %r8
	popq %r9
	popq %rbx
	movq %rbp, %rsp
	popq %rbp
	.cfi_restore %rbp
	.cfi_restore %rbx
	.cfi_def_cfa %rsp, 152
	popfq
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size au_arch_enter, .-au_arch_enter

	/* libc's syscall(), for calls made while libc's is looked up. */
	.hidden au_arch_syscall
	.globl au_arch_syscall
	.type au_arch_syscall, @function
au_arch_syscall:
	movq %rdi, %rax
	movq %rsi, %rdi
	movq %rdx, %rsi
	movq %rcx, %rdx
	movq %r8, %r10
	movq %r9, %r8
	movq 8(%rsp), %r9
	syscall
	cmpq $-4095, %rax
	jae 1f
	ret
1:	negl %eax
	pushq %rax
	call __errno_location@PLT
	popq %rcx
	movl %ecx, (%rax)
	movq $-1, %rax
	ret
	.size au_arch_syscall, .-au_arch_syscall

	/*
	 * vfork: libc's, with the thread marked while the child runs in it.
	 * The return address is kept in TLS, for the child overwrites the
	 * stack.
	 */
	.globl vfork
	.type vfork, @function
	.globl __vfork
	.type __vfork, @function
vfork:
__vfork:
	popq %rdx
	movq au_vfork_home@gottpoff(%rip), %rcx
	movq %rdx, %fs:(%rcx)
	movq au_in_vfork@gottpoff(%rip), %rcx
	movl $1, %fs:(%rcx)
	call *au_arch_real_vfork(%rip)
	testl %eax, %eax
	jz 1f
	movq au_in_vfork@gottpoff(%rip), %rcx
	movl $0, %fs:(%rcx)
1:	movq au_vfork_home@gottpoff(%rip), %rcx
	movq %fs:(%rcx), %rcx
	jmpq *%rcx
	.size vfork, .-vfork
	.size __vfork, .-__vfork

	.hidden au_arch_vfork_raw
	.globl au_arch_vfork_raw
	.type au_arch_vfork_raw, @function
au_arch_vfork_raw:
	popq %rdi
	movl $NR_VFORK, %eax
	syscall
	pushq %rdi
	ret
	.size au_arch_vfork_raw, .-au_arch_vfork_raw

	.section .data.rel.local, "aw"
	.hidden au_arch_real_vfork
	.globl au_arch_real_vfork
	.balign 8
	.type au_arch_real_vfork, @object
au_arch_real_vfork:
	.quad au_arch_vfork_raw
	.size au_arch_real_vfork, 8

	.section .note.GNU-stack, "", @progbits
