"""Sessions in which real programs run on copies of one image."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.device.conftest import has_mounts
from tests.hints.stand import MARKS, MISSING

from conftest import COMMAND, environment
from flashgc import ConfigError, Device, DriveError, _core, run
from flashgc.device.live import demo, image, stand
from flashgc.device.live.plan import MIB, Clock, Plan
from flashgc.device.options_of import options_of
from flashgc.device.pace import Pace
from flashgc.device.postgres import tpcc
from flashgc_papers.claims import claims
from flashgc_papers.reproduce.reproduce import reproduce
from flashgc_papers.reproduce.runner import runner_of
from flashgc_papers.reproduce.tasks import Measured, Size
from flashgc_papers.reproduce.verdicts import Verdict
from flashgc_papers.zombie.living import session, study

PAGE = 4096

SMALL = Plan(
    capacity=160 * MIB, pages_per_block=32, micro_pages_per_block=32, repetitions=2,
    collectors=("GC-GD", "ZGC-GD"),
    warehouses=1, items=500, customers=60, clients=2,
    history_transactions=400, warmup_transactions=400, transactions=400,
    shared_buffers=4 * MIB, max_wal_size=32 * MIB, free=32 * MIB, h=(), written=0.1,
    dirty=4 * MIB, overwritten=0.1,
)  # fmt: skip


RAW = Plan(
    capacity=48 * MIB, micro_pages_per_block=64, repetitions=2, collectors=("GC-GD", "ZGC-GD"),
    raw=True, h=(6,), dirty=2 * MIB, overwritten=1.0, past_written=0.25, written=0.1,
    clock=Clock(slower=1, tries=1),
)  # fmt: skip


@pytest.fixture
def _fio() -> None:
    try:
        stand.find_fio()
    except DriveError as error:
        pytest.skip(str(error))


def living(test: Callable[..., None]) -> Callable[..., None]:
    """Marks a test of whole sessions: with mounts, a server and fio."""
    for mark in (*MARKS, pytest.mark.usefixtures("_fio")):
        test = mark(test)
    return test


def test_a_drive_gets_the_history_and_the_data_of_another(tmp_path: Path) -> None:
    """The second drive replays the history under its own policies, as the counting drive does."""
    first, second = tmp_path / "first", tmp_path / "second"
    trace, data = tmp_path / "history.flashgc", tmp_path / "data"
    draw = random.Random(3)
    shape = {"capacity": "32MiB", "pages_per_block": 32}
    with Device.create(first, victim="greedy", **shape) as drive:
        drive.record(trace)
        for number in range(16_000):
            page = draw.randrange(drive.size // PAGE)
            drive.write(page * PAGE, number.to_bytes(4, "little") * 1024)
            if number % 700 == 0:
                drive.trim((page // 2) * PAGE, 8 * PAGE)
                drive.flush()
        drive.record(None)
        data.write_bytes(drive.read(0, drive.size))
    Device.create(second, scheme="zgc-cb", **shape).close()
    _core.device_repeat(second, trace, data)
    with Device.open(second) as drive:
        assert drive.read(0, drive.size) == data.read_bytes()
        stat = drive.stat()
    options = options_of(json.loads(_core.device_configuration(second)))
    result = run(str(trace), **options)
    counted = (result.host_pages, result.copied_pages, result.erases)
    counters = stat["counters"]
    assert counted == tuple(counters[name] for name in stand.EXACT)
    assert result.copied_pages > 1000


def test_a_history_of_parts_of_pages_writes_these_pages(tmp_path: Path) -> None:
    file, trace = tmp_path / "drive", tmp_path / "bytes.csv"
    trace.write_text("time_us,op,offset_bytes,size_bytes,dev\n0,W,4096,4096,0\n1,W,512,4096,0\n")
    Device.create(file, capacity="32MiB", pages_per_block=32).close()
    (tmp_path / "data").write_bytes(bytes(1 << 20))
    _core.device_repeat(file, trace, tmp_path / "data")
    with Device.open(file) as drive:
        assert drive.stat()["counters"]["host_pages_written"] == 3


def test_traces_are_joined(tmp_path: Path) -> None:
    file = tmp_path / "drive"
    parts = [tmp_path / "1.flashgc", tmp_path / "2.flashgc.zst"]
    Device.create(file, capacity="32MiB", pages_per_block=32).close()
    for part in parts:
        with Device.open(file) as drive:
            drive.record(part)
            for page in range(2000):
                drive.write(page * 7 % 5000 * PAGE, bytes(PAGE))
    whole = tmp_path / "whole.flashgc"
    assert _core.trace_join(whole, parts) >= 4000
    with Device.open(file) as drive:
        stat = drive.stat()
    options = options_of(json.loads(_core.device_configuration(file)))
    assert run(str(whole), **options).host_pages == stat["counters"]["host_pages_written"] == 4000
    other = tmp_path / "other.flashgc"
    with Device.create(tmp_path / "o", capacity="64MiB", pages_per_block=32) as drive:
        drive.record(other)
        drive.write(0, bytes(PAGE))
    with pytest.raises(_core.TraceError, match="another address space"):
        _core.trace_join(tmp_path / "never.flashgc", [parts[0], other])
    assert not (tmp_path / "never.flashgc").exists()


def test_a_living_system_is_only_run_when_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(study, "run", lambda *_: calls.append(1) or [])
    (claim,) = claims().select(("zombie.live",))
    monkeypatch.setattr("flashgc_papers.claims.Claims.select", lambda *_: [claim])
    for what, called in ((("zombie",), 0), (("zombie.live",), 1)):
        made, _ = reproduce(what, size=Size.QUICK)
        assert len(calls) == called
    assert made.outcomes[0].verdict is Verdict.NOT_RUN
    made, _ = reproduce(("zombie",), size=Size.QUICK)
    assert "hint: flashgc reproduce zombie.live" in made.outcomes[0].why


def _unseen(*_: object) -> None:
    """Shows no progress."""


@living
def test_a_study_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[float] = []
    stops = iter(range(10))

    def show(share: float, _what: str, _number: int, _unit: str) -> None:
        shown.append(share)

    real = session.run

    def run_two(*arguments: object) -> object:
        if next(stops) == 2:
            raise KeyboardInterrupt
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(session, "run", run_two)
    with pytest.raises(KeyboardInterrupt):
        study.run(SMALL, tmp_path, show)
    assert len(list(tmp_path.glob("*/*.json"))) == 2
    done = study.run(SMALL, tmp_path, show)
    assert len(done) == len(study.sessions(SMALL)) == 4
    assert max(shown) <= 1
    for one in done:
        assert one["totals"] == one["replayed"]
        assert one["counters"]["host_pages_written"] > 0
    # If the kernel writes back at once, no page gets a hint. That hardly happens twice.
    # How soon the follower tells the drive depends on the load of the machine.
    heard = [one for one in done if one["counters"]["hinted_pages"] > 0]
    assert {one["collector"] for one in heard} == {"ZGC-GD"}
    assert all(0 < one["known_share"] <= 1 for one in heard)
    assert max(one["known_share"] for one in heard) > 0.5
    (claim,) = claims().select(("zombie.live",))
    judge = runner_of(claim)
    assert judge is not None
    task = judge.task(claim, Size.QUICK)
    outcome = judge.judge(claim, Measured(Size.QUICK, task, {}, {"sessions": done}))
    replays = next(row for row in outcome.rows if row.published == "to the digit")
    assert replays.verdict in (Verdict.MET, Verdict.IN_KIND)
    assert [row.verdict for row in outcome.rows if "CB" in row.label] == [Verdict.NOT_RUN] * 2


@living
@pytest.mark.soak
def test_the_drive_knows_most_dirty_pages_of_the_micro_benchmark(tmp_path: Path) -> None:
    """The hints are from the page cache."""
    state = image.made(SMALL, "micro-6", tmp_path / "micro", Pace(_unseen, _core.Control()))
    # If the kernel writes back at once, few pages get a hint. If other programs use the processors,
    # the drive knows few of the dirty pages. That hardly happens five times.
    for repeat in range(5):
        pace = Pace(_unseen, _core.Control())
        micro = session.run(SMALL, "micro-6", "ZGC-GD", repeat, state, pace)
        assert micro["totals"] == micro["replayed"]
        if micro["counters"]["hinted_pages"] > 100 and (micro["known_share"] or 0) > 0.5:
            break
    assert micro["counters"]["hinted_pages"] > 100
    assert micro["follower"]["lost"] == 0
    assert micro["known_share"] > 0.5


@living
def test_a_session_above_a_clock_has_the_past_of_the_drive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []
    stat = stand.Mounted.stat

    def kept(self: stand.Mounted) -> dict[str, Any]:
        seen.append(stat(self))
        return seen[-1]

    monkeypatch.setattr(stand.Mounted, "stat", kept)
    # The simulated drive of the clock has as many blocks as the stored one.
    clock = Clock(channels=1, pages_per_block=32, slower=1, tries=1)
    plan = replace(
        SMALL, clock=clock, h=(6,), collectors=("ZGC-GD",), repetitions=1,
        past_transactions=200, past_written=0.5, warmup_seconds=1, seconds=2, written=0.1,
    )  # fmt: skip
    done = study.run(plan, tmp_path, lambda *_: None)
    assert [one["workload"] for one in done] == ["tpcc", "micro-6"]
    for one in done:
        assert one["totals"] == one["replayed"]
        assert one["clock"]["failed"] is None
        assert one["clock"]["told_pages"] > 0
        assert 0 < one["known_share"] <= 1
    # The run's length is a time, not a number of transactions.
    assert done[0]["transactions"] not in (0, SMALL.transactions)
    begun = [one for one in seen if "realtime" in one][::2]
    assert len(begun) == 2
    for one in begun:
        timed, stored = one["realtime"], one["counters"]
        # Recent writes may be in only one of the two counts.
        assert timed["host_pages"] == pytest.approx(stored["host_pages_written"], rel=0.01)
        assert timed["host_pages"] > 20_000
    micro = begun[1]
    assert micro["realtime"]["erases"] > 0.5 * micro["counters"]["erases"] > 100


@living
def test_an_inconsistent_database_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tpcc.Condition(2, "d_next_o_id - 1 is the largest o_id", 3)
    monkeypatch.setattr(tpcc, "check", lambda _database: [broken])
    plan = replace(SMALL, collectors=("GC-GD",), repetitions=1)
    with pytest.raises(DriveError, match="the database is inconsistent: d_next_o_id - 1 is"):
        study.run(plan, tmp_path, lambda *_: None)


@pytest.mark.skipif(not has_mounts(), reason="needs root, FUSE and loop devices")
@pytest.mark.xdist_group(__name__)
@pytest.mark.usefixtures("_fio")
def test_the_micro_benchmark_runs_on_the_block_device(tmp_path: Path) -> None:
    """There is no file system. The timed drive gets hints with requests (section 4.3.1)."""
    done = study.run(RAW, tmp_path, lambda *_: None)
    assert [one["collector"] for one in done] == ["GC-GD", "ZGC-GD"] * 2
    for one in done:
        assert one["workload"] == "raw-6"
        assert one["totals"] == one["replayed"]
        assert one["clock"]["failed"] is None
        assert one["clock"]["copied_pages"] > 0
        assert one["follower"]["lost"] == 0
        if one["collector"] == "ZGC-GD":
            assert 0 < one["clock"]["told_pages"] <= one["clock"]["hinted_pages"]
            assert 0 < one["known_share"] <= 1
    assert max(one["known_share"] for one in done if one["collector"] == "ZGC-GD") > 0.5
    judge = runner_of(claim := claims().select(("zombie.raw",))[0])
    assert judge is not None
    told = [{**one, "slower": 1.0} for one in done]
    task = judge.task(claim, Size.QUICK)
    outcome = judge.judge(claim, Measured(Size.QUICK, task, {}, {"sessions": told}))
    assert [row.verdict for row in outcome.rows if "CB" in row.label] == [Verdict.NOT_RUN] * 2
    assert outcome.rows[-1].verdict is Verdict.IN_KIND


def test_sessions_on_a_block_device_are_judged_by_times_and_validity() -> None:
    (claim,) = claims().select(("zombie.raw",))
    judge = runner_of(claim)
    assert judge is not None
    seconds = {"GC-GD": 100, "ZGC-GD": 70, "GC-CB": 80, "ZGC-CB": 76}
    amplification = {"GC-GD": 6, "ZGC-GD": 3.6, "GC-CB": 5, "ZGC-CB": 3.5}

    def sessions(late: float) -> list[dict[str, object]]:
        return [
            {
                "workload": "raw-6", "collector": name, "repetition": n, "slower": 4.0, "tried": 1,
                "seconds": 4 * took + n / 1000, "known_share": 0.97 if name[0] == "Z" else 0.0,
                "totals": {"erases": 1}, "replayed": {"erases": 1},
                "clock": {
                    "write_amplification": amplification[name] + n / 1000, "failed": None,
                    "late_share": late, "told_pages": 8, "hinted_pages": 9,
                },
            }
            for name, took in seconds.items()
            for n in range(3)
        ]  # fmt: skip

    def verdicts(late: float) -> dict[str, Verdict]:
        task = judge.task(claim, Size.QUICK)
        computed = {"sessions": sessions(late)}
        rows = judge.judge(claim, Measured(Size.QUICK, task, {}, computed)).rows
        return {row.label: row.verdict for row in rows}

    found = verdicts(0.0005)
    assert found["raw-6, ZGC-GD over GC-GD: less time, %"] is Verdict.IN_KIND  # 30 for 29.8
    assert found["raw-6, ZGC-CB over GC-CB: less time, %"] is Verdict.MISSED  # 5 for 25.3
    assert found["raw-6, ZGC-GD over GC-GD: less write amplification, %"] is Verdict.IN_KIND
    assert found["raw-6, ZGC-CB over GC-CB: less write amplification, %"] is Verdict.IN_KIND
    assert found["raw-6, dirty pages known, %"] is Verdict.IN_KIND  # 97 of 95
    assert found["sessions whose answers left in time"] is Verdict.IN_KIND
    assert verdicts(0.002)["sessions whose answers left in time"] is Verdict.MISSED


def test_a_replay_that_differs_is_a_fault() -> None:
    (claim,) = claims().select(("zombie.live",))
    judge = runner_of(claim)
    assert judge is not None
    wrong = {"totals": {"erases": 1}, "replayed": {"erases": 2}, "workload": "", "collector": ""}
    task = judge.task(claim, Size.QUICK)
    outcome = judge.judge(claim, Measured(Size.QUICK, task, {}, {"sessions": [wrong]}))
    replays = next(row for row in outcome.rows if row.published == "to the digit")
    assert replays.verdict is Verdict.MISSED


def sessions_of(gains: dict[str, tuple[float, float]]) -> list[dict[str, object]]:
    """Sessions per workload, in which ZGC-GD and ZGC-CB write less by the given percentages."""
    found = []
    for workload, (greedy, cost_benefit) in gains.items():
        shares = {"GC-GD": 0, "ZGC-GD": greedy, "GC-CB": 0, "ZGC-CB": cost_benefit, "greedy": -50}
        for name, less in shares.items():
            found += [
                {
                    "workload": workload, "collector": name, "repetition": n,
                    "write_amplification": 3 * (1 - less / 100) + n / 1000, "known_share": 0.8,
                    "totals": {"erases": 1}, "replayed": {"erases": 1},
                    "samples": [[1.0, 9, 8, 8], [2.0, 7, 5, 5]],
                }
                for n in range(3)
            ]  # fmt: skip
    return found


def test_a_gain_is_judged_by_its_size_where_one_was_published() -> None:
    (claim,) = claims().select(("zombie.live",))
    judge = runner_of(claim)
    assert judge is not None
    task = judge.task(claim, Size.DEFAULT)

    def verdicts(**gains: tuple[float, float]) -> dict[str, Verdict]:
        named = {name.replace("_", "-"): pair for name, pair in gains.items()}
        measured = Measured(Size.DEFAULT, task, {}, {"sessions": sessions_of(named)})
        rows = judge.judge(claim, measured).rows
        return {row.label.removesuffix(", %"): row.verdict for row in rows}

    # Published gains in percent: 26 and 17.5 for TPC-C, 47.3 and 32.9 at h = 6, small at 3 and 50.
    good = verdicts(tpcc=(20, 12), micro_6=(40, 25), micro_10=(3, -3), micro_3=(2, 1))
    assert good["tpcc, ZGC-GD below GC-GD"] is good["tpcc, ZGC-CB below GC-CB"]
    assert good["tpcc, ZGC-GD below GC-GD"] in (Verdict.MET, Verdict.IN_KIND)
    assert good["micro-6, ZGC-GD below GC-GD"] in (Verdict.MET, Verdict.IN_KIND)
    assert good["micro-10, ZGC-GD below GC-GD"] in (Verdict.MET, Verdict.IN_KIND)
    assert good["micro-10, ZGC-CB below GC-CB"] is Verdict.MISSED
    assert good["micro-3, ZGC-GD below GC-GD"] in (Verdict.MET, Verdict.IN_KIND)
    poor = verdicts(tpcc=(17, 27), micro_6=(31, 50), micro_3=(6, 1))
    assert poor["tpcc, ZGC-GD below GC-GD"] is Verdict.MISSED  # 26 / 1.5 is 17.3
    assert poor["tpcc, ZGC-CB below GC-CB"] is Verdict.MISSED  # 17.5 * 1.5 is 26.25
    assert poor["micro-6, ZGC-GD below GC-GD"] is Verdict.MISSED
    assert poor["micro-6, ZGC-CB below GC-CB"] is Verdict.MISSED
    assert poor["micro-3, ZGC-GD below GC-GD"] is Verdict.MISSED


def test_a_demonstration_is_of_what_was_sampled(tmp_path: Path) -> None:
    # The host writes 1000 pages per second. The drive copies 2000 without hints, 500 with hints.
    samples = tuple(
        demo.Sample(n / 4, n * 250, n * 500 if n <= 40 else 20_000 + (n - 40) * 125, max(n - 40, 0))
        for n in range(81)
    )
    shown = demo.Demonstration(samples, switched_on=10.0)
    assert shown.before == pytest.approx(3.0)
    assert shown.after == pytest.approx(1.5)
    assert shown.zombies == sum(range(20, 41)) / 21
    assert dict(demo.describe(shown))["write amplification"] == (
        "3.000 without hints, 1.500 with them: 50.0% less"
    )
    figure = demo.draw(shown)
    [line, _] = figure.axes[0].lines
    seconds, values = line.get_data()
    assert dict(zip(seconds, values, strict=True))[10.0] == pytest.approx(3.0)
    assert dict(zip(seconds, values, strict=True))[11.0] == pytest.approx(2.25)
    with pytest.raises(ConfigError, match="expected 8 s or more"):
        demo.run(1, Pace(lambda *_: None, _core.Control()))


def _written(samples: list[dict[str, Any]], end: float, seconds: float) -> int:
    """The pages that the host wrote in the ``seconds`` before ``end``."""
    inside = [one["host_pages"] for one in samples if end - seconds <= one["seconds"] <= end]
    return inside[-1] - inside[0]


@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
@pytest.mark.xdist_group(__name__)
def test_the_demonstration_shows_that_hints_save_writes(tmp_path: Path) -> None:
    try:
        demo.check()
    except DriveError as error:
        pytest.skip(str(error))
    # On a busy machine few pages are written in 4 s, and the share of copies is not sure.
    for seconds in (16, 40, 120):
        done = subprocess.run(
            [*COMMAND, "hints", "demo", "--seconds", str(seconds), "--json"],
            capture_output=True, text=True, cwd=tmp_path, env=environment(),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        samples = told["samples"]
        ends = (told["switched_on_seconds"], samples[-1]["seconds"])
        if min(_written(samples, end, seconds / 4) for end in ends) >= demo.PLAN.capacity // 4096:
            break
    assert told["write_amplification_after"] < 0.95 * told["write_amplification_before"]
    assert (tmp_path / "hints.svg").read_text().count("hints on") == 1
    assert not [one for one in told["samples"] if one["zombies"] and one["seconds"] < 7]


def test_a_plan_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected"):
        _ = replace(SMALL, items=1).size
