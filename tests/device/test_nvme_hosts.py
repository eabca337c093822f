"""NVMe/TCP with a clock, and the figures of each host of a drive."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.conftest import COMMAND

import flashgc
from flashgc import Device
from flashgc.device import making, realtime, watch
from flashgc.device.campaign.nvme import NAME, PAGE, Queue, connected


def test_answers_leave_at_the_times_of_the_flash(tmp_path: Path) -> None:
    file, trace = tmp_path / "drive", tmp_path / "asked.flashgc"
    shape = {"blocks": 64, "pages_per_block": 32, "spare": "20%"}
    Device.create(file, victim="greedy", **shape).close()
    times = "read=2ms,program=5ms,erase=8ms,transfer=0us"
    clock = realtime.clock(making.configuration(file), {"drive": {"times": times}})
    draw = random.Random(1)
    with Device.open(file, clock=clock) as drive:
        drive.record(trace)
        with connected(*drive.serve_nvme_tcp("127.0.0.1:0")) as (_, queue):
            for cid in range(24):
                queue.send(cid, 0x01, 1, (draw.randrange(20),), bytes(PAGE), 0)
            for _ in range(24):
                queue.take()
            for page in range(8):
                queue.call(0x02, 1, (page,), given=PAGE)
            # A copy within the drive: two reads and the write of both pages.
            sources = b"".join(bytes(8) + page.to_bytes(8, "little") + bytes(16) for page in (3, 9))
            queue.call(0x19, 1, (100, 0, 1), sources)
            assert queue.call(0x02, 1, (100,), given=PAGE)[1] == bytes(PAGE)
        found = drive.stat()
        drive.record(None)
    replayed = flashgc.run(
        str(trace), kind="timed", times=times, victim="greedy", fill="empty", warmup="0",
        passes=1, runs=1, **shape,
    ).to_dict()  # fmt: skip
    for kind, count in (("write", 25), ("read", 9)):
        served, expected = found["realtime"]["simulated_us"][kind], replayed["latency_us"][kind]
        assert served["count"] == count
        # The reads of the copy are counted in the simulation, but no client gets an answer.
        assert expected["requests"] == count + (2 if kind == "read" else 0)
        assert served["max"] == pytest.approx(expected["max"], rel=0.01)
    assert found["realtime"]["simulated_us"]["write"]["mean"] >= 5000


def test_a_host_may_have_blocks_of_a_sector(tmp_path: Path) -> None:
    old, new = bytes(range(256)) * 16, b"s" * 512
    with Device.create(tmp_path / "drive", blocks=64, pages_per_block=16) as drive:
        drive.write(PAGE, old + old)
        for wrong in ("127.0.0.1:0,block=1024", "127.0.0.1:0,", "127.0.0.1:0,sectors"):
            with pytest.raises(
                flashgc.ConfigError, match=r"size of a block; hint: HOST:PORT,block"
            ):
                drive.serve_nvme_tcp(wrong)
        drive.serve_nvme_tcp("127.0.0.1:0,block=4096")
        with connected(*drive.serve_nvme_tcp("127.0.0.1:0,block=512")) as (admin, queue):
            namespace = admin.call(0x06, 1, (0,), given=PAGE)[1]
            assert int.from_bytes(namespace[:8], "little") == drive.size // 512
            assert namespace[128:132] == bytes([0, 0, 9, 0])  # no metadata, 2^9 bytes
            # Two sectors, the last of page 1 and the first of page 2.
            queue.call(0x01, 1, (15, 0, 1), new + new)
            assert queue.call(0x02, 1, (14, 0, 3), given=4 * 512)[1] == (
                old[-1024:-512] + new + new + old[512:1024]
            )
        assert drive.read(PAGE, 2 * PAGE) == old[:-512] + new + new + old[512:]


def test_a_recording_says_who_asked(tmp_path: Path) -> None:
    trace, text = tmp_path / "asked.flashgc", tmp_path / "asked.csv"
    words = []

    def ask(queue: Queue, who: tuple[int, int], opcode: int, page: int) -> None:
        data, given = (bytes(PAGE), 0) if opcode == 0x01 else (b"", PAGE if opcode == 0x02 else 0)
        queue.call(opcode, 1, (page,), data, given)
        place = (0, 0) if opcode == 0x00 else (page * PAGE, PAGE)
        words.append(("FWR"[opcode], *place, *who))

    with Device.create(tmp_path / "drive", blocks=64, pages_per_block=16) as drive:
        drive.record(trace)
        drive.write(9 * PAGE, bytes(PAGE))
        words.append(("W", 9 * PAGE, PAGE, 0, 0))
        address = drive.serve_nvme_tcp("127.0.0.1:0")
        with (
            connected(*address, queues=2, who=b"nqn.a") as (_, *one),
            connected(*address, queues=2, who=b"nqn.b") as (_, *other),
        ):
            # Hosts are numbered by their first requests: the second one to connect is host 1.
            for turn in range(12):
                hosts = ((other, 1), (one, 2))
                queues, host = hosts[turn // 2 % 2]
                ask(queues[turn % 2], (turn % 2 + 1, host), (1, 2, 1, 0)[turn % 4], turn)
        # A host that reconnects keeps its number.
        with connected(*address, who=b"nqn.a") as (_, queue):
            ask(queue, (1, 2), 0x01, 30)
        assert drive.read(9 * PAGE, PAGE) == bytes(PAGE)
        words.append(("R", 9 * PAGE, PAGE, 0, 0))
        drive.record(None)
    flashgc.trace_convert(trace, text, leave_out="drive-size")
    header, *lines = text.read_text().splitlines()
    assert header == "time_us,op,offset_bytes,size_bytes,dev,answer_us,queue,host"
    columns = [line.split(",") for line in lines]
    assert [(one[1], *map(int, (*one[2:4], *one[6:8]))) for one in columns] == words
    counted = flashgc.trace_stat(trace).hosts
    found = {(one.queue, one.host): one.requests + one.flushes for one in counted}
    assert found == Counter(one[-2:] for one in words)
    assert flashgc.trace_stat(text).hosts == counted
    shown = subprocess.run(
        [*COMMAND, "trace", "stat", trace], capture_output=True, text=True, check=True
    ).stdout
    assert re.search(r"^ *host +queue +requests +writes +written +flushes$", shown, re.M)


def test_a_drive_shows_who_is_connected(tmp_path: Path) -> None:
    with Device.create(tmp_path / "drive", blocks=64, pages_per_block=16) as drive:
        words = drive.serve_nbd("127.0.0.1:0")
        address = drive.serve_nvme_tcp("127.0.0.1:0")
        serving = f"nvme-tcp {' '.join(address)}"
        assert drive.stat()["connections"] == [
            {"serving": words, "clients": []},
            {"serving": serving, "hosts": []},
        ]
        assert not any(line.startswith("connected") for line in watch.overview(drive.stat()))
        with connected(*address) as (admin, queue):
            name = NAME.decode()
            assert drive.stat()["connections"][1]["hosts"] == [
                {
                    "host": name,
                    "controller": admin.controller,
                    "discovers": False,
                    "queues": [{"queue": 0, "under_way": 0}, {"queue": 1, "under_way": 0}],
                }
            ]
            lines = watch.overview(drive.stat())
            assert f"{'connected':14}{name}: 1 queue of I/O, 0 under way" in lines
            assert queue.call(0x02, 1, (0,), given=PAGE)[1] == bytes(PAGE)
        until = time.monotonic() + 60
        while drive.stat()["connections"][1]["hosts"]:
            assert time.monotonic() < until, "a host that is gone is shown"
            time.sleep(0.01)


def test_the_bench_compares_nvme_with_the_simulation() -> None:
    bench = Path(__file__).resolve().parents[2] / "scripts/bench/realtime.py"
    words = [sys.executable, bench, "--seconds", "1", "--kinds", "randread", "--depths", "1"]
    words += ["--front", "nvme-tcp"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r"^randread +qd +1 read .* p50 (\d+)/(\d+)/(\d+)", done.stdout, re.M)
    assert found is not None, done.stdout
    served, simulated, host = map(int, found.groups())
    # 60 us for the cells and 102.4 us for the transfer; a busy host may be late.
    assert simulated == 162
    assert 160 < served < 10 * simulated
    assert host > 160
