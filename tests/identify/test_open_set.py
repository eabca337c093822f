"""How often `flashgc identify` names a wrong scheme, if the right one is listed or not."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest
from experiments.identify import drives, recover
from experiments.identify.rules import FAMILIES

from flashgc.studies.identifying import outcome
from flashgc.studies.identifying.identify import QUICK, identify
from flashgc.studies.identifying.schemes import parse, schemes
from flashgc.terminal.progress import Bars

#: All tests of this module run in one process, so that fixtures are computed once.
pytestmark = pytest.mark.xdist_group(__name__)

#: Three schemes with different curves.
SCHEMES = ("greedy single", "cost-benefit pool", "random mixed")
#: Some of the workloads, on which the curves of these schemes differ most.
WORKLOADS = ("uniform", "80/20", "95/5", "zipf:theta=0.9")
#: Schemes with pairs of similar curves; a soak tries all of them.
ALIKE = (
    "greedy single",
    "d-choices:d=10 single",
    "fifo single",
    "windowed:w=N/16 single",
    "greedy pool",
    "greedy mixed",
    "cost-benefit pool",
    "cost-benefit:form=sqrt pool",
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def document(cache: Path) -> dict[str, Any]:
    made, _ = recover.study(
        known_drives=6, unknown_drives=6, cache=cache, names=SCHEMES, workloads=WORKLOADS
    )
    return made


def of(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [row for row in document["drives"] if row["set"] == name]


def test_schemes_of_the_list_are_found_again(document: dict[str, Any]) -> None:
    rows = of(document, outcome.KNOWN)
    found = recover.of_list(rows)
    assert {row["name"] for row in rows} == set(SCHEMES)
    assert found["among"] == found["first"] == 6
    # One of twenty right schemes is rejected by chance.
    assert found["explained"] >= 5


def test_rules_outside_the_list_are_rejected_where_they_differ(document: dict[str, Any]) -> None:
    rows = of(document, outcome.UNKNOWN)
    assert len({row["family"] for row in rows}) == len(FAMILIES)
    rate = outcome.rate_of(document)
    assert (rate.drives, rate.workloads, rate.noise) == (6, len(WORKLOADS), 0.02)
    # Only drives similar to greedy are explained. Without the limit, all six would be.
    assert rate.explained <= 2


def test_the_interval_of_the_spare_factor_has_the_true_one(document: dict[str, Any]) -> None:
    rows = of(document, outcome.KNOWN)
    inside = [low <= row["spare"] <= high for row in rows for low, high in [row["spares"]]]
    assert sum(inside) >= 5
    widths = [high / low - 1 for row in rows for low, high in [row["spares"]]]
    # With an error of 2% on four workloads, the spare factor is known to a few percent.
    assert 0.02 < statistics.median(widths) < 0.15


@pytest.mark.parametrize(
    ("names", "cases", "least"),
    [(ALIKE[:4], 4, 2), pytest.param(ALIKE, 6, 3, marks=pytest.mark.soak)],
)
def test_the_workload_that_is_named_tells_more_apart_than_another(
    names: tuple[str, ...], cases: int, least: int, cache: Path
) -> None:
    tried = [parse(name) for name in names]
    with Bars(quiet=True) as bars:
        study = recover.Study(QUICK, 0.02, tried, cache, bars)
        made = [drives.known(case, tried, QUICK) for case in range(cases)]
        decided = study.decided(made, 4)
    assert len(decided) >= least
    named, other = (
        statistics.mean(row[key] for row in decided) for key in ("after", "after_random")
    )
    assert named < other
    assert named < statistics.mean(row["before"] for row in decided) - 0.5
    assert all(row["kept"] for row in decided)


def test_the_rate_that_is_printed_is_that_of_the_drives_in_the_file() -> None:
    document = outcome.document()
    assert document["schemes"] == len(schemes())
    assert document["workloads"] == list(drives.WORKLOADS)
    unknown = of(document, outcome.UNKNOWN)
    assert len(unknown) == 50
    rate = outcome.false_best()
    assert rate.explained == sum(row["chi_square"] <= row["limit"] for row in unknown)
    known = recover.of_list(of(document, outcome.KNOWN))
    assert known["drives"] == 50
    assert known["among"] >= 45
    assert known["explained"] >= 47
    assert known["spare inside"] >= 47


@pytest.mark.parametrize("name", [outcome.KNOWN, outcome.UNKNOWN])
def test_drives_of_the_file_are_made_and_fitted_anew(name: str, cache: Path) -> None:
    # One explained row and one unexplained row, if both exist.
    rows = of(outcome.document(), name)
    some = {outcome.is_explained(row): row for row in rows}.values()
    for row in some:
        made = (
            drives.known(row["case"], schemes(), QUICK)
            if name == outcome.KNOWN
            else drives.unknown(row["case"], QUICK)
        )
        assert (made.name, made.spare) == (row["name"], row["spare"])
        drive = drives.Bench(QUICK, 0.02, None).measured(made)
        points = [point.write_amplification for point in drive.points]
        assert points == pytest.approx(row["points"], abs=1e-5)
        (one,) = identify(
            [drive], scheme=[row["best"]], quick=True, blocks=QUICK.blocks, cache=cache
        ).drives
        assert one.best is not None
        chi_square = one.best.explanation.chi_square
        assert chi_square == pytest.approx(row["chi_square"], rel=0.05, abs=0.2)
        assert (chi_square <= row["limit"]) == outcome.is_explained(row)
