"""Draws compare.svg: what `flashgc compare` shows on a terminal of 80 columns.

.venv/bin/python docs/figures/compare.py
"""

import io
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

import flashgc
from flashgc.command import results

TYPED = (
    "flashgc compare --workload hotcold:f=0.2,r=0.8 --frontier double --spare 7%\n"
    "        --blocks 5000 --pages-per-block 64"
)


def main() -> None:
    """Runs the comparison and draws it."""
    screen = Console(
        file=io.StringIO(), record=True, width=80, force_terminal=True, highlight=False
    )
    results.console = lambda: screen  # type: ignore[attr-defined]
    comparison = flashgc.compare(
        [policy.name for policy in flashgc.policies()],
        "hotcold:f=0.2,r=0.8",
        frontier="double",
        spare="7%",
        blocks=5000,
        pages_per_block=64,
    )
    screen.print(Text("$ ", style="dim"), Text(TYPED, style="bold"), sep="", end="\n\n")
    results.show_comparison(comparison)
    figure = screen.export_svg(title="flashgc", unique_id="compare")
    # Fonts from the network are no part of a figure.
    figure = re.sub(r"@font-face \{.*?\}", "", figure, flags=re.DOTALL)
    (Path(__file__).parent / "compare.svg").write_text(figure, encoding="utf-8")


if __name__ == "__main__":
    main()
