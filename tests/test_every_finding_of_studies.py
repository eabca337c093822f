"""Findings of rankings, grids, values, fleets and searches: an outcome with and one without."""

from __future__ import annotations

import dataclasses
import itertools
import math
from pathlib import Path
from typing import Any

import pytest

import flashgc
from flashgc.results import Finding, ranked
from flashgc.studies.fleets import describe as of_fleets
from flashgc.studies.fleets.outcome import Fleet, FleetCell, policies_of
from flashgc.studies.tuning import describe as of_searches
from flashgc.studies.tuning.outcome import Entry, Rung, Tuned
from flashgc.studies.tuning.space import Candidate
from flashgc.units import format_share, format_time

DRIVE: dict[str, Any] = {
    "blocks": 100, "pages_per_block": 16, "writes": "4x", "runs": 2, "jobs": 1,
}  # fmt: skip
CLOCK: dict[str, Any] = {
    "kind": "timed", "times": "read=25us,program=200us,erase=1.5ms,transfer=10us", "blocks": 256,
    "pages_per_block": 16, "spare": "15%", "requests": 3000, "jobs": 1, "warmup": "2x",
    "arrivals": "closed:threads=1",
}  # fmt: skip


def by_id(findings: tuple[Finding, ...] | list[Finding]) -> dict[str, Finding]:
    return {one.id: one for one in findings}


def test_response_times_are_those_of_the_first_and_the_last() -> None:
    compared = flashgc.compare(["greedy", "random"], "uniform:read=0.5", runs=5, **CLOCK)
    said = [one for one in compared.findings if one.id == "response-times"]
    first, last = (rank.result for rank in compared.ranking)
    low, high = ranked.times_of(first), ranked.times_of(last)
    assert low is not None
    assert high is not None
    figures = [("mean", low.mean, high.mean), ("p99_9", low.p99_9, high.p99_9)]
    assert not compared.ranking[1].inside_noise
    for one, (name, *both) in zip(said, figures, strict=True):
        least, most = sorted(both)
        assert both[0] != both[1]
        assert one.gravity == "note"
        assert one.evidence == {"figure": name, "shorter_us": least, "longer_us": most}
        saved = format_share(1 - least / most)
        assert f"{format_time(least)}, " in one.claim
        assert one.claim.endswith(f" {format_time(most)} ({saved} less)")
        shorter = compared.ranking[0 if both[0] < both[1] else 1].result
        assert one.claim.split(": ")[1].startswith(shorter.policy)
    # Means within noise and equal means are left out.
    near = [compared.ranking[0], dataclasses.replace(compared.ranking[1], inside_noise=True)]
    told = ranked.findings(near, ["a", "b"])
    found = [one.evidence["figure"] for one in told if one.id == "response-times"]
    assert found == ["p99_9"]
    same = [near[0], dataclasses.replace(near[1], result=near[0].result, inside_noise=False)]
    assert "response-times" not in by_id(ranked.findings(same, ["a", "b"]))


def test_cells_that_were_not_run_are_missing(tmp_path: Path) -> None:
    grid = {
        "drive": {"blocks": 64, "pages_per_block": 16, "spare": ["20%", "30%", "40%"]},
        "run": {"writes": "2x"},
    }
    control = flashgc.Control()
    control.cancel()
    stopped = flashgc.sweep(grid, results=tmp_path / "r", control=control)
    whole = flashgc.sweep(grid, results=tmp_path / "r")
    one = by_id(stopped.findings)["cells-missing"]
    assert (one.gravity, one.evidence) == ("invalid", {"cells": len(stopped.of("missing"))})
    assert one.claim == "3 not run"
    assert "cells-missing" not in by_id(whole.findings)


def amplifications() -> list[float]:
    spares = ("10%", "15%", "20%")
    return [flashgc.run(**{**DRIVE, "runs": 5, "spare": one}).write_amplification for one in spares]


@pytest.fixture(scope="module")
def spared() -> list[float]:
    """Write amplification with 10%, 15% and 20% of spare space."""
    return amplifications()


def limit(of: list[float], at: int) -> str:
    """A condition that is true from the value with index ``at`` on; with 3, of no value."""
    bounds = [of[0] + 1, *((a + b) / 2 for a, b in itertools.pairwise(of)), of[-1] - 0.5]
    return f"WA<{bounds[at]:.4f}"


