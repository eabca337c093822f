"""Sessions of living software on copies of one image."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from tests.hints.stand import MISSING

from flashgc import ConfigError, Device, DriveError, _core, run
from flashgc.device.replaying import options_of
from flashgc.followers.live import image, session, study
from flashgc.followers.live.plan import MIB, Plan
from flashgc.pace import Pace
from flashgc.papers.claims import claims
from flashgc.reproduce.reproduce import reproduce
from flashgc.reproduce.runner import Measured, Size, runner_of
from flashgc.reproduce.verdicts import Verdict

PAGE = 4096

SMALL = Plan(
    capacity=160 * MIB, pages_per_block=32, repetitions=2, collectors=("GC-GD", "ZGC-GD"),
    warehouses=1, items=500, customers=60, clients=2, history_seconds=1, seconds=1,
    shared_buffers=4 * MIB, max_wal_size=32 * MIB, free=32 * MIB, h=(), written=0.1,
    dirty=4 * MIB,
)  # fmt: skip


def test_a_drive_gets_the_history_and_the_data_of_another(tmp_path: Path) -> None:
    """Under its own policies: the counting drive comes to the same counts."""
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
    Device.create(second, gc_preset="zgc-cb", **shape).close()
    _core.device_repeat(second, trace, data)
    with Device.open(second) as drive:
        assert drive.read(0, drive.size) == data.read_bytes()
        stat = drive.stat()
    options = options_of(
        {
            **json.loads(_core.device_configuration(second)),
            "logical_pages": stat["capacity_bytes"] // PAGE,
        }
    )
    result = run(str(trace), **options)
    counted = (result.host_pages, result.copied_pages, result.erases)
    counters = stat["counters"]
    assert counted == tuple(counters[name] for name in session.stand.EXACT)
    assert result.copied_pages > 1000


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
    options = options_of(
        {
            **json.loads(_core.device_configuration(file)),
            "logical_pages": stat["capacity_bytes"] // PAGE,
        }
    )
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
    monkeypatch.setattr("flashgc.papers.claims.Claims.select", lambda *_: [claim])
    for what, called in ((("zombie",), 0), (("zombie.live",), 1)):
        made, _ = reproduce(what, size=Size.QUICK)
        assert len(calls) == called
    assert made.outcomes[0].verdict is Verdict.NOT_RUN
    made, _ = reproduce(("zombie",), size=Size.QUICK)
    assert "hint: flashgc reproduce zombie.live" in made.outcomes[0].why


@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
@pytest.mark.xdist_group("mounts")
def test_a_study_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        session.find_fio()
    except DriveError as error:
        pytest.skip(str(error))
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
        if one["collector"] == "ZGC-GD":
            assert one["counters"]["hinted_pages"] > 0
            assert one["known_share"] > 0.5
    (claim,) = claims().select(("zombie.live",))
    judge = runner_of(claim)
    assert judge is not None
    task = judge.task(claim, Size.QUICK)
    outcome = judge.judge(claim, Measured(Size.QUICK, task, {}, {"sessions": done}))
    replays = next(row for row in outcome.rows if row.published == "to the digit")
    assert replays.verdict in (Verdict.MET, Verdict.IN_KIND)
    assert [row.verdict for row in outcome.rows if "CB" in row.label] == [Verdict.NOT_RUN] * 2
    # The micro-benchmark, with hints from the page cache.
    state = image.made(SMALL, "micro", tmp_path / "micro", Pace(show, _core.Control()))
    micro = session.run(SMALL, "micro-6", "ZGC-GD", 0, state, Pace(show, _core.Control()))
    assert micro["totals"] == micro["replayed"]
    assert micro["counters"]["hinted_pages"] > 100
    assert micro["known_share"] == 1


def test_a_replay_that_differs_is_a_fault() -> None:
    (claim,) = claims().select(("zombie.live",))
    judge = runner_of(claim)
    assert judge is not None
    wrong = {"totals": {"erases": 1}, "replayed": {"erases": 2}, "workload": "", "collector": ""}
    task = judge.task(claim, Size.QUICK)
    outcome = judge.judge(claim, Measured(Size.QUICK, task, {}, {"sessions": [wrong]}))
    replays = next(row for row in outcome.rows if row.published == "to the digit")
    assert replays.verdict is Verdict.MISSED


def test_a_plan_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected"):
        _ = replace(SMALL, items=1).size
