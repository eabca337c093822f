"""Files of results for the tests of the page: small ones from runs, large invented ones."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import flashgc
from flashgc.store import Kept, Store
from flashgc.store.tidy import tidy

GRID = {
    "drive": {"blocks": 64, "pages_per_block": 16, "spare": ["10%", "15%", "20%", "25%"]},
    "gc": {"victim": ["greedy", "fifo", "d-choices:d=3"], "frontier": "pool",
           "placement": ["none", "sepbit"]},
    "workload": {"source": ["uniform", "zipf:theta=0.9"]},
    "run": {"writes": "3x", "seed": [1, 2, 3]},
}  # fmt: skip


def run(path: Path) -> Path:
    """Runs a grid of 144 cells; those with sepbit and the least spare space are refused."""
    flashgc.sweep(GRID, results=path)
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The tidy rows of a file of results."""
    with Store(path, make=False) as store:
        return tidy(store)


def make(path: Path, asked: Sequence[dict[str, Any]]) -> Path:
    """A file with a result for each entry of ``asked``; figures follow from the index."""
    with Store(path) as store:
        for place, options in enumerate(asked):
            status = options.pop("status", "result")
            options.setdefault("workload.source", "uniform")
            options.setdefault("gc.victim", "greedy")
            options.setdefault("drive.spare", "10%")
            result = copy.deepcopy(RESULT)
            result["digest"] = f"{place:016x}"
            if "figure" in options:
                result["write_amplification"] = options.pop("figure")
            else:
                # All figures are different, and not in the order of the list.
                result["write_amplification"] = 1 + (place * 7919 % 10_007) / 1000
            reason = options.pop("reason", "")
            kept = Kept(status, {}, result if status == "result" else None, reason, 0.01, options)
            store.put(f"{place:032x}", kept, "sweep")
    return path


#: A result with the figures that every result has.
RESULT: dict[str, Any] = {
    "write_amplification": 2.0, "write_amplification_ci95": 0.01, "host_pages": 1000,
    "copied_pages": 1000, "erases": 62, "collections": 62, "map_bytes": 4000,
    "page_programs_per_second": 5e7, "steady": True, "digest": "0", "findings": [],
    "bytes": {"host": 4096000, "programmed": 8192000}, "wear": {"mean": 3.5, "max": 9, "cv": 0.25},
    "config": {},
}  # fmt: skip


def document(page: Path) -> dict[str, Any]:
    """The JSON document that the scripts of a page read."""
    found = re.search(
        r'<script id="data" type="application/json">(.*?)</script>', page.read_text("utf-8"), re.S
    )
    assert found
    made: dict[str, Any] = json.loads(found.group(1))
    return made


def values(column: dict[str, Any]) -> list[Any]:
    """The values of a column of the document, one for each row."""
    if "values" in column:
        return list(column["values"])
    return [column["words"][place] for place in column["places"]]
