# load APPENDFSYNC starts a server in the working directory; run REQUESTS sets keys, and stops it.
set -e
if [ "$1" = load ]; then
    redis-server --dir "$PWD" --port 0 --unixsocket "$PWD/redis.sock" --save '' --appendonly yes \
        --appendfsync "$2" --auto-aof-rewrite-min-size 8mb --daemonize yes --logfile "$PWD/log" >/dev/null
    until redis-cli -s redis.sock ping >/dev/null 2>&1; do sleep 0.05; done
else
    redis-benchmark -s redis.sock -t set -n "$2" -r 20000 -d 200 -c 8 -q >/dev/null
    redis-cli -s redis.sock shutdown >/dev/null
    echo "stored $2"
fi
