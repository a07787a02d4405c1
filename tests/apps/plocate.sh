#!/bin/sh
# SPDX-License-Identifier: MIT
# plocate, linked with liburing, answers from a database of a small tree what
# it answers without io_uring. It falls back silently, so strace has to say
# that there was a ring: its memory has a name.
# shellcheck source=tests/apps/lib.sh
. "${APPS:-$(dirname "$0")}/lib.sh"
need plocate updatedb.plocate
cd "$TMP" || exit 1

# Set-group-ID, it would run without the preload: a copy is not.
cp "$(command -v plocate)" plocate
chmod 755 plocate

mkdir tree
i=0
while [ $i -lt 20 ]; do
	mkdir "tree/folder-$i"
	j=0
	while [ $j -lt 100 ]; do
		: >"tree/folder-$i/file-$i-$j.txt"
		j=$((j + 1))
	done
	i=$((i + 1))
done

build='updatedb.plocate -l 0'
$build -U "$TMP/tree" -o plain.db || skip "updatedb.plocate does not work here"
# shellcheck disable=SC2086
expect_served $build -U "$TMP/tree" -o served.db
check "no database" test -s served.db

query()
{
	want=$1
	shift
	limited ./plocate -d plain.db "$@" >expected 2>&1
	expect_served ./plocate -d served.db "$@" || return
	check "plocate $*: another answer: $(diff expected out | head -n 5)" \
		cmp -s expected out
	check "plocate $*: $(wc -l <out) lines, not $want" \
		test "$(wc -l <out)" = "$want"
}

query 2000 file-
query 10 file-7-1 .txt -l 10
query 100 folder-7/
query 20 -r 'file-[0-9]*-42[.]txt$'
query 1 -c txt
query 1 -b '\file-19-99.txt'
query 11 -i FILE-7-1 FILE

if command -v strace >/dev/null && limited strace -o /dev/null true; then
	expect_served strace -f -o trace ./plocate -d served.db file-
	check "no ring of ours was made" grep -q 'memfd_create("anyuring' trace
	check "the kernel made a ring" \
		sh -c '! grep "io_uring_setup(.*= [0-9]" trace'
else
	note "  no strace: whether there was a ring is not known"
fi

done_testing
