#!/bin/sh
# SPDX-License-Identifier: MIT
# PostgreSQL 18 of Debian sid, unmodified, with io_method=io_uring: the
# postmaster makes a ring for each process it will start, the processes submit
# to theirs, and wait on each other's for pages that several of them need. What
# is read is compared with what io_method=sync reads, before and after writes,
# through the page cache and with O_DIRECT, and after a backend was killed.
#
# The packages are kept outside the tree, unpacked, as tools/suite keeps
# liburing. They run in a root of their own, as an ordinary user, and are
# reached by a socket only.
# shellcheck source=tests/apps/lib.sh disable=SC2016
. "${APPS:-$(dirname "$0")}/lib.sh"

CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/anyuring/postgres-18
USER_ID=5432

# ---- inside, as that user: postgres.sh inside DIRECT ----

sql()
{
	psql -X -q -h /tmp -d postgres -v ON_ERROR_STOP=1 -At "$@" \
		>"$TMP/answer" 2>"$TMP/answer.err"
}

# start METHOD CMD...: the server, by way of CMD.
start()
{
	method=$1
	shift
	: >/data/log
	timeout -k 5 $((90 * SCALE)) "$@" pg_ctl -w -t 60 -l /data/log \
		-o "-c io_method=$method $DIRECT_IO" start >"$TMP/out" 2>&1
}

stop()
{
	check "it does not stop: $(tail -n 2 /data/log)" \
		timeout $((60 * SCALE)) pg_ctl -w -t 50 -m fast stop >/dev/null
}

# start_or_end METHOD CMD...
start_or_end()
{
	CHECKS=$((CHECKS + 1))
	start "$@" && return
	fail "the server does not start with $*: $(tail -n 4 /data/log)"
	done_testing
}

no_complaints()
{
	check "it complains: $(grep -E 'ERROR|PANIC|FATAL' /data/log)" \
		sh -c '! grep -qE "ERROR|PANIC|FATAL" /data/log'
}

ASK='select count(*), sum(i), sum(hashtext(s)::numeric),
	sum(hashtext(p)::numeric) from t'
PARALLEL='set max_parallel_workers_per_gather = 3;
	set min_parallel_table_scan_size = 0; set parallel_setup_cost = 0;
	set parallel_tuple_cost = 0'

# The same sums, by one process, by several, and by several clients at once.
same_sums()
{
	sql -c "$ASK" || fail "$(cat "$TMP/answer.err")"
	check "other sums: $(cat "$TMP/answer")" cmp "$TMP/first" "$TMP/answer"
	sql -c "$PARALLEL" -c "$ASK" || fail "$(cat "$TMP/answer.err")"
	check "other sums in parallel: $(cat "$TMP/answer")" \
		cmp "$TMP/first" "$TMP/answer"
	for i in 1 2 3 4 5 6; do
		psql -X -q -h /tmp -d postgres -At -c "$ASK" -c "$ASK" \
			>"$TMP/client$i" 2>&1 &
	done
	# The server is pg_ctl's child, not ours.
	wait
	for i in 1 2 3 4 5 6; do
		check "other sums of client $i: $(cat "$TMP/client$i")" \
			cmp "$TMP/twice" "$TMP/client$i"
	done
}

# Only what went through a ring counts.
reads_by_ring()
{
	sql -c 'show io_method' -c "select sum(reads) > 1000 from pg_stat_io
		where backend_type like '%backend' and object = 'relation'"
	check "not by rings: $(cat "$TMP/answer" "$TMP/answer.err")" \
		sh -c '[ "$(tr "\n" " " <"$0")" = "io_uring t " ]' "$TMP/answer"
}

first_sums()
{
	sql -c "$ASK" || fail "$(cat "$TMP/answer.err")"
	cp "$TMP/answer" "$TMP/first"
	cat "$TMP/first" "$TMP/first" >"$TMP/twice"
}

