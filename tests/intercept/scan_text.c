/* SPDX-License-Identifier: MIT */
/*
 * Description: which machine code is taken for one that makes io_uring calls
 * inline, wherever in a text it stands.
 */
#include <stdio.h>
#include <string.h>

#include "intercept/intercept.h"

struct sample {
	const char *what;
	bool want;
	size_t len;
	const char *code;
};

#define SAMPLE(what, want, code)                   \
	{                                          \
		what, want, sizeof(code) - 1, code \
	}

static const struct sample samples[] = {
	SAMPLE("nothing", false, "\x90\x90\x90\x90"),
	SAMPLE("mov $425,%eax; syscall", true, "\xb8\xa9\x01\x00\x00\x0f\x05"),
	SAMPLE("mov $426,%rax; mov %rsp,%rdi; syscall", true,
	       "\x48\xc7\xc0\xaa\x01\x00\x00\x48\x89\xe7\x0f\x05\xc3"),
	SAMPLE("mov $427,%eax; syscall", true, "\xb8\xab\x01\x00\x00\x0f\x05"),
	SAMPLE("mov $428,%eax; syscall", false, "\xb8\xac\x01\x00\x00\x0f\x05"),
	SAMPLE("mov $425,%edi; jmp: libc's syscall()", false,
	       "\xbf\xa9\x01\x00\x00\xe9\x00\x00\x00\x00"
	       "\xbf\xaa\x01\x00\x00\xe9\x00\x00\x00\x00"),
	SAMPLE("the same beside a wrapper", true,
	       "\xbf\xa9\x01\x00\x00\xe9\x00\x00\x00\x00"
	       "\xbf\xaa\x01\x00\x00\xe9\x00\x00\x00\x00"
	       "\x48\x89\xf8\x48\x89\xf7\x0f\x05\xc3"),
	SAMPLE("setup alone beside a wrapper", false,
	       "\xbf\xa9\x01\x00\x00\xe9\x00\x00\x00\x00"
	       "\x48\x89\xf8\x48\x89\xf7\x0f\x05\xc3"),
	SAMPLE("a jump over 425 bytes, and a syscall", false,
	       "\x0f\x84\xa9\x01\x00\x00\xb8\x27\x00\x00\x00\x0f\x05\xc3"),
};

int main(void)
{
	static char text[512];
	const struct sample *s;
	int bad = 0;

	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		s = &samples[i];
		for (size_t at = 0; at + s->len <= 128; at++) {
			memset(text, 0x90, sizeof(text));
			memcpy(text + at, s->code, s->len);
			/* In the middle of a text, and at its very end. */
			if (au_scan_text(text, sizeof(text)) == s->want &&
			    au_scan_text(text, at + s->len) == s->want)
				continue;
			fprintf(stderr, "%s, at %zu\n", s->what, at);
			bad = 1;
			break;
		}
	}
	return bad;
}
