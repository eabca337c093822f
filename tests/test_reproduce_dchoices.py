"""The d-choices paper's runners: the models meet claims, and contradicting numbers miss them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from flashgc.results import Result
from flashgc_papers.claims import Claim, claims
from flashgc_papers.reproduce.rows import Row
from flashgc_papers.reproduce.runner import Outcome, runner_of
from flashgc_papers.reproduce.tasks import Measured, Size
from flashgc_papers.reproduce.verdicts import Verdict
from papers import WHOLE_PAGES, claim_of, result_of

RUNNABLE = [claim for claim in claims().claims if claim.paper == "dchoices"]
MET, MISSED = Verdict.MET, Verdict.MISSED
the = functools.partial(claim_of, "dchoices")


@functools.cache
def computed(name: str) -> dict[str, Any]:
    """The models' values for a claim."""
    runner = runner_of(the(name))
    assert runner is not None
    task = runner.task(the(name), Size.QUICK)
    return {key: computation.call() for key, computation in task.computations.items()}


def simulated(value: float, half: float = 0.0005) -> Result:
    figures = {"write_amplification": value, "write_amplification_ci95": half}
    return result_of({"bytes": WHOLE_PAGES, **figures})


def judged(name: str, models: dict[str, Any], results: dict[str, Result]) -> Outcome:
    runner = runner_of(the(name))
    assert runner is not None
    task = runner.task(the(name), Size.QUICK)
    assert set(results) <= set(task.simulations)
    return runner.judge(the(name), Measured(Size.QUICK, task, results, models))


def missed(outcome: Outcome) -> list[str]:
    return [row.label for row in outcome.rows if row.verdict is MISSED]


def rows(outcome: Outcome, part: str) -> list[Row]:
    found = [row for row in outcome.rows if part in row.label]
    assert found, part
    return found


@pytest.mark.parametrize("claim", RUNNABLE, ids=lambda claim: claim.id)
@pytest.mark.parametrize("size", list(Size))
def test_every_claim_has_a_task_that_the_engine_understands(claim: Claim, size: Size) -> None:
    runner = runner_of(claim)
    assert runner is not None
    task = runner.task(claim, size)
    assert task.not_run or task.settings
    for simulation in task.simulations.values():
        assert simulation.config()["runs"] > 0
        assert simulation.command().startswith("flashgc run --workload ")


@pytest.mark.parametrize("name", ["table1.simulation", "greedy", "fig1", "fig3"])
def test_full_is_the_papers_own_size_and_leaves_nothing_out(name: str) -> None:
    # Section 3.3: N = 50 000, 250 000 collections, a third of them warm-up, 25 to 100 runs.
    runner = runner_of(the(name))
    assert runner is not None
    task = runner.task(the(name), Size.FULL)
    assert task.left_out == ""
    for simulation in task.simulations.values():
        config = simulation.config()
        assert (config["blocks"], config["length"]) == (50_000, {"collections": 250_000})
        assert config["warmup"] == "1/3"
        assert 25 <= config["runs"] <= 100


def test_the_models_meet_table_1() -> None:
    models = computed("table1.model")
    outcome = judged("table1.model", models, {})
    assert outcome.verdict is MET
    assert len(outcome.rows) == 9
    assert all(point.residual < 1e-10 for point in models.values())


def test_a_value_that_is_off_is_missed_in_its_row_only() -> None:
    class Off:
        write_amplification = 6.2461 * 1.00021
        residual = 0.0

    outcome = judged("table1.model", {**computed("table1.model"), "0": Off()}, {})
    assert missed(outcome) == ["64, 0.08, 5, 2"]
    assert outcome.verdict is MISSED


def table_1(shift: float) -> dict[str, Result]:
    published = the("table1.simulation").column("simulation")
    return {str(at): simulated(float(value) * shift) for at, value in enumerate(published)}


def test_simulations_of_table_1_are_held_to_the_paper_and_to_the_model() -> None:
    models = computed("table1.simulation")
    assert judged("table1.simulation", models, table_1(1.0)).verdict is MET
    # A factor of 1.0004 stays within 0.05% of the paper's simulations. Row (16, 0.10, 4, 10), which
    # the paper has 0.037% below our fixed point, moves closer to it; (64, 0.08, 5, 2) moves away.
    assert missed(judged("table1.simulation", models, table_1(1.0004))) == ["off the mean field"]
    assert len(missed(judged("table1.simulation", models, table_1(1.0006)))) == 10


def test_greedy_is_held_in_closed_form_and_simulated() -> None:
    models = computed("greedy")
    assert judged("greedy", models, {"simulated": simulated(4.8213 * 1.0009)}).verdict is MET
    outcome = judged("greedy", models, {"simulated": simulated(4.8213 * 1.0011)})
    assert missed(outcome) == ["simulated, N = 50000"]


