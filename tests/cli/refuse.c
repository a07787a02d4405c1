/* SPDX-License-Identifier: MIT */
/*
 * refuse FIRST LAST ERRNO PROGRAM...: runs PROGRAM with the system calls
 * FIRST to LAST of this machine's own ABI answered by ERRNO, or, if that is
 * 0, by death. For the profiles that `anyuring deny` does not imitate.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	uint32_t n[3];

	if (argc < 5)
		return 2;
	for (int i = 0; i < 3; i++)
		n[i] = (uint32_t)strtoul(argv[i + 1], NULL, 10);

	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, n[0], 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, n[1], 1, 0),
		BPF_STMT(BPF_RET | BPF_K, n[2] ? SECCOMP_RET_ERRNO | n[2] :
						 SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) {
		perror("refuse");
		return 2;
	}
	execvp(argv[4], argv + 4);
	return 127;
}
