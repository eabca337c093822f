"""The page: every table and figure of a reproduction in one file, with nothing from outside."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from flashgc_papers.reproduce.document import Reproduction, commands, rows_table, to_csv
from flashgc_papers.reproduce.runner import Figure
from flashgc_papers.reproduce.verdicts import ROUGHLY, Verdict
from flashgc_papers.reproduce.words import groups, tally

HERE = Path(__file__).parent

#: The meanings of the verdicts, for readers of the page.
MEANINGS = {
    Verdict.MET: "The published result is reproduced.",
    Verdict.IN_KIND: "It is reproduced on a stand-in for the paper's input: sign, order and, for "
    f"numbers, the size of the effect within a factor of {ROUGHLY:g}. If the paper says 'up to', "
    "its figure is an upper bound; if 'over', a "
    "lower one, of which the size is within that factor.",
    Verdict.FITTED: "It agrees, but a reading or a preset was chosen by this very figure, so it "
    "does not count. The row gives what was chosen.",
    Verdict.UNSTEADY: "It agrees, but the figures of some of its runs still move in the measured "
    "part, so it does not count.",
    Verdict.BLIND: "Every wrong engine that was run reproduces it as well, so it does not count.",
    Verdict.CONTRADICTED: "It is not reproduced, and cannot be: the paper's own figures exclude "
    "each other. The arithmetic stands with the claim.",
    Verdict.MISSED: "It is not reproduced; the row gives the difference.",
    Verdict.NOT_RUN: "It was not run, or only in part; the row gives the reason.",
}


def drawn(figure: Figure) -> str:
    """A figure as an ``<svg>`` element, with ids of its own."""
    from flashgc.plot import to_svg

    return to_svg(figure.draw(), prefix=figure.name.replace(".", "-"), label=figure.caption)


def page(reproduction: Reproduction, figures: Mapping[str, str]) -> str:
    """The page; ``figures`` are drawn, by name. The same reproduction gives the same bytes."""
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
