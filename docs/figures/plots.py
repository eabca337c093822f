"""Draws the pictures of docs/plots.md, docs/wear.md and docs/answers, with what stands there.

    PYTHONPATH=scripts/docs .venv/bin/python docs/figures/plots.py

`make docs` does so, and the test of a document fails where a picture is stale.
"""

import contextlib
import doctest
import io
import re
import tempfile
from pathlib import Path

from documents import blocks, output, prepare, steps

HERE = Path(__file__).parent
DOCS = HERE.parent
PAGES = (DOCS / "plots.md", DOCS / "wear.md", *sorted(DOCS.glob("answers/*.md")))
FOLDER = HERE / "plots"


def draw(page: Path, folder: Path) -> dict[str, bytes]:
    """Runs what the pictures of a page need in a folder; returns them by name."""
    prepare(folder)
    text = page.read_text(encoding="utf-8")
    shown = re.findall(r"\((?:\.\./)?figures/plots/(\S+)\)", text)
    names: dict[str, object] = {"__name__": "document"}
    for block in blocks(page):
        if block.file is not None:
            (folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.kind == "console":
            for step in steps(block):
                made = re.search(r"plot .*--out (\S+)", step.command)
                if made is None or made[1] in shown:
                    output(step, folder)
        elif ">>>" in block.text:
            with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
                for example in doctest.DocTestParser().get_examples(block.text):
                    exec(compile(example.source, page.name, "single"), names)
    return {name: (folder / name).read_bytes() for name in shown}


if __name__ == "__main__":
    for page in PAGES:
        with tempfile.TemporaryDirectory() as made:
            for name, picture in draw(page, Path(made)).items():
                (FOLDER / name).write_bytes(picture)
