"""A reproduction as data: one JSON document with stable keys, and CSV files."""

from __future__ import annotations

import csv
import dataclasses
import functools
import hashlib
import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flashgc_papers.claims import Claim, Paper
from flashgc_papers.engine import Json, dumps
from flashgc_papers.reproduce.readings import Reading, readings_of
from flashgc_papers.reproduce.rows import Row
from flashgc_papers.reproduce.runner import Outcome, Table, met
from flashgc_papers.reproduce.statements import COLUMNS, Line, paragraph, reading_line, table, whole
from flashgc_papers.reproduce.tasks import Measured, Size
from flashgc_papers.reproduce.verdicts import Value, Verdict


@dataclass(frozen=True)
class PaperSummary:
    """A paper's counts, a paragraph on it, and a line on its chosen reading."""

    #: Claims and rows by verdict, under each reading.
    counts: str
    #: A paragraph for readers who know the paper.
    paragraph: str
    #: The chosen reading; empty where the paper leaves nothing open.
    reading: str


@dataclass(frozen=True)
class Reproduction:
    """The outcomes of all wanted claims."""

    size: Size
    #: The names of the wanted claims; empty for all.
    what: tuple[str, ...]
    version: str
    papers: Mapping[str, Paper]
    outcomes: tuple[Outcome, ...]
    #: The measurements, by the claim's id.
    measured: Mapping[str, Measured]
    interrupted: bool
    #: The errors of claims that could not be run, by the claim's id.
    failed: Mapping[str, str]
    #: True if wrong engines were run on the same claims.
    mutants: bool = False
    #: The wanted readings, ``all`` or ``chosen``; empty if the size decided.
    readings_wanted: str = ""

    @property
    def command(self) -> str:
        """Return the command that repeats the reproduction."""
        flags = [] if self.size is Size.DEFAULT else [f"--{self.size}"]
        flags += [f"--readings {self.readings_wanted}"] if self.readings_wanted else []
        flags += ["--mutants"] if self.mutants else []
        return " ".join(("flashgc reproduce", *self.what, *flags))

    def untold(self) -> list[str]:
        """Wrong engines that no row of any claim detects, by paper."""
        ran = [(o.claim.paper, t) for o in self.outcomes for t in o.trials if not t.failed]
        noticing = {(paper, trial.name) for paper, trial in ran if trial.told}
        names = dict.fromkeys((paper, trial.name) for paper, trial in ran)
        return [f"{paper}: {name}" for paper, name in names if (paper, name) not in noticing]

    def counts(self, paper: str = "") -> dict[str, int]:
        """Return the number of claims with each verdict: of one paper, or of all."""
        return _counted(outcome.verdict for outcome in self._of(paper))

    def rows(self, paper: str = "") -> dict[str, int]:
        """The number of rows with each verdict, under chosen readings: of one paper, or of all."""
        return _counted(row.verdict for outcome in self._of(paper) for row in outcome.chosen)

    def under(self, paper: str, reading: str) -> dict[str, int]:
        """The number of a paper's claims with each verdict under a reading of it."""
        return _counted(outcome.under.get(reading, outcome.verdict) for outcome in self._of(paper))

    def rows_under(self, paper: str, reading: str) -> str:
        """The number of a paper's rows that are met under a reading, and of all rows, in words."""
        rows = [
            row
            for outcome in self._of(paper)
            for row in outcome.rows
            if row.reading in ("", reading)
        ]
        return f"{met(rows)} of {len(rows)}"

    def readings(self, paper: str) -> tuple[Reading, ...]:
        """The readings of a paper that its claims here ran under, the chosen one first."""
        ran = {name for outcome in self._of(paper) for name in outcome.under}
        return tuple(reading for reading in readings_of(paper) if reading.name in ran)

    @functools.cached_property
    def by_id(self) -> Mapping[str, Outcome]:
        """The outcomes by the ids of their claims."""
        return {outcome.claim.id: outcome for outcome in self.outcomes}

    def statements(self, paper: str) -> list[Line]:
        """The statements of a paper, each beside what was measured."""
        return table(paper, self.by_id)

    def summary(self, paper: str) -> PaperSummary | None:
        """The summary of a paper; ``None`` if only a part was wanted, or after an interrupt."""
        if not whole(paper, self.by_id) or self.interrupted:
            return None
        first, *others = [reading.name for reading in self.readings(paper)] or [""]
        claims = f"{len(self._of(paper))} claims: {_listed(self.counts(paper))}."
        rows = f"{sum(self.rows(paper).values())} rows"
        rows += f" under {first}" if first else ""
        rows += f": {_listed(self.rows(paper))}"
        beside = [f"; {self.rows_under(paper, name)} count under {name}" for name in others]
        line = reading_line(paper, self.by_id)
        return PaperSummary(
            f"{claims} {rows}{''.join(beside)}.",
            paragraph(paper, self.by_id),
            line and f"{first}: {line}",
        )

    def _of(self, paper: str) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if paper in ("", outcome.claim.paper)]

    def digest(self, claim: Claim) -> str:
        """Digest of a claim's simulations, the same on every machine; empty without simulations."""
        measured = self.measured.get(claim.id)
        digests = [result.digest for result in measured.results.values()] if measured else []
        if not digests:
            return ""
        return hashlib.blake2b(" ".join(digests).encode(), digest_size=8).hexdigest()

    def to_dict(self) -> dict[str, Json]:
        """The whole reproduction as plain Python values."""
        return {
            "version": self.version,
            "size": str(self.size),
            "what": list(self.what),
            "command": self.command,
            "interrupted": self.interrupted,
            "counts": self.counts(),
            "rows": self.rows(),
            "papers": [
                {
                    "name": paper.name,
                    "title": paper.title,
                    "source": paper.source,
                    "counts": self.counts(paper.name),
                    "rows": self.rows(paper.name),
                    "summary": None if summary is None else dataclasses.asdict(summary),
                    "statements": [
                        dict(zip(COLUMNS, line.cells, strict=True))
                        for line in self.statements(paper.name)
                    ],
                    "readings": [
                        {
                            "name": reading.name,
                            "what": reading.what,
                            "argument": reading.argument,
                            "counts": self.under(paper.name, reading.name),
                        }
                        for reading in self.readings(paper.name)
                    ],
                }
                for paper in self.papers.values()
                for summary in [self.summary(paper.name)]
            ],
            "claims": [self._claim(outcome) for outcome in self.outcomes],
        }

    def to_json(self, indent: int | None = 2) -> str:
        """The whole reproduction as one JSON document."""
        return dumps(self.to_dict(), indent)

    def _claim(self, outcome: Outcome) -> dict[str, Json]:
        claim, task = outcome.claim, outcome.task
        return {
            "id": claim.id,
            "what": claim.what,
            "kind": str(claim.kind),
            "input": str(claim.input),
            "tolerance": None if claim.tol is None else str(claim.tol),
            "verdict": str(outcome.verdict),
            "contradiction": claim.contradiction or None,
            "readings": {name: str(verdict) for name, verdict in outcome.under.items()},
            "why": outcome.why,
            "settings": task.settings,
            "left_out": task.left_out,
            "heading": outcome.heading,
            "rows": [_row(row) for row in outcome.rows],
            "notes": list(outcome.notes),
            "figures": [figure.name for figure in outcome.figures],
            "digest": self.digest(claim),
            "failed": self.failed.get(claim.id),
            "mutants": [dataclasses.asdict(trial) for trial in outcome.trials],
            "commands": commands(outcome),
        }


