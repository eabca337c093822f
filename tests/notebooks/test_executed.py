"""The notebooks of the documents are executed, and their stored outputs are right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from notebooks import NOTEBOOKS, ROOT, executed


def outputs(notebook: nbformat.NotebookNode) -> list[list[Any]]:
    """The outputs of the cells, without pixels and digests, which depend on the machine."""
    return [[seen(one) for one in cell.get("outputs", [])] for cell in notebook.cells]


def seen(output: nbformat.NotebookNode) -> Any:
    if output.output_type == "error":
        return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(output.traceback))
    if output.output_type == "stream":
        return output.text
    data = {
        kind: re.sub(r"digest \w+", "digest", value)
        for kind, value in output.data.items()
        if kind.startswith("text/")
    }
    return {**data, "pictures": {**output.metadata}}


def test_there_are_three() -> None:
    names = {path.stem for path in NOTEBOOKS}
    assert names == {"first-look", "own-policy", "grid"}
    for path in NOTEBOOKS:
        assert path.is_relative_to(ROOT / "docs")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_comes_of_it(path: Path) -> None:
    written = nbformat.read(path, as_version=4)
    fresh = executed(path)
    assert outputs(written) == outputs(fresh), "hint: make docs"
    assert [cell.id for cell in written.cells] == [cell.id for cell in fresh.cells]
    # An error is shown only where the text says so.
    for cell in fresh.cells:
        failed = any(one.output_type == "error" for one in cell.get("outputs", []))
        assert failed == ("raises-exception" in cell.metadata.get("tags", []))


def figures(name: str) -> str:
    (path,) = [path for path in NOTEBOOKS if path.stem == name]
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(str(seen(one)) for cell in cells for one in cell.get("outputs", []))


def test_the_figures_are_those_of_the_models() -> None:
    # The model's figure for 10% spare and 64 pages a block; tests of the model check it.
    assert "greedy 4.8213, simulation 4.82" in figures("first-look")
    shown = figures("grid")
    for spare in ("0.05", "0.10", "0.15", "0.20", "0.25", "0.30"):
        (row,) = re.findall(rf"{spare} +([\d.]+) +([\d.]+)", shown)
        assert float(row[0]) > float(row[1]) > 1  # FIFO writes more than greedy.
    assert "True)" in figures("own-policy")
