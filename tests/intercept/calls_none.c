/* SPDX-License-Identifier: MIT */
/*
 * Description: a program without io_uring notices nothing of the preload: one
 * thread, the descriptors it had, no handler of SIGSYS, no filter, no new
 * privileges lost, and signal masks and calls as they were.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sanitized.h"

#define CHECK(cond)                                                           \
	do {                                                                  \
		if (!(cond)) {                                                \
			fprintf(stderr, "%d: failed: %s\n", __LINE__, #cond); \
			exit(1);                                              \
		}                                                             \
	} while (0)

static int entries(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* One line of /proc/self/status, as a number in `base`. */
static unsigned long status(const char *key, int base)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long v = 0;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			v = strtoul(line + strlen(key), NULL, base);
	fclose(f);
	return v;
}

/* What is compared with a run that has no preload. */
static void describe(char *out, size_t len)
{
	snprintf(out, len,
		 "fds=%d tasks=%d sigcgt=%lx sigblk=%lx "
		 "nnp=%lu seccomp=%lu filters=%lu",
		 entries("/proc/self/fd"), entries("/proc/self/task"),
		 status("SigCgt:", 16), status("SigBlk:", 16),
		 status("NoNewPrivs:", 10), status("Seccomp:", 10),
		 status("Seccomp_filters:", 10));
}

static void *thread(void *arg)
{
	return arg;
}

int main(int argc, char **argv)
{
	char with[256], without[256], cmd[512];
	sigset_t all, now;
	pthread_t t;
	void *ret;
	FILE *p;

	if (sanitized()) {
		puts("skipped: a sanitizer's runtime opens and starts things");
		return 77;
	}
	describe(with, sizeof(with));
	if (argc > 1) {
		puts(with);
		return 0;
	}
	snprintf(cmd, sizeof(cmd), "exec env -u LD_PRELOAD %s describe 3<&-",
		 argv[0]);
	p = popen(cmd, "r");
	CHECK(p && fgets(without, sizeof(without), p));
	pclose(p);
	without[strcspn(without, "\n")] = 0;
	/* popen's shell closes what it was given; compare the rest. */
	CHECK(!strcmp(strchr(with, ' '), strchr(without, ' ')));
	CHECK(entries("/proc/self/task") == 3); /* ., .., one */

	sigfillset(&all);
	CHECK(!pthread_sigmask(SIG_SETMASK, &all, NULL));
	CHECK(!sigprocmask(SIG_SETMASK, NULL, &now));
	CHECK(sigismember(&now, SIGSYS) == 1);
	CHECK(!pthread_create(&t, NULL, thread, with));
	CHECK(!pthread_join(t, &ret) && ret == with);
	return 0;
}
