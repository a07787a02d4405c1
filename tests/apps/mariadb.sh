#!/bin/sh
# SPDX-License-Identifier: MIT
# A private MariaDB server on a socket of its own, whose InnoDB does its page
# I/O over liburing: it says so in its log only under anyuring. Rows written
# before a restart and before a crash are read back and checked.
# shellcheck source=tests/apps/lib.sh disable=SC2016
. "${APPS:-$(dirname "$0")}/lib.sh"
PATH=$PATH:/usr/sbin
need mariadbd mariadb mariadb-install-db
ldd "$(command -v mariadbd)" | grep -q liburing ||
	skip "this mariadbd is not linked with liburing"

# A socket's path is short, whatever TMPDIR is.
DATA=$TMP/data SOCKET=$TMP/s SERVER=
[ ${#SOCKET} -lt 100 ] || skip "TMPDIR is too long for a socket"
me=$(id -un)

# A small server: the pool is less than the rows, so pages come and go.
set -- --no-defaults --user="$me" --datadir="$DATA" --socket="$SOCKET" \
	--skip-networking --skip-log-error --innodb-use-native-aio=1 \
	--innodb-log-file-size=8M --innodb-buffer-pool-size=6M \
	--innodb-flush-method=fsync --performance-schema=0
OPTIONS=$*

sql()
{
	limited mariadb --no-defaults -N -B -u root -S "$SOCKET" -e "$1" \
		>"$TMP/answer" 2>"$TMP/answer.err"
}

# start CMD...: the server as a child of ours, until it answers.
start()
{
	# shellcheck disable=SC2086
	timeout -k 5 $((90 * SCALE)) "$@" mariadbd $OPTIONS \
		>"$TMP/log" 2>&1 &
	SERVER=$!
	tries=0
	until sql 'select 1'; do
		tries=$((tries + 1))
		if ! kill -0 $SERVER 2>/dev/null || [ $tries -gt 300 ]; then
			fail "the server did not start"
			tail -n 5 "$TMP/log"
			SERVER=
			return 1
		fi
		sleep 0.1
	done
}

stop()
{
	[ -n "$SERVER" ] || return
	sql shutdown || fail "shutdown: $(cat "$TMP/answer.err")"
	wait $SERVER || fail "the server ended with status $?"
	SERVER=
}

crash()
{
	pid=$(cat "$DATA"/*.pid) && kill -KILL "$pid"
	wait $SERVER 2>/dev/null
	SERVER=
}

served_log()
{
	check "no io_uring: $(grep -iE 'uring|aio' "$TMP/log")" \
		grep -q 'InnoDB: Using io_uring' "$TMP/log"
	check "InnoDB complains: $(grep -E 'ERROR|orrupt' "$TMP/log")" \
		sh -c '! grep -qE "ERROR|orrupt" "$0"' "$TMP/log"
}

trap '[ -z "$SERVER" ] || kill -KILL $SERVER 2>/dev/null; rm -rf "$TMP"' EXIT

limited mariadb-install-db --no-defaults --user="$me" --datadir="$DATA" \
	--auth-root-authentication-method=normal --skip-test-db \
	--innodb-log-file-size=8M >"$TMP/out" 2>&1 ||
	skip "mariadb-install-db does not work here: $(tail -n 1 "$TMP/out")"

deny="$ANYURING deny --"
[ -z "${AU_APPS_REFUSED:-}" ] || deny="env"
run="$deny $ANYURING run --engine=user --"

# shellcheck disable=SC2086
start $deny || done_testing
check "io_uring was not refused: $(grep -i uring "$TMP/log")" \
	sh -c '! grep -q "Using io_uring" "$0"' "$TMP/log"
stop

# shellcheck disable=SC2086
start $run || done_testing
sql "create database d; use d; create table t (i int primary key,
	s varchar(300), key (s)) engine=innodb;
	insert into t select seq, repeat(md5(seq), 8) from seq_1_to_30000;
	update t set s = concat(s, i) where i % 3 = 0;
	delete from t where i % 5 = 0" || fail "$(cat "$TMP/answer.err")"
ask="select count(*), sum(i), sum(crc32(s)) from d.t; check table d.t;
	select count(*) from d.t where crc32(s) =
	crc32(concat(repeat(md5(i), 8), if(i % 3 = 0, i, '')))"
sql "$ask" || fail "$(cat "$TMP/answer.err")"
cp "$TMP/answer" "$TMP/first"
check "rows: $(cat "$TMP/first")" sh -c 'grep -q "^24000.360000000" "$0" &&
	grep -q "status.OK" "$0" && grep -qx 24000 "$0"' "$TMP/first"
served_log
stop

# What was written over our rings is what the kernel's own calls read ...
# shellcheck disable=SC2086
start $deny || done_testing
sql "$ask"
check "another answer without anyuring" cmp "$TMP/first" "$TMP/answer"
stop

# ... and after a crash the log is replayed over ours.
# shellcheck disable=SC2086
start $run || done_testing
sql "update d.t set s = 'after' where i <= 1000" || fail "$(cat "$TMP/answer.err")"
crash
# shellcheck disable=SC2086
start $run || done_testing
sql "select count(*) from d.t where s = 'after'; check table d.t"
check "after the crash: $(cat "$TMP/answer")" sh -c 'grep -qx 800 "$0" &&
	grep -q "status.OK" "$0"' "$TMP/answer"
served_log
stop

done_testing
