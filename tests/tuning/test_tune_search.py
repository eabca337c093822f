"""The search agrees with an exhaustive one, and its sentences claim only what its runs show."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

import pytest

import flashgc
from flashgc.results.intervals import half_width
from flashgc.studies.tuning.describe import RULES
from flashgc.studies.tuning.search import kept

DRIVE = {"blocks": 128, "pages_per_block": 16, "writes": "6x", "spare": "15%", "jobs": 1}
HOT = "hotcold:f=0.1,r=0.9"
SPECS = [
    "fifo", "random", "greedy:ties=latest", "greedy:ties=oldest", "d-choices:d=2,c=0",
    "d-choices:d=40,c=0", "windowed:w=10", "windowed:w=60",
    "cost-benefit:form=lfs,age=last_write",
    "cost-benefit:form=sqrt,age=last_write",
]  # fmt: skip
FRONTIERS = ["pool:low=2", "pool:low=9", "double"]
SPACE = {"victim": SPECS, "placement": "none", "frontier": FRONTIERS}
RUNS = 3


def exhaustive(workload: str, seed: int, **options: object) -> dict[tuple[str, str], list[float]]:
    """Write amplification of every combination in full runs: the naive search."""
    return {
        (victim, frontier): [
            flashgc.run(
                workload, victim=victim, frontier=frontier, seed=seed + index, runs=1, **options
            ).write_amplification
            for index in range(RUNS)
        ]
        for victim in SPECS
        for frontier in FRONTIERS
    }


def test_the_search_finds_the_best_of_an_exhaustive_search() -> None:
    for workload in (HOT, "uniform"):
        every = exhaustive(workload, 1, **DRIVE)
        means = {name: statistics.fmean(values) for name, values in every.items()}
        tuned = flashgc.tune(workload, budget=30, runs=RUNS, **SPACE, **DRIVE)
        found = (tuned.best.candidate.victim, tuned.best.candidate.frontier)
        assert found == min(means, key=means.__getitem__)
        # A third of the candidates goes on to the next rung, and greedy, even if it is not among
        # them.
        first, second, third = (rung.candidates for rung in tuned.rungs)
        assert first == 30
        assert second in (10, 11)
        assert third in (5, 6)
        for entry in tuned:
            name = (entry.candidate.victim, entry.candidate.frontier)
            assert entry.figure == pytest.approx(means[name])
            # Student's t with 2 degrees of freedom: 4.303; the differences are seed by seed.
            pairs = [a - b for a, b in zip(every[name], every[found], strict=True)]
            half = 4.303 * statistics.stdev(pairs) / math.sqrt(RUNS)
            assert entry.difference == pytest.approx(statistics.fmean(pairs), abs=1e-12)
            assert entry.difference_ci95 == pytest.approx(half, abs=1e-12)
            assert entry.inside_noise == (abs(entry.difference) <= half)


def test_what_is_held_back_of_a_generator_are_other_seeds() -> None:
    tuned = flashgc.tune(HOT, budget=30, runs=RUNS, **SPACE, **DRIVE)
    others = exhaustive(HOT, 1 + RUNS, **DRIVE)
    checked = [one for one in tuned if one.held_back is not None]
    assert len(checked) == 5 + (tuned.ranking[-1].is_reference and len(tuned) > 5)
    for entry in checked:
        name = (entry.candidate.victim, entry.candidate.frontier)
        assert entry.held_back == pytest.approx(statistics.fmean(others[name]))
    assert tuned.holds_up is True


def test_greedy_is_compared_to_even_where_it_is_not_searched() -> None:
    tuned = flashgc.tune(
        HOT, victim=["fifo", "random"], placement="none", frontier="pool:low=2", budget=2, runs=2,
        **DRIVE,
    )  # fmt: skip
    assert [entry.name for entry in tuned] == ["fifo, pool", "random, pool", "greedy, pool"]
    assert [entry.place for entry in tuned] == [1, 2, None]
    assert tuned.greedy is tuned.ranking[-1]
    assert tuned.greedy.difference < 0, "greedy writes less, and is not what was searched"
    assert tuned.greedy.held_back is not None
    assert tuned.holds_up is True, "greedy was not searched, and beats nobody"
    more = tuned.best.figure / tuned.greedy.figure - 1
    assert f"{more:.1%} more than greedy, pool" in tuned.findings[0].text


def test_the_objective_decides() -> None:
    options = {
        "victim": ["greedy:ties=latest", "bsgc:first=zero", "random"], "placement": "none",
        "frontier": "pool:low=4", "blocks": 128, "pages_per_block": 16, "endurance": 40,
        "spare": "15%", "runs": 3, "budget": 3, "jobs": 1,
    }  # fmt: skip
    lives = {
        victim: statistics.fmean(
            flashgc.run(
                "uniform", victim=victim, frontier="pool:low=4", blocks=128, pages_per_block=16,
                endurance=40, spare="15%", until="system-failure", seed=seed,
            ).lifetime.system_failure.drive_writes  # type: ignore[union-attr]
            for seed in (1, 2, 3)
        )
        for victim in options["victim"]  # type: ignore[attr-defined]
    }  # fmt: skip
    longest = flashgc.tune("uniform", objective="life", **options)
    assert longest.best.candidate.victim.startswith("bsgc:")
    assert max(lives, key=lives.__getitem__) == "bsgc:first=zero"
    assert longest.ranking[-1].candidate.victim == min(lives, key=lives.__getitem__) == "random"
    assert longest.best.figure == pytest.approx(max(lives.values()))
    least = flashgc.tune("uniform", writes="4x", **options)
    assert least.best.candidate.victim == "greedy:ties=latest"


def test_the_99_9th_percentile_of_reads_is_that_of_the_timed_drive() -> None:
    clock = {
        "times": "read=60us,program=800us,erase=1.5ms", "arrivals": "poisson:rate=150",
        "requests": 8000, "blocks": 128, "pages_per_block": 16, "spare": "20%", "jobs": 1,
    }  # fmt: skip
    victims = ["fifo", "random", "greedy:ties=latest"]
    tuned = flashgc.tune(
        "uniform:read=0.5", objective="p99.9-read", victim=victims, placement="none", budget=3,
        runs=2, **clock,
    )  # fmt: skip
    expected = {}
    for victim in victims:
        reads = []
        for seed in (1, 2):
            made = flashgc.run(
                "uniform:read=0.5", kind="timed", victim=victim, seed=seed, runs=1, **clock
            ).timing
            assert made is not None
            assert made.latency_us.read is not None
            reads.append(made.latency_us.read.p99_9)
        expected[victim] = statistics.fmean(reads)
    assert {one.candidate.victim: one.figure for one in tuned} == pytest.approx(expected)
    assert tuned.best.candidate.victim == min(expected, key=expected.__getitem__)
    assert {one.candidate.frontier for one in tuned} == {None}


def test_reads_of_a_trace_are_measured_in_five_windows(tmp_path: Path) -> None:
    trace = tmp_path / "reads.csv"
    flashgc.trace_synth(
        "uniform:read=0.5", trace, pages=1500, requests=6000, interval_ns=4_000_000, seed=3
    )
    clock = {
        "times": "read=60us,program=800us,erase=1.5ms", "pages_per_block": 16, "spare": "20%",
        "jobs": 1,
    }  # fmt: skip
    tuned = flashgc.tune(
        flashgc.Trace(trace), objective="p99.9-read", victim=["fifo", "random"], placement="none",
        budget=2, **clock,
    )  # fmt: skip

    def windows(victim: str, begin: int, end: int) -> float:
        reads = []
        for index in range(5):
            a, b = (begin + (end - begin) * i // 5 for i in (index, index + 1))
            made = flashgc.run(
                str(trace), kind="timed", victim=victim, warmup=f"{a}/{b}", requests=b, **clock
            ).timing
            assert made is not None
            assert made.latency_us.all is not None
            assert made.latency_us.all.requests == b - a
            assert made.latency_us.read is not None
            reads.append(made.latency_us.read.p99_9)
        return statistics.fmean(reads)

    # A third of the first 4200 requests is warm-up; the last 1800 are held back.
    for entry in tuned:
        assert entry.figure == pytest.approx(windows(entry.candidate.victim, 1400, 4200))
        assert entry.held_back == pytest.approx(windows(entry.candidate.victim, 4200, 6000))
    assert tuned.ranking[1].difference_ci95 is not None


def test_of_those_that_decide_alike_one_goes_before_its_twins() -> None:
    # z-greedy is greedy without hints; d-choices with one draw is random.
    victims = [
        "greedy:ties=latest", "z-greedy:ties=latest", "random", "d-choices:d=1", "fifo",
        "windowed:w=20", "d-choices:d=4", "d-choices:d=2",
    ]  # fmt: skip
    tuned = flashgc.tune(
        "uniform", victim=victims, placement="none", frontier="single", budget=8, runs=2, **DRIVE
    )
    assert [rung.candidates for rung in tuned.rungs] == [8, 5, 5]
    last = {entry.candidate.victim.split(",")[0] for entry in tuned}
    distinct = {"greedy:ties=latest", "fifo", "windowed:w=20", "d-choices:d=4", "d-choices:d=2"}
    assert last == distinct


def test_policies_that_do_the_same_cannot_be_told_apart() -> None:
    victims = ["greedy:ties=latest", "windowed:w=128", "d-choices:d=5000", "d-choices:d=5001"]
    tuned = flashgc.tune(
        "uniform", victim=[*victims, "fifo"], placement="none", frontier="single", budget=5, runs=5,
        blocks=128, pages_per_block=16, writes="6x", jobs=1,
    )  # fmt: skip
    alike = {one.candidate.victim.split(",")[0] for one in tuned.alike}
    assert {"d-choices:d=5000", "d-choices:d=5001"} <= alike
    assert "fifo" not in alike
    assert tuned.ranking[-1].candidate.victim == "fifo"
    # z-greedy without hints is greedy, decision by decision.
    twins = flashgc.tune(
        "uniform", victim=["greedy:ties=latest", "z-greedy:ties=latest"], placement="none",
        frontier="single", budget=2, runs=2, blocks=128, pages_per_block=16, writes="4x", jobs=1,
    )  # fmt: skip
    assert [(one.difference, one.difference_ci95) for one in twins] == [(0, 0), (0, 0)]
    assert len(twins.alike) == 2
    assert twins.best.candidate.victim == "greedy:ties=latest"
    said = " ".join(one.sentence for one in twins.findings)
    assert "These two cannot be told apart: greedy, single; z-greedy, single." in said
    assert "No configuration is better than this" in said


def two_faced(folder: Path) -> Path:
    """A trace whose last 30% behave differently: hot and cold at first, then evenly."""
    lines = []
    for workload, requests, seed in (("hotcold:f=0.05,r=0.95", 70_000, 1), ("uniform", 30_000, 2)):
        part = folder / "part.csv"
        flashgc.trace_synth(workload, part, pages=4000, requests=requests, seed=seed)
        header, *rest = part.read_text().splitlines()
        lines += rest
    trace = folder / "two-faced.csv"
    trace.write_text("\n".join([header, *lines]) + "\n")
    return trace


TRACED = {
    "victim": ["cost-benefit:form=kawaguchi", "greedy:ties=latest", "fifo"], "placement": "none",
    "frontier": "pool:low=2", "pages_per_block": 32, "budget": 3, "jobs": 1,
}  # fmt: skip


def test_a_winner_that_fits_the_tuned_part_alone_is_caught(tmp_path: Path) -> None:
    trace = two_faced(tmp_path)
    tuned = flashgc.tune(str(trace), **TRACED)
    assert tuned.best.name == "cost-benefit, pool"
    assert tuned.holds_up is False
    assert tuned.beaten_by == ("greedy, pool",)
    said = " ".join(one.sentence for one in tuned.findings)
    assert "On the last 30% of the trace (held back) cost-benefit, pool does not hold up" in said
    assert "greedy, pool is better by 0." in said
    assert "holds up:" not in said
    greedy = tuned.greedy
    assert greedy is not None
    assert greedy.held_back is not None
    assert tuned.best.held_back is not None
    assert greedy.figure > tuned.best.figure
    assert greedy.held_back < tuned.best.held_back
    # With the first part alone, the result holds up, so the change in the trace is the cause.
    alone = tmp_path / "first.csv"
    alone.write_text("".join(trace.read_text().splitlines(keepends=True)[:70_001]))
    assert flashgc.tune(str(alone), **TRACED).holds_up is True


def test_a_trace_is_measured_where_it_is_said_to_be(tmp_path: Path) -> None:
    trace = str(two_faced(tmp_path))
    tuned = flashgc.tune(trace, hold_back="30%", **TRACED)
    for entry in tuned:
        options = {
            "victim": entry.candidate.victim, "frontier": "pool:low=2", "pages_per_block": 32,
        }  # fmt: skip
        # A third of the 70 000 tuned writes is warm-up; the last 30 000 are held back.
        first = flashgc.run(trace, warmup="23333/70000", writes=70_000, **options)
        assert entry.figure == first.write_amplification
        assert first.host_pages == 70_000 - 23_333
        last = flashgc.run(trace, warmup="70000/100000", writes=100_000, **options)
        assert entry.held_back == last.write_amplification
        assert last.host_pages == 30_000
    # The intervals come from ten blocks of the same writes.
    best, other = (
        flashgc.run(
            trace, warmup="23333/70000", writes=70_000, victim=one.candidate.victim,
            frontier="pool:low=2", pages_per_block=32,
        )
        for one in tuned.ranking[:2]
    )  # fmt: skip
    pairs = [
        b - a
        for (at, a), (_, b) in zip(best.series, other.series, strict=True)
        if at > best.measured_from + 1e-9
    ]
    size = len(pairs) // 10
    assert len(pairs) == 10 * size
    blocks = [statistics.fmean(pairs[i * size : (i + 1) * size]) for i in range(10)]
    assert tuned.ranking[1].difference_ci95 == pytest.approx(half_width(blocks))
    assert statistics.fmean(blocks) == pytest.approx(tuned.ranking[1].difference, rel=1e-3)


def test_an_earlier_search_is_not_run_again(tmp_path: Path) -> None:
    options = {**SPACE, **DRIVE, "runs": 2, "cache": tmp_path}
    first = flashgc.tune(HOT, budget=12, **options)
    assert (first.simulations > 12, first.found) == (True, 0)
    again = flashgc.tune(HOT, budget=12, **options)
    assert (again.simulations, again.found) == (0, first.simulations)
    assert again.ranking == first.ranking
    # A larger budget begins with the same configurations.
    more = flashgc.tune(HOT, budget=20, **options)
    assert more.found > 12
    anew = flashgc.tune(HOT, budget=12, resume=False, **options)
    assert (anew.simulations, anew.found) == (first.simulations, 0)
    # Stored results of one drive are not used for another drive.
    other = flashgc.tune(HOT, budget=12, **{**options, "spare": "16%"})
    assert other.found == 0


def test_what_cannot_be_is_counted_with_its_reason() -> None:
    options = {
        "victim": "greedy:ties=latest", "frontier": ["single", "pool:low=2", "pool:low=100"],
        "runs": 2, "budget": 6, **DRIVE,
    }  # fmt: skip
    tuned = flashgc.tune("uniform", placement=["none", "dac:regions=3"], **options)
    # Three of 6 combinations are skipped: dac needs a pool, and 100 erased blocks are too many.
    assert sum(one.count for one in tuned.skipped) == 3
    reasons = " ".join(one.reason for one in tuned.skipped)
    assert "needs the pool frontier" in reasons
    assert "too few for the pool:low=100" in reasons
    assert tuned.rungs[0].candidates == 3


def test_a_search_that_was_stopped_ranks_its_last_whole_rung(tmp_path: Path) -> None:
    control = flashgc.Control()

    def watch(_share: float, what: str, _programs: int) -> None:
        if what.startswith("rung 3"):
            control.cancel()

    options = {**SPACE, **DRIVE, "runs": 20, "writes": "60x", "budget": 12, "cache": tmp_path}
    tuned = flashgc.tune(HOT, control=control, progress=watch, **options)
    assert tuned.interrupted
    assert len(tuned.rungs) == 3
    assert tuned.rungs[-1].measured < tuned.rungs[-1].candidates
    assert len(tuned) == tuned.rungs[1].measured == tuned.rungs[1].candidates
    assert tuned.holds_up is None
    whole = flashgc.tune(HOT, **options)
    assert not whole.interrupted
    assert whole.found >= tuned.simulations


def test_the_time_is_a_budget() -> None:
    options = {**DRIVE, "writes": "3x", "runs": 2}
    tuned = flashgc.tune(HOT, time="3s", **options)
    assert tuned.rungs[0].candidates > 18
    assert tuned.ranking
    none = flashgc.tune(HOT, time="1ms", **{**options, "blocks": 4000, "writes": "50x"})
    assert none.out_of_time
    assert none.holds_up is None


def test_one_in_three_goes_on_and_never_fewer_than_five() -> None:
    assert [kept(n) for n in (3, 9, 15, 16, 27, 82)] == [3, 5, 5, 6, 9, 28]


def test_the_interval_is_that_of_students_t() -> None:
    # 2.776 is the 0.975 quantile with 4 degrees of freedom; the deviation of 1 to 5 is sqrt(2.5).
    assert half_width([1, 2, 3, 4, 5]) == pytest.approx(2.776 * math.sqrt(2.5 / 5))
    assert half_width([1.0]) is None
    assert half_width([2.0] * 30) == 0


def test_what_is_wrong_with_the_runs_is_said_of_the_search(tmp_path: Path) -> None:
    """Doubts about runs become doubts about the search; for a trace, only those about the drive."""
    given: dict[str, Any] = {"victim": ["greedy", "fifo"], "placement": "none", "budget": 10}
    drive: dict[str, Any] = {"blocks": 60, "pages_per_block": 16, "spare": 0.3}
    drawn = flashgc.tune("uniform", writes="0.2x", warmup="0", runs=2, **drive, **given)
    said = {one.id for one in drawn.findings}
    assert "few-blocks" in said
    assert "too-short" in said
    lines = [f"{at},W,{at * 7 % 500 * 4096},4096,0" for at in range(3000)]
    trace = tmp_path / "t.csv"
    trace.write_text("\n".join(["time_us,op,offset_bytes,size_bytes,dev", *lines]) + "\n")
    replayed = flashgc.tune(str(trace), **drive, **given)
    own = {*RULES}
    assert [one.id for one in replayed.findings if one.id not in own] == ["few-blocks"]
