"""Presets of whole drives: their sizes, and rates that they were not fitted to."""

from __future__ import annotations

import math
from typing import Any

import pytest

import flashgc
from conftest import Command
from flashgc.command.output import memory_note, say_memory
from flashgc.presets import devices
from flashgc.units import format_size

#: Terabytes and mapping units in data sheets, and megabytes a second that a die programs in papers
#: on its flash.
SHEETS = {
    "samsung-pm9a3": (7.68, 4096, 82),
    "samsung-pm9d3a": (7.68, 4096, 164),
    "solidigm-p5336": (61.44, 16384, 40),
    "kingston-nv2": (1.0, 4096, None),
}
#: The drives that take --scale, with the smallest scale of each.
SMALLEST = {"samsung-pm9a3": "1/512", "samsung-pm9d3a": "1/704", "solidigm-p5336": "1/576"}
DEVICES = {device.name: device for device in devices()}
SEQUENTIAL: dict[str, Any] = {
    "request_size": "128KiB",
    "arrivals": "closed:threads=512",
    "queue_depth": 512,
}
RANDOM: dict[str, Any] = {
    "request_size": "4KiB",
    "arrivals": "closed:threads=4096",
    "queue_depth": 4096,
}
#: 1/64 of the drive: its blocks and the part of its map in memory are 64 times as small.
SMALL_NV2: dict[str, Any] = {
    "kind": "timed",
    "device": "kingston-nv2",
    "capacity": "16GiB",
    "pages_per_block": 24,
    "mapping": "dftl:entries=262144,fetch=1024,blocks=own",
}


def test_every_preset_with_superblocks_is_here() -> None:
    assert SHEETS.keys() == {
        name for name, device in DEVICES.items() if "superblock" in device.values["drive"]
    }


@pytest.mark.parametrize("name", SHEETS)
def test_the_spare_factor_and_the_program_time_follow_from_the_sheets(name: str) -> None:
    terabytes, unit, die_rate = SHEETS[name]
    drive: Any = DEVICES[name].values["drive"]
    tebibytes = int(drive["capacity"].removesuffix("TiB"))
    stripe = int(drive["parity"].removeprefix("1/")) if "parity" in drive else math.inf
    spare = 1 - terabytes * 1e12 / (tebibytes * 2**40 * (1 - 1 / stripe))
    assert math.isclose(float(drive["spare"].removesuffix("%")), 100 * spare, abs_tol=0.01)
    assert drive["page_size"] == "16KiB"
    assert unit == (4096 if "mapping_unit" in drive else 16384)
    if die_rate is not None:
        times = dict(part.split("=") for part in drive["times"].split(","))
        pages = {"one-shot": 3, "one-shot:pages=4": 4}[drive["program"]]
        word_line = pages * drive["planes"] * 16384
        assert math.isclose(
            float(times["program"].removesuffix("ms")), word_line / die_rate / 1000, rel_tol=0.01
        )


@pytest.mark.parametrize(("name", "scale"), SMALLEST.items())
def test_the_smallest_scale_has_the_shares_of_the_drive(name: str, scale: str) -> None:
    drive: Any = DEVICES[name].values["drive"]
    streams = ":stream=0" if "placement" in DEVICES[name].values["gc"] else ""
    result = flashgc.run(
        f"uniform{streams}", kind="timed", device=name, scale=scale, requests=2000, warmup="0"
    )
    assert result.digest
    scaled = result.config.scaled
    assert scaled is not None
    tebibytes = int(drive["capacity"].removesuffix("TiB"))
    # Whole superblocks are a little less than the capacity.
    assert 0.99 < scaled.bytes / (tebibytes << 40) <= 1
    assert scaled.change < 0.01
    assert result.config.blocks == scaled.blocks
    assert math.isclose(result.config.spare, float(drive["spare"].removesuffix("%")) / 100)


def rates(name: str, scale: str, sequential: int, random: int) -> tuple[float, float, float]:
    """The sequential and the random write rate, and units programmed for a unit of the host."""
    common: dict[str, Any] = {"kind": "timed", "device": name, "scale": scale}
    fast = flashgc.run("sequential", warmup="1x", requests=sequential, **SEQUENTIAL, **common)
    slow = flashgc.run("uniform", fill="random", warmup="0.5x", requests=random, **RANDOM, **common)
    assert fast.timing is not None
    assert slow.timing is not None
    assert fast.write_amplification == 1
    return (
        fast.timing.throughput.write_bytes_per_second,
        slow.timing.throughput.write_bytes_per_second,
        slow.page_amplification,
    )


