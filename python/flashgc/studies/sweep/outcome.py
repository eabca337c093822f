"""The outcome of a sweep: a cell each, and the figures that tables are made of."""

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
    """One cell."""

    #: Its place, by the names of the axes, as typed.
    at: Mapping[str, Scalar]
    #: ``result``; ``failed``, and may be tried again; ``cannot`` be; ``missing``: was not run.
    status: str
    #: The key of what was simulated; empty where it cannot be.
    key: str
    #: The reason why there is no result; empty with one.
    reason: str
    #: Its duration, in seconds of a core; for a result that was found, that of its making.
    seconds: float
    #: Figures of the result by name (:mod:`flashgc.results.figures`); empty without one.
    figures: Mapping[str, Scalar]
    #: The findings of the result.
    findings: tuple[Finding, ...] = ()
    #: Its place as tables have it: numbers, of an option that is unset its default.
    columns: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def told(self) -> str:
        """The figure, or why there is none, in words."""
        if self.status != "result":
            return WITHOUT[self.status]
        names = ("write_amplification", "write_amplification_ci95")
        return figure(*(self.figures[name] for name in names))  # type: ignore[arg-type]


#: Cells without a result, in words.
WITHOUT = {"cannot": "cannot run", "failed": "failed", "missing": "not run"}


def swept(at: Mapping[str, Any], key: str, kept: Kept | None) -> Swept:
    """A cell with what came of it."""
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
    #: Cells that this call has run, and those that were found in the file of results.
    ran: int
    found: int
    #: True if it was stopped before its end.
    interrupted: bool
    #: The file of results.
    results: str
    #: Cells whose simulation is that of another cell, which was run for both.
    same: int = 0
    #: The claims: which cells have no result, and the findings of results, the most frequent first.
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
        """Values with which no cell can run: axis, value and a reason."""
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
        """A tidy table: a row each cell with a result; its place on the axes, then its figures."""
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
        """Draws the results (:func:`flashgc.plot.grid`); :func:`flashgc.plot.save` saves it.

        Raises :class:`flashgc.ConfigError` where there is nothing to draw, and where a mean over an
        option that nobody named would be drawn.
        """
        from flashgc.plot import grid

        return grid(self, x=x, y=y, by=by, panels=panels, kind=kind, where=where, title=title)

    def to_frame(self, library: str = "pandas") -> object:
        """The tidy table as a data frame of ``pandas`` or ``polars``.

        Raises :class:`flashgc.ConfigError` where the package is not installed.
        """
        return tables.to_frame(self.rows(), library)
