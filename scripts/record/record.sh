#!/usr/bin/env bash
# Records the block trace that ships as data/pgbench-ext4.csv.zst: PostgreSQL on
# ext4 with online TRIM, on a loop device, seen by the kernel's own block
# tracepoint (block_rq_issue) as each request goes to the device.
#
# Must not touch any existing database, file system or block device. It works on
# one image file in a temporary folder, with a server of its own that listens on
# a socket in that folder, and removes everything when it ends, also after a
# failure or Ctrl-C.
#
# Needs: root; Linux with tracefs and block tracepoints (CONFIG_BLK_DEV_IO_TRACE,
# as in Debian's kernel), loop devices, the memory cgroup (version 1 or 2);
# Debian packages postgresql (15 or later, pgbench included), e2fsprogs, zstd,
# python3; about 1.5 GB of free disk; about six minutes and one core.
#
# Usage: record.sh OUT.csv.zst      Parameters are environment variables:

set -euo pipefail

DEVICE_MIB=${DEVICE_MIB:-640}     # size of the traced device
SCALE=${SCALE:-16}                # pgbench scale: 100,000 accounts, 15 MB, each
SECONDS_RUN=${SECONDS_RUN:-300}   # length of the mixed phase
RATE=${RATE:-500}                 # transactions a second offered in that phase
CLIENTS=${CLIENTS:-8}             # connections
THETA=${THETA:-1.1}               # Zipf exponent of the skewed transactions
SKEWED=${SKEWED:-2}               # skewed transactions for each plain TPC-B one
EVENT_ROWS=${EVENT_ROWS:-60000}   # rows of each short-lived table, about 100 B a row
EVENT_EVERY=${EVENT_EVERY:-6}     # seconds between two such tables
EVENT_KEPT=${EVENT_KEPT:-4}       # how many of them live at once
SHARED_MIB=${SHARED_MIB:-32}      # shared_buffers
MEMORY_MIB=${MEMORY_MIB:-176}     # memory the server may use, its page cache included
WAL_MIB=${WAL_MIB:-64}            # max_wal_size: a checkpoint about every ten seconds
RAW=${RAW:-}                      # where to keep the kernel's own text, zstd; empty: nowhere
SERVER_USER=${SERVER_USER:-postgres}  # the server refuses to run as root

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work='' loop='' traced='' server='' reader='' group=''

