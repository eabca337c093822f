# Runs pgbench's transactions on the server that load.sh has started, and stops it.
# run.sh SECONDS SEED
set -e
programs=$(pg_config --bindir)
pgbench -h "$PWD" -n -c 2 -T "$1" --random-seed="$2" postgres
"$programs/pg_ctl" -D data -w -s -m fast stop
