#!/bin/sh
# SPDX-License-Identifier: MIT
# fio, which enters by inline system calls: random reads and writes whose
# blocks are verified, in every way its io_uring engine knows. What is checked
# is what fio reports: each block of each job was read once and compared.
# shellcheck source=tests/apps/lib.sh
. "${APPS:-$(dirname "$0")}/lib.sh"
need fio python3
cd "$TMP" || exit 1
probe_direct

SIZE=4 # MiB a job; 1024 blocks

# A job of its own file; --verify_fatal: the first bad block ends it.
set_job()
{
	name=$1
	shift
	set -- --name="$name" --directory="$TMP" --ioengine=io_uring \
		--rw=randrw --size=${SIZE}m --iodepth=16 \
		--verify=crc32c --verify_fatal=1 --verify_state_save=0 \
		--output-format=json "$@"
	JOB=$*
}

# result JOBS BLOCKS: fio's own numbers. BLOCKS is 0 if they are not known.
# shellcheck disable=SC2317 # by check
result()
{
	python3 - "$TMP/out" "$1" "$2" <<'EOF'
import json, sys

text = open(sys.argv[1], errors="replace").read()
start = text.find("{")
if start < 0:
    sys.exit("no JSON from fio: " + text[-200:])
report = json.JSONDecoder().raw_decode(text[start:])[0]
jobs, want, blocks = report["jobs"], int(sys.argv[2]), int(sys.argv[3])
wrong = []
if len(jobs) != want:
    wrong.append(f"{len(jobs)} jobs, not {want}")
for j in jobs:
    reads, writes = j["read"]["total_ios"], j["write"]["total_ios"]
    if j["error"]:
        wrong.append(f"error {j['error']}")
    if not writes or not reads:
        wrong.append(f"{reads} reads, {writes} writes")
    # A block is either read, or written and then read to verify it.
    if blocks and (reads != blocks or writes > blocks):
        wrong.append(f"{reads} reads of {blocks}, {writes} writes")
    # fio 3.33 counts its syncs as short reads, on the kernel's rings too.
    for way in ("read", "write"):
        if (j[way]["short_ios"] and not j["sync"]["total_ios"]
                or j[way]["drop_ios"]):
            wrong.append(f"short or dropped {way}s")
if wrong:
    sys.exit("; ".join(wrong))
print("  {:<14} {:>6} reads {:>6} writes  {:>6} ms".format(
    jobs[0]["jobname"], sum(j["read"]["total_ios"] for j in jobs),
    sum(j["write"]["total_ios"] for j in jobs),
    max(j["job_runtime"] for j in jobs)))
EOF
}

# job NAME JOBS BLOCKS OPTION...
job()
{
	name=$1 jobs=$2 blocks=$3
	shift 3
	set_job "$name" "$@"
	# shellcheck disable=SC2086 # no path of ours holds a space
	expect_served fio $JOB || return
	check "$name: the numbers are not right" result "$jobs" "$blocks"
	rm -f "$TMP/$name".*
}

set_job alone
# shellcheck disable=SC2086
expect_refused fio $JOB

N=$((SIZE * 256))
job vectored 1 $N --nonvectored=0
job registerfiles 1 $N --registerfiles=1 --nonvectored=1
job sqpoll 1 $N --sqthread_poll=1
job threads 4 256 --numjobs=4 --thread --size=1m --fixedbufs=1
if [ -z "${AU_APPS_QUICK:-}" ]; then
	job buffered 1 $N
	job nonvectored 1 $N --nonvectored=1
	job fixedbufs 1 $N --fixedbufs=1
	job force_async 1 $N --force_async=4
	job processes 3 256 --numjobs=3 --size=1m
	job batches 1 $N --iodepth_batch_submit=8 \
		--iodepth_batch_complete_min=4 --iodepth_batch_complete_max=16
	job fsync 1 $N --fsync=16 --fdatasync=24
	job sizes 1 0 --bsrange=512-64k --bs_unaligned=1
	job sequential 1 $N --rw=write --do_verify=1
	job deep 1 $N --iodepth=256
	job sqpoll_threads 2 256 --numjobs=2 --thread --size=1m \
		--sqthread_poll=1 --fixedbufs=1
fi
if [ "$DIRECT" = 0 ]; then
	note "  no O_DIRECT on this file system: its variants are left out"
else
	job direct_fixed 1 $N --direct=1 --fixedbufs=1 --registerfiles=1
fi
if [ "$DIRECT" = 1 ] && [ -z "${AU_APPS_QUICK:-}" ]; then
	job direct 1 $N --direct=1
	job direct_sqpoll 1 $N --direct=1 --sqthread_poll=1 --fixedbufs=1
	job direct_async 1 $N --direct=1 --force_async=2
fi

# One byte changed behind fio's back is found, so verifying is no formality.
set_job spoilt --rw=write --do_verify=0
# shellcheck disable=SC2086
expect_served fio $JOB
printf 'x' | dd of="$TMP/spoilt.0.0" bs=1 seek=123456 conv=notrunc 2>/dev/null
set_job spoilt --rw=read
# shellcheck disable=SC2086
expect_failure fio $JOB
check "the spoilt block was not reported" \
	grep -q 'verify failed .* offset 122880' "$TMP/out"

done_testing
