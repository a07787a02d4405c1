/* SPDX-License-Identifier: MIT */
/*
 * The filter, written by hand so that nothing but the kernel is needed.
 *
 * io_uring's numbers are 425 to 427 on every architecture that joined the
 * common table at 424, so one comparison serves the native and the compat
 * ABI. x32 shares x86-64's audit architecture and sets bit 30 of the number;
 * the filter clears it. A call from an ABI it does not know passes, as all
 * other calls do: this filter denies one thing and is no sandbox.
 */
#include "cli/filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "sys/syscall.h"

#define NR_FIRST 425 /* io_uring_setup */
#define NR_LAST  427 /* io_uring_register */

#if defined(__x86_64__)
#define ARCH_NATIVE AUDIT_ARCH_X86_64
#define ARCH_COMPAT AUDIT_ARCH_I386
#define NR_MASK     (~0x40000000U)
#elif defined(__i386__)
#define ARCH_NATIVE AUDIT_ARCH_I386
#elif defined(__aarch64__)
#define ARCH_NATIVE AUDIT_ARCH_AARCH64
#define ARCH_COMPAT AUDIT_ARCH_ARM
#elif defined(__arm__)
#define ARCH_NATIVE AUDIT_ARCH_ARM
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH_NATIVE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define ARCH_NATIVE AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define ARCH_NATIVE AUDIT_ARCH_S390X
#else
#error "add this architecture's audit value"
#endif

#ifndef ARCH_COMPAT
#define ARCH_COMPAT ARCH_NATIVE
#endif
#ifndef NR_MASK
#define NR_MASK (~0U)
#endif

/* The field of the call's description that the next comparison is about. */
#define LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* The jumps count the instructions to skip. */
#define JUMP(test, value, yes, no) \
	BPF_JUMP(BPF_JMP | (test) | BPF_K, value, yes, no)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)

static long filter_set(const struct sock_fprog *prog)
{
	return au_syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, prog);
}

int cli_filter_install(uint32_t action)
{
	struct sock_filter code[] = {
		/* clang-format off */
		/* 0 */ LOAD(arch),
		/* 1 */ JUMP(BPF_JEQ, ARCH_NATIVE, 1, 0),
		/* 2 */ JUMP(BPF_JEQ, ARCH_COMPAT, 0, 4),
		/* 3 */ LOAD(nr),
		/* 4 */ BPF_STMT(BPF_ALU | BPF_AND | BPF_K, NR_MASK),
		/* 5 */ JUMP(BPF_JGE, NR_FIRST, 0, 1),
		/* 6 */ JUMP(BPF_JGT, NR_LAST, 0, 1),
		/* 7 */ RETURN(SECCOMP_RET_ALLOW),
		/* 8 */ RETURN(action),
		/* clang-format on */
	};
	struct sock_fprog prog = {
		.len = sizeof(code) / sizeof(code[0]),
		.filter = code,
	};
	long r = filter_set(&prog);

	if (r == -EACCES) {
		r = au_syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (!r)
			r = filter_set(&prog);
	}
	return (int)r;
}

int cli_filter_action_avail(uint32_t action)
{
	long r = au_syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);

	/* gVisor has filters but not the question: trying tells. */
	return r == -EINVAL ? 0 : (int)r;
}
