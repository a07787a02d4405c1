#!/bin/sh
# SPDX-License-Identifier: MIT
# The same programs in a container as podman makes them: crun, the profile of
# golang-github-containers-common, an ordinary user without capabilities, no
# new privileges, and a network with a loopback only. The profile refuses
# io_uring; nothing else of it may matter. Usage: container.sh [TEST]
#
# TEST strict: inline.sh under a profile that refuses with EPERM, as docker's
# does, and all newer and rarer calls that the engine likes to have as well.
# shellcheck source=tests/apps/lib.sh
. "${APPS:-$(dirname "$0")}/lib.sh"
PROFILE=/usr/share/containers/seccomp.json
need crun python3
[ -r $PROFILE ] || skip "no $PROFILE (golang-github-containers-common)"
[ "$(uname -m)" = x86_64 ] || skip "the bundle is written for x86-64"
[ "$(id -u)" = 0 ] || skip "crun is run as root here"

# crun refuses a machine with both kinds of cgroups, though none is to be
# used; in a mount namespace of ours there is one kind.
apart=
if [ "$(stat -f -c %T /sys/fs/cgroup)" != cgroup2fs ]; then
	apart='unshare -m sh -c "mount -t cgroup2 none /sys/fs/cgroup &&
		exec \"\$@\"" -'
fi

SELF=anyuring-$$
ERRNO=0 REFUSED=
# contained CMD...: its output in $TMP/all, its status returned.
contained()
{
	rm -rf "$TMP/bundle"
	python3 "$APPS/container.py" "$TMP/bundle" $PROFILE $ERRNO "$REFUSED" \
		"${ANYURING%/anyuring}" "$APPS" -- "$@" || return 1
	eval "set -- $apart" 'crun --root "$TMP/crun" \
		--cgroup-manager=disabled run --bundle "$TMP/bundle" $SELF'
	timeout -k 5 $((100 * SCALE)) "$@" >"$TMP/all" 2>&1 </dev/null
}
trap 'crun --root "$TMP/crun" delete -f $SELF 2>/dev/null; rm -rf "$TMP"' EXIT

contained true || skip "crun cannot run here: $(tail -n 1 "$TMP/all")"

if [ $# = 0 ]; then
	check "doctor: $(cat "$TMP/all")" contained "$ANYURING" doctor
	check "the profile does not refuse io_uring" grep -q \
		'^The kernel refuses io_uring here' "$TMP/all"
	grep -E '^  (setup|enter|register|system calls|inline calls)' "$TMP/all"
	done_testing
fi
name=$1
if [ "$name" = strict ]; then
	name=inline ERRNO=1
	REFUSED=process_vm_readv,process_vm_writev,preadv2,pwritev2
	REFUSED=$REFUSED,epoll_pwait2,openat2,statx,close_range,memfd_create
	REFUSED=$REFUSED,io_setup,timerfd_create,madvise
fi
contained sh "$APPS/$name.sh"
status=$?
cat "$TMP/all"
exit $status
