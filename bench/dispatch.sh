#!/bin/sh
# SPDX-License-Identifier: MIT
# A table of functions against a switch: instructions per request (callgrind,
# difference of two run lengths) and nanoseconds (median of rounds that take
# turns). One line a variant: way, opcodes, instructions, ns.
#
# usage: bench/dispatch.sh [BUILD]
set -eu
build=${1:-build}
dispatch=$build/bench/dispatch
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

instructions()
{
	valgrind --tool=callgrind --callgrind-out-file="$tmp/out" -q \
		"$dispatch" "$@" >/dev/null
	awk '/^(summary|totals):/ { n = $2 } END { print n }' "$tmp/out"
}

for order in same mixed; do
	: >"$tmp/table"
	: >"$tmp/switch"
	for _ in 1 2 3 4 5 6 7; do
		for way in table switch; do
			"$dispatch" $way $order 3000000 >>"$tmp/$way"
		done
	done
	for way in table switch; do
		short=$(instructions $way $order 10000)
		long=$(instructions $way $order 110000)
		printf '%s\t%s\t%s\t%s\n' $way $order \
			"$(awk "BEGIN { printf \"%.1f\",
				($long - $short) / 100000 }")" \
			"$(sort -n "$tmp/$way" | sed -n 4p)"
	done
done
