"""Dirty events from a database's log to a drive that heeds them."""

from __future__ import annotations

from pathlib import Path

import flashgc
from conftest import Command
from flashgc.papers.zombie_example import TRACE

#: Three blocks of two records, in the form of pg_waldump.
WAL = "".join(
    f"rmgr: Heap        len (rec/tot):     54/    54, tx: 735, lsn: 0/02DCD1{at:02X}, prev 0/0, "
    f"desc: LOCK off 47{blocks}\n"
    for at, blocks in enumerate((
        ", blkref #0: rel 1663/5/16396 blk 7",
        ", blkref #0: rel 1663/5/16396 blk 9, blkref #1: rel 1663/5/16404 blk 1",
    ))
)  # fmt: skip


def test_a_databases_log_becomes_dirty_events(command: Command, tmp_path: Path) -> None:
    (tmp_path / "wal.txt").write_text(WAL)
    made = command("trace", "convert", "wal.txt", "wal.csv", "--as-dirty")
    assert made.returncode == 0, made.stderr
    # Blocks of 8 KiB; two files, two devices.
    assert (tmp_path / "wal.csv").read_text().splitlines()[1:] == [
        "0.000,M,57344,8192,0",
        "0.000,M,73728,8192,0",
        "0.000,M,8192,8192,1",
    ]
    plain = flashgc.trace_stat(tmp_path / "wal.txt")
    assert (plain.format, plain.writes) == ("pg-waldump", 3)
    refused = command("trace", "stat", "wal.csv")
    assert refused.returncode == 2
    assert "found no requests" in refused.stderr


def test_statistics_and_drives_know_dirty_events(command: Command) -> None:
    shown = command("trace", "stat", TRACE, "--page-size", "512B").stdout
    assert "and 7 dirty events" in " ".join(shown.split())
    options = {"page_size": "512B", "pages_per_block": 10, "spare": "50%", "passes": 1}
    options |= {"frontier": "pool:low=1", "placement": "dac:regions=1", "fill": "empty"}
    result = flashgc.run(str(TRACE), victim="z-greedy", warmup="0", **options)
    assert result.zombies is not None
    assert result.zombies["marked"] == 7


def test_a_damaged_log_is_one_line(command: Command, tmp_path: Path) -> None:
    (tmp_path / "wal.txt").write_text(WAL + WAL.replace("blk 9", "blk nine"))
    made = command("trace", "convert", "wal.txt", "wal.csv")
    assert made.returncode == 2
    message = " ".join(made.stderr.split())
    assert "wal.txt:4:" in message
    assert "expected a block number" in message
    assert not (tmp_path / "wal.csv").exists()
