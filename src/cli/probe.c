/* SPDX-License-Identifier: MIT */
/*
 * The kernel's io_uring, asked the only way that counts: by using it. A
 * sysctl that reads 0 or a filter that is listed proves nothing, so the
 * reasons are worked out only after a call was refused.
 */
#include "cli/probe.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>

#include "cli/child.h"
#include "cli/cli.h"
#include "sys/syscall.h"
#include "uapi/io_uring.h"

/* The opcode is one byte, so the kernel cannot list more. */
#define PROBE_OPS 256

static unsigned int ops_count(const struct io_uring_probe *p)
{
	unsigned int i, n = 0;

	for (i = 0; i < p->ops_len; i++)
		n += (p->ops[i].flags & IO_URING_OP_SUPPORTED) != 0;
	return n;
}

static int probe_register(int fd, unsigned int *ops)
{
	struct io_uring_probe *p;
	int r;

	p = calloc(1, sizeof(*p) + PROBE_OPS * sizeof(p->ops[0]));
	if (!p)
		return -ENOMEM;
	r = (int)au_syscall(SYS_io_uring_register, fd, IORING_REGISTER_PROBE, p,
			    PROBE_OPS);
	if (r >= 0)
		*ops = ops_count(p);
	/* A kernel before 5.6 has no probe, which is no refusal. */
	if (r == -EINVAL)
		r = 0;
	free(p);
	return r;
}

/* No process has so many; -1 has a meaning of its own to register. */
#define NO_RING 0x7fffffff

static int served(int result, int ring)
{
	return ring == NO_RING && result == -EBADF ? 0 : result;
}

/* The three calls in their order; `next` is the one to try, or under trial. */
struct kernel_trial {
	struct probe_kernel k;

	enum {
		TRY_SETUP,
		TRY_ENTER,
		TRY_REGISTER,
		TRY_DONE
	} next;
};

/*
 * Without a ring the other two calls are still made: a kernel that would
 * serve them answers EBADF, and that tells a sysctl, which refuses only the
 * setup, from a filter, which refuses all three.
 */
static int kernel_try(void *data)
{
	struct io_uring_params params = { 0 };
	struct kernel_trial *t = data;
	int fd = -1, ring = NO_RING;

	if (t->next == TRY_SETUP) {
		fd = (int)au_syscall(SYS_io_uring_setup, 2, &params);
		t->k.setup = fd < 0 ? fd : 0;
		t->next++;
	}
	if (fd >= 0)
		ring = fd;
	if (t->next == TRY_ENTER) {
		t->k.enter = served((int)au_syscall(SYS_io_uring_enter, ring, 0,
						    0, 0, NULL, 0),
				    ring);
		t->next++;
	}
	t->k.reg = served(probe_register(ring, &t->k.ops), ring);
	t->next++;
	if (fd >= 0)
		close(fd);
	return 0;
}

/* Goes on in a new child behind each call that killed the one before. */
void probe_kernel(struct probe_kernel *k)
{
	struct kernel_trial t = {
		.k = { CLI_CHILD_DIED, CLI_CHILD_DIED, CLI_CHILD_DIED, 0 },
		.next = TRY_SETUP,
	};

	while (t.next < TRY_DONE) {
		int r = cli_in_child(kernel_try, &t, sizeof(t));

		if (r == CLI_CHILD_DIED) {
			t.next++;
		} else if (r < 0) {
			t.k.setup = t.k.enter = t.k.reg = r;
			break;
		}
	}
	*k = t.k;
}

bool probe_kernel_works(const struct probe_kernel *k)
{
	return k->setup >= 0 && k->enter >= 0 && k->reg >= 0;
}

/* The number behind `key` in a file of /proc, or in a file of one number. */
static long proc_number(const char *path, const char *key)
{
	size_t len = strlen(key);
	long value = PROBE_ABSENT;
	char line[256];
	FILE *f = fopen(path, "re");

	if (!f)
		return PROBE_ABSENT;
	while (fgets(line, sizeof(line), f)) {
		char *end, *at = line + len;
		long n;

		if (strncmp(line, key, len) != 0)
			continue;
		n = strtol(at, &end, 10);
		if (end != at)
			value = n;
		break;
	}
	fclose(f);
	return value;
}

/*
 * gVisor calls itself Linux; it shows in the build date, the same for every
 * release, and in the joke it keeps for a kernel log.
 */
static bool gvisor_log(void)
{
	enum {
		READ_ALL = 3
	};

	char log[4096];
	int n = klogctl(READ_ALL, log, sizeof(log) - 1);

	if (n <= 0)
		return false;
	log[n] = 0;
	return strstr(log, "Starting gVisor") != NULL;
}

