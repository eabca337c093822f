"""Draws the pictures of docs/plots.md, with the commands that stand there.

    PYTHONPATH=scripts/docs .venv/bin/python docs/figures/plots.py

`make docs` does so, and the test of the document fails where a picture is stale.
"""

import re
import tempfile
from pathlib import Path

from documents import blocks, output, prepare, steps

HERE = Path(__file__).parent
PAGE = HERE.parent / "plots.md"
FOLDER = HERE / "plots"


def draw(folder: Path) -> dict[str, bytes]:
    """Runs what the pictures of the page need in a folder; returns them by name."""
    prepare(folder)
    text = PAGE.read_text(encoding="utf-8")
    shown = re.findall(r"\(figures/plots/(\S+)\)", text)
    for block in blocks(PAGE):
        if block.file is not None:
            (folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.kind == "console":
            for step in steps(block):
                made = re.search(r"plot .*--out (\S+)", step.command)
                if made is None or made[1] in shown:
                    output(step, folder)
    return {name: (folder / name).read_bytes() for name in shown}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        for name, picture in draw(Path(made)).items():
            (FOLDER / name).write_bytes(picture)
