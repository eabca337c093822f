"""Prints claims: a table of each with verdicts and reasons, or a list of all claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flashgc.terminal.render import (
    LEFT,
    RIGHT,
    Text,
    console,
    facts,
    is_plain,
    show,
    table,
    unicode,
)
from flashgc_papers.claims import Claim, claims
from flashgc_papers.engine import dumps
from flashgc_papers.reproduce.rows import Row
from flashgc_papers.reproduce.runner import Outcome, runner_of
from flashgc_papers.reproduce.tasks import Size
from flashgc_papers.reproduce.verdicts import Verdict
from flashgc_papers.reproduce.words import lines

if TYPE_CHECKING:
    from pathlib import Path

    from flashgc.terminal.render import AnyTable, Console
    from flashgc_papers.reproduce.document import PaperSummary, Reproduction

STYLES = {
    Verdict.MET: "bold green",
    Verdict.IN_KIND: "green",
    Verdict.FITTED: "magenta",
    Verdict.UNSTEADY: "yellow",
    Verdict.BLIND: "magenta",
    Verdict.CONTRADICTED: "magenta",
    Verdict.MISSED: "bold red",
    Verdict.NOT_RUN: "yellow",
}


def show_claims(reproduction: Reproduction, report: Path | None) -> None:
    """Prints the outcome of every claim, and the path of the page."""
    out = console()
    for name in reproduction.papers:
        _show_summary(out, reproduction.summary(name))
        for outcome in reproduction.outcomes:
            if outcome.claim.paper == name:
                _show_claim(out, outcome)
                out.print()
    for unit, counted in (("claims", reproduction.counts()), ("rows", reproduction.rows())):
        counts = Text(f"{unit + ':':<8}", style="bold" if not is_plain(out) else "")
        parts = [(verdict, counted[verdict]) for verdict in Verdict if counted[verdict]]
        for place, (verdict, of_verdict) in enumerate(parts):
            counts.append(", " if place else "", style="default not bold")
            counts.append(f"{of_verdict} {verdict}", style=STYLES[verdict])
        out.print(counts)
    for name in reproduction.untold():
        out.print(f"no row tells from the right engine: {name}")
    if report is not None:
        out.print(f"page:   {report}", soft_wrap=True)


def _show_summary(out: Console, summary: PaperSummary | None) -> None:
    """Prints the paragraph on a whole paper, and the line on its chosen reading."""
    if summary is None:
        return
    for text in filter(None, (summary.counts, summary.paragraph, summary.reading)):
        out.print(_text(out, text), soft_wrap=is_plain(out))
        out.print()


def _show_claim(out: Console, outcome: Outcome) -> None:
    claim, task = outcome.claim, outcome.task
    title = Text(f"{claim.id}  ", style="" if is_plain(out) else "bold cyan")
    title.append(str(outcome.verdict), style=STYLES[outcome.verdict])
    out.print(title)
    out.print(_text(out, claim.what), soft_wrap=is_plain(out))
    run = (("run with", task.settings), ("left out", task.left_out))
    if task.settings:
        show(out, facts(out, [(name, _text(out, text)) for name, text in run if text]))
    if outcome.rows:
        out.print()
        show(out, _table(out, outcome))
        out.print()
    verdicts = [(str(outcome.verdict), outcome.why)]
    if len(outcome.chosen) > 1:
        verdicts += _reasons(outcome.chosen)
    verdicts += [
        ("reading" if not place else f"under {name}", name if not place else str(verdict))
        for place, (name, verdict) in enumerate(outcome.under.items())
    ]
    for trial in outcome.trials:
        rows = f"{len(trial.told)} of {len(trial.met)} rows that agree detect it"
        verdicts.append((f"wrong: {trial.name}", trial.failed or rows))
    if claim.contradiction:
        verdicts.append(("paper", claim.contradiction))
    verdicts += [("note", note) for note in outcome.notes]
    show(out, facts(out, [(name, _text(out, text)) for name, text in verdicts]))


def _reasons(rows: tuple[Row, ...]) -> list[tuple[str, str]]:
    """The reasons why rows do not count, each reason once; the page has the reason of every row."""
    whys: dict[str, list[str]] = {}
    for row in rows:
        if row.obstacle and row.verdict is not Verdict.BLIND:
            whys.setdefault(row.obstacle, []).append(row.label)
    return [
        (labels[0] if len(labels) == 1 else f"{len(labels)} rows", why)
        for why, labels in whys.items()
    ]


def _table(out: Console, outcome: Outcome) -> AnyTable:
    """The rows of a claim; the column of differences is there only if a row has a difference."""
    made_lines = lines(outcome.chosen)
    numbers = any(line.difference for line in made_lines)
    columns = [(outcome.heading, LEFT), ("published", LEFT), ("measured", LEFT)]
    columns += [("diff.", RIGHT)] if numbers else []
    grid = table(out, [*columns, ("verdict", LEFT)])
    grid.columns[-1].no_wrap = True
    for line in made_lines:
        cells = [_text(out, cell) for cell in (line.row.label, line.published, line.measured)]
        cells += [Text(line.difference)] if numbers else []
        verdict = line.row.verdict
        grid.add_row(*cells, Text(str(verdict), style=STYLES[verdict]))
    return grid


def _text(out: Console, text: str, style: str = "") -> Text:
    return Text(text.replace("±", unicode(out, "±", "+-")), style="" if is_plain(out) else style)


def show_list(what: tuple[str, ...], size: Size, *, as_json: bool) -> None:
    """Prints the claims that ``what`` names, and what a run of each needs."""
    chosen = claims().select(what)
    rows = [(claim, _needs(claim, size)) for claim in chosen]
    if as_json:
        listed = [
            {"id": c.id, "kind": str(c.kind), "input": str(c.input), "needs": needs, "what": c.what}
            for c, needs in rows
        ]
        click.echo(dumps({"size": str(size), "claims": listed}))
        return
    out = console()
    for number, name in enumerate(dict.fromkeys(claim.paper for claim in chosen)):
        paper = claims().papers[name]
        if number:
            out.print()
        out.print(Text(paper.title, style="" if is_plain(out) else "bold cyan"))
        out.print(_text(out, paper.source, "dim"))
        grid = table(out, [("claim", LEFT), ("kind", LEFT), ("input", LEFT), ("needs", LEFT)])
        grid.columns[0].no_wrap = True
        for claim, needs in rows:
            if claim.paper == name:
                grid.add_row(claim.id, str(claim.kind), str(claim.input), needs)
        show(out, grid)


def _needs(claim: Claim, size: Size) -> str:
    """Return the needs of a claim's runner, in words."""
    runner = runner_of(claim)
    if runner is None:
        return "a runner"
    task = runner.task(claim, size)
    return task.not_run or task.settings
