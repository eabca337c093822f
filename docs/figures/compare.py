"""Draws compare.svg: what `flashgc compare` shows on a terminal of 80 columns.

    .venv/bin/python docs/figures/compare.py

`make docs` does so, and a test fails where the figure is stale.
"""

import html
import io
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

import flashgc
from flashgc.command.show import results

TYPED = (
    "flashgc compare --workload hotcold:f=0.2,r=0.8 --frontier double --spare 7%\n"
    "        --blocks 400 --pages-per-block 32 --runs 3"
)
#: Width of a character in the figure.
COLUMN = 12.2
FIGURE = Path(__file__).parent / "compare.svg"


def draw() -> str:
    """Runs the comparison and draws what it shows, as SVG."""
    screen = Console(
        file=io.StringIO(), record=True, width=80, force_terminal=True, highlight=False
    )
    results.console = lambda: screen  # type: ignore[attr-defined]
    comparison = flashgc.compare(
        [policy.name for policy in flashgc.policies()],
        "hotcold:f=0.2,r=0.8",
        frontier="double",
        spare="7%",
        blocks=400,
        pages_per_block=32,
        runs=3,
    )
    screen.print(Text("$ ", style="dim"), Text(TYPED, style="bold"), sep="", end="\n\n")
    results.show_comparison(comparison)
    figure = screen.export_svg(title="flashgc", unique_id="compare")
    # Fonts from the network are no part of a figure.
    return re.sub(r"@font-face \{.*?\}", "", figure, flags=re.DOTALL)


def text(figure: str) -> str:
    """The lines of the terminal in a figure that `draw` made."""
    lines: dict[int, str] = {}
    pieces = re.finditer(
        r'<text [^>]*\bx="([\d.]+)"[^>]*url\(#compare-line-(\d+)\)">([^<]*)</text>', figure
    )
    for piece in pieces:
        column, line = round(float(piece[1]) / COLUMN), int(piece[2])
        before = lines.get(line, "")
        lines[line] = before.ljust(column) + html.unescape(piece[3]).replace("\xa0", " ")
    return "".join(f"{lines.get(line, '').rstrip()}\n" for line in range(max(lines) + 1))


if __name__ == "__main__":
    FIGURE.write_text(draw(), encoding="utf-8")
