/* SPDX-License-Identifier: MIT */
/*
 * Writing one JSON object to stdout, for the commands' --json: nesting,
 * commas and escaping, and no more.
 */
#ifndef AU_CLI_JSON_H
#define AU_CLI_JSON_H

#include <stdbool.h>

struct json {
	int depth;
	bool more; /* something stands before, so a comma is due */
};

/* `key` is NULL inside an array, and for the outermost object. */
void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);
/* A NULL `value` writes null. */
void json_string(struct json *j, const char *key, const char *value);
void json_bool(struct json *j, const char *key, bool value);
/* `known` false writes null. */
void json_number(struct json *j, const char *key, long long value, bool known);
/* Six digits that count. */
void json_real(struct json *j, const char *key, double value, bool known);

#endif