@pytest.mark.parametrize(
    # The PM9A3 has two groups of dies, which wait at the ends of small superblocks. At 1/16 it is
    # within 3%.
    ("name", "published", "numbers", "tolerance"),
    [
        ("solidigm-p5336", 3.3e9, (8000, 30_000), 0.03),
        ("samsung-pm9a3", 3.5e9, (8000, 100_000), 0.1),
    ],
)
def test_sequential_over_random_is_amplification_times_the_unit(
    name: str, published: float, numbers: tuple[int, int], tolerance: float
) -> None:
    fast, slow, amplification = rates(name, SMALLEST[name], *numbers)
    # The drive is fitted to this rate, and not to the ratio.
    assert math.isclose(fast, published, rel_tol=0.02)
    _, unit, _ = SHEETS[name]
    assert math.isclose(fast / slow, amplification * unit / 4096, rel_tol=tolerance)


def test_a_consumer_drive_has_two_cliffs() -> None:
    burst = flashgc.run(
        "sequential", fill="empty", warmup="0", request_size="1MiB", requests=14_800,
        arrivals="closed:threads=8", resolution="50ms", **SMALL_NV2,
    )  # fmt: skip
    assert burst.timing is not None
    assert burst.timing.slc is not None
    # Fitted: the region takes 88 GB of the whole drive, and the rates before and after it.
    assert math.isclose(burst.timing.slc.host_pages * 4096 * 64, 88e9, rel_tol=0.01)
    rate = burst.timing.over_time.write.bytes_per_second
    cliff = next(index for index, part in enumerate(rate) if part < 1.5e9)
    full = next(index for index, part in enumerate(rate) if index > cliff and part < 450e6)
    parts = (rate[:cliff], rate[cliff + 1 : full], rate[full + 1 : -1])
    before, after, folding = (sum(part) / len(part) for part in parts)
    assert math.isclose(before, 2.8e9, rel_tol=0.05)
    assert math.isclose(after, 600e6, rel_tol=0.05)
    # The region's 88 GB lie in the flash of three times as much until they are folded.
    assert math.isclose(sum(rate[:full]) * 0.05 * 64, 2**40 - 2 * 88e9, rel_tol=0.01)
    # Nobody fitted this: TechPowerUp measured about 400 MB/s.
    assert math.isclose(folding, 400e6, rel_tol=0.16)


#: A run of one drive write after two others, in the words of a configuration.
RUN = {"workload": "uniform", "length": {"writes": "1x"}, "warmup": "2x", "runs": 1}


def test_a_whole_drive_says_its_memory_and_time_and_names_the_scale() -> None:
    whole = {**RUN, "page_size": 4096, "scale": "1", "timed": None}
    note = memory_note({**whole, "capacity": 8 << 40, "mapping_unit": 4096, "page_size": 16384})
    assert note is not None
    assert format_size(16 << 30) in note
    # Three drive writes of 2^31 units, at 10 M a second, are 644 s.
    assert "roughly 10 minutes of one core" in note
    assert "--scale 1/64" in note
    # With a clock, the writes before it take no longer than without; the others take 4295 s.
    timed = memory_note({**whole, "capacity": 8 << 40, "timed": {}})
    assert timed is not None
    assert "roughly 1 hour of one core" in timed
    assert memory_note({**whole, "capacity": 8 << 40, "scale": "1/64"}) is None
    blocks = {**whole, "blocks": 1 << 20}
    assert memory_note({**blocks, "pages_per_block": 256}) is None
    assert memory_note({**blocks, "pages_per_block": 512}) is not None


def test_the_memory_of_several_drives_is_said_once_for_each_size(
    capsys: pytest.CaptureFixture[str],
) -> None:
    large = {**RUN, "capacity": 8 << 40, "page_size": 16384, "scale": "1"}
    small = {**large, "capacity": 8 << 30}
    configs = [large, small, {**large, "victim": "fifo"}, {**large, "capacity": 16 << 40}]
    say_memory(configs, quiet=True)
    assert capsys.readouterr().err == ""
    say_memory(configs, quiet=False)
    notes = capsys.readouterr().err.splitlines()
    assert [note.split(" takes ")[0] for note in notes] == [
        f"note: a drive of {format_size(size << 40)}" for size in (8, 16)
    ]


def test_a_drive_with_too_many_pages_names_the_scale(command: Command) -> None:
    refused = command("run", "--drive", "timed", "--device", "solidigm-p5336", "--quiet")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "page numbers have 32 bits; hint: --scale 1/64" in refused.stderr
