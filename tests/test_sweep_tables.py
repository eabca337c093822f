"""The rows of a sweep in files and data frames, with all digits, units and types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import flashgc
from flashgc import tables

GRID: dict[str, Any] = {
    "drive": {"blocks": 64, "pages_per_block": 16, "spare": ["10%", "20%"]},
    "gc": {"victim": ["greedy", "fifo"]},
    "run": {"writes": "2x", "seed": [1, 2, 3]},
}


def test_a_table_has_numbers_with_their_units(tmp_path: Path) -> None:
    swept = flashgc.sweep(
        {
            "drive": {"capacity": ["4MiB", "8MiB"], "pages_per_block": 16, "spare": "10%"},
            "run": {"writes": "2x"},
        },
        results=tmp_path / "r",
    )
    rows = swept.rows()
    assert [row["capacity_bytes"] for row in rows] == [4 << 20, 8 << 20]
    tables.save(rows, str(tmp_path / "t.csv"))
    first = (tmp_path / "t.csv").read_text().splitlines()[1].split(",")
    assert float(first[1]) == rows[0]["write_amplification"]  # with all its digits
    assert json.loads(tables.to_json(rows)) == rows


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_has_the_rows_of_the_table(library: str, tmp_path: Path) -> None:
    swept = flashgc.sweep(GRID, results=tmp_path / "r")
    frame: Any = swept.to_frame(library)
    assert list(frame.columns) == [*tables.columns(swept.rows()), "doubts"]
    assert frame["write_amplification"].to_list() == [
        row["write_amplification"] for row in swept.rows()
    ]


def test_a_parquet_file_has_typed_columns(tmp_path: Path) -> None:
    swept = flashgc.sweep(GRID, results=tmp_path / "r")
    tables.save(swept.rows(), str(tmp_path / "t.parquet"))
    read = parquet.read_table(tmp_path / "t.parquet")
    assert read.to_pylist() == swept.rows()
    assert str(read.schema.field("spare").type) == "double"
    assert str(read.schema.field("seed").type) == "int64"
