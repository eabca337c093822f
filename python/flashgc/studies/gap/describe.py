"""The span from greedy to the lower bound, in sentences."""

from __future__ import annotations

import math

from flashgc.studies.gap.outcome import ONLINE, PREDICTOR, Gap, Row

#: The owners of independent errors, in words.
_ERRORS = {"write": "", "request": " a request"}


def text(value: float | None, *, sign: bool = False) -> str:
    """A write amplification, or a difference of two.

    >>> text(1.25), text(-0.5, sign=True), text(None)
    ('1.2500', '-0.5000', '-')
    """
    return "-" if value is None else f"{value:{'+' if sign else ''}.4f}"


def heading(gap: Gap) -> list[tuple[str, str]]:
    """Return the facts of the runs by name."""
    kept = f", {gap.found} of them kept by earlier work" if gap.found else ""
    runs = f"{gap.runs} of each row, on the same writes" if gap.runs > 1 else "1 of each row"
    return [
        ("workload", gap.workload),
        (
            "drive",
            f"{gap.blocks} blocks of {gap.pages_per_block} pages, spare factor "
            f"{gap.spare_factor:.4f}, pool frontier",
        ),
        ("runs", f"{runs}; {gap.simulations + gap.found} rows{kept}; intervals are 95%"),
        (
            "foresight",
            f"{gap.classes} classes of remaining life, {gap.horizon:g} logical capacities ahead",
        ),
    ]


def sentences(gap: Gap) -> list[str]:
    """All that there is to say below the table, each sentence a thought."""
    told = []
    if gap.interrupted:
        ran = [one for one in gap if one.victim is not None]
        done = sum(one.digest is not None for one in ran)
        told.append(f"Interrupted: {done} of {len(ran)} rows were measured.")
    if not gap.online:
        return [*told, *_left_out(gap)]
    return [
        *told,
        _gap(gap),
        *_alike(gap),
        *(line for errors in gap.equal for line in _predictors(gap, errors)),
        *_errors(gap),
        *_left_out(gap),
    ]


def _gap(gap: Gap) -> str:
    best, clairvoyance = gap.best, gap.clairvoyance
    head = f"The best online couple is {best.name} with {text(best.write_amplification)}"
    if clairvoyance is None or gap.open is None:
        return f"{head}."
    head = f"{head}; clairvoyance reaches {text(clairvoyance.write_amplification)}."
    least = gap.bound or math.nan
    above = (best.write_amplification or math.nan) - least
    if gap.open <= 0:
        return (
            f"{head} So this foresight is no gain here: with these classes, this horizon and these "
            "victims it does not beat a scheme that knows only the past."
        )
    noise = ", which is within noise" if clairvoyance.inside_noise else ""
    # 1 where the host writes whole pages.
    bound = "1" if least == 1 else f"the bound of {text(least)}"
    return f"{head} So {text(gap.open)} of {text(above)} above {bound} is open{noise}."


def _alike(gap: Gap) -> list[str]:
    alike = [one.name for one in gap.online if one.inside_noise and not one.is_best]
    if not alike:
        return []
    return [f"It cannot be told apart from {', '.join(alike)}."]


def _predictors(gap: Gap, errors: str) -> list[str]:
    """Return the gain by predictors, and the one that is as good as the best couple."""
    shown = gap.predictors(errors)
    if not shown:
        return []
    best, kind = gap.best, _ERRORS[errors]
    one = min(shown, key=lambda row: abs(math.log(row.sigma or 1.0)))
    worth = -(one.difference or 0.0)
    named = f"A predictor with sigma = {one.sigma:g}{kind}"
    if one.inside_noise:
        told = [f"{named} cannot be told apart from {best.name}."]
    elif worth > 0:
        told = [f"{named} would be worth {text(worth)}."]
    else:
        told = [f"{named} would be no gain: it writes {text(-worth)} more."]
    equal = gap.equal[errors]
    if equal.standing == "at":
        told.append(
            f"{best.name} is as good as a predictor with sigma of about {equal.sigma:.2g}{kind}."
        )
    elif equal.standing == "between":
        at = " and ".join(f"{sigma:.2g}" for sigma in (equal.crossings[0], equal.crossings[-1]))
        told.append(
            f"Predictors do not get steadily worse with sigma{kind} here: they are as good as "
            f"{best.name} at {at}."
            if len(equal.crossings) > 1
            else f"Predictors get better with sigma{kind} here, so that none is as good as "
            f"{best.name} for certain."
        )
    elif equal.standing == "ahead":
        told.append(f"{best.name} writes less than every predictor with errors{kind} here.")
    elif equal.standing == "behind":
        told.append(
            f"{best.name} writes more than a predictor with sigma = {equal.most:g}{kind}, the "
            "largest that was run; larger ones are not guessed."
        )
    return told


def _errors(gap: Gap) -> list[str]:
    kinds = {one.errors for one in gap if one.kind == PREDICTOR}
    if kinds != {"write"}:
        return []
    return ["Errors are drawn for each page write; where requests are single pages there are no "
            "others."]  # fmt: skip


def _left_out(gap: Gap) -> list[str]:
    """Rows that could not be, with the reason."""
    left: list[Row] = [
        one for one in gap if one.reason not in ("", "stopped") and one.kind in (ONLINE, PREDICTOR)
    ]
    return [f"{one.name} cannot be run: {one.reason}." for one in left]
