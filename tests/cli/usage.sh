#!/bin/sh
# SPDX-License-Identifier: MIT
# Wrong usage is one line on stderr and status 2; help and version are output.
# shellcheck source=tests/cli/lib.sh disable=SC2016,SC2153
. "$(dirname "$0")/lib.sh"

wrong()
{
	expect 2 "$ANYURING" "$@"
	one_line
}

wrong
wrong nosuch
wrong --nosuch
wrong help nosuch
wrong help run deny
wrong run
wrong run --
wrong run --nosuch -- true
wrong run --engine
wrong run --engine=
wrong run --engine=turbo true
wrong run --engine turbo true
wrong run --enginex=user true
wrong run --verbose=1 true
wrong deny
wrong deny --errno=EIO true
wrong deny --errno
wrong doctor --nosuch
wrong doctor extra

for args in --help -h help 'help run' 'help deny' 'help doctor' 'help bench' 'run --help' \
	'deny --help' 'doctor --help' 'bench --help' 'run --verbose --help'; do
	# shellcheck disable=SC2086
	expect 0 "$ANYURING" $args
	says out 'usage: anyuring'
	[ ! -s "$TMP/err" ] || fail "$args: $(cat "$TMP/err")"
done

expect 0 "$ANYURING" --version
says out '^anyuring [0-9][0-9.]*$'

# The program's own --help is not ours.
expect 0 "$ANYURING" run --engine=user --verbose --help
says out 'usage: anyuring run'
expect 1 "$ANYURING" deny sh -c 'exit 1' --help

if [ -c /dev/full ]; then
	"$ANYURING" --help >/dev/full 2>"$TMP/err"
	[ $? = 1 ] || fail "a full output goes unnoticed"
fi

done_testing
