#!/bin/sh
# SPDX-License-Identifier: MIT
# `anyuring doctor` says what refuses io_uring, in words and as JSON.
# shellcheck source=tests/cli/lib.sh disable=SC2016,SC2153
. "$(dirname "$0")/lib.sh"
fake_tree
bare_tree

# json EXPRESSION...: each holds for the object `d` that was printed last.
json()
{
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
no = [e for e in sys.argv[2:] if not eval(e)]
sys.exit("\n".join(no) or 0)' "$TMP/out" "$@" 2>"$TMP/err" ||
		fail "JSON: not $(cat "$TMP/err"): $(cat "$TMP/out")"
}

# Refused, and no engine: nothing can run here.
expect 1 "$BARE" deny "$BARE" doctor
says out '^The kernel refuses io_uring here'
says out 'refused by .*seccomp'
says out 'setup *EPERM'
expect 1 "$BARE" deny --errno=ENOSYS "$BARE" doctor
says out 'setup *ENOSYS'
says out 'refused by .*seccomp'
expect 1 "$BARE" deny "$BARE" doctor --json
json 'd["works"] is False and d["engine"] == "none"' \
	'd["kernel"]["works"] is False' \
	'[d["kernel"][c] for c in ("setup", "enter", "register")] == 3*["EPERM"]' \
	'"seccomp" in d["kernel"]["refused_by"]' \
	'd["kernel"]["operations"] is None' \
	'd["system"]["seccomp_mode"] == 2' \
	'd["user"]["installed"] is False' \
	'd["user"]["trap"] in ("sud", "seccomp", "none")'

# An object that is there but serves nothing does not make it work.
expect 1 "$BUILT" deny "$BUILT" doctor
says out 'engine *broken: '
expect 1 "$BUILT" deny "$BUILT" doctor --json
json 'd["user"]["installed"] and not d["user"]["works"] and not d["works"]' \
	"d['user']['preload'] == '$PRELOAD'"

# Profiles that refuse one call of the three, or kill, and tell of it. Where
# the kernel has no io_uring to begin with, the rest of the three is unknown.
EPERM=1
if "$BARE" run --engine=kernel true 2>/dev/null; then
	expect 1 "$REFUSE" 426 426 $EPERM "$BARE" doctor --json
	json 'd["kernel"]["setup"] == d["kernel"]["register"] == "ok"' \
		'd["kernel"]["enter"] == "EPERM"' \
		'd["kernel"]["refused_by"] == ["seccomp"]'
	expect 1 "$REFUSE" 425 425 0 "$BARE" doctor --json
	json 'd["kernel"]["setup"] == "killed"' \
		'd["kernel"]["enter"] == d["kernel"]["register"] == "ok"' \
		'd["kernel"]["refused_by"] == ["seccomp"]'
	expect 1 "$REFUSE" 425 427 0 "$BARE" run --engine=kernel true
	one_line
	says err 'io_uring_setup: killed'
fi

# The sysctl, as far as it can be imitated: another file in its place.
sysctl=/proc/sys/kernel/io_uring_disabled
echo 2 >"$TMP/two"
if [ -e $sysctl ] && unshare -m mount --bind "$TMP/two" $sysctl 2>/dev/null
then
	expect 1 unshare -m sh -c 'mount --bind "$0" "$1" &&
		exec "$2" 425 425 '$EPERM' "$3" doctor --json' \
		"$TMP/two" $sysctl "$REFUSE" "$BARE"
	json '"sysctl" in d["kernel"]["refused_by"]' \
		'd["system"]["io_uring_disabled"] == 2'
	expect 1 unshare -m sh -c 'mount --bind "$0" "$1" &&
		exec "$2" deny "$2" doctor' "$TMP/two" $sysctl "$BARE"
	says out 'refused by .*kernel.io_uring_disabled'
	says out 'refused by .*seccomp'
fi

# Text and status agree with the object, whatever this machine is like.
"$ANYURING" doctor --json >"$TMP/out"
status=$?
json "d['works'] == ($status == 0)" \
	'd["works"] == (d["kernel"]["works"] or d["user"]["works"])' \
	'sorted(d) == ["engine", "kernel", "limits", "system", "user", "version", "works"]' \
	'set(d["limits"]) == {"nofile_soft", "nofile_hard", "memlock_soft", "memlock_hard"}'
expect "$status" "$ANYURING" doctor

# Limits are reported as they are.
expect "$status" sh -c 'ulimit -S -n 100; exec "$0" doctor --json' "$ANYURING"
json 'd["limits"]["nofile_soft"] == 100'

done_testing
