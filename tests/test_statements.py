"""A small version of the campaign on findings, with wrong findings that it must detect."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts.statements import claims
from scripts.statements.campaign import faults
from scripts.statements.claims import Case
from scripts.statements.inputs import given
from scripts.statements.wrong import NOTICED, ROOT

import flashgc
from flashgc.results import Finding
from flashgc.results.findings import rules

#: All tests of this module run in one process, so that fixtures are computed once.
pytestmark = pytest.mark.xdist_group(__name__)

#: The checks that need no further simulation.
QUICK = {
    "nothing-measured": claims.nothing_measured,
    "identical-runs": claims.identical_runs,
    "too-short": claims.too_short,
    "no-erase": claims.no_erase,
    "short-warm-up": claims.short_warm_up,
    "few-blocks": claims.few_blocks,
    "spare-kept-erased": claims.spare_kept_erased,
    "burst": claims.burst,
    "only-replays-collect": claims.only_replays,
}


def cases(folder: Path, seeds: range) -> Iterator[Case]:
    """The runs of these seeds, except those that are input errors."""
    for seed in seeds:
        options = given(random.Random(seed), folder, seed)
        try:
            yield Case(options, flashgc.run(**options))
        except (flashgc.ConfigError, flashgc.TraceError):
            continue


def test_no_sentence_of_forty_inputs_is_false(tmp_path: Path) -> None:
    found = [(seed, name, text) for seed in range(40) for name, text, _ in faults(seed, tmp_path)]
    assert not found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    """Runs with random options of 150 seeds."""
    return list(cases(tmp_path_factory.mktemp("statements"), range(150)))


@pytest.mark.parametrize("name", QUICK)
def test_a_finding_too_few_or_too_many_is_noticed(name: str, runs: list[Case]) -> None:
    def faults_with(case: Case, *findings: Finding) -> list[str]:
        changed = dataclasses.replace(case.result, findings=findings)
        return list(QUICK[name](dataclasses.replace(case, result=changed)))

    without = [
        faults_with(case, *(one for one in case.result.findings if one.id != name))
        for case in runs
        if case.has(name) and not list(QUICK[name](case))
    ]
    # All of these inputs measure something; inputs that cannot are refused.
    assert any(without) or name == "nothing-measured"
    wrong = Finding(name, "doubt", "measured", "wrong", None, {})
    beside = [
        faults_with(case, *case.result.findings, wrong) for case in runs if not case.has(name)
    ]
    assert any(beside)


def test_every_rule_has_a_test_that_notices_its_wrong_version() -> None:
    noticed = json.loads(NOTICED.read_text(encoding="utf-8"))
    assert noticed.keys() == {one.id for one in rules()}, "hint: make wrong-findings"
    for test in noticed.values():
        file, _, name = test.partition("[")[0].partition("::")
        assert f"\ndef {name}(" in (ROOT / file).read_text(encoding="utf-8"), test


def test_a_verdict_that_is_wrong_is_noticed(runs: list[Case]) -> None:
    def with_verdict(case: Case, steady: bool) -> Case:
        return dataclasses.replace(case, result=dataclasses.replace(case.result, steady=steady))

    doubted = [case for case in runs if not case.result.steady and case.has("unsteady")]
    assert doubted
    assert all(list(claims.unsteady(with_verdict(case, True))) for case in doubted)
    settled = [case for case in runs if case.result.steady and not case.result.findings]
    assert settled
    assert all(list(claims.unsteady(with_verdict(case, False))) for case in settled)
    # After half a drive write without a warm-up, the drive is not steady.
    given_ = {"workload": "uniform", "blocks": 200, "pages_per_block": 64, "spare": 0.07}
    given_ |= {"victim": "greedy", "runs": 1, "writes": "0.5x", "warmup": "0"}
    early = Case(given_, flashgc.run(**given_))
    assert not early.result.steady
    figured = dataclasses.replace(early.result, write_amplification_ci95=0.01)
    assert list(claims.steady(with_verdict(dataclasses.replace(early, result=figured), True)))
