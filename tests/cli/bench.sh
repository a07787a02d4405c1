#!/bin/sh
# SPDX-License-Identifier: MIT
# `anyuring bench` runs, checks itself, and says what it found in a stable
# shape. How fast anything is, is not asked here.
# shellcheck source=tests/cli/lib.sh disable=SC2016,SC2153
. "$(dirname "$0")/lib.sh"

bench()
{
	expect 0 "$@" --quick --rounds=2 --slice=1 --dir="$TMP"
}

# json EXPRESSION...: each holds for the object `d` that was printed last.
json()
{
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
m = d["measurements"]
no = [e for e in sys.argv[2:] if not eval(e)]
sys.exit("\n".join(no) or 0)' "$TMP/out" "$@" 2>"$TMP/err" ||
		fail "JSON: not $(cat "$TMP/err"): $(cat "$TMP/out")"
}

xml()
{
	python3 -c 'import sys, xml.dom.minidom as d
r = d.parse(sys.argv[1]).documentElement
sys.exit(r.tagName != "svg" or len(r.getElementsByTagName("text")) < 4)' \
		"$1" || fail "not an SVG file: $1"
}

works=false
"$ANYURING" run --engine=kernel true 2>/dev/null && works=true

bench "$ANYURING" bench nop --json --plot="$TMP/plot.svg"
json 'set(d) == {"version", "release", "cpus", "load", "refused", "rounds", "slice_ms", "quick", "directory", "filesystem", "measurements"}' \
	'd["rounds"] == 2 and d["slice_ms"] == 1 and d["quick"] is True' \
	'[r["key"] for r in m] == ["nop_single", "nop_batch32", "nop_single_defer", "nop_batch32_defer"]' \
	'all(set(r) == {"suite", "key", "title", "unit", "better", "skipped", "anyuring", "kernel", "rival", "ratio", "ratio_min", "ratio_max", "ratio_rival"} for r in m)' \
	'all(r["suite"] == "nop" and r["unit"] == "1/s" for r in m)' \
	'all(set(r["anyuring"]) == {"median", "min", "max", "rounds"} for r in m)' \
	'all(r["rival"]["name"] == "getppid" for r in m)' \
	'all(len(r["anyuring"]["rounds"]) == 2 for r in m)' \
	'all(0 < r["anyuring"]["min"] <= r["anyuring"]["median"] <= r["anyuring"]["max"] for r in m)'
if $works; then
	json 'd["refused"] is None' \
		'all(r["kernel"]["min"] > 0 and r["ratio"] > 0 for r in m)'
fi
xml "$TMP/plot.svg"

# Reads and writes, and small numbers of timeouts, with all their checks.
bench "$ANYURING" bench read
says out '^read  *random writes .*[MGk]/s'
left=$(find "$TMP" -name 'anyuring*')
[ -z "$left" ] || fail "files left behind: $left"

# Where the kernel refuses, its column is empty and the rest is measured.
bench "$ANYURING" deny "$ANYURING" bench --json --plot "$TMP/deny.svg" nop
json 'd["refused"].endswith("EPERM")' \
	'all(r["kernel"] is None and r["ratio"] is None for r in m)' \
	'all(r["anyuring"]["min"] > 0 and r["ratio_rival"] > 0 for r in m)'
xml "$TMP/deny.svg"
bench "$ANYURING" deny "$ANYURING" bench nop
says err 'the kernel refuses io_uring'
says out ' - .* - '

expect 0 "$ANYURING" bench --list
says out '^timer '
[ ! -s "$TMP/err" ] || fail "--list: $(cat "$TMP/err")"

for args in nosuch '--nosuch' '--rounds' '--rounds=' '--rounds=0' \
	'--rounds=x' '--rounds=3x' '--rounds=-1' '--rounds=99999999999' \
	'--slice=0' '--quick=1' '--dir=/nosuch' '--plot=/nosuch/x.svg' \
	"--plot=$TMP" 'nop nosuch' 'nop --nosuch' '-- nosuch'; do
	# shellcheck disable=SC2086
	expect 2 "$ANYURING" bench $args
	one_line
done

# Under the preload there is no kernel to compare with.
expect 1 env LD_PRELOAD="$TMP/libanyuring-preload.so" "$ANYURING" bench nop
says err 'not under'

done_testing