@pytest.mark.parametrize(
    ("at", "name", "claim"),
    [
        (0, "every-value", "spare: every value from 10% to 20% has "),
        (1, "from-value", "spare 15% is the least with "),
        (2, "from-value", "spare 20% is the least with "),
        (3, "no-value", "spare: no value from 10% to 20% has "),
    ],
)
def test_a_value_is_found_where_it_is(spared: list[float], at: int, name: str, claim: str) -> None:
    given = {**DRIVE, "low": "10%", "high": "20%", "step": "5%"}
    given.pop("runs")
    found = flashgc.find("spare", limit(spared, at), **given)
    said = by_id(found.findings)
    heads = {"every-value", "from-value", "no-value", "find-interrupted"}
    assert heads & said.keys() == {name}
    assert said[name].gravity == "note"
    assert said[name].claim.startswith(claim)
    value = ("10%", "15%", "20%")[at] if name == "from-value" else None
    assert said[name].evidence == {"value": value, "first": "10%", "last": "20%"}


def test_a_search_for_a_value_that_is_stopped_has_none() -> None:
    control = flashgc.Control()
    control.cancel()
    given = {**DRIVE, "low": "10%", "high": "20%", "step": "5%", "control": control}
    given.pop("runs")
    found = flashgc.find("spare", "WA<2", **given)
    said = by_id(found.findings)
    assert list(said) == ["find-interrupted"]
    assert (found.value, said["find-interrupted"].gravity) == (None, "invalid")
    assert said["find-interrupted"].claim == "spare: not found yet"


def fleet_of(less: int, more: int, **changes: Any) -> Fleet:
    """A fleet: policy b writes less than a on ``less`` volumes, and more on ``more`` volumes."""
    cells = [
        FleetCell(
            at, name, "result", write_amplification=1 + (2 if worse else 1), life=1.0,
            bytes_written=1.0, blocks=10, logical_bytes=1000,
        )
        for at in range(less + more)
        for name, worse in (("a", at < less), ("b", at >= less))
    ]  # fmt: skip
    policies = policies_of(["a", "b"], cells)
    volumes = less + more
    made = Fleet("t.csv", "volume", policies, tuple(cells), volumes, 0, len(cells), 0, False,
                 "r", 0, (), 0)  # fmt: skip
    return dataclasses.replace(made, **changes)


@pytest.mark.parametrize(
    ("less", "more", "name", "gravity"),
    [
        (6, 0, "beyond-chance", "note"), (5, 0, "within-chance", "doubt"),
        (9, 1, "beyond-chance", "note"), (8, 2, "within-chance", "doubt"),
    ],
)  # fmt: skip
def test_policies_differ_where_a_coin_would_not(
    less: int, more: int, name: str, gravity: str
) -> None:
    said = by_id(of_fleets.findings(fleet_of(less, more)))
    # A two-sided sign test: both tails of a fair coin.
    tail = sum(math.comb(less + more, k) for k in range(min(less, more) + 1))
    p = 2 * tail / 2 ** (less + more)
    assert (p < 0.05) == (name == "beyond-chance")
    assert {"beyond-chance", "within-chance"} & said.keys() == {name}
    one = said[name]
    assert one.gravity == gravity
    assert one.evidence == {"less": less, "more": more, "same": 0, "p": p, "comparisons": 1}
    assert one.claim == (
        f"b writes less than a on {less} volumes, more on {more}, as much on 0: "
        f"{name.replace('-', ' ')} (sign test, p {p:.2g})"
    )


def test_a_fleet_that_was_stopped_counts_its_cells() -> None:
    whole = fleet_of(3, 2)
    missing = tuple(FleetCell(at, "a", "missing") for at in (5, 6))
    part = dataclasses.replace(whole, cells=(*whole.cells, *missing), interrupted=True)
    one = by_id(of_fleets.findings(part))["fleet-interrupted"]
    assert (one.gravity, one.evidence) == ("invalid", {"missing": 2, "cells": 12})
    assert one.claim == "Interrupted: 2 of 12 cells were not run"
    assert "fleet-interrupted" not in by_id(of_fleets.findings(whole))


