"""A reproduction as Markdown: of each paper a paragraph, and the table of its statements."""

from __future__ import annotations

from collections.abc import Sequence

from flashgc_papers.reproduce.document import Reproduction
from flashgc_papers.reproduce.statements import COLUMNS

_HEAD = """# Statements of the papers

Every statement of the papers that can be checked, with the claim that checks it, the reading of the
paper under which it ran, and what was measured with its 95% interval. A statement without a claim
has the reason. `{command}` of flashgc {version} made this file.
"""


def markdown(made: Reproduction) -> str:
    """The whole document; the same reproduction gives the same text."""
    parts = [_HEAD.format(command=made.command, version=made.version)]
    for paper in made.papers.values():
        told = made.summary(paper.name)
        found = [one.cells for one in made.statements(paper.name)]
        head = [f"## {paper.title}", paper.source + "."]
        if told is not None:
            said = (told.counts, told.paragraph, told.reading and f"Reading {told.reading}")
            head += filter(None, said)
        parts.append("\n\n".join(head))
        if found:
            parts.append(_table(found))
    return "\n".join(f"{part}\n" for part in parts)


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = [COLUMNS, ("---",) * len(COLUMNS), *rows]
    return "\n".join("| " + " | ".join(map(_cell, cells)) + " |" for cells in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
