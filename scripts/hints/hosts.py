"""Which hosts know most: ``python scripts/hints/hosts.py``, as root.

Small loads on an almost full drive with greedy and DAC, once without hints and once with a follower
(z-greedy and a zombie block). For each are shown both write amplifications and the zombies that the
drive had on average, as a share of its pages:

- a file that is overwritten at random in 16 KiB, with an ``fsync`` after so many writes,
  and hints from the page cache;
- SQLite, random updates in transactions of 100, in rollback-journal mode and in WAL mode with a
  checkpoint after so many pages. In WAL mode the log says which pages the next checkpoint will
  write, long before they are dirty in the page cache: a follower of the log reads it from ``-wal``.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import sqlite3
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from flashgc import Device
from flashgc.device import mounts, up
from flashgc.device.control import Client
from flashgc.device.hints.link import Link
from flashgc.device.hints.page_cache import PageCache
from flashgc.device.live import stand
from flashgc.device.live.stand import following

PAGE, MIB = 4096, 1 << 20
CAPACITY, SPARE, BLOCK = 192 * MIB, 0.07, 64
#: Bytes of a write.
SIZE = 16 << 10
#: Bytes that are written before the counts begin, and while they are taken.
WARMUP, WRITTEN = 192 * MIB, 384 * MIB
#: Seconds between two looks of a follower.
LOOK = 0.02

Load = Callable[[int], None]


def overwriting(path: Path, every: int | None) -> Load:
    """Overwrites at random with ``fsync`` after ``every`` writes."""
    draw = random.Random(1)
    size = path.stat().st_size

    def load(written: int) -> None:
        with open(path, "r+b", buffering=0) as file:
            for number in range(written // SIZE):
                # 94% of the writes go to 6% of the file, as in the micro-benchmark.
                hot = size * 6 // 100 // SIZE
                block = (
                    draw.randrange(hot) if draw.random() < 0.94 else draw.randrange(size // SIZE)
                )
                os.pwrite(file.fileno(), draw.randbytes(SIZE), block * SIZE)
                if every is not None and number % every == every - 1:
                    os.fsync(file.fileno())

    return load


def paying(base: sqlite3.Connection, rows: int) -> Load:
    """Updates random rows, 100 in a transaction. A row is half a page: four of five are hot."""
    draw = random.Random(1)

    def load(written: int) -> None:
        for _ in range(written // PAGE // 100):
            with base:
                for _ in range(100):
                    row = draw.randrange(rows // 5 if draw.random() < 0.8 else rows)
                    base.execute("UPDATE accounts SET balance = balance + 1 WHERE id = ?", (row,))

    return load


def database(path: Path, journal: str, checkpoint: int) -> tuple[sqlite3.Connection, int]:
    """A table that fills most of the drive, and its number of rows."""
    base = sqlite3.connect(path, check_same_thread=False)
    base.execute(f"PRAGMA journal_mode = {journal}")
    base.execute(f"PRAGMA wal_autocheckpoint = {checkpoint}")
    base.execute("CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER, filler TEXT)")
    rows = int(CAPACITY * 0.6) // (PAGE // 2)
    for first in range(0, rows, 5000):
        with base:
            values = ((number, "x" * 1800) for number in range(first, first + 5000))
            base.executemany("INSERT INTO accounts VALUES (?, 0, ?)", values)
    base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return base, rows


class WalFollower:
    """Tells a drive which pages of a database the next checkpoint will write, from its log."""

    def __init__(self, path: Path, file: Path) -> None:
        self._path, self._link = path, Link(file)
        self._salts, self._frames = b"", 0
        self._log = path.with_name(path.name + "-wal")
        with open(path, "rb") as base:
            count = path.stat().st_size // PAGE
            self._places = [_place(base.fileno(), page) for page in range(count)]

    def look(self) -> None:
        """Reads what the log has got since the last look."""
        self._link.look()
        if not self._log.exists():
            return
        with open(self._log, "rb") as log:
            head = log.read(32)
            if head[16:24] != self._salts:  # It begins anew: the checkpoint has written all of it.
                self._salts, self._frames = head[16:24], 0
            dirtied = set()
            while len(frame := os.pread(log.fileno(), 24, 32 + self._frames * (24 + PAGE))) == 24:
                page, _commit = struct.unpack(">II", frame[:8])
                if frame[8:16] != self._salts:
                    break
                self._frames += 1
                dirtied.add(self._places[page - 1] if page <= len(self._places) else 0)
        self._link.send([(page, 1) for page in sorted(dirtied - {0})], [])


def _place(file: int, page: int) -> int:
    # FIBMAP of <linux/fs.h>.
    return int(struct.unpack("i", fcntl.ioctl(file, 1, struct.pack("i", page)))[0])


def looking(looks: list[Callable[[], object]], stopped: Callable[[], bool]) -> Iterator[None]:
    """Looks in turns, again and again."""
    while not stopped():
        for look in looks:
            look()
        time.sleep(LOOK)
        yield


def measured(preset: str, kind: str, argument: int | None, follower: str) -> tuple[float, float]:
    """Write amplification, and the share of the drive's pages that were zombies on average."""
    with tempfile.TemporaryDirectory(prefix="flashgc-hosts-") as home, contextlib.ExitStack() as on:
        work = Path(home)
        file, mount = work / "drive.flash", work / "mount"
        shape = {"capacity": f"{CAPACITY // MIB}MiB", "spare": SPARE, "pages_per_block": BLOCK}
        Device.create(file, gc_preset=preset, **shape).close()
        done = up.up(file, mount, filesystem="ext4")
        on.callback(up.down, file, force=True)
        mounts.run("tune2fs", "-m", "0", done.device)
        load = _prepared(mount, kind, argument, on)
        zombies: list[int] = []
        looks: list[Callable[[], object]] = [lambda: _count(file, zombies)]
        if follower == "page cache":
            hints = on.enter_context(PageCache(mount, file))
            on.enter_context(following(lambda stopped: hints.follow(stopped, 1.0)))
        elif follower == "WAL":
            looks.append(WalFollower(mount / "base", file).look)
        on.enter_context(following(lambda stopped: looking(looks, stopped)))
        load(WARMUP)
        zombies.clear()
        before = _counts(file)
        load(WRITTEN)
        host, copied = (after - one for after, one in zip(_counts(file), before, strict=True))
        return 1 + copied / host, sum(zombies) / max(len(zombies), 1) * PAGE / CAPACITY


