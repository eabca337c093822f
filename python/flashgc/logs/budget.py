"""A budget: limits of the figures of wear."""

from __future__ import annotations

from collections.abc import Sequence

from flashgc._core import ConfigError, suggest
from flashgc.foreign import one_line
from flashgc.logs.counts import Range
from flashgc.logs.outcome import Verdict

#: The limits, each with the figure and whether it is a most or a least.
LIMITS = {
    "waf": "write amplification, at most",
    "dwpd": "drive writes a day, at most",
    "years": "years left, at least",
}
EXAMPLE = "waf=2,dwpd=1,years=5"


def limits(text: str, place: str) -> dict[str, float]:
    """The limits of a budget as typed.

    >>> limits("waf=2,years=5", "budget")
    {'waf': 2.0, 'years': 5.0}
    >>> limits("wuf=2", "budget")
    Traceback (most recent call last):
    ...
    flashgc.ConfigError: budget: unknown limit 'wuf'; hint: did you mean 'waf'?
    """
    wanted: dict[str, float] = {}
    for part in text.split(","):
        name, equals, number = (word.strip() for word in part.partition("="))
        if name not in LIMITS:
            raise ConfigError(
                f"{place}: unknown limit '{one_line(name)}'; hint: {suggest(name, list(LIMITS))}"
            )
        if name in wanted:
            raise ConfigError(f"{place}: a second limit '{name}'; hint: remove one")
        try:
            limit = float(number) if equals else -1.0
        except ValueError:
            limit = -1.0
        if not 0 < limit < 1e9:
            raise ConfigError(
                f"{place}: {name}: found '{one_line(number)}', expected a number above 0; hint: "
                f"{EXAMPLE}"
            )
        wanted[name] = limit
    return wanted


def judged(
    wanted: dict[str, float],
    place: str,
    figures: dict[str, Sequence[Range]],
    missing: dict[str, str],
) -> tuple[Verdict, ...]:
    """The verdicts. A limit whose figure is not known is refused, with the log that would have it.

    Several figures of one limit are several estimates; the limit holds for each.
    """
    verdicts = []
    for name, limit in wanted.items():
        if not figures[name]:
            raise ConfigError(f"{place}: {name}: found no such figure; hint: {missing[name]}")
        verdicts += [
            Verdict(name, limit, figure, _met(figure, limit, is_most=name != "years"))
            for figure in figures[name]
        ]
    return tuple(verdicts)


def _met(figure: Range, limit: float, *, is_most: bool) -> bool | None:
    high = float("inf") if figure.high is None else figure.high
    if is_most:
        return True if high <= limit else False if figure.low > limit else None
    return True if figure.low >= limit else False if high < limit else None
