"""The zombie paper's runners: its sizes, gains computed by hand, and rows that are missed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import flashgc
from flashgc.described import Simulation
from flashgc.results import Result
from flashgc_papers.claims import Claim, claims
from flashgc_papers.reproduce.execute import Work, programs
from flashgc_papers.reproduce.rows import Row
from flashgc_papers.reproduce.runner import Outcome, runner_of
from flashgc_papers.reproduce.tasks import Measured, Size, Task
from flashgc_papers.reproduce.verdicts import Value, Verdict
from flashgc_papers.zombie import experiment, wrong
from flashgc_papers.zombie.experiment import CHOSEN, READINGS, micro
from flashgc_papers.zombie.figures import BOUNDS, TRACE
from flashgc_papers.zombie.readings import CHANGES, POINTS, STATEMENTS
from flashgc_papers.zombie.timed import transactions
from flashgc_papers.zombie.waits import EVENTS, mean_wait
from papers import WHOLE_PAGES, claim_of, result_of, task_of

RUNNABLE = [claim for claim in claims().claims if claim.paper == "zombie"]
IN_KIND, MISSED, NOT_RUN = Verdict.IN_KIND, Verdict.MISSED, Verdict.NOT_RUN
FITTED = Verdict.FITTED
the = functools.partial(claim_of, "zombie")


@pytest.mark.parametrize("claim", RUNNABLE, ids=lambda claim: claim.id)
@pytest.mark.parametrize("size", list(Size))
def test_every_claim_has_a_task_that_the_engine_understands(claim: Claim, size: Size) -> None:
    task = task_of(claim, size)
    for simulation in task.simulations.values():
        assert programs(simulation.config()) > 0
    assert task.settings or task.not_run


def test_the_default_size_is_the_papers() -> None:
    # Section 4.1: 8 GB per bank, effective blocks of 2 MB and pages of 16 KB. 5.1: four banks, 29.8
    # of 31.6 GB. 5.2.1: 5.12 GB written in requests of 16 KB; two writes per read; 16 threads.
    config = micro(Size.DEFAULT, CHOSEN, "ZGC-GD", 6).config()
    assert config["page_size"] * config["pages_per_block"] * config["blocks"] == 32 << 30
    assert config["page_size"] == 16 << 10
    assert 1 - config["spare"] == pytest.approx(29.8 / 31.6, abs=0.001)
    assert int(config["length"]["requests"]) == 5.12e9 / (16 << 10) * 1.5 == 468_750
    reads = " + 0.333333*uniform:read=1"
    scattered = "classes:pages=6/94,shares=94/6,scatter=yes"
    assert config["workload"] == f"0.666667*{scattered}{reads}"
    timed = config["timed"]
    assert (timed["channels"], timed["arrivals"]) == (4, "closed:threads=16")
    literal = micro(Size.DEFAULT, READINGS[1], "ZGC-GD", 6)
    assert literal.options["workload"] == f"0.666667*skew:h=6{reads}"
    assert literal.options["host_cache"] == "page-cache:size=4096MiB"


def test_a_quick_run_has_one_bank_of_full_size() -> None:
    for banks, blocks, threads in ((4, 4096, 4), (16, 1024, 1)):
        whole, one = (
            micro(size, CHOSEN, "GC-CB", 6, banks=banks) for size in (Size.DEFAULT, Size.QUICK)
        )
        assert one.options["blocks"] == blocks == whole.options["blocks"] // banks
        assert one.options["arrivals"] == f"closed:threads={threads}"
        for count in ("requests", "warmup"):
            assert int(one.options[count]) == int(whole.options[count]) // banks
        config = one.config()
        assert config["timed"]["channels"] == config["timed"].get("ways", 1) == 1
        assert config["pages_per_block"] == 128
    # Under the chosen reading, a victim search takes time linear in the blocks of a bank.
    searches = {
        reading.name: micro(Size.DEFAULT, reading, "ZGC-CB", 6, banks=16).options[
            "victim_search_time"
        ]
        for reading in READINGS
    }
    assert searches == {"idle": "1.9125ms", "literal": "7.65ms", "passing": "1.9125ms"}


def test_a_list_in_the_last_page_of_a_block_leaves_the_logical_capacity_as_it_is() -> None:
    # 128/127 times (1 - 5.7%) is 1 - 4.9575%.
    assert pytest.approx(1 - (1 - 0.057) * 128 / 127, abs=1e-6) == 0.049575
    keys = CHANGES["127 of 128 pages for data"][1]
    board = {"kind": "timed", "device": "jasmine-4", "blocks": 1024, "requests": 16, "runs": 1}
    capacities = [
        flashgc.run(workload="uniform", victim="greedy", **board, **keys).config.logical_pages
        for keys in ({}, keys)
    ]
    assert capacities[1] == pytest.approx(capacities[0], abs=1)


def test_the_chosen_reading_is_outside_the_regions_of_dac() -> None:
    assert CHOSEN.name == "idle"
    for name, (victim, block) in experiment.COLLECTORS.items():
        made = experiment.collector(CHOSEN, name)
        placement = f"dac:regions=3,threshold=1,zombie-block={block}"
        assert made == {"victim": victim, "placement": placement}


def test_requests_pass_collections_under_one_reading_alone() -> None:
    assert [reading.name for reading in READINGS] == ["idle", "literal", "passing"]
    passing = {
        reading.name: {
            one.options.get("preemption")
            for one in (
                micro(Size.DEFAULT, reading, "ZGC-GD", 6),
                micro(Size.DEFAULT, reading, "ZGC-GD", 6, banks=16),
                transactions(Size.DEFAULT, reading, "ZGC-GD", "8.84%"),
            )
        }
        for reading in READINGS
    }
    assert passing == {"idle": {None}, "literal": {None}, "passing": {"pgc"}}


def bare(key: str, timing: dict[str, Any], **more: Any) -> Result:
    """A result of a timed drive with these figures."""
    return result_of({
        "bytes": WHOLE_PAGES,
        "latency_us": {}, "mean_us_runs": [], "mean_us_ci95": None, "time_share": {},
        "throughput": {}, "utilisation": {}, "collecting": {}, "over_time": {},
        "simulated_seconds": 1.0, "requests_in_system": 1.0, "overload": None,
        "config": {"blocks": 16384},
        **timing, **more,
    })  # fmt: skip


def written(of: dict[str, list[float]], **more: Any) -> dict[str, Result]:
    """Results of four runs each, with these write amplifications."""
    return {
        f"{key} run {run}": bare(key, {"write_amplification": value}, **more)
        for key, values in of.items()
        for run, value in enumerate(values, start=1)
    }


def with_amplifications(of: dict[str, list[float]], **more: Any) -> dict[str, Result]:
    """Results with these values of their runs."""
    return {
        key: result_of({
            "bytes": WHOLE_PAGES,
            "run_values": runs,
            "write_amplification": sum(runs) / len(runs),
            "config": {"blocks": 4096},
            **more,
        })
        for key, runs in of.items()
    }  # fmt: skip


def judged(name: str, results: dict[str, Result]) -> Outcome:
    """The outcome of a claim with these results, under the chosen reading alone."""
    claim = the(name)
    runner = runner_of(claim)
    assert runner is not None
    task = runner.task(claim, Size.DEFAULT)
    chosen = {f"{CHOSEN.name}: {key}": result for key, result in results.items()}
    assert set(chosen) <= set(task.simulations)
    outcome = runner.judge(claim, Measured(Size.DEFAULT, task, chosen, {}, "left out"))
    assert {row.verdict for row in outcome.rows if row.reading != CHOSEN.name} <= {NOT_RUN}
    return replace(outcome, rows=outcome.chosen)


def test_a_gain_is_that_of_runs_on_the_same_writes() -> None:
    results = written({"a": [2.0, 3.0], "b": [4.0, 5.0]})
    task = Task({key: Simulation({}) for key in results})
    value = experiment.gain(Measured(Size.QUICK, task, results, {}), "a", "b")
    # 50% and 40%: mean 45, deviation 5 sqrt(2), standard error 5; half the interval is 12.706 * 5.
    assert (value.mean, value.ci95) == pytest.approx((45, 63.53))


def test_the_published_gains_at_6_are_met_and_a_loss_is_missed() -> None:
    # GC has 5, and ZGC-GD is lower by the published 47.3%; no other h was measured.
    of = {"GC-GD 6 4 0.5": [5.0] * 4, "GC-CB 6 4 0.5": [5.0] * 4}
    of["ZGC-GD 6 4 0.5"] = [5 * (1 - 0.473)] * 4
    of["ZGC-CB 6 4 0.5"] = [5.1] * 4
    rows = {row.label: row for row in judged("fig5", written(of)).rows}
    greedy = rows["ZGC-GD below GC-GD at h = 6, %"]
    assert (greedy.verdict, greedy.difference) == (IN_KIND, pytest.approx(0))
    assert rows["ZGC-CB below GC-CB at h = 6, %"].verdict is MISSED
    assert rows["ZGC-GD below GC-GD at h = 10, %"].verdict is NOT_RUN
    # Half of the published gain, and a gain whose interval includes 0.
    of["ZGC-GD 6 4 0.5"] = [5 * (1 - 0.24)] * 4
    of["ZGC-CB 6 4 0.5"] = [5 * (1 - 0.5), 5.4, 5.4, 5 * (1 - 0.1)]
    rows = {row.label: row for row in judged("fig5", written(of)).rows}
    assert rows["ZGC-GD below GC-GD at h = 6, %"].verdict is MISSED
    assert "0.51 times the published" in rows["ZGC-GD below GC-GD at h = 6, %"].why
    assert rows["ZGC-CB below GC-CB at h = 6, %"].verdict is MISSED


def test_more_than_35_percent_is_a_bound_that_the_interval_keeps() -> None:
    # The overhead of 5 falls by 36% to 3.2, and by 34% to 3.3.
    of = {"GC-GD 6 4 0.5": [6.0] * 4, "GC-CB 6 4 0.5": [6.0] * 4}
    # 36% with an interval of 3.7 is not significantly above 35%.
    for greedy, verdict in (([4.2] * 4, IN_KIND), ([4.1, 4.3, 4.1, 4.3], MISSED)):
        of |= {"ZGC-GD 6 4 0.5": greedy, "ZGC-CB 6 4 0.5": [4.3] * 4}
        rows = {row.label: row.verdict for row in judged("fig6", written(of)).rows}
        assert rows["overhead, ZGC-GD below GC-GD, cache 4 GiB, %"] is verdict
        assert rows["overhead, ZGC-CB below GC-CB, cache 4 GiB, %"] is MISSED


def test_between_two_printed_points_the_amplification_is_between_them() -> None:
    of = {
        f"ZGC-CB 6 4 {reads}": [value] * 4
        for reads, value in {"0": 4.4, "0.2": 4.41, "0.5": 4.2, "1": 3.95, "2": 3.96}.items()
    }
    rows = {row.label: row.verdict for row in judged("fig8", written(of)).rows}
    found = [rows[f"waf(ZGC-CB), {reads} reads a write"] for reads in ("0.2", "0.5", "1")]
    assert found == [MISSED, FITTED, MISSED]


def elapsed(seconds: dict[str, float]) -> dict[str, Result]:
    """Timed results with these simulated seconds, and slight noise between runs."""
    return {
        f"{key} run {run}": bare(
            key, {"simulated_seconds": took * (1 + 0.0001 * run), "write_amplification": 2.0}
        )
        for key, took in seconds.items()
        for run in range(1, 5)
    }


def test_a_command_each_must_leave_no_improvement() -> None:
    def verdicts_of(command: float) -> dict[str, Verdict]:
        took = {"GC-GD none": 100.0, "GC-GD piggyback": 100.2, "ZGC-GD piggyback": 60.0}
        made = judged("notification", elapsed({**took, "ZGC-GD command": command}))
        return {row.label: row.verdict for row in made.rows}

    nothing = "elapsed, saved with a command each, %"
    longer = "elapsed, a command each above no hints, %"
    # A gain of 33% instead of 40% is still an improvement, and does not take longer.
    left = verdicts_of(67)
    assert (left[nothing], left[longer]) == (MISSED, MISSED)
    eaten = verdicts_of(110)
    assert (eaten[nothing], eaten[longer]) == (IN_KIND, MISSED)
    worse = verdicts_of(125)
    assert (worse[nothing], worse[longer]) == (IN_KIND, IN_KIND)
    assert worse["elapsed, riding above none sent, %"] is IN_KIND


def test_where_the_paper_says_up_to_the_bound_holds() -> None:
    # The paper says that elapsed time falls by up to 14.4%.
    took = {"GC-GD": 100.0, "ZGC-GD": 64.6, "GC-CB": 100.0, "ZGC-CB": 90.0}
    took = {f"{name} 6 4 0.5": taken for name, taken in took.items()}
    rows = {row.label: row for row in judged("fig7", elapsed(took)).rows}
    assert rows["ZGC-GD, elapsed time saved at h = 6, %"].verdict is MISSED
    assert rows["ZGC-CB, elapsed time saved at h = 6, %"].verdict is IN_KIND


HOST: dict[str, Any] = {
    "mean_dirty_pages": 1.0, "mean_known_pages": 1.0, "known_share": 1.0,
    "hints": {"due": 100, "sent": 100, "overtaken": 0, "lost": 0, "late": 0, "wrong": 0,
              "commands": 0},
}  # fmt: skip


#: Mean waits in milliseconds: for a read, for a free buffer, and for the end of a write.
Waits = tuple[float, float, float]


def waiting(milliseconds: dict[str, Waits]) -> dict[str, Result]:
    """Timed results with these waits; without events of the free buffer if its wait is 0."""
    made = {}
    host = {"reads": 600, "writes": 400, "drive_reads": 100, "drive_writes": 50, **HOST}
    for key, (read, room, rewrite) in milliseconds.items():
        for run in range(1, 5):
            ns = 1e6 * (1 + 0.0001 * run)
            waits = {
                "reads": 100, "read_ns": 100 * read * ns,
                "rooms": 50 if room else 0, "room_ns": 50 * room * ns,
                "rewrites": 20, "rewrite_ns": 20 * rewrite * ns,
            }  # fmt: skip
            made[f"{key} timed run {run}"] = result_of({
            "bytes": WHOLE_PAGES,
                "latency_us": {"all": {"requests": 1000, "mean": 5.0}}, "mean_us_runs": [],
                "mean_us_ci95": None, "time_share": {}, "throughput": {}, "utilisation": {},
                "collecting": {}, "over_time": {}, "simulated_seconds": 1.0,
                "requests_in_system": 1.0, "overload": None, "config": {"blocks": 4096},
                "host": {**host, "waits": waits},
            })  # fmt: skip
    return made


def test_each_event_of_the_database_has_its_own_waits() -> None:
    def rows_of(took: dict[str, Waits]) -> dict[str, Row]:
        return {row.label: row for row in judged("table5", waiting(took)).rows}

    (first, *_) = waiting({"GC-GD": (17, 389, 20333)}).values()
    assert [mean_wait(first, event) for event in EVENTS] == pytest.approx(
        [17 * 1.0001, 389 * 1.0001, 20333 * 1.0001]
    )
    published = {
        "GC-GD": (17.0, 389.0, 20333.0),
        "ZGC-GD": (15.0, 313.0, 17147.0),
        "GC-CB": (18.0, 369.0, 20874.0),
        "ZGC-CB": (16.0, 348.0, 18462.0),
    }
    # Published: from 17 to 15 ms is 11.8% less, from 18 to 16 ms is 11.1% less.
    rows = rows_of(published)
    assert {row.verdict for row in rows.values()} == {IN_KIND}
    assert all(abs(row.difference or 0) < 0.01 for row in rows.values())
    # "More than 10%" does not refer to the wait that is only 5.7% shorter.
    assert len(rows) == 6 + 5
    assert "waits, free buffer wait, ZGC-CB beside GC-CB, %" not in rows

    # Half of the published gain is too little, and a longer wait is missed. The rows on "more than
    # 10%" for that event are missed, too.
    rows = rows_of(
        {**published, "ZGC-GD": (16.0, 313.0, 17147.0), "ZGC-CB": (19.0, 348.0, 18462.0)}
    )
    assert {label for label, row in rows.items() if row.verdict is MISSED} == {
        "db file sequential read, ZGC-GD beside GC-GD, %",
        "waits, db file sequential read, ZGC-GD beside GC-GD, %",
        "db file sequential read, ZGC-CB beside GC-CB, %",
        "waits, db file sequential read, ZGC-CB beside GC-CB, %",
    }
    # If the cache's writer keeps up, there is no wait for a free buffer.
    kept_up = {name: (read, 0.0, rewrite) for name, (read, _, rewrite) in published.items()}
    rows = rows_of(kept_up)
    assert rows["free buffer wait, ZGC-GD beside GC-GD, %"].verdict is NOT_RUN
    assert rows["write complete waits, ZGC-GD beside GC-GD, %"].verdict is IN_KIND


def test_what_is_better_by_over_ten_percent_is_so_with_more_to_spare_only() -> None:
    of = {}
    for name in ("TPC-C1", "TPC-C2"):
        of |= {f"GC-GD {name} 4": [5.0, 5.0], f"ZGC-GD {name} 4": [5 * 0.91] * 2}
        of |= {f"GC-CB {name} 4": [5.0, 5.0], f"ZGC-CB {name} 4": [5 * 0.89] * 2}
    took = {
        f"{one} {name} timed": 100.0 for one in ("GC-GD", "GC-CB") for name in ("TPC-C1", "TPC-C2")
    }
    took |= {f"ZGC-GD {name} timed": 92.0 for name in ("TPC-C1", "TPC-C2")}
    took |= {f"ZGC-CB {name} timed": 90.0 for name in ("TPC-C1", "TPC-C2")}
    made = judged("fig11", {**with_amplifications(of), **elapsed(took)})
    # 9% fewer writes and 100/92 - 1 = 8.7% more transactions miss; 11% and 11.1% do not.
    assert [row.label for row in made.rows if row.verdict is MISSED] == [
        "TPC-C2, ZGC-GD below GC-GD, %",
        "TPC-C2, ZGC-GD, more transactions a second, %",
    ]
    assert len(made.rows) == 8
    (figure,) = made.figures
    assert figure.data.rows[1][4] == pytest.approx(100 / 92)
    figure.draw()


@pytest.mark.parametrize(
    ("late", "commands", "verdict"),
    [(80, 50_000, IN_KIND), (60, 50_000, MISSED), (80, 40_000, MISSED)],
)
def test_late_hints_say_how_soon_is_written(late: int, commands: int, verdict: Verdict) -> None:
    # A bank has 5000 accesses per second, so 100 000 take 20 s. Hints are 45 000 commands late:
    # 18 s late if there are 50 000 commands in 20 s, and 22.5 s late if there are 40 000.
    hints = {**HOST["hints"], "late": late}
    host = {"reads": 60_000, "writes": 40_000, "drive_reads": commands - 10_000}
    host |= {"drive_writes": 10_000, **HOST, "hints": hints}
    of = with_amplifications({"PostgreSQL's timers": [2.0, 2.0]}, host=host)
    first, second = judged("written", of).rows
    assert first.measured == Value(late)
    assert (first.verdict, second.verdict) == (verdict, NOT_RUN)


def test_table_3_is_met_by_its_own_numbers() -> None:
    claim = the("table3")
    results: dict[str, Result] = {}
    for published in claim.rows:
        reads, volume, share = (float(str(one)) for one in published)
        host = {**HOST, "mean_known_pages": volume * 1e6 / 16384, "known_share": share / 100}
        host |= {"reads": 0, "writes": 0, "drive_reads": 0, "drive_writes": 0}
        results |= written({f"ZGC-GD 6 4 {reads:g}": [1.0] * 4}, host=host)
    outcome = judged("table3", results)
    assert outcome.verdict is FITTED
    rows = {row.label: row for row in outcome.rows}
    assert rows["0.2, zombies known, MB"].difference == pytest.approx(0)
    assert rows["0.2, zombies known, MB"].why.startswith("711 MB are dirty")
    assert rows["0 to 2, MB"].measured == "432.0, 562.0, 699.0, 702.0, 703.0"
    # Half of the volume is not the published size, and 94% is not nearly all.
    less = {**host, "known_share": 0.94, "mean_known_pages": 0.5 * host["mean_known_pages"]}
    some = written({"ZGC-GD 6 4 0.5": [1.0] * 4}, host=less)
    missed = [row.label for row in judged("table3", results | some).rows if row.verdict is MISSED]
    assert missed == [
        "0.5, share known, %, above 95",
        "0.5, zombies known, MB",
        "0 to 2, MB",
    ]


def test_the_statements_are_those_of_the_paper() -> None:
    def hold(*gains: float) -> list[bool]:
        by_h = {h: Value(gain, 0.5) for h, gain in zip(POINTS, gains, strict=True)}
        return [holds(by_h) for _, holds in STATEMENTS]

    assert hold(0, 47, 40, 20, 3) == [True] * 4
    assert hold(10, 47, 40, 20, 3) == [True, True, True, False]
    assert hold(0, 47, 40, 20, 12) == [True, True, False, True]
    assert hold(0, 20, 40, 0.4, 3) == [False, False, True, True]


@pytest.mark.parametrize("name", ["table3", "tpcc", "fig9", "written"])
def test_a_part_of_a_quick_run_has_every_row(name: str) -> None:
    claim = the(name)
    task = task_of(claim, Size.QUICK)
    less = {"requests": 20_000, "warmup": "5000", "writes": 8000}
    # Two of three runs are made; the third copies the first.
    smaller = {
        key: Simulation({**one.options, **{at: less[at] for at in less if at in one.options}})
        for key, one in task.simulations.items()
        if "run 3" not in key
    }
    work = Work({claim.id: replace(task, simulations=smaller)})
    work.perform()
    runner = runner_of(claim)
    assert runner is not None
    measured = work.measured(claim.id, Size.QUICK)
    results = {key: measured.results[key.replace("run 3", "run 1")] for key in task.simulations}
    outcome = runner.judge(claim, replace(measured, task=task, results=results))
    rows = {row.key: row.verdict for row in outcome.rows}
    assert NOT_RUN not in rows.values(), rows
    assert set(outcome.under) == {reading.name for reading in READINGS}


def test_figure_9_has_the_amplification_that_figure_8_prints() -> None:
    # 4.40 without reads, and 3.96 with two reads per write; half a read per write lies between.
    for measured, expected in ((4.3, FITTED), (3.7, MISSED), (4.6, MISSED)):
        outcome = judged("fig9", written({"ZGC-CB 6 4 0.5": [measured] * 4}))
        row = outcome.chosen[-1]
        assert (row.label, row.published) == ("waf(ZGC-CB) at h = 6", "3.96 to 4.4 (Figure 8)")
        assert row.verdict is expected


def test_the_worked_example_is_the_figures_and_comes_out() -> None:
    # Blocks 1 to 3 of the figures, with live, zombie and dead pages below. Pages 0 to 9 fill the
    # first block. Pages 0 to 4 are rewritten twice, page 10 once.
    blocks = [
        list(range(10)),
        [*range(5), *range(10, 15)],
        [*range(5), 10, *range(15, 19)],
    ]
    dirty = [11, 12, 13, 0, 1, 2, 3]
    last = {page: block for block, pages in enumerate(blocks) for page in pages}
    zombies = [sum(last[page] == block for page in dirty) for block in range(3)]
    live = [sum(at == block for at in last.values()) for block in range(3)]
    assert [(a - z, z, 10 - a) for a, z in zip(live, zombies, strict=True)] == [
        (5, 0, 5),
        (1, 3, 6),
        (6, 4, 0),
    ]
    events = [("W", page) for pages in blocks for page in pages]
    events += [("R", 19), *(("M", page) for page in dirty), *(("W", page) for page in dirty)]
    lines = [f"{at}.000,{op},{page * 512},512,0" for at, (op, page) in enumerate(events)]
    assert TRACE.read_text().splitlines() == ["time_us,op,offset_bytes,size_bytes,dev", *lines]
    claim = the("fig2-3")
    task = task_of(claim, Size.QUICK)
    work = Work({claim.id: task})
    work.perform()
    runner = runner_of(claim)
    assert runner is not None
    outcome = runner.judge(claim, work.measured(claim.id, Size.QUICK))
    assert outcome.verdict is Verdict.MET
    assert [row.why for row in outcome.rows] == [
        "equal, in 2 collections",
        "equal, in 2 collections",
        "7 pages became zombies, 7 of them were overwritten",
        "equal, in 1 collection",
        "equal, in 1 collection",
    ]


#: Traces for Equation 2: pages of three blocks, dirty pages, the page that is written next, and
#: the numbers of invalid pages and zombies of each block.
BOUNDED: dict[str, tuple[list[list[int]], list[int], int, list[tuple[int, int]]]] = {
    "below": (
        [[*range(10)], [*range(6), *range(10, 14)], [*range(4), *range(14, 20)]],
        [6, 7, 8],
        6,
        [(6, 3), (4, 0), (0, 0)],
    ),
    "above": (
        [[*range(10)], [*range(5), *range(10, 15)], [0, 1, 15, 16, 17, 15, 16, 17, 18, 19]],
        [5, 6, 7, 8, 15, 16, 17],
        5,
        [(5, 4), (2, 0), (3, 3)],
    ),
}


@pytest.mark.parametrize("side", BOUNDS)
def test_the_traces_of_equation_2_have_the_blocks_that_tell_its_bound(side: str) -> None:
    blocks, dirty, written, found = BOUNDED[side]
    last = {page: block for block, pages in enumerate(blocks) for page in pages}
    live = [sum(at == block for at in last.values()) for block in range(3)]
    zombies = [sum(last[page] == block for page in dirty) for block in range(3)]
    assert [(10 - a, z) for a, z in zip(live, zombies, strict=True)] == found
    events = [("W", page) for pages in blocks for page in pages]
    events += [*(("M", page) for page in dirty), ("W", written)]
    lines = [f"{at}.000,{op},{page * 512},512,0" for at, (op, page) in enumerate(events)]
    text = BOUNDS[side].read_text().splitlines()
    assert text == ["time_us,op,offset_bytes,size_bytes,dev", *lines]
    # The copies of the best of three blocks by the equation, and by three wrong scores.
    scores: list[Callable[[int, int], float]] = [
        lambda i, z: i - min(z, i / 2),
        lambda i, z: i - z,
        lambda i, z: i - z / 2,
        lambda i, z: i - min(z, i / 4),
    ]
    copies = [10 - max(found, key=lambda one: score(*one))[0] for score in scores]
    assert copies == {"below": [6, 6, 4, 4], "above": [5, 8, 5, 5]}[side]


def test_the_published_score_in_python_decides_as_the_engine_does() -> None:
    drive: dict[str, Any] = {
        "workload": "zipf", "blocks": 200, "pages_per_block": 16, "writes": "6x", "runs": 1,
        "frontier": "pool", "placement": "dac:zombie-block=yes",
        "host_cache": "page-cache:size=1MiB", "hints": "piggyback",
    }  # fmt: skip
    right = flashgc.run(victim="z-greedy:ties=lowest", **drive)
    mine = wrong.scored(wrong.as_published)({"victim": "z-greedy", **drive})["victim"]
    same = flashgc.run(victim=mine, **drive)
    assert right.zombies is not None
    assert right.zombies.marked > 0
    assert (same.copied_pages, same.zombies) == (right.copied_pages, right.zombies)
    # The wrong policy breaks ties of cost-benefit by fewer erases.
    aged = wrong.scored(wrong.as_published)({"victim": "z-cost-benefit", **drive})["victim"]
    theirs = flashgc.run(victim="z-cost-benefit", **drive).copied_pages
    assert flashgc.run(victim=aged, **drive).copied_pages == pytest.approx(theirs, rel=0.01)


@pytest.mark.parametrize("claim", RUNNABLE, ids=lambda claim: claim.id)
def test_a_page_of_an_interrupted_run_has_only_figures_that_can_be_drawn(claim: Claim) -> None:
    runner = runner_of(claim)
    assert runner is not None
    task = runner.task(claim, Size.QUICK)
    assert runner.judge(claim, Measured(Size.QUICK, task, {}, {})).figures == ()
    # Only one collector at one h was measured.
    of = {
        f"{reading.name}: {key}": result
        for reading in READINGS
        for key, result in written({"GC-GD 6 4 0.5": [5.0] * 3}).items()
    }
    found = {key: one for key, one in of.items() if key in task.simulations}
    for figure in runner.judge(claim, Measured(Size.QUICK, task, found, {})).figures:
        figure.draw()
