"""The findings of an identification: every sentence of it, with its rule and its evidence.

Terminal, JSON and Python show the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flashgc._documents import Json
from flashgc.results.findings import Finding, Rules
from flashgc.studies.identifying.fit import LEAST_CHANCE, REJECTED, Interval
from flashgc.studies.identifying.outcome import Further, Identified, Ranked, WhatIf
from flashgc.units import format_share

#: Schemes that are named in a sentence; more are counted.
_NAMED = 6
RULES = Rules("identify")


def findings(one: Identified, *, interrupted: bool = False) -> tuple[Finding, ...]:
    """The answer for one drive, or several of one hardware.

    Of work that was ``interrupted`` nothing is concluded but what fits best so far.
    """
    return tuple(_findings(one, interrupted=interrupted))


def _findings(one: Identified, *, interrupted: bool) -> Iterator[Finding]:
    best = one.best
    if best is None:
        yield RULES["no-scheme"].found("No scheme was simulated on all workloads")
        return
    yield _best(one, best)
    if interrupted:
        yield RULES["identify-interrupted"].found(
            f"Interrupted: {len(one.ranking)} schemes were simulated. Others may fit better",
            schemes=len(one.ranking),
        )
        return
    yield _trust(one)
    yield _spare(one, best)
    yield _blocks(best)
    yield _alike(one)
    yield from _beaten(one)
    yield from _deciding(one)
    yield from _held_out(one)
    yield from map(_what_if, one.what_ifs)


def _best(one: Identified, best: Ranked) -> Finding:
    explanation = best.explanation
    errors = explanation.errors
    worst = max(range(len(errors)), key=lambda index: abs(errors[index]))
    workloads = [point.workload for drive in one.drives for point in drive.points]
    spares = " and ".join(format_share(fit.spare) for fit in explanation.fits)
    name = "best-explanation" if one.is_explained else "nearest-scheme"
    lead = "Best explanation among" if one.is_explained else "Nearest of"
    return RULES[name].found(
        f"{lead} {_counted(len(one.ranking), 'scheme')}: {_name(best)} with {spares} spare; it is "
        f"off by {format_share(explanation.rms)} (rms) and {format_share(explanation.largest)} at "
        f"most (at {workloads[worst]})",
        scheme=_name(best),
        schemes=len(one.ranking),
        rms_error=explanation.rms,
        largest_error=explanation.largest,
        chi_square=explanation.chi_square,
        **({} if one.goodness is None else {"chance": one.goodness.chance}),
    )


def _trust(one: Identified) -> Finding:
    """The doubt about the best explanation: the true scheme may be none of the list."""
    rate = one.false_best
    if not one.is_explained:
        chance = 0.0 if one.goodness is None else one.goodness.chance
        share = ("at most " if chance <= LEAST_CHANCE else "") + format_share(chance)
        return RULES["none-explains"].found(
            "No scheme of the list explains all points: with the nearest, chance gives so bad a "
            f"fit in {share} of measurements, and the limit is {format_share(REJECTED)}. The drive "
            "does something else, or was measured in another state",
            chance=chance,
            limit=REJECTED,
        )
    if rate is None:
        return RULES["false-best-unknown"].found(
            "Other schemes may look like one of these; how often is known of the whole list alone",
        )
    fewer = min(len(drive.points) for drive in one.drives) < rate.workloads
    larger = max(point.error for drive in one.drives for point in drive.points) > rate.noise
    worse = ["fewer workloads"] * fewer + ["larger errors"] * larger
    more = f"; with {' and '.join(worse)}, as here, it is more" if worse else ""
    return RULES["false-best"].found(
        f"Of drives with a scheme outside the list, {format_share(rate.share)} look like one of "
        f"it by the same limit ({rate.explained} of {rate.drives}, measured on {rate.workloads} "
        f"workloads with an error of {format_share(rate.noise)}){more}",
        share=rate.share,
        explained=rate.explained,
        drives=rate.drives,
        workloads=rate.workloads,
        noise=rate.noise,
    )


def _spare(one: Identified, best: Ranked) -> Finding:
    own, every = best.explanation.intervals, one.spares
    names = [drive.name for drive in one.drives]
    several = len(one.alike) > 1
    parts: list[str] = []
    evidence: dict[str, Json] = {}
    for index, (name, mine, all_of_them) in enumerate(zip(names, own, every, strict=True), 1):
        if mine is None or all_of_them is None:  # Not of a best explanation.
            continue
        said = f"{interval(mine)} with {_name(best)}"
        if several and interval(mine) != interval(all_of_them):
            said += f", {interval(all_of_them)} with any that cannot be told from it"
        parts.append(said if len(names) == 1 else f"{name} {said}")
        end = "" if len(names) == 1 else f"_{index}"
        evidence |= {f"low{end}": all_of_them.low, f"high{end}": all_of_them.high}
    return RULES["spare-interval"].found(f"Spare: {'; '.join(parts)}", **evidence)


def interval(one: Interval) -> str:
    """An interval of spare factors for people.

    >>> interval(Interval(0.1, 0.12, False, False)), interval(Interval(0.04, 0.12, True, False))
    ('10% to 12%', '4% or less to 12%')
    """
    low, high = format_share(one.low), format_share(one.high)
    low += " or less" if one.is_open_below else ""
    return f"{low} to {high}" + (" or more" if one.is_open_above else "")


def _blocks(best: Ranked) -> Finding:
    explanation = best.explanation
    said = f"The simulated drive has {explanation.blocks} blocks"
    if explanation.blocks_alike:
        said += f"; {', '.join(map(str, explanation.blocks_alike))} may be right as well"
    return RULES["blocks"].found(said, blocks=explanation.blocks)


def _alike(one: Identified) -> Finding:
    others = one.alike[1:]
    if not others:
        return RULES["only-explanation"].found("The measurement tells it from every other scheme")
    return RULES["cannot-tell"].found(
        f"Cannot tell: {_listed([_name(ranked) for ranked in others])} may be it as well",
        schemes=len(others),
        distance=others[0].distance,
    )


def _beaten(one: Identified) -> Iterator[Finding]:
    beaten = [ranked for ranked in one.ranking if ranked.is_told_apart]
    if beaten:
        nearest = beaten[0].explanation
        yield RULES["beaten"].found(
            f"The best beats {_counted(len(beaten), 'other')}; the nearest of them is "
            f"{_name(beaten[0])}, off by {format_share(nearest.rms)} (rms) and "
            f"{format_share(nearest.largest)} at most",
            schemes=len(beaten),
            rms_error=nearest.rms,
            largest_error=nearest.largest,
        )


def _deciding(one: Identified) -> Iterator[Finding]:
    """One workload that would tell explanations apart, or the one that is nearest to it."""
    if not one.further:
        return
    first = one.further[0]
    evidence: dict[str, Json] = {
        "workload": first.workload,
        "pairs": first.pairs,
        "pairs_told_apart": first.pairs_told_apart,
        "error": first.error,
        "least": min(first.predicted),
        "most": max(first.predicted),
    }
    if one.deciding is None:
        low, high = min(first.predicted), max(first.predicted)
        yield RULES["no-deciding-workload"].found(
            f"No further workload of the list tells two of them apart: at {first.workload} they "
            f"predict {low:.2f} to {high:.2f}, and a measurement is off by "
            f"{format_share(first.error)}",
            **evidence,
        )
        return
    yield RULES["deciding-workload"].found(
        f"Measure {first.workload} next: {_expected(one, first)}. That tells "
        f"{first.pairs_told_apart} of {_counted(first.pairs, 'pair')} apart",
        **evidence,
    )


def _expected(one: Identified, further: Further) -> str:
    pairs = zip(one.alike, further.predicted, strict=False)
    return _listed([f"{_name(ranked)} predicts {value:.2f}" for ranked, value in pairs])


def _held_out(one: Identified) -> Iterator[Finding]:
    """The errors of points that are predicted from the others."""
    if not one.held_out or one.held_out_rms is None:
        return
    worst = max(one.held_out, key=lambda point: abs(point.error))
    yield RULES["held-out"].found(
        f"Held out: each point predicted from the others is off by "
        f"{format_share(one.held_out_rms)} (rms) and {format_share(abs(worst.error))} at most (at "
        f"{worst.workload})",
        rms_error=one.held_out_rms,
        largest_error=abs(worst.error),
    )


def _what_if(one: WhatIf) -> Finding:
    """The effect of a change on a drive."""
    changes = [after / before - 1 for before, after in zip(one.now, one.then, strict=True)]
    low, high = min(changes), max(changes)
    said = (
        f"What if {one.change}: {one.drive} with {one.scheme} and {format_share(one.spare)} spare. "
        f"Write amplification changes by {signed(low)} to {signed(high)}"
    )
    least, most = min(one.least) - 1, max(one.most) - 1
    if one.least != one.most:
        said += f"; by {signed(least)} to {signed(most)} with others that may be it"
    return RULES["what-if"].found(said, spare=one.spare, least=least, most=most)


def _name(ranked: Ranked) -> str:
    return ranked.explanation.scheme.name


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def signed(share: float) -> str:
    """A change or an error for people.

    >>> signed(0.05), signed(-0.012), signed(-0.0001)
    ('+5%', '-1.2%', '0%')
    """
    text = format_share(abs(share))
    return text if text == "0%" else ("+" if share > 0 else "-") + text
