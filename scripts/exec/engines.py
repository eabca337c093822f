"""What engines hand to their file system, by ``flashgc device exec`` and by strace.

Writes a table of Markdown: ``python scripts/exec/engines.py [--fs ext4] [NAME ...]``. Needs root
and strace; engines that are not installed are left out. strace sees write calls alone, so for
asynchronous engines the truth is fio's own count.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

#: System calls that write, as strace names them.
CALLS = "write,pwrite64,writev,pwritev,pwritev2,copy_file_range,sendfile,splice"

#: The process and the file of a call; the process of one that is over, and the bytes it wrote.
CALL = re.compile(r"^(\d+) +\w+\((?:\d+<[^>]*>, )?\d+<(/[^>]*)>")
OVER = re.compile(r"^(\d+) .* = (\d+)$")

_POSTGRES = """
set -e
initdb -D data -A trust >/dev/null
pg_ctl -D data -w -o "-k $PWD -c listen_addresses=''" start >/dev/null
createdb -h $PWD bench; pgbench -h $PWD -i -s 2 -q bench >/dev/null 2>&1
pgbench -h $PWD -c 4 -t 200 bench >/dev/null 2>&1
pg_ctl -D data -w stop >/dev/null
"""
_REDIS = """
redis-server --daemonize yes --port 0 --unixsocket $PWD/s --appendonly yes --dir $PWD >/dev/null
sleep 0.5
redis-benchmark -s $PWD/s -t set -n 50000 -d 200 -r 10000 -q >/dev/null
redis-cli -s $PWD/s shutdown >/dev/null
sleep 0.5
"""
_LMDB = """
import lmdb, os, random
env = lmdb.open('db', map_size=256 << 20, writemap={writemap})
draw = random.Random(1)
for _ in range(100):
    with env.begin(write=True) as txn:
        for _ in range(50):
            txn.put(str(draw.randrange(20000)).encode(), os.urandom(500))
"""


def fio(*words: str) -> list[str]:
    """A job of fio that writes 64 MiB."""
    common = ("--name=w", "--rw=randwrite", "--bs=4k", "--size=64m", "--fallocate=none")
    return ["fio", *common, "--iodepth=8", "--output=/dev/null", *words]


#: Engines: the command, the user that it runs as, and the bytes that it writes, where it says so.
ENGINES: dict[str, tuple[list[str], str | None, int | None]] = {
    "fio psync": (fio("--ioengine=psync"), None, 64 << 20),
    "fio libaio, direct": (fio("--ioengine=libaio", "--direct=1"), None, 64 << 20),
    "fio io_uring": (fio("--ioengine=io_uring"), None, 64 << 20),
    "fio io_uring, direct": (fio("--ioengine=io_uring", "--direct=1"), None, 64 << 20),
    "fio mmap": (fio("--ioengine=mmap"), None, 64 << 20),
    "SQLite, WAL": (["python3", str(ROOT / "docs/examples/updates.py")], None, None),
    "PostgreSQL": (["/bin/sh", "-c", _POSTGRES], "postgres", None),
    "RocksDB": (
        ["db_bench", "--benchmarks=fillrandom,overwrite", "--num=100000", "--db=db",
         "--value_size=200", "--write_buffer_size=4194304", "--sync=0"], None, None,
    ),
    "LMDB": (["/usr/bin/python3", "-c", _LMDB.format(writemap=False)], None, None),
    "LMDB, writemap": (["/usr/bin/python3", "-c", _LMDB.format(writemap=True)], None, None),
    "Redis, a daemon": (["/bin/sh", "-c", _REDIS], None, None),
    "pipe": (["/bin/sh", "-c", "head -c 20M /dev/urandom | cat >file"], None, 20 << 20),
}  # fmt: skip


def traced(log: Path, mount: str) -> int:
    """The bytes of the write calls to files in ``mount``."""
    done = 0
    begun: dict[str, str] = {}
    for line in log.read_text(errors="replace").splitlines():
        # A call that another process interrupts in the log has two lines.
        if call := CALL.search(line):
            begun[call[1]] = call[2]
        over = OVER.search(line)
        if over and begun.pop(over[1], "").startswith(mount):
            done += int(over[2])
    return done


def measured(name: str, filesystem: str, folder: Path, *, with_strace: bool) -> dict[str, object]:
    """The figures of an engine, and what strace saw of it."""
    words, user, _ = ENGINES[name]
    out, log = folder / "figures.json", folder / "strace.log"
    log.unlink(missing_ok=True)
    strace = ["strace", "-f", "-qq", "-y", "-s", "0", "-e", f"trace={CALLS}", "-o", str(log)]
    command = [
        sys.executable, "-c", "from flashgc.command import main; main()", "device", "exec",
        "--capacity", "1GiB", "--fs", filesystem, "--quiet", "--out", str(out),
    ]  # fmt: skip
    if user is not None:
        command += ["--user", user]
        folder.chmod(0o777)
    subprocess.run(
        [*command, "--", *(strace if with_strace else []), *words],
        check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    found: dict[str, object] = json.loads(out.read_text())
    if with_strace:
        found["strace"] = traced(log, "/tmp/") if log.exists() else None
    return found


def mib(value: object) -> str:
    """Bytes as people read them."""
    return "unknown" if not isinstance(value, int) else f"{value / 2**20:,.2f}"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fs", default="ext4")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    print("| engine | truth, MiB | handed to the file system | difference | device |")
    print("|---|---|---|---|---|")
    for name, (words, _, truth) in ENGINES.items():
        if (given.names and name not in given.names) or shutil.which(words[0]) is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            needs_strace = truth is None
            found = measured(name, given.fs, Path(folder), with_strace=needs_strace)
        written = found["written"]
        assert isinstance(written, dict)
        truth = found.get("strace", truth)  # type: ignore[assignment]
        ours, least, most = written["bytes"], written["least"], written["most"]
        calls = least if ours is None else ours
        error = "" if calls is None or not truth else f"{100 * (calls / truth - 1):+.3f}%"
        between = f"{mib(least)} to {mib(most)}"
        said = between if ours is None and None not in (least, most) else mib(ours)
        host = mib(found["host_bytes"])
        print(f"| {name} | {mib(truth)} | {said} | {error} | {host} |", flush=True)


if __name__ == "__main__":
    main()
