"""The folder of a reproduction: cache, page and documents.

The folder is checked before the work, and written after it. The page is one HTML file that loads
nothing else. The Markdown document has, for each paper, a paragraph and the table of statements.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from flashgc import ConfigError
from flashgc.store.cache import Cache
from flashgc_papers.engine import write
from flashgc_papers.entries import document
from flashgc_papers.reproduce.document import Reproduction, commands, rows_table, to_csv
from flashgc_papers.reproduce.runner import Figure
from flashgc_papers.reproduce.statements import COLUMNS
from flashgc_papers.reproduce.verdicts import ROUGHLY, Verdict
from flashgc_papers.reproduce.words import groups, tally

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


HERE = Path(__file__).parent

#: The meanings of the verdicts, for readers of the page.
MEANINGS = {
    Verdict(name): text.format(roughly=ROUGHLY) for name, text in document("verdicts.toml").items()
}


def drawn(figure: Figure) -> str:
    """A figure as an ``<svg>`` element, with ids that no other figure has."""
    from flashgc.plot import to_svg

    return to_svg(figure.draw(), prefix=figure.name.replace(".", "-"), label=figure.caption)


def page(reproduction: Reproduction, figures: Mapping[str, str]) -> str:
    """The page; ``figures`` has drawn figures by name. Equal reproductions give equal bytes."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(data_uri=data_uri, typeset=typeset)
    return environment.get_template("page.html.j2").render(
        made=reproduction,
        figures=figures,
        style=(HERE / "page.css").read_text(encoding="utf-8"),
        commands=commands,
        groups=groups,
        tally=tally,
        csv=lambda outcome: to_csv(rows_table(outcome)),
        figure_csv=lambda figure: to_csv(figure.data),
        meanings=MEANINGS,
        verdicts=_seen(reproduction),
        roughly=f"{ROUGHLY:g}",
    )


def _seen(reproduction: Reproduction) -> list[str]:
    """Return the verdicts that a claim or a row has, under any reading, in their order."""
    seen = {row.verdict for outcome in reproduction.outcomes for row in outcome.rows}
    seen |= {
        verdict
        for outcome in reproduction.outcomes
        for verdict in (outcome.verdict, *outcome.under.values())
    }
    return [str(verdict) for verdict in Verdict if verdict in seen]


def typeset(text: str) -> Markup:
    """``text`` for the page, with the index of ``S_f`` as one."""
    return Markup(str(escape(text)).replace("S_f", "<i>S</i><sub>f</sub>"))


def data_uri(text: str, kind: str) -> str:
    """``text`` as the address of a download."""
    return f"data:{kind};charset=utf-8;base64,{base64.b64encode(text.encode()).decode()}"


class Folder:
    """``DIR``: ``report.html``, ``statements.md``, ``results.json``, tables, figures and cache."""

    def __init__(self, path: Path) -> None:
        """Makes the folder; raises :class:`flashgc.ConfigError`, naming ``--out``."""
        self.path = path
        if path.exists() and not path.is_dir():
            raise ConfigError(f"--out: {path} is a file; hint: give a folder or a new name")
        try:
            for name in ("tables", "figures"):
                (path / name).mkdir(parents=True, exist_ok=True)
            self.cache = Cache(path / "cache", "reproduce", option="--out")
        except OSError as error:
            raise ConfigError(
                f"--out: {path}: {error.strerror}; hint: give another folder"
            ) from None
        for place in (path, path / "tables", path / "figures", path / "cache"):
            if not os.access(place, os.W_OK | os.X_OK):
                raise ConfigError(f"--out: {place} may not be written; hint: give another folder")

    @property
    def report(self) -> Path:
        """The page."""
        return self.path / "report.html"

    def write(self, reproduction: Reproduction) -> None:
        """Writes the page and the documents, each whole or not at all; raises :class:`OSError`."""
        figures = {
            figure.name: drawn(figure)
            for outcome in reproduction.outcomes
            for figure in outcome.figures
        }
        self._write("results.json", reproduction.to_json() + "\n")
        for outcome in reproduction.outcomes:
            if outcome.rows:
                self._write(f"tables/{outcome.claim.id}.csv", to_csv(rows_table(outcome)))
            for figure in outcome.figures:
                self._write(f"figures/{figure.name}.csv", to_csv(figure.data))
                self._write(f"figures/{figure.name}.svg", figures[figure.name])
        self._write("report.html", page(reproduction, figures))
        self._write("statements.md", markdown(reproduction))

    def _write(self, name: str, text: str) -> None:
        write(str(self.path / name), text)