# A backend that is killed takes all others along; the postmaster goes on.
kill_a_backend()
{
	for i in 1 2 3; do
		psql -X -q -h /tmp -d postgres -At -c "$ASK" -c "$ASK" \
			-c "$ASK" -c "$ASK" >/dev/null 2>&1 &
	done
	tries=0
	until sql -c "select pid from pg_stat_activity where query like
		'select count%' limit 1" && [ -s "$TMP/answer" ]; do
		tries=$((tries + 1))
		[ $tries -lt 200 ] || break
	done
	kill -KILL "$(cat "$TMP/answer")" || fail "no backend to kill"
	wait
	tries=0
	until sql -c 'select 1' || [ $tries -gt 200 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	check "no recovery: $(tail -n 3 /data/log)" \
		grep -q 'all server processes terminated; reinit' /data/log
}

inside()
{
	PATH=/usr/lib/postgresql/18/bin:/usr/bin LC_ALL=C PGDATA=/data/d
	export PATH LC_ALL PGDATA
	cd /data || exit 1
	initdb -A trust --no-sync >"$TMP/out" 2>&1 ||
		skip "initdb does not work here: $(tail -n 1 "$TMP/out")"
	# Less memory than the table has, so pages come and go.
	cat >>$PGDATA/postgresql.conf <<-END
		listen_addresses = ''
		unix_socket_directories = '/tmp'
		shared_buffers = 2MB
		max_connections = 20
		fsync = off
		autovacuum = off
	END
	DIRECT_IO=
	run="$ANYURING deny --errno=ENOSYS -- $ANYURING run --engine=user --"

	# shellcheck disable=SC2086
	if start io_uring $ANYURING deny --errno=ENOSYS --; then
		fail "it starts with io_uring refused, so proves nothing"
		stop
	fi
	check "it fails for another reason: $(tail -n 3 /data/log)" \
		grep -q io_uring /data/log

	start_or_end sync
	sql -c "create table t as select i, md5(i::text) s,
		repeat(md5(i::text), 8) p from generate_series(1, 60000) i" \
		-c 'create index on t (i)' || fail "$(cat "$TMP/answer.err")"
	first_sums
	stop

	# shellcheck disable=SC2086
	start_or_end io_uring $run
	same_sums
	reads_by_ring
	pgbench -h /tmp -i -s 2 -q postgres >"$TMP/out" 2>&1 &&
		pgbench -h /tmp -n -c 8 -j 2 -t 100 postgres >"$TMP/out" 2>&1
	check "pgbench: $(cat "$TMP/out")" grep -q 'processed: 800/800' \
		"$TMP/out"
	sql -c 'update t set p = reverse(p) where i % 3 = 0' \
		-c 'delete from t where i % 5 = 0' -c 'vacuum t' ||
		fail "$(cat "$TMP/answer.err")"
	first_sums
	no_complaints
	kill_a_backend
	same_sums
	stop

	start_or_end sync
	same_sums
	stop

	if [ "$1" = 1 ]; then
		DIRECT_IO='-c debug_io_direct=data'
		# shellcheck disable=SC2086
		start_or_end io_uring $run
		same_sums
		reads_by_ring
		no_complaints
		stop
	else
		note "no O_DIRECT on this file system: left out"
	fi
	done_testing
}

if [ "${1:-}" = inside ]; then
	inside "$2"
fi

# ---- outside, as root ----

[ "$(uname -m)" = x86_64 ] || skip "the cached packages are of amd64"
[ "$(id -u)" = 0 ] || skip "a root of its own is made by root only"
need apt-get dpkg-deb unshare chroot mount
unshare -mp --fork --mount-proc true 2>/dev/null ||
	skip "no mount and pid namespace can be had here"
ROOT=$CACHE/root

# get CMD...: apt with lists, cache and source of its own; it installs nothing.
get()
{
	timeout -k 5 $((120 * SCALE)) apt-get -o Dir::Etc::sourcelist="$CACHE/sources.list" \
		-o Dir::Etc::sourceparts=- -o Dir::State::lists="$CACHE/lists" \
		-o Dir::State::status="$CACHE/status" \
		-o Dir::Cache="$CACHE/cache" -o APT::Sandbox::User=root \
		-o Acquire::Languages=none -o Acquire::Retries=2 \
		"$@" >>"$CACHE/fetch.log" 2>&1
}

fetch()
{
	[ -e "$CACHE/built" ] && return
	keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	uri=$(cat /etc/apt/sources.list.d/* /etc/apt/sources.list 2>/dev/null |
		grep -oE '[a-z]+://[^ ]+/debian/?( |$)' | head -n 1)
	[ -n "$uri" ] || skip "apt knows no Debian archive"
	rm -rf "$CACHE"
	mkdir -p "$CACHE/lists/partial" "$CACHE/cache/archives/partial" "$ROOT"
	: >"$CACHE/status"
	echo "deb [signed-by=$keyring] $uri sid main" >"$CACHE/sources.list"
	get update || skip "no archive can be reached"
	get install -y --download-only --no-install-recommends \
		postgresql-18 dash coreutils diffutils grep ||
		skip "the archive has no postgresql-18, see $CACHE/fetch.log"
	for deb in "$CACHE"/cache/archives/*.deb; do
		dpkg-deb -x "$deb" "$ROOT" || skip "$deb cannot be unpacked"
	done
	rm -rf "$CACHE/cache" "$CACHE/lists"
	: >"$CACHE/built"
}
fetch

probe_direct
NEW=$TMP/root
mkdir -p "$NEW" "$TMP/data"
chmod 755 "$TMP"
chown $USER_ID:$USER_ID "$TMP/data"

# All of it ends with this script: it has a pid namespace of its own.
unshare -mp --fork --kill-child --propagation private sh -eu -s \
	"$ROOT" "$NEW" "$TMP/data" "${ANYURING%/anyuring}" "$APPS" "$USER_ID" \
	"$DIRECT" "$SCALE" <<'END'
root=$1 new=$2 data=$3 build=$4 apps=$5 id=$6
mount -t tmpfs none "$new"
cd "$new"
mkdir usr proc dev tmp etc data build apps
mount --bind "$root/usr" usr
mount --bind "$data" data
mount --bind "$build" build
mount --bind "$apps" apps
mount --rbind /dev dev
mount -t proc proc proc
ln -s usr/bin usr/sbin usr/lib usr/lib64 .
chmod 1777 tmp
echo "postgres:x:$id:$id::/data:/bin/sh" >etc/passwd
exec chroot --userspec="$id:$id" . /usr/bin/env -i ANYURING=/build/anyuring \
	APPS=/apps AU_TEST_TIMEOUT_SCALE="$8" PATH=/usr/bin \
	/bin/sh /apps/postgres.sh inside "$7"
END
