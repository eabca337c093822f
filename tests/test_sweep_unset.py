"""Grids with unset values in their lists: the cell equals a run without the option."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import flashgc
from conftest import Command
from flashgc.store import Store
from flashgc.store.tidy import tidy
from flashgc.studies.sweep.grid import grid

ZIP = """[drive]
pages_per_block = 16
[[sweep.zip]]
workload.source = ["uniform", "t.csv"]
drive.blocks = [64, "unset"]
drive.spare = ["20%", "unset"]
run.writes = ["2x", "unset"]
run.passes = ["unset", 3]
"""


def test_each_row_of_a_zip_gives_what_it_needs(tmp_path: Path, command: Command) -> None:
    flashgc.trace_synth("hotcold:f=0.1,r=0.9", tmp_path / "t.csv", pages=500, requests=3000)
    (tmp_path / "g.toml").write_text(ZIP)
    done = command("sweep", "g.toml", "--out", "t.json", "--quiet")
    assert done.returncode == 0, done.stderr
    alone = [
        flashgc.run(blocks=64, pages_per_block=16, spare="20%", writes="2x"),
        flashgc.run(workload=str(tmp_path / "t.csv"), pages_per_block=16, passes=3),
    ]
    assert [line.split()[:5] for line in done.stdout.splitlines()[1:3]] == [
        ["uniform", "64", "20%", "2x", "unset"],
        ["t.csv", "unset", "unset", "unset", "3"],
    ]
    with Store(tmp_path / "g.results", make=False) as store:
        rows = tidy(store)
    assert [row["copied_pages"] for row in rows] == [one.copied_pages for one in alone]
    assert [row["spare"] for row in rows] == [0.2, 0.1]
    assert rows[1]["command"] == "flashgc run --workload t.csv --pages-per-block 16 --passes 3"


def test_what_is_unset_wins_over_an_experiment_file(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text('[drive]\nspare = "30%"\n[gc]\nvictim = "fifo"\n')
    asked: dict[str, Any] = {
        "drive": {"blocks": 64, "pages_per_block": 16, "spare": ["20%", None]},
        "gc": {"victim": ["greedy", "unset"]},
        "run": {"writes": "2x"},
        "sweep": {"experiments": [str(tmp_path / "e.toml")]},
    }
    swept = flashgc.sweep(asked, results=tmp_path / "r")
    assert [tuple(cell.at.values())[1:] for cell in swept] == [
        ("20%", "greedy"), ("20%", "unset"), ("unset", "greedy"), ("unset", "unset"),
    ]  # fmt: skip
    alone = flashgc.run(blocks=64, pages_per_block=16, writes="2x")
    assert swept.cells[-1].figures["write_amplification"] == alone.write_amplification
    assert [row["spare"] for row in swept.rows()] == [0.2, 0.2, 0.1, 0.1]
    with Store(tmp_path / "r", make=False) as store:
        assert [row["spare"] for row in tidy(store)] == [0.2, 0.2, 0.1, 0.1]


def test_conditions_and_doubles_know_what_is_unset() -> None:
    base = {"drive": {"spare": ["20%", "unset"]}, "gc": {"victim": ["greedy", "fifo"]}}
    out = [{"gc": {"victim": "fifo"}, "drive": {"spare": "unset"}}]
    made = grid({**base, "sweep": {"leave_out": out}})
    assert [tuple(cell.at.values()) for cell in made.cells()] == [
        ("20%", "greedy"), ("20%", "fifo"), ("unset", "greedy"),
    ]  # fmt: skip
    either = [{"drive": {"spare": ["unset", "25%"]}}]
    assert len(list(grid({**base, "sweep": {"leave_out": either}}).cells())) == 2
    with pytest.raises(flashgc.ConfigError, match="is given twice"):
        grid({"drive": {"spare": ["unset", None]}})
    with pytest.raises(flashgc.ConfigError, match=r"drive\.spare is given twice"):
        grid({"drive": {"spare": "7%"}, "sweep": {"zip": [{"drive": {"spare": ["unset", "9%"]}}]}})
