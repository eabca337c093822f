"""Sweeps with failing cells, and shards without a cell."""

from __future__ import annotations

import json
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

import flashgc
from conftest import Command
from flashgc.store import Store, file

GRID = """[drive]
blocks = 64
pages_per_block = 16
[gc]
victim = ["greedy", "python:bad.py:pick", "fifo"]
[run]
writes = "2x"
"""


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "def pick(blocks):\n    raise RuntimeError('no idea')\n",
            "bad.py:2: RuntimeError: no idea",
        ),
        (
            "class pick:\n    def __init__(self):\n        raise ValueError('none')\n"
            "    def pick(self, blocks):\n        return 0\n",
            "bad.py:3: ValueError: none",
        ),
        ("import sys\ndef pick(blocks):\n    sys.exit(3)\n", "bad.py:3: SystemExit: 3"),
        (
            "def pick(blocks):\n    return 3000\n",
            "python:bad.py:pick: the victim policy picked block 3000, which does not exist",
        ),
    ],
)
def test_a_policy_that_fails_leaves_the_other_cells(
    source: str, reason: str, tmp_path: Path, command: Command
) -> None:
    (tmp_path / "g.toml").write_text(GRID)
    (tmp_path / "bad.py").write_text(source)
    done = command("sweep", "g.toml")
    assert done.returncode == 1
    assert "3 cells: 3 run, 0 found in g.results\n" in done.stdout
    assert f"1 failed: {reason}" in " ".join(done.stdout.split())
    assert "warning: 1 cell failed; hint: --retry runs it again\n" in done.stderr
    again = command("sweep", "g.toml", "--json")
    assert again.returncode == 1
    cells = json.loads(again.stdout)["cells"]
    assert [cell["status"] for cell in cells] == ["result", "failed", "result"]
    assert cells[1]["reason"].startswith(reason)
    told = command("sweep", "g.toml")
    assert "3 cells: 0 run, 2 found in g.results\n" in told.stdout


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def pick(blocks:\n", "bad.py:1: SyntaxError: '(' was never closed"),
        ("X = 1 / 0\n", "bad.py:1: ZeroDivisionError: division by zero"),
        ("", "bad.py defines no 'pick'; hint: define pick in it"),
        (None, "bad.py: no such file; hint: write python:FILE.py:NAME"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_refused_at_its_place_in_the_grid(
    source: str | None, told: str, tmp_path: Path, command: Command
) -> None:
    (tmp_path / "g.toml").write_text(GRID)
    if source is not None:
        (tmp_path / "bad.py").write_text(source)
    done = command("sweep", "g.toml")
    assert done.returncode == 2
    *_, line = done.stderr.splitlines()
    assert line == (
        f"error: g.toml:5:21: {told} (no cell with victim = python:bad.py:pick can run)"
    )


class Losing(Executor):
    """Runs cells immediately, and deletes a file after the first one."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def submit(self, work: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(work(*arguments, **more))
        self.place.unlink(missing_ok=True)
        return future


def test_a_file_that_vanishes_costs_the_cells_that_read_it(tmp_path: Path) -> None:
    policy = tmp_path / "mine.py"
    policy.write_text("def pick(blocks):\n    return blocks.draw(1)[0]\n")
    asked = {
        "drive": {"blocks": 64, "pages_per_block": 16},
        "gc": {"victim": [f"python:{policy}:pick", "fifo"]},
        "run": {"writes": "2x", "seed": [1, 2]},
    }
    swept = flashgc.sweep(asked, results=tmp_path / "r", executor=Losing(policy))
    assert [cell.status for cell in swept] == ["failed", "failed", "result", "result"]
    assert {cell.reason for cell in swept.of("failed")} == {
        f"{policy}: has vanished while it ran, so its result is not kept; hint: give the same "
        "command again"
    }
    with Store(tmp_path / "r", make=False) as store:
        assert [row["status"] for row in store.rows()] == ["result", "result"]


def test_a_result_that_is_too_large_to_keep_leaves_the_other_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = {"blocks": 64, "pages_per_block": 16}
    few, many = (
        len(json.dumps(flashgc.run(runs=runs, writes="2x", **drive).to_dict()))  # type: ignore[arg-type]
        for runs in (1, 500)
    )
    monkeypatch.setattr(file, "CEILING", (few + many) // 2)
    asked = {"drive": drive, "run": {"writes": "2x", "runs": [500, 1]}}
    swept = flashgc.sweep(asked, results=tmp_path / "r")
    assert [cell.status for cell in swept] == ["failed", "result"]
    assert f"expected at most {(few + many) // 2}" in swept.cells[0].reason
    assert flashgc.sweep(asked, results=tmp_path / "r").found == 1


def test_a_shard_without_cells_is_no_error(tmp_path: Path, command: Command) -> None:
    (tmp_path / "g.toml").write_text(GRID.replace('"python:bad.py:pick", ', ""))
    for shard in ("3/3", "500/500"):
        done = command("sweep", "g.toml", "--shard", shard, "--results", "part")
        assert (done.returncode, done.stderr) == (0, "")
        assert (
            done.stdout == f"0 cells: the grid has fewer cells than shards, and {shard} has none\n"
        )
    asked = command("sweep", "g.toml", "--shard", "3/3", "--json")
    assert (asked.returncode, json.loads(asked.stdout)["cells"]) == (0, [])
    assert json.loads(asked.stdout)["axes"] == ["victim"]
    for ending in ("csv", "json", "md", "parquet", "tex"):
        done = command("sweep", "g.toml", "--shard", "3/3", "--out", f"t.{ending}")
        assert (done.returncode, done.stderr) == (0, "")
    assert command("sweep", "g.toml", "--shard", "3/3", "--dry-run").returncode == 0
    merged = command("results", "merge", "all", "part")
    assert (merged.returncode, merged.stdout) == (0, "part: 0 new\n")
