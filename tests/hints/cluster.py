"""A PostgreSQL cluster for a test, its log as bytes, and the log's records by ``pg_waldump``."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from flashgc.device.postgres.cluster import USER, PostgresError, programs

#: Settings of the server. It keeps its log, with records of logical decoding and two-phase commit.
SETTINGS = """
listen_addresses = ''
fsync = off
wal_level = logical
max_prepared_transactions = 8
wal_keep_size = '4GB'
max_wal_size = '2GB'
shared_buffers = '64MB'
autovacuum = off
"""

#: A line of ``pg_waldump``, and one of its block references.
RECORD = re.compile(
    r"rmgr: (?P<manager>\w+) .*? tx: +(?P<transaction>\d+), lsn: (?P<at>[0-9A-F/]+), "
    r"prev (?P<previous>[0-9A-F/]+), desc: (?P<text>.*)"
)
REFERENCE = re.compile(
    r"\tblkref #\d+: rel (\d+)/(\d+)/(\d+) fork (\w+) blk (\d+)(?P<image> \(FPW)?"
)


class Dumped(NamedTuple):
    """A record, as ``pg_waldump`` shows it."""

    at: int
    manager: str
    transaction: int
    text: str
    blocks: list[tuple[int, int, int, str, int, bool]]


def missing() -> str | None:
    """The reason in one line why PostgreSQL cannot run here, or ``None``."""
    try:
        programs()
    except PostgresError as error:
        return str(error)
    return None


def place(lsn: str) -> int:
    """The log position as a number, from the text of PostgreSQL."""
    high, low = lsn.split("/")
    return int(high, 16) << 32 | int(low, 16)


def lsn(at: int) -> str:
    """The log position in the text form of PostgreSQL."""
    return f"{at >> 32:X}/{at & 0xFFFFFFFF:X}"


class Cluster:
    """A cluster in a folder of its own, which ``close`` removes."""

    def __init__(self, segment: int) -> None:
        """Creates and starts the cluster; ``segment`` is the size of a log file in MiB."""
        self._bin = programs()
        self.segment = segment << 20
        self.folder = Path(tempfile.mkdtemp(prefix="flashgc-wal-"))
        shutil.chown(self.folder, USER, USER)
        self.data = self.folder / "data"
        options = ("--auth=trust", "--no-sync", f"--wal-segsize={segment}")
        self.run("initdb", "-D", self.data, "-U", USER, *options)
        with open(self.data / "postgresql.conf", "a") as file:
            file.write(f"{SETTINGS}unix_socket_directories = '{self.folder}'\n")
        self.start()

    def run(self, program: str, *arguments: object, text: str | None = None) -> str:
        """Runs a program of PostgreSQL as its user; raises its error output if it fails."""
        words = ["runuser", "-u", USER, "--", str(self._bin / program), *map(str, arguments)]
        done = subprocess.run(
            words, cwd=self.folder, input=text, capture_output=True, text=True, check=False
        )
        assert not done.returncode, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout.strip()

    def start(self) -> None:
        """Starts the server, which recovers if it was killed."""
        self.run("pg_ctl", "-D", self.data, "-w", "-s", "-l", self.folder / "log", "start")

    def stop(self, mode: str) -> None:
        """Stops the server: ``fast`` or ``immediate``."""
        self.run("pg_ctl", "-D", self.data, "-w", "-s", "-m", mode, "stop")

    def close(self) -> None:
        """Kills the server and removes all files."""
        if (self.data / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.folder)

    def ask(self, script: str, database: str = USER) -> str:
        """The answers to the statements of a script, one by one."""
        options = ("-h", self.folder, "-U", USER, "-d", database, "-X", "-A", "-t", "-q")
        return self.run("psql", *options, "-v", "ON_ERROR_STOP=1", "-f", "-", text=script)

    def bench(self, *arguments: object) -> None:
        """Runs pgbench."""
        self.run("pgbench", "-h", self.folder, "-U", USER, *arguments, USER)

    def end(self) -> int:
        """The position at which the flushed log ends now."""
        return place(self.ask("SELECT pg_current_wal_flush_lsn()"))

    def files(self) -> list[tuple[int, Path]]:
        """The files of the log, each with its start position."""
        names = [path for path in (self.data / "pg_wal").iterdir() if len(path.name) == 24]
        each = (1 << 32) // self.segment
        parts = ((int(path.name[8:16], 16), int(path.name[16:], 16), path) for path in names)
        return sorted(((high * each + low) * self.segment, path) for high, low, path in parts)

    def log(self, start: int, end: int) -> Iterator[tuple[int, bytes]]:
        """The log from ``start`` to ``end``, file by file."""
        for at, path in self.files():
            first, last = max(start, at), min(end, at + self.segment)
            if first < last:
                yield first, path.read_bytes()[first - at : last - at]

    def dump(self, start: int, end: int) -> Iterator[Dumped]:
        """The records that begin from ``start`` on and end by ``end``."""
        options = ("-b", "-p", self.data / "pg_wal", "-s", lsn(start), "-e", lsn(end))
        words = [self._bin / "pg_waldump", *options]
        with subprocess.Popen(
            [str(word) for word in words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            yield from _records(process.stdout)
            said = process.stderr.read()
        assert not process.returncode, said


def _records(lines: Iterator[str]) -> Iterator[Dumped]:
    record = None
    for line in lines:
        if found := RECORD.match(line):
            if record:
                yield record
            transaction, at = int(found["transaction"]), place(found["at"])
            record = Dumped(at, found["manager"], transaction, found["text"], [])
        elif found := REFERENCE.match(line):
            assert record is not None
            *relation, fork, block = found.groups()[:5]
            first, second, third = map(int, relation)
            image = found["image"] is not None
            record.blocks.append((first, second, third, fork, int(block), image))
    if record:
        yield record