def test_a_fleet_that_is_stopped_at_once_has_run_none_of_its_cells(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    rows = (f"{7 + at % 2},W,{at * 7 % 60 * 4096},4096,{at}\n" for at in range(800))
    trace.write_text("".join(rows))
    control = flashgc.Control()
    control.cancel()
    given: dict[str, Any] = {"pages_per_block": 8, "spare": "10%", "passes": 4}
    given |= {"results": tmp_path / "r"}
    stopped = flashgc.fleet(trace, ["greedy", "fifo"], control=control, **given)
    one = by_id(stopped.findings)["fleet-interrupted"]
    assert one.claim == "Interrupted: 4 of 4 cells were not run"
    whole = flashgc.fleet(trace, ["greedy", "fifo"], **given)
    assert "fleet-interrupted" not in by_id(whole.findings)


def test_notes_of_the_readers_of_a_fleet_are_said() -> None:
    noted = fleet_of(3, 2, notes=("3 requests were sorted",))
    one = by_id(of_fleets.findings(noted))["traces-as-read"]
    assert (one.gravity, one.claim) == ("note", "3 requests were sorted")
    assert "traces-as-read" not in by_id(of_fleets.findings(fleet_of(3, 2)))


def entry(place: int, figure: float, half: float | None = 0.01, **more: Any) -> Entry:
    candidate = Candidate("greedy:ties=latest" if place == 2 else "fifo", "none", "single")
    return Entry(place, candidate, figure, figure - 2, half, False, place == 2, **more)


def tuned(*ranking: Entry, **changes: Any) -> Tuned:
    rungs = (Rung("1 run", 9, 9, True), Rung("2 runs", 3, 3, True))
    made = Tuned("uniform", "write-amplification", ranking, True, (), rungs, "the last quarter",
                 (), 12, 0, False, False, 1, "0")  # fmt: skip
    return dataclasses.replace(made, **changes)


WHOLE = tuned(entry(1, 2.0, 0.0, held_back=2.1), entry(2, 3.0, held_back=3.1))
CUT = (Rung("1 run", 9, 9, True), Rung("2 runs", 3, 1, False))


@pytest.mark.parametrize(
    ("changes", "head", "tail", "evidence"),
    [
        ({"interrupted": True}, "Interrupted after rung 2", "before the best were checked",
         {"rungs": 2}),
        ({"out_of_time": True, "rungs": CUT},
         "The time was over in rung 2, after 1 of 3 configurations; ", " of rung 1",
         {"rungs": 1, "measured": 1}),
        ({"interrupted": True, "rungs": CUT[1:]},
         "Interrupted in rung 1, after 1 of 3 configurations; ", " of these alone",
         {"rungs": 0, "measured": 1}),
        ({"interrupted": True, "rungs": (), "ranking": ()}, "Interrupted before the first rung",
         "", {"rungs": 0}),
    ],
)  # fmt: skip
def test_a_search_says_how_far_it_came(
    changes: dict[str, Any], head: str, tail: str, evidence: dict[str, int]
) -> None:
    one = by_id(of_searches.findings(dataclasses.replace(WHOLE, **changes)))["search-stopped"]
    assert (one.gravity, one.evidence) == ("invalid", evidence)
    assert one.claim.startswith(head)
    assert one.claim.endswith(tail)
    assert "search-stopped" not in by_id(of_searches.findings(WHOLE))


def test_a_search_without_its_last_rung_has_no_intervals() -> None:
    without = tuned(entry(1, 2.0, 0.0), entry(2, 3.0, None))
    one = by_id(of_searches.findings(without))["search-without-intervals"]
    assert one.gravity == "doubt"
    assert one.claim == "There are no intervals: the last rung, which has them, was not run"
    assert "search-without-intervals" not in by_id(of_searches.findings(WHOLE))


def test_a_winner_that_was_not_checked_is_said_to_be_that() -> None:
    unchecked = by_id(of_searches.findings(dataclasses.replace(WHOLE, holds_up=None)))
    one = unchecked["not-held-back"]
    assert (one.gravity, one.claim) == ("doubt", "Nothing was checked on what was held back")
    assert not {"holds-up", "does-not-hold-up"} & unchecked.keys()
    checked = by_id(of_searches.findings(WHOLE))
    assert "not-held-back" not in checked
    assert checked["holds-up"].evidence == {"checked": 2, "held_back": 2.1}