void probe_system(struct probe_system *sys)
{
	const char *status = "/proc/self/status";

	if (uname(&sys->uname))
		memset(&sys->uname, 0, sizeof(sys->uname));
	sys->gvisor = !strcmp(sys->uname.version,
			      "#1 SMP Sun Jan 10 15:06:54 PST 2016") ||
		      gvisor_log();
	sys->uring_disabled =
		proc_number("/proc/sys/kernel/io_uring_disabled", "");
	sys->uring_group = proc_number("/proc/sys/kernel/io_uring_group", "");
	sys->seccomp = proc_number(status, "Seccomp:");
	sys->seccomp_filters = proc_number(status, "Seccomp_filters:");
	sys->no_new_privs = proc_number(status, "NoNewPrivs:");
}

static bool is_refusal(int result)
{
	return result == -EPERM || result == -EACCES || result == -ENOSYS ||
	       result == CLI_CHILD_DIED;
}

static bool before_5_1(const char *release)
{
	char *end;
	long major = strtol(release, &end, 10);
	long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;

	return major && (major < 5 || (major == 5 && minor < 1));
}

static unsigned int reasons_nosys(const struct probe_system *sys)
{
	if (sys->gvisor)
		return 1U << PROBE_GVISOR;
	if (before_5_1(sys->uname.release))
		return 1U << PROBE_OLD_KERNEL;
	if (sys->seccomp == 2)
		return 1U << PROBE_SECCOMP;
	return 1U << PROBE_NOT_BUILT;
}

static unsigned int reasons_perm(const struct probe_kernel *k,
				 const struct probe_system *sys)
{
	bool all_refused = is_refusal(k->enter) || is_refusal(k->reg);
	unsigned int mask = 0;

	/* Only the setup asks the sysctl: it is a reason beside the filter. */
	if (is_refusal(k->setup) && sys->uring_disabled > 0)
		mask |= 1U << PROBE_SYSCTL;
	if (sys->seccomp == 2 && (all_refused || !mask))
		mask |= 1U << PROBE_SECCOMP;
	return mask ? mask : 1U << PROBE_SECURITY_MODULE;
}

unsigned int probe_reasons(const struct probe_kernel *k,
			   const struct probe_system *sys)
{
	int r = k->setup < 0 ? k->setup : k->enter < 0 ? k->enter : k->reg;

	switch (r) {
	case -ENOSYS:
		return reasons_nosys(sys);
	case -EPERM:
	case -EACCES:
		return reasons_perm(k, sys);
	case CLI_CHILD_DIED:
		return 1U << PROBE_SECCOMP;
	case -ENOMEM:
		return 1U << PROBE_MEMLOCK;
	case -EMFILE:
	case -ENFILE:
		return 1U << PROBE_OPEN_FILES;
	default:
		return r < 0 ? 1U << PROBE_UNKNOWN : 0;
	}
}

static const struct {
	const char *key, *text;
} reasons[PROBE_REASONS] = {
	[PROBE_SYSCTL] = { "sysctl", "the sysctl kernel.io_uring_disabled" },
	[PROBE_SECCOMP] = { "seccomp",
			    "a seccomp filter, as container profiles have" },
	[PROBE_GVISOR] = { "gvisor", "gVisor, which has no io_uring" },
	[PROBE_OLD_KERNEL] = { "old-kernel",
			       "the kernel's age: io_uring came with 5.1" },
	[PROBE_NOT_BUILT] = { "not-built",
			      "a kernel built without CONFIG_IO_URING" },
	[PROBE_MEMLOCK] = { "memlock",
			    "the limit on locked memory (ulimit -l), which "
			    "kernels before 5.12 charge for rings" },
	[PROBE_OPEN_FILES] = { "open-files",
			       "the limit on open files (ulimit -n)" },
	[PROBE_SECURITY_MODULE] = { "security-module",
				    "a security module (SELinux, AppArmor, "
				    "...): neither sysctl nor seccomp does" },
	[PROBE_UNKNOWN] = { "unknown", "something unknown" },
};

const char *probe_reason_key(enum probe_reason reason)
{
	return reasons[reason].key;
}

const char *probe_reason_text(enum probe_reason reason)
{
	return reasons[reason].text;
}

const char *probe_result_name(int result)
{
	return result == CLI_CHILD_DIED ? "killed" : cli_result_name(result);
}

void probe_refusal(const struct probe_kernel *k, char *buf, size_t size)
{
	const char *call = "io_uring_register";
	int r = k->reg;

	if (k->setup < 0) {
		call = "io_uring_setup";
		r = k->setup;
	} else if (k->enter < 0) {
		call = "io_uring_enter";
		r = k->enter;
	}
	snprintf(buf, size, "%s: %s", call, probe_result_name(r));
}
