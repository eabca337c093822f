"""A condition on a result: ``write_amplification<2``."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashgc import _core
from flashgc._core import ConfigError
from flashgc.results.figures import NAMES
from flashgc.units import parse_count, parse_share

_CONDITION = re.compile(r"\s*([A-Za-z_0-9]+)\s*(<=|>=|<|>)\s*(.*?)\s*\Z")
_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
#: Figures that are numbers, and so can have a limit.
FIGURES = tuple(name for name in NAMES if name not in ("steady", "digest"))


@dataclass(frozen=True)
class Wanted:
    """A condition on one figure."""

    #: The name of the figure (:mod:`flashgc.results.figures`).
    figure: str
    #: ``<``, ``<=``, ``>`` or ``>=``.
    compared: str
    limit: float

    def __str__(self) -> str:
        return f"{self.figure} {self.compared} {self.limit:g}"

    def holds(self, figures: Mapping[str, Any], shift: int) -> bool:
        """True if the condition holds for a result with these figures.

        ``shift`` is 0 for the mean, -1 for the end of its 95% interval that is worse for the
        condition, and 1 for the better end. For a figure without an interval, the mean is used.

        >>> one = Wanted("write_amplification", "<", 2.0)
        >>> figures = {"write_amplification": 1.9, "write_amplification_ci95": 0.2}
        >>> [one.holds(figures, shift) for shift in (-1, 0, 1)]
        [False, True, True]
        """
        value = figures.get(self.figure)
        if value is None or not math.isfinite(value):
            return False
        half = figures.get(f"{self.figure}_ci95") or 0.0
        down = self.compared.startswith("<")
        moved = value - shift * half if down else value + shift * half
        return bool(_COMPARE[self.compared](moved, self.limit))


def wanted(texts: str | Sequence[str], place: str = "wanted") -> tuple[Wanted, ...]:
    """Parse conditions, all of which must hold; raises :class:`flashgc.ConfigError`.

    >>> [str(one) for one in wanted("WA<2")]
    ['write_amplification < 2']
    """
    runs = []
    for text in [texts] if isinstance(texts, str) else texts:
        match = _CONDITION.match(text)
        if match is None:
            raise ConfigError(
                f"{place}: '{text}' is not understood; hint: write \"write_amplification<2\""
            )
        figure, compared, limit = match.groups()
        figure = "write_amplification" if figure == "WA" else figure
        if figure not in FIGURES:
            hint = _core.suggest(figure, list(FIGURES))
            raise ConfigError(f"{place}: unknown figure '{figure}'; hint: {hint}")
        runs.append(Wanted(figure, compared, _limit(limit, place)))
    if not runs:
        raise ConfigError(f'{place}: nothing is wanted; hint: write "write_amplification<2"')
    return tuple(runs)


def _limit(text: str, place: str) -> float:
    try:
        limit = parse_share(text) if "%" in text else float(text)
        if math.isfinite(limit):
            return limit
    except ValueError:
        pass
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from None
    try:
        return float(parse_count(text))
    except ConfigError:
        raise ConfigError(
            f"{place}: '{text}' is no number; hint: figures have the units of their names, as in "
            '"read_p99_us<500"'
        ) from None
