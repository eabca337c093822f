"""The findings of a search for a value, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from flashgc._documents import Scalar
from flashgc.results.findings import Finding, Rules

RULES = Rules("find")
#: The rules by the status of a search.
_RULES = {
    "found": RULES["from-value"],
    "everywhere": RULES["every-value"],
    "nowhere": RULES["no-value"],
    "interrupted": RULES["find-interrupted"],
}


def outcome(
    option: str,
    wanted: Sequence[str],
    status: str,
    value: Scalar,
    side: str,
    ends: tuple[Scalar, Scalar],
) -> Finding:
    """The head of what was found."""
    what = " and ".join(wanted)
    first, last = ends
    told = {
        "found": f"{option} {value} is the {side} with {what}",
        "everywhere": f"{option}: every value from {first} to {last} has {what}",
        "nowhere": f"{option}: no value from {first} to {last} has {what}",
        "interrupted": f"{option}: not found yet",
    }
    return _RULES[status].found(told[status], value=value, first=first, last=last)


def several(values: Sequence[Scalar]) -> Finding:
    """The condition changes at each of ``values``."""
    where = ", ".join(map(str, values))
    return RULES["several-values"].found(
        f"the condition starts or stops to hold at several values ({where})",
        "a smaller range",
        values=list(values),
    )


def cannot(option: str, value: Scalar, reason: str) -> Finding:
    """A ``value`` is refused for this ``reason``, which may end with a hint."""
    return RULES["value-cannot-run"].found_in(f"{option} {value} cannot run: ", reason, value=value)
