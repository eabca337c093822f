"""Tables of docs/placement.md on every scheme and every public trace, from the results."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from statistics import mean, median

FILE = "placement.traces.csv"
GREEDY, ORACLE = "greedy", "oracle"
#: The spare factor at which write amplifications are divided by that of greedy, and at which
#: ``GENTLE`` tells whether a workload is too gentle.
USUAL = 0.125
#: A workload is too gentle if greedy's write amplification at ``USUAL`` is less than this: no
#: scheme can gain much.
GENTLE = 1.05


@dataclass(frozen=True)
class Cells:
    """Write amplifications by workload, scheme and spare factor; ``None`` if unknown."""

    figures: Mapping[tuple[str, str, float], float | None]
    #: The numbers of blocks and of pages per block, by workload, at ``USUAL``.
    drives: Mapping[str, str]
    #: How often a pass writes each page, by workload; empty for generators.
    overwrites: Mapping[str, str]

    @cached_property
    def workloads(self) -> tuple[str, ...]:
        """All workloads, in the order of the file."""
        return tuple(dict.fromkeys(work for work, _, _ in self.figures))

    @cached_property
    def schemes(self) -> tuple[str, ...]:
        """All schemes, in the order of the file."""
        return tuple(dict.fromkeys(scheme for _, scheme, _ in self.figures))

    @cached_property
    def spares(self) -> tuple[float, ...]:
        """The spare factors, rising."""
        return tuple(sorted({spare for _, _, spare in self.figures}))

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """The workloads that are not too gentle."""
        return tuple(
            work for work in self.workloads if (self.figures[work, GREEDY, USUAL] or 0) >= GENTLE
        )

    @cached_property
    def online(self) -> tuple[str, ...]:
        """The schemes that know only the past. Schemes with equal figures count as one.

        Without hints, a policy that uses hints is equal to the policy that it extends.
        """
        return tuple(scheme for scheme in self._twins if scheme != ORACLE)

    @cached_property
    def _twins(self) -> Mapping[str, tuple[str, ...]]:
        twins: dict[tuple[float | None, ...], list[str]] = {}
        for scheme in self.schemes:
            line = (self.figures[w, scheme, s] for w in self.workloads for s in self.spares)
            twins.setdefault(tuple(line), []).append(scheme)
        return {names[0]: tuple(names) for names in twins.values()}

    def name(self, scheme: str) -> str:
        """The name of a scheme, with all schemes that have equal figures."""
        return ", ".join(self._twins[scheme])

    @cached_property
    def roomy(self) -> tuple[str, ...]:
        """The counted workloads whose drives are large enough for every online scheme."""
        return tuple(work for work in self.counted if not self.lacking(work))

    def lacking(self, work: str) -> tuple[str, ...]:
        """The online schemes for which a workload's drive is too small at some spare factor."""
        return tuple(
            scheme
            for scheme in self.online
            if any(self.figures[work, scheme, spare] is None for spare in self.spares)
        )

    def ratios(self, scheme: str) -> dict[str, float]:
        """Write amplification divided by greedy's at ``USUAL``, by counted workload."""
        shares = {}
        for work in self.counted:
            figure, greedy = (self.figures[work, name, USUAL] for name in (scheme, GREEDY))
            if figure is not None and greedy is not None:
                shares[work] = figure / greedy
        return shares

    def ranks(self, work: str, spare: float) -> dict[str, float]:
        """Ranks of the online schemes on a workload, 1 for the best; ties get their mean rank."""
        figures = {scheme: self.figures[work, scheme, spare] or 0.0 for scheme in self.online}
        return {
            scheme: (sum(other < figure for other in figures.values()) + 1) / 2
            + sum(other <= figure for other in figures.values()) / 2
            for scheme, figure in figures.items()
        }

    def mean_ranks(self, spare: float) -> dict[str, float]:
        """Mean ranks of the online schemes over the workloads of ``roomy``."""
        each = [self.ranks(work, spare) for work in self.roomy]
        return {scheme: mean(ranks[scheme] for ranks in each) for scheme in self.online}


