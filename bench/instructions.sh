#!/bin/sh
# SPDX-License-Identifier: MIT
# Instructions per nop, and per timeout, through the front, counted by
# callgrind as the difference of two run lengths: free of noise, so the figure
# to watch from change to change. Prints one line for the table in
# docs/performance.md:
#
#   batch-32, single, then batch-32 after drain, links and overflow were used,
#   then a pair of a timeout and its removal, 16 pairs a submit
#
# usage: bench/instructions.sh [BUILD]
set -eu
build=${1:-build}
nops=$build/bench/nops
if [ ! -x "$nops" ]; then
	echo "instructions.sh: no $nops: build first" >&2
	exit 1
fi
if ! command -v valgrind >/dev/null; then
	echo "instructions.sh: needs valgrind" >&2
	exit 1
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# total ARGUMENT...: instructions of one run.
total()
{
	valgrind --tool=callgrind --callgrind-out-file="$tmp/out" -q \
		"$nops" "$@" >/dev/null
	awk '/^(summary|totals):/ { n = $2 } END { print n }' "$tmp/out"
}

# per_nop BATCH [FEATURE]
per_nop()
{
	short=$(total 3200 "$@")
	long=$(total 35200 "$@")
	awk "BEGIN { printf \"%.1f\", ($long - $short) / 32000 }"
}

printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$(per_nop 32)" "$(per_nop 1)" \
	"$(per_nop 32 drain)" "$(per_nop 32 links)" "$(per_nop 32 overflow)" \
	"$(per_nop 16 timers)"
