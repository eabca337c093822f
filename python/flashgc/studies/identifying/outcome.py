"""The outcome of an identification: the ranking and the predictions, as one JSON document."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from flashgc._documents import Document, Json, plain
from flashgc._summaries import Column, Shown, Shows, short
from flashgc.results.findings import Finding
from flashgc.studies.identifying.fit import REJECTED, TOLD_APART, Goodness, Interval, together
from flashgc.studies.identifying.measurements import Drive
from flashgc.studies.identifying.search import Explanation, joined
from flashgc.units import format_share

#: Two sets of test drives: those whose scheme is in the list, and those whose scheme is not.
KNOWN, UNKNOWN = "known", "unknown"


@dataclass(frozen=True)
class FalseBest:
    """Counts of test drives with a scheme outside the list, and of those that the list explains."""

    drives: int
    explained: int
    #: The number of workloads, and the relative error, of their measurements.
    workloads: int
    noise: float

    @property
    def share(self) -> float:
        """The share of these drives that the list explained.

        >>> FalseBest(50, 20, 7, 0.02).share
        0.4
        """
        return self.explained / self.drives

    def to_dict(self) -> dict[str, Json]:
        """The fields for the JSON document."""
        return {**vars(self), "share": self.share}


def rate_of(document: Mapping[str, Any]) -> FalseBest:
    """The rate of false explanations, from the test drives in a document."""
    unknown = [row for row in document["drives"] if row["set"] == UNKNOWN]
    explained = sum(is_explained(row) for row in unknown)
    return FalseBest(len(unknown), explained, len(document["workloads"]), document["noise"])


def is_explained(row: Mapping[str, Any]) -> bool:
    """True if the best explanation of a drive has a chi-square within its limit."""
    return bool(row["chi_square"] <= row["limit"])


@functools.cache
def false_best() -> FalseBest:
    """The rate of false explanations for the list of all schemes, from an experiment."""
    return rate_of(document())


def document() -> dict[str, Any]:
    """The contents of the file that `experiments/identify/recover.py` wrote."""
    text = resources.files(__package__).joinpath("open_set.json").read_text("utf-8")
    fields: dict[str, Any] = json.loads(text)
    return fields


#: Fields of a point and of a fit that are in the document.
_OF_POINT = ("workload", "write_amplification", "error")
_OF_FIT = ("spare", "scale", "predicted", "errors")

#: The maximum number of schemes that are shown for a drive.
_SHOWN = 10


@dataclass(frozen=True)
class Ranked:
    """A scheme's rank among the explanations."""

    #: The place in the ranking; 1 is the best explanation.
    place: int
    explanation: Explanation
    #: The chi-square minus that of the best, divided by the best chi-square per degree of freedom
    #: if that is above 1.
    distance: float

    @property
    def is_told_apart(self) -> bool:
        """True if it differs significantly from the best explanation."""
        return self.distance > TOLD_APART

    def to_dict(self) -> dict[str, Json]:
        """The fields for the JSON document."""
        explanation = self.explanation
        return {
            "place": self.place,
            "scheme": explanation.scheme.name,
            "victim": explanation.scheme.victim,
            "frontier": explanation.scheme.frontier,
            "placement": explanation.scheme.placement,
            "told_apart": self.is_told_apart,
            "distance": self.distance,
            "blocks": explanation.blocks,
            "blocks_alike": list(explanation.blocks_alike),
            "chi_square": explanation.chi_square,
            "rms_error": explanation.rms,
            "largest_error": explanation.largest,
            "fits": [
                {
                    **{name: plain(getattr(fit, name)) for name in _OF_FIT},
                    "spare_interval": plain(interval),
                }
                for fit, interval in zip(explanation.fits, explanation.intervals, strict=True)
            ],
        }


@dataclass(frozen=True)
class Further:
    """A measurement that could be made, with the predictions of the remaining explanations."""

    workload: str
    #: The prediction of each explanation, in the order of the ranking.
    predicted: tuple[float, ...]
    #: The assumed relative error of the measurement.
    error: float
    #: The number of pairs of explanations, and of those that it is expected to distinguish.
    pairs: int
    pairs_told_apart: int
    #: The least chi-square that it is expected to add to the wrong one of the best two
    #: explanations.
    best_two: float

    @property
    def spread(self) -> float:
        """The largest / the smallest prediction, minus 1."""
        return max(self.predicted) / min(self.predicted) - 1


@dataclass(frozen=True)
class HeldOut:
    """A point that was predicted from a fit to all others."""

    drive: str
    workload: str
    measured: float
    predicted: float
    #: The scheme that best explains the other points.
    scheme: str

    @property
    def error(self) -> float:
        """Predicted / measured, minus 1."""
        return self.predicted / self.measured - 1


