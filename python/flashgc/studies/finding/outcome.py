"""The outcome of a search: the value, its interval, and all values that were simulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flashgc import _core
from flashgc._documents import Document, Json, Scalar, plain
from flashgc._summaries import Column, Shown, figure
from flashgc.results import Finding, Result


@dataclass(frozen=True)
class Tried:
    """One value of the option that was simulated."""

    #: The value as the option takes it.
    value: Scalar
    #: The figures of the conditions, with their intervals, by name; empty if the value is
    #: impossible.
    figures: Mapping[str, Scalar]
    #: True if all conditions hold for it.
    holds: bool
    #: The reason why the value is impossible; empty if it is possible.
    reason: str = ""


@dataclass(frozen=True, repr=False)
class Threshold(Document):
    """The value from which, or up to which, all conditions hold."""

    #: The option, as typed.
    option: str
    #: The conditions.
    wanted: tuple[str, ...]
    #: ``found``; ``everywhere`` or ``nowhere`` in the range; ``interrupted``.
    status: str
    #: The last value of the range for which the conditions hold, next to one for which they do not;
    #: ``None`` unless found.
    value: Scalar
    #: ``least`` if the conditions hold for larger values, ``most`` if for smaller ones; empty
    #: unless found.
    side: str
    #: The values from which on the better and the worse ends of the 95% intervals meet the
    #: conditions. One of them is ``None`` if it is beyond the range; the whole interval is ``None``
    #: if a figure has no interval.
    interval: tuple[Scalar, Scalar] | None
    #: A lower bound for the probability that the interval contains the true value; ``None`` without
    #: an interval.
    confidence: float | None
    #: The ends of the range.
    ends: tuple[Scalar, Scalar]
    #: All values that were simulated, in the order of the range.
    tried: tuple[Tried, ...]
    #: The findings: the main one, those on the values, and those of a single result.
    findings: tuple[Finding, ...]
    #: The result at the value found; ``None`` unless found.
    result: Result | None

    def _shown(self) -> Shown:
        head, *others = self.findings
        names = list(dict.fromkeys(name for trial in self.tried for name in trial.figures))
        names = [name for name in names if not name.endswith("_ci95")]
        columns = [Column(self.option, is_figure=True)]
        columns += [Column(name.replace("_", " "), is_figure=True) for name in names]
        rows = [
            [
                str(trial.value),
                *(_figure(trial, name) for name in names),
                "holds" if trial.holds else "",
            ]
            for trial in self.tried
        ]
        return Shown(head.text, rows, [*columns, Column("")], [finding.text for finding in others])

    def to_dict(self) -> dict[str, Json]:
        """All of it as plain Python values, with the keys of the JSON document."""
        tried = [
            {
                "value": trial.value,
                "holds": trial.holds,
                **trial.figures,
                "reason": trial.reason or None,
            }
            for trial in self.tried
        ]
        return dict(plain({"version": _core.version(), **vars(self), "tried": tried}))

    @property
    def interrupted(self) -> bool:
        """True if it was stopped before its end."""
        return self.status == "interrupted"


def _figure(trial: Tried, name: str) -> str:
    value, half = trial.figures.get(name), trial.figures.get(f"{name}_ci95")
    return figure(value, half)  # type: ignore[arg-type]
