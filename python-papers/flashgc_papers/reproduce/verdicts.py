"""Comparisons of measured values with published ones: one function for each kind of claim.

Each returns a :class:`Judgement`: a verdict, and the reason in words with numbers. The functions
know neither papers nor simulations.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from flashgc_papers.claims import Tolerance


class Verdict(StrEnum):
    """The verdict on a published statement."""

    MET = "met"
    #: Sign, order and rough size are the published ones, on a stand-in for the paper's input.
    IN_KIND = "met-in-kind"
    #: The statement holds under a reading or a preset that was chosen by this figure. So it proves
    #: nothing, and does not count as met.
    FITTED = "fitted"
    #: The statement would hold, but its runs are not steady. It does not count as met.
    UNSTEADY = "unsteady"
    #: Wrong engines meet the statement, too. So it proves nothing, and does not count as met.
    BLIND = "does-not-discriminate"
    #: Not met, and it cannot be met, because the paper's own figures exclude each other.
    CONTRADICTED = "contradicts-itself"
    MISSED = "missed"
    NOT_RUN = "not-run"


#: The verdicts of rows that count.
COUNTED = (Verdict.MET, Verdict.IN_KIND)
#: The verdicts of rows that are as published, whether they count or not.
AS_PUBLISHED = (*COUNTED, Verdict.FITTED, Verdict.UNSTEADY)

#: The largest share of the cases in which an interval misses the true median.
_BEYOND = 0.05
#: The 0.975 quantile of Student's t, by the number of values, from any table of it.
_T95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 16: 2.131, 64: 1.998}


@dataclass(frozen=True)
class Value:
    """A measured or computed value."""

    mean: float
    #: Half the width of its 95% confidence interval; 0 for a computed value.
    ci95: float = 0.0
    #: The ends of the interval, if they are not equally far from the value.
    ends: tuple[float, float] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, values: Sequence[float]) -> Value:
        """The mean of the runs' values, with its interval.

        >>> Value.of([50.0, 40.0])
        Value(mean=45.0, ci95=63.53)
        """
        n = len(values)
        mean = sum(values) / n
        square = sum((value - mean) ** 2 for value in values) / (n - 1)
        return cls(mean, _T95[n] * math.sqrt(square / n))

    @classmethod
    def median_of(cls, values: Sequence[float]) -> Value:
        """The median of six values or more, with an interval that needs no variance.

        The ends are the two innermost values that have the distribution's median between them with
        a probability of 95% or more, for any distribution. ``ci95`` is half their distance.

        >>> Value.median_of([1, 2, 3, 5, 6, 91])
        Value(mean=4.0, ci95=45.0)
        >>> Value.median_of(range(1, 18)).ends  # 5th and 13th of 17, by any table of the sign test
        (5, 13)
        """
        n, ranked = len(values), sorted(values)
        outside = [2 * sum(math.comb(n, i) for i in range(at + 1)) / 2**n for at in range(n)]
        beyond = [at for at in range(n // 2) if outside[at] <= _BEYOND]
        if not beyond:
            raise ValueError("fewer than six values have no such interval")
        low, high = ranked[beyond[-1]], ranked[-1 - beyond[-1]]
        return cls(statistics.median(ranked), (high - low) / 2, (low, high))

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.mean - self.ci95 if self.ends is None else self.ends[0]

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.mean + self.ci95 if self.ends is None else self.ends[1]

    @property
    def simulated(self) -> bool:
        """True if there is an interval."""
        return self.ci95 > 0

    def __str__(self) -> str:
        return f"{self.mean:.4f} ±{self.ci95:.4f}" if self.simulated else f"{self.mean:.4f}"


class Judgement(NamedTuple):
    """A verdict, and why in words."""

    verdict: Verdict
    why: str


#: Rounding of a sum or product of doubles, as a share: a value on the edge counts as inside.
_ROUNDING = 1e-12


def equal(measured: Value, published: float, tol: Tolerance) -> Judgement:
    """Met if the measured mean is within ``tol`` of the published value.

    A wide interval does not help: it is only mentioned if it is wider than the tolerance.
    """
    off = measured.mean - published
    limit = tol.of(published)
    inside = abs(off) <= limit + _ROUNDING * abs(published)
    if not limit:
        why = "equal" if inside else f"{off:+.4g}"
    else:
        distance = signed_percent(off / published) if tol.relative else f"{off:+.4g}"
        why = f"{distance}, {'within' if inside else 'beyond'} {tol}"
    if limit and measured.ci95 > limit:
        why += "; the interval is wider than that, more runs would tell"
    return true(inside, why)


def within(measured: Value, lo: float, hi: float) -> Judgement:
    """Met if the measured mean is in ``lo`` to ``hi``, ends included."""
    inside = lo <= measured.mean <= hi
    place = "in" if inside else "outside"
    return true(inside, f"{measured} is {place} {lo:g} to {hi:g}")


def below(less: Value, more: Value, names: tuple[str, str]) -> Judgement:
    """Met if ``less`` is less than ``more``, strictly and outside both intervals."""
    text = f"{names[0]}: {less}, {names[1]}: {more}"
    if less.high < more.low:
        return Judgement(Verdict.MET, text)
    if less.mean < more.mean:
        return Judgement(Verdict.MISSED, f"{text}: the intervals overlap")
    return Judgement(Verdict.MISSED, f"{text}: not less")


#: The factor by which an effect of the same size in kind may differ from the published one.
ROUGHLY = 1.5


def sized(measured: Value, lo: float, hi: float | None = None, *, base: float = 0.0) -> Judgement:
    """Met if an effect has the sign of the published one and its size within a factor of 1.5.

    An effect is the distance from ``base``: 0 for a difference, 100 for percents of something else,
    1 for a ratio. It must differ from no effect by more than its interval. If the paper gives a
    range from ``lo`` to ``hi``, the factor is taken from the nearer end.

    >>> sized(Value(-12.0, 1.0), -10)
    Judgement(verdict=<Verdict.MET: 'met'>, why='1.20 times the published effect')
    >>> sized(Value(99.0), 90, base=100).verdict
    <Verdict.MISSED: 'missed'>
    """
    ends = sorted((abs(lo - base), abs((lo if hi is None else hi) - base)))
    sign = math.copysign(1.0, lo - base)
    effect = (measured.mean - base) * sign
    if not ends[0]:
        raise ValueError("no effect was published")
    above, below_ = measured.low > base, measured.high < base
    if not (above if sign > 0 else below_):
        none = "the other sign" if above or below_ else "not told from none"
        return Judgement(Verdict.MISSED, f"{effect * sign:+.4g} where {lo - base:+.4g}: {none}")
    near = min(max(effect, ends[0]), ends[1])
    times = effect / near
    return _within(times, 1 / ROUGHLY <= times <= ROUGHLY, "effect")


def _within(times: float, inside: bool, what: str) -> Judgement:
    text = f"{times:.2f} times the published {what}"
    return true(inside, text if inside else f"{text}, beyond a factor of {ROUGHLY:g}")


def over(measured: Value, least: float, why: str = "") -> Judgement:
    """Met if all of the interval is above ``least``; ``why`` comes first in the reason.

    >>> over(Value(21.2, 13.0), 20).why
    '21.2000 ±13.0000 is not told from 20'
    >>> over(Value(2.0, 0.5), 0, "ZGC: 3.1").why
    'ZGC: 3.1'
    """
    if measured.low > least:
        return Judgement(Verdict.MET, why)
    place = f"not told from {least:g}" if measured.high > least else f"below {least:g}"
    text = f"{measured} is {place}"
    return Judgement(Verdict.MISSED, f"{why}; {text}" if why else text)


def beyond(measured: Value, least: float) -> Judgement:
    """Met if an effect above a published lower bound is at most 1.5 times the bound.

    The paper gives no size beyond the bound, so a much larger effect does not agree with it.

    >>> beyond(Value(50.3, 0.5), 35).why
    '1.44 times the published bound'
    >>> beyond(Value(41_058), 19_998).verdict
    <Verdict.MISSED: 'missed'>
    """
    times = measured.mean / least
    return _within(times, times <= ROUGHLY, "bound")


def up_to(measured: Value, most: float) -> Judgement:
    """Met if the effect is above 0 by more than its interval, and is at most ``most``.

    >>> up_to(Value(35.4), 14.4).why
    '35.4000 is beyond 14.4'
    """
    if not measured.low > 0:
        return Judgement(Verdict.MISSED, f"{measured}: not told from none")
    inside = measured.mean <= most
    text = f"{measured} is {'at most' if inside else 'beyond'} {most:g}"
    return true(inside, text)


def falling(series: Sequence[Value], names: Sequence[str]) -> Judgement:
    """Met if no value is above the one before it, and the last is below the first.

    Two values count as different if they differ by more than the sum of their half widths.
    """
    return _monotone(series, names, -1)


def rising(series: Sequence[Value], names: Sequence[str]) -> Judgement:
    """The mirror image of :func:`falling`."""
    return _monotone(series, names, 1)


def _monotone(series: Sequence[Value], names: Sequence[str], sign: int) -> Judgement:
    word = "rises" if sign > 0 else "falls"
    for at in range(1, len(series)):
        before, after = series[at - 1], series[at]
        against = (before.mean - after.mean) * sign
        if against > before.ci95 + after.ci95:
            return Judgement(
                Verdict.MISSED,
                f"from {names[at - 1]} to {names[at]} it goes from {before} to {after}",
            )
    first, last = series[0], series[-1]
    text = f"{first} at {names[0]}, {last} at {names[-1]}"
    if (last.mean - first.mean) * sign > first.ci95 + last.ci95:
        return Judgement(Verdict.MET, f"{word} throughout: {text}")
    return Judgement(Verdict.MISSED, f"{text}: no difference outside the intervals")


def least(
    parameters: Sequence[float], values: Sequence[Value], lo: float, hi: float, name: str
) -> Judgement:
    """Met if the parameter with the least value lies in ``lo`` to ``hi``.

    The reason says by how much the best value outside is worse, and if that is significant.
    """
    ranked = sorted(range(len(values)), key=lambda at: values[at].mean)
    best = ranked[0]
    inside = lo <= parameters[best] <= hi
    rival = next((at for at in ranked if (lo <= parameters[at] <= hi) != inside), None)
    why = f"least at {name} = {parameters[best]:g} ({values[best]})"
    if rival is not None:
        more = (values[rival].mean / values[best].mean - 1) * 100
        apart = values[best].high < values[rival].low
        why += f"; {name} = {parameters[rival]:g} is {more:.2f}% worse"
        why += "" if apart else ", inside the intervals"
    return true(inside, why)


def true(holds: bool, why: str) -> Judgement:
    """A judgement of a condition that the caller has computed."""
    return Judgement(Verdict.MET if holds else Verdict.MISSED, why)


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on a statement whose parts have these verdicts.

    One missed part makes the statement missed. Unless every part was run and is steady, it is not
    met. Parts to which a reading was fitted, and parts that detect no wrong engine, do not count
    unless there are no others.

    >>> together([Verdict.MET, Verdict.NOT_RUN])
    <Verdict.NOT_RUN: 'not-run'>
    """
    for verdict in (
        Verdict.MISSED,
        Verdict.NOT_RUN,
        Verdict.UNSTEADY,
        Verdict.IN_KIND,
        Verdict.MET,
        Verdict.FITTED,
    ):
        if verdict in verdicts:
            return verdict
    return Verdict.BLIND if verdicts else Verdict.NOT_RUN


def relative(measured: float, published: float) -> float:
    """The difference from the published value, as a share of it; NaN if that is 0."""
    return measured / published - 1 if published else math.nan


def signed_percent(share: float) -> str:
    """A share as percent with its sign; a share that rounds to 0 has no sign.

    >>> signed_percent(-0.000001), signed_percent(0.0005)
    ('0.000%', '+0.050%')
    """
    text = f"{share * 100:+.3f}%"
    return text if text.strip("+-0.%") else text[1:]