def _listed(counts: Mapping[str, int]) -> str:
    """Counts by verdict in words.

    >>> _listed({"met": 7, "met-in-kind": 0, "missed": 3})
    '7 met, 3 missed'
    """
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)


def _counted(verdicts: Iterable[Verdict]) -> dict[str, int]:
    counted = Counter(verdicts)
    return {str(verdict): counted[verdict] for verdict in Verdict}


def commands(outcome: Outcome) -> list[str]:
    """Return the commands that repeat a claim's computations and simulations, each once."""
    simulations = (simulation.command() for simulation in outcome.task.simulations.values())
    computations = (work.command for work in outcome.task.computations.values() if work.command)
    return list(dict.fromkeys((*computations, *simulations)))


def _row(row: Row) -> dict[str, Any]:
    value = row.measured if isinstance(row.measured, Value) else None
    return {
        "label": row.label,
        "reading": row.reading or None,
        "published": row.published,
        "published_ci95": row.published_ci95,
        "measured": row.measured if value is None else value.mean,
        "measured_ci95": value.ci95 if value is not None and value.simulated else None,
        "difference": row.difference,
        "verdict": str(row.verdict),
        "why": row.why,
        "stand_in": row.stand_in,
        "uncounted": row.uncounted,
        "runs": None if row.runs is None else row.runs._asdict(),
    }


def rows_table(outcome: Outcome) -> Table:
    """The rows of a claim, as data."""
    cells = [_row(row) for row in outcome.rows]
    columns = ("label", "reading", "published", "published_ci95", "measured", "measured_ci95",
               "difference", "verdict", "why", "stand_in", "uncounted")  # fmt: skip
    return Table(columns, tuple(tuple(row[name] for name in columns) for row in cells))


def to_csv(table: Table) -> str:
    r"""A table as CSV; numbers with all their digits.

    >>> to_csv(Table(("c", "write amplification"), ((0, 5.0002), (1, None))))
    'c,write amplification\n0,5.0002\n1,\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return text.getvalue()
