# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# shellcheck disable=SC2034 # set here, used by who sources this
# What the tests of real programs share. Meson passes in the environment:
# ANYURING (the command), INLINE (inline.c) and APPS (this folder).
#
# AU_APPS_REFUSED=1: the surroundings (gVisor, a container) refuse io_uring
# already, so the scripts add no refusal of their own. AU_APPS_QUICK=1 leaves
# out the variants that only cost time there.

set -u
unset LD_PRELOAD ANYURING_ENGINE ANYURING_VERBOSE ANYURING_TRAP ANYURING_PATCH

SCALE=${AU_TEST_TIMEOUT_SCALE:-1}
TMP=$(mktemp -d) || exit 1
trap 'rm -rf "$TMP"' EXIT
trap 'exit 130' INT TERM
FAILS=0
CHECKS=0

fail()
{
	printf 'FAIL: %s\n' "$*"
	FAILS=$((FAILS + 1))
}

skip()
{
	printf 'skipped: %s\n' "$*"
	exit 77
}

note()
{
	printf '%s\n' "$*"
}

# need PROGRAM...: or the test is skipped.
need()
{
	for program in "$@"; do
		command -v "$program" >/dev/null ||
			skip "$program is not installed"
	done
}

limited()
{
	timeout -k 5 $((30 * SCALE)) "$@"
}

# refused CMD...: runs it with io_uring refused; output in $TMP/out.
refused()
{
	if [ -n "${AU_APPS_REFUSED:-}" ]; then
		limited "$@" >"$TMP/out" 2>&1
	else
		limited "$ANYURING" deny -- "$@" >"$TMP/out" 2>&1
	fi
}

# served CMD...: the same under `anyuring run`.
served()
{
	refused "$ANYURING" run --engine=user -- "$@"
}

tail_of()
{
	tail -n 8 "$TMP/out" | cut -c 1-200 | sed 's/^/      /'
}

# expect_refused CMD...: without anyuring it fails, and names io_uring.
expect_refused()
{
	CHECKS=$((CHECKS + 1))
	if refused "$@"; then
		fail "works with io_uring refused, so proves nothing: $*"
	elif ! grep -qiE 'io_uring|queue_init' "$TMP/out"; then
		fail "fails for another reason than io_uring: $*"
		tail_of
	fi
}

# expect_served CMD...: under anyuring it works.
expect_served()
{
	CHECKS=$((CHECKS + 1))
	served "$@" && return 0
	fail "status $? under anyuring: $*"
	tail_of
	return 1
}

# expect_failure CMD...: under anyuring it still finds what is wrong.
expect_failure()
{
	CHECKS=$((CHECKS + 1))
	served "$@" || return 0
	fail "should have failed: $*"
	return 1
}

# check WHAT CMD...: one more fact, asked without anyuring.
check()
{
	what=$1
	shift
	CHECKS=$((CHECKS + 1))
	"$@" || fail "$what"
}

# Sets DIRECT to 1 where the file system of $TMP has O_DIRECT.
probe_direct()
{
	DIRECT=0
	if dd if=/dev/zero of="$TMP/probe" bs=4096 count=1 oflag=direct \
		2>/dev/null; then
		DIRECT=1
	fi
	rm -f "$TMP/probe"
}

done_testing()
{
	printf '%d checks, %d failed\n' "$CHECKS" "$FAILS"
	[ "$FAILS" = 0 ] || exit 1
	exit 0
}
