"""``flashgc.Device``: a drive in this process, and its replay."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import environment

import flashgc
from flashgc import ConfigError, Device, DriveError, _core
from flashgc.device import making
from flashgc.device.control import Client
from flashgc.device.options_of import options_of

SMALL = {"blocks": 64, "pages_per_block": 32, "spare": "15%"}
PAGE = 4096


def page_of(number: int) -> bytes:
    """A page whose content is unique to ``number`` and not zero."""
    return (number + 1).to_bytes(8, "little") * (PAGE // 8)


def wait_until(is_so: Callable[[], bool]) -> None:
    """Waits until a condition is true, for at most a minute."""
    until = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.001)


def churn(drive: Device, count: int, seed: int = 1) -> dict[int, bytes]:
    """Writes and discards pages at random, and returns the content of every page."""
    draw = random.Random(seed)
    held: dict[int, bytes] = {}
    pages = drive.size // PAGE
    for number in range(count):
        page = draw.randrange(pages)
        if draw.random() < 0.1:
            drive.trim(page * PAGE, PAGE)
            held[page] = bytes(PAGE)
        else:
            held[page] = page_of(number)
            drive.write(page * PAGE, held[page])
    return held


def test_what_is_written_is_read_again_after_it_was_closed(tmp_path: Path) -> None:
    with Device.create(tmp_path / "d", **SMALL) as drive:
        held = churn(drive, 8000)
        before = drive.stat()
    with Device.open(tmp_path / "d") as drive:
        for page, data in held.items():
            assert drive.read(page * PAGE, PAGE) == data
        after = drive.stat()
    assert before["counters"]["collections"] > 50
    same = ("uuid", "decisions", "write_amplification", "victim", "free_blocks", "mapped_pages")
    assert {key: before[key] for key in same} == {key: after[key] for key in same}
    assert after["smart"]["power_cycles"] == 2
    assert after["smart"]["unsafe_shutdowns"] == 0
    assert after["smart"]["host_write_commands"] == before["smart"]["host_write_commands"]


def test_a_killed_process_loses_nothing_that_was_flushed(tmp_path: Path) -> None:
    program = f"""
import os, signal
from flashgc import Device
drive = Device.create({str(tmp_path / "d")!r}, blocks=64, pages_per_block=32, victim="greedy")
for round in range(4):
    for page in range(1500):
        drive.write(page * 4096, bytes([round + 1]) * 4096)
drive.flush()
print("flushed", flush=True)
for page in range(300):
    drive.write(page * 4096, bytes([99]) * 4096)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert done.stdout == "flushed\n"
    with Device.open(tmp_path / "d") as drive:
        stat = drive.stat()
        assert stat["smart"]["unsafe_shutdowns"] == 1
        assert stat["recovery"]["records"] > 0
        for page in range(1500):
            [found] = set(drive.read(page * PAGE, PAGE))
            assert found == 4 or (page < 300 and found == 99)


def test_a_recording_replays_to_the_same_digits(tmp_path: Path) -> None:
    trace = tmp_path / "d.flashgc.zst"
    for preset in ("gc-gd", "zgc-gd", "zgc-cb"):
        file = tmp_path / preset
        with Device.create(file, scheme=preset, **SMALL) as drive:
            drive.record(trace)
            draw = random.Random(7)
            pages = drive.size // PAGE
            for number in range(12_000):
                page = int(pages * draw.random() ** 3)
                what = draw.random()
                if what < 0.1:
                    drive.trim(
                        page * PAGE, draw.randrange(1, 4) * PAGE if page + 4 < pages else PAGE
                    )
                elif what < 0.25:
                    drive.hint(page * PAGE, PAGE)
                elif what < 0.28:
                    drive.cancel(page * PAGE, PAGE)
                elif what < 0.35:
                    drive.read(page * PAGE, PAGE)
                elif what < 0.37:
                    drive.write(page * PAGE + 100, b"less than a page")
                elif what < 0.4 and page + 5 < pages:
                    drive.write(page * PAGE, page_of(number) * 5)
                else:
                    drive.write(page * PAGE, page_of(number))
            stat = drive.stat()
            recorded = drive.record(None)
        found = flashgc.trace_stat(trace)
        assert recorded == found.requests + found.dirty + found.clean
        made = making.configuration(file)
        result = flashgc.run(str(trace), **options_of(made))
        counters = stat["counters"]
        found = (result.host_pages, result.copied_pages, result.erases, result.trimmed_pages)
        assert found == tuple(
            counters[key]
            for key in ("host_pages_written", "copied_pages", "erases", "trimmed_pages")
        )
        assert counters["collections"] > 100
        if preset != "gc-gd":
            assert result.zombies is not None
            assert result.zombies.marked == counters["hinted_pages"] > 500
            assert result.zombies.copied == counters["copied_zombies"]


