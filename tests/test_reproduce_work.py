"""Work that is stopped goes on where it was, and nothing is trusted that is not whole."""

from __future__ import annotations

import json
from pathlib import Path

from flashgc.reproduce import cache as cache_module
from flashgc.reproduce.cache import Cache
from flashgc.reproduce.execute import Work
from flashgc.reproduce.runner import Computation, Simulation, Size, Task, simulation


def drive(seed: int = 1, **options: object) -> Simulation:
    return simulation(workload="uniform", blocks=200, pages_per_block=16, seed=seed, **options)


def files(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def run(tasks: dict[str, Task], folder: Path) -> Work:
    work = Work(tasks, cache=Cache(folder))
    work.perform()
    return work


def test_equal_configurations_run_once_and_are_kept(tmp_path: Path) -> None:
    tasks = {"a": Task({"x": drive(1), "y": drive(2)}), "b": Task({"z": drive(2)})}
    first = run(tasks, tmp_path)
    kept = files(tmp_path)
    assert len(kept) == 2
    second = run(tasks, tmp_path)
    assert second.found == 2
    assert files(tmp_path) == kept
    a, b = (second.measured(name, Size.QUICK) for name in "ab")
    assert a.result("y").digest == b.result("z").digest != a.result("x").digest
    assert a.result("x").digest == first.measured("a", Size.QUICK).result("x").digest


def test_what_is_missing_is_run_and_what_is_there_is_not(tmp_path: Path) -> None:
    run({"a": Task({"x": drive(1)})}, tmp_path)
    before = files(tmp_path)
    work = run({"a": Task({"x": drive(1), "y": drive(2)})}, tmp_path)
    assert work.found == 1
    assert before.items() < files(tmp_path).items()


def damaged(text: str) -> list[str]:
    """A kept result, damaged in all ways that matter."""
    entry = json.loads(text)
    changed = {**entry["result"], "write_amplification": 1.0}
    return [
        "",
        text[: len(text) // 2],
        "[]",
        "null",
        "\x00" * 100,
        json.dumps({**entry, "result": changed}),
        json.dumps({**entry, "result": 3, "checksum": cache_module._digest(3)}),
        json.dumps({**entry, "of": {**entry["of"], "version": "0.0.9"}}),
        json.dumps({**entry, "of": {**entry["of"], "engine": "another"}}),
        json.dumps({key: entry[key] for key in ("of", "result")}),
    ]


def test_a_damaged_or_foreign_result_is_run_again(tmp_path: Path) -> None:
    tasks = {"a": Task({"x": drive()})}
    expected = run(tasks, tmp_path).measured("a", Size.QUICK).result("x").digest
    (path,) = tmp_path.iterdir()
    whole = path.read_text()
    for text in damaged(whole):
        path.write_text(text)
        work = run(tasks, tmp_path)
        assert work.found == 0, text[:60]
        assert work.measured("a", Size.QUICK).result("x").digest == expected
    path.unlink()
    path.mkdir()  # Neither readable nor replaceable: the result is shown, and not kept.
    work = run(tasks, tmp_path)
    assert work.measured("a", Size.QUICK).result("x").digest == expected
    assert str(path) in str(work.unkept)


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

    work = Work({"a": Task({"x": drive(1), "y": drive(2)})}, cache=Full(tmp_path))
    work.perform()
    assert len(work.measured("a", Size.QUICK).results) == 2
    assert work.unkept is not None