def _prepared(mount: Path, kind: str, argument: int | None, on: contextlib.ExitStack) -> Load:
    path = mount / "base"
    if kind == "overwrite":
        with open(path, "wb") as file:
            for _ in range((stand.room(mount) - 8 * MIB) // MIB):
                file.write(os.urandom(MIB))
            os.fsync(file.fileno())
        return overwriting(path, argument)
    base, rows = database(path, "DELETE" if kind == "journal" else "WAL", argument or 1000)
    on.callback(base.close)
    spare = stand.room(mount) - 2 * (argument or 1000) * PAGE - 16 * MIB
    with open(mount / "filler", "wb") as file:
        for _ in range(max(spare, 0) // MIB):
            file.write(os.urandom(MIB))
        os.fsync(file.fileno())
    return paying(base, rows)


def _counts(file: Path) -> tuple[int, int]:
    with Client(file) as client:
        counts = client.stat()["counters"]
    return counts["host_pages_written"], counts["copied_pages"]


def _count(file: Path, zombies: list[int]) -> None:
    with Client(file) as client:
        zombies.append(client.stat()["zombie_pages"] or 0)


def main() -> None:
    """Prints a table in Markdown."""
    print(
        "| host | hints from | GC-GD | ZGC-GD | gain, % | zombies, % |\n|---|---|---|---|---|---|"
    )
    for name, kind, argument, follower in (
        ("a file, fsync after 4096 writes", "overwrite", 4096, "page cache"),
        ("a file, fsync after 1024 writes", "overwrite", 1024, "page cache"),
        ("a file, fsync after 256 writes", "overwrite", 256, "page cache"),
        ("a file, fsync after 16 writes", "overwrite", 16, "page cache"),
        ("a file, fsync after each write", "overwrite", 1, "page cache"),
        ("SQLite, rollback journal", "journal", None, "page cache"),
        ("SQLite, WAL, checkpoint after 1000 pages", "WAL", 1000, "page cache"),
        ("SQLite, WAL, checkpoint after 1000 pages", "WAL", 1000, "WAL"),
        ("SQLite, WAL, checkpoint after 4000 pages", "WAL", 4000, "WAL"),
    ):
        without, _ = measured("gc-gd", kind, argument, "none")
        hinted, zombies = measured("zgc-gd", kind, argument, follower)
        gain = 100 * (1 - hinted / without)
        cells = f"{without:.2f} | {hinted:.2f} | {gain:.1f} | {100 * zombies:.1f}"
        print(f"| {name} | {follower} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
