"""Copies of traces keep everything that a run needs, or are refused."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import pytest

import flashgc
from conftest import Command

ENDINGS = ("csv", "csv.gz", "csv.zst", "flashgc", "flashgc.gz", "flashgc.zst")
#: Fields of the file, not of the trace in it.
OF_THE_FILE: dict[str, Any] = {
    "format": "",
    "compression": "",
    "columns": "",
    "notes": (),
    "ignored_lines": 0,
}
#: A drive on which flushes cost: a flash page holds four mapping units, and the buffer has no
#: power protection.
DRIVE: dict[str, Any] = {
    "page_size": "16KiB", "mapping_unit": "4KiB", "power_protection": "no", "pages_per_block": 8,
    "spare": "20%", "frontier": "pool", "passes": 6, "warmup": "1/3",
}  # fmt: skip


def blkparse(path: Path) -> Path:
    """A Linux trace with flushes alone, flushes before a write, writes with FUA, and discards."""
    draw = random.Random(7)
    lines = []
    for number in range(3000):
        time = f"{number // 1000}.{number % 1000:03}{draw.randrange(1000):03}007"
        word = draw.choice(["W", "W", "W", "WS", "WFS", "FWS", "R", "D", "FN"])
        sector, sectors = (
            8 * draw.randrange(1200) + draw.choice([0, 0, 3]),
            draw.choice([8, 13, 40]),
        )
        place = "" if word == "FN" else f" {sector} + {sectors}"
        lines.append(f"  8,0    1 {number:8} {time:>14}   100  D {word:>3}{place} [app]\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


def stat(path: Path) -> flashgc.TraceStat:
    return dataclasses.replace(flashgc.trace_stat(path), **OF_THE_FILE)


def amplification(path: Path) -> tuple[float | None, int, int]:
    """Write amplification, copied pages and erases of a run."""
    result = flashgc.run(str(path), **DRIVE)
    return result.write_amplification, result.copied_pages, result.erases


def test_a_run_on_a_copy_is_a_run_on_the_trace(command: Command, tmp_path: Path) -> None:
    source = blkparse(tmp_path / "disk.blkparse")
    counted, run = stat(source), amplification(source)
    # Flushes change the figures of a run, so a copy without them would be noticed.
    rows = tmp_path / "rows.csv"
    assert counted.flushes > 800
    for ending in ENDINGS:
        name = f"copy.{ending}"
        done = command("trace", "convert", source.name, name, "--quiet")
        assert (done.returncode, done.stderr) == (0, ""), done
        assert stat(tmp_path / name) == counted, ending
        assert amplification(tmp_path / name) == run, ending
    flashgc.trace_convert(source, rows)
    kept = [line for line in rows.read_text().splitlines(keepends=True) if ",F,0,0," not in line]
    rows.write_text("".join(kept))
    assert stat(rows) == dataclasses.replace(counted, flushes=0)
    assert amplification(rows) != run


def test_what_a_format_has_no_place_for_is_left_out_only_if_asked(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "program.lackey").write_text("I  00001000,4\n S 000017fe,4\n L 00003000,8\n")
    done = command("trace", "convert", "program.lackey", "program.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: program.lackey: found references to memory (lackey), and .csv has no place to say "
        "so: it would be read as a block trace; hint: write .pages instead, or --leave-out "
        "references\n"
    )
    assert not (tmp_path / "program.csv").exists()
    done = command("trace", "convert", "program.lackey", "program.csv", "--leave-out", "references")
    assert done.returncode == 0
    assert stat(tmp_path / "program.csv").requests == 3
    done = command("trace", "convert", "program.lackey", "program.pages")
    assert done.stderr == (
        "warning: 3 references became 4: .pages has the page of each and not its address and size, "
        "and one or two for several in a row to a page\n"
    )
    done = command("trace", "convert", "program.lackey", "program.csv", "--leave-out", "times")
    assert done.stderr.startswith(
        "error: --leave-out: found 'times', expected drive-size or references"
    )


def test_new_numbers_of_devices_are_told(command: Command, tmp_path: Path) -> None:
    (tmp_path / "volumes.csv").write_text("2,W,0,4096,1\n10,W,0,4096,2\n2,W,0,4096,3\n")
    done = command("trace", "convert", "volumes.csv", "copy.csv", "--format", "alibaba")
    assert done.stderr == (
        "warning: 2 devices are 0 to 1 of the copy, in the order of their numbers as text: device "
        "10 is 0, for example (--native-devices keeps the numbers, and the order of pages)\n"
    )
    done = command(
        "trace", "convert", "volumes.csv", "own.csv", "--format", "alibaba", "--native-devices"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [row.rsplit(",", 1)[1] for row in (tmp_path / "own.csv").read_text().split()[1:]] == [
        "2", "10", "2",
    ]  # fmt: skip


def test_a_shifted_trace_is_not_copied_without_its_shift(tmp_path: Path) -> None:
    source = blkparse(tmp_path / "disk.blkparse")
    with pytest.raises(flashgc.ConfigError, match="the copy has the offsets of the trace"):
        flashgc.Trace(source, alignment_offset="512B").convert(tmp_path / "copy.csv")
