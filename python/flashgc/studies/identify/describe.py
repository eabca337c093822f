"""The findings of an identification, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from flashgc.studies.identify.found import HeldOut, Identified, Ranked, WhatIf
from flashgc.units import format_share

#: Schemes that are named in a sentence; more are counted.
_NAMED = 6


def sentences(one: Identified, *, interrupted: bool = False) -> list[str]:
    """The answer for one drive, or several of one hardware.

    Of work that was ``interrupted`` nothing is concluded but what fits best so far.
    """
    best = one.best
    if best is None:
        return ["No scheme was simulated on all workloads."]
    if interrupted:
        return [
            _best(one, best),
            f"Interrupted: {len(one.ranking)} schemes were simulated. Others may fit better.",
        ]
    said = [_best(one, best), _blocks(best)]
    if not one.is_explained:
        said.append(
            f"No scheme of {len(one.ranking)} explains all points within the errors of measurement "
            "and simulation: the drive does something else, or was measured in another state."
        )
    said.append(_alike(one))
    beaten = [ranked for ranked in one.ranking if ranked.is_told_apart]
    if beaten:
        said.append(
            f"The best beats {len(beaten)} others; the nearest of them is {_name(beaten[0])}, off "
            f"by {_share(beaten[0].explanation.rms)} (rms) and "
            f"{_share(beaten[0].explanation.largest)} at most."
        )
    said += _further(one)
    return said


def _best(one: Identified, best: Ranked) -> str:
    explanation = best.explanation
    errors = explanation.errors
    worst = max(range(len(errors)), key=lambda index: abs(errors[index]))
    workloads = [point.workload for drive in one.drives for point in drive.points]
    spares = " and ".join(format_share(fit.spare) for fit in explanation.fits)
    lead = "Best explanation" if one.is_explained else "Nearest"
    return (
        f"{lead}: {_name(best)} with {spares} spare; it is off by {_share(explanation.rms)} (rms) "
        f"and {_share(explanation.largest)} at most (at {workloads[worst]})."
    )


def _blocks(best: Ranked) -> str:
    explanation = best.explanation
    if not explanation.blocks_alike:
        return f"The simulated drive has {explanation.blocks} blocks."
    others = ", ".join(map(str, explanation.blocks_alike))
    return f"The simulated drive has {explanation.blocks} blocks; {others} may be right as well."


def _alike(one: Identified) -> str:
    others = one.alike[1:]
    if not others:
        return "The measurement tells it from every other scheme."
    named = [_name(ranked) for ranked in others[:_NAMED]]
    more = len(others) - len(named)
    rest = f" and {more} more" if more else ""
    return f"Cannot tell: {', '.join(named)}{rest} may be it as well."


def _further(one: Identified) -> list[str]:
    if not one.further:
        return []
    first = one.further[0]
    low, high = min(first.predicted), max(first.predicted)
    if first.spread < 0.04:
        return [
            f"No other workload of the list tells them apart: at {first.workload} they predict "
            f"{low:.2f} to {high:.2f}."
        ]
    return [
        f"Measure {first.workload} to tell them apart: they predict {low:.2f} to {high:.2f} there."
    ]


def held_out(points: Sequence[HeldOut], rms: float) -> str:
    """Return how well points are predicted from the others."""
    worst = max(points, key=lambda point: abs(point.error))
    return (
        f"Held out: each point predicted from the others is off by {_share(rms)} (rms) and "
        f"{_share(abs(worst.error))} at most (at {worst.workload})."
    )


def what_if(one: WhatIf) -> str:
    """Return the effect of a change on a drive."""
    changes = [after / before - 1 for before, after in zip(one.now, one.then, strict=True)]
    low, high = min(changes), max(changes)
    said = (
        f"What if {one.change}: {one.drive} with {one.scheme} and {format_share(one.spare)} spare. "
        f"Write amplification changes by {signed(low)} to {signed(high)}"
    )
    if one.least == one.most:
        return f"{said}."
    least, most = min(one.least) - 1, max(one.most) - 1
    return f"{said}; by {signed(least)} to {signed(most)} with others that may be it."


def _name(ranked: Ranked) -> str:
    return ranked.explanation.scheme.name


def _share(share: float) -> str:
    return format_share(share)


def signed(share: float) -> str:
    """A change or an error for people.

    >>> signed(0.05), signed(-0.012), signed(-0.0001)
    ('+5%', '-1.2%', '0%')
    """
    text = format_share(abs(share))
    return text if text == "0%" else ("+" if share > 0 else "-") + text
