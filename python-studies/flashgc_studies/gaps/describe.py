"""The findings of a gap: the span from greedy to the lower bound, in sentences."""

from __future__ import annotations

import math

from flashgc._documents import Json
from flashgc.results.findings import DOUBT, INVALID, NOTE, Finding, declare, doubts_of
from flashgc_studies.gaps.outcome import ONLINE, PREDICTOR, Gap, Row

RULES = declare(
    "gap",
    (
        "gap-interrupted",
        INVALID,
        "Only some of the rows were measured.",
        "The command was stopped before its end.",
    ),
    (
        "best-online",
        NOTE,
        "One couple of victim policy and placement writes least.",
        "Clairvoyance was not measured.",
    ),
    (
        "open-gap",
        NOTE,
        "So much of the best couple's amplification above the bound is saved by foresight.",
        "Clairvoyance writes less than the best online couple, by more than the 95% interval of "
        "the difference, or it has no interval.",
    ),
    (
        "open-within-noise",
        DOUBT,
        "Clairvoyance writes less, which may be chance.",
        "The 95% interval of the difference holds 0.",
    ),
    (
        "no-gain-ahead",
        NOTE,
        "This foresight does not beat the best online couple.",
        "Clairvoyance writes as much as the best online couple, or more.",
    ),
    (
        "best-online-alike",
        DOUBT,
        "Other couples cannot be told apart from the best.",
        "The 95% interval of their difference from the best holds 0.",
    ),
    (
        "predictor-gain",
        NOTE,
        "A predictor with this error writes less than the best online couple, by this difference.",
        "Of the predictors that were run, this error is nearest to a factor of e; the 95% interval "
        "of the difference leaves out 0, or there is none.",
    ),
    (
        "predictor-loss",
        NOTE,
        "A predictor with this error writes more than the best online couple.",
        "As predictor-gain, and the difference has the other sign.",
    ),
    (
        "predictor-alike",
        DOUBT,
        "A predictor with this error cannot be told apart from the best online couple.",
        "As predictor-gain, and the 95% interval of the difference holds 0.",
    ),
    (
        "equal-predictor",
        NOTE,
        "The best online couple is as good as a predictor with an error between these.",
        "The predictors' amplification rises with their error and passes that of the best couple "
        "between two that were run. A single figure is said where these differ by a factor of 2 "
        "at most.",
    ),
    (
        "unsteady-predictors",
        DOUBT,
        "Predictors do not get steadily worse with their error.",
        "Their amplification passes that of the best couple downwards, or several times.",
    ),
    (
        "ahead-of-predictors",
        NOTE,
        "The best online couple writes less than every predictor that was run.",
        "Its amplification is below that of all of them.",
    ),
    (
        "behind-predictors",
        NOTE,
        "The best online couple writes more than the predictor with the largest error.",
        "Its amplification is above that of all predictors that were run.",
    ),
    (
        "single-pages",
        NOTE,
        "Errors are drawn for each page write.",
        "No predictor with errors of requests was run.",
    ),
    (
        "row-left-out",
        NOTE,
        "A couple or a predictor cannot be run on this drive.",
        "The engine refuses it.",
    ),
)

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
        ("drive", _drive(gap)),
        ("runs", f"{runs}; {gap.simulations + gap.found} rows{kept}; intervals are 95%"),
        (
            "foresight",
            f"{gap.classes} classes of remaining life, {gap.horizon:g} logical capacities ahead",
        ),
    ]


def _drive(gap: Gap) -> str:
    if gap.blocks is None or gap.spare_factor is None:
        return "not known yet: stopped while it was looked at"
    return (
        f"{gap.blocks} blocks of {gap.pages_per_block} pages, spare factor "
        f"{gap.spare_factor:.4f}, pool frontier"
    )


def findings(gap: Gap) -> list[Finding]:
    """All that there is to say below the table, each a thought."""
    told = []
    if gap.interrupted:
        ran = [one for one in gap if one.victim is not None]
        done = sum(one.digest is not None for one in ran)
        claim = f"Interrupted: {done} of {len(ran)} rows were measured"
        told.append(RULES["gap-interrupted"].found(claim, measured=done, rows=len(ran)))
    if not gap.online:
        return [*told, *_left_out(gap)]
    return [
        *told,
        *_between(gap),
        *doubts_of((one.name, one.findings) for one in gap if one.digest is not None),
    ]


def _between(gap: Gap) -> list[Finding]:
    """The findings on the span itself."""
    return [
        _gap(gap),
        *_alike(gap),
        *(one for errors in gap.equal for one in _predictors(gap, errors)),
        *_errors(gap),
        *_left_out(gap),
    ]


