#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: one program, two liburing.so.2: must print and return the same.
#
# usage: same_output.sh PROGRAM LIBDIR
# Runs PROGRAM with the system's library and with the one in LIBDIR.
set -u

prog=$1
libdir=$2
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

"$prog" >"$tmp/system"
rc_system=$?
if [ "$rc_system" -eq 77 ]; then
	cat "$tmp/system"
	exit 77
fi
LD_LIBRARY_PATH=$libdir "$prog" >"$tmp/front"
rc_front=$?

if ! diff -u "$tmp/system" "$tmp/front" || [ "$rc_system" -ne "$rc_front" ]
then
	echo "exit codes: system $rc_system, front $rc_front"
	echo "again: LD_LIBRARY_PATH=$libdir $prog"
	exit 1
fi
echo "$(wc -l <"$tmp/front") results, all equal; exit code $rc_front"
exit "$rc_front"