@dataclass(frozen=True)
class WhatIf:
    """The write amplification of the identified drive after a change."""

    #: The change, as typed.
    change: str
    drive: str
    scheme: str
    spare: float
    workloads: tuple[str, ...]
    #: The best explanation's predictions for the present drive, and for the changed drive.
    now: tuple[float, ...]
    then: tuple[float, ...]
    #: The least and the largest ratio of changed to present value, among explanations that do not
    #: differ significantly.
    least: tuple[float, ...]
    most: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class Identified(Shows):
    """The explanations of one drive, or of several drives with the same hardware."""

    drives: tuple[Drive, ...]
    #: The explanations, best first; empty if the work was stopped before any scheme was simulated.
    ranking: tuple[Ranked, ...]
    #: True if the best explains every point within the errors of measurement and simulation.
    is_explained: bool
    #: The quality of the best fit, compared with fits by chance; ``None`` without an explanation.
    goodness: Goodness | None = None
    #: The rate at which schemes outside the list look like one in the list; ``None`` if other
    #: schemes than the list were tried.
    false_best: FalseBest | None = None
    #: Workloads that were not measured; the one that distinguishes the most explanations is first.
    further: tuple[Further, ...] = ()
    held_out: tuple[HeldOut, ...] = ()
    what_ifs: tuple[WhatIf, ...] = ()
    #: The findings, in order.
    findings: tuple[Finding, ...] = ()

    @property
    def name(self) -> str:
        """The names of the drives."""
        return " and ".join(drive.name for drive in self.drives)

    @property
    def best(self) -> Ranked | None:
        """The best explanation."""
        return self.ranking[0] if self.ranking else None

    @property
    def alike(self) -> tuple[Ranked, ...]:
        """The explanations that do not differ significantly from the best, best first."""
        return tuple(ranked for ranked in self.ranking if not ranked.is_told_apart)

    @property
    def spares(self) -> tuple[Interval | None, ...]:
        """The interval of spare factors, per drive, of all explanations in :attr:`alike`."""
        alike = [ranked.explanation.intervals for ranked in self.alike]
        return tuple(joined(some) for some in zip(*alike, strict=True))

    @property
    def deciding(self) -> Further | None:
        """The workload that would distinguish the most explanations; ``None`` if none would."""
        first = self.further[0] if self.further else None
        return first if first is not None and first.pairs_told_apart else None

    def _shown(self) -> Shown:
        if self.best is None:
            return Shown(f"{short(self.name)}: no scheme was simulated", [])
        line = f"{short(self.name)}: {self.best.explanation.scheme.name}"
        others = len(self.alike) - 1
        line += f" or {others} that cannot be told from it" if others else ""
        line += "" if self.is_explained else "; none explains every point"
        rows = [
            [
                str(ranked.place),
                ranked.explanation.scheme.name,
                format_share(ranked.explanation.rms, 2),
                format_share(ranked.explanation.largest, 2),
                "yes" if ranked.is_told_apart else "no",
            ]
            for ranked in self.ranking[:_SHOWN]
        ]
        columns = [Column("", is_figure=True), Column("scheme")]
        columns += [Column(word, is_figure=True) for word in ("rms error", "largest error")]
        more = len(self.ranking) - len(rows)
        columns.append(Column("told from the best"))
        return Shown(line, rows, columns, [f"{more} more schemes"] if more else [])

    @property
    def held_out_rms(self) -> float | None:
        """Root mean square of the errors of points that were held out."""
        return together([held_out.error for held_out in self.held_out]) if self.held_out else None

    def to_dict(self) -> dict[str, Json]:
        """The fields for the JSON document."""
        return {
            "drives": [
                {
                    "name": drive.name,
                    "points": [
                        {name: getattr(point, name) for name in _OF_POINT} for point in drive.points
                    ],
                }
                for drive in self.drives
            ],
            "explained": self.is_explained,
            "goodness": None
            if self.goodness is None
            else {**plain(self.goodness), "rejected_below": REJECTED},
            "false_best": plain(self.false_best),
            "cannot_tell": [ranked.explanation.scheme.name for ranked in self.alike],
            "spares": plain(self.spares),
            "ranking": plain(self.ranking),
            "deciding": None if self.deciding is None else self._decided(self.deciding),
            "further": [{**plain(further), "spread": further.spread} for further in self.further],
            "held_out": [{**plain(point), "error": point.error} for point in self.held_out],
            "held_out_rms": self.held_out_rms,
            "what_if": plain(self.what_ifs),
            "findings": plain(self.findings),
        }

    def _decided(self, further: Further) -> dict[str, Json]:
        """The fields of a further workload, with the prediction of each explanation."""
        names = [ranked.explanation.scheme.name for ranked in self.alike]
        return {
            "workload": further.workload,
            "expected": dict(zip(names, further.predicted, strict=False)),
            "error": further.error,
            "pairs": further.pairs,
            "pairs_told_apart": further.pairs_told_apart,
        }


@dataclass(frozen=True, repr=False)
class Identification(Document):
    """The explanations of each measured drive."""

    drives: tuple[Identified, ...]
    #: True if only the shape of the curves was compared.
    relative: bool
    #: The number of simulations that were run, and of those found in the cache.
    simulated: int
    found: int
    #: Columns of the file that are unknown, and were ignored.
    columns_left_out: tuple[str, ...]
    #: Lines of a published table whose patterns are no point of a curve, such as sequential writes.
    lines_left_out: tuple[str, ...]
    #: True if Ctrl-C stopped the work; schemes without a complete curve are missing.
    interrupted: bool
    #: The reason why finished simulations were not stored; ``None`` if they were.
    unkept: str | None
    _raw: dict[str, Json] = dataclasses.field(repr=False, compare=False)

    def _shown(self) -> Shown:
        text = "; ".join(drive._shown().line for drive in self.drives[:2])
        more = len(self.drives) - 2
        line = text + (f" and {more} more drives" if more > 0 else "")
        columns = [Column("drive"), Column("best explanation"), Column("rms error", is_figure=True)]
        columns.append(Column("explanations that cannot be told apart", is_figure=True))
        rows = [
            [
                drive.name,
                "-" if drive.best is None else drive.best.explanation.scheme.name,
                "-" if drive.best is None else format_share(drive.best.explanation.rms, 2),
                str(len(drive.alike)),
            ]
            for drive in self.drives
        ]
        return Shown(line + ", interrupted" * self.interrupted, rows, columns)
