/* SPDX-License-Identifier: MIT */
/*
 * What the kernel offers this process: whether its io_uring answers, what
 * refuses it when it does not, and what the user engine would find.
 *
 * Everything that may kill or spoil a process is tried in a child. Results
 * are 0 (works), -errno, or CLI_CHILD_DIED (a filter kills whoever asks).
 */
#ifndef AU_CLI_PROBE_H
#define AU_CLI_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/utsname.h>

struct probe_kernel {
	int setup;
	int enter;
	int reg;
	unsigned int ops; /* opcodes the kernel says it knows */
};

/* A set of reasons: profiles and sysctl often refuse together. */
enum probe_reason {
	PROBE_SYSCTL,
	PROBE_SECCOMP,
	PROBE_GVISOR,
	PROBE_OLD_KERNEL,
	PROBE_NOT_BUILT,
	PROBE_MEMLOCK,
	PROBE_OPEN_FILES,
	PROBE_SECURITY_MODULE,
	PROBE_UNKNOWN,
	PROBE_REASONS,
};

/* Numbers out of /proc; PROBE_ABSENT when the file or the field is not there. */
#define PROBE_ABSENT (-2L)

struct probe_system {
	struct utsname uname;
	bool gvisor;
	long uring_disabled; /* kernel.io_uring_disabled */
	long uring_group; /* kernel.io_uring_group; -1: no group */
	long seccomp; /* 0 none, 1 strict, 2 filter */
	long seccomp_filters;
	long no_new_privs;
};

/* Makes a small ring, enters it, registers with it, closes it. */
void probe_kernel(struct probe_kernel *k);

bool probe_kernel_works(const struct probe_kernel *k);

void probe_system(struct probe_system *sys);

/* The reasons for a refusal, as a mask of 1 << enum probe_reason. */
unsigned int probe_reasons(const struct probe_kernel *k,
			   const struct probe_system *sys);

/* Stable word for --json, and the same in plain words. */
const char *probe_reason_key(enum probe_reason reason);
const char *probe_reason_text(enum probe_reason reason);

/* "ok", the error's name, or "killed". */
const char *probe_result_name(int result);

/* "io_uring_setup: EPERM": the first of the three calls that is refused. */
void probe_refusal(const struct probe_kernel *k, char *buf, size_t size);

/* The ways to catch inline system calls, each really tried. */
int probe_user_dispatch(void);
int probe_seccomp_trap(void);

struct probe_feature {
	const char *name;
	int result;
};

#define PROBE_FEATURES 6

/* System calls that the user engine is better off with. */
void probe_features(struct probe_feature feature[PROBE_FEATURES]);

#endif
