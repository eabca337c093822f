"""The stages of a search: length, start and seeds of the runs in each.

A stage is a list of parts. A part is one simulation of each candidate, all with the same writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from flashgc.units import many

#: The share of a run that each rung has.
OF_RUN = (0.25, 0.5, 1.0)
#: The share of the tuned part of a trace for each rung. It begins large, because the begin of a
#: trace differs from the rest. Of 101 configurations on the trace that flashgc includes, the ten
#: best were among the best 16 on its first half, but only among the best 68 on its first quarter.
OF_TRACE = (0.5, 0.75, 1.0)
#: The number of windows of a trace for a figure that needs a whole window.
WINDOWS = 5


@dataclass(frozen=True)
class Part:
    """One simulation of a candidate, given by its changes to the common configuration."""

    changes: Mapping[str, Any]
    #: Its duration relative to a whole run.
    cost: float

    def of(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration of this simulation."""
        return {**config, "runs": 1, **self.changes}


@dataclass(frozen=True)
class Stage:
    """The simulations that every candidate of a stage runs."""

    #: The share of the run or of the tuned part; 1 for the last rung.
    share: float
    parts: tuple[Part, ...]
    #: A description of the runs.
    words: str
    #: True if the values of a part are means over intervals of a trace (``objective.BLOCKS``).
    blocks: bool = False

    @property
    def cost(self) -> float:
        """The duration of a candidate in this stage relative to a whole run."""
        return sum(part.cost for part in self.parts)


@dataclass(frozen=True)
class Course:
    """The rungs of a search, and the check of its winner."""

    rungs: tuple[Stage, ...]
    #: The stage on data that the search does not use.
    held_back: Stage
    #: The options that reproduce the winner's figure: keys of ``[run]`` in an experiment file.
    run: Mapping[str, Any]


def of_seeds(config: Mapping[str, Any], runs: int, *, whole: bool) -> Course:
    """The course for a generator: the last rung has all seeds; other seeds are held back.

    With ``whole``, runs cannot be shortened, such as runs until a failure; their first rungs only
    have fewer seeds.
    """
    first = int(config["seed"])
    rungs = []
    for share, count in zip(OF_RUN, (1, min(2, runs), runs), strict=True):
        of_run = 1.0 if whole else share
        length = scaled(config["length"], of_run)
        parts = tuple(
            Part({"seed": seed, "length": length}, of_run) for seed in range(first, first + count)
        )
        rungs.append(Stage(of_run, parts, f"{of_run:.0%} of the run, {many(count, 'seed')}"))
    others = tuple(Part({"seed": first + runs + index}, 1.0) for index in range(runs))
    return Course(
        tuple(rungs),
        Stage(1.0, others, f"{runs} other seeds"),
        {**_length(config), "warmup": config["warmup"], "runs": runs, "seed": first},
    )


def of_trace(
    config: Mapping[str, Any], unit: str, total: int, warmup: float, hold_back: float
) -> Course:
    """The course for a trace of ``total`` ``writes`` or ``requests`` (``unit``), replayed once.

    The last share ``hold_back`` of it is held back. ``warmup`` is the share of each rung's prefix
    that is not measured. The drive always executes the trace from its begin.
    """
    tuned = min(max(round(total * (1 - hold_back)), 1), total - 1)
    rungs = []
    for share in OF_TRACE:
        end = max(round(tuned * share), 1)
        # The windows of the last rung give its interval; earlier rungs need only one to select
        # candidates.
        windows = WINDOWS if unit == "requests" and share == 1 else 1
        words = f"the first {share * (1 - hold_back):.0%} of the trace"
        rungs.append(_window(unit, int(end * warmup), end, total, words, windows, share))
    words = f"the last {hold_back:.0%} of the trace"
    windows = WINDOWS if unit == "requests" else 1
    last = _course(unit, int(tuned * warmup), tuned)
    return Course(
        tuple(rungs),
        _window(unit, tuned, total, total, words, windows, 1.0),
        {"warmup": last["warmup"], **last["length"], "runs": 1, "seed": config["seed"]},
    )


def _window(
    unit: str, begin: int, end: int, total: int, words: str, windows: int, share: float
) -> Stage:
    """A stage that measures a trace from ``begin`` to ``end``, in one window or several."""
    edges = [begin + (end - begin) * index // windows for index in range(windows + 1)]
    parts = [Part(_course(unit, a, b), b / total) for a, b in pairwise(edges) if b > a]
    return Stage(share, tuple(parts), words, blocks=unit == "writes")


def _course(unit: str, begin: int, end: int) -> dict[str, Any]:
    """The options to run to ``end`` and to measure from ``begin`` on."""
    amount: str | int = str(end) if unit == "writes" else end
    return {"warmup": f"{begin}/{end}", "length": {unit: amount}}


def scaled(length: Mapping[str, Any], share: float) -> dict[str, Any]:
    """A share of a run's length.

    >>> scaled({"writes": "20x"}, 0.25), scaled({"requests": 1000}, 0.5)
    ({'writes': '5x'}, {'requests': 500})
    """
    ((unit, amount),) = length.items()
    if share == 1:
        return {unit: amount}
    if isinstance(amount, int):
        return {unit: max(round(amount * share), 1)}
    if amount.strip().endswith("x"):
        return {unit: f"{float(amount.strip()[:-1]) * share:g}x"}
    return {unit: str(max(round(float(amount) * share), 1))}


def _length(config: Mapping[str, Any]) -> dict[str, Any]:
    ((unit, amount),) = config["length"].items()
    return {unit: amount}
