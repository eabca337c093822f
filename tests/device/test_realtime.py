"""``--realtime``: a stored drive answers at the times of a timed drive."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import COMMAND, Command, environment
from tests.device.conftest import needs, needs_mounts

import flashgc
from flashgc import ConfigError, Device, FlashgcError
from flashgc._documents import read
from flashgc.device import making, realtime, watch
from flashgc.device.control import Client
from flashgc.results import Worst

TIMES = "read=2ms,program=5ms,erase=8ms,transfer=0us"


def clock(file: Path, **asked: Any) -> realtime.Clock:
    named = {key: asked.pop(key) for key in ("slower", "aged", "hints") if key in asked}
    times = {key: asked.pop(key) for key in ("times", "pages_per_block") if key in asked}
    values = {"drive": {"times": TIMES, **times}, "gc": asked}
    return realtime.clock(making.configuration(file), values, **named)


def made(file: Path, **options: Any) -> Path:
    asked = {"blocks": 64, "pages_per_block": 32, "spare": "20%", "victim": "greedy", **options}
    Device.create(file, **asked).close()
    return file


def test_answers_take_the_times_of_the_flash(tmp_path: Path) -> None:
    file = made(tmp_path / "drive.flash")
    for slower, factor in ((None, 1), ("3x", 3)):
        with Device.open(file, clock=clock(file, slower=slower)) as drive:
            begun = time.monotonic()
            drive.write(0, b"x" * 4096)
            written = time.monotonic()
            assert drive.read(0, 4) == b"xxxx"
            read = time.monotonic()
            found = drive.stat()["realtime"]
        assert written - begun >= 0.005 * factor
        assert read - written >= 0.002 * factor
        # Times are in microseconds. Histograms are exact to three digits.
        assert found["simulated_us"]["write"]["mean"] == pytest.approx(5000 * factor, rel=0.01)
        assert found["simulated_us"]["read"]["mean"] == pytest.approx(2000 * factor, rel=0.01)
        assert (found["answers"], found["slower"], found["host_pages"]) == (
            2,
            factor,
            factor // 3 + 1,
        )


def test_amplification_is_by_the_bytes_that_hosts_wrote(tmp_path: Path) -> None:
    file = made(tmp_path / "drive.flash")
    with Device.open(file, clock=clock(file, times="read=1us,program=1us,erase=1us")) as drive:
        for page in range(200):
            drive.write(page * 4096 + 512, b"d" * 512)
        found = drive.stat()
    assert found["realtime"]["host_bytes"] == 200 * 512
    assert found["realtime"]["write_amplification"] == found["write_amplification"] == 8


def test_a_recording_replayed_on_the_simulated_drive_has_its_latencies(tmp_path: Path) -> None:
    file, trace = made(tmp_path / "drive.flash"), tmp_path / "asked.flashgc"
    with Device.open(file, clock=clock(file)) as drive:
        drive.record(trace)
        for page in (1, 2, 3, 2, 1, 9):
            drive.write(page * 4096, bytes(4096 * (page % 3 + 1)))
            drive.read(4096, 4096)
        drive.trim(4096, 8192)
        drive.flush()
        found = drive.stat()
        drive.record(None)
    replayed = flashgc.run(
        str(trace), kind="timed", times=TIMES, victim="greedy", blocks=64, pages_per_block=32,
        spare="20%", fill="empty", warmup="0", passes=1, runs=1,
    ).to_dict()  # fmt: skip
    served = found["realtime"]["simulated_us"]
    for kind in ("read", "write"):
        expected = replayed["latency_us"][kind]
        assert served[kind]["count"] == expected["requests"]
        assert served[kind]["mean"] == pytest.approx(expected["mean"], rel=0.01)
        assert served[kind]["max"] == pytest.approx(expected["max"], rel=0.01)
    # The replay finds the same slowest requests, with the same parts of their response times.
    worst = [read(Worst, one) for one in found["realtime"]["worst"]]
    assert [one.kind for one in worst] == [one["kind"] for one in replayed["worst"]]
    for one, again in zip(worst, replayed["worst"], strict=True):
        assert one.response_us == pytest.approx(again["response_us"], rel=1e-6)
        parts = (one.queue_us, one.collection_us, one.bus_us, one.cell_us)
        assert sum(parts) == pytest.approx(one.response_us)
        own = {it.work for it in one.operations if it.request == one.number}
        assert own == {"read": {"read"}, "write": {"program"}, "trim": set()}[one.kind]
    lines = watch.overview(found)
    told = lines[lines.index(f"slowest {worst[0].story[0]}") :]
    assert all(len(line) < len("slowest ") + 80 for line in told)
    assert not any(line.startswith("in the time of the drive") for line in lines)
    slower = watch.overview({**found, "realtime": {**found["realtime"], "slower": 4.0}})
    assert "in the time of the drive, of which 1 ms takes 4 ms:" in slower
    assert found["latency_us"]["write"]["mean"] >= 0.99 * served["write"]["mean"]


def test_the_host_of_a_recording_waits_as_it_did(tmp_path: Path) -> None:
    file, trace = made(tmp_path / "drive.flash"), tmp_path / "asked.flashgc"
    times = "read=100us,program=600us,erase=3ms,transfer=0us"

    def ask(drive: Device) -> None:
        draw = random.Random(1)
        for step in range(1800):
            page = draw.randrange(1600) * 4096
            if draw.random() < 0.3:
                drive.read(page, 4096)
            else:
                drive.write(page, bytes(4096 * draw.randint(1, 3)))
            if step % 16 == 15:
                drive.flush()

    with Device.open(file, clock=clock(file, times=times, pages_per_block=32)) as drive:
        drive.record(trace)
        # With several threads, a busy host may execute requests in another order than they arrived.
        ask(drive)
        found = drive.stat()["realtime"]
        drive.record(None)

    def replayed(times: str, **more: Any) -> dict[str, Any]:
        return flashgc.run(
            str(trace), kind="timed", times=times, victim="greedy", blocks=64, pages_per_block=32,
            spare="20%", fill="empty", warmup="0", passes=1, runs=1, **more,
        ).to_dict()  # fmt: skip

    again = replayed(times, arrivals="dependent")
    for kind in ("read", "write"):
        served, expected = found["simulated_us"][kind], again["latency_us"][kind]
        assert served["count"] == expected["requests"]
        for key in ("mean", "p50", "p99", "max"):
            assert served[key] == pytest.approx(expected[key], rel=0.01)
    # This drive is so slow that any host would flood it. With `dependent`, requests wait instead.
    slow = "read=2ms,program=12ms,erase=60ms,transfer=0us"
    flooded, waited = replayed(slow), replayed(slow, arrivals="dependent")
    assert flooded["latency_us"]["write"]["p50"] > 20 * waited["latency_us"]["write"]["p50"]
    assert waited["latency_us"]["write"]["p50"] < 25 * again["latency_us"]["write"]["p50"]
    said = {one["id"]: one["hint"] for one in flooded["findings"]}
    assert 'arrivals="dependent"' in said["overload"]
    assert "overload" not in {one["id"] for one in waited["findings"]}


def test_the_timed_drive_begins_with_what_is_on_the_drive(tmp_path: Path) -> None:
    file = made(tmp_path / "drive.flash")
    with Device.open(file) as drive:
        drive.write(4096 * 7, bytes(4096 * 1000))
    fresh = json.loads(json.dumps(_realtime(file, None)))
    used = _realtime(file, "2x")
    assert (fresh["host_pages"], fresh["erases"]) == (1000, 0)
    assert used["host_pages"] == 3000
    assert used["erases"] > 0
    # A read of a page with data takes time; a read of an unwritten page takes none.
    with Device.open(file, clock=clock(file)) as drive:
        drive.read(4096 * 7, 4096)
        drive.read(0, 4096)
        served = drive.stat()["realtime"]
    found = served["simulated_us"]["read"]
    assert (found["count"], found["p50"]) == (2, 0)
    assert (served["answers"], served["at_once_us"]["count"]) == (1, 1)
    assert found["max"] == pytest.approx(2000, rel=0.01)


def _realtime(file: Path, aged: str | None) -> dict[str, Any]:
    with Device.open(file, clock=clock(file, aged=aged)) as drive:
        found: dict[str, Any] = drive.stat()["realtime"]
    return found


def test_what_has_no_clock_is_refused_in_one_line(tmp_path: Path, command: Command) -> None:
    file = made(tmp_path / "drive.flash")
    serve = ("device", "serve", file)
    for words, said in (
        (("--device", "mlc"), "--device applies with --realtime"),
        (("--slower", "4x"), "--slower applies with --realtime"),
        (("--hints", "perfect"), "--hints applies with --realtime"),
        (("--realtime",), "a drive with a clock needs --times"),
        (("--realtime", "--device", "mlx"), "did you mean 'mlc'?"),
        (("--realtime", "--device", "mlc", "--slower", "0.5x"), "--slower: found '0.5x'"),
        (("--realtime", "--device", "mlc", "--aged", "-1"), "--aged: found '-1'"),
        (("--realtime", "--device", "jasmine-4"), "--mapping-unit 4KiB"),
        (("--realtime", "--device", "mlc", "--mapping", "bast"), "expected page or dftl"),
    ):
        done = command(*serve, *words)
        assert done.returncode != 0, words
        assert done.stdout == "", words
        assert said in done.stderr, words
        assert done.stderr.count("\n") == 1, words
    with pytest.raises(ConfigError, match=r"--hints piggyback does not apply: .*greedy"):
        Device.open(file, clock=clock(file, hints="piggyback"))
    zombies = made(tmp_path / "hints.flash", victim="z-greedy")
    for way in ("oracle", "frequency"):
        with pytest.raises(ConfigError, match=f"--hints {way} is for a simulated host"):
            Device.open(zombies, clock=clock(zombies, hints=way))
    with pytest.raises(ConfigError, match="did you mean 'dsm'"):
        Device.open(zombies, clock=clock(zombies, hints="dms"))


#: Options of a drive with very fast flash.
FAST = {"times": "read=2us,program=5us,erase=8us,transfer=0us", "pages_per_block": 32}


def worked(file: Path, **asked: Any) -> dict[str, Any]:
    """The state of a drive with a clock after overwrites, some of them with hints."""
    with Device.open(file, clock=clock(file, **FAST, **asked)) as drive:
        return overwrite(drive)


def overwrite(drive: Device) -> dict[str, Any]:
    source, pages = random.Random(1), 1600
    for page in range(pages):
        drive.write(page * 4096, bytes(4096))
    for _ in range(2000):
        page, coming = source.randrange(pages), source.randrange(pages // 5)
        drive.hint(coming * 4096, 4096)
        drive.write(page * 4096, bytes(4096))
        if source.random() < 0.7:
            drive.write(coming * 4096, bytes(4096))
        elif source.random() < 0.3:
            drive.cancel(coming * 4096, 4096)
    return drive.stat()


def counts(found: dict[str, Any]) -> tuple[int, ...]:
    return found["copied_pages"], found["erases"], found["collections"]


def test_the_drive_with_a_clock_hears_what_the_stored_drive_hears(tmp_path: Path) -> None:
    file = made(tmp_path / "drive.flash", victim="z-greedy", placement="dac:zombie-block=yes")
    shutil.copy(file, tmp_path / "again.flash")
    found = worked(file)
    served = found["realtime"]
    assert counts(served) == counts(found["counters"])
    assert found["counters"]["copied_zombies"] > 100
    assert served["hinted_pages"] == served["told_pages"] == 2000
    assert "2 000 pages hinted" in realtime.in_words(served)
    deaf = worked(tmp_path / "again.flash", hints="none")
    assert counts(deaf["counters"]) == counts(found["counters"])
    assert counts(deaf["realtime"]) != counts(deaf["counters"])
    assert deaf["realtime"]["told_pages"] == 0


def test_hints_take_the_way_that_was_named(tmp_path: Path) -> None:
    file = made(tmp_path / "drive.flash", victim="z-greedy")
    with Device.open(file, clock=clock(file, hints="command:cost=30ms")) as drive:
        drive.write(0, bytes(4096))
        drive.hint(0, 4096)
        # The read waits for the running command, and then takes 2 ms.
        begun = time.monotonic()
        drive.read(0, 4096)
        assert time.monotonic() - begun > 0.030
        assert drive.stat()["realtime"]["hint_commands"] == 1
    with Device.open(file, clock=clock(file, hints="piggyback")) as drive:
        drive.write(0, bytes(2 * 4096))
        drive.hint(0, 4096)
        drive.hint(4096, 4096)
        drive.write(4096, bytes(4096))
        told = drive.stat()["realtime"]
    # The write of page 1 carries the hint on page 0. It overtakes the hint on page 1 itself.
    assert (told["hinted_pages"], told["told_pages"], told["overtaken_pages"]) == (2, 1, 1)
    assert told["hint_commands"] == 0


def test_streams_reach_the_drive_with_a_clock(tmp_path: Path) -> None:
    table = tmp_path / "streams.csv"
    table.write_text("0, 1310720, 1\n")
    options = {"placement": "fdp:handles=2", "streams": str(table)}
    file = made(tmp_path / "drive.flash", **options)
    # The file of ranges is read only when the drive is created.
    table.unlink()
    found = worked(file)
    assert counts(found["realtime"]) == counts(found["counters"])
    assert found["counters"]["copied_pages"] > 1000
    plain = made(tmp_path / "plain.flash", victim="greedy")
    assert counts(worked(plain)["counters"]) != counts(found["counters"])


@pytest.mark.parametrize("has_streams", [False, True])
def test_a_recording_is_the_past_of_the_drive_with_a_clock(
    tmp_path: Path, has_streams: bool
) -> None:
    options = {"victim": "z-greedy", "placement": "dac:zombie-block=yes"}
    if has_streams:
        table = tmp_path / "streams.csv"
        table.write_text("0, 1310720, 1\n")
        options = {"victim": "z-greedy", "placement": "fdp:handles=2", "streams": str(table)}
    file, trace = made(tmp_path / "drive.flash", **options), tmp_path / "past.flashgc"
    with Device.open(file) as drive:
        drive.record(trace)
        overwrite(drive)
        drive.trim(0, 4096 * 50)
        drive.record(None)
        counted = drive.stat()["counters"]
    with Device.open(file, clock=clock(file, **FAST, aged=str(trace))) as drive:
        begun = drive.stat()["realtime"]
        assert counts(begun) == counts(counted)
        assert (begun["host_pages"], begun["answers"]) == (counted["host_pages_written"], 0)
        # The timed copy has the pages and hints of the stored drive, so both go on alike.
        source = random.Random(2)
        for _ in range(1000):
            drive.write(source.randrange(1600) * 4096, bytes(4096))
        after = drive.stat()
    grown = [
        one - before for one, before in zip(counts(after["counters"]), counts(counted), strict=True)
    ]
    assert grown[0] > 100
    assert [
        one - before for one, before in zip(counts(after["realtime"]), counts(begun), strict=True)
    ] == grown


def test_a_factor_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("2x", "1.0", "past"):
        (tmp_path / name).write_text("")
    assert [realtime.past(one) for one in ("2x", "1.0", None, 3)] == [2.0, 1.0, 0, 3.0]
    assert realtime.past("past") == realtime.past(Path("past")) == tmp_path / "past"


def test_a_past_that_is_none_is_refused_in_one_line(tmp_path: Path) -> None:
    file, trace = made(tmp_path / "drive.flash"), tmp_path / "past.flashgc"
    with pytest.raises(
        ConfigError, match=r"--aged: found 'no.flashgc', expected 0x to 1000x, or a tr"
    ):
        clock(file, aged="no.flashgc")
    large = made(tmp_path / "large.flash", blocks=128)
    with Device.open(large) as drive:
        drive.record(trace)
        drive.write(4096 * 3000, bytes(4096))
        drive.record(None)
    with pytest.raises(FlashgcError, match=r"--aged: .*past.flashgc: ") as told:
        Device.open(file, clock=clock(file, aged=trace))
    assert "\n" not in str(told.value)
    (tmp_path / "text").write_text("no trace\n")
    with pytest.raises(FlashgcError, match=r"--aged: .*text"):
        Device.open(file, clock=clock(file, aged=tmp_path / "text"))


@needs_mounts
@needs("fio")
def test_the_bench_compares_what_is_served_with_the_simulation() -> None:
    bench = Path(__file__).resolve().parents[2] / "scripts/bench/realtime.py"
    words = [sys.executable, bench, "--seconds", "1", "--kinds", "randread", "--depths", "1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r"^randread +qd +1 read .* p50 (\d+)/(\d+)/", done.stdout, re.M)
    assert found is not None, done.stdout
    served, simulated = int(found[1]), int(found[2])
    # 60 us for the cells and 102.4 us for the transfer; a busy host may be late.
    assert simulated == 162
    assert 160 < served < 10 * simulated


def may_come_first() -> bool:
    child = "import os; os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))"
    done = subprocess.run([sys.executable, "-c", child], capture_output=True, check=False)
    return done.returncode == 0


def served_threads(pid: int) -> dict[str, int]:
    """The scheduling policies of a process's threads, by the threads' names."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return {
        (one / "comm").read_text().strip(): os.sched_getscheduler(int(one.name)) for one in threads
    }