def _gap(gap: Gap) -> Finding:
    best, clairvoyance = gap.best, gap.clairvoyance
    head = f"The best online couple is {best.name} with {text(best.write_amplification)}"
    if clairvoyance is None or gap.open is None:
        return RULES["best-online"].found(head, best=best.write_amplification)
    head = f"{head}; clairvoyance reaches {text(clairvoyance.write_amplification)}."
    least = gap.bound or math.nan
    above = (best.write_amplification or math.nan) - least
    evidence: dict[str, Json] = {
        "best": best.write_amplification,
        "clairvoyance": clairvoyance.write_amplification,
        "bound": least,
    }
    if gap.open <= 0:
        return RULES["no-gain-ahead"].found(
            f"{head} So this foresight is no gain here: with these classes, this horizon and these "
            "victims it does not beat a scheme that knows only the past",
            **evidence,
        )
    # 1 where the host writes whole pages.
    bound = "1" if least == 1 else f"the bound of {text(least)}"
    claim = f"{head} So {text(gap.open)} of {text(above)} above {bound} is open"
    if clairvoyance.inside_noise:
        return RULES["open-within-noise"].found(f"{claim}, which is within noise", **evidence)
    return RULES["open-gap"].found(claim, **evidence)


def _alike(gap: Gap) -> list[Finding]:
    alike = [one.name for one in gap.online if one.inside_noise and not one.is_best]
    if not alike:
        return []
    claim = f"It cannot be told apart from {', '.join(alike)}"
    return [RULES["best-online-alike"].found(claim, alike=len(alike))]


def _predictors(gap: Gap, errors: str) -> list[Finding]:
    """The gain by predictors, and the one that is as good as the best couple."""
    shown = gap.predictors(errors)
    if not shown:
        return []
    best, kind = gap.best, _ERRORS[errors]
    one = min(shown, key=lambda row: abs(math.log(row.sigma or 1.0)))
    worth = -(one.difference or 0.0)
    named = f"A predictor with sigma = {one.sigma:g}{kind}"
    if one.inside_noise:
        rule, claim = "predictor-alike", f"{named} cannot be told apart from {best.name}"
    elif worth > 0:
        rule, claim = "predictor-gain", f"{named} would be worth {text(worth)}"
    else:
        rule, claim = "predictor-loss", f"{named} would be no gain: it writes {text(-worth)} more"
    told = [RULES[rule].found(claim, sigma=one.sigma, gain=worth, gain_ci95=one.difference_ci95)]
    equal = gap.equal[errors]
    evidence: dict[str, Json] = {
        "crossings": list(equal.crossings),
        "brackets": [[*at] for at in equal.brackets],
    }
    if equal.standing == "at":
        at = _at(equal.crossings[0], equal.brackets[0], kind)
        claim = f"{best.name} is as good as a predictor with {at}"
        told.append(RULES["equal-predictor"].found(claim, **evidence))
    elif equal.standing == "between":
        ends = [*zip(equal.crossings, equal.brackets, strict=True)]
        at = " and with ".join(_at(*one) for one in (ends[0], ends[-1]))
        claim = (
            f"Predictors do not get steadily worse with sigma{kind} here: they are as good as "
            f"{best.name} with {at}"
            if len(equal.crossings) > 1
            else f"Predictors get better with sigma{kind} here, so that none is as good as "
            f"{best.name} for certain"
        )
        told.append(RULES["unsteady-predictors"].found(claim, **evidence))
    elif equal.standing == "ahead":
        claim = f"{best.name} writes less than every predictor with errors{kind} here"
        told.append(RULES["ahead-of-predictors"].found(claim))
    elif equal.standing == "behind":
        claim = (
            f"{best.name} writes more than a predictor with sigma = {equal.most:g}{kind}, the "
            "largest that was run; larger ones are not guessed"
        )
        told.append(RULES["behind-predictors"].found(claim, sigma=equal.most))
    return told


#: The factor by which two errors that were run may differ, so that one between them is named.
_NARROW = 2.0


def _at(crossing: float, bracket: tuple[float, float], kind: str = "") -> str:
    """The error of this ``kind`` at which a scheme stands, as far as it is known.

    >>> _at(1.5, (1, 2)), _at(61.0, (10, 100), " a request"), _at(1, (1, 1))
    ('sigma between 1 and 2 (about 1.5)', 'sigma between 10 and 100 a request', 'sigma = 1')
    """
    low, high = bracket
    if low == high:
        return f"sigma = {low:g}{kind}"
    about = f" (about {crossing:.2g})" if high <= _NARROW * low else ""
    return f"sigma between {low:g} and {high:g}{kind}{about}"


def _errors(gap: Gap) -> list[Finding]:
    kinds = {one.errors for one in gap if one.kind == PREDICTOR}
    if kinds != {"write"}:
        return []
    claim = (
        "Errors are drawn for each page write; where requests are single pages there are no others"
    )
    return [RULES["single-pages"].found(claim)]


def _left_out(gap: Gap) -> list[Finding]:
    """Rows that could not be, with the reason."""
    left: list[Row] = [
        one for one in gap if one.reason not in ("", "stopped") and one.kind in (ONLINE, PREDICTOR)
    ]
    return [RULES["row-left-out"].found(f"{one.name} cannot be run: {one.reason}") for one in left]
