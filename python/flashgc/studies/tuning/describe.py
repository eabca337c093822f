"""The findings of a search, as sentences."""

from __future__ import annotations

from collections.abc import Sequence

from flashgc._documents import Json
from flashgc.results.findings import Finding, Rules, doubts_of
from flashgc.studies.tuning.objective import Objective
from flashgc.studies.tuning.outcome import Entry, Tuned
from flashgc.units import many

RULES = Rules("tune")

_NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
#: The maximum number of reasons that are reported.
_REASONS = 2


def findings(tuned: Tuned) -> list[Finding]:
    """All findings that are shown below the table. Intervals have ``±``."""
    if not tuned.ranking:
        return [*_stopped(tuned), *_skipped(tuned)]
    return [
        *_stopped(tuned),
        _winner(tuned),
        *_alike(tuned),
        *_checked(tuned),
        *_skipped(tuned),
        *doubts_of((entry.name, entry.findings) for entry in tuned),
    ]


def _winner(tuned: Tuned) -> Finding:
    best, greedy, of = tuned.best, tuned.greedy, tuned.of
    text = f"{best.name} is best: {of.in_words(best.figure)}"
    if greedy is None:
        return RULES["winner"].found(text, figure=best.figure)
    evidence: dict[str, Json] = {
        "figure": best.figure,
        "greedy": greedy.figure,
        "difference": greedy.difference,
        "difference_ci95": greedy.difference_ci95,
    }
    if greedy is best or greedy.candidate == best.candidate:
        claim = f"{text}. No configuration is better than this, which others are compared to"
        return RULES["greedy-is-best"].found(claim, **evidence)
    if greedy.inside_noise:
        claim = f"{text}. It cannot be told apart from {greedy.name} ({of.text(greedy.figure)})"
        return RULES["winner-like-greedy"].found(claim, **evidence)
    share = abs(greedy.difference / greedy.figure)
    more = "more" if greedy.difference < 0 else "less"
    size = of.text(abs(greedy.difference))
    half = "" if greedy.difference_ci95 is None else f" ± {of.text(greedy.difference_ci95)}"
    claim = f"{text}, {share:.1%} {more} than {greedy.name} (difference {size}{half})"
    return RULES["winner"].found(claim, **evidence)


def _alike(tuned: Tuned) -> list[Finding]:
    alike = tuned.alike
    findings = []
    if len(alike) > 1:
        number = _NUMBERS[len(alike)] if len(alike) < len(_NUMBERS) else str(len(alike))
        claim = f"These {number} cannot be told apart: {'; '.join(entry.name for entry in alike)}"
        places: list[Json] = [entry.place for entry in alike]
        findings.append(RULES["winners-alike"].found(claim, places=places))
    if any(entry.difference_ci95 is None for entry in tuned.ranking):
        findings.append(
            RULES["search-without-intervals"].found(
                "There are no intervals: the last rung, which has them, was not run"
            )
        )
    return findings


def _checked(tuned: Tuned) -> list[Finding]:
    best, of = tuned.best, tuned.of
    if tuned.holds_up is None:
        return [RULES["not-held-back"].found("Nothing was checked on what was held back")]
    where = f"On {tuned.held_back} (held back)"
    if tuned.holds_up:
        checked = [entry for entry in tuned.ranking if entry.held_back is not None]
        return [
            RULES["holds-up"].found(
                f"{where} it holds up: none of {len(checked) - 1} others is better than "
                f"{of.text(best.held_back)} by more than noise",
                checked=len(checked),
                held_back=best.held_back,
            )
        ]
    ahead = [entry for entry in tuned.ranking if entry.name in tuned.beaten_by]
    return [
        RULES["does-not-hold-up"].found(
            f"{where} {best.name} does not hold up: "
            + "; ".join(_ahead(entry, of) for entry in ahead),
            better=len(ahead),
            held_back=best.held_back,
        )
    ]


def _ahead(entry: Entry, of: Objective) -> str:
    assert entry.held_back_difference is not None
    return (
        f"{entry.name} is better by {of.text(abs(entry.held_back_difference))} ± "
        f"{of.text(entry.held_back_ci95)}"
    )


def _skipped(tuned: Tuned) -> list[Finding]:
    """Findings on the number of impossible candidates, with the reasons."""
    rule = RULES["skipped"]
    findings = [
        rule.found(
            f"{many(skipped.count, 'combination')} that cannot run "
            f"{'was' if skipped.count == 1 else 'were'} skipped: "
            + skipped.reason.partition("; hint: ")[0],
            combinations=skipped.count,
        )
        for skipped in tuned.skipped[:_REASONS]
    ]
    if rest := sum(skipped.count for skipped in tuned.skipped[_REASONS:]):
        more = f"{many(rest, 'combination')} more {'was' if rest == 1 else 'were'}"
        claim = f"{more} skipped (--json says why)"
        findings.append(rule.found(claim, combinations=rest))
    return findings


def _stopped(tuned: Tuned) -> list[Finding]:
    """The finding on how far a stopped search came."""
    why = (tuned.interrupted, "Interrupted"), (tuned.out_of_time, "The time was over")
    reasons = [word for is_so, word in why if is_so]
    if not reasons:
        return []
    rule = RULES["search-stopped"]
    if not tuned.rungs:
        return [rule.found(f"{reasons[0]} before the first rung", rungs=0)]
    number, rung = len(tuned.rungs), tuned.rungs[-1]
    if rung.whole:
        claim = f"{reasons[0]} after rung {number}, before the best were checked"
        return [rule.found(claim, rungs=number)]
    at = f"in rung {number}, after {rung.measured} of {rung.candidates} configurations"
    ranked = f"of rung {number - 1}" if number > 1 else "of these alone"
    claim = f"{reasons[0]} {at}; the ranking is {ranked}"
    return [rule.found(claim, rungs=number - 1, measured=rung.measured)]


def heading(tuned: Tuned) -> Sequence[tuple[str, str]]:
    """Return the facts about the search by name: workload, objective, rungs and effort."""
    rungs = "; ".join(f"{rung.candidates} on {rung.words}" for rung in tuned.rungs)
    kept = f", {tuned.found} kept by an earlier search" if tuned.found else ""
    return [
        ("workload", tuned.workload),
        ("objective", tuned.objective),
        ("rungs", rungs or "none"),
        ("held back", tuned.held_back or "-"),
        ("runs", f"{tuned.simulations} simulations{kept}; intervals are 95%, of pairs"),
    ]
