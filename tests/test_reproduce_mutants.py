"""Wrong engines: their changes, the rows that detect them, and their absence from releases."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import flashgc
from conftest import Command
from flashgc import _core
from flashgc.described import Simulation, simulation
from flashgc.store.cache import Cache
from flashgc_papers.bsgc.wrong import WithoutWear
from flashgc_papers.claims import Claim, Input, Kind, claims
from flashgc_papers.dchoices.wrong import WorstRemembered
from flashgc_papers.reproduce.mutants import Mutant, built, changed, compared, mutants_of, weighed
from flashgc_papers.reproduce.rows import Row
from flashgc_papers.reproduce.runner import Outcome, Trial, conclude
from flashgc_papers.reproduce.tasks import Measured, Size, Task
from flashgc_papers.reproduce.verdicts import Verdict
from flashgc_papers.reproduce.written import Written, label
from papers import task_of

MET, IN_KIND, BLIND = Verdict.MET, Verdict.IN_KIND, Verdict.BLIND
MISSED, NOT_RUN = Verdict.MISSED, Verdict.NOT_RUN
PAPERS = list(claims().papers)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_mutant_changes_some_claim_and_is_a_configuration(paper: str) -> None:
    tasks = [task_of(claim, Size.QUICK) for claim in claims().select((paper,))]
    names = [mutant.name for mutant in mutants_of(paper)]
    assert len(names) == len(set(names))
    known: dict[str, str] = {}

    def config(simulation: Simulation) -> str:
        # Mutants share most of their simulations.
        options = repr(sorted(simulation.options.items()))
        if options not in known:
            known[options] = json.dumps(simulation.config(), sort_keys=True)
        return known[options]

    for mutant in mutants_of(paper):
        pairs = [
            (config(task.simulations[key]), config(one))
            for task in tasks
            for key, one in changed(task, mutant).simulations.items()
        ]
        assert pairs, mutant.name
        if mutant.engine or mutant.policies:
            assert all(right == wrong for right, wrong in pairs), (
                "the fault is in the code, or in a policy in Python"
            )
        else:
            assert all(right != wrong for right, wrong in pairs), mutant.name


@pytest.mark.parametrize("paper", PAPERS)
def test_nearly_every_claim_that_simulates_is_asked_of_a_mutant(paper: str) -> None:
    for claim in claims().select((paper,)):
        task = task_of(claim, Size.QUICK)
        parts = [changed(task, mutant) for mutant in mutants_of(paper)]
        asked = any(part.simulations or part.computations for part in parts)
        # The variability without preemption depends on no mechanism of the paper, and sessions
        # of live software take hours.
        is_left_out = claim.id == "pgc.variability" or claim.input is Input.LIVE
        assert asked or is_left_out or task.not_run, claim.id


def test_a_model_forgets_its_memory_too() -> None:
    (claim,) = claims().select(("dchoices.table1.model",))
    task = task_of(claim, Size.QUICK)
    (mutant,) = (one for one in mutants_of("dchoices") if one.name == "no memory")
    part = changed(task, mutant)
    assert set(part.computations) == set(task.computations)
    value = part.computations["0"].call().write_amplification
    # For b = 64, S_f = 0.08, d = 5, the right value with c = 2 is 6.2461.
    assert value > 6.3


def row(label: str, verdict: Verdict) -> Row:
    return Row(label, "", "", verdict, "why")


def outcome(verdicts: dict[str, Verdict], input_: Input = Input.EXACT) -> Outcome:
    claim = Claim("dchoices.x", "x", Kind.ORDER, input_)
    measured = Measured(Size.QUICK, Task(), {}, {})
    return conclude(claim, measured, [row(label, one) for label, one in verdicts.items()])


def trial(right: dict[str, Verdict], wrong: dict[str, Verdict], name: str = "m") -> Trial:
    mutant = Mutant(name, "", lambda _: None)
    rows = ({label: row(label, one) for label, one in each.items()} for each in (right, wrong))
    return compared(mutant, *rows)


def test_a_row_tells_a_mutant_that_does_not_meet_it() -> None:
    right = {"a": MET, "b": IN_KIND, "c": MISSED, "d": NOT_RUN, "e": MET}
    wrong = {"a": MISSED, "b": IN_KIND, "c": MET, "d": MET, "e": NOT_RUN}
    made = trial(right, wrong)
    assert (made.told, made.met, made.fooled) == (("a", "e"), ("a", "b", "e"), ("c",))


def test_rows_that_tell_nothing_apart_are_not_counted() -> None:
    right = {"a": MET, "b": MET, "c": MISSED}
    one = trial(right, {"a": MISSED, "b": MET, "c": MISSED}, "one")
    two = trial(right, {"a": MET, "b": MET, "c": MET}, "two")
    made = weighed(outcome(right), (one, two))
    assert [row.verdict for row in made.rows] == [MET, BLIND, MISSED]
    assert made.verdict is MISSED
    assert made.rows[0].why == "why; not met by 'one'"
    assert made.rows[1].why == "why; met by all 2 wrong engines too"
    assert made.rows[2].why == "why; met by the wrong 'two'"
    # If no row detects the mutant, the claim does not discriminate.
    blind = weighed(outcome({"b": MET}), (trial({"b": MET}, {"b": MET}),))
    assert blind.verdict is BLIND
    # If another row detects it, that row counts.
    both = {"a": MET, "b": MET}
    assert weighed(outcome(both), (trial(both, {"a": MISSED, "b": MET}),)).verdict is MET


def test_what_could_not_be_run_marks_nothing() -> None:
    right = {"a": MET}
    failed = Trial("m", "", failed="this engine was built without it")
    made = weighed(outcome(right), (failed,))
    assert (made.verdict, made.trials) == (MET, (failed,))
    assert weighed(outcome(right), ()).verdict is MET


def test_results_of_a_mutant_are_kept_apart_from_right_ones(tmp_path: Path) -> None:
    config = simulation(workload="uniform", blocks=200, pages_per_block=16).config()
    right = Cache(tmp_path, "reproduce")
    wrong = right.of("zombie-counts-stay")
    assert wrong.load(config) is None  # a result is looked for before it is kept
    wrong.store(config, {"write_amplification": 9.0})
    assert right.load(config) is None
    assert right.of("another").load(config) is None
    assert wrong.load(config) == {"write_amplification": 9.0}
    right.store(config, {"write_amplification": 2.0})
    assert wrong.load(config) == {"write_amplification": 9.0}
    assert right.load(config) == {"write_amplification": 2.0}


def test_policies_in_python_are_right_ones_but_for_one_thing() -> None:
    """Without their fault, wrong policies in Python decide as the engine's own policies."""

    class WithWear(WithoutWear):
        def scores(self, blocks: flashgc.Blocks) -> NDArray[np.float64]:
            scores: NDArray[np.float64] = super().scores(blocks) * (1 + blocks.erases)
            return scores

    class BestRemembered(WorstRemembered):
        d, c = 5, 2

        def kept(self, others: list[int]) -> list[int]:
            return others[: self.c]

    drive: dict[str, Any] = {"blocks": 200, "pages_per_block": 16, "writes": "10x", "runs": 1}
    bsgc = "bsgc:reading=since_erase,ratio=live,wear=absolute"
    empty = {
        **drive, "workload": "normal", "pages_per_block": 64, "spare": "15%", "fill": "empty",
        "frontier": "pool:low=10", "allocation": "sfl", "warmup": "0",
    }  # fmt: skip
    copied = [
        flashgc.run(victim=policy, **empty).copied_pages for policy in (bsgc, WithWear, WithoutWear)
    ]
    assert copied[0] == copied[1] != copied[2]
    # The order of remembered equal candidates differs, so counts agree only to 1%.
    right = flashgc.run("uniform", victim="d-choices:d=5,c=2", **drive).copied_pages
    mine = flashgc.run("uniform", victim=BestRemembered, **drive).copied_pages
    assert mine == pytest.approx(right, rel=0.01)