def curve_results(models: dict[str, Any], half: float = 0.0005) -> dict[str, Result]:
    """Simulations that lie on the curves of Figure 1."""
    return {
        f"{d} {c}": simulated(float(models[str(d)][c]), half)
        for d in (5, 10, 20)
        for c in (0, 5, 50)
    }


def test_figure_1_is_met_by_the_model() -> None:
    models = computed("fig1")
    outcome = judged("fig1", models, curve_results(models))
    assert outcome.verdict is MET
    (figure,) = outcome.figures
    assert len(figure.data.rows) == 3 * 51
    # There is a line for greedy, and a line and points for each d.
    assert len(figure.draw().axes[0].get_lines()) >= 4


MEMORY = np.arange(51)


@pytest.mark.parametrize(
    ("curve", "parts"),
    [
        # The curve rises again at the end.
        (np.where(MEMORY < 50, 5.0 + 0.3 / (MEMORY + 1), 5.2), ["d = 10, model"]),
        # A straight line has a tenth of its gain by c = 5.
        (5.3 - 0.005 * MEMORY, ["d = 10, gain by c = 5"]),
        # The curve approaches greedy as 1/c, and is 0.01 above it at c = 50.
        (4.8213 + 0.5 / (MEMORY + 1), ["d = 10, limit"]),
    ],
)
def test_figure_1_is_missed_by_curves_that_contradict_it(
    curve: np.ndarray, parts: list[str]
) -> None:
    models = {**computed("fig1"), "10": curve}
    outcome = judged("fig1", models, curve_results(computed("fig1")))
    assert set(parts) <= set(missed(outcome))
    assert all(label.startswith("d = 10") for label in missed(outcome))


def test_figure_1_is_missed_by_simulations_that_do_not_tell() -> None:
    models = computed("fig1")
    wide = curve_results(models, half=0.2)
    assert "d = 20, simulated, c = 50" in missed(judged("fig1", models, wide))
    assert "d = 20, simulation" in missed(judged("fig1", models, wide))


def test_figure_1_says_what_was_not_measured() -> None:
    outcome = judged("fig1", computed("fig1"), {})
    assert outcome.verdict is Verdict.NOT_RUN
    assert {row.why for row in rows(outcome, "simulat")} == {"interrupted"}
    assert all(row.verdict is MET for row in rows(outcome, "model"))
    assert outcome.figures[0].draw() is not None


def test_figure_2_is_met_by_the_model_and_missed_where_memory_is_greedys() -> None:
    models = computed("fig2")
    assert judged("fig2", models, {}).verdict is MET

    class Alike:
        memory = models["greedy"].victim

    outcome = judged("fig2", {**models, "64": Alike()}, {})
    assert set(missed(outcome)) == {"steps", "greedy's victim"}


def gains(models: dict[str, Any]) -> dict[str, Result]:
    """Simulations that lie on the curves of Figure 3 at S_f = 0.1, its eleventh point."""
    return {
        f"{b} 0.1 {c}": simulated(float(models[f"10 {b}"][10, c]))
        for b in (16, 32, 64)
        for c in (0, 1)
    }


def test_figure_3_is_met_by_the_model() -> None:
    models = computed("fig3")
    assert judged("fig3", models, gains(models)).verdict is MET


def test_figure_3_is_missed_where_another_memory_is_best() -> None:
    models = computed("fig3")
    swapped = models["10 32"].copy()
    swapped[3, 1:3] = swapped[3, 2:0:-1]
    outcome = judged("fig3", {**models, "10 32": swapped}, gains(models))
    assert missed(outcome) == ["b = 32, every S_f"]
    (row,) = rows(outcome, "b = 32, every")
    assert row.why.startswith("least at 30 of 31 spare factors; at S_f = 0.065 least at c = 2 (")


def test_figure_3_is_missed_where_gains_are_not_as_published() -> None:
    models = computed("fig3")
    large = models["10 64"].copy()
    large[:, 1] = large[:, 0] * 0.94
    outcome = judged("fig3", {**models, "10 64": large}, gains(models))
    assert missed(outcome) == [
        "b = 64, gain of c = 1",
        "b = 64, S_f = 0.06",
        "b = 64, S_f = 0.1",
        "b = 64, S_f = 0.14",
        "b = 64, S_f = 0.1, simulated",
    ]
    worse = models["20 16"].copy()
    worse[7, 1:] = worse[7, 0] * 1.01
    outcome = judged("fig3", {**models, "20 16": worse}, gains(models))
    assert missed(outcome) == ["c + d = 20, b = 16"]


@pytest.mark.parametrize(("ratio", "verdict"), [(1.0, MET), (1.0029, MET), (0.9969, MISSED)])
def test_two_frontiers_are_held_to_one(ratio: float, verdict: Verdict) -> None:
    results = {
        f"{at} {frontier}": simulated(5.0 * (ratio if frontier == "double" else 1.0))
        for at in range(3)
        for frontier in ("single", "double")
    }
    outcome = judged("single-equals-double", {}, results)
    assert outcome.verdict is verdict
