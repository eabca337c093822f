"""Recordings of drives: pages keep their numbers, and the options say how large the drive is."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from random import Random

import pytest

import flashgc
from conftest import Command

#: A drive of 64 blocks of 8 pages, of which a quarter is spare.
DRIVE = {"blocks": 64, "pages_per_block": 8, "spare": "25%", "fill": "empty"}
PAGES = 384
HEADER = "time_us,op,offset_bytes,size_bytes,dev\n"


def csv(path: Path, rows: list[tuple[str, int]]) -> Path:
    """A trace of single pages of 4 KiB."""
    lines = [f"{time}.000,{op},{page * 4096},4096,0\n" for time, (op, page) in enumerate(rows)]
    path.write_text(HEADER + "".join(lines))
    return path


def recording(path: Path, rows: list[tuple[str, int]]) -> Path:
    """A recording of a drive of PAGES pages with these requests. Its header is made by hand."""
    flashgc.trace_convert(csv(path.with_suffix(".csv"), rows), path)
    content = bytearray(path.read_bytes())
    assert content[16:28] == bytes(12)
    content[16:24] = (PAGES * 4096).to_bytes(8, "little")
    content[28:32] = zlib.crc32(content[:28]).to_bytes(4, "little")
    path.write_bytes(content)
    return path


def rows(count: int) -> list[tuple[str, int]]:
    """Requests that go mostly to a sixth of the pages: writes, reads, discards, hints.

    Clean events take hints back.
    """
    random = Random(3)
    ops = random.choices("WMCDR", (8, 4, 3, 1, 1), k=count)
    pages = [random.randrange(60 if random.random() < 0.8 else PAGES) for _ in ops]
    return [*zip(ops, pages, strict=True), ("W", 0)]


def test_statistics_say_what_drive_it_is_and_count_what_is_taken_back(
    command: Command, tmp_path: Path
) -> None:
    path = recording(tmp_path / "drive.flashgc", [("W", 9), ("M", 9), ("C", 9), ("C", 9)])
    stat = flashgc.trace_stat(path)
    assert (stat.address_space_bytes, stat.dirty, stat.clean) == (PAGES * 4096, 1, 2)
    shown = " ".join(command("trace", "stat", path).stdout.split())
    assert "recorded from a drive of 1.5 MiB (384 logical pages)" in shown
    assert "and 1 dirty events, and 2 clean events" in shown
    # The CSV file does not name the size of the drive.
    plain = flashgc.trace_stat(path.with_suffix(".csv"))
    assert (plain.address_space_bytes, plain.clean) == (None, 2)
    assert "from a drive" not in command("trace", "stat", path.with_suffix(".csv")).stdout


@pytest.mark.parametrize("preset", ["zgc-gd", "zgc-cb"])
def test_both_drives_decide_alike_and_as_for_the_given_numbers(preset: str, tmp_path: Path) -> None:
    made = rows(4000)
    path = recording(tmp_path / "drive.flashgc", made)
    options = {**DRIVE, "scheme": preset, "passes": 1, "runs": 1}
    counting = flashgc.run(workload=str(path), warmup="0", frontier="pool:low=2", **options)
    timed = flashgc.run(
        workload=str(path), kind="timed", times="read=1us,program=1us,erase=1us,transfer=0us",
        arrivals="closed:threads=1", queue_depth=1, gc_low=2, warmup="0", **options,
    )  # fmt: skip
    counts = ("host_pages", "copied_pages", "erases", "collections", "trimmed_pages", "zombies")
    assert [getattr(timed, name) for name in counts] == [getattr(counting, name) for name in counts]
    assert counting.host_pages == sum(op == "W" for op, _ in made)
    assert counting.collections > 50
    assert counting.config.logical_pages == PAGES
    assert counting.config.trace.numbering == "given"
    # A run of the CSV file has equal counts if it keeps the page numbers of the file.
    copy = str(path.with_suffix(".csv"))
    options |= {"warmup": "0", "frontier": "pool:low=2"}
    given = flashgc.run(workload=copy, numbering="given", **options)
    assert given.to_dict()["zombies"] == counting.to_dict()["zombies"]
    assert given.copied_pages == counting.copied_pages
    # Numbering by address gives no numbers to pages that are never accessed.
    by_address = flashgc.run(workload=str(path), numbering="address", **options)
    assert by_address.config.trace.numbering == "address"


def test_numbers_of_pages_count_where_pages_are_missing(tmp_path: Path) -> None:
    # Only every third page is written. Numbered by address, the 100 pages are neighbours, and the
    # drive is smaller.
    path = recording(tmp_path / "drive.flashgc", [("W", 3 * page) for page in range(100)] * 20)
    options = {"workload": str(path), "pages_per_block": 8, "spare": "25%", "passes": 1}
    given = flashgc.run(**options, warmup="0", blocks=64)
    assert given.config.logical_pages == PAGES
    fitted = flashgc.run(**options, warmup="0", numbering="address")
    assert fitted.config.logical_pages == 104
    compared = flashgc.compare(["greedy", "fifo"], **options, warmup="0", blocks=64)
    assert {one.config.logical_pages for one in compared.results} == {PAGES}


CLOCK = ("--drive", "timed", "--times", "read=25us,program=200us,erase=1.5ms,transfer=10us")


@pytest.mark.parametrize("drive", [(), CLOCK])
def test_errors_say_what_drive_is_needed(
    command: Command, tmp_path: Path, drive: tuple[str, ...]
) -> None:
    path = recording(tmp_path / "drive.flashgc", [("W", 1), ("W", 383), ("W", 2)])
    shape = ("--pages-per-block", "8", "--spare", "25%", "--passes", "1", *drive)
    run = ("run", "--workload", path, *shape)
    missing = command(*run)
    assert missing.returncode == 2
    assert missing.stderr == (
        "error: the number of blocks is missing, and the pages of the trace keep the numbers that "
        "they have on a drive of 384 logical pages; hint: --blocks 64 at spare factor 0.25\n"
    )
    small = command(*run, "--blocks", "60")
    assert small.returncode == 2
    assert small.stderr == (
        "error: request 2 of the trace (offset 1568768) is on logical page 383, and the drive has "
        "360 logical pages, numbered from 0; hint: give more --blocks, or --numbering address\n"
    )
    assert command(*run, "--blocks", "64").returncode == 0
    two = tmp_path / "two.csv"
    two.write_text(HEADER + "0.000,W,0,4096,0\n1.000,W,0,4096,1\n")
    refused = command("run", "--workload", two, *shape, "--numbering", "given", "--blocks", "64")
    assert refused.returncode == 2
    assert refused.stderr == (
        f"error: {two}: request 2: found device 1 after device 0, expected one: pages keep their "
        "numbers; hint: choose one device, as --devices 0, or --numbering address\n"
    )


@pytest.mark.parametrize(
    ("asked", "numbering"), [((), "given"), (("--numbering", "address"), "address")]
)
def test_a_run_goes_on_from_a_checkpoint_with_the_same_numbers(
    command: Command, tmp_path: Path, asked: tuple[str, ...], numbering: str
) -> None:
    path = recording(tmp_path / "drive.flashgc", rows(4000))
    run = (
        "run", "--workload", path, "--blocks", "64", "--pages-per-block", "8", "--spare", "25%",
        "--fill", "empty", "--scheme", "zgc-cb", "--frontier", "pool:low=2",
        "--passes", "4", "--warmup", "0", "--json",
    )  # fmt: skip
    whole = command(*run, *asked, "--checkpoint", "drive.checkpoint")
    assert whole.returncode == 0, whole.stderr
    again = command("run", "--resume", "drive.checkpoint", "--json")
    assert again.returncode == 0, again.stderr
    first, second = (flashgc.Result.from_dict(json.loads(run.stdout)) for run in (whole, again))
    assert first.zombies == second.zombies
    assert {run.config.trace.numbering for run in (first, second)} == {numbering}
