#!/bin/sh
# SPDX-License-Identifier: MIT
# `anyuring run` becomes the program, and sets what the preload needs.
# shellcheck source=tests/cli/lib.sh disable=SC2016,SC2153
. "$(dirname "$0")/lib.sh"
fake_tree
bare_tree

# Exit statuses, as env(1) has them.
expect 0 "$BUILT" run true
expect 7 "$BUILT" run -- sh -c 'exit 7'
expect 127 "$BUILT" run -- /nonexistent/program
one_line
expect 127 "$BUILT" run -- no-such-program-anywhere
one_line
says err 'no-such-program-anywhere: command not found'
expect 127 "$BUILT" run ''
echo 'exit 3' >"$TMP/plain"
expect 126 "$BUILT" run "$TMP/plain"
one_line
expect 126 "$BUILT" run "$TMP"
chmod +x "$TMP/plain"
expect 3 "$BUILT" run "$TMP/plain"
printf '#!/nonexistent/interpreter\n' >"$TMP/orphan"
chmod +x "$TMP/orphan"
expect 127 "$BUILT" run "$TMP/orphan"
one_line

# PATH is searched in order; what cannot be executed is passed over.
mkdir "$TMP/p1" "$TMP/p2"
echo 'exit 1' >"$TMP/p1/prog"
printf '#!/bin/sh\nexit 4\n' >"$TMP/p2/prog"
chmod +x "$TMP/p2/prog"
expect 4 env PATH="$TMP/p1:$TMP/p2:$PATH" "$BUILT" run prog
expect 126 env PATH="$TMP/p1:$PATH" "$BUILT" run prog

# It is the same process, so a signal is the program's own.
expect 143 "$BUILT" run --engine=user -- sh -c 'kill -TERM $$'
expect 0 sh -c 'echo $$; exec "$0" run --engine=user sh -c "echo \$\$"' "$BUILT"
[ "$(uniq "$TMP/out" | wc -l)" = 1 ] || fail "the process id changed"
expect 0 sh -c 'echo in | "$0" run cat' "$BUILT"
says out '^in$'

# The environment of the user engine.
expect 0 "$BUILT" run --engine=user env
says out "^LD_PRELOAD=$PRELOAD\$"
says out '^ANYURING_ENGINE=user$'
says_not out '^ANYURING_VERBOSE='
[ ! -s "$TMP/err" ] || fail "not silent: $(cat "$TMP/err")"
expect 0 "$BUILT" run --engine user --verbose env
says out '^ANYURING_VERBOSE=1$'
says err 'run: engine user: .*libanyuring-preload.so'
expect 0 env LD_PRELOAD="libm.so.6 libdl.so.2" "$BUILT" run --engine=user env
says out "^LD_PRELOAD=$PRELOAD:libm.so.6:libdl.so.2\$"

# One run inside another does not pile up, and can be left.
expect 0 "$BUILT" run --engine=user -- "$BUILT" run --verbose env
says out "^LD_PRELOAD=$PRELOAD\$"
says err 'already running under anyuring'

# Where the kernel refuses, the engine is chosen; asked for the kernel, it fails.
expect 0 "$BUILT" deny "$BUILT" run env
says out "^LD_PRELOAD=$PRELOAD\$"
expect 1 "$BUILT" deny "$BUILT" run --engine=kernel true
one_line
says err 'io_uring_setup: EPERM.*seccomp'

# Without the engine.
expect 1 "$BARE" run --engine=user true
one_line
expect 1 "$BARE" deny "$BARE" run true
one_line

# A path that LD_PRELOAD cannot name.
cp -r "$TMP/tree" "$TMP/a tree"
expect 1 "$TMP/a tree/anyuring" run --engine=user true
one_line
says err 'space'

# Programs a preload does not reach.
if [ -n "$CALLS_STATIC" ]; then
	expect 1 "$BUILT" run --engine=user "$CALLS_STATIC"
	one_line
	says err 'statically linked'
	expect 0 "$BUILT" deny "$BUILT" run "$CALLS_STATIC"
	says err 'warning: .*statically linked'
	printf '#!%s\n' "$CALLS_STATIC" >"$TMP/script"
	chmod +x "$TMP/script"
	expect 1 "$BUILT" run --engine=user "$TMP/script"
	says err 'statically linked'
fi
# Where the bit has an effect at all.
if [ "$(id -u)" = 0 ] && grep -q '^NoNewPrivs:.0' /proc/self/status &&
	! findmnt -no OPTIONS -T "$TMP" 2>/dev/null | grep -q nosuid; then
	cp "$(command -v env)" "$TMP/setuid"
	chown 1 "$TMP/setuid"
	chmod 4755 "$TMP/setuid"
	expect 1 "$BUILT" run --engine=user "$TMP/setuid" true
	one_line
	says err 'set-user-ID'
fi

done_testing
