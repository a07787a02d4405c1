/* SPDX-License-Identifier: MIT */
/*
 * The preload's constructor: finds libc's functions, looks whether anything
 * in the process makes io_uring calls inline, and starts the trap only then.
 * Runs once, in the first thread, before main. It makes no ring, no thread
 * and no descriptor.
 *
 * ANYURING_TRAP=auto|off|sud|seccomp chooses the trap; ANYURING_PATCH=0 leaves
 * all inline calls to it; ANYURING_VERBOSE=1 says in one line which way in was
 * taken.
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

static void init_say(const char *way, const char *why, const char *more)
{
	const char *v = getenv("ANYURING_VERBOSE");
	const char *part[] = {
		"anyuring: calls by symbol", way, " (", why, ")", more, "\n"
	};
	char line[256];
	size_t at = 0;

	if (!v || !*v || !strcmp(v, "0"))
		return;
	for (size_t i = 0; i < sizeof(part) / sizeof(*part); i++)
		for (const char *p = part[i]; *p && at < sizeof(line); p++)
			line[at++] = *p;
	au_syscall(SYS_write, 2L, line, at);
}

/* The sites the trap is spared, once it is there for all the others. */
static const char *init_patch(size_t sites, char text[64])
{
	static const char words[] = ", call sites patched: ";
	char *p = text + sizeof(words) - 1;
	size_t digits = 1;

	if (!sites)
		return "";
	if (!au_patch_commit())
		return ", not all call sites patched";
	memcpy(text, words, sizeof(words));
	for (size_t n = sites; n >= 10; n /= 10)
		digits++;
	p[digits] = '\0';
	for (; digits; sites /= 10)
		p[--digits] = (char)('0' + sites % 10);
	return text;
}

__attribute__((constructor)) static void init_preload(void)
{
	enum init_want want = init_wanted();
	struct au_scan scan;
	char text[64];
	size_t sites;

	au_real_resolve();
	pthread_atfork(NULL, NULL, au_forked);
	if (want == WANT_OFF) {
		init_say("", "ANYURING_TRAP=off", "");
		return;
	}
	au_scan(&scan, false);
	if (!scan.found) {
		if (want == WANT_AUTO) {
			init_say("", "no inline io_uring calls found", "");
			return;
		}
		au_scan(&scan, true);
		strcpy(scan.name, "forced by ANYURING_TRAP");
	}
	sites = au_patch_prepare(&scan);
	if (want != WANT_SECCOMP && !au_trap_start(&scan, AU_TRAP_SUD))
		init_say(", inline by syscall user dispatch", scan.name,
			 init_patch(sites, text));
	else if (want != WANT_SUD && !au_trap_start(&scan, AU_TRAP_SECCOMP))
		init_say(", inline by seccomp", scan.name,
			 init_patch(sites, text));
	else
		init_say(", inline calls are NOT caught", scan.name, "");
}
