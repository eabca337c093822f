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


def markdown(reproduction: Reproduction) -> str:
    """The whole document; the same reproduction gives the same text."""
    parts = [_HEAD.format(command=reproduction.command, version=reproduction.version)]
    for paper in reproduction.papers.values():
        summary = reproduction.summary(paper.name)
        lines = [statement.cells for statement in reproduction.statements(paper.name)]
        head = [f"## {paper.title}", paper.source + "."]
        if summary is not None:
            texts = (
                summary.counts,
                summary.paragraph,
                summary.reading and f"Reading {summary.reading}",
            )
            head += filter(None, texts)
        parts.append("\n\n".join(head))
        if lines:
            parts.append(_table(lines))
    return "\n".join(f"{part}\n" for part in parts)


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = [COLUMNS, ("---",) * len(COLUMNS), *rows]
    return "\n".join("| " + " | ".join(map(_cell, cells)) + " |" for cells in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
