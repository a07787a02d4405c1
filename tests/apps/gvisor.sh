#!/bin/sh
# SPDX-License-Identifier: MIT
# The same programs inside gVisor, which has no io_uring, no syscall user
# dispatch and other habits of its own. Usage: gvisor.sh TEST
#
# runsc is the installed one, or a copy that is fetched once from Debian into
# the user's cache, by apt and the mirror the system uses anyway; nothing is
# installed. Debian 12's own has no systrap; the one in sid of 2026 panics in
# the first wait that is woken (its build guesses where Go keeps an ID).
# shellcheck source=tests/apps/lib.sh disable=SC2016
. "${APPS:-$(dirname "$0")}/lib.sh"
SUITE=trixie
cache=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/anyuring
[ "$(uname -m)" = x86_64 ] || skip "runsc is looked for on x86-64 only"

# Debian's mirror, by what it calls itself.
mirror()
{
	apt-get indextargets --format '$(LABEL) $(REPO_URI)' \
		'Created-By: Packages' 2>/dev/null |
		sed -n 's/^Debian //p' | head -n 1
}

fetch_runsc()
{
	for tool in apt-get dpkg-deb flock; do
		command -v $tool >/dev/null || return 1
	done
	uri=$(mirror)
	key=/usr/share/keyrings/debian-archive-keyring.gpg
	[ -n "$uri" ] && [ -e $key ] || return 1
	apt=$cache/apt
	mkdir -p "$apt/lists/partial" "$apt/archives/partial" || return 1
	echo "deb [signed-by=$key] $uri $SUITE main" >"$apt/sources.list"
	set -- -qq -o Dir::Etc::sourcelist="$apt/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null -o Dir::Cache="$apt" \
		-o Dir::State::lists="$apt/lists" -o Acquire::Retries=1 \
		-o Acquire::Languages=none -o APT::Sandbox::User=root \
		-o Acquire::Check-Valid-Until=false # a frozen mirror's, signed
	(cd "$apt" && timeout 60 apt-get "$@" update &&
		timeout 60 apt-get "$@" download runsc &&
		dpkg-deb -x runsc_*.deb root &&
		mv root/usr/bin/runsc "$cache/runsc") >"$TMP/apt" 2>&1
	status=$?
	rm -rf "$apt"
	return $status
}

runsc=$(command -v runsc) || runsc=$cache/runsc
if [ ! -x "$runsc" ]; then
	mkdir -p "$cache" 2>/dev/null || skip "no runsc, and no cache folder"
	exec 9>"$cache/lock"
	flock 9 2>/dev/null
	[ -x "$runsc" ] || fetch_runsc ||
		skip "no runsc, and none to be had: $(tail -n 1 "$TMP/apt" 2>&1)"
	exec 9>&-
fi

# sandboxed LIMIT CMD...: through a pipe, because gVisor writes to a file
# from where it opened it. `do` gives the sandbox this file system, read-only
# under a layer in memory, and a network of its own with a loopback only.
rootless=
[ "$(id -u)" = 0 ] || rootless=--rootless
sandboxed()
{
	limit=$1
	shift
	{
		timeout -k 5 $((limit * SCALE)) "$runsc" --network=none \
			--ignore-cgroups --platform=systrap $rootless \
			"do" "$@" 2>&1
		echo "status $?"
	} | cat
}

sandboxed 20 dmesg >"$TMP/start"
grep -q 'Starting gVisor' "$TMP/start" ||
	skip "runsc cannot start here: $(tail -n 2 "$TMP/start" | head -n 1)"

sandboxed 150 env AU_APPS_REFUSED=1 AU_APPS_QUICK=1 \
	AU_TEST_TIMEOUT_SCALE="$SCALE" ANYURING="$ANYURING" APPS="$APPS" \
	INLINE="${INLINE:-}" sh "$APPS/$1.sh" | tee "$TMP/all"
case $(tail -n 1 "$TMP/all") in
"status 0") exit 0 ;;
"status 77") exit 77 ;;
esac
exit 1
