"""The workload to measure next: it distinguishes explanations that fit the measurement equally."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flashgc._core import ConfigError
from flashgc.studies.identifying.curves import Ask, Curve, Numbers
from flashgc.studies.identifying.fit import TOLD_APART, chi_squares, logs_of, weights_of
from flashgc.studies.identifying.measurements import CAPACITY, Drive, Point
from flashgc.studies.identifying.outcome import Further, HeldOut, Identified, Ranked, WhatIf
from flashgc.studies.identifying.schemes import Scheme, parse
from flashgc.studies.identifying.search import Search
from flashgc.studies.identifying.workloads import PAGE, Condition, condition
from flashgc.units import parse_share


@dataclass(frozen=True)
class Change:
    """A change of a drive: another scheme, another spare factor, or both."""

    text: str
    #: The new scheme; ``None`` to keep the scheme. If it names no frontier, the frontier stays.
    scheme: str | None
    spare: float | None
    #: True if ``spare`` is added to the present spare factor.
    is_added: bool

    def of(self, scheme: Scheme, spare: float) -> tuple[Scheme, float]:
        """The changed scheme and spare factor."""
        new = scheme
        if self.scheme is not None:
            new = replace(parse(self.scheme, scheme.frontier, "what-if"), blocks=scheme.blocks)
        if self.spare is None:
            return new, spare
        return new, spare + self.spare if self.is_added else self.spare


def change(text: str) -> Change:
    """The change described by ``text``; raises :class:`flashgc.ConfigError`.

    >>> change("cost-benefit pool spare=+5%")
    Change(text='cost-benefit pool spare=+5%', scheme='cost-benefit pool', spare=0.05, \
is_added=True)
    """
    words = text.split()
    given = [word for word in words if word.startswith("spare=")]
    others = " ".join(word for word in words if not word.startswith("spare="))
    if not words or len(given) > 1:
        raise ConfigError(
            f"what-if: found '{text}', expected a scheme, a spare factor or both; hint: "
            "'spare=+5%' or 'cost-benefit pool'"
        )
    if others:
        parse(others, place="what-if")
    if not given:
        return Change(text, others, None, False)
    value = given[0].removeprefix("spare=")
    try:
        share = parse_share(value.removeprefix("+"))
    except ConfigError as fault:
        raise ConfigError(f"what-if: {fault}") from None
    if not 0 < share < 1:
        raise ConfigError(f"what-if: spare factor {value}, expected above 0% and below 100%")
    return Change(text, others or None, share, value.startswith("+"))


def asked(
    group: Identified, search: Search, changes: Sequence[Change], *, hold_out: bool
) -> Identified:
    """Return the drive with the answers to all questions."""
    return replace(
        group,
        further=further(group, search),
        held_out=_held_out(group, search) if hold_out else (),
        what_ifs=tuple(
            _what_if(group, search, change, index)
            for change in changes
            for index in range(len(group.drives))
        ),
    )


def _held_out(group: Identified, search: Search) -> tuple[HeldOut, ...]:
    outcomes = []
    for drive in group.drives:
        for index, point in enumerate(drive.points):
            held_out = search.held_out(drive, index)
            if held_out is not None:
                scheme, predicted = held_out
                outcomes.append(
                    HeldOut(
                        drive.name,
                        point.workload,
                        point.write_amplification,
                        predicted,
                        scheme.name,
                    )
                )
    return tuple(outcomes)


def _what_if(group: Identified, search: Search, change: Change, index: int) -> WhatIf:
    drive = group.drives[index]
    some = group.alike[:ASKED]
    now, then = [], []
    for ranked in some:
        fit = ranked.explanation.fits[index]
        scheme, spare = change.of(ranked.explanation.scheme, fit.spare)
        if not 0.01 <= spare <= 0.9:
            raise ConfigError(
                f"what-if: '{change.text}' makes a spare factor of {100 * spare:.1f}%, expected "
                "1% to 90%"
            )
        now.append(_values(search, drive, ranked.explanation.scheme, fit.spare, fit.scale))
        then.append(_values(search, drive, scheme, spare, fit.scale))
    ratios = [
        [after / before for before, after in zip(old, new, strict=True)]
        for old, new in zip(now, then, strict=True)
    ]
    best = _changed(some[0], index, change)
    return WhatIf(
        change.text,
        drive.name,
        best[0].name,
        best[1],
        tuple(point.workload for point in drive.points),
        tuple(now[0]),
        tuple(then[0]),
        tuple(min(column) for column in zip(*ratios, strict=True)),
        tuple(max(column) for column in zip(*ratios, strict=True)),
    )


def _changed(ranked: Ranked, index: int, change: Change) -> tuple[Scheme, float]:
    return change.of(ranked.explanation.scheme, ranked.explanation.fits[index].spare)


def _values(
    search: Search, drive: Drive, scheme: Scheme, spare: float, scale: float
) -> list[float]:
    asks = [Ask(scheme, point.condition, round(spare, 4)) for point in drive.points]
    search.curves.simulate(asks, "what if")
    return [search.curves.value(ask) * scale for ask in asks]


#: Workloads that could be measured next: with little and much skew, and hot sets of 1% to 50% of
#: the pages.
FURTHER = (
    "uniform",
    "70/30",
    "80/20",
    "90/10",
    "95/5",
    "99/1",
    "50/1",
    "50/5",
    "90/50",
    "99/50",
    "zipf:theta=0.6",
    "zipf:theta=0.8",
    "zipf:theta=0.9",
    "zipf:theta=1",
    "zipf:theta=1.2",
)
#: The maximum number of explanations that are compared. The best ones are chosen.
ASKED = 12


@dataclass(frozen=True)
class _Rival:
    """An explanation: its curve over spare factors, and its prediction for a new workload."""

    #: The logarithms of the curve at the spare factors that fit, for the measured points and the
    #: new one.
    logs: Numbers
    #: The predicted write amplification of the new workload at the best spare factor.
    predicted: float


def further(group: Identified, search: Search) -> tuple[Further, ...]:
    """Workloads that were not measured; the one that distinguishes the most explanations first.

    Of equal workloads, the first is the one that separates the best two explanations most.
    """
    alike = group.alike[:ASKED]
    if len(alike) < 2:
        return ()
    drive = group.drives[0]
    new = _new(drive)
    spares = [_spares(ranked) for ranked in alike]
    asks = [
        Ask(ranked.explanation.scheme, workload, spare)
        for workload in new
        for ranked, some in zip(alike, spares, strict=True)
        for spare in some
    ]
    search.curves.simulate(asks, "further workloads")
    questions = []
    for workload in new:
        rivals = [
            _rival(search, drive, ranked, workload, some)
            for ranked, some in zip(alike, spares, strict=True)
        ]
        whole = [rival for rival in rivals if rival is not None]
        if len(whole) == len(rivals):  # Omit it if a rival was not simulated on it.
            questions.append(_told(drive, workload, whole, relative=search.relative))
    return tuple(
        sorted(questions, key=lambda further: (-further.pairs_told_apart, -further.best_two))
    )


def _new(drive: Drive) -> list[Condition]:
    first = drive.points[0].condition
    capacity = CAPACITY if first.pages is None else first.pages * PAGE
    measured = {point.condition.spec for point in drive.points}
    conditions = [condition(name, capacity, first.writes, first.warmup) for name in FURTHER]
    return [workload for workload in conditions if workload.spec not in measured]


def _spares(ranked: Ranked) -> tuple[float, ...]:
    """The best spare factor of an explanation, and the ends of the interval of those that fit."""
    best, interval = ranked.explanation.fits[0].spare, ranked.explanation.intervals[0]
    ends = () if interval is None else (interval.low, interval.high)
    return tuple(sorted({round(spare, 4) for spare in (best, *ends)}))


def _rival(
    search: Search, drive: Drive, ranked: Ranked, workload: Condition, spares: Sequence[float]
) -> _Rival | None:
    explanation = ranked.explanation
    known = search.curve(explanation.scheme, drive)
    there = search.curves.curve(explanation.scheme, [workload], spares)
    if known is None or there is None or len(there.spares) < len(spares):
        return None
    fine, logs = known.fine()
    inside = (fine >= spares[0] - 1e-4) & (fine <= spares[-1] + 1e-4)
    new = np.interp(np.log(fine[inside]), *_line(there))
    best = round(explanation.fits[0].spare, 4)
    at_best = search.curves.value(Ask(explanation.scheme, workload, best))
    logs = np.column_stack([logs[inside], new])
    return _Rival(logs, at_best * explanation.fits[0].scale)


def _line(curve: Curve) -> tuple[Numbers, Numbers]:
    spares, logs = curve.fine()
    return np.log(spares), logs[:, 0]


def _told(
    drive: Drive, workload: Condition, rivals: Sequence[_Rival], *, relative: bool
) -> Further:
    """The power of a workload to distinguish rivals; each rival in turn is assumed to be true."""
    error = statistics.median(point.error for point in drive.points)
    gains = np.zeros((len(rivals), len(rivals)))
    for truth, wrong in itertools.permutations(range(len(rivals)), 2):
        new = Point(workload, rivals[truth].predicted, error)
        gains[truth, wrong] = _gain(drive.points, new, rivals[wrong].logs, relative=relative)
    pairs = list(itertools.combinations(range(len(rivals)), 2))
    least = [float(min(gains[a, b], gains[b, a])) for a, b in pairs]
    return Further(
        workload.workload,
        tuple(rival.predicted for rival in rivals),
        error,
        len(pairs),
        sum(bool(gain > TOLD_APART) for gain in least),
        least[0],
    )


def _gain(points: Sequence[Point], new: Point, logs: Numbers, *, relative: bool) -> float:
    """The chi-square that a new point adds to a scheme after the spare factor is fitted again."""
    everything = [*points, new]
    before = chi_squares(logs[:, :-1], *_given(points), relative=relative).min()
    after = chi_squares(logs, *_given(everything), relative=relative).min()
    return float(after - before)


def _given(points: Sequence[Point]) -> tuple[Numbers, Numbers]:
    return logs_of(points)[None], weights_of(points)
