"""Intervals between two looks at a drive, and the ring that keeps them."""

from __future__ import annotations

import time

import pytest

from device.fake_drive import PAGE, FakeDrive
from flashgc.device.history import Interval, Sampler


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
    # The mean over the drive's life has hardly moved; that of the interval is three times as long.
    assert now.write_us == pytest.approx(90)
    assert after["latency_us"]["write"]["mean"] < 33
    assert now.read_us is None


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
