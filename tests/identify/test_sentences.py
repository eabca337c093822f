"""The sentences of an identification, on hand-made outcomes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flashgc.results import Finding
from flashgc.studies.identifying.describe import findings
from flashgc.studies.identifying.fit import TOLD_APART, Fit, Goodness, Interval
from flashgc.studies.identifying.measurements import Drive, Point
from flashgc.studies.identifying.outcome import (
    FalseBest,
    Further,
    HeldOut,
    Identified,
    Ranked,
    WhatIf,
)
from flashgc.studies.identifying.schemes import parse
from flashgc.studies.identifying.search import Explanation
from flashgc.studies.identifying.workloads import condition

DRIVE = Drive("A", tuple(Point(condition(one, 1000), 2.0, 0.02) for one in ("uniform", "80/20")))


def ranked(place: int, scheme: str, distance: float, *errors: float) -> Ranked:
    fit = Fit(0.1, 1.0, tuple(2 * (1 + one) for one in errors), errors, distance, False, False)
    interval = Interval(0.09, 0.12, False, False)
    return Ranked(place, Explanation(parse(scheme), (fit,), 512, (), (interval,)), distance)


BEST = ranked(1, "greedy single", 0.0, 0.01, -0.02)
NEAR = ranked(2, "fifo pool", TOLD_APART, 0.03, -0.01)
FAR = ranked(3, "random mixed", TOLD_APART + 0.1, 0.3, -0.4)


def identified(*ranking: Ranked, **changes: Any) -> Identified:
    made = Identified((DRIVE,), ranking, True, Goodness(0.5, 6.0), FalseBest(50, 20, 2, 0.02))
    return replace(made, **changes)


def said(one: Identified, *, interrupted: bool = False) -> dict[str, Finding]:
    return {told.id: told for told in findings(one, interrupted=interrupted)}


def test_without_a_scheme_nothing_else_is_said() -> None:
    none = said(identified(), interrupted=True)
    assert list(none) == ["no-scheme"]
    assert none["no-scheme"].gravity == "invalid"
    assert none["no-scheme"].claim == "No scheme was simulated on all workloads"
    assert "no-scheme" not in said(identified(BEST), interrupted=True)


def test_of_work_that_was_stopped_only_the_best_so_far_is_said() -> None:
    stopped = said(identified(BEST, NEAR), interrupted=True)
    assert list(stopped) == ["best-explanation", "identify-interrupted"]
    one = stopped["identify-interrupted"]
    assert (one.gravity, one.evidence) == ("invalid", {"schemes": 2})
    assert one.claim == "Interrupted: 2 schemes were simulated. Others may fit better"
    assert "identify-interrupted" not in said(identified(BEST, NEAR))


def test_the_rate_of_false_explanations_is_known_of_the_list_alone() -> None:
    known, unknown = said(identified(BEST)), said(identified(BEST, false_best=None))
    assert "false-best-unknown" not in known
    assert known["false-best"].evidence["share"] == 20 / 50
    assert "false-best" not in unknown
    assert unknown["false-best-unknown"].gravity == "doubt"
    assert unknown["false-best-unknown"].claim.startswith("Other schemes may look like one of")
    # If no scheme explains the curve, there is no sentence about a false best scheme.
    bad = said(identified(BEST, false_best=None, is_explained=False))
    assert not {"false-best", "false-best-unknown"} & bad.keys()


def test_schemes_are_told_apart_by_more_than_9() -> None:
    both = said(identified(BEST, NEAR, FAR))
    assert both["cannot-tell"].gravity == "doubt"
    assert both["cannot-tell"].evidence == {"schemes": 1, "distance": TOLD_APART}
    assert both["cannot-tell"].claim == "Cannot tell: fifo pool may be it as well"
    assert both["beaten"].evidence["schemes"] == 1
    assert both["beaten"].evidence["largest_error"] == 0.4
    assert "only-explanation" not in both
    alone = said(identified(BEST, FAR))
    assert "cannot-tell" not in alone
    assert "only-explanation" in alone
    assert "beaten" not in said(identified(BEST, NEAR))


def test_a_further_workload_decides_where_it_tells_a_pair_apart() -> None:
    further = Further("90/10", (1.5, 2.5), 0.02, 1, 1, 30.0)
    one = said(identified(BEST, NEAR, further=(further,)))["deciding-workload"]
    assert one.gravity == "note"
    assert one.claim == (
        "Measure 90/10 next: greedy single predicts 1.50, fifo pool predicts 2.50. That tells "
        "1 of 1 pair apart"
    )
    alike = replace(further, pairs_told_apart=0)
    told = said(identified(BEST, NEAR, further=(alike,)))
    assert "deciding-workload" not in told
    assert "they predict 1.50 to 2.50" in told["no-deciding-workload"].claim
    assert not {"deciding-workload", "no-deciding-workload"} & said(identified(BEST)).keys()


def test_points_that_were_held_out_have_their_largest_error_and_their_mean() -> None:
    held = tuple(
        HeldOut("A", name, 2.0, predicted, "greedy single")
        for name, predicted in (("uniform", 2.06), ("80/20", 1.92))
    )
    one = said(identified(BEST, held_out=held))["held-out"]
    # Errors of 3% and -4%: the root of their mean square is 3.5%.
    assert one.gravity == "note"
    assert one.claim.endswith("is off by 3.5% (rms) and 4% at most (at 80/20)")
    assert "held-out" not in said(identified(BEST))


def test_a_change_of_the_drive_has_its_least_and_most_effect() -> None:
    given = WhatIf(
        "spare=+5%", "A", "greedy single", 0.1, ("uniform", "80/20"), (4.0, 2.0), (3.0, 1.8),
        (0.7, 0.85), (0.8, 0.95),
    )  # fmt: skip
    one = said(identified(BEST, NEAR, what_ifs=(given,)))["what-if"]
    assert one.gravity == "note"
    assert "Write amplification changes by -25% to -10%" in one.claim
    assert one.claim.endswith("; by -30% to -5% with others that may be it")
    assert (one.evidence["least"], one.evidence["most"]) == (0.7 - 1, 0.95 - 1)
    assert "what-if" not in said(identified(BEST, NEAR))