def lines_of(path: Path) -> list[dict[str, str]]:
    """The lines of a file of results."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cells(path: Path) -> Cells:
    """The cells of a file of results."""
    lines = lines_of(path)
    usual = [line for line in lines if line["scheme"] == GREEDY and float(line["spare"]) == USUAL]
    return Cells(
        {
            (line["workload"], line["scheme"], float(line["spare"])): float(
                line["write_amplification"]
            )
            if line["write_amplification"]
            else None
            for line in lines
        },
        {line["workload"]: f"{line['blocks']} of {line['pages_per_block']}" for line in usual},
        {line["workload"]: line["overwrite"] for line in usual},
    )


def kendall(first: Sequence[float], other: Sequence[float]) -> float:
    """Kendall's tau-b of two rankings: 1 the same, 0 unrelated, -1 reversed.

    >>> kendall([1, 2, 3], [1, 3, 2])
    0.3333333333333333
    """
    pairs = list(combinations(range(len(first)), 2))
    a = [_sign(first[i] - first[j]) for i, j in pairs]
    b = [_sign(other[i] - other[j]) for i, j in pairs]
    untied = math.sqrt(sum(map(abs, a)) * sum(map(abs, b)))
    return sum(x * y for x, y in zip(a, b, strict=True)) / untied if untied else math.nan


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def schemes(all_cells: Cells) -> list[Sequence[str]]:
    """The table of schemes: ratios to greedy over the workloads, and mean ranks."""
    ranks = [all_cells.mean_ranks(spare) for spare in all_cells.spares]
    heads = (f"mean place at {100 * spare:g}%" for spare in all_cells.spares)
    table: list[Sequence[str]] = [("scheme", "median", "best", "worst", "workloads", *heads)]
    order = sorted(all_cells.online, key=lambda scheme: median(all_cells.ratios(scheme).values()))
    for name in (*order, ORACLE):
        ratios = list(all_cells.ratios(name).values())
        places = ("" if name == ORACLE else f"{at[name]:.1f}" for at in ranks)
        figures = (f"{figure:.3f}" for figure in (median(ratios), min(ratios), max(ratios)))
        table.append((all_cells.name(name), *figures, str(len(ratios)), *places))
    return table


def workloads(all_cells: Cells) -> list[Sequence[str]]:
    """The table of workloads: greedy's figures, the best online scheme, the oracle, remarks."""
    heads = (f"greedy at {100 * spare:g}%" for spare in all_cells.spares)
    last = f"best at {100 * USUAL:g}%", "oracle", "remarks"
    table: list[Sequence[str]] = [("workload", "blocks of pages", "writes a page", *heads, *last)]
    for work in all_cells.workloads:
        greedy = (_text(all_cells.figures[work, GREEDY, spare]) for spare in all_cells.spares)
        known = {
            scheme: figure
            for scheme in all_cells.online
            if (figure := all_cells.figures[work, scheme, USUAL]) is not None
        }
        shown = ""
        if known:
            best = min(known, key=known.__getitem__)
            shown = f"{known[best]:.3f}" + f" {best}" * (work in all_cells.counted)
        lacking = all_cells.lacking(work)
        gentle = bool(known) and work not in all_cells.counted
        remarks = ["too gentle"] * gentle
        if lacking:
            remarks.append(f"no room for {len(lacking)}")
        oracle = _text(all_cells.figures[work, ORACLE, USUAL])
        drive = all_cells.drives[work], all_cells.overwrites[work]
        table.append((work, *drive, *greedy, shown, oracle, "; ".join(remarks)))
    return table


def stability(all_cells: Cells) -> list[Sequence[str]]:
    """The table of agreement of rankings, between spare factors and between workloads."""
    table: list[Sequence[str]] = [("rankings of", "Kendall's tau", "least, most")]
    for first, other in combinations(all_cells.spares, 2):
        a, b = all_cells.mean_ranks(first), all_cells.mean_ranks(other)
        tau = kendall(list(a.values()), list(b.values()))
        table.append((f"mean places, {100 * first:g}% and {100 * other:g}%", f"{tau:.2f}", ""))
    for first, other in combinations(all_cells.spares, 2):
        taus = [_tau(all_cells.ranks(w, first), all_cells.ranks(w, other)) for w in all_cells.roomy]
        name = f"one workload, {100 * first:g}% and {100 * other:g}%: median"
        table.append((name, f"{median(taus):.2f}", f"{min(taus):.2f}, {max(taus):.2f}"))
    each = [all_cells.ranks(work, USUAL) for work in all_cells.roomy]
    taus = [_tau(a, b) for a, b in combinations(each, 2)]
    if taus:
        name = f"two workloads, {100 * USUAL:g}%: median"
        table.append((name, f"{median(taus):.2f}", f"{min(taus):.2f}, {max(taus):.2f}"))
    return table


def _tau(first: Mapping[str, float], other: Mapping[str, float]) -> float:
    return kendall(list(first.values()), list(other.values()))


def _text(figure: float | None) -> str:
    return "no room" if figure is None else f"{figure:.3f}"
