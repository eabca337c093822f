"""Intervals between two samples of a drive's state, and the ring buffer that keeps them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from device.fake_drive import PAGE, FakeDrive
from flashgc import Device
from flashgc.device.history import Interval, Sampler
from flashgc.device.metrics import openmetrics
from flashgc.device.still import still
from flashgc.device.watch import overview
from flashgc.units import format_size


def test_an_interval_says_what_happened_in_it() -> None:
    drive = FakeDrive()
    drive.clock = 10.0
    drive.write(20_000)
    before = drive.stat()
    drive.clock, drive.slow = 12.0, 3.0
    drive.write(1_000)
    after = drive.stat()
    now = Interval.between(before, after)
    copied = after["counters"]["copied_pages"] - before["counters"]["copied_pages"]
    assert copied > 0
    assert now.seconds == 2
    assert now.host_written_bytes_per_second == 500 * PAGE
    assert now.flash_written_bytes_per_second == (1000 + copied) * PAGE / 2
    assert now.write_amplification == pytest.approx(1 + copied / 1000)
    # The lifetime mean has hardly changed; the mean of the interval is three times as long.
    assert now.write_us == pytest.approx(90)
    assert after["latency_us"]["write"]["mean"] < 33
    assert now.read_us is None


def test_all_figures_divide_by_the_bytes_that_hosts_wrote(tmp_path: Path) -> None:
    file = tmp_path / "drive.flash"
    with Device.create(str(file), capacity="64MiB", victim="greedy") as drive:
        before = {**drive.stat(), "file": str(file)}
        for page in range(2000):
            drive.write(page % 500 * 4096 + 512, b"d" * 512)
        after = {**drive.stat(), "file": str(file)}
        blocks = drive.blocks()
    assert after["counters"]["host_bytes_written"] == 2000 * 512
    assert after["counters"]["host_pages_written"] == 2000
    right = after["ocp"]["physical_media_units_written"] / (2000 * 512)
    assert right >= 8
    assert after["write_amplification"] == pytest.approx(right)
    assert Interval.between(before, after).write_amplification == pytest.approx(right)
    size, ratio = format_size(2000 * 512), f"{right:.3f}"
    for text in ("\n".join(overview(after)), still(after, blocks)):
        assert size in text
        assert ratio in text
    metrics = openmetrics(after)
    assert f"flashgc_drive_write_amplification_ratio {right:.12g}\n" in metrics
    assert "flashgc_drive_host_written_bytes_total 1024000\n" in metrics


def test_what_cannot_be_told_is_none() -> None:
    drive = FakeDrive()
    drive.clock = 10.0
    first = drive.stat()
    assert Interval.between(None, first) == Interval()
    assert Interval.between(first, {**first, "uuid": "another"}) == Interval()
    assert Interval.between(first, {**first, "uptime_seconds": 1.0}) == Interval(), "opened again"
    drive.clock = 11.0
    idle = Interval.between(first, drive.stat())
    assert (idle.host_written_bytes_per_second, idle.write_amplification) == (0, None)


def test_the_ring_is_bounded_and_numbers_go_on() -> None:
    drive = FakeDrive()
    sampler = Sampler(drive, keep=5)
    for _ in range(12):
        drive.write(10)
        sampler.look()
    assert [sample["number"] for sample in sampler.after(0)] == [8, 9, 10, 11, 12]
    assert [sample["number"] for sample in sampler.after(11)] == [12]
    assert sampler.after(12) == []


def test_a_drive_that_is_gone_for_a_while_is_looked_at_again() -> None:
    drive = FakeDrive()
    sampler = Sampler(drive)
    sampler.look()
    drive.gone = "closed"
    sampler.look()
    drive.gone = None
    sampler.look()
    first, back = sampler.after(0)
    assert back["number"] == first["number"] + 1
    assert back["seconds"] is None, "nobody knows what happened in between"


def test_it_samples_on_time_and_ends() -> None:
    sampler = Sampler(FakeDrive(), period=0.05)
    sampler.start()
    time.sleep(0.5)
    sampler.stop()
    taken = len(sampler.after(0))
    assert 3 <= taken <= 12
    time.sleep(0.1)
    assert len(sampler.after(0)) == taken