def test_results_of_a_policy_in_python_are_kept_under_the_right_configuration(
    tmp_path: Path,
) -> None:
    one = simulation(workload="uniform", blocks=200, pages_per_block=16, victim="greedy")
    tasks = {"x": Task({"run": one})}

    def worst(_config: Mapping[str, Any]) -> Mapping[str, type]:
        return {"victim": WithoutWear}

    right = Cache(tmp_path, "reproduce")
    assert label("a", worst) != label("b", worst)
    found = []
    for _ in range(2):
        work = Written(tasks, worst, cache=right.of(label("worst", worst)))
        work.perform()
        found.append((work.ran, work.found))
        assert work.measured("x", Size.QUICK).result("run").write_amplification > 1
    assert found == [(1, 0), (0, 1)]
    assert right.load(one.config()) is None


def test_the_command_says_which_rows_tell_wrong_engines(command: Command, tmp_path: Path) -> None:
    asked = ("pgc.cost", "zombie.fig2-3", "vm.table1", "dchoices.table1.model")
    made = command("reproduce", *asked, "--quick", "--mutants", "--json", "--out", "made")
    assert made.returncode == 0, made.stderr
    document = json.loads(made.stdout)
    assert document["command"].endswith("--quick --mutants")
    by_id = {claim["id"]: claim for claim in document["claims"]}
    short = next(one for one in by_id["pgc.cost"]["mutants"] if one["name"] == "short erases")
    assert short["told"] == ["time of all collections, less the copies above two in each"]
    zombie = {one["name"]: one for one in by_id["zombie.fig2-3"]["mutants"]}
    below, above = (
        f"z-greedy, zombies {side} half of the invalid pages, pages copied"
        for side in ("below", "above")
    )
    copied, marked = "z-greedy, pages copied", "z-greedy, zombies"
    # Pairs are invalid pages and zombies of a block. Plain greedy takes the most invalid pages:
    # (6, 3) of (6, 3), (4, 0), (0, 0), and (5, 4) of (5, 4), (2, 0), (3, 3).
    assert zombie["hints ignored"]["told"] == [copied, marked, below]
    # The published figures do not depend on the bound of Equation 2, but our further traces do.
    assert [zombie[f"score i - {less}"]["told"] for less in ("z", "z/2", "min(z, i/4)")] == [
        [above],
        [below],
        [below],
    ]
    rows = {one["label"]: one["verdict"] for one in by_id["zombie.fig2-3"]["rows"]}
    assert rows == {
        "greedy, pages copied": "does-not-discriminate",  # no mutant touches plain greedy
        "z-greedy, pages copied": "met",
        "z-greedy, zombies": "met",
        below: "met",
        above: "met",
    }
    no_lde = next(one for one in by_id["vm.table1"]["mutants"] if one["name"] == "no LDE")
    assert no_lde["told"] == ["LRU dirty, LDA-BM+LDE"]
    page = (tmp_path / "made" / "report.html").read_text()
    assert "rows that detect it" in page
    assert "does-not-discriminate" in page


def test_a_release_has_no_fault_in_its_code_and_says_how_to_build_one(command: Command) -> None:
    if built():
        pytest.skip("this engine was built with its mutants")
    engine = Path(_core.__file__).read_bytes()
    named = [one.engine for paper in PAPERS for one in mutants_of(paper) if one.engine]
    assert named
    for name in named:
        assert name.encode() not in engine
    assert not hasattr(_core, "choose_mutant")
    made = command("reproduce", "vm.table1", "--quick", "--mutants")
    assert made.returncode == 0
    assert made.stderr == (
        "warning: --mutants: faults in the engine's code were not run; hint: cargo build --release "
        "-p flashgc-python --features mutants "
        "&& cp target/release/lib_core.so python/flashgc/_core.abi3.so\n"
    )
