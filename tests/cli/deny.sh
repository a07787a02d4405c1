#!/bin/sh
# SPDX-License-Identifier: MIT
# `anyuring deny` refuses io_uring's three calls, in every ABI, to the program
# and its children, and refuses nothing else.
# shellcheck source=tests/cli/lib.sh disable=SC2016,SC2153
. "$(dirname "$0")/lib.sh"

expect 0 "$ANYURING" deny "$CALLS"
says out '^EPERM EPERM EPERM$'
expect 0 "$ANYURING" deny --errno=ENOSYS -- "$CALLS"
says out '^ENOSYS ENOSYS ENOSYS$'
expect 0 "$ANYURING" deny --errno EPERM sh -c '"$0"; exit' "$CALLS"
says out '^EPERM EPERM EPERM$'
[ ! -s "$TMP/err" ] || fail "not silent: $(cat "$TMP/err")"

expect 0 "$ANYURING" deny --errno=EPERM "$CALLS" x32
says out '^EPERM EPERM EPERM$'
# Without the 32-bit ABI the instruction faults, in the kernel's own way.
if "$CALLS" i386 >/dev/null 2>&1; then
	expect 0 "$ANYURING" deny "$CALLS" i386
	says out '^EPERM EPERM EPERM$'
fi

# The exit status and signals are the program's.
expect 5 "$ANYURING" deny sh -c 'exit 5'
expect 137 "$ANYURING" deny sh -c 'kill -KILL $$'
expect 127 "$ANYURING" deny no-such-program-anywhere
one_line

# With CAP_SYS_ADMIN the filter needs no promise to gain no privileges.
caps=$(sed -n 's/^CapEff:[[:space:]]*/0x/p' /proc/self/status)
if [ $((caps >> 21 & 1)) = 1 ] && grep -q '^NoNewPrivs:.0' /proc/self/status
then
	expect 0 "$ANYURING" deny grep NoNewPrivs /proc/self/status
	says out 'NoNewPrivs:.0'
fi
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	cp "$ANYURING" "$TMP/anyuring"
	cp "$CALLS" "$TMP/calls"
	chmod 755 "$TMP" "$TMP/anyuring" "$TMP/calls"
	expect 0 setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$TMP/anyuring" deny "$TMP/calls"
	says out '^EPERM EPERM EPERM$'
fi

done_testing
