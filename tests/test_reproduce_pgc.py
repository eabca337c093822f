"""The semi-preemptive paper's runners: exact parts are run, others get hand-made numbers."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from flashgc.results import Result
from flashgc.simulation import run
from flashgc_papers.claims import Claim, claims
from flashgc_papers.pgc import experiment, sweeps, traces
from flashgc_papers.reproduce.execute import programs
from flashgc_papers.reproduce.mutants import changed, mutants_of
from flashgc_papers.reproduce.runner import Outcome, runner_of
from flashgc_papers.reproduce.tasks import Measured, Size, Task
from flashgc_papers.reproduce.verdicts import Value, Verdict
from papers import claim_of, result_of, task_of

RUNNABLE = [claim for claim in claims().claims if claim.paper == "pgc"]
MET, IN_KIND, MISSED, NOT_RUN = Verdict.MET, Verdict.IN_KIND, Verdict.MISSED, Verdict.NOT_RUN
#: The verdict of rows on the traces, because the first reading was fitted to them.
FITTED = Verdict.FITTED
the = functools.partial(claim_of, "pgc")


@pytest.mark.parametrize("claim", RUNNABLE, ids=lambda claim: claim.id)
@pytest.mark.parametrize("size", list(Size))
def test_every_claim_has_a_task_that_the_engine_understands(claim: Claim, size: Size) -> None:
    task = task_of(claim, size)
    assert task.settings
    for simulation in task.simulations.values():
        config = simulation.config()
        # Table VI: 64 pages of 4 KiB a block, 15% reserved, greedy; 25 us, 200 us, 1.5 ms.
        assert (config["pages_per_block"], config["page_size"], config["spare"]) == (64, 4096, 0.15)
        assert config["victim"] == "greedy"
        assert config["times"].startswith("read=25us,program=200us,erase=1.5ms")
        assert programs(config) > 0
    drives = {
        simulation.config()["blocks"]
        for simulation in task.simulations.values()
        if simulation.options.get("device")
    }
    # Table VI: 8 elements of 8 planes of 2048 blocks.
    assert drives <= {experiment.BLOCKS[size]}
    assert experiment.BLOCKS[Size.FULL] == 8 * 8 * 2048
    if drives and size is not Size.FULL:
        assert task.left_out


def outcome_of(name: str, make: Any) -> Outcome:
    """The outcome if ``make(key, simulation)`` gives the result of each simulation."""
    runner = runner_of(the(name))
    assert runner is not None
    task = runner.task(the(name), Size.QUICK)
    # A key of a single run has the reading, the simulation's key and the run's number.
    results = {
        key: make((key.rpartition(" run ")[0] or key).rpartition(": ")[2], one)
        for key, one in task.simulations.items()
    }
    return runner.judge(the(name), Measured(Size.QUICK, task, results, {}))


@pytest.mark.parametrize("name", ["cost", "states"])
def test_what_is_exact_is_met(name: str) -> None:
    def simulated(key: str, simulation: Any) -> Result:
        del key
        options = {**simulation.options}
        return run(options.pop("workload"), **options)

    outcome = outcome_of(name, simulated)
    assert outcome.verdict is MET, [row.why for row in outcome.rows]
    if name == "cost":
        # Two reads of 25 us, two programs of 200 us, an erase of 1.5 ms.
        assert outcome.rows[0].measured is not None
        assert str(outcome.rows[0].measured) == f"{2 * 0.025 + 2 * 0.2 + 1.5:.4f}"


def timed(mean: float, variance: float, longest: float, **more: Any) -> Result:
    """A result with these response times, in microseconds, in three runs."""
    figures = {
        "requests": 100, "mean": mean, "variance": variance, "deviation": variance**0.5,
        "max": longest, "during_collection": {"mean": 2 * mean},
    }  # fmt: skip
    raw = {
        "reads": 1000, "host_pages": 1000, "latency_us": {"all": figures},
        "mean_us_runs": [mean] * 3, "mean_us_ci95": mean / 1000, "collecting": {
            "merged_reads": 1, "merged_writes": 1,
        },
        "time_share": {}, "throughput": {}, "utilisation": {}, "over_time": {},
        "simulated_seconds": 1.0, "requests_in_system": 1.0, "overload": None,
        "config": {}, **more,
    }  # fmt: skip
    return result_of(raw)


#: Published reductions of mean and variance in percent; "little" for the last two traces.
FALLS = {"Financial": (6.5, 49.8), "Cello": (66.6, 83.3), "TPC-H": (1, 1), "OpenMail": (1, 1)}


def of_traces(key: str, falls: dict[str, tuple[float, float]]) -> Result:
    name, _, preemption = key.partition(" ")
    mean, variance = falls.get(name, FALLS["Financial"])
    if preemption == "none":
        mean = variance = 0
    return timed(1000 - 10 * mean, 1e6 - 1e4 * variance, 9000)


def test_the_published_falls_are_those_that_are_claimed() -> None:
    outcome = outcome_of("traces", lambda key, _: of_traces(key, FALLS))
    assert outcome.verdict is FITTED, [row.why for row in outcome.rows]
    assert outcome.under == {"one": FITTED, "literal": IN_KIND}
    by_label = {row.label: row.measured for row in outcome.chosen}
    mean, variance = by_label["Cello, mean, %"], by_label["Financial, variance, %"]
    assert isinstance(mean, Value)
    assert isinstance(variance, Value)
    assert (mean.mean, variance.mean) == pytest.approx((-66.6, -49.8))
    (figure,) = outcome.figures
    # The slides have eight bars: four traces, without and with preemption.
    assert len(figure.data.rows) == 8
    figure.draw()


def test_a_fall_of_another_size_than_published_is_missed() -> None:
    # Financial has a tenth and twice of the published reductions; Cello's mean has two thirds.
    sizes = {**FALLS, "Financial": (0.65, 99.6), "Cello": (44.5, 83.3)}
    outcome = outcome_of("traces", lambda key, _: of_traces(key, sizes))
    rows = {row.label: row for row in outcome.chosen}
    assert rows["Financial, mean, %"].verdict is MISSED
    assert "0.10 times the published effect, beyond" in rows["Financial, mean, %"].why
    assert rows["Financial, variance, %"].verdict is MISSED
    assert rows["Cello, mean, %"].verdict is FITTED


def test_a_fall_inside_its_interval_is_missed() -> None:
    def noisy(key: str, simulation: Any) -> Result:
        # Reductions of -3.4, 66.6 and 136.6% in turn.
        shift = (-70, 0, 70)[simulation.options.get("seed", 1) % 3]
        falls = {**FALLS, "Cello": (66.6 + shift, 83.3)}
        return of_traces(key, falls)

    outcome = outcome_of("traces", noisy)
    for reading in outcome.under:
        rows = {row.label: row.verdict for row in outcome.rows if row.reading == reading}
        assert rows["Cello, mean, %"] is MISSED
        assert rows["Cello, variance, %"] is (FITTED if reading == "one" else IN_KIND)


def test_one_run_that_is_far_off_moves_no_median() -> None:
    def off_once(key: str, simulation: Any) -> Result:
        # Runs without spread, except one of 17 with ten times the response times.
        far = simulation.options.get("seed") == 1
        return of_traces(key, {**FALLS, "Cello": (-900.0, -900.0)} if far else FALLS)

    outcome = outcome_of("traces", off_once)
    assert outcome.under == {"one": FITTED, "literal": MISSED}


def test_stand_ins_address_what_their_reading_says() -> None:
    task = task_of(the("traces"), Size.QUICK)
    for reading, footprint in (("one", "32%"), ("literal", "12.5%")):
        options = task.simulations[f"{reading}: Cello pgc run 1"].options
        assert f"footprint={footprint}" in options["workload"]
        assert options["planes"] == {"one": 1, "literal": 8}[reading]


def test_the_public_part_of_financial_is_replayed_on_the_paper_s_drive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / traces.PART
    trace.parent.mkdir(parents=True)
    trace.touch()
    monkeypatch.setenv(traces.FOLDER, str(tmp_path))
    task = task_of(the("traces"), Size.FULL)
    replays = [one.options for key, one in task.simulations.items() if ": part " in key]
    # Two runs under each of two readings, on the 8 x 8 x 2048 blocks of Table VI.
    assert [one["blocks"] for one in replays] == [131072] * 4
    assert {one["workload"] for one in replays} == {str(trace)}


def test_only_the_longest_read_tells_suspension_from_semi_preemption() -> None:
    runner = runner_of(the("states"))
    assert runner is not None
    (mutant,) = (one for one in mutants_of("pgc") if one.name == "suspension")
    right = runner.task(the("states"), Size.QUICK)
    wrong = changed(right, mutant)
    assert set(wrong.simulations) == set(right.simulations)
    verdicts = []
    for task in (right, wrong):
        results = {}
        for key, one in task.simulations.items():
            options = dict(one.options)
            results[key] = run(options.pop("workload"), **options)
        rows = runner.judge(the("states"), Measured(Size.QUICK, right, results, {})).rows
        verdicts.append([row.verdict for row in rows])
    assert verdicts == [[MET] * 5, [MET] * 4 + [MISSED]]


def test_a_read_that_waits_for_an_erase_tells_suspension_in_the_sweeps_too() -> None:
    runner = runner_of(the("synthetic"))
    assert runner is not None
    task = runner.task(the("synthetic"), Size.QUICK)
    keys = [f"one: {sweeps.SHORT} run {number}" for number in (1, 2, 3)]
    short = Task({key: task.simulations[key] for key in keys})
    verdicts = {}
    for mutant in (None, *mutants_of("pgc")):
        if mutant is not None and mutant.name not in ("suspension", "no preemption"):
            continue
        of = short if mutant is None else changed(short, mutant)
        assert set(of.simulations) == set(keys)
        results = {}
        for key, one in of.simulations.items():
            options = dict(one.options)
            results[key] = run(options.pop("workload"), **options)
        rows = runner.judge(the("synthetic"), Measured(Size.QUICK, task, results, {})).chosen
        verdicts[mutant and mutant.name] = rows[-1].verdict
    assert verdicts == {None: IN_KIND, "suspension": MISSED, "no preemption": MISSED}


def test_a_trace_that_reads_and_gains_as_much_is_missed() -> None:
    outcome = outcome_of("traces", lambda key, _: of_traces(key, {**FALLS, "TPC-H": (50, 1)}))
    missed = [row.label for row in outcome.chosen if row.verdict is MISSED]
    assert missed == ["mean: TPC-H gains less than Financial"]
    # Preemption makes Financial slower.
    worse = {**FALLS, "Financial": (-1.0, 49.8)}
    outcome = outcome_of("traces", lambda key, _: of_traces(key, worse))
    assert "Financial, mean, %" in [row.label for row in outcome.chosen if row.verdict is MISSED]


def test_a_gain_must_grow_all_along_its_sweep() -> None:
    def swept(at: Any) -> Outcome:
        def made(key: str, _: Any) -> Result:
            if key == sweeps.SHORT:
                met = {"requests": 100, "mean": 500.0, "max": 1600.0}
                return timed(1, 1, 1, latency_us={"read": {**met, "during_collection": met}})
            name, _, value = key.rpartition(" ")[0].rpartition(" ")
            gain = at(name, [f"{one}" for one in sweeps.SWEEPS[name][0]].index(value))
            return timed(1000 * (1 - gain if key.endswith("pgc") else 1), 1e6, 9000)

        return outcome_of("synthetic", made)

    rising = swept(lambda name, at: 0.1 + 0.1 * at)
    assert [row.verdict for row in rising.chosen[:3]] == [IN_KIND] * 3
    # A read waits 1.5 ms for an erase, and takes 1.6 ms in all.
    assert (rising.chosen[-1].verdict, str(rising.chosen[-1].measured)) == (IN_KIND, "1.6000")
    turned = swept(lambda name, at: 0.5 - 0.1 * at if name.startswith("reads") else 0.1 + 0.1 * at)
    assert [row.verdict for row in turned.chosen[:3]] == [IN_KIND, IN_KIND, MISSED]
    # Ratio of the means at 20% and 80% reads: 1 without preemption; 0.6 / 0.9 or 0.8 / 0.5 with it.
    assert [one.chosen[3].verdict for one in (rising, turned)] == [IN_KIND, MISSED]
    (figure,) = rising.figures
    assert len(figure.data.rows) == 2 * sum(len(one[0]) for one in sweeps.SWEEPS.values())


def test_bandwidth_that_varies_with_writes_and_depth_is_what_is_claimed() -> None:
    def varying(key: str, _: Any) -> Result:
        writes, depth = map(int, key.split())
        swing = writes / 200 + depth / 1000
        slices = [0.0, *([1 - swing, 1 + swing] * 5), 0.0]
        side = {"bytes_per_second": slices}
        nothing = {"bytes_per_second": [0.0] * len(slices)}
        series = {"read": nothing, "write": side, "resolution_seconds": 0.02}
        return timed(1, 1, 1, over_time=series)

    outcome = outcome_of("variability", varying)
    assert outcome.verdict is IN_KIND
    # The values 1 - s and 1 + s have a coefficient of variation of s.
    assert outcome.rows[0].measured == "0.108, 0.208, 0.308, 0.408"
    figure, depth = outcome.figures
    assert len(figure.data.rows) == 4 * 12
    figure.draw()
    # With equal numbers of 1 - s and 1 + s, each is one standard deviation from the mean.
    assert [one[0] for one in depth.data.rows] == [8] * 10 + [64] * 10
    assert [one[1] for one in depth.data.rows] == pytest.approx(([-1] * 5 + [1] * 5) * 2)
    assert depth.data.rows[4][2] == 0.5
    depth.draw()


def test_what_was_interrupted_is_not_run() -> None:
    for claim in RUNNABLE:
        runner = runner_of(claim)
        assert runner is not None
        task = runner.task(claim, Size.QUICK)
        outcome = runner.judge(claim, Measured(Size.QUICK, task, {}, {}))
        assert outcome.verdict is NOT_RUN
        assert {row.verdict for row in outcome.rows} == {NOT_RUN}


def test_stand_ins_arrive_at_the_printed_rates() -> None:
    # Rates from mean gaps: the middle of a uniform distribution; bursts send only part of the time.
    rates = {
        "Financial": 1000 / ((1.43 + 40.95) / 2),
        "Cello": 1000 * 0.5164 / (0.5164 + 6.44),
        "TPC-H": 5000 * 0.2767 / (0.2767 + 7.733),
    }
    for name, _, _, rate in the("traces").rows:
        if name in rates:
            assert rates[str(name)] == pytest.approx(float(rate), rel=2e-3)
