"""Ranks of a ranking, and its findings: who is first by how much, and what cannot be decided."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashgc.results.findings import Finding, Rules
from flashgc.results.intervals import half_width, mean
from flashgc.results.result import Result
from flashgc.units import format_share, format_time

if TYPE_CHECKING:
    from flashgc.results import Figures

RULES = Rules("ranking")


@dataclass(frozen=True)
class Rank:
    """The rank of one result among those compared."""

    #: 1 for the best: the least write amplification, or the least of the figure that the results
    #: are ranked by (:func:`flashgc.ranking.figure_of`).
    place: int
    #: The figure divided by that of the first.
    ratio: float
    #: The figure minus that of the first.
    difference: float
    #: Half the 95% interval of the difference; ``None`` if unknown.
    difference_ci95: float | None
    #: The basis of that interval: ``exact`` (the same finite writes and no random numbers),
    #: ``runs``, ``passes`` of a trace or ``batches`` that both results have, ``apart`` (from both
    #: intervals), or ``none``.
    basis: str
    #: True if the interval of the difference from the first holds 0; false without an interval, and
    #: if the difference is exact.
    inside_noise: bool
    #: The result itself.
    result: Result
    #: The name of the result if results of several files are ranked; otherwise empty.
    name: str = ""


#: Ends of a drive's life, with their names for people.
ENDS = {"first_failure": "first failure", "system_failure": "system failure"}


def findings(ranking: Sequence[Rank], names: Sequence[str]) -> list[Finding]:
    """The findings of a ranking, whose results are called ``names``; empty for a single result.

    Intervals in the findings are written with ``±``.
    """
    if len(ranking) < 2:
        return []
    return [finding for part in _PARTS for finding in part(ranking, names)]


def _last(ranking: Sequence[Rank], names: Sequence[str]) -> Iterator[Finding]:
    last = ranking[-1]
    if last.result.timing is not None or not differs(last) or not math.isfinite(last.ratio):
        return
    half = "" if last.difference_ci95 is None else f" ± {last.difference_ci95:.4f}"
    if last.basis == "exact":
        half = ", exact for this length"
    if last.result.swap is not None:
        than = f"keeps flash busy for {last.ratio:.2f}x the time of {names[0]}"
    elif len({rank.result.workload for rank in ranking}) == 1:
        than = f"makes {last.ratio:.2f}x the flash writes of {names[0]}"
    else:
        than = f"has {last.ratio:.2f}x the write amplification of {names[0]}"
    yield RULES["last-of-ranking"].found(
        f"{names[-1]} {than} (difference {last.difference:.4f}{half})",
        ratio=last.ratio,
        difference=last.difference,
        difference_ci95=last.difference_ci95,
    )


def _response_times(ranking: Sequence[Rank], names: Sequence[str]) -> Iterator[Finding]:
    first, last = ranking[0], ranking[-1]
    low, high = times_of(first.result), times_of(last.result)
    if low is None or high is None:
        return
    for key, what in (("mean", "mean"), ("p99_9", "99.9th percentile")):
        least, most = float(getattr(low, key)), float(getattr(high, key))
        is_known = differs(last) if key == "mean" else differ_by_run(first, last, f"all_{key}_us")
        if least == most or not is_known:
            continue
        shorter, longer = (names[0], names[-1]) if least < most else (names[-1], names[0])
        least, most = sorted((least, most))
        yield RULES["response-times"].found(
            f"{what}: {shorter} {format_time(least)}, {longer} {format_time(most)} "
            f"({format_share(1 - least / most)} less)",
            figure=key,
            shorter_us=least,
            longer_us=most,
        )


def differs(rank: Rank) -> bool:
    """True if a result is known to differ from the first of its ranking."""
    is_known = rank.basis == "exact" or rank.difference_ci95 is not None
    return is_known and not rank.inside_noise and rank.difference != 0


def differ_by_run(first: Rank, last: Rank, name: str) -> bool:
    """True if the figure of this name is known to differ between two results of a ranking."""
    values, others = (rank.result.by_run.get(name, ()) for rank in (first, last))
    if last.basis == "exact":
        return any(value != other for value, other in zip(values, others, strict=False))
    if len(values) != len(others) or len(values) < 2:
        return False
    differences = [value - other for value, other in zip(values, others, strict=True)]
    half = half_width(differences)
    return half is not None and abs(mean(differences)) > half


def _equal(ranking: Sequence[Rank], names: Sequence[str]) -> Iterator[Finding]:
    equal = [at for at in range(1, len(ranking)) if _is_equal(ranking[at], ranking[0])]
    if equal:
        text = ", ".join(names[at] for at in (0, *equal))
        yield RULES["equal-in-every-run"].found(
            f"Equal in every run: {text}", places=_places(equal)
        )


def _inside(ranking: Sequence[Rank], names: Sequence[str]) -> Iterator[Finding]:
    first = ranking[0]
    inside = [
        at for at, rank in enumerate(ranking) if rank.inside_noise and not _is_equal(rank, first)
    ]
    if inside:
        text = ", ".join(names[at] for at in inside)
        of = "the mean of " if first.result.timing is not None else ""
        is_ = "are" if len(inside) > 1 else "is"
        yield RULES["inside-the-noise"].found(
            f"Inside the noise: {of}{text} {is_} too close to {names[0]} to tell",
            advice(first.result),
            places=_places(inside),
        )


def _bases(ranking: Sequence[Rank], names: Sequence[str]) -> Iterator[Finding]:
    others, first = ranking[1:], ranking[0].result
    if all(rank.basis == "exact" for rank in others):
        same = "all wrote the same trace as often, without random numbers"
        if first.timing is not None:
            same = "all served the same requests, without random numbers"
        if any(is_doubtful(rank.result) for rank in ranking):
            unsure = "nothing shows that every drive has settled"
            yield RULES["exact-for-this-length"].found(
                f"Exact for this length only: {same}, and {unsure}"
            )
        else:
            yield RULES["exact"].found(f"Exact: {same}")
    if any(rank.basis == "none" for rank in others):
        if len(values_of(first)) > 1:
            yield RULES["no-interval"].found(
                "No interval, so that differences are not judged", advice(first)
            )
        else:
            yield RULES["no-interval"].found(
                "One run: no interval, so that differences are not judged",
                "more --runs" if first.trace is None else advice(first),
            )


def _lives(ranking: Sequence[Rank], names: Sequence[str]) -> Iterator[Finding]:
    """Findings on lifetimes, until the last failure (of :data:`ENDS`) that all drives reached."""
    for end, name in reversed(ENDS.items()):
        lives = [
            (drive_writes(rank.result, end), label)
            for rank, label in zip(ranking, names, strict=True)
        ]
        known = sorted((life, label) for life, label in lives if life is not None)
        if len(known) == len(ranking) and known[0][0] < known[-1][0]:
            (shortest, worst), (longest, best) = known[0], known[-1]
            yield RULES["longest-life"].found(
                f"{best} lives longest: {longest:.5g} drive writes until the {name}, "
                f"{longest / shortest:.2f}x those of {worst}",
                end=end,
                longest=longest,
                shortest=shortest,
            )
            return


_PARTS: tuple[Callable[[Sequence[Rank], Sequence[str]], Iterator[Finding]], ...] = (
    _last,
    _response_times,
    _equal,
    _inside,
    _bases,
    _lives,
)


def _places(at: Sequence[int]) -> list[int]:
    return [1 + index for index in at]


def _is_equal(rank: Rank, first: Rank) -> bool:
    return rank.place > 1 and values_of(rank.result) == values_of(first.result)


def values_of(result: Result) -> Sequence[float]:
    """For each run: the figure by which the result is ranked."""
    if result.timing is not None:
        return result.timing.mean_us_runs
    return result.run_values if result.swap is None else result.swap.run_values


def times_of(result: Result) -> Figures | None:
    """The response times of all requests; ``None`` without a clock, or without a request."""
    return None if result.timing is None else result.timing.latency_us.all


def drive_writes(result: Result, end: str) -> float | None:
    """Drive writes until this ``end`` of a life; ``None`` if it was not reached."""
    failure = None if result.lifetime is None else result.lifetime.of(end)
    return None if failure is None else failure.drive_writes


def is_doubtful(result: Result) -> bool:
    """True if the drive should have reached a steady state but has not."""
    has_state = result.swap is None and result.lifetime is None
    return has_state and result.measured and not result.steady


def advice(first: Result) -> str:
    """The option that makes the intervals of differences narrower."""
    values = values_of(first)
    # If all runs are alike, they use no random numbers, and more runs would be alike too.
    is_drawn = len(values) == 1 or len(set(values)) > 1
    if first.timing is not None:
        return "more --runs or --requests" if is_drawn else "more --requests"
    if first.trace is None:
        return "more --runs or --writes" if is_drawn else "more --writes"
    passes = (first.trace.passes or 0) + (first.trace.warmup_passes or 0)
    return f"--passes {4 * passes}" if passes else "more --passes"