def test_a_policy_in_python_collects(tmp_path: Path) -> None:
    policy = tmp_path / "policies.py"
    policy.write_text(
        "class Fewest:\n"
        "    def pick(self, blocks):\n"
        "        return min(\n"
        "            (b for b in range(len(blocks))\n"
        "             if blocks.valid[b] <= blocks.pages_per_block),\n"
        "            key=blocks.count)\n"
    )
    victim = f"python:{policy}:Fewest"
    with Device.create(tmp_path / "own", victim=victim, **SMALL) as drive:
        held = churn(drive, 6000)
        own = drive.stat()
    with Device.open(tmp_path / "own", allow_python=True) as drive:
        assert drive.stat()["victim"] == victim
        assert drive.read(0, PAGE) == held.get(0, bytes(PAGE))
        churn(drive, 3000, seed=2)
    with Device.create(tmp_path / "greedy", victim="greedy:ties=lowest", **SMALL) as drive:
        churn(drive, 6000)
        built_in = drive.stat()
    assert own["counters"]["collections"] > 50
    assert abs(own["write_amplification"] - built_in["write_amplification"]) < 0.1


def test_a_policy_that_raises_makes_the_drive_read_only(tmp_path: Path) -> None:
    policy = tmp_path / "policies.py"
    policy.write_text("def broken(blocks):\n    raise RuntimeError('no idea')\n")
    with Device.create(tmp_path / "d", victim=f"python:{policy}:broken", **SMALL) as drive:
        with pytest.raises(RuntimeError, match="no idea"):
            churn(drive, 6000)
        with pytest.raises(DriveError):
            drive.write(0, page_of(1))
        drive.read(0, PAGE)
        assert drive.stat()["read_only"]
        with pytest.raises(DriveError):
            drive.close()


def test_one_process_opens_a_drive(tmp_path: Path) -> None:
    with (
        Device.create(tmp_path / "d", **SMALL),
        pytest.raises(DriveError, match="d: it is in use by another process"),
    ):
        Device.open(tmp_path / "d")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"victim": "gredy"}, "did you mean 'greedy'?"),
        ({"frontier": "single"}, "frontier single does not apply to a stored drive"),
        ({"mapping": "fast"}, "does not apply to a stored drive"),
        ({"page_size": "16KiB"}, "the pages of its file have 4 KiB"),
        ({"workload": "zipf"}, "unknown option 'workload'"),
        ({"durability": "powr"}, "did you mean 'power'?"),
        ({"journal": "4KiB"}, "expected at least 32768"),
        ({"nonsense": 1}, "unknown option 'nonsense'"),
    ],
)
def test_what_makes_no_drive_is_refused(
    tmp_path: Path, options: dict[str, object], said: str
) -> None:
    with pytest.raises(ConfigError, match=None) as refused:
        Device.create(tmp_path / "d", **{**SMALL, **options})  # type: ignore[arg-type]
    assert said in str(refused.value)
    assert not (tmp_path / "d").exists()


