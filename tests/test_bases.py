"""Sentences that say how a difference was computed: they are true, and their advice works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import flashgc
from conftest import Command
from flashgc.results.ranked import advice


def test_what_is_exact_of_a_length_is_not_said_of_the_drive(
    command: Command, tmp_path: Path
) -> None:
    flashgc.trace_synth("zipf", tmp_path / "made.csv", pages=2000, requests=5000)
    words = (
        "compare", "--victim", "greedy:ties=latest", "--victim", "fifo", "--frontier", "pool",
        "--workload", "made.csv", "--pages-per-block", 16, "--spare", "20%",
    )  # fmt: skip
    made = command(*words, "--passes", 2)
    told = " ".join(made.stdout.split())
    assert re.search(r"\(difference \d\.\d+, exact for this length\)\. Exact for", told), told
    assert told.endswith(
        " Exact for this length only: all wrote the same trace as often, without random numbers, "
        "and nothing shows that every drive has settled."
    )
    assert "--runs" not in told
    told = " ".join(command(*words, "--passes", 60).stdout.split())
    assert "exact for this length). Exact: all wrote the same trace as often" in told, told


def test_runs_that_are_alike_are_not_to_be_more() -> None:
    drive: dict[str, Any] = {"blocks": 64, "pages_per_block": 16, "spare": "20%", "writes": "2x"}
    alike = flashgc.run("sequential", **drive, runs=2, victim="fifo")
    assert len(set(alike.run_values)) == 1
    assert advice(alike) == "more --writes"
    drawn = flashgc.run("uniform", **drive, runs=2, victim="fifo")
    assert advice(drawn) == "more --runs or --writes"
