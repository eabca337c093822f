"""Streams of writes: by the generators, and by address."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import Command

import flashgc

DRIVE = {"blocks": 64, "pages_per_block": 16, "writes": "4x", "runs": 1}
SMALL = ("--blocks", "64", "--pages-per-block", "16", "--writes", "4x")


def test_streams_that_no_placement_heeds_change_nothing(tmp_path: Path) -> None:
    ranges = tmp_path / "streams.csv"
    ranges.write_text("0, 1048576, 3\n")
    plain = flashgc.run("zipf:read=0.2", **DRIVE)
    ranged = flashgc.run("zipf:read=0.2", streams=str(ranges), **DRIVE)
    named = flashgc.run("zipf:read=0.2,stream=7", **DRIVE)
    assert ranged.config.streams == str(ranges)
    assert plain.config.streams is None
    assert named.config.workload == plain.config.workload + ",stream=7"
    assert plain.write_amplification == ranged.write_amplification == named.write_amplification


def test_a_tenant_leaves_the_pages_of_the_other_alone() -> None:
    """One that writes half the drive only: the other half is dead weight for nobody.

    Each block is of one tenant as the drive is filled, and blocks of the idle one are never
    collected. What is left is a drive of half the blocks with all of the spare ones.
    """
    half = flashgc.run("uniform:to=0.5", victim="greedy", blocks=400, pages_per_block=32,
                       spare=0.1, writes="20x", warmup="50%", runs=1)  # fmt: skip
    # 400 blocks, of which 180 hold the idle half: 220 with a spare factor of 40 / 220.
    alone = flashgc.run("uniform", victim="greedy", blocks=220, pages_per_block=32,
                        spare=40 / 220, writes="40x", warmup="50%", runs=1)  # fmt: skip
    assert half.write_amplification == pytest.approx(alone.write_amplification, rel=0.02)


def test_what_cannot_be_read_or_carried_is_refused_in_a_line(
    command: Command, tmp_path: Path
) -> None:
    ranges = tmp_path / "streams.csv"
    for text, found in (
        ("0, 4096, 3\n5, 4, 0\n", ":2:4: found the end 4, expected one behind the start 5"),
        ("0, 4096, none\n", ":1:10: found 'none', expected a stream from 0 to 254"),
    ):
        ranges.write_text(text)
        done = command("run", *SMALL, "--streams", str(ranges))
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: {ranges}{found}; hint: a line is START, END, STREAM")
        assert done.stderr.count("\n") == 1
    ranges.write_text("0, 4096, 3\n")
    done = command("run", *SMALL, "--streams", str(ranges), "--mapping", "fast")
    assert done.stderr == (
        "error: found --streams with fast, which does not carry the streams of writes; hint: leave "
        "out --mapping, or --streams\n"
    )
    done = command("run", *SMALL, "--workload", "zipf:from=0.6,to=0.5")
    assert "--workload: zipf: found from=0.6 and to=0.5, expected from below to" in done.stderr
