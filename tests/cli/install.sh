#!/bin/sh
# SPDX-License-Identifier: MIT
# An installation, moved after it was made, finds its own preload.
# shellcheck source=tests/cli/lib.sh disable=SC2016,SC2153
. "$(dirname "$0")/lib.sh"

expect 0 "$MESON" install -C "$BUILD" --no-rebuild --destdir "$TMP/dest"
[ "$FAILS" = 0 ] || done_testing

found=$(find "$TMP/dest" -name anyuring -type f -perm -1)
[ "$(printf '%s\n' "$found" | wc -l)" = 1 ] || fail "not one command: $found"
prefix=${found%/bin/anyuring}
mv "$prefix" "$TMP/moved"
cmd=$TMP/moved/bin/anyuring

expect 0 "$cmd" --version
for page in anyuring.1 anyuring-run.1 anyuring-deny.1 anyuring-doctor.1 \
	anyuring.3 anyuring.7; do
	[ -f "$TMP/moved/share/man/man${page##*.}/$page" ] ||
		fail "no manual page $page"
done

"$cmd" doctor --json >"$TMP/out"
place=$(sed -n 's/.*"preload": "\(.*\)",/\1/p' "$TMP/out")
case $place in
"$TMP"/moved/lib*/anyuring/libanyuring-preload.so) ;;
*) fail "looks for the preload at '$place'" ;;
esac
if [ -e "$BUILD/src/intercept/libanyuring-preload.so" ]; then
	[ -e "$place" ] || fail "the preload is not installed at $place"
fi

# A fake in its place: this is about finding it, and a sanitized one cannot be
# preloaded into a program that is not.
mkdir -p "${place%/*}"
cp "$FAKE" "$place"
expect 0 "$cmd" run --engine=user --verbose env
says out "^LD_PRELOAD=$place\$"

done_testing
