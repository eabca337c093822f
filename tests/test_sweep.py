"""Sweeps: the grid, its cells on all cores, and that no result is lost."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

import numpy
import pytest
from distributed import Client, LocalCluster

import flashgc
from conftest import COMMAND, Command, environment, kept_results, under_way
from flashgc.store import Contents, Kept, Store
from flashgc.studies.sweep import ranges
from flashgc.studies.sweep.grid import grid
from flashgc.studies.sweep.sweep import sweep_plan

SMALL = {"blocks": 64, "pages_per_block": 16}


def small(**more: Mapping[str, Any]) -> dict[str, Any]:
    """A grid of small drives."""
    drive, run = more.pop("drive", {}), more.pop("run", {})
    return {"drive": {**SMALL, **drive}, **more, "run": {"writes": "2x", **run}}


GRID = small(
    drive={"spare": ["10%", "20%"]}, gc={"victim": ["greedy", "fifo"]}, run={"seed": [1, 2, 3]}
)


def test_each_cell_is_the_run_that_it_names(tmp_path: Path) -> None:
    swept = flashgc.sweep(GRID, results=tmp_path / "r")
    assert swept.axes == ("spare", "victim", "seed")
    assert [tuple(cell.at.values()) for cell in swept] == list(
        itertools.product(["10%", "20%"], ["greedy", "fifo"], [1, 2, 3])
    )
    for cell in swept:
        alone = flashgc.run(
            victim=cell.at["victim"],
            spare=cell.at["spare"],
            seed=cell.at["seed"],
            writes="2x",
            **SMALL,  # type: ignore[arg-type]
        )
        assert cell.figures["digest"] == alone.digest
        assert cell.figures["write_amplification"] == alone.write_amplification


def test_what_is_kept_is_not_run_again(tmp_path: Path) -> None:
    flashgc.sweep(GRID, results=tmp_path / "r")
    again = flashgc.sweep(GRID, results=tmp_path / "r")
    assert (again.ran, again.found) == (0, 12)
    more = {**GRID, "gc": {"victim": ["greedy", "fifo", "random"]}}
    plan = sweep_plan(more, results=tmp_path / "r")
    assert (plan.cells, plan.found, plan.missing) == (18, 12, 6)
    grown = flashgc.sweep(more, results=tmp_path / "r")
    assert (grown.ran, grown.found) == (6, 12)


def test_a_plan_makes_no_file(tmp_path: Path) -> None:
    assert sweep_plan(GRID, results=tmp_path / "r").missing == 12
    assert not (tmp_path / "r").exists()


def test_lists_go_together_in_a_zip() -> None:
    made = grid(
        small(
            gc={"victim": ["greedy", "fifo"]},
            sweep={
                "zip": [
                    {"drive": {"spare": ["10%", "20%"]}, "run": {"warmup": ["1/3", "1/2"]}},
                ]
            },
        )
    )
    assert made.names == ("victim", "spare", "warmup")
    assert [tuple(cell.at.values()) for cell in made.cells()] == [
        ("greedy", "10%", "1/3"),
        ("greedy", "20%", "1/2"),
        ("fifo", "10%", "1/3"),
        ("fifo", "20%", "1/2"),
    ]


def test_conditions_leave_cells_out() -> None:
    made = grid(
        small(
            drive={"spare": ["5%", "10%", "20%"]},
            gc={"victim": ["greedy", "d-choices:d=3", "d-choices:d=5"]},
            sweep={
                "leave_out": [
                    {"gc": {"victim": "d-choices"}, "drive": {"spare": "<=0.1"}},
                    {"gc": {"victim": "greedy"}, "drive": {"spare": ["0.2", "5%"]}},
                ]
            },
        )
    )
    assert [tuple(cell.at.values()) for cell in made.cells()] == [
        ("10%", "greedy"),
        ("20%", "d-choices:d=3"),
        ("20%", "d-choices:d=5"),
    ]


def test_experiment_files_are_an_axis_and_the_grid_wins(tmp_path: Path) -> None:
    for name, blocks in (("few", 64), ("many", 128)):
        (tmp_path / f"{name}.toml").write_text(
            f'[drive]\nblocks = {blocks}\npages_per_block = 16\nspare = "30%"\n'
            '[run]\nwrites = "2x"\n'
        )
    files = [str(tmp_path / f"{name}.toml") for name in ("few", "many")]
    swept = flashgc.sweep(
        {"drive": {"spare": ["10%", "20%"]}, "sweep": {"experiments": files}},
        results=tmp_path / "r",
    )
    assert [tuple(cell.at.values()) for cell in swept] == list(
        itertools.product(["few", "many"], ["10%", "20%"])
    )
    alone = flashgc.run(blocks=128, pages_per_block=16, spare="20%", writes="2x")
    assert swept.cells[-1].figures["digest"] == alone.digest


def test_cells_that_cannot_be_are_listed_and_the_others_run(tmp_path: Path) -> None:
    # By default, d-choices would remember more blocks than the two that it draws.
    swept = flashgc.sweep(
        small(
            gc={"victim": ["greedy", "d-choices:d=2"], "frontier": ["single", "double"]},
            drive={"spare": ["3%", "20%"]},
        ),
        results=tmp_path / "r",
    )
    assert len(swept.of("result")) + len(swept.of("cannot")) == 8
    for cell in swept.of("cannot"):
        assert "hint: " in cell.reason


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"gc": {"victim": ["greedy", "gredy"]}}, "unknown victim policy 'gredy'.*no cell with"),
        ({"drive": {"sparr": [1]}}, "unknown key 'sparr' in .drive.; hint: did you mean 'spare'"),
        ({"drvie": {"spare": [1]}}, "unknown section or key 'drvie'; hint: did you mean 'drive'"),
        ({"sweep": {"zipp": []}}, "unknown key 'zipp' in .sweep."),
        ({"gc": {"victim": []}}, "found an empty list"),
        ({"gc": {"victim": ["fifo", "fifo"]}}, "'fifo' is given twice"),
        ({"run": {"seed": {"from": 1, "to": 4}}}, "one of step, count, factor"),
        ({"run": {"seed": {"from": 1, "to": 4, "step": 2}}}, "ends at 3, not at 4"),
        ({"run": {"seed": {"from": 1, "to": 4, "step": -1}}}, "never reaches"),
        ({"run": {"seed": {"from": 1, "to": 4, "count": 1}}}, "expected 2 to"),
        ({"drive": {"spare": {"from": "1%", "to": 4, "step": 1}}}, "different units"),
        (
            {"sweep": {"zip": [{"run": {"seed": [1, 2]}, "drive": {"spare": ["1%"]}}]}},
            "seed 2, .*1",
        ),
        ({"sweep": {"leave_out": [{"gc": {"victim": "fifo"}}]}}, "holds for no cell"),
        ({"sweep": {"experiments": "a.toml"}}, "expected files"),
        ({"run": {"jobs": 2}}, "hint: flashgc sweep --jobs"),
        ({"run": {"seed": [1, 1.5]}}, "found 1.5, expected a whole number; hint: write 1"),
        ({"run": {"seed": [1, 1.0]}}, "1.0 is given twice"),
        ({"drive": {"capacity": ["1GiB", 1.5]}}, "found 1.5, expected "),
        ({"drive": {"spare": ["7%", date(2026, 1, 1)]}}, "found .*2026.*, expected "),
        ({"run": {"seed": [1, 2]}, "sweep": {"zip": [{"run": {"seed": [1, 2]}}]}}, "given twice"),
    ],
)
def test_a_grid_that_is_wrong_is_refused(
    values: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(flashgc.ConfigError, match=message):
        flashgc.sweep(values, results=tmp_path / "r")


def test_a_range_has_both_ends_and_its_unit() -> None:
    assert ranges.values({"from": "5%", "to": "20%", "count": 4}, "") == ["5%", "10%", "15%", "20%"]
    assert ranges.values({"from": 0.1, "to": 0.3, "step": 0.1}, "") == [0.1, 0.2, 0.3]
    assert ranges.values({"from": 8, "to": 1, "factor": 0.5}, "") == [8, 4, 2, 1]
    assert ranges.values({"from": 3, "to": 1, "step": -1}, "") == [3, 2, 1]


def test_values_may_be_in_arrays_tuples_and_ranges(tmp_path: Path) -> None:
    spares, blocks = numpy.linspace(0.1, 0.2, 3), numpy.arange(64, 66)
    grids = [
        small(drive={"spare": spares, "blocks": blocks}, run={"seed": range(2)}),
        small(drive={"spare": list(spares), "blocks": tuple(blocks)}, run={"seed": (0, 1)}),
        small(drive={"spare": spares.tolist(), "blocks": [64, 65]}, run={"seed": [0, 1]}),
    ]
    made = [flashgc.sweep(one, results=tmp_path / "r") for one in grids]
    assert [(one.ran, one.found) for one in made] == [(12, 0), (0, 12), (0, 12)]
    assert made[0].rows() == made[1].rows() == made[2].rows()


def test_shards_merge_to_the_whole(tmp_path: Path, command: Command) -> None:
    whole = flashgc.sweep(GRID, results=tmp_path / "whole")
    for number in range(1, 5):
        flashgc.sweep(GRID, results=tmp_path / f"part{number}", shard=f"{number}/4")
    done = command("results", "merge", "all", *(f"part{number}" for number in range(1, 5)))
    assert done.returncode == 0
    assert done.stdout.count("3 new") == 4
    merged = flashgc.sweep(GRID, results=tmp_path / "all")
    assert merged.ran == 0
    assert [cell.figures["digest"] for cell in merged] == [cell.figures["digest"] for cell in whole]


def test_a_file_of_another_content_is_another_simulation(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"

    def written(pages: int) -> flashgc.Sweep:
        trace.write_text(trace_of(pages))
        return flashgc.sweep(
            {"workload": {"source": str(trace)}, "drive": {"pages_per_block": 16}},
            results=tmp_path / "r",
        )

    first = written(500)
    assert (first.ran, len(first.of("result"))) == (1, 1)
    os.utime(trace, (1, 1))
    assert written(500).ran == 0
    copy = tmp_path / "copy.csv"
    copy.write_bytes(trace.read_bytes())
    assert (
        flashgc.sweep(
            {"workload": {"source": str(copy)}, "drive": {"pages_per_block": 16}},
            results=tmp_path / "r",
        ).ran
        == 0
    )
    assert written(600).ran == 1


def trace_of(pages: int) -> str:
    lines = [f"{i},W,{(i * 7919 % pages) * 4096},4096,0" for i in range(4000)]
    return "\n".join(["time_us,op,offset_bytes,size_bytes,dev", *lines]) + "\n"


class Meddling(Executor):
    """Runs cells immediately, and writes another trace after the first one."""

    def __init__(self, trace: Path) -> None:
        self.trace, self.ran = trace, 0

    def submit(self, work: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(work(*arguments, **more))
        self.trace.write_text(trace_of(700))
        self.ran += 1
        return future


def test_what_ran_while_a_trace_changed_is_not_kept_as_of_the_old_one(
    tmp_path: Path, command: Command
) -> None:
    trace = tmp_path / "t.csv"
    asked = {
        "workload": {"source": str(trace)},
        "drive": {"pages_per_block": 16, "spare": ["10%", "20%", "30%"]},
        "run": {"passes": 3},
    }
    trace.write_text(trace_of(500))
    right = flashgc.sweep(asked, results=tmp_path / "right").rows()
    meddling = Meddling(trace)
    swept = flashgc.sweep(asked, results=tmp_path / "r", executor=meddling)
    assert {(cell.status, cell.reason) for cell in swept} == {
        (
            "failed",
            f"{trace}: has changed while it ran, so its result is not kept; hint: give the same "
            "command again",
        )
    }
    assert meddling.ran == 1, "cells of the new trace are not run in vain"
    trace.write_text(trace_of(500))
    again = flashgc.sweep(asked, results=tmp_path / "r")
    assert (again.ran, again.found) == (3, 0)
    assert len(again.of("result")) == 3
    digests = [[row["digest"] for row in rows] for rows in (again.rows(), right)]
    assert digests[0] == digests[1]


def test_a_file_that_only_claims_to_be_old_is_read_again(tmp_path: Path) -> None:
    trace, known = tmp_path / "t.csv", Contents()
    trace.write_text(trace_of(500))
    os.utime(trace, (1, 1))
    first = known.digest(str(trace))
    time.sleep(0.05)
    trace.write_text(trace_of(501)[: trace.stat().st_size].ljust(trace.stat().st_size))
    os.utime(trace, (1, 1))
    assert known.digest(str(trace)) != first


def test_kill_9_costs_only_what_was_not_complete(tmp_path: Path) -> None:
    whole = flashgc.sweep(long_grid(), results=tmp_path / "whole")
    (tmp_path / "grid.json").write_text(json.dumps(long_grid()))
    code = (
        "import flashgc, json; "
        "flashgc.sweep(json.load(open('grid.json')), results='killed', jobs=2)"
    )
    found = 0
    for _ in range(10):
        server = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=environment())
        until = time.monotonic() + 60
        while len(kept_results(tmp_path / "killed")) <= found and server.poll() is None:
            assert time.monotonic() < until, "no result comes"
            time.sleep(0.01)
        server.send_signal(signal.SIGKILL)
        server.wait()
        now = len(kept_results(tmp_path / "killed"))
        assert now > found or found == len(whole)
        found = now
    last = flashgc.sweep(long_grid(), results=tmp_path / "killed")
    assert last.found == found
    assert same(last, whole)


def long_grid() -> dict[str, Any]:
    return small(
        drive={"blocks": 256, "spare": ["5%", "10%", "15%", "20%"]},
        gc={"victim": ["greedy", "fifo", "random"]},
        run={"seed": [1, 2, 3], "writes": "40x"},
    )


def same(one: flashgc.Sweep, other: flashgc.Sweep) -> bool:
    """Whether two sweeps have equal tables, apart from the machine's speed."""

    def table(swept: flashgc.Sweep) -> list[dict[str, Any]]:
        return [
            {name: value for name, value in row.items() if name != "page_programs_per_second"}
            for row in swept.rows()
        ]

    return table(one) == table(other)


