/* SPDX-License-Identifier: MIT */
/*
 * The preload's constructor: finds libc's functions, looks whether anything
 * in the process makes io_uring calls inline, and starts the trap only then.
 * Runs once, in the first thread, before main. It makes no ring, no thread
 * and no descriptor.
 *
 * ANYURING_TRAP=auto|off|sud|seccomp chooses the trap; ANYURING_VERBOSE=1
 * says in one line which way in was taken.
 */
#include "intercept/intercept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum init_want {
	WANT_AUTO,
	WANT_OFF,
	WANT_SUD,
	WANT_SECCOMP,
};

static enum init_want init_wanted(void)
{
	const char *v = getenv("ANYURING_TRAP");

	if (!v || !strcmp(v, "auto"))
		return WANT_AUTO;
	if (!strcmp(v, "sud"))
		return WANT_SUD;
	if (!strcmp(v, "seccomp"))
		return WANT_SECCOMP;
	return !strcmp(v, "off") ? WANT_OFF : WANT_AUTO;
}

static void init_say(const char *way, const char *why)
{
	const char *v = getenv("ANYURING_VERBOSE");
	const char *part[] = { "anyuring: calls by symbol", way, " (", why,
			       ")\n" };
	char line[256];
	size_t at = 0;

	if (!v || !*v || !strcmp(v, "0"))
		return;
	for (size_t i = 0; i < sizeof(part) / sizeof(*part); i++)
		for (const char *p = part[i]; *p && at < sizeof(line); p++)
			line[at++] = *p;
	au_syscall(SYS_write, 2L, line, at);
}

__attribute__((constructor)) static void init_preload(void)
{
	enum init_want want = init_wanted();
	struct au_scan scan;

	au_real_resolve();
	pthread_atfork(NULL, NULL, au_forked);
	if (want == WANT_OFF) {
		init_say("", "ANYURING_TRAP=off");
		return;
	}
	au_scan(&scan, false);
	if (!scan.found) {
		if (want == WANT_AUTO) {
			init_say("", "no inline io_uring calls found");
			return;
		}
		au_scan(&scan, true);
		strcpy(scan.name, "forced by ANYURING_TRAP");
	}
	if (want != WANT_SECCOMP && !au_trap_start(&scan, AU_TRAP_SUD))
		init_say(", inline by syscall user dispatch", scan.name);
	else if (want != WANT_SUD && !au_trap_start(&scan, AU_TRAP_SECCOMP))
		init_say(", inline by seccomp", scan.name);
	else
		init_say(", inline calls are NOT caught", scan.name);
}
