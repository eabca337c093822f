"""Executes the notebooks of the documents and writes them back with their outputs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import nbclient
import nbformat

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with fresh outputs, without parts that change from run to run."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = nbclient.NotebookClient(
            notebook, timeout=300, resources={"metadata": {"path": folder}}
        )
        client.execute(env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells, 1):
        cell.id = f"cell-{number}"
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":  # A closed progress bar leaves an empty output.
            gone = {"text/plain": ""}
            cell.outputs = [output for output in cell.outputs if output.get("data") != gone]
    return notebook


if __name__ == "__main__":
    for notebook_path in NOTEBOOKS:
        nbformat.write(executed(notebook_path), notebook_path)
