"""Series of numbers, checked before they are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.cbook import is_math_text
from matplotlib.mathtext import MathTextParser
from numpy.typing import ArrayLike, NDArray

from flashgc._core import ConfigError, suggest
from flashgc.foreign import for_terminal, one_line

Numbers = NDArray[np.float64]

KINDS = ("line", "points", "both")


@dataclass(frozen=True, eq=False)
class Series:
    """One curve, or one set of points: ``y`` over ``x``.

    ``x`` and ``y`` have one dimension and equal length; a NaN in ``y`` is a gap. ``error`` is half
    the width of the 95% interval of each point, or NaN if unknown. It is drawn as a bar at each
    point, or as a band around a line. Series with the same ``group`` show the same quantity and
    share a colour, for example a model as a line and its simulation as points. A series without a
    group is its own group.

    Raises :class:`flashgc.ConfigError` if the values cannot be drawn.

    >>> Series("greedy", [0.1, 0.2], [4.8])
    Traceback (most recent call last):
    ...
    flashgc.ConfigError: series 'greedy': found 2 x and 1 y, expected the same number; hint: \
write nan for a gap
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    error: ArrayLike | None = None
    kind: Literal["line", "points", "both"] = "line"
    group: str | None = None

    def __post_init__(self) -> None:
        check_text(self.label, "label of a series")
        if self.group is not None:
            check_text(self.group, "group of a series")
        what = f"series '{self.label}'"
        if self.kind not in KINDS:
            raise ConfigError(
                f"{what}: unknown kind '{self.kind}'; hint: {suggest(str(self.kind), list(KINDS))}"
            )
        x, y = numbers(self.x, f"{what}: x"), numbers(self.y, f"{what}: y")
        if len(x) != len(y):
            raise ConfigError(
                f"{what}: found {len(x)} x and {len(y)} y, expected the same number; hint: write "
                "nan for a gap"
            )
        if np.isnan(x).any():
            raise ConfigError(f"{what}: x[{np.isnan(x).argmax()}] is nan; hint: only y has gaps")
        if np.isnan(y).all():
            raise ConfigError(
                f"{what}: found no number in y, expected at least one; hint: leave the series out"
            )
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)
        if self.error is not None:
            object.__setattr__(self, "error", half_widths(self.error, len(y), what))

    @property
    def points(self) -> tuple[Numbers, Numbers]:
        """``x`` and ``y`` as arrays."""
        return np.asarray(self.x, np.float64), np.asarray(self.y, np.float64)

    @property
    def half_widths(self) -> Numbers | None:
        """``error`` as an array."""
        return None if self.error is None else np.asarray(self.error, np.float64)

    @property
    def shown(self) -> str:
        """The group, or the label if the series is its own group."""
        return self.label if self.group is None else self.group


def numbers(values: ArrayLike, what: str) -> Numbers:
    """``values`` as an array of one dimension with at least one number and no infinite one."""
    try:
        array = np.array(values, np.float64)
    except (TypeError, ValueError):
        raise ConfigError(
            f"{what}: found {shortened(values)}, expected numbers; hint: give a list or an array"
        ) from None
    if array.ndim != 1:
        raise ConfigError(
            f"{what}: found {array.ndim} dimensions, expected one; hint: give a list of numbers"
        )
    if not len(array):
        raise ConfigError(
            f"{what}: found no value, expected at least one; hint: leave the series out"
        )
    if np.isinf(array).any():
        place = np.isinf(array).argmax()
        raise ConfigError(
            f"{what}: found {array[place]} at [{place}], expected finite numbers; hint: write nan "
            "for a gap"
        )
    array.setflags(write=False)
    return array


def half_widths(values: ArrayLike, count: int, what: str) -> Numbers:
    """``values`` as the half widths of ``count`` intervals."""
    error = numbers(values, f"{what}: error")
    if len(error) != count:
        raise ConfigError(
            f"{what}: found {len(error)} errors, expected {count}, one a point; hint: write "
            "nan where none is known"
        )
    if (error < 0).any():
        place = (error < 0).argmax()
        raise ConfigError(
            f"{what}: found {error[place]} as error[{place}], expected half the width of an "
            "interval; hint: a width is not negative"
        )
    return error


def check_text(text: object, what: str) -> None:
    """Raise :class:`flashgc.ConfigError` if ``text`` cannot be displayed."""
    if not isinstance(text, str) or not text.strip():
        raise ConfigError(f"{what}: found {shortened(text)}, expected a text; hint: give a name")
    if one_line(text) != text:
        raise ConfigError(
            f"{what}: found {shortened(text)}, expected characters that can be shown; hint: leave "
            "the others out"
        )
    if is_math_text(text):
        try:
            MathTextParser("path").parse(text)
        except ValueError:
            raise ConfigError(
                f"{what}: '{text}' is no formula; hint: write \\$ for a dollar sign"
            ) from None


def check_mapping(value: object, what: str, example: str) -> None:
    """Raise :class:`flashgc.ConfigError` if ``value`` is no mapping."""
    if not isinstance(value, Mapping):
        raise ConfigError(
            f"{what}: found {shortened(value)}, expected a mapping; hint: write {example}"
        )


def literal(text: str) -> str:
    r"""``text`` escaped for matplotlib, so that it has no formula and only displayable characters.

    >>> literal("traces/$HOME/$USER\x1b")
    'traces/\\$HOME/\\$USER\\x1b'
    """
    return for_terminal(text).replace("$", "\\$")


def shortened(value: object) -> str:
    """Return a value in a few characters, for a message."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
