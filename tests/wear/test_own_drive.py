"""Logs that our own drive gives a host of NVMe/TCP: the figures are those of the drive itself."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import spellings
from flashgc import Device
from flashgc.device.campaign.nvme import PAGE, Queue, connected
from flashgc.logs.compute import wear
from flashgc.logs.counts import Bytes, Range

BLOCKS, PAGES_A_BLOCK, SPARE = 60, 16, 0.25
SMART, OCP, FDP = 0x02, 0xC0, 0x22
BEGIN, HOUR = 1_700_000_000, 3600
PARTS = 4


def page(admin: Queue, number: int, size: int) -> bytes:
    """A log page, as ``nvme get-log`` reads it; statistics of placement are of a group."""
    group = 1 << 16 if number == FDP else 0
    return admin.call(0x02, 0, (number | (size // 4 - 1) << 16, group), given=size)[1]


def printed(pages: dict[int, bytes], version: int) -> list[Any]:
    """The JSON that nvme-cli prints for these pages, written here from their layouts."""

    def number(log: int, first: int, size: int = 16) -> int:
        return int.from_bytes(pages[log][first : first + size], "little")

    smart = spellings.smart(
        number(SMART, 48),
        hours=number(SMART, 128),
        used=pages[SMART][5],
        commands=number(SMART, 80),
    )
    ocp = (spellings.ocp_1, spellings.ocp_2)[version - 1](
        number(OCP, 0), erases=(number(OCP, 92, 4), 0, number(OCP, 88, 4))
    )
    return [smart, ocp, *([spellings.fdp(number(FDP, 0), number(FDP, 16))] if FDP in pages else [])]


class Lived:
    """A drive that worked: its pages at several times, and its own counts at these times."""

    def __init__(self, folder: Path, placement: str) -> None:
        options: dict[str, Any] = {
            "blocks": BLOCKS,
            "pages_per_block": PAGES_A_BLOCK,
            "spare": SPARE,
        }
        self.pages: list[dict[int, bytes]] = []
        self.stats: list[dict[str, Any]] = []
        with (
            Device.create(folder / "drive", placement=placement, **options) as drive,
            connected(*drive.serve_nvme_tcp("127.0.0.1:0")) as (admin, queue),
        ):
            self.identity = admin.call(0x06, 0, (1,), given=4096)[1]
            draw, pages = random.Random(1), int(BLOCKS * PAGES_A_BLOCK * (1 - SPARE))
            for _ in range(PARTS):
                for _ in range(1500):
                    queue.call(0x01, 1, (draw.randrange(pages), 0, 0), bytes(PAGE))
                sizes = {SMART: 512, OCP: 512, **({FDP: 64} if placement != "none" else {})}
                self.pages.append({log: page(admin, log, size) for log, size in sizes.items()})
                self.stats.append(drive.stat())

    def written(self, part: int, key: str) -> int:
        """Pages of the host or of copies since the first log."""
        return int(self.stats[part]["counters"][key] - self.stats[0]["counters"][key])

    def host_bytes(self, part: int) -> int:
        """Bytes that the host wrote since the first log."""
        return self.written(part, "host_pages_written") * PAGE

    def media_bytes(self, part: int) -> int:
        """Bytes that were programmed since the first log, copies included."""
        return self.host_bytes(part) + self.written(part, "copied_pages") * PAGE


@pytest.fixture(scope="module", params=["none", "fdp:handles=2"])
def lived(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lived:
    return Lived(tmp_path_factory.mktemp("drive"), request.param)


#: All tests of this module run in one process, so that the drives live once.
pytestmark = pytest.mark.xdist_group(__name__)


@pytest.mark.parametrize("spelling", ["raw", "json 1", "json 2"])
def test_figures_are_those_of_the_drive(lived: Lived, spelling: str, tmp_path: Path) -> None:
    arguments = []
    for part, pages in enumerate(lived.pages):
        logs = [*pages.values()] if spelling == "raw" else printed(pages, int(spelling[-1]))
        for at, log in enumerate([*logs, lived.identity]):
            file = tmp_path / f"{part}-{at}"
            file.write_bytes(spellings.content(log))
            arguments.append(f"{file}={BEGIN + part * HOUR}")
    outcome = wear(*arguments)
    last = PARTS - 1
    assert lived.written(last, "copied_pages") > 0
    # Flash: exact. Host: exact to the unit, and the true number is in the range.
    assert outcome.media is not None
    assert outcome.media.interval is not None
    assert outcome.media.interval.value == lived.media_bytes(last)
    assert outcome.media.interval.low == outcome.media.interval.high == lived.media_bytes(last)
    assert outcome.host is not None
    assert outcome.host.interval is not None
    units = [stat["smart"]["data_units_written"] for stat in (lived.stats[0], lived.stats[last])]
    assert outcome.host.interval.value == (units[1] - units[0]) * 512_000
    assert outcome.host.interval.low <= lived.host_bytes(last) <= outcome.host.interval.high
    # Amplification, from log to log and of the whole: the true ratio is in every range.
    truths = [Fraction(lived.media_bytes(last), lived.host_bytes(last))]
    ranges: list[Range | None] = [each.interval for each in outcome.amplifications]
    for found in ranges:
        assert found is not None
        assert Fraction(found.low) <= truths[0]
        assert found.high is not None
        assert truths[0] <= Fraction(found.high)
    for part, step in enumerate(outcome.steps):
        host = lived.host_bytes(part + 1) - lived.host_bytes(part)
        media = lived.media_bytes(part + 1) - lived.media_bytes(part)
        assert step.media_bytes == media
        assert step.amplification is not None
        assert step.amplification.high is not None
        assert step.amplification.low <= media / host <= step.amplification.high
    if FDP in lived.pages[0]:  # Bytes on both sides: nothing is rounded.
        found = outcome.amplifications[0].interval
        assert found is not None
        assert found.is_exact
        assert found.value == float(truths[0])
    erases = lived.stats[last]["ocp"]
    assert outcome.erases is not None
    assert outcome.erases.most == erases["user_data_erase_count_max"]
    assert outcome.erases.least == erases["user_data_erase_count_min"]
    assert outcome.serial == lived.identity[4:24].decode().strip()
    assert outcome.capacity_bytes == int(BLOCKS * PAGES_A_BLOCK * (1 - SPARE)) * PAGE
    day = outcome.drive_writes_a_day
    assert day is not None
    assert day.high is not None
    exact = lived.host_bytes(last) / outcome.capacity_bytes / (last * HOUR / 86_400)
    assert day.low <= exact <= day.high


def test_the_state_of_a_drive_is_a_log_of_exact_bytes(lived: Lived, tmp_path: Path) -> None:
    """``flashgc device stat --json`` has bytes, where the log pages have units."""
    for part in (0, 1):
        (tmp_path / f"{part}").write_bytes(spellings.content(lived.stats[part]))
    outcome = wear(f"{tmp_path}/0={BEGIN}", f"{tmp_path}/1={BEGIN + HOUR}")
    host, media = lived.host_bytes(1), lived.media_bytes(1)
    assert outcome.host is not None
    assert outcome.host.interval == Bytes(host, host, host)
    assert outcome.media is not None
    assert outcome.media.interval == Bytes(media, media, media)
    assert outcome.amplification is not None
    assert outcome.amplification.value == media / host
    assert outcome.amplification.is_exact
