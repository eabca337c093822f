"""SSD-iq's simulator: its own values meet claims, others miss; WA counts buffered writes."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import flashgc
from flashgc.results import Result
from flashgc_papers.claims import Claim, claims
from flashgc_papers.reproduce.reproduce import reproduce
from flashgc_papers.reproduce.runner import Outcome, runner_of
from flashgc_papers.reproduce.tasks import Measured, Size
from flashgc_papers.reproduce.verdicts import Verdict
from flashgc_papers.ssdiq import experiment
from flashgc_papers.ssdiq.simulator import label, published, workloads
from papers import WHOLE_PAGES, claim_of, result_of, task_of

RUNNABLE = [
    claim
    for claim in claims().claims
    if claim.paper == "ssdiq" and not claim.id.startswith("ssdiq.drives.")
]
GREEDY = ["zones.greedy", "zipf.greedy", "buffer.zones", "buffer.zipf"]
TWO_R = ["zones.2r-greedy", "zones.2r-fifo"]
the = functools.partial(claim_of, "ssdiq")

#: Fields of a host's figures that do not matter here.
HOST = {
    "reads": 0, "drive_reads": 0, "mean_dirty_pages": 0.0, "mean_known_pages": 0.0,
    "known_share": None,
    "hints": dict.fromkeys(("due", "sent", "overtaken", "lost", "late", "wrong", "commands"), 0),
}  # fmt: skip


def simulated(value: float, reached: float | None = None) -> Result:
    figures: dict[str, Any] = {"write_amplification": value, "write_amplification_ci95": 0.001}
    if reached is not None:
        figures["host"] = {**HOST, "writes": 1000, "drive_writes": round(1000 * reached)}
    return result_of({"bytes": WHOLE_PAGES, **figures})


def judged(claim: Claim, results: dict[str, Result], models: dict[str, Any]) -> Outcome:
    runner = runner_of(claim)
    assert runner is not None
    return runner.judge(claim, Measured(Size.QUICK, task_of(claim, Size.QUICK), results, models))


def beside(name: str, factor: float, reached: float | None = None) -> Outcome:
    """The outcome of a claim on greedy if its published values, times ``factor``, are measured."""
    claim = the(name)
    said = {skew: float(value) for skew, value in published(claim).rows}
    results = {
        workload: simulated(said[skew] * factor / (reached or 1), reached)
        for skew, workload in workloads(claim).items()
    }
    return judged(claim, results, {})


@pytest.mark.parametrize("claim", RUNNABLE, ids=lambda claim: claim.id)
@pytest.mark.parametrize("size", list(Size))
def test_every_claim_has_a_task_that_the_engine_understands(claim: Claim, size: Size) -> None:
    task = task_of(claim, size)
    assert task.settings
    assert len(task.simulations) + len(task.computations) == len(published(claim).rows)
    for simulation in task.simulations.values():
        assert simulation.config()["runs"] > 0
        assert simulation.command().startswith("flashgc run --workload ")


@pytest.mark.parametrize("name", [*GREEDY, *TWO_R])
def test_full_is_the_papers_own_size_and_leaves_nothing_out(name: str) -> None:
    task = task_of(the(name), Size.FULL)
    assert task.left_out == ""
    for simulation in task.simulations.values():
        config = simulation.config()
        # 16 GiB in blocks of 8 MiB and pages of 4 KiB, seven eighths of them logical.
        assert config["blocks"] * config["pages_per_block"] * 4096 == 16 << 30
        assert config["pages_per_block"] * 4096 == 8 << 20
        frontier = "compact" if name in TWO_R else "single"
        assert (config["spare"], config["frontier"]) == (0.125, frontier)
        assert config["length"] == {"writes": "10x"}
    assert "7 of the 10" in task_of(the("buffer.zipf"), Size.DEFAULT).left_out
    assert task_of(the("zipf.greedy"), Size.DEFAULT).left_out == ""


def test_workloads_and_labels_are_the_papers() -> None:
    zones, zipf = the("zones.greedy"), the("zipf.greedy")
    assert workloads(zones)[0.9] == "hotcold:f=0.1,r=0.9"
    assert workloads(zones)[0.5] == "uniform"
    assert workloads(zipf)[1] == "zipf:theta=1"
    assert [label(zones, skew) for skew in (0.5, 0.6, 0.95)] == ["uniform", "60/40", "95/5"]
    assert label(zipf, 0.7) == "0.7"


def test_a_buffer_is_a_share_of_the_logical_pages() -> None:
    # 2048 * 2048 * 7/8 = 3 670 016 pages; 0.02% of them is 734, of 4 KiB each.
    with_, without = (
        experiment.collector(experiment.GREEDY, "uniform", Size.QUICK, share)
        for share in (0.0002, 0.0)
    )
    assert with_.options["host_cache"] == "buffer-cache:size=2936KiB,checkpoint=0s,pages=0"
    assert "host_cache" not in without.options


@pytest.mark.parametrize("name", GREEDY)
@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(1.0, Verdict.MET), (1.0049, Verdict.MET), (1.0051, Verdict.MISSED), (0.9949, Verdict.MISSED)],
)
def test_greedy_is_held_to_half_a_percent(name: str, factor: float, verdict: Verdict) -> None:
    outcome = beside(name, factor)
    # The buffer was inferred from the values under Zipf, so these rows are a fit.
    if (name, verdict) == ("buffer.zipf", Verdict.MET):
        verdict = Verdict.FITTED
    assert {row.verdict for row in outcome.rows} == {verdict}
    (figure,) = outcome.figures
    assert len(figure.data.rows) == len(outcome.rows)
    assert len(figure.draw().axes[0].get_lines()) >= 2


@pytest.mark.parametrize("name", TWO_R)
@pytest.mark.parametrize(("factor", "verdict"), [(1.029, Verdict.MET), (0.969, Verdict.MISSED)])
def test_2r_is_held_to_three_percent(name: str, factor: float, verdict: Verdict) -> None:
    assert {row.verdict for row in beside(name, factor).rows} == {verdict}


@pytest.mark.parametrize(
    ("victim", "published"), [("2r-greedy:ties=oldest", 4.4090), ("2r-fifo", 4.1195)]
)
def test_2r_comes_near_the_published_value_on_a_small_drive(victim: str, published: float) -> None:
    # A quarter of the paper's blocks, with an eighth of the pages per block. Smaller blocks lower
    # WA by 1 to 2%.
    def amplification(**changed: object) -> float:
        given = {**experiment.collector(victim, "hotcold:f=0.2,r=0.8", Size.QUICK).options}
        small = {**given, "blocks": 512, "pages_per_block": 256, "writes": "2x", **changed}
        return flashgc.run(**small).write_amplification

    found = amplification()
    assert found == pytest.approx(published, rel=0.03)
    # Another frontier or another policy gives a clearly larger figure.
    assert amplification(frontier="single") > 1.025 * found
    assert amplification(victim="fifo") > 1.025 * found


def test_writes_that_the_buffer_keeps_count_as_written() -> None:
    # 650 of 1000 writes reach the drive, which programs 6 pages for each: 3.9 pages per write.
    claim = the("buffer.zipf")
    measured = Measured(
        Size.QUICK, task_of(claim, Size.QUICK), {"zipf:theta=1": simulated(6.0, 0.65)}, {}
    )
    value = experiment.amplification(measured, "zipf:theta=1")
    assert value.mean == pytest.approx(3.9)
    assert value.ci95 == pytest.approx(0.00065)
    assert beside("buffer.zones", 1.0, 0.65).verdict is Verdict.MET


def test_what_was_not_simulated_is_not_run_and_not_drawn() -> None:
    outcome = judged(the("buffer.zipf"), {"zipf:theta=1": simulated(3.9399)}, {})
    verdicts = [row.verdict for row in outcome.rows]
    assert verdicts == [Verdict.NOT_RUN] * 10 + [Verdict.FITTED]
    assert outcome.verdict is Verdict.NOT_RUN
    assert outcome.figures[0].draw() is not None
    assert judged(the("zones.greedy"), {}, {}).figures == ()


def test_the_model_meets_the_optimum_of_zones_and_of_no_exponent() -> None:
    made, _ = reproduce(("ssdiq.zones.optimal", "ssdiq.zipf.optimal"), size=Size.QUICK)
    zones, zipf = made.outcomes
    assert zones.verdict is Verdict.MET
    assert {row.verdict for row in zipf.rows} == {Verdict.MISSED}
    # At exponent 0 all pages are alike, so the optimum is that of uniform writes.
    assert zipf.rows[0].difference == pytest.approx(4.174153 / 4.1385 - 1, abs=1e-6)
    assert zones.rows[0].difference == pytest.approx(4.174153 / 4.172983 - 1, abs=1e-6)
    assert "4.1385 contradicts 4.17298" in zipf.notes[0]
