"""The findings of a search, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from flashgc.studies.tune.objective import Objective
from flashgc.studies.tune.outcome import Entry, Tuned

_NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
#: Reasons that are told.
_REASONS = 2


def sentences(tuned: Tuned, plus_minus: str = "±") -> list[str]:
    """All that there is to say below the table, each sentence a thought."""
    if not tuned.ranking:
        return [*_stopped(tuned), *_skipped(tuned)]
    return [
        *_stopped(tuned),
        _winner(tuned, plus_minus),
        *_alike(tuned),
        *_checked(tuned, plus_minus),
        *_skipped(tuned),
    ]


def _winner(tuned: Tuned, plus_minus: str) -> str:
    best, greedy, of = tuned.best, tuned.greedy, tuned.of
    told = f"{best.name} is best: {of.told(best.figure)}"
    if greedy is None:
        return f"{told}."
    if greedy is best or greedy.candidate == best.candidate:
        return f"{told}. No configuration is better than this, which others are compared to."
    if greedy.inside_noise:
        return f"{told}. It cannot be told apart from {greedy.name} ({of.text(greedy.figure)})."
    share = abs(greedy.difference / greedy.figure)
    more = "more" if greedy.difference < 0 else "less"
    size = of.text(abs(greedy.difference))
    half = (
        "" if greedy.difference_ci95 is None else f" {plus_minus} {of.text(greedy.difference_ci95)}"
    )
    return f"{told}, {share:.1%} {more} than {greedy.name} (difference {size}{half})."


def _alike(tuned: Tuned) -> list[str]:
    alike = tuned.alike
    lines = []
    if len(alike) > 1:
        number = _NUMBERS[len(alike)] if len(alike) < len(_NUMBERS) else str(len(alike))
        lines.append(
            f"These {number} cannot be told apart: {'; '.join(one.name for one in alike)}."
        )
    if any(one.difference_ci95 is None for one in tuned.ranking):
        lines.append("There are no intervals: the last rung, which has them, was not run.")
    return lines


def _checked(tuned: Tuned, plus_minus: str) -> list[str]:
    best, of = tuned.best, tuned.of
    if tuned.holds_up is None:
        return ["Nothing was checked on what was held back."]
    where = f"On {tuned.held_back} (held back)"
    if tuned.holds_up:
        checked = [one for one in tuned.ranking if one.held_back is not None]
        return [
            f"{where} it holds up: none of {len(checked) - 1} others is better than "
            f"{of.text(best.held_back)} by more than noise."
        ]
    ahead = [one for one in tuned.ranking if one.name in tuned.beaten_by]
    return [
        f"{where} {best.name} does not hold up: "
        + "; ".join(_ahead(one, of, plus_minus) for one in ahead)
        + "."
    ]


def _ahead(one: Entry, of: Objective, plus_minus: str) -> str:
    assert one.held_back_difference is not None
    return (
        f"{one.name} is better by {of.text(abs(one.held_back_difference))} {plus_minus} "
        f"{of.text(one.held_back_ci95)}"
    )


def _skipped(tuned: Tuned) -> list[str]:
    """Return the number of candidates that cannot be, with the reasons."""
    lines = [
        f"{_counted(one.count)} that cannot run {'was' if one.count == 1 else 'were'} skipped: "
        f"{one.reason.partition('; hint: ')[0]}."
        for one in tuned.skipped[:_REASONS]
    ]
    if rest := sum(one.count for one in tuned.skipped[_REASONS:]):
        lines.append(
            f"{_counted(rest)} more {'was' if rest == 1 else 'were'} skipped (--json says why)."
        )
    return lines


def _counted(count: int) -> str:
    return f"{count} combination{'' if count == 1 else 's'}"


def _stopped(tuned: Tuned) -> list[str]:
    """Return how far a search came that was stopped."""
    why = (tuned.interrupted, "Interrupted"), (tuned.out_of_time, "The time was over")
    told = [word for is_so, word in why if is_so]
    if not told:
        return []
    if not tuned.rungs:
        return [f"{told[0]} before the first rung."]
    number, rung = len(tuned.rungs), tuned.rungs[-1]
    if rung.whole:
        return [f"{told[0]} after rung {number}, before the best were checked."]
    at = f"in rung {number}, after {rung.measured} of {rung.candidates} configurations"
    ranked = f"of rung {number - 1}" if number > 1 else "of these alone"
    return [f"{told[0]} {at}; the ranking is {ranked}."]


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
