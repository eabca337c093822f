"""The findings of a qualification."""

from __future__ import annotations

from collections.abc import Iterator

from flashgc.results.findings import Finding, Rules
from flashgc.studies.qualifying.outcome import QUICK, Qualification
from flashgc.studies.qualifying.steady import MOST_ROUNDS
from flashgc.units import format_share

RULES = Rules("qualify")

#: The largest difference between the simulated rate of random writes and that by hand.
MOST_OFF = 0.2


def findings(qualification: Qualification) -> Iterator[Finding]:
    """The findings, the most important first."""
    if qualification.interrupted:
        yield RULES["qualify-interrupted"].found(
            "the work was stopped: tests that are missing were not completed",
            "--keep DIR keeps finished runs",
        )
    for test in qualification.rounds:
        if not test.window.met and not test.interrupted:
            first, last = test.window.first, test.window.last
            yield RULES["rounds-unsteady"].found(
                f"{test.title}: SNIA's rule was not met in {len(test.tracked)} of at most "
                f"{MOST_ROUNDS} rounds; figures come from rounds {first} to {last}, with a range "
                f"of {format_share(test.window.excursion)} and a slope of "
                f"{format_share(test.window.slope)}",
                excursion=test.window.excursion, slope=test.window.slope, rounds=len(test.tracked),
            )  # fmt: skip
    for name, reason in qualification.refused.items():
        yield RULES["test-refused"].found_in(f"{name} cannot run: ", reason, test=name)
    worked = qualification.worked
    if worked is not None and abs(worked.ratio - 1) > MOST_OFF:
        yield RULES["rate-by-hand-missed"].found(
            f"random writes reach {worked.ratio:.2f} of the rate by hand, sequential rate / "
            "(write amplification x 4 KiB): something other than programs limits them, or the "
            "sequential writes",
            ratio=worked.ratio,
        )  # fmt: skip
    if qualification.quick:
        yield RULES["quick-tests"].found(f"quick tests: {QUICK}", "leave out --quick")