def test_bad_files_are_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Device.open(tmp_path / "none")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(DriveError, match="this is no drive"):
        Device.open(tmp_path / "text")
    Device.create(tmp_path / "d", **SMALL).close()
    with pytest.raises(FileExistsError):
        Device.create(tmp_path / "d", **SMALL)
    with open(tmp_path / "d", "r+b") as file:
        file.seek(16384)
        file.write(b"victim = 3")
    with pytest.raises(DriveError, match="configuration is damaged"):
        Device.open(tmp_path / "d")


def test_ranges_beyond_the_drive_are_refused(tmp_path: Path) -> None:
    with Device.create(tmp_path / "d", **SMALL) as drive:
        for ask in (
            lambda: drive.read(drive.size, 1),
            lambda: drive.write(drive.size - 1, b"xx"),
            lambda: drive.trim(2**63, PAGE),
            lambda: drive.hint(drive.size, PAGE),
        ):
            with pytest.raises(ValueError, match="are not on a drive of"):
                ask()
        assert drive.stat()["read_only"] is None
    with pytest.raises(ValueError, match="the drive is closed"):
        drive.read(0, 1)


def test_many_threads_write_at_once(tmp_path: Path) -> None:
    with Device.create(tmp_path / "d", **SMALL) as drive:
        each = drive.size // PAGE // 8

        def work(number: int) -> None:
            for round_ in range(4):
                for page in range(number * each, (number + 1) * each):
                    drive.write(page * PAGE, bytes([number + 10 * round_]) * PAGE)
                drive.stat()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(8):
            assert set(drive.read(number * each * PAGE, each * PAGE)) == {number + 30}


def test_the_control_socket_answers_as_the_drive_does(tmp_path: Path) -> None:
    with Device.create(tmp_path / "d", scheme="zgc-gd", **SMALL) as drive:
        drive.serve_control()
        drive.serves("a test")
        churn(drive, 4000)
        with Client(tmp_path / "d") as client:
            changing = ("uptime_seconds", "counters")
            seen, told = drive.stat(), client.stat()
            assert {k: v for k, v in seen.items() if k not in changing} == {
                k: v for k, v in told.items() if k not in changing
            }
            assert told["serving"] == ["a test"]
            assert client.blocks() == drive.blocks()
            assert sum(client.blocks().valid) == told["mapped_pages"]
            moment = client.moment()
            assert moment == drive.moment()
            drive.write(3 * PAGE, page_of(1))
            drive.write(9 * PAGE, page_of(2))
            assert client.hint([(3 * PAGE, PAGE), (9 * PAGE, 2 * PAGE)], moment) >= 2
            before = drive.stat()["counters"]["hinted_pages"]
            assert client.hint([(3 * PAGE, PAGE)]) == 0
            assert drive.stat()["counters"]["hinted_pages"] == before + 1
            drive.trim(11 * PAGE, PAGE)
            assert client.hinted([(3 * PAGE, PAGE), (11 * PAGE, PAGE)]) == (1, 1)
            assert client.hinted([(0, drive.size)]) == (
                drive.stat()["mapped_pages"], drive.stat()["zombie_pages"]
            )  # fmt: skip
            client.cancel([(3 * PAGE, PAGE)])
            assert client.hinted([(3 * PAGE, PAGE)]) == (1, 0)
            client.trim([(3 * PAGE, PAGE)])
            assert drive.read(3 * PAGE, PAGE) == bytes(PAGE)
            client.flush()
            with pytest.raises(DriveError, match="no recording goes on"):
                client.record(None)
            with pytest.raises(DriveError, match=r"ends in \.flashgc"):
                client.record(tmp_path / "x.csv")
            client.record(tmp_path / "x.flashgc")
            drive.write(0, page_of(3))
            assert client.record(None) == "recorded 1 requests"
            assert not drive.stopping
            client.stop()
            wait_until(lambda: drive.stopping)
    with pytest.raises(DriveError, match="no drive is served at"):
        Client(tmp_path / "d")


