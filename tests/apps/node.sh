#!/bin/sh
# SPDX-License-Identifier: MIT
# node, whose libuv falls back to threads silently: with UV_USE_IO_URING its
# file system calls leave over a polled ring, and the polling thread is seen
# from inside the program. The same script checks every result.
# shellcheck source=tests/apps/lib.sh
. "${APPS:-$(dirname "$0")}/lib.sh"
need node

export UV_USE_IO_URING=1
files=400
[ -z "${AU_APPS_QUICK:-}" ] || files=100

# Alone it works as well, on threads.
check "node does not work here" refused node "$APPS/node.mjs" "$TMP/a" $files
check "node has a ring without anyuring" grep -q '^ring: none$' "$TMP/out"
grep -v '^ring:' "$TMP/out" >"$TMP/alone"

expect_served node "$APPS/node.mjs" "$TMP/b" $files
check "no ring of ours was used" grep -q '^ring: anyuring$' "$TMP/out"
grep -v '^ring:' "$TMP/out" >"$TMP/served"
check "another answer than on threads" cmp "$TMP/alone" "$TMP/served"
grep -v '^ring:' "$TMP/out" | sed 's/^/  /'

done_testing
