"""Predictions for a changed drive by simulation, if the user knows what the host writes.

Each scheme of :data:`SCHEMES` is simulated under the workload over the spare factor. A scheme
explains the measured amplification if its curve has it at some spare factor. The changes are
simulated with the schemes that do, and give a range.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from flashgc._core import ConfigError
from flashgc.logs.advice import UNUSED
from flashgc.logs.counts import Range
from flashgc.logs.outcome import Change, Explanation
from flashgc.progress import Show
from flashgc.studies.identifying.curves import GRID, SIMULATION_ERROR, Ask, Curve, Curves, Size
from flashgc.studies.identifying.measurements import CAPACITY
from flashgc.studies.identifying.schemes import Scheme
from flashgc.studies.identifying.workloads import Condition, condition
from flashgc.units import format_share

#: The schemes that are tried.
SCHEMES = (
    *(
        Scheme(victim, frontier)
        for frontier in ("single", "pool")
        for victim in ("greedy", "fifo", "d-choices:d=10", "cost-benefit")
    ),
    Scheme("greedy", "pool", "dac:regions=3"),
    Scheme("cost-benefit", "pool", "dac:regions=3"),
)
#: The simulated drive: curves of ten schemes take a few seconds.
SIZE = Size(256, 64)
#: A scheme explains the amplification at a known spare factor if it is at most this far from it.
_NEAR = 3 * SIMULATION_ERROR


@dataclass(frozen=True)
class Prediction:
    """The explanations of a measured amplification, and what changes would do to it."""

    explanations: tuple[Explanation, ...]
    changes: tuple[Change, ...]


def predicted(
    workload: str,
    amplification: Range,
    spare: float | None,
    capacity: int | None,
    *,
    show: Show | None = None,
) -> Prediction:
    """The explanations and changes of a drive whose host writes ``workload``.

    ``amplification`` is the measured range, ``spare`` the spare factor if known, ``capacity`` the
    bytes that the host sees; only Zipf's law depends on it.

    Without an explanation there is no change. Raises :class:`flashgc.ConfigError` for an unknown
    workload, and for a range without an upper end.
    """
    try:
        given = condition(workload, capacity or CAPACITY)
    except ConfigError as fault:
        raise ConfigError(f"workload: {fault}") from None
    if amplification.high is None:
        raise ConfigError(
            "workload: the range of the amplification has no upper end, so nothing can be "
            "simulated for it; hint: give logs with more writes between them"
        )
    curves = Curves(SIZE, show=show)
    apart = _apart(workload)
    asks = [Ask(scheme, given, share) for scheme in SCHEMES for share in GRID]
    if apart is not None:
        asks += [Ask(_handled(scheme), apart, share) for scheme in SCHEMES for share in GRID]
    curves.simulate(asks, f"simulating {workload}")
    if curves.interrupted:
        raise KeyboardInterrupt
    ends = (amplification.low, amplification.high)
    fits = []
    for scheme in SCHEMES:
        curve = curves.curve(scheme, [given], GRID)
        shares = None if curve is None else _shares(curve, ends, spare)
        if curve is not None and shares is not None:
            fits.append((scheme, curve, shares))
    words = f"{workload} simulated;\n{len(fits)} of {len(SCHEMES)} schemes explain it"
    changes = [*_unused(fits, ends, words), *_separated(curves, fits, ends, apart, words)]
    return Prediction(
        tuple(Explanation(scheme.name, min(shares), max(shares)) for scheme, _, shares in fits),
        tuple(changes),
    )


_Fit = tuple[Scheme, Curve, tuple[float, float]]


def _shares(
    curve: Curve, ends: tuple[float, float], spare: float | None
) -> tuple[float, float] | None:
    """The spare factors at which a curve has both ends; ``None`` if it has not.

    Amplification falls with the spare factor, so the curve is searched from its right end.
    """
    spares, logs = curve.fine()
    if spare is not None:
        if not spares[0] <= spare <= spares[-1]:
            return None
        value = math.exp(float(np.interp(math.log(spare), np.log(spares), logs[:, 0])))
        low, high = ends[0] * (1 - _NEAR), ends[1] * (1 + _NEAR)
        return (spare, spare) if low <= value <= high else None
    rising, backwards = logs[::-1, 0], np.log(spares)[::-1]
    steps = np.maximum.accumulate(rising)
    if not all(steps[0] <= math.log(max(end, 1e-9)) <= steps[-1] for end in ends):
        return None
    low, high = (float(np.exp(np.interp(math.log(end), steps, backwards))) for end in ends)
    return low, high


def _at(curve: Curve, spare: float) -> float:
    spares, logs = curve.fine()
    return math.exp(float(np.interp(math.log(spare), np.log(spares), logs[:, 0])))


def _unused(fits: Sequence[_Fit], ends: tuple[float, float], words: str) -> Iterator[Change]:
    """Leave a share of the capacity unused, which becomes spare."""
    for unused in UNUSED:
        values = [
            value
            for _, curve, shares in fits
            for end, share in zip(ends, shares, strict=True)
            if (changed := 1 - (1 - share) * (1 - unused)) <= GRID[-1]
            for value in [max(1.0, end * _at(curve, changed) / _at(curve, share))]
        ]
        if values:
            what = f"{format_share(unused)} of the capacity left unused"
            yield Change(what, min(values), max(values), words)


def _apart(workload: str) -> Condition | None:
    """Hot and cold writes with a stream each; ``None`` for another workload."""
    shares = re.fullmatch(r"(\d+(?:\.\d+)?)/(\d+(?:\.\d+)?)", workload)
    if shares is None:
        return None
    hot, pages = float(shares[1]) / 100, float(shares[2]) / 100
    return Condition(
        workload,
        f"{hot:g}*uniform:to={pages:g},stream=0 + {1 - hot:g}*uniform:from={pages:g},stream=1",
    )


def _handled(scheme: Scheme) -> Scheme:
    """The scheme with two handles for placement; they need the pool frontier."""
    return Scheme(scheme.victim, "pool", "fdp:handles=2")


def _separated(
    curves: Curves,
    fits: Sequence[_Fit],
    ends: tuple[float, float],
    apart: Condition | None,
    words: str,
) -> Iterator[Change]:
    if apart is None:
        return
    values = []
    for scheme, curve, shares in fits:
        handled = curves.curve(_handled(scheme), [apart], GRID)
        if handled is not None:
            values += [
                max(1.0, end * _at(handled, share) / _at(curve, share))
                for end, share in zip(ends, shares, strict=True)
            ]
    if values:
        yield Change("a handle each for hot and cold (FDP)", min(values), max(values), words)
