"""Stored drives with parity: what users see of it, and drives that lose a die."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Command

import flashgc
from flashgc import ConfigError, Device, DriveError, _core
from flashgc.device.faults import in_words
from flashgc.device.options_of import options_of
from flashgc.device.watch import overview

PAGE = 4096
#: Two stripes of 4 dies with 2 planes: one superblock has 64 pages of parity and 192 of data.
STRIPED: dict[str, Any] = {
    "blocks": 16 * 20, "pages_per_block": 16, "superblock": "dies=8,planes=2", "parity": "1/4",
    "victim": "greedy", "spare": 0.25,
}  # fmt: skip


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Device]:
    with Device.create(tmp_path / "d", **STRIPED) as made:
        made.serve_control()
        yield made


def churn(drive: Device, writes: int) -> dict[int, bytes]:
    """Writes pages at random; returns what they hold."""
    draw, held = random.Random(5), {}
    for number in range(writes):
        page = draw.randrange(drive.size // PAGE)
        held[page] = number.to_bytes(8, "little") * (PAGE // 8)
        drive.write(page * PAGE, held[page])
    return held


def test_a_drive_without_a_die_returns_every_byte(drive: Device, command: Command) -> None:
    held = churn(drive, 12_000)
    made = command("device", "inject", "d", "lost-die", "--die", "5")
    assert (made.stdout, made.stderr) == ("fault 1: lost-die, die 5, until cleared\n", "")
    assert all(drive.read(page * PAGE, PAGE) == data for page, data in held.items())
    # One page in 8 is on the die; the last ones of open stripes wait in memory.
    stat = drive.stat()
    assert len(held) / 9 < stat["counters"]["rebuilt_pages_since_open"] < len(held) / 7
    assert stat["smart"]["media_errors"] == 0
    words = " ".join(" ".join(overview(stat)).split())
    assert "1/4 of the flash, amplification" in words
    assert "beside parity" in words
    drive.inject("lost-die", die=6)
    lost = 0
    for page, data in held.items():
        try:
            assert drive.read(page * PAGE, PAGE) == data
        except DriveError:
            lost += 1
    assert len(held) / 5 < lost < len(held) / 3
    assert drive.clear_faults(2) == 1
    assert all(drive.read(page * PAGE, PAGE) == data for page, data in held.items())
    assert in_words(drive.faults()[0]) == "fault 1: lost-die, die 5, until cleared"


def test_parity_is_programmed_and_counted(drive: Device) -> None:
    churn(drive, 12_000)
    stat = drive.stat()
    counters, ocp = stat["counters"], stat["ocp"]
    data = counters["host_pages_written"] + counters["copied_pages"]
    assert ocp["physical_media_units_written"] == (data + data // 3) * PAGE
    assert stat["write_amplification"] == pytest.approx(data / 12_000)
    assert stat["write_amplification_with_parity"] == pytest.approx(data / 12_000 * 4 / 3, rel=1e-4)
    assert stat["parity"] == "1/4"


def test_a_recording_of_a_drive_with_parity_replays_to_the_same_digits(tmp_path: Path) -> None:
    file, trace = tmp_path / "d", tmp_path / "d.flashgc"
    with Device.create(file, **STRIPED) as drive:
        drive.record(trace)
        churn(drive, 12_000)
        stat = drive.stat()
        drive.record(None)
    options = options_of(json.loads(_core.device_configuration(file)))
    assert (options["parity"], options["superblock"]) == ("1/4", "dies=8,planes=2")
    assert (options["blocks"], options["pages_per_block"]) == (320, 16)
    result = flashgc.run(str(trace), **options)
    assert result.copied_pages == stat["counters"]["copied_pages"]
    assert result.config.data_pages == 20 * 192


def test_what_no_drive_can_lose_is_refused(tmp_path: Path, drive: Device) -> None:
    for words, expected in (
        ({"die": 8}, "found die 8, expected 0 to 7"),
        ({}, "found no die, expected one"),
        ({"die": -1}, "found die -1, expected 0 to"),
        ({"die": 0, "count": 1}, "found a kind, a range or a number of commands"),
    ):
        with pytest.raises((ConfigError, DriveError), match=expected):
            drive.inject("lost-die", **words)
    with pytest.raises(ConfigError, match="fail: found a die, expected none"):
        drive.inject("fail", die=1)
    with (
        Device.create(tmp_path / "plain", blocks=64, pages_per_block=16) as plain,
        pytest.raises(DriveError, match="the drive has no parity; hint: make one"),
    ):
        plain.inject("lost-die", die=0)
    with pytest.raises(ConfigError, match=r"would lose 2 planes with it, .*; hint: parity"):
        Device.create(tmp_path / "parts", **{**STRIPED, "parity": "1/16"})


def test_a_check_says_what_parity_gives_back(command: Command, tmp_path: Path) -> None:
    with Device.create(tmp_path / "d", **STRIPED) as drive:
        held = churn(drive, 3000)
    found = command("device", "check", "d")
    assert found.stdout.splitlines()[1:] == ["all of them can be read, and both maps agree"]
    image = bytearray((tmp_path / "d").read_bytes())
    page = max(held)
    image[image.index(held[page]) + 9] ^= 1
    (tmp_path / "d").write_bytes(image)
    found = command("device", "check", "d")
    assert found.returncode == 1
    assert found.stdout.splitlines()[1:] == [
        f"1 pages are damaged, and given back by their parity: {page}",
        "1 page of parity that does not match what it covers",
        "all of them can be read, and both maps agree",
    ]
    report = json.loads(command("device", "check", "d", "--json").stdout)
    assert (report["rebuilt"], report["damaged"], report["parity_wrong"]) == ([page], [], 1)


def test_the_command_shows_the_parity_of_a_drive(command: Command) -> None:
    words = "--capacity 256MiB --pages-per-block 64 --superblock dies=8,planes=2 --parity 1/4"
    made = command("device", "create", "d", *words.split(), "--victim", "greedy")
    assert "64 superblocks of 16 blocks, 4 of them parity, of 64 pages of 4 KiB" in made.stdout
