"""The findings of a ranking: each appears exactly if its rule is true."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import flashgc
from flashgc.results import Finding, ranked
from flashgc.results.ranked import Rank
from flashgc.results.result import Result

DRIVE: dict[str, Any] = {
    "blocks": 64,
    "pages_per_block": 16,
    "spare": "20%",
    "writes": "4x",
    "runs": 2,
}


@pytest.fixture(scope="module")
def base() -> Result:
    return flashgc.run("uniform", **DRIVE)


def rank(base: Result, place: int, figure: float, **more: object) -> Rank:
    result = Result.from_dict({**base.to_dict(), "run_values": [figure, figure + 0.01 * place]})
    known: dict[str, object] = {
        "place": place, "ratio": figure / 2.0, "difference": figure - 2.0,
        "difference_ci95": 0.1, "basis": "runs", "inside_noise": figure - 2.0 <= 0.1,
        "result": result,
    }  # fmt: skip
    return Rank(**{**known, **more})  # type: ignore[arg-type]


def said(ranking: Sequence[Rank]) -> dict[str, Finding]:
    found = ranked.findings(ranking, [f"p{one.place}" for one in ranking])
    assert len({one.id for one in found}) == len(found)
    return {one.id: one for one in found}


def test_the_last_is_named_with_its_distance(base: Result) -> None:
    ranking = [rank(base, 1, 2.0, inside_noise=False), rank(base, 2, 2.5), rank(base, 3, 3.0)]
    found = said(ranking)
    assert list(found) == ["last-of-ranking"]
    one = found["last-of-ranking"]
    assert one.claim == "p3 makes 1.50x the flash writes of p1 (difference 1.0000 ± 0.1000)"
    assert one.evidence == {"ratio": 1.5, "difference": 1.0, "difference_ci95": 0.1}
    assert ranked.findings(ranking[:1], ["p1"]) == []


def test_of_different_workloads_no_writes_are_compared(base: Result) -> None:
    raw = base.to_dict()
    config = {**raw["config"], "workload": "hotcold:f=0.1,r=0.9"}  # type: ignore[dict-item]
    other = Result.from_dict({**raw, "config": config})
    ranking = [rank(base, 1, 2.0, inside_noise=False), rank(base, 2, 3.0, result=other)]
    assert said(ranking)["last-of-ranking"].claim.startswith(
        "p2 has 1.50x the write amplification of p1 "
    )


def test_what_is_inside_the_noise_is_not_ranked(base: Result) -> None:
    first, near, far = (
        rank(base, 1, 2.0, inside_noise=False),
        rank(base, 2, 2.05),
        rank(base, 3, 3.0),
    )
    found = said([first, near, far])
    assert found["inside-the-noise"].evidence == {"places": [2]}
    assert found["inside-the-noise"].text == (
        "Inside the noise: p2 is too close to p1 to tell; hint: more --runs or --writes"
    )
    assert "last-of-ranking" in found
    assert "last-of-ranking" not in said([first, near])


def test_equal_figures_are_no_noise(base: Result) -> None:
    first = rank(base, 1, 2.0, inside_noise=False)
    same = dataclasses.replace(first, place=2, difference_ci95=0.0, inside_noise=True)
    found = said([first, same])
    assert list(found) == ["equal-in-every-run"]
    assert found["equal-in-every-run"].claim == "Equal in every run: p1, p2"


@pytest.mark.parametrize(("steady", "name"), [(True, "exact"), (False, "exact-for-this-length")])
def test_exact_only_while_all_are_exact(base: Result, steady: bool, name: str) -> None:
    result = Result.from_dict({**base.to_dict(), "steady": steady})
    exact = {"basis": "exact", "difference_ci95": 0.0, "inside_noise": False, "result": result}
    ranking = [rank(base, at, 1.0 + at, **exact) for at in (1, 2, 3)]
    assert name in said(ranking)
    ranking[1] = dataclasses.replace(ranking[1], basis="passes")
    assert name not in said(ranking)


def test_without_an_interval_nothing_is_judged(base: Result) -> None:
    apart = rank(base, 2, 3.0, basis="none", difference_ci95=None, inside_noise=False)
    found = said([rank(base, 1, 2.0, inside_noise=False), apart])
    assert found["no-interval"].hint == "more --runs or --writes"
    assert "last-of-ranking" not in found


def test_a_document_has_the_findings_that_are_printed() -> None:
    made = flashgc.compare(["greedy", "fifo"], "uniform", **DRIVE)
    raw = json.loads(made.to_json())["findings"]
    assert [Finding(**one) for one in raw] == made.findings
    assert made.findings[0].id == "last-of-ranking"
    assert f"{made.ranking[-1].difference:.4f}" in made.findings[0].claim


BREAKS: list[Callable[[Rank], Rank]] = [
    lambda one: dataclasses.replace(one, inside_noise=not one.inside_noise),
    lambda one: dataclasses.replace(one, basis="none"),
]


def test_wrong_ranks_say_something_else(base: Result) -> None:
    right = [rank(base, 1, 2.0, inside_noise=False), rank(base, 2, 2.05), rank(base, 3, 3.0)]
    told = ranked.findings(right, ["a", "b", "c"])
    for at, wrong in itertools.product((1, 2), BREAKS):
        broken = [*right]
        broken[at] = wrong(broken[at])
        assert ranked.findings(broken, ["a", "b", "c"]) != told
