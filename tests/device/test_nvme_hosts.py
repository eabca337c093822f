"""NVMe/TCP with a clock, and the hosts that a drive shows."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from scripts.nvme.host import NAME, PAGE, connected

import flashgc
from flashgc import Device
from flashgc.device import making, realtime, watch


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
        # The reads of the copy are nobody's answers.
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
            # Two sectors from the last of page 1 on: a part of each of two pages.
            queue.call(0x01, 1, (15, 0, 1), new + new)
            assert queue.call(0x02, 1, (14, 0, 3), given=4 * 512)[1] == (
                old[-1024:-512] + new + new + old[512:1024]
            )
        assert drive.read(PAGE, 2 * PAGE) == old[:-512] + new + new + old[512:]


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
        until = time.monotonic() + 20
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
