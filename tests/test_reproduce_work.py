"""Stopped work goes on where it was, and incomplete files are not used."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from conftest import kept_results
from flashgc import ConfigError
from flashgc.described import Simulation, simulation
from flashgc.store import identity
from flashgc.store.cache import FILE, Cache
from flashgc_papers.reproduce.execute import Work
from flashgc_papers.reproduce.tasks import Computation, Size, Task


def drive(seed: int = 1, **options: object) -> Simulation:
    return simulation(workload="uniform", blocks=200, pages_per_block=16, seed=seed, **options)


def run(tasks: dict[str, Task], folder: Path) -> Work:
    work = Work(tasks, cache=Cache(folder, "reproduce"))
    work.perform()
    return work


def test_equal_configurations_run_once_and_are_kept(tmp_path: Path) -> None:
    tasks = {"a": Task({"x": drive(1), "y": drive(2)}), "b": Task({"z": drive(2)})}
    first = run(tasks, tmp_path)
    kept = kept_results(tmp_path)
    assert len(kept) == 2
    second = run(tasks, tmp_path)
    assert second.found == 2
    assert kept_results(tmp_path) == kept
    a, b = (second.measured(name, Size.QUICK) for name in "ab")
    assert a.result("y").digest == b.result("z").digest != a.result("x").digest
    assert a.result("x").digest == first.measured("a", Size.QUICK).result("x").digest


def test_what_is_missing_is_run_and_what_is_there_is_not(tmp_path: Path) -> None:
    run({"a": Task({"x": drive(1)})}, tmp_path)
    before = kept_results(tmp_path)
    work = run({"a": Task({"x": drive(1), "y": drive(2)})}, tmp_path)
    assert work.found == 1
    assert before.items() < kept_results(tmp_path).items()


def test_a_damaged_result_is_run_again(tmp_path: Path) -> None:
    tasks = {"a": Task({"x": drive()})}
    expected = run(tasks, tmp_path).measured("a", Size.QUICK).result("x").digest
    file = tmp_path / FILE
    with closing(sqlite3.connect(file)) as base:
        (whole,) = base.execute("SELECT result FROM documents").fetchone()
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 1
        for blob in (
            b"",
            whole[: len(whole) // 2],
            bytes(flipped),
            b"\0" * 100,
            zlib.compress(b"["),
        ):
            base.execute("UPDATE documents SET result = ?", (blob,))
            base.commit()
            work = run(tasks, tmp_path)
            assert work.found == 0, blob[:20]
            assert work.measured("a", Size.QUICK).result("x").digest == expected


@pytest.mark.parametrize("what", ["version", "engine_digest"])
def test_a_result_of_another_version_or_build_is_not_taken(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = {"a": Task({"x": drive()})}
    assert run(tasks, tmp_path).found == 0
    with monkeypatch.context() as patch:
        patch.setattr(identity._core if what == "version" else identity, what, lambda: "another")
        assert run(tasks, tmp_path).found == 0
    assert run(tasks, tmp_path).found == 1


def test_a_damaged_file_of_results_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    content = b"no database, though it is long enough to be one" * 100
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(ConfigError, match=r"--cache: .* is not a file of results; hint: "):
        Cache(tmp_path, "reproduce")
    assert (tmp_path / FILE).read_bytes() == content


def test_a_changed_trace_is_replayed_again(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    lines = "".join(f"{i},W,{i % 64 * 4096},4096,0\n" for i in range(2000))
    trace.write_text("time_us,op,offset_bytes,size_bytes,dev\n" + lines)
    replay = simulation(workload=str(trace), pages_per_block=8, spare=0.3, format="csv")
    folder = tmp_path / "cache"
    assert not run({"a": Task({"x": replay})}, folder).failed
    assert run({"a": Task({"x": replay})}, folder).found == 1
    trace.write_text("time_us,op,offset_bytes,size_bytes,dev\n" + lines * 2)
    assert run({"a": Task({"x": replay})}, folder).found == 0


def test_a_result_of_a_trace_that_changed_meanwhile_is_not_kept(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    lines = "".join(f"{i},W,{i % 64 * 4096},4096,0\n" for i in range(2000))
    trace.write_text("time_us,op,offset_bytes,size_bytes,dev\n" + lines)
    config = simulation(workload=str(trace), pages_per_block=8, spare=0.3, format="csv").config()
    for cache in (Cache(tmp_path, "tune"), Cache(tmp_path, "tune", mutant="another")):
        assert cache.load(config) is None
        cache.store(config, {"write_amplification": 1.0})
        assert cache.load(config) is not None
        trace.write_text(trace.read_text() + lines)
        with pytest.raises(OSError, match="has changed while it ran"):
            cache.store(config, {"write_amplification": 2.0})
        assert cache.load(config) is None


def test_one_claims_fault_leaves_the_others_alone(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.csv")
    broken = Computation("", lambda: 1 / 0)
    tasks = {
        "good": Task({"x": drive()}, {"y": Computation("", lambda: 7)}),
        "bad": Task({"x": simulation(workload=missing)}),
        "worse": Task(computations={"y": broken}),
    }
    work = run(tasks, tmp_path / "cache")
    assert missing in work.failed["bad"]
    assert "ZeroDivisionError" in work.failed["worse"]
    assert set(work.failed) == {"bad", "worse"}
    good = work.measured("good", Size.QUICK)
    assert good.value("x").mean > 1
    assert good.compute("y") == 7
    assert work.measured("bad", Size.QUICK).reason == work.failed["bad"]


def test_ctrl_c_in_a_computation_stops_everything(tmp_path: Path) -> None:
    def pressed() -> None:
        raise KeyboardInterrupt

    work = run({"a": Task({"x": drive()}, {"y": Computation("", pressed)})}, tmp_path)
    assert work.interrupted
    assert not work.measured("a", Size.QUICK).results


def test_results_that_cannot_be_kept_are_still_there(tmp_path: Path) -> None:
    class Full(Cache):
        def store(self, config: object, result: object) -> None:
            raise OSError(28, "No space left on device", "cache")

    work = Work({"a": Task({"x": drive(1), "y": drive(2)})}, cache=Full(tmp_path, "reproduce"))
    work.perform()
    assert len(work.measured("a", Size.QUICK).results) == 2
    assert work.unkept is not None
