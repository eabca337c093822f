"""The outcome of a sweep: its cells, with the figures for tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from flashgc import _core, tables
from flashgc._documents import Document, Json, Scalar, plain
from flashgc._summaries import Column, Shown, figure, short
from flashgc.options import find
from flashgc.results import Finding, findings
from flashgc.results.figures import figures_of
from flashgc.store import Kept
from flashgc.store.tidy import axis_value, not_given
from flashgc.studies.sweep.grid import UNSET

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Swept:
    """The outcome of one cell."""

    #: Its values on the axes, by name, as typed.
    at: Mapping[str, Scalar]
    #: ``result``; ``failed`` (may be tried again); ``cannot`` (impossible); ``missing`` (was not
    #: run).
    status: str
    #: The key of its simulation; empty if it is impossible.
    key: str
    #: The reason why there is no result; empty if there is one.
    reason: str
    #: Its duration, in seconds of one core; for a result that was found, the duration of its run.
    seconds: float
    #: Figures of the result by name (:mod:`flashgc.results.figures`); empty without a result.
    figures: Mapping[str, Scalar]
    #: The findings of the result.
    findings: tuple[Finding, ...] = ()
    #: Its values on the axes as columns of a table: as numbers, with defaults for unset options.
    columns: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def told(self) -> str:
        """A text with the figure, or the reason why there is none."""
        if self.status != "result":
            return WITHOUT[self.status]
        names = ("write_amplification", "write_amplification_ci95")
        return figure(*(self.figures[name] for name in names))  # type: ignore[arg-type]


#: Texts for cells without a result, by status.
WITHOUT = {"cannot": "cannot run", "failed": "failed", "missing": "not run"}


def swept(at: Mapping[str, Any], key: str, kept: Kept | None) -> Swept:
    """A cell with its outcome."""
    entry = kept or Kept("missing", {}, None)
    columns = dict(
        not_given(find(name).path, entry) if value == UNSET else axis_value(name, value)
        for name, value in at.items()
    )
    if kept is None:
        return Swept(at, "missing", key, "", 0.0, {}, columns=columns)
    result = kept.result or {}
    figures = figures_of(result) if result else {}
    notes = tuple(findings.read(result))
    return Swept(at, kept.status, key, kept.reason, kept.seconds, figures, notes, columns)


@dataclass(frozen=True, repr=False)
class Sweep(Document):
    """A grid of results."""

    #: Names of the axes.
    axes: tuple[str, ...]
    #: All cells, in the order of the grid: the last axis changes fastest.
    cells: tuple[Swept, ...]
    #: The number of cells that this call has run, and of those found in the file of results.
    ran: int
    found: int
    #: True if it was stopped before its end.
    interrupted: bool
    #: The file of results.
    results: str
    #: The number of cells with the same simulation as another cell; it runs only once.
    same: int = 0
    #: The findings: which cells have no result, and the findings of results, most frequent first.
    findings: tuple[Finding, ...] = ()

    def __iter__(self) -> Iterator[Swept]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)

    def of(self, status: str) -> tuple[Swept, ...]:
        """The cells with this status."""
        return tuple(cell for cell in self.cells if cell.status == status)

    def _shown(self) -> Shown:
        line = f"{len(self)} cells of {' x '.join(self.axes)}: {self.ran} run, {self.found} found"
        for status, words in WITHOUT.items():
            line += f", {len(self.of(status))} {words}" if self.of(status) else ""
        columns = [*map(Column, self.axes), Column("write amplification", is_figure=True)]
        rows = [[*(short(str(value)) for value in cell.at.values()), cell.told] for cell in self]
        notes = [finding.text for finding in self.findings]
        return Shown(line + ", interrupted" * self.interrupted, rows, columns, notes)

    @property
    def impossible(self) -> list[tuple[str, Scalar, str]]:
        """Values with which no cell can run: the axis, the value and a reason."""
        reasons: dict[tuple[str, str], tuple[Scalar, str] | None] = {}
        for cell in self.cells:
            for name, value in cell.at.items():
                point = (name, str(value))
                if cell.status != "cannot":
                    reasons[point] = None
                else:
                    reasons.setdefault(point, (value, cell.reason))
        return [(name, *reason) for (name, _), reason in reasons.items() if reason is not None]

    def to_dict(self) -> dict[str, Json]:
        """All of it as plain Python values, with the keys of the JSON document."""
        names = ("interrupted", "results", "axes", "ran", "found", "findings")
        cells = [
            {
                **{name: getattr(cell, name) for name in ("at", "status", "key")},
                "reason": cell.reason or None,
                **{name: getattr(cell, name) for name in ("findings", "seconds")},
                **cell.figures,
            }
            for cell in self.cells
        ]
        fields = {name: getattr(self, name) for name in names}
        return dict(plain({"version": _core.version(), **fields, "cells": cells}))

    def rows(self) -> list[dict[str, Scalar]]:
        """A tidy table with one row per cell with a result: values on the axes, then figures."""
        return [{**cell.columns, **cell.figures} for cell in self.cells if cell.status == "result"]

    def plot(
        self,
        *,
        x: str | None = None,
        y: str | None = None,
        by: str | None = None,
        panels: str | None = None,
        kind: Literal["lines", "pareto", "heatmap", "distribution"] = "lines",
        where: Sequence[str] = (),
        title: str | None = None,
    ) -> Figure:
        """Draw the results (:func:`flashgc.plot.grid`); :func:`flashgc.plot.save` saves them.

        Raises :class:`flashgc.ConfigError` if there is nothing to draw, and if a mean over an
        option that is not given would be drawn.
        """
        from flashgc.plot import grid

        return grid(self, x=x, y=y, by=by, panels=panels, kind=kind, where=where, title=title)

    def to_frame(self, library: str = "pandas") -> object:
        """The tidy table as a data frame of ``pandas`` or ``polars``.

        Its last column has the doubts about each row: the findings of its result, one after the
        other. Raises :class:`flashgc.ConfigError` if the package is not installed.
        """
        doubts = [
            "; ".join(finding.text for finding in cell.findings)
            for cell in self.cells
            if cell.status == "result"
        ]
        rows = [{**row, "doubts": doubt} for row, doubt in zip(self.rows(), doubts, strict=True)]
        return tables.to_frame(rows, library)
