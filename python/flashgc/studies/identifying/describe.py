"""The findings of an identification: all sentences, each with its rule and its evidence.

Terminal, JSON and Python show the same findings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flashgc._documents import Json
from flashgc.results.findings import Finding, Rules
from flashgc.studies.identifying.fit import LEAST_CHANCE, REJECTED, Interval
from flashgc.studies.identifying.outcome import Further, Identified, Ranked, WhatIf
from flashgc.units import format_share, many

#: The maximum number of schemes that a sentence names; of further ones it gives the number.
_NAMED = 6
RULES = Rules("identify")


def findings(group: Identified, *, interrupted: bool = False) -> tuple[Finding, ...]:
    """The findings for one drive, or for several drives with the same hardware.

    For ``interrupted`` work, the only conclusion is what fits best so far.
    """
    return tuple(_findings(group, interrupted=interrupted))


def _findings(group: Identified, *, interrupted: bool) -> Iterator[Finding]:
    best = group.best
    if best is None:
        yield RULES["no-scheme"].found("No scheme was simulated on all workloads")
        return
    yield _best(group, best)
    if interrupted:
        yield RULES["identify-interrupted"].found(
            f"Interrupted: {len(group.ranking)} schemes were simulated. Others may fit better",
            schemes=len(group.ranking),
        )
        return
    yield _trust(group)
    yield _spare(group, best)
    yield _blocks(best)
    yield _alike(group)
    yield from _beaten(group)
    yield from _deciding(group)
    yield from _held_out(group)
    yield from map(_what_if, group.what_ifs)


def _best(group: Identified, best: Ranked) -> Finding:
    explanation = best.explanation
    errors = explanation.errors
    worst = max(range(len(errors)), key=lambda index: abs(errors[index]))
    workloads = [point.workload for drive in group.drives for point in drive.points]
    spares = " and ".join(format_share(fit.spare) for fit in explanation.fits)
    name = "best-explanation" if group.is_explained else "nearest-scheme"
    lead = "Best explanation among" if group.is_explained else "Nearest of"
    return RULES[name].found(
        f"{lead} {many(len(group.ranking), 'scheme')}: {_name(best)} with {spares} spare; it "
        f"is off by {format_share(explanation.rms)} (rms) and {format_share(explanation.largest)} "
        f"at most (at {workloads[worst]})",
        scheme=_name(best),
        schemes=len(group.ranking),
        rms_error=explanation.rms,
        largest_error=explanation.largest,
        chi_square=explanation.chi_square,
        **({} if group.goodness is None else {"chance": group.goodness.chance}),
    )


def _trust(group: Identified) -> Finding:
    """A doubt about the best explanation: the true scheme may not be in the list."""
    rate = group.false_best
    if not group.is_explained:
        chance = 0.0 if group.goodness is None else group.goodness.chance
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
    fewer = min(len(drive.points) for drive in group.drives) < rate.workloads
    larger = max(point.error for drive in group.drives for point in drive.points) > rate.noise
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


def _spare(group: Identified, best: Ranked) -> Finding:
    own, every = best.explanation.intervals, group.spares
    names = [drive.name for drive in group.drives]
    several = len(group.alike) > 1
    parts: list[str] = []
    evidence: dict[str, Json] = {}
    for index, (name, mine, all_of_them) in enumerate(zip(names, own, every, strict=True), 1):
        if mine is None or all_of_them is None:  # Only best explanations have both.
            continue
        text = f"{interval(mine)} with {_name(best)}"
        if several and interval(mine) != interval(all_of_them):
            text += f", {interval(all_of_them)} with any that cannot be told from it"
        parts.append(text if len(names) == 1 else f"{name} {text}")
        end = "" if len(names) == 1 else f"_{index}"
        evidence |= {f"low{end}": all_of_them.low, f"high{end}": all_of_them.high}
    return RULES["spare-interval"].found(f"Spare: {'; '.join(parts)}", **evidence)


def interval(interval: Interval) -> str:
    """A text for an interval of spare factors.

    >>> interval(Interval(0.1, 0.12, False, False)), interval(Interval(0.04, 0.12, True, False))
    ('10% to 12%', '4% or less to 12%')
    """
    low, high = format_share(interval.low), format_share(interval.high)
    low += " or less" if interval.is_open_below else ""
    return f"{low} to {high}" + (" or more" if interval.is_open_above else "")


def _blocks(best: Ranked) -> Finding:
    explanation = best.explanation
    sentence = f"The simulated drive has {explanation.blocks} blocks"
    if explanation.blocks_alike:
        sentence += f"; {', '.join(map(str, explanation.blocks_alike))} may be right as well"
    return RULES["blocks"].found(sentence, blocks=explanation.blocks)


def _alike(group: Identified) -> Finding:
    others = group.alike[1:]
    if not others:
        return RULES["only-explanation"].found("The measurement tells it from every other scheme")
    return RULES["cannot-tell"].found(
        f"Cannot tell: {_listed([_name(ranked) for ranked in others])} may be it as well",
        schemes=len(others),
        distance=others[0].distance,
    )


def _beaten(group: Identified) -> Iterator[Finding]:
    beaten = [ranked for ranked in group.ranking if ranked.is_told_apart]
    if beaten:
        nearest = beaten[0].explanation
        yield RULES["beaten"].found(
            f"The best beats {many(len(beaten), 'other')}; the nearest of them is "
            f"{_name(beaten[0])}, off by {format_share(nearest.rms)} (rms) and "
            f"{format_share(nearest.largest)} at most",
            schemes=len(beaten),
            rms_error=nearest.rms,
            largest_error=nearest.largest,
        )


def _deciding(group: Identified) -> Iterator[Finding]:
    """The finding on the workload that would distinguish explanations, or comes nearest to that."""
    if not group.further:
        return
    first = group.further[0]
    evidence: dict[str, Json] = {
        "workload": first.workload,
        "pairs": first.pairs,
        "pairs_told_apart": first.pairs_told_apart,
        "error": first.error,
        "least": min(first.predicted),
        "most": max(first.predicted),
    }
    if group.deciding is None:
        low, high = min(first.predicted), max(first.predicted)
        yield RULES["no-deciding-workload"].found(
            f"No further workload of the list tells two of them apart: at {first.workload} they "
            f"predict {low:.2f} to {high:.2f}, and a measurement is off by "
            f"{format_share(first.error)}",
            **evidence,
        )
        return
    yield RULES["deciding-workload"].found(
        f"Measure {first.workload} next: {_expected(group, first)}. That tells "
        f"{first.pairs_told_apart} of {many(first.pairs, 'pair')} apart",
        **evidence,
    )


def _expected(group: Identified, further: Further) -> str:
    pairs = zip(group.alike, further.predicted, strict=False)
    return _listed([f"{_name(ranked)} predicts {value:.2f}" for ranked, value in pairs])


def _held_out(group: Identified) -> Iterator[Finding]:
    """The finding on the errors of points predicted from all others."""
    if not group.held_out or group.held_out_rms is None:
        return
    worst = max(group.held_out, key=lambda point: abs(point.error))
    yield RULES["held-out"].found(
        f"Held out: each point predicted from the others is off by "
        f"{format_share(group.held_out_rms)} (rms) and {format_share(abs(worst.error))} at "
        f"most (at {worst.workload})",
        rms_error=group.held_out_rms,
        largest_error=abs(worst.error),
    )


def _what_if(what_if: WhatIf) -> Finding:
    """The finding on the effect of a change of a drive."""
    changes = [after / before - 1 for before, after in zip(what_if.now, what_if.then, strict=True)]
    low, high = min(changes), max(changes)
    text = (
        f"What if {what_if.change}: {what_if.drive} with {what_if.scheme} and "
        f"{format_share(what_if.spare)} spare. Write amplification changes by {signed(low)} to "
        f"{signed(high)}"
    )
    least, most = min(what_if.least) - 1, max(what_if.most) - 1
    if what_if.least != what_if.most:
        text += f"; by {signed(least)} to {signed(most)} with others that may be it"
    return RULES["what-if"].found(text, spare=what_if.spare, least=least, most=most)


def _name(ranked: Ranked) -> str:
    return ranked.explanation.scheme.name


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def signed(share: float) -> str:
    """A text for a change or an error.

    >>> signed(0.05), signed(-0.012), signed(-0.0001)
    ('+5%', '-1.2%', '0%')
    """
    text = format_share(abs(share))
    return text if text == "0%" else ("+" if share > 0 else "-") + text