def test_other_machines_reach_nbd_only_where_that_was_asked_for(tmp_path: Path) -> None:
    with Device.create(tmp_path / "d", **SMALL) as drive:
        for address in ("0.0.0.0:0", "[::]:0"):
            with pytest.raises(ConfigError, match=r"for other machines too.*hint: 127"):
                drive.serve_nbd(address)
        # A listener that is already bound is checked, too.
        bound = _core.DeviceListener("0.0.0.0:0")
        with pytest.raises(ConfigError, match="for other machines too"):
            drive.serve_nbd("0.0.0.0:0", bound=bound)
        assert drive.serving == []
        assert drive.serve_nbd("127.0.0.1:0").startswith("nbd://127.0.0.1:")
        assert drive.serve_nbd("0.0.0.0:0", listen_anywhere=True).startswith("nbd://0.0.0.0:")


def test_nvme_is_served_here_and_elsewhere_only_where_that_was_asked_for(tmp_path: Path) -> None:
    with Device.create(tmp_path / "d", **SMALL) as drive:
        with pytest.raises(ConfigError, match=r"for other machines too.*hint: 127"):
            drive.serve_nvme_tcp("0.0.0.0:0")
        for wrong in ("unix:n", "4420", ":4420", "127.0.0.1:x"):
            with pytest.raises(ConfigError, match="is no address; hint: HOST:PORT"):
                drive.serve_nvme_tcp(wrong)
        assert drive.serving == []
        address, name = drive.serve_nvme_tcp("127.0.0.1:0")
        assert name == f"nqn.2014-08.org.nvmexpress:uuid:{drive.stat()['uuid']}"
        assert drive.serving == [f"nvme-tcp {address} {name}"]
        host, port = address.split(":")
        # ICReq: a header of 128 bytes, format 0, no digests. ICResp allows 128 KiB in a data PDU.
        with socket.create_connection((host, int(port)), timeout=10) as target:
            target.sendall(bytes([0, 0, 128, 0, 128]) + bytes(123))
            agreed = target.recv(128, socket.MSG_WAITALL)
        assert agreed[:16] == bytes([1, 0, 128, 0, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0])
        assert drive.serve_nvme_tcp("0.0.0.0:0", listen_anywhere=True)[0].startswith("0.0.0.0:")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=10)


def test_a_check_finds_damage_and_says_where(tmp_path: Path) -> None:
    with Device.create(tmp_path / "d", **SMALL) as drive:
        for page in range(100):
            drive.write(page * PAGE, page_of(page))
    data = (tmp_path / "d").read_bytes()
    at = data.index(page_of(41))
    with open(tmp_path / "d", "r+b") as file:
        file.seek(at + 77)
        file.write(b"x")
    command = [sys.executable, "-c", "from flashgc.command import main; main()", "device", "check"]
    done = subprocess.run(
        [*command, str(tmp_path / "d")], env=environment(), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "100 pages have data\n1 pages are damaged: 41\n"
    with Device.open(tmp_path / "d") as drive:
        with pytest.raises(DriveError, match="page 41: the data do not match their check sum"):
            drive.read(41 * PAGE, PAGE)
        assert drive.read(40 * PAGE, PAGE) == page_of(40)
        assert drive.stat()["smart"]["media_errors"] == 1
    assert os.path.getsize(tmp_path / "d") == len(data)


def test_a_check_says_how_far_it_is_and_stops_where_that_fails(tmp_path: Path) -> None:
    with Device.create(tmp_path / "d", **{**SMALL, "blocks": 256}) as drive:
        pages = drive.size // PAGE
        drive.write(0, page_of(1))
    told: list[tuple[int, int]] = []
    _core.device_check(tmp_path / "d", False, lambda *at: told.append(at))
    assert told == [(done, pages) for done in range(0, pages, 1024)]
    assert len(told) > 2

    def stop(done: int, _pages: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _core.device_check(tmp_path / "d", False, stop)


def test_elsewhere_than_on_linux_it_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(_core, "StoredDrive")
    with pytest.raises(DriveError, match="the stored drive needs Linux"):
        Device.create(tmp_path / "d", **SMALL)
    with pytest.raises(DriveError, match="the stored drive needs Linux"):
        Device.open(tmp_path / "d")
