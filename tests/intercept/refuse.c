/* SPDX-License-Identifier: MIT */
/*
 * refuse uring|dispatch|exec|swap CMD...: runs CMD where the kernel's io_uring
 * answers EPERM, as container profiles have it; where syscall user dispatch is
 * missing, as on an old kernel; where memory once written cannot be made
 * executable, as security modules have it; or where nothing can be moved over
 * text, as when it is sealed. Exit 77 if no filter can be set here.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define JEQ(k, jt, jf) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), (jt), (jf))
#define RET(k)         BPF_STMT(BPF_RET | BPF_K, (k))

int main(int argc, char **argv)
{
	struct sock_filter uring[] = {
		LOAD(nr),
		JEQ(425, 2, 0),
		JEQ(426, 1, 0),
		JEQ(427, 0, 1),
		RET(SECCOMP_RET_ERRNO | EPERM),
		RET(SECCOMP_RET_ALLOW),
	};
	struct sock_filter dispatch[] = {
		LOAD(nr),
		JEQ(SYS_prctl, 0, 3),
		LOAD(args[0]),
		JEQ(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 0, 1),
		RET(SECCOMP_RET_ERRNO | EINVAL),
		RET(SECCOMP_RET_ALLOW),
	};
	struct sock_filter exec[] = {
		LOAD(nr),
		JEQ(SYS_mprotect, 0, 3),
		LOAD(args[2]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
		RET(SECCOMP_RET_ERRNO | EACCES),
		RET(SECCOMP_RET_ALLOW),
	};
	struct sock_filter swap[] = {
		LOAD(nr),
		JEQ(SYS_mremap, 0, 3),
		LOAD(args[3]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MREMAP_FIXED, 0, 1),
		RET(SECCOMP_RET_ERRNO | EPERM),
		RET(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { 6, uring };

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "dispatch"))
		prog.filter = dispatch;
	if (!strcmp(argv[1], "exec"))
		prog.filter = exec;
	if (!strcmp(argv[1], "swap"))
		prog.filter = swap;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) {
		puts("no seccomp filter can be set here");
		return 77;
	}
	execv(argv[2], argv + 2);
	return 2;
}
