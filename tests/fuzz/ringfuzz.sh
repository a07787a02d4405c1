#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the libFuzzer target of the engine with clang, if it is older than a
# source, and runs it: ringfuzz.sh BUILD_DIR SOURCE_ROOT SECONDS.
# First all of the corpus, cases that once crashed among it. New inputs and
# what crashes go to BUILD_DIR. Exit 77 without clang's libFuzzer.
set -eu

out=$1
top=$2
seconds=$3
exe=$out/ringfuzz
corpus=$top/tests/fuzz/corpus

echo 'int LLVMFuzzerTestOneInput(const char *d, long n);
int LLVMFuzzerTestOneInput(const char *d, long n) { return 0; }' |
	clang -fsanitize=fuzzer,address -x c - -o "$out/ringfuzz-try" \
		2>/dev/null || {
	echo "skipped: no clang with libFuzzer"
	exit 77
}
rm -f "$out/ringfuzz-try"

if [ ! -x "$exe" ] || [ -n "$(find "$top/src" "$top/tests/fuzz/ringfuzz.c" \
	-newer "$exe" -name '*.[ch]')" ]; then
	clang -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=undefined -O1 -g -std=gnu11 \
		-D_GNU_SOURCE -DAU_VERSION='"fuzz"' -fno-strict-aliasing \
		-I"$top/include" -iquote "$top/src" \
		"$top"/src/base/*.c "$top"/src/sys/*.c "$top"/src/rsrc/*.c \
		"$top"/src/core/*.c "$top"/src/engine/*.c \
		"$top"/src/ops/*.c \
		"$top/tests/fuzz/ringfuzz.c" -o "$exe" -pthread -ldl
fi

mkdir -p "$out/ringfuzz-corpus"
# The target moves into a folder of its own: names must be absolute.
abs() { (cd "$1" && pwd); }
new=$(abs "$out/ringfuzz-corpus")
old=$(abs "$corpus")
here=$(abs "$out")
status=0
"$exe" -timeout=10 -rss_limit_mb=3000 -handle_xfsz=0 \
	-artifact_prefix="$here/" "$old"/* \
	>"$here/ringfuzz.log" 2>&1 || status=1
[ $status != 0 ] ||
	"$exe" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=3000 \
		-handle_xfsz=0 -max_len=1024 -artifact_prefix="$here/" -print_final_stats=1 \
		"$new" "$old" >>"$here/ringfuzz.log" 2>&1 || status=1
if [ $status != 0 ]; then
	grep -E -A 30 'ERROR|runtime error|SUMMARY' "$here/ringfuzz.log" |
		head -n 60
	exit 1
fi
grep -E 'stat::number_of_executed|stat::average|DONE|cov:' \
	"$here/ringfuzz.log" | tail -n 4
