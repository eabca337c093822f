"""The findings of a search, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from flashgc._documents import Json
from flashgc.results.findings import Finding, Rules, doubts_of
from flashgc.studies.tuning.objective import Objective
from flashgc.studies.tuning.outcome import Entry, Tuned

RULES = Rules("tune")

_NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
#: Reasons that are told.
_REASONS = 2


def findings(tuned: Tuned) -> list[Finding]:
    """All that there is to say below the table, each a thought. Intervals have ``±``."""
    if not tuned.ranking:
        return [*_stopped(tuned), *_skipped(tuned)]
    return [
        *_stopped(tuned),
        _winner(tuned),
        *_alike(tuned),
        *_checked(tuned),
        *_skipped(tuned),
        *doubts_of((one.name, one.findings) for one in tuned),
    ]


def _winner(tuned: Tuned) -> Finding:
    best, greedy, of = tuned.best, tuned.greedy, tuned.of
    told = f"{best.name} is best: {of.told(best.figure)}"
    if greedy is None:
        return RULES["winner"].found(told, figure=best.figure)
    evidence: dict[str, Json] = {
        "figure": best.figure,
        "greedy": greedy.figure,
        "difference": greedy.difference,
        "difference_ci95": greedy.difference_ci95,
    }
    if greedy is best or greedy.candidate == best.candidate:
        claim = f"{told}. No configuration is better than this, which others are compared to"
        return RULES["greedy-is-best"].found(claim, **evidence)
    if greedy.inside_noise:
        claim = f"{told}. It cannot be told apart from {greedy.name} ({of.text(greedy.figure)})"
        return RULES["winner-like-greedy"].found(claim, **evidence)
    share = abs(greedy.difference / greedy.figure)
    more = "more" if greedy.difference < 0 else "less"
    size = of.text(abs(greedy.difference))
    half = "" if greedy.difference_ci95 is None else f" ± {of.text(greedy.difference_ci95)}"
    claim = f"{told}, {share:.1%} {more} than {greedy.name} (difference {size}{half})"
    return RULES["winner"].found(claim, **evidence)


def _alike(tuned: Tuned) -> list[Finding]:
    alike = tuned.alike
    told = []
    if len(alike) > 1:
        number = _NUMBERS[len(alike)] if len(alike) < len(_NUMBERS) else str(len(alike))
        claim = f"These {number} cannot be told apart: {'; '.join(one.name for one in alike)}"
        places: list[Json] = [one.place for one in alike]
        told.append(RULES["winners-alike"].found(claim, places=places))
    if any(one.difference_ci95 is None for one in tuned.ranking):
        told.append(
            RULES["search-without-intervals"].found(
                "There are no intervals: the last rung, which has them, was not run"
            )
        )
    return told


def _checked(tuned: Tuned) -> list[Finding]:
    best, of = tuned.best, tuned.of
    if tuned.holds_up is None:
        return [RULES["not-held-back"].found("Nothing was checked on what was held back")]
    where = f"On {tuned.held_back} (held back)"
    if tuned.holds_up:
        checked = [one for one in tuned.ranking if one.held_back is not None]
        return [
            RULES["holds-up"].found(
                f"{where} it holds up: none of {len(checked) - 1} others is better than "
                f"{of.text(best.held_back)} by more than noise",
                checked=len(checked),
                held_back=best.held_back,
            )
        ]
    ahead = [one for one in tuned.ranking if one.name in tuned.beaten_by]
    return [
        RULES["does-not-hold-up"].found(
            f"{where} {best.name} does not hold up: " + "; ".join(_ahead(one, of) for one in ahead),
            better=len(ahead),
            held_back=best.held_back,
        )
    ]


def _ahead(one: Entry, of: Objective) -> str:
    assert one.held_back_difference is not None
    return (
        f"{one.name} is better by {of.text(abs(one.held_back_difference))} ± "
        f"{of.text(one.held_back_ci95)}"
    )


def _skipped(tuned: Tuned) -> list[Finding]:
    """The number of candidates that cannot be, with the reasons."""
    rule = RULES["skipped"]
    told = [
        rule.found(
            f"{_counted(one.count)} that cannot run {'was' if one.count == 1 else 'were'} skipped: "
            f"{one.reason.partition('; hint: ')[0]}",
            combinations=one.count,
        )
        for one in tuned.skipped[:_REASONS]
    ]
    if rest := sum(one.count for one in tuned.skipped[_REASONS:]):
        claim = f"{_counted(rest)} more {'was' if rest == 1 else 'were'} skipped (--json says why)"
        told.append(rule.found(claim, combinations=rest))
    return told


def _counted(count: int) -> str:
    return f"{count} combination{'' if count == 1 else 's'}"


def _stopped(tuned: Tuned) -> list[Finding]:
    """Return how far a search came that was stopped."""
    why = (tuned.interrupted, "Interrupted"), (tuned.out_of_time, "The time was over")
    told = [word for is_so, word in why if is_so]
    if not told:
        return []
    rule = RULES["search-stopped"]
    if not tuned.rungs:
        return [rule.found(f"{told[0]} before the first rung", rungs=0)]
    number, rung = len(tuned.rungs), tuned.rungs[-1]
    if rung.whole:
        claim = f"{told[0]} after rung {number}, before the best were checked"
        return [rule.found(claim, rungs=number)]
    at = f"in rung {number}, after {rung.measured} of {rung.candidates} configurations"
    ranked = f"of rung {number - 1}" if number > 1 else "of these alone"
    claim = f"{told[0]} {at}; the ranking is {ranked}"
    return [rule.found(claim, rungs=number - 1, measured=rung.measured)]


def heading(tuned: Tuned) -> Sequence[tuple[str, str]]:
    """Return the facts of the search by name: its workload, objective, rungs and effort."""
    rungs = "; ".join(f"{rung.candidates} on {rung.words}" for rung in tuned.rungs)
    kept = f", {tuned.found} kept by an earlier search" if tuned.found else ""
    return [
        ("workload", tuned.workload),
        ("objective", tuned.objective),
        ("rungs", rungs or "none"),
        ("held back", tuned.held_back or "-"),
        ("runs", f"{tuned.simulations} simulations{kept}; intervals are 95%, of pairs"),
    ]