say() { printf 'record: %s\n' "$*" >&2; }
die() { printf 'record: %s\n' "$1" >&2; [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2; exit 2; }

cleanup() {
    status=$?
    trap - EXIT
    trap '' INT TERM
    set +e
    # shellcheck disable=SC2046
    kill $(jobs -p) 2>/dev/null
    [ -z "$server" ] || as_server "$bin/pg_ctl" -D "$data" -m immediate stop >/dev/null 2>&1
    wait 2>/dev/null
    [ -z "$traced" ] || { echo 0 >"$traced/events/enable"; rmdir "$traced"; }
    # The server's last processes may hold the file system for a moment.
    for _ in 1 2 3 4 5; do
        [ -z "$work" ] || ! mountpoint -q "$work/mnt" || umount "$work/mnt" || sleep 1
    done
    [ -z "$loop" ] || losetup --detach "$loop"
    [ -z "$group" ] || rmdir "$group"
    if [ -n "$work" ]; then
        mountpoint -q "$work/tracing" && umount "$work/tracing"
        if mountpoint -q "$work/mnt" || mountpoint -q "$work/tracing"; then
            say "could not unmount what is under $work: left as it is"
        else
            rm -rf -- "$work"
        fi
    fi
    exit "$status"
}

as_server() {
    (cd / && exec setpriv --reuid="$SERVER_USER" --regid="$(id -g "$SERVER_USER")" --init-groups -- "$@")
}
sql() { as_server "$bin/psql" -X -q -v ON_ERROR_STOP=1 -h "$work/socket" -d bench "$@" >/dev/null; }

[ $# -eq 1 ] || die "expected one argument, the file to write, found $#" "record.sh OUT.csv.zst"
out=$(realpath -m -- "$1")
[ -w "$(dirname "$out")" ] || die "cannot write in $(dirname "$out")"
[ "$(id -u)" -eq 0 ] || die "must run as root (loop device, mount, tracefs)" "try sudo"
for tool in losetup mkfs.ext4 mount setpriv mountpoint zstd python3; do
    command -v "$tool" >/dev/null || die "found no $tool" "apt-get install util-linux e2fsprogs zstd python3"
done
bin=$(find /usr/lib/postgresql -path '*/bin/postgres' 2>/dev/null | sort -V | tail -n 1)
bin=${bin%/postgres}
[ -x "$bin/pgbench" ] || die "found no PostgreSQL in /usr/lib/postgresql" "apt-get install postgresql"
major=$("$bin/postgres" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
[ "$major" -ge 15 ] || die "found PostgreSQL $major, expected 15 or later (wal_compression = lz4)"
id -- "$SERVER_USER" >/dev/null 2>&1 || die "found no user $SERVER_USER" "name another with SERVER_USER="
grep -qw tracefs /proc/filesystems || die "this kernel has no tracefs"
[ -e /dev/loop-control ] || die "this kernel has no loop devices" "modprobe loop"

trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
work=$(mktemp -d "${TMPDIR:-/tmp}/flashgc-record.XXXXXX")
chmod 755 "$work"
mkdir "$work/mnt" "$work/tracing" "$work/socket"
chown "$SERVER_USER" "$work/socket"
[ "$(df --output=avail -BM "$work" | tail -n 1 | tr -dc 0-9)" -gt 1500 ] ||
    die "less than 1.5 GB free in $work" "set TMPDIR"

# The server's memory is limited so that the database does not fit: it then reads,
# and evicts dirty pages, as a database larger than its host's memory does.
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    grep -qw memory /sys/fs/cgroup/cgroup.controllers || die "the memory cgroup is not available"
    echo +memory >/sys/fs/cgroup/cgroup.subtree_control
    group=/sys/fs/cgroup/flashgc-record-$$
    mkdir "$group"
    echo "${MEMORY_MIB}M" >"$group/memory.max"
else
    [ -d /sys/fs/cgroup/memory ] || die "the memory cgroup is not mounted"
    group=/sys/fs/cgroup/memory/flashgc-record-$$
    mkdir "$group"
    echo "${MEMORY_MIB}M" >"$group/memory.limit_in_bytes"
fi

# The device: a sparse file, direct I/O so that the host caches nothing below it,
# 4096-byte sectors so that every request is made of whole pages.
truncate -s "${DEVICE_MIB}M" "$work/image"
loop=$(losetup --find --show --direct-io=on --sector-size 4096 "$work/image")
[ "$(cat "/sys/block/${loop#/dev/}/queue/discard_max_bytes")" -gt 0 ] ||
    die "the loop device takes no discards over $(df --output=fstype "$work" | tail -n 1)" \
        "set TMPDIR to a folder on ext4 or xfs"
if command -v udevadm >/dev/null; then udevadm settle || true; fi

# A separate trace instance, so that other users of tracing are not affected.
mount -t tracefs tracefs "$work/tracing"
[ -d "$work/tracing/events/block/block_rq_issue" ] ||
    die "this kernel has no block tracepoints" "needs CONFIG_BLK_DEV_IO_TRACE"
traced=$work/tracing/instances/flashgc-record-$$
mkdir "$traced"
numbers=$(cat "/sys/block/${loop#/dev/}/dev")
echo mono >"$traced/trace_clock"
echo 8192 >"$traced/buffer_size_kb"
this="dev == $((${numbers%:*} << 20 | ${numbers#*:}))"
echo "$this" >"$traced/events/block/block_rq_issue/filter"
# Requests without data are recorded only to check the request counts.
echo "$this && nr_sector == 0" >"$traced/events/block/block_bio_queue/filter"
# One reader drains all processors' buffers in time order, as the trace goes on.
cat "$traced/trace_pipe" >"$work/raw" &
reader=$!
cat "/sys/block/${loop#/dev/}/stat" >"$work/before"
echo 1 >"$traced/events/block/block_rq_issue/enable"
echo 1 >"$traced/events/block/block_bio_queue/enable"

# nodiscard: the image file is new. A discard of the whole device would be first in
# the trace and empty the drive whenever a simulation replays it.
# The tables of inodes are written now, not later by a background thread. No blocks
# are reserved for root.
say "traced device: $DEVICE_MIB MiB; making the file system and loading scale $SCALE"
mkfs.ext4 -q -b 4096 -i 65536 -m 0 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$loop"
mount -o discard "$loop" "$work/mnt"
mkdir "$work/mnt/data"
data=$work/mnt/data
chown "$SERVER_USER" "$data"
chmod 700 "$data"
as_server "$bin/initdb" -D "$data" -A trust --no-locale -E UTF8 --wal-segsize=4 >"$work/init.log" 2>&1 ||
    { cat "$work/init.log" >&2; die "initdb failed"; }
cat >>"$data/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$work/socket'
shared_buffers = ${SHARED_MIB}MB
max_wal_size = ${WAL_MIB}MB
min_wal_size = ${WAL_MIB}MB
checkpoint_timeout = 30s
wal_compression = lz4
work_mem = 1MB
maintenance_work_mem = 8MB
autovacuum_naptime = 10s
max_parallel_maintenance_workers = 0
max_parallel_workers_per_gather = 0
CONF
server=1
sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$group" \
    setpriv --reuid="$SERVER_USER" --regid="$(id -g "$SERVER_USER")" --init-groups -- \
    "$bin/pg_ctl" -s -D "$data" -l "$data/log" -w start ||
    { cat "$data/log" >&2; die "the server did not start"; }
as_server "$bin/createdb" -h "$work/socket" bench
as_server "$bin/pgbench" -h "$work/socket" -i -q -s "$SCALE" bench >"$work/load.log" 2>&1 ||
    { cat "$work/load.log" >&2; die "loading failed"; }

say "mixed phase: $SECONDS_RUN s at $RATE transactions a second"
install -m 644 "$here/skewed.sql" "$work/skewed.sql"
as_server "$bin/pgbench" -h "$work/socket" -n -c "$CLIENTS" -j 1 -T "$SECONDS_RUN" -R "$RATE" \
    -D accounts=$((SCALE * 100000)) -D scale="$SCALE" -D theta="$THETA" \
    -b tpcb-like@1 -f "$work/skewed.sql@$SKEWED" bench >"$work/pgbench.log" 2>&1 &
bench=$!

# Besides the transactions, other work creates and frees space: a short-lived table every
# few seconds (filled, indexed, sorted in a temporary file, later dropped), two rebuilds
# of the accounts' index, and one truncation of the history.
began=$SECONDS
made=0
rebuilt=0
truncated=0
while kill -0 "$bench" 2>/dev/null; do
    age=$((SECONDS - began))
    if [ "$age" -ge $((made * EVENT_EVERY)) ] && [ "$age" -lt "$SECONDS_RUN" ]; then
        sql -c "create table events_$made as select g as id, clock_timestamp() as at, md5(g::text || '$made') as key,
                   (g * 7919::bigint) % 1000 as kind from generate_series(1, $EVENT_ROWS) g" \
            -c "create index on events_$made (key)" \
            -c "select count(*) from (select key, at, kind from events_$made order by kind, key offset 1) s"
        [ "$made" -lt "$EVENT_KEPT" ] || sql -c "drop table events_$((made - EVENT_KEPT))"
        made=$((made + 1))
    fi
    if [ "$age" -ge $((SECONDS_RUN * (rebuilt + 1) / 3)) ] && [ "$rebuilt" -lt 2 ]; then
        sql -c "reindex index concurrently pgbench_accounts_pkey"
        rebuilt=$((rebuilt + 1))
    fi
    if [ "$age" -ge $((SECONDS_RUN / 2)) ] && [ "$truncated" -eq 0 ]; then
        sql -c "truncate pgbench_history"
        truncated=1
    fi
    sleep 1
done
wait "$bench" || { cat "$work/pgbench.log" >&2; die "pgbench failed"; }
sed 's/^/record: pgbench: /' "$work/pgbench.log" >&2

as_server "$bin/pg_ctl" -s -D "$data" -m fast -w stop
checkpoints=$(grep -c 'checkpoint complete' "$data/log" || true)
server=''
full=$(df --output=pcent "$work/mnt" | tail -n 1 | tr -d ' ')
umount "$work/mnt"
echo 0 >"$traced/events/enable"
cat "/sys/block/${loop#/dev/}/stat" >"$work/after"

# The reader has drained the buffers once the raw file stops growing.
size=-1
until [ "$size" = "$(stat -c %s "$work/raw")" ]; do size=$(stat -c %s "$work/raw"); sleep 2; done
kill "$reader"
wait "$reader" 2>/dev/null || true
lost=$(cat "$traced"/per_cpu/cpu*/stats |
    awk '/^(overrun|commit overrun|dropped events):/ { n += $NF } END { print n + 0 }')
[ "$lost" -eq 0 ] || die "the trace buffer lost $lost events" "raise buffer_size_kb"

[ -z "$RAW" ] || zstd -q -3 --force "$work/raw" -o "$RAW"
python3 "$here/normalise.py" "$work/raw" "$work/out.csv" --device-bytes $((DEVICE_MIB << 20)) \
    --stat-before "$work/before" --stat-after "$work/after"
zstd -q -19 --force "$work/out.csv" -o "$work/out.csv.zst"
install -D -m 644 "$work/out.csv.zst" "$out"
say "$made short-lived tables, $checkpoints checkpoints, file system $full full at the end"
say "wrote $out, $(stat -c %s "$out") bytes, $(uname -sr), $("$bin/postgres" --version)"
sha256sum "$out"
