"""The findings of a gap, as sentences: the span from greedy to the lower bound."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flashgc._documents import Json
from flashgc.results.findings import Finding, Rules, doubts_of
from flashgc.studies.gaps.outcome import ONLINE, PREDICTOR, Gap, Row

RULES = Rules("gap")

#: Texts for each kind of errors: drawn per write, or per request.
_ERRORS = {"write": "", "request": " a request"}


def text(value: float | None, *, sign: bool = False) -> str:
    """A write amplification, or a difference of two.

    >>> text(1.25), text(-0.5, sign=True), text(None)
    ('1.2500', '-0.5000', '-')
    """
    return "-" if value is None else f"{value:{'+' if sign else ''}.4f}"


def heading(gap: Gap) -> list[tuple[str, str]]:
    """Return the facts about the runs, by name."""
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
    """All findings that are shown below the table."""
    findings = []
    if gap.interrupted:
        ran = [row for row in gap if row.victim is not None]
        done = sum(row.digest is not None for row in ran)
        claim = f"Interrupted: {done} of {len(ran)} rows were measured"
        findings.append(RULES["gap-interrupted"].found(claim, measured=done, rows=len(ran)))
    if not gap.online:
        return [*findings, *_left_out(gap)]
    return [
        *findings,
        *_between(gap),
        *doubts_of((row.name, row.findings) for row in gap if row.digest is not None),
    ]


def _between(gap: Gap) -> list[Finding]:
    """The findings on the span itself."""
    return [
        _gap(gap),
        *_alike(gap),
        *(finding for errors in gap.equal for finding in _predictors(gap, errors)),
        *_errors(gap),
        *_left_out(gap),
    ]


def _gap(gap: Gap) -> Finding:
    best, clairvoyance = gap.best, gap.clairvoyance
    head = f"The best online scheme is {best.name} with {text(best.write_amplification)}"
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
    # The bound is 1 if the host writes whole pages.
    bound = "1" if least == 1 else f"the bound of {text(least)}"
    if above < _NOTHING * least:
        claim = f"The best online scheme is {best.name} with {text(best.write_amplification)}"
        claim += ", which is the lower bound: nothing is left to gain"
        return RULES["nothing-left"].found(claim, **evidence)
    if clairvoyance.inside_noise:
        claim = (
            f"{head} The difference is within noise; {text(above)} above {bound} is open at most"
        )
        return RULES["open-within-noise"].found(claim, **evidence)
    if gap.open <= 0:
        return RULES["no-gain-ahead"].found(
            f"{head} So this foresight is no gain here: with these classes, this horizon and these "
            "victims it does not beat a scheme that knows only the past",
            **evidence,
        )
    claim = f"{head} So {text(gap.open)} of {text(above)} above {bound} is open"
    return RULES["open-gap"].found(claim, **evidence)


#: The relative distance from the bound below which nothing is left to gain.
_NOTHING = 0.0005


def _alike(gap: Gap) -> list[Finding]:
    alike = [row.name for row in gap.online if row.inside_noise and not row.is_best]
    if not alike:
        return []
    claim = f"It cannot be told apart from {', '.join(alike)}"
    return [RULES["best-online-alike"].found(claim, alike=len(alike))]


def _predictors(gap: Gap, errors: str) -> list[Finding]:
    """Findings on the gain by predictors, and on the one that is as good as the best scheme."""
    shown = gap.predictors(errors)
    if not shown:
        return []
    best, kind = gap.best, _ERRORS[errors]
    predictor = min(shown, key=lambda row: abs(math.log(row.sigma or 1.0)))
    worth = -(predictor.difference or 0.0)
    subject = f"A predictor with sigma = {predictor.sigma:g}{kind}"
    if predictor.inside_noise:
        rule, claim = "predictor-alike", f"{subject} cannot be told apart from {best.name}"
    elif worth > 0:
        rule, claim = "predictor-gain", f"{subject} would be worth {text(worth)}"
    else:
        rule, claim = "predictor-loss", f"{subject} would be no gain: it writes {text(-worth)} more"
    findings = [
        RULES[rule].found(
            claim, sigma=predictor.sigma, gain=worth, gain_ci95=predictor.difference_ci95
        )
    ]
    return [*findings, *_standing(gap, errors)]


def _standing(gap: Gap, errors: str) -> list[Finding]:
    """A sentence on the position of the best scheme among the predictors with these errors."""
    best, kind, equal = gap.best, _ERRORS[errors], gap.equal[errors]
    evidence: dict[str, Json] = {
        "crossings": list(equal.crossings),
        "brackets": [[*ends] for ends in equal.brackets],
        "alike": list(equal.alike),
    }
    if equal.standing == "between":
        larger = next(sigma for sigma in reversed(equal.less) if sigma > equal.more[0])
        claim = (
            f"Predictors do not get steadily worse with sigma{kind} here: with {equal.more[0]:g} "
            f"one writes more than {best.name}, and with {larger:g} less"
        )
        return [RULES["unsteady-predictors"].found(claim, **evidence)]
    if equal.standing == "ahead":
        claim = f"{best.name} writes less than every predictor with errors{kind} here"
        return [RULES["ahead-of-predictors"].found(claim)]
    if equal.standing == "behind":
        most = equal.less[-1]
        claim = (
            f"{best.name} writes more than a predictor with sigma = {most:g}{kind}, the largest "
            "that was run; larger ones are not guessed"
        )
        return [RULES["behind-predictors"].found(claim, sigma=most)]
    if equal.alike:
        return [RULES["alike-predictors"].found(_alike_claim(gap, errors), **evidence)]
    if equal.standing == "at":
        at = _at(equal.crossings[0], equal.brackets[0], kind)
        claim = f"{best.name} is as good as a predictor with {at}"
        return [RULES["equal-predictor"].found(claim, **evidence)]
    return []


def _alike_claim(gap: Gap, errors: str) -> str:
    """A sentence on the predictors that do not differ significantly from the best scheme.

    >>> _enumerated((0, 0.25, 0.5)), _enumerated((1,))
    ('0, 0.25 and 0.5', '1')
    """
    equal = gap.equal[errors]
    claim = f"{gap.best.name} cannot be told apart from predictors with sigma = "
    claim += _enumerated(equal.alike) + _ERRORS[errors]
    sides = [("less", equal.less), ("more", equal.more)]
    others = [f"with {_enumerated(sigmas)} they write {word}" for word, sigmas in sides if sigmas]
    return claim + "".join(f"; {other}" for other in others)


def _enumerated(sigmas: Sequence[float]) -> str:
    *first, last = (f"{sigma:g}" for sigma in sigmas)
    return f"{', '.join(first)} and {last}" if first else last


#: If the errors next to a crossing differ by at most this factor, an error between them is named.
_NARROW = 2.0


def _at(crossing: float, bracket: tuple[float, float], kind: str = "") -> str:
    """A text with the predictor's error that gives a scheme's figure, as far as it is known.

    >>> _at(1.5, (1, 2)), _at(61.0, (10, 100), " a request")
    ('sigma between 1 and 2 (about 1.5)', 'sigma between 10 and 100 a request')
    """
    low, high = bracket
    about = f" (about {crossing:.2g})" if high <= _NARROW * low else ""
    return f"sigma between {low:g} and {high:g}{kind}{about}"


def _errors(gap: Gap) -> list[Finding]:
    kinds = {row.errors for row in gap if row.kind == PREDICTOR}
    if kinds != {"write"}:
        return []
    claim = (
        "Errors are drawn for each page write; where requests are single pages there are no others"
    )
    return [RULES["single-pages"].found(claim)]


def _left_out(gap: Gap) -> list[Finding]:
    """Findings on rows that could not run, with the reason."""
    left: list[Row] = [
        row for row in gap if row.reason not in ("", "stopped") and row.kind in (ONLINE, PREDICTOR)
    ]
    return [RULES["row-left-out"].found(f"{row.name} cannot be run: {row.reason}") for row in left]
