"""The tables of docs/sprandom.md, from the rows of ``experiments/sprandom``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from trace_tables import lines_of

FILE = "sprandom.csv"
FILLS, FIO = ("sequential", "random", "steady"), "SPRandom"
WORKLOADS = {
    "uniform": "uniform",
    "hotcold:f=0.1,r=0.9": "90/10",
    "zipf:theta=0.8": "zipf 0.8",
    "zipf:theta=0.99": "zipf 0.99",
    "zipf:theta=1.2": "zipf 1.2",
}
#: The length of a run in drive writes, less one window.
LENGTH = 9.5
#: An interval that is wider, in drive writes, gives its figure a mark.
WIDE = 1.0

Line = Mapping[str, str]


@dataclass(frozen=True)
class Rows:
    """The rows of a file."""

    lines: Sequence[Line]

    @cached_property
    def _of(self) -> Mapping[tuple[str, ...], Line]:
        keys = ("overprovision", "workload", "victim", "fill")
        return {tuple(line[key] for key in keys): line for line in self.lines}

    @property
    def victims(self) -> list[str]:
        """The victim policies."""
        return list(dict.fromkeys(line["victim"] for line in self.lines))

    @property
    def spares(self) -> list[str]:
        """The spare spaces, from small to large."""
        return list(dict.fromkeys(line["overprovision"] for line in self.lines))

    def line(self, spare: str, workload: str, victim: str, fill: str) -> Line:
        """The row of a fill."""
        return self._of[spare, workload, victim, fill]

    def after(self, spare: str, workload: str, victim: str, fill: str) -> float | None:
        """The drive writes until a run stays near its level; None if chance hides them."""
        line = self.line(spare, workload, victim, fill)
        if line["after"]:
            return float(line["after"])
        return float("inf") if line["low"] else None

    def off(self, spare: str, workload: str, victim: str, fill: str) -> float:
        """The distance of the first half drive write from the level, as a share of it."""
        line = self.line(spare, workload, victim, fill)
        return float(line["first"]) / float(line["level"]) - 1


def rows(path: Path) -> Rows:
    """The rows of a file."""
    return Rows(lines_of(path))


def first(found: Rows) -> list[Sequence[str]]:
    """The level under uniform writes, and the first half drive write after ``--fill steady``."""
    heading = [f"{spare} {what}" for spare in found.spares for what in ("level", "first")]
    table: list[Sequence[str]] = [("policy", *heading)]
    for victim in found.victims:
        cells = [victim]
        for spare in found.spares:
            line = found.line(spare, "uniform", victim, "steady")
            off = found.off(spare, "uniform", victim, "steady")
            cells += [f"{float(line['level']):.3f}", f"{off:+.1%}"]
        table.append(cells)
    return table


def lengths(found: Rows, spare: str) -> list[Sequence[str]]:
    """The drive writes that each fill needs: in order, in random order, steady."""
    table: list[Sequence[str]] = [("policy", *WORKLOADS.values())]
    for victim in found.victims:
        cells = [
            " / ".join(_length(found, spare, workload, victim, fill) for fill in FILLS)
            for workload in WORKLOADS
        ]
        table.append((victim, *cells))
    return table


def _length(found: Rows, spare: str, workload: str, victim: str, fill: str) -> str:
    after = found.after(spare, workload, victim, fill)
    if after is None:
        return "-"
    line = found.line(spare, workload, victim, fill)
    width = float(line["high"] or "inf") - float(line["low"] or LENGTH)
    text = f">{LENGTH}" if after == float("inf") else f"{after:.1f}"
    return f"{text}~" if width > WIDE and after < float("inf") else text


def by_fio(found: Rows, spare: str) -> list[Sequence[str]]:
    """The first half drive write after SPRandom's own writes, and after ``--fill steady``."""
    table: list[Sequence[str]] = [("policy", *WORKLOADS.values())]
    for victim in found.victims:
        cells = [
            " / ".join(
                f"{found.off(spare, workload, victim, fill):+.1%}" for fill in (FIO, "steady")
            )
            for workload in WORKLOADS
        ]
        table.append((victim, *cells))
    return table


def summary(found: Rows) -> list[Sequence[str]]:
    """Of the cells that can be told, how many are settled after how many drive writes."""
    marks = (0.0, 0.5, 1.0, 2.0, 4.0)
    heading = ["at once", *(f"within {mark:g}" for mark in marks[1:]), "later", "not told"]
    table: list[Sequence[str]] = [("writes, fill", *heading)]
    for name, chosen in (("uniform", ["uniform"]), ("skewed", list(WORKLOADS)[1:])):
        for fill in FILLS:
            afters = [
                found.after(spare, workload, victim, fill)
                for spare in found.spares
                for workload in chosen
                for victim in found.victims
            ]
            told = [after for after in afters if after is not None]
            counts = [sum(after <= mark for after in told) for mark in marks]
            counts += [len(told) - counts[-1], len(afters) - len(told)]
            table.append((f"{name}, {fill}", *map(str, counts)))
    return table
