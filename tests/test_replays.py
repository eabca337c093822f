"""The counting drive and the timed drive make equal decisions on a trace.

The shipped trace is always replayed; public traces, if FLASHGC_TRACES names their folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import flashgc

SHIPPED = Path(__file__).resolve().parent.parent / "data" / "pgbench-ext4.csv.zst"
#: The most requests of a trace that are replayed: about a second for either drive.
MOST_LINES = 40_000
#: The counts that must be equal on both drives.
COUNTS = ("host_pages", "copied_pages", "erases", "collections", "trimmed_pages", "reads")


def public() -> list[Path]:
    """The public traces in the folder that FLASHGC_TRACES names."""
    folder = os.environ.get("FLASHGC_TRACES")
    found = [] if folder is None else sorted(Path(folder).glob("*/*.csv.zst"))
    return [path for path in found if path.parent.name == path.name.removesuffix(".csv.zst")]


def head(path: Path, target: Path) -> Path:
    """A trace of the first requests, sorted by time as the timed drive replays them."""
    plain = target / "whole.csv"
    flashgc.trace_convert(path, plain)
    header, *rows = plain.read_text(encoding="utf-8").splitlines()
    rows = sorted(rows[:MOST_LINES], key=lambda row: float(row.split(",")[0]))
    made = target / "trace.csv"
    made.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return made


def counted(result: flashgc.Result) -> dict[str, object]:
    """The counts of a drive, and its number of logical pages."""
    counts = {name: getattr(result, name) for name in COUNTS}
    return {**counts, "logical_pages": result.config.logical_pages}


def both(path: Path, **options: object) -> Iterator[dict[str, object]]:
    """Yields the counts of a timed drive and of a counting drive.

    The timed drive has one die, and serves one request at a time.
    """
    given = {
        "workload": str(path), "passes": 1, "warmup": "0", "runs": 1,
        "victim": "greedy:ties=lowest", **options,
    }  # fmt: skip
    first = flashgc.run(**given, frontier="pool:low=2")
    # Both drives get 8 more blocks, because the plane of the timed drive keeps some erased.
    given["blocks"] = first.config.blocks + 8
    timed = flashgc.run(
        **given, kind="timed", times="read=1us,program=1us,erase=1us,transfer=0us",
        arrivals="closed:threads=1", queue_depth=1, gc_low=2,
    )  # fmt: skip
    yield counted(timed)
    yield counted(flashgc.run(**given, frontier="pool:low=2"))


@pytest.mark.parametrize("numbering", ["address", "first-touch"])
@pytest.mark.parametrize(
    "path", [SHIPPED, *public()], ids=lambda path: path.name.removesuffix(".csv.zst")
)
def test_both_drives_decide_alike_on_a_trace(path: Path, numbering: str, tmp_path: Path) -> None:
    trace = head(path, tmp_path)
    pages = flashgc.trace_stat(trace).pages
    block = next(size for size in (64, 32, 16, 8, 4) if pages >= 40 * size)
    timed, counting = both(trace, numbering=numbering, pages_per_block=block, spare="15%")
    assert counting["host_pages"]
    assert counting["logical_pages"] >= pages
    assert counting == timed


@pytest.mark.skipif(not public(), reason="FLASHGC_TRACES names no folder of public traces")
def test_the_public_traces_are_there() -> None:
    assert len(public()) >= 12