def test_two_at_once_write_one_file(tmp_path: Path) -> None:
    (tmp_path / "grid.json").write_text(json.dumps(long_grid()))
    code = (
        "import flashgc, json; "
        "s = flashgc.sweep(json.load(open('grid.json')), results='both', jobs=1); "
        "assert len(s.of('result')) == 36"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=environment())
        for _ in range(2)
    ]
    assert [one.wait(timeout=120) for one in both] == [0, 0]
    assert len(kept_results(tmp_path / "both")) == 36


def test_ctrl_c_keeps_what_is_complete(tmp_path: Path) -> None:
    (tmp_path / "g.toml").write_text(
        '[drive]\nblocks = 2000\npages_per_block = 64\n[run]\nwrites = "200x"\nseed = '
        "{ from = 1, to = 50, step = 1 }\n"
    )
    for stop, code in ((signal.SIGINT, 130), (signal.SIGTERM, 130)):
        server = subprocess.Popen(
            [*COMMAND, "sweep", "g.toml", "--json"],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        before = len(kept_results(tmp_path / "g.results"))
        until = time.monotonic() + 60
        while len(kept_results(tmp_path / "g.results")) == before:
            assert time.monotonic() < until, "no result comes"
            time.sleep(0.02)
        server.send_signal(stop)
        document = json.loads(server.communicate(timeout=60)[0])
        assert server.returncode == code
        assert document["interrupted"]
        statuses = [cell["status"] for cell in document["cells"]]
        assert statuses.count("result") == len(kept_results(tmp_path / "g.results")) > before
        assert "missing" in statuses


def test_an_executor_runs_the_cells_elsewhere(tmp_path: Path) -> None:
    here = flashgc.sweep(GRID, results=tmp_path / "here")
    with ProcessPoolExecutor(2) as pool:
        there = flashgc.sweep(GRID, results=tmp_path / "there", executor=pool)
    assert there.ran == 12
    assert same(there, here)


class Losing(Executor):
    """Workers that die at the first run of each cell, or at every run."""

    def __init__(self, *, always: bool) -> None:
        self.always, self.seen, self.lost = always, set[str](), 0

    def submit(self, function: Any, /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        key = json.dumps(arguments[0])
        if self.always or key not in self.seen:
            self.seen.add(key)
            self.lost += 1
            future.set_exception(RuntimeError("killed"))
        else:
            future.set_result(function(*arguments))
        return future


def test_a_worker_that_is_lost_costs_its_cells_only_a_second_run(tmp_path: Path) -> None:
    here = flashgc.sweep(GRID, results=tmp_path / "here")
    losing = Losing(always=False)
    there = flashgc.sweep(GRID, results=tmp_path / "there", executor=losing)
    assert losing.lost == 12
    assert same(there, here)


def test_a_cell_whose_workers_are_always_lost_has_failed_and_may_be_run_again(
    tmp_path: Path,
) -> None:
    losing = Losing(always=True)
    swept = flashgc.sweep(GRID, results=tmp_path / "r", executor=losing)
    assert losing.lost == 36  # three times each
    assert len(swept.of("failed")) == 12
    assert "its worker was lost" in swept.cells[0].reason
    assert flashgc.sweep(GRID, results=tmp_path / "r").ran == 0
    assert len(flashgc.sweep(GRID, results=tmp_path / "r", retry=True).of("result")) == 12


def test_a_file_that_has_no_results_is_refused(tmp_path: Path, command: Command) -> None:
    (tmp_path / "text").write_text("no database, but a text that is long enough to be read" * 20)
    with pytest.raises(flashgc.ConfigError, match="is not a file of results"):
        flashgc.sweep(GRID, results=tmp_path / "text")
    with pytest.raises(flashgc.ConfigError, match="no such folder"):
        flashgc.sweep(GRID, results=tmp_path / "no" / "r")
    for arguments, words in (
        (("results", "list", "none"), "no such file"),
        (("results", "list", "r", "--where", "victm=x"), "did you mean 'victim'"),
        (("results", "list", "r", "--where", "spare=x"), "is a number"),
        (
            ("results", "show", "r", "zz"),
            "no result begins with 'zz'; hint: flashgc results list r --out keys.csv\n",
        ),
        (("results", "prune", "r"), "nothing to delete"),
        (("sweep", "g.toml", "--out", "t.xls"), "ends in no form of a table"),
    ):
        flashgc.sweep(small(), results=tmp_path / "r")
        done = command(*arguments)
        assert done.returncode == 2, done
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_damaged_file_and_a_full_disk_are_one_line_with_a_hint(
    tmp_path: Path, command: Command
) -> None:
    flashgc.sweep(GRID, results=tmp_path / "whole.results")
    whole = (tmp_path / "whole.results").read_bytes()
    (tmp_path / "half.results").write_bytes(whole[: len(whole) // 8192 * 4096])
    done = command("results", "list", "half.results")
    assert done.stderr == (
        "error: half.results: database disk image is malformed; hint: restore a copy of it, or "
        "give another file\n"
    )
    with Store(tmp_path / "whole.results") as store:
        error = sqlite3.OperationalError("database or disk is full")
        for code, hint in ((13, "free some space and go on"), (10 | 19 << 8, "free some space, ")):
            error.sqlite_errorcode = code
            assert f"; hint: {hint}" in str(store._refused(error))


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_of_results_that_is_deleted_ends_the_work(replaced: bool, tmp_path: Path) -> None:
    with Store(tmp_path / "r") as store:
        store.put("1", Kept("failed", {}, None), "sweep")
        (tmp_path / "r").unlink()
        if replaced:
            (tmp_path / "r").write_bytes(b"")
        with pytest.raises(OSError, match="deleted or replaced while results were written"):
            store.put("2", Kept("failed", {}, None), "sweep")


def test_results_are_shown_and_deleted(tmp_path: Path, command: Command) -> None:
    flashgc.sweep(GRID, results=tmp_path / "r")
    listed = command("results", "list", "r", "--where", "victim=greedy", "--where", "spare<15%")
    assert len(listed.stdout.splitlines()) == 4
    key = flashgc.sweep(GRID, results=tmp_path / "r").cells[0].key
    shown = json.loads(command("results", "show", "r", key[:12]).stdout)
    assert shown["status"] == "result"
    assert shown["config"]["seed"] == 1
    assert "6 deleted" in command("results", "prune", "r", "--where", "victim=fifo").stdout
    assert len(kept_results(tmp_path / "r")) == 6


def test_the_workers_of_a_dask_scheduler_run_the_cells(tmp_path: Path, command: Command) -> None:
    here = flashgc.sweep(GRID, results=tmp_path / "here")
    with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
        (tmp_path / "g.toml").write_text(
            '[drive]\nblocks = 64\npages_per_block = 16\nspare = ["10%", "20%"]\n'
            '[gc]\nvictim = ["greedy", "fifo"]\n[run]\nwrites = "2x"\nseed = [1, 2, 3]\n'
        )
        address = cluster.scheduler_address.replace("tcp", "dask")
        done = command("sweep", "g.toml", "--on", address, "--json")
        assert done.returncode == 0, done.stderr
    digests = [cell["digest"] for cell in json.loads(done.stdout)["cells"]]
    assert digests == [cell.figures["digest"] for cell in here]


class Elsewhere(ProcessPoolExecutor):
    """Two workers that imitate another machine, with another folder and cache."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        super().__init__(2, initializer=_elsewhere, initargs=(str(folder),))
        self.sent = 0

    def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
        self.sent += arguments[2] is not None
        return super().submit(function, *arguments, **more)


def _elsewhere(folder: str) -> None:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = folder


#: A grid over a trace whose relative path has no folder and no ending.
TRACE = {
    "workload": {"source": "trace"},
    "drive": {"pages_per_block": 16, "spare": ["10%", "15%", "20%", "25%"]},
    "gc": {"victim": ["greedy", "fifo", "random"]},
    "run": {"passes": 3},
}


def test_a_trace_that_workers_lack_is_sent_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    flashgc.trace_synth("hotcold:f=0.1,r=0.9", "trace.csv", pages=500, requests=4000)
    Path("trace.csv").rename("trace")
    here = flashgc.sweep(TRACE, results="here")
    machine = tmp_path / "machine"
    for work, sent in (("first", 1), ("second", 0)):  # The second time, the machine has it.
        with Elsewhere(machine) as executor:
            there = flashgc.sweep(TRACE, results=work, executor=executor)
        assert same(there, here)
        assert executor.sent == sent
    (kept,) = machine.rglob("trace")
    assert kept.read_bytes() == Path("trace").read_bytes()
    kept.write_bytes(b"damaged")
    with Elsewhere(machine) as executor:
        assert same(flashgc.sweep(TRACE, results="third", executor=executor), here)
    assert executor.sent == 1


def test_a_worker_with_another_version_gives_no_result() -> None:
    from flashgc.studies.executing import simulate_there

    came = simulate_there({}, None, None, "9.9.9")
    assert came is not None
    assert (came.status, came.reason) == (  # type: ignore[union-attr]
        "failed",
        f"its worker has flashgc {flashgc.__version__}, expected 9.9.9; hint: install that",
    )


def test_a_trace_that_is_too_large_to_send_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("flashgc.studies.executing.LARGEST", 1000)
    flashgc.trace_synth("uniform", "trace.csv", pages=500, requests=4000)
    Path("trace.csv").rename("trace")
    with Elsewhere(tmp_path / "machine") as executor:
        swept = flashgc.sweep(TRACE, results="there", executor=executor)
    assert {cell.status for cell in swept} == {"failed"}
    assert "too many to send; hint: copy it there, under the same name" in swept.cells[0].reason


def test_a_worker_process_that_is_killed_costs_no_cell(tmp_path: Path) -> None:
    here = flashgc.sweep(long_grid(), results=tmp_path / "here")
    address = tmp_path / "scheduler.json"
    script = "from distributed.cli.dask_{0} import main; main()"

    def started(kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [
                sys.executable,
                "-c",
                script.format(kind),
                "--scheduler-file",
                str(address),
                *arguments,
            ],
            env=environment(),
            stderr=subprocess.DEVNULL,
            cwd=tmp_path,
        )

    nodes = [started("scheduler", "--port", "0", "--no-dashboard")]
    nodes += [started("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard") for _ in "12"]
    try:
        with Client(scheduler_file=str(address), timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            killed: list[int] = []

            def look(_share: float, _what: str, complete: int) -> None:
                if complete >= 5 and not killed:
                    nodes[2].kill()
                    killed.append(complete)

            there = flashgc.sweep(
                long_grid(),
                results=tmp_path / "there",
                executor=client.get_executor(pure=False),
                progress=look,
            )
    finally:
        for node in nodes:
            node.kill()
            node.wait()
    assert 5 <= killed[0] < 36
    assert same(there, here)


@pytest.mark.parametrize(
    ("address", "words"),
    [("dask://127.0.0.1:1", "dask scheduler starts one"), ("ray://x", "expected a scheduler")],
)
def test_a_scheduler_that_is_not_there_is_an_error_of_one_line(
    address: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "g.toml").write_text("[run]\nseed = [1, 2]\n")
    # The command normally tries for 10 s, because a scheduler may be starting.
    sooner = "from flashgc.studies import executing; executing._CONNECT = 0.5; "
    done = subprocess.run(
        [sys.executable, "-c", sooner + COMMAND[-1], "sweep", "g.toml", "--on", address],
        cwd=tmp_path, env=environment(), text=True, capture_output=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def refused(values: Mapping[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(flashgc.ConfigError, match=message):
        flashgc.sweep(values, results=tmp_path / "none")
    assert not (tmp_path / "none").exists(), "nothing is made for a grid that is wrong"


def test_a_grid_that_is_wrong_makes_no_file(tmp_path: Path, command: Command) -> None:
    refused(small(gc={"victim": ["gredy"]}), "unknown victim policy", tmp_path)
    refused(small(gc={"victim": [["greedy"]]}), r"found \['greedy'\] in a list", tmp_path)
    refused(small(drive={"spare": ["20%", 0.2]}), "0.2 is given twice", tmp_path)
    done = command("sweep", ".")
    assert done.returncode == 2
    assert "no such file" in done.stderr


def test_a_condition_on_an_option_outside_the_grid_is_on_its_default() -> None:
    left_out = [{"gc": {"victim": "!=greedy", "frontier": "single"}}]
    made = grid(small(gc={"victim": ["greedy", "fifo"]}, sweep={"leave_out": left_out}))
    assert [cell.at["victim"] for cell in made.cells()] == ["greedy"]


def test_a_policy_that_raises_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def pick(blocks):\n    raise RuntimeError('no idea')\n")
    asked = small(gc={"victim": [f"python:{tmp_path}/bad.py:pick"]})
    (cell,) = flashgc.sweep(asked, results=tmp_path / "r")
    assert cell.status == "failed"
    assert "bad.py:2: RuntimeError: no idea" in cell.reason


def test_warnings_of_cells_and_values_that_cannot_be_are_said(
    tmp_path: Path, command: Command
) -> None:
    (tmp_path / "g.toml").write_text(
        '[drive]\nblocks = 64\npages_per_block = 16\n[run]\nwrites = "1x"\n'
        '[gc]\nfrontier = "pool"\nplacement = ["none", "oracle"]\n'
    )
    done = command("sweep", "g.toml")
    assert done.returncode == 0
    assert "1 cannot run: " in done.stdout
    assert "warning: no cell with placement = oracle can run" in done.stderr
    (tmp_path / "g.toml").write_text(
        '[drive]\nblocks = 64\npages_per_block = 16\n[run]\nwrites = "1x"\n'
        '[gc]\nmapping = "fast"\nplacement = ["none", "sepbit"]\n'
    )
    done = command("sweep", "g.toml")
    assert done.returncode == 2
    assert 'placement sepbit does not go with mapping = "fast" in [gc]' in done.stderr


def test_ctrl_c_twice_ends_a_policy_that_never_ends(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text("def pick(blocks):\n    while True:\n        pass\n")
    (tmp_path / "g.toml").write_text(
        '[drive]\nblocks = 64\npages_per_block = 16\n[gc]\nvictim = ["python:loop.py:pick"]\n'
    )
    server = subprocess.Popen(
        [*COMMAND, "sweep", "g.toml"], cwd=tmp_path, env=environment(), stderr=subprocess.PIPE
    )
    under_way(server, 1)  # type: ignore[arg-type]
    server.send_signal(signal.SIGINT)
    time.sleep(1)
    server.send_signal(signal.SIGINT)
    _, errors = server.communicate(timeout=60)
    assert server.returncode == 130
    assert b"interrupted" in errors


def test_results_are_read_where_nobody_may_write(tmp_path: Path) -> None:
    if os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        pytest.skip("no mount namespaces")
    folder = tmp_path / "kept"
    folder.mkdir()
    flashgc.sweep(GRID, results=folder / "r")
    before = len(kept_results(folder / "r"))
    script = (
        f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder} && "
        f'{sys.executable} -c "from flashgc.store import Store; from pathlib import Path; '
        f"print(len(Store(Path('{folder}/r'), make=False).rows()))\""
    )
    if os.geteuid() != 0:
        pytest.skip("only root mounts")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"{before}\n", done.stderr
    (folder / "r-wal").write_bytes(b"what a killed process left")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "hint: copy it and r-wal to another folder" in done.stderr


def test_a_grid_is_no_experiment(tmp_path: Path, command: Command) -> None:
    (tmp_path / "zip.toml").write_text('[[sweep.zip]]\ndrive.spare = ["7%", "9%"]\n')
    (tmp_path / "list.toml").write_text('[workload]\nsource = ["uniform", "zipf"]\n')
    for name in ("zip", "list"):
        done = command("run", f"{name}.toml")
        assert done.returncode == 2
        assert "expected one" in done.stderr
        assert "hint: flashgc sweep" in done.stderr


def test_cells_of_one_simulation_are_counted(tmp_path: Path, command: Command) -> None:
    (tmp_path / "g.toml").write_text(
        '[drive]\nblocks = 64\npages_per_block = 16\n[run]\nwrites = "2x"\n'
        '[[sweep.zip]]\ndrive.spare = ["10%", "10.0%", "20%"]\nrun.seed = [1, 1, 1]\n'
    )
    done = command("sweep", "g.toml")
    assert "3 cells: 2 run, 0 found in g.results, 1 the same as others of them" in done.stdout


def test_a_warning_names_its_cell_and_the_keys_of_the_file(
    tmp_path: Path, command: Command
) -> None:
    flashgc.trace_synth("uniform", tmp_path / "t.csv", pages=500, requests=600)
    (tmp_path / "g.toml").write_text(
        '[drive]\npages_per_block = 16\n[gc]\nvictim = ["greedy", "fifo"]\n'
        '[workload]\nsource = "t.csv"\n[run]\npasses = 2\n'
    )
    done = command("sweep", "g.toml")
    assert "warning: 2 cells: too few whole passes" in done.stderr
    assert "hint: leave out passes\n" in done.stderr
    alone = command("sweep", "g.toml", "--shard", "1/2", "--results", "one")
    assert "warning: victim=greedy: too few whole passes" in alone.stderr
