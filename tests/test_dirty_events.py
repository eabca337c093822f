"""Dirty events from a database's log to a drive that uses hints."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random
from typing import Any

import pytest

import flashgc
from conftest import Command
from flashgc_papers.zombie.figures import TRACE

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
    # Blocks have 8 KiB. Two files become two devices.
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
    options = EXAMPLE | {"frontier": "pool:low=1", "warmup": "0"}
    result = flashgc.run(str(TRACE), victim="z-greedy", **options)
    assert result.zombies is not None
    assert result.zombies.marked == 7


#: The drive of the worked example: one plane, four blocks of ten pages.
EXAMPLE = {
    "page_size": "512B",
    "pages_per_block": 10,
    "spare": "50%",
    "fill": "empty",
    "placement": "dac:regions=1",
    "passes": 1,
}


def test_the_papers_figures_come_out_on_a_drive_with_a_clock() -> None:
    # Figures 2 and 3: greedy copies 4 and 5 pages. z-greedy, with seven zombies, copies 5 and 1.
    clock = {"kind": "timed", "times": "read=25us,program=200us,erase=1.5ms,transfer=0us"}
    # Requests come one after the other, or at the trace's times. At the trace's times, all
    # requests wait in the drive when the hints come. So every version that is overwritten becomes
    # a zombie: three versions of each of pages 0 to 3, and one of each of pages 11 to 13.
    for arrivals, marked in (("closed", 7), (None, 15)):
        options = EXAMPLE | clock | {"arrivals": arrivals, "gc_low": 1, "warmup": "0x"}
        plain = flashgc.run(str(TRACE), victim="greedy", **options)
        told = flashgc.run(str(TRACE), victim="z-greedy", **options)
        assert (plain.copied_pages, told.copied_pages) == (9, 6)
        assert told.zombies is not None
        assert (told.zombies.marked, told.zombies.overwritten) == (marked, marked)
        # Hints are not counted as requests.
        assert (told.host_pages, told.reads) == (37, 1)


@pytest.mark.parametrize("kind", ["counting", "timed"])
def test_a_cache_before_the_drive_says_that_it_tells_for_itself(kind: str) -> None:
    options: dict[str, Any] = EXAMPLE | {"host_cache": "page-cache:size=5KiB", "victim": "z-greedy"}
    options |= {"frontier": "pool:low=1", "warmup": "0"}
    if kind == "timed":
        options |= {"kind": kind, "device": "slc", "gc_low": 1, "warmup": "0x"}
        del options["frontier"]
    result = flashgc.run(str(TRACE), **options)
    said = "the dirty events of the trace are left out"
    assert any(warning.startswith(said) for warning in result.warnings)
    assert result.zombies is not None
    assert result.zombies.marked == 0


def test_a_damaged_log_is_one_line(command: Command, tmp_path: Path) -> None:
    (tmp_path / "wal.txt").write_text(WAL + WAL.replace("blk 9", "blk nine"))
    made = command("trace", "convert", "wal.txt", "wal.csv")
    assert made.returncode == 2
    message = " ".join(made.stderr.split())
    assert "wal.txt:4:" in message
    assert "expected a block number" in message
    assert not (tmp_path / "wal.csv").exists()


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        # Cut in the first line: a record's description comes before its blocks.
        (
            len("rmgr: Heap        len (rec/tot):     54/"),
            "expected desc: and what the record does",
        ),
        (WAL.index(" 7\n"), "expected ': rel TABLESPACE/DATABASE/FILE blk NUMBER'"),
        (WAL.index("16396"), "expected ': rel TABLESPACE/DATABASE/FILE blk NUMBER'"),
    ],
)
def test_a_log_cut_short_is_one_line(
    command: Command, tmp_path: Path, at: int, expected: str
) -> None:
    (tmp_path / "wal.txt").write_text(WAL + WAL[:at])
    made = command("trace", "convert", "wal.txt", "wal.csv", "--as-dirty")
    assert made.returncode == 2
    message = " ".join(made.stderr.split())
    assert message.startswith("error: wal.txt:3:")
    assert expected in message
    assert not (tmp_path / "wal.csv").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the trace is empty, expected at least one request"),
        (bytes(range(128, 256)) * 9, "no known trace format fits"),
        (WAL.encode() + b"\xff" * 99, "wal.txt:3:1: found"),
        # The name of this test comes from these bytes and must be equal in parallel processes.
        (gzip.compress(WAL.encode(), mtime=0)[:60], "the gzip data are cut off"),
    ],
)
def test_what_is_no_log_is_one_line(
    command: Command, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "wal.txt").write_bytes(content)
    made = command("trace", "convert", "wal.txt", "wal.csv", "--as-dirty")
    assert made.returncode == 2
    assert len(made.stderr.splitlines()) == 1
    assert message in made.stderr


def test_a_packed_log_is_read_and_a_pipe_refused(command: Command, tmp_path: Path) -> None:
    (tmp_path / "wal.gz").write_bytes(gzip.compress(WAL.encode()))
    made = command("trace", "convert", "wal.gz", "wal.csv", "--as-dirty", "--quiet")
    assert made.returncode == 0, made.stderr
    assert len((tmp_path / "wal.csv").read_text().splitlines()) == 4
    refused = command("trace", "convert", "/dev/null", "none.csv", "--as-dirty")
    assert refused.returncode == 2
    assert "a pipe can be read only once" in refused.stderr


def test_a_full_disk_is_a_failure_in_one_line(command: Command, tmp_path: Path) -> None:
    (tmp_path / "wal.txt").write_text(WAL)
    (tmp_path / "full.csv").symlink_to("/dev/full")
    made = command("trace", "convert", "wal.txt", "full.csv", "--as-dirty", "--quiet")
    assert made.returncode == 1, made
    assert made.stderr == (
        "error: full.csv: cannot write the trace: No space left on device; hint: free some space "
        "or write elsewhere\n"
    )


def test_false_dirty_events_change_which_blocks_are_taken_and_nothing_else(tmp_path: Path) -> None:
    # False dirty events name pages that are not about to be written, pages outside the drive, and a
    # part of a page. The trace writes 93 blocks of pages once, then random pages three times on
    # average.
    pages = 93 * 32
    random = Random(1)
    order = [*range(pages), *(random.randrange(pages) for _ in range(3 * pages))]
    lines = ["time_us,op,offset_bytes,size_bytes,dev"]
    lines += [f"{at},W,{page * 4096},4096,0" for at, page in enumerate(order)]
    honest, lying = tmp_path / "honest.csv", tmp_path / "lying.csv"
    honest.write_text("\n".join([*lines, ""]))
    lies = ["1,M,0,409600,0", f"2,M,{2**40},4096,0", "3,M,100,1,0", "4,M,-8192,4096,0"]
    lying.write_text("\n".join([lines[0], *lines[1 : pages + 1], *lies, *lines[pages + 1 :], ""]))
    options: dict[str, Any] = {"pages_per_block": 32, "spare": "15%", "frontier": "pool"}
    options |= {"passes": 1, "warmup": "0", "victim": "z-greedy"}
    plain, told = (flashgc.run(str(path), **options) for path in (honest, lying))
    assert plain.host_pages == told.host_pages == 4 * pages
    assert plain.copied_pages > 0
    assert told.zombies is not None
    # The first false event names 100 pages with data. The others name a page beyond the drive, one
    # of the 100 again, and one before byte 0.
    assert told.zombies.marked == 100
