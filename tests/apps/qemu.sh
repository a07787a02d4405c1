#!/bin/sh
# SPDX-License-Identifier: MIT
# qemu-img and qemu-io, linked with liburing: images converted both ways and
# compared byte by byte, patterns written, read back, zeroed and discarded,
# and the benchmark's requests counted by what they leave behind.
# shellcheck source=tests/apps/lib.sh
. "${APPS:-$(dirname "$0")}/lib.sh"
need qemu-img qemu-io
cd "$TMP" || exit 1
probe_direct
cache=writeback
[ "$DIRECT" = 0 ] || cache=none

file()
{
	printf 'driver=%s,file.driver=file,file.aio=io_uring,%s' "$1" \
		"file.filename=$2"
}

# script COMMAND...: what the next qemu-io is told to do.
script()
{
	printf '%s\n' "$@" >commands
}

# shellcheck disable=SC2016 # for the inner shell
QIO='exec qemu-io -f raw -t "$0" -i io_uring "$1" <commands'

size=16M
head -c 16777216 /dev/urandom >disk
qemu-img create -q -f qcow2 copy $size
cp copy cow
truncate -s $size back
truncate -s $size other

expect_refused qemu-img convert -n --image-opts --target-image-opts \
	"$(file raw disk)" "$(file qcow2 copy)"
expect_served qemu-img convert -n --image-opts --target-image-opts \
	"$(file raw disk)" "$(file qcow2 copy)"
check "qcow2 is broken" qemu-img check -q copy
check "qcow2 is not the same" qemu-img compare -q -f raw -F qcow2 disk copy
expect_served qemu-img convert -n -t $cache -T $cache --image-opts \
	--target-image-opts "$(file qcow2 copy)" "$(file raw back)"
check "raw is not the same" cmp disk back
# Out of order, many at a time.
expect_served qemu-img convert -n -W -m 16 -t $cache --image-opts \
	--target-image-opts "$(file raw disk)" "$(file raw other)"
check "raw out of order is not the same" cmp disk other

expect_served qemu-img compare --image-opts "$(file qcow2 copy)" \
	"$(file raw back)"
printf 'x' | dd of=back bs=1 seek=7654321 conv=notrunc 2>/dev/null
expect_failure qemu-img compare --image-opts "$(file qcow2 copy)" \
	"$(file raw back)"
check "compare missed the changed byte" grep -q 'mismatch at offset' out

expect_refused qemu-img bench -f raw -i io_uring -c 8 disk
expect_served qemu-img bench -f raw -t $cache -i io_uring -c 5000 -d 32 disk
check "bench says nothing" grep -q 'Run completed in' out
check "reading changed the image" cmp disk other
# 4096 writes of 4 KiB cover the 16 MiB, each with the pattern.
expect_served qemu-img bench -f raw -t $cache -i io_uring -w -c 4096 -d 32 \
	--pattern=0xa5 --flush-interval=256 disk
head -c 16777216 /dev/zero | tr '\0' '\245' >other
check "bench left a block unwritten" cmp disk other
expect_served qemu-img bench -f qcow2 -t $cache -i io_uring -w -c 2000 -d 16 \
	-s 65536 -S 65536 cow
check "qcow2 is broken by bench" qemu-img check -q cow

# A discard is advice; where the file system punches no holes nothing happens.
truncate -s $size io
punched=
if fallocate -p -o 8M -l 64k io 2>/dev/null; then
	punched='read -P 0 2M 64k'
fi
script 'write -P 0x11 0 1M' 'write -P 0x22 1M 64k' \
	'aio_write -P 0x33 2M 1M' 'aio_write -P 0x44 3M 1M' 'aio_flush' \
	'flush' 'writev -P 0x55 4M 4k 8k 64k' \
	'read -P 0x11 0 1M' 'read -P 0x22 1M 64k' \
	'aio_read -P 0x33 2M 1M' 'aio_read -P 0x44 3M 1M' 'aio_flush' \
	'readv -P 0x55 4M 4k 8k 64k' \
	'write -z 1M 64k' 'read -P 0 1M 64k' 'discard 2M 64k' ${punched:+"$punched"} \
	'write -f -P 0x66 8M 512k' 'read -P 0x66 8M 512k'
expect_served sh -c "$QIO" $cache io
check "qemu-io: $(cat out)" sh -c '! grep -iE "fail|error|cannot" out'

# block NUMBER BYTE: all of this 4 KiB of the file is the byte, in octal.
block()
{
	rest=$(dd if=io bs=4096 skip="$1" count=1 2>/dev/null | tr -d "$2" |
		wc -c)
	[ "$rest" = 0 ] || fail "qemu-io: block $1 is not all $2"
}
truncate -s 12M io
CHECKS=$((CHECKS + 1))
block 0 '\021'
block 255 '\021'
block 256 '\000'
block 767 '\063'
block 768 '\104'
block 1024 '\125'
block 2048 '\146'

script 'read -P 0x12 0 4k'
expect_failure sh -c "$QIO" $cache io
check "qemu-io takes a wrong pattern for right" \
	grep -q 'Pattern verification failed' out

done_testing
