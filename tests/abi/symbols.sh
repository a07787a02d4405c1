#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: the front exports liburing's symbols, each at its version.
#
# usage: symbols.sh NM LIBRARY EXPECTED [SYSTEM-LIBRARY]
# EXPECTED lists symbol@@NODE, one a line. Nothing may be missing and nothing
# may be added; the system's liburing.so.2, if there is one, must export a
# subset, so that whatever runs with it runs with ours.
set -u

nm=$1
lib=$2
expected=$3
system=${4-}
LC_ALL=C
export LC_ALL

exported() {
	"$nm" -D --defined-only --with-symbol-versions "$1" |
		awk '$2 == "T" || $2 == "W" { print $3 }' | sort
}

tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

sort "$expected" >"$tmp/want"
exported "$lib" >"$tmp/have"
if ! diff -u "$tmp/want" "$tmp/have"; then
	echo "$lib: other symbols than $expected"
	exit 1
fi
echo "$(wc -l <"$tmp/have") symbols, as expected"

if [ -n "$system" ]; then
	exported "$system" >"$tmp/system"
	if [ ! -s "$tmp/system" ]; then
		echo "$system: no symbols found"
		exit 1
	fi
	missing=$(comm -23 "$tmp/system" "$tmp/have")
	if [ -n "$missing" ]; then
		echo "in $system but not in $lib:"
		echo "$missing"
		exit 1
	fi
	echo "$(wc -l <"$tmp/system") symbols of $system, all there"
fi
