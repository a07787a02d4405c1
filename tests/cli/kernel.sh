#!/bin/sh
# SPDX-License-Identifier: MIT
# `anyuring run` where the kernel's io_uring works: it changes nothing.
# shellcheck source=tests/cli/lib.sh disable=SC2016,SC2153
. "$(dirname "$0")/lib.sh"
fake_tree

if ! "$BUILT" run --engine=kernel true 2>"$TMP/err"; then
	echo "skipped: $(cat "$TMP/err")"
	exit 77
fi

expect 0 "$BUILT" run env
says_not out '^LD_PRELOAD='
says_not out '^ANYURING_'
expect 0 "$BUILT" run --verbose true
says err 'run: engine kernel: '
one_line
expect 0 env LD_PRELOAD=libm.so.6 "$BUILT" run env
says out '^LD_PRELOAD=libm.so.6$'
expect 0 "$BUILT" run --engine=user -- "$BUILT" run --engine=kernel env
says_not out '^LD_PRELOAD='
says_not out '^ANYURING_ENGINE='
expect 0 "$BUILT" run "$CALLS"
says out '^EFAULT EBADF EBADF$'

# From inside the engine, doctor still reports on the kernel.
expect 0 "$BUILT" run --engine=user -- "$BUILT" doctor
says out '^io_uring works here: the kernel serves it'

done_testing
