/* SPDX-License-Identifier: MIT */
/*
 * One JSON object on stdout, a member a line.
 */
#include "cli/json.h"

#include <stdio.h>

static void json_quote(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void json_member(struct json *j, const char *key)
{
	if (j->more)
		putchar(',');
	if (j->depth)
		printf("\n%*s", 2 * j->depth, "");
	if (key) {
		json_quote(key);
		fputs(": ", stdout);
	}
	j->more = true;
}

void json_open(struct json *j, const char *key, char bracket)
{
	json_member(j, key);
	putchar(bracket);
	j->depth++;
	j->more = false;
}

void json_close(struct json *j, char bracket)
{
	j->depth--;
	if (j->more)
		printf("\n%*s", 2 * j->depth, "");
	putchar(bracket);
	if (!j->depth)
		putchar('\n');
	j->more = true;
}

void json_string(struct json *j, const char *key, const char *value)
{
	json_member(j, key);
	if (value)
		json_quote(value);
	else
		fputs("null", stdout);
}

void json_bool(struct json *j, const char *key, bool value)
{
	json_member(j, key);
	fputs(value ? "true" : "false", stdout);
}

void json_number(struct json *j, const char *key, long long value, bool known)
{
	json_member(j, key);
	if (known)
		printf("%lld", value);
	else
		fputs("null", stdout);
}

void json_real(struct json *j, const char *key, double value, bool known)
{
	json_member(j, key);
	if (known)
		printf("%.6g", value);
	else
		fputs("null", stdout);
}
