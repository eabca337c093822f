"""SNIA's rule for a steady state: five rounds in a row whose tracked values hardly change."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from flashgc import _core
from flashgc._documents import read
from flashgc.results.parts.run import Snia

#: The rounds that the rule looks at, and the most rounds of a test.
WINDOW, MOST_ROUNDS = 5, 25

#: A value is passed to the engine as its ratio to the mean, in parts of this number.
_PARTS = 10**9

#: A shape of a drive. The engine wants one, and the rule does not depend on it.
_ANY_DRIVE = (64, 64, 3000)


def rule(values: Sequence[float]) -> Snia:
    """Apply the engine's rule to the tracked values of five rounds.

    >>> rule([92, 94, 96, 106, 112])  # By hand: range 20 and line 20.8, of a mean of 100.
    Snia(excursion=0.2, slope=0.208, met=False)
    >>> rule([95, 97.5, 100, 102.5, 105]).met
    True
    """
    if len(values) != WINDOW:
        raise ValueError(f"found {len(values)} rounds, expected {WINDOW}")
    mean = sum(values) / WINDOW
    parts = [(_PARTS, round(value / mean * _PARTS)) for value in values]
    judged = json.loads(_core.judged(_ANY_DRIVE, 2, parts, _PARTS, 1, {}))
    raw = judged["steadiness"]["snia"]
    # A part in 10^9 is the resolution of the values.
    return read(Snia, {**raw, **{name: round(raw[name], 9) for name in ("excursion", "slope")}})


@dataclass(frozen=True)
class Window:
    """Five rounds, and the rule's verdict on them."""

    #: The first and the last of the rounds, from 1.
    first: int
    last: int
    #: The largest tracked value minus the smallest, as a share of their mean: at most 20%.
    excursion: float
    #: The change of the line of least squares, as a share of the mean: at most 10%.
    slope: float
    #: True if the rule is met.
    met: bool


def window(values: Sequence[float]) -> Window | None:
    """The first five rounds that meet the rule, or else the last five; ``None`` of fewer rounds.

    >>> window([100, 150, 160, 160, 160, 160, 160])  # By hand: range 10, line 8, mean 158.
    Window(first=2, last=6, excursion=0.063291139, slope=0.050632911, met=True)
    >>> window([100, 150, 200, 300, 400, 600]).met
    False
    """
    last = None
    for first in range(len(values) - WINDOW + 1):
        verdict = rule(values[first : first + WINDOW])
        last = Window(first + 1, first + WINDOW, verdict.excursion, verdict.slope, verdict.met)
        if verdict.met:
            return last
    return last
