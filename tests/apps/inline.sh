#!/bin/sh
# SPDX-License-Identifier: MIT
# A program with a static liburing (inline.c): in each way of catching inline
# calls that works here, every part of it gives what the kernel gives.
# shellcheck source=tests/apps/lib.sh disable=SC2016
. "${APPS:-$(dirname "$0")}/lib.sh"
[ -n "${INLINE:-}" ] || skip "there is no static liburing (liburing-dev)"

if command -v objdump >/dev/null; then
	check "its calls are not inline" sh -c \
		'[ "$(objdump -d "$0" | grep -c "syscall *$")" -gt 3 ]' "$INLINE"
	check "its liburing is shared" sh -c '! ldd "$0" | grep -q liburing' \
		"$INLINE"
fi
expect_refused "$INLINE" "$TMP"

# parts: the last output has each part, and no complaint.
parts()
{
	CHECKS=$((CHECKS + 1))
	if [ "$(grep -c ': ok$' "$TMP/out")" != 8 ] ||
		grep -qvE ': ok$|^anyuring: ' "$TMP/out"; then
		fail "inline: $(cat "$TMP/out")"
	fi
}

caught=0
for trap in sud seccomp; do
	served env ANYURING_VERBOSE=1 ANYURING_TRAP=$trap "$INLINE" "$TMP"
	status=$?
	if grep -q 'inline calls are NOT caught' "$TMP/out"; then
		note "  $trap: not available here"
		continue
	fi
	caught=$((caught + 1))
	CHECKS=$((CHECKS + 1))
	[ $status = 0 ] || fail "$trap: status $status"
	parts
	note "  $trap: $(grep -c ': ok$' "$TMP/out") parts"
done
[ $caught -gt 0 ] || fail "no way of catching inline calls"

# And as it comes.
expect_served "$INLINE" "$TMP"
parts

# On the kernel's own rings, where it has them: the yardstick.
if [ -z "${AU_APPS_REFUSED:-}" ] &&
	limited "$ANYURING" run --engine=kernel true 2>/dev/null; then
	CHECKS=$((CHECKS + 1))
	limited "$INLINE" "$TMP" >"$TMP/out" 2>&1 || fail "fails on the kernel"
	parts
fi

done_testing
