# Makes a cluster in the working directory, starts its server and loads pgbench's tables.
# load.sh CHECKPOINT_TIMEOUT FULL_PAGE_WRITES
set -e
programs=$(pg_config --bindir)
"$programs/initdb" -D data --auth=trust --no-locale --encoding=UTF8 >/dev/null
cat >>data/postgresql.conf <<END
listen_addresses = ''
unix_socket_directories = '$PWD'
shared_buffers = 128MB
max_wal_size = 10GB
min_wal_size = 160MB
checkpoint_timeout = $1
full_page_writes = $2
autovacuum = off
END
# What the server inherits must not hold a pipe of somebody who waits for its end.
"$programs/pg_ctl" -D data -w -s -l log start </dev/null >/dev/null 2>&1
pgbench -h "$PWD" -i -s 15 -q postgres 2>/dev/null
psql -h "$PWD" -q -c checkpoint postgres
