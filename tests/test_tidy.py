"""Stored results as a tidy table: options, figures with units, and each row's command."""

from __future__ import annotations

import shlex
from pathlib import Path

import flashgc
from conftest import Command
from flashgc.results.figures import NAMES
from flashgc.store import Store
from flashgc.store.tidy import is_option, tidy, varied

GRID = {
    "drive": {"blocks": 64, "pages_per_block": 16, "page_size": ["4KiB", 8192], "spare": ["10%"]},
    "gc": {"victim": ["greedy", "d-choices:d=3"]},
    "run": {"writes": "3x"},
}


def _rows(path: Path) -> list[dict[str, object]]:
    with Store(path, make=False) as store:
        return tidy(store)


def test_the_command_of_a_row_gives_its_digits_again(tmp_path: Path, command: Command) -> None:
    flashgc.sweep(GRID, results=tmp_path / "grid.results")
    rows = _rows(tmp_path / "grid.results")
    assert len(rows) == 4
    for row in rows:
        words = shlex.split(str(row["command"]))
        assert words[:2] == ["flashgc", "run"]
        done = command(*words[1:], "--json")
        assert f'"digest": "{row["digest"]}"' in done.stdout


def test_options_are_columns_with_their_units(tmp_path: Path) -> None:
    flashgc.sweep(GRID, results=tmp_path / "grid.results")
    rows = _rows(tmp_path / "grid.results")
    assert {row["page_size_bytes"] for row in rows} == {4096, 8192}
    assert {row["spare"] for row in rows} == {0.1}
    assert varied(rows) == ["page_size_bytes", "victim"]


def test_an_option_that_only_some_results_were_given_is_the_default_in_others(
    tmp_path: Path,
) -> None:
    kept = tmp_path / "two.results"
    flashgc.sweep({**GRID, "run": {"writes": "3x", "seed": [2]}}, results=kept)
    flashgc.sweep(GRID, results=kept)
    assert [row["seed"] for row in _rows(kept)].count(1) == 4


def test_no_figure_has_the_name_of_an_option() -> None:
    assert [name for name in NAMES if is_option(name)] == []


def test_rows_have_the_order_of_the_grid_whatever_was_complete_first(tmp_path: Path) -> None:
    """Long cells run first, and shards are merged in any order."""
    grid = {
        "drive": {"blocks": 64, "pages_per_block": 16, "spare": ["10%", "30%"]},
        "run": {"writes": ["2x", "9x", "4x"]},
    }
    for number in (2, 1):
        flashgc.sweep(grid, results=tmp_path / f"{number}", shard=f"{number}/2")
    with Store(tmp_path / "2") as store, Store(tmp_path / "1", make=False) as other:
        store.merge(other)
    for row in (rows := _rows(tmp_path / "2")):
        assert row["status"] == "result"
    order = [(row["spare"], row["writes"]) for row in rows]
    assert order == [(spare, writes) for spare in (0.1, 0.3) for writes in ("2x", "9x", "4x")]
