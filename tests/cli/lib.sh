# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# shellcheck disable=SC2034 # set here, used by who sources this
# What the tests of the command share. Meson runs them and passes in the
# environment: ANYURING (the command under test), CALLS and CALLS_STATIC
# (calls.c), REFUSE (refuse.c), FAKE (a preload that does nothing), MESON and
# BUILD.
#
# A copy of the command in a tree of its own stands for the build tree, so that
# a test may put a preload beside it and take it away again.

set -u
unset LD_PRELOAD ANYURING_ENGINE ANYURING_VERBOSE

# The sanitized command under a preload: its runtime cannot come first then.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"

TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
FAILS=0

fail()
{
	printf 'FAIL: %s\n' "$*"
	FAILS=$((FAILS + 1))
}

# expect STATUS CMD...: runs it; its output is left in $TMP/out and $TMP/err.
expect()
{
	want=$1
	shift
	"$@" >"$TMP/out" 2>"$TMP/err"
	got=$?
	[ "$got" = "$want" ] ||
		fail "$*: exit status $got, not $want: $(cat "$TMP/err")"
}

# says out|err PATTERN: the last output has a line that matches.
says()
{
	grep -q -e "$2" "$TMP/$1" ||
		fail "std$1 lacks '$2': $(cat "$TMP/$1")"
}

says_not()
{
	! grep -q -e "$2" "$TMP/$1" || fail "std$1 has '$2': $(cat "$TMP/$1")"
}

# An error is one line on stderr and nothing on stdout.
one_line()
{
	[ "$(wc -l <"$TMP/err")" = 1 ] ||
		fail "not one line of error: $(cat "$TMP/err")"
	[ ! -s "$TMP/out" ] || fail "output beside an error: $(cat "$TMP/out")"
}

# Sets BUILT, a command that has the fake preload beside it as in a build tree.
fake_tree()
{
	mkdir -p "$TMP/tree/src/intercept"
	cp "$ANYURING" "$TMP/tree/anyuring"
	BUILT=$TMP/tree/anyuring
	PRELOAD=$TMP/tree/src/intercept/libanyuring-preload.so
	cp "$FAKE" "$PRELOAD"
}

# Sets BARE, a command with no preload anywhere near.
bare_tree()
{
	mkdir -p "$TMP/bare/bin"
	cp "$ANYURING" "$TMP/bare/bin/anyuring"
	BARE=$TMP/bare/bin/anyuring
}

done_testing()
{
	[ "$FAILS" = 0 ] || exit 1
	exit 0
}