@pytest.mark.skipif(not may_come_first(), reason="this user's threads may not come first")
def test_the_threads_of_a_drive_with_a_clock_come_first(tmp_path: Path) -> None:
    """The command sets the threads' priority, because root's server has dropped its rights."""
    file, socket = made(tmp_path / "drive.flash"), tmp_path / "nbd"
    server = subprocess.Popen(
        [*COMMAND, "device", "serve", str(file), "--nbd", f"unix:{socket}", "--realtime",
         "--times", TIMES, "--pages-per-block", "32"],
        env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert server.stderr is not None
        assert server.stderr.readline() == b"serving; Ctrl-C closes the drive\n"
        with Client(file) as client:
            assert client.stat()["realtime"]["comes_first"] is True
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        policies = served_threads(int(children[0]) if os.geteuid() == 0 else server.pid)
    finally:
        server.terminate()
        server.communicate(timeout=60)
    first = {name for name, policy in policies.items() if policy == os.SCHED_RR}
    assert {"pace", "drive"} < first
    # The threads for control and for opening the drive have ordinary priority.
    assert not first & {"control", "control-client", "python"}


def test_an_invalid_run_says_so_and_what_to_do() -> None:
    said = {
        "answers": 1000, "late": 2, "late_for_data": 0, "late_share": 0.002, "slower": 1.0,
        "is_valid": False, "failed": None, "at_once_us": {"count": 0},
        "lateness_us": {"p50": 4.0, "max": 900.0}, "hinted_pages": 0, "comes_first": True,
    }  # fmt: skip
    assert realtime.in_words(said)[-1] == "INVALID, more than 0.1% are late; hint: --slower 2x"
    assert (
        realtime.in_words({**said, "late": 1, "late_share": 0.001, "is_valid": True})[-1] == "valid"
    )
    ordinary = realtime.in_words({**said, "comes_first": False})
    assert ordinary[-1].endswith(
        "hint: --slower 2x, or as root, so that the drive's threads run before all others"
    )
    disk = realtime.in_words({**said, "late_for_data": 2})
    assert disk[-1].endswith("hint: keep the drive's file in memory, as in /dev/shm")
    ended = realtime.in_words({**said, "failed": "no space"})
    assert ended[-1] == "INVALID, the timed drive ended: no space"
