"""NVMe/TCP: the placement identifiers of a host's writes reach the drive and its recording."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import flashgc
from flashgc import Device, _core
from flashgc.device.campaign.nvme import PAGE, connected
from flashgc.device.options_of import options_of


@pytest.mark.parametrize("placement", ["none", "fdp:handles=3,persistent=1"])
def test_identifiers_of_a_host_are_the_streams_of_the_counting_drive(
    tmp_path: Path, placement: str
) -> None:
    takes = placement != "none"
    file, trace = tmp_path / "drive", tmp_path / "run.flashgc"
    made: dict[str, Any] = {"blocks": 60, "pages_per_block": 16, "spare": 0.25, "victim": "greedy"}
    with Device.create(file, placement=placement, **made) as drive:
        drive.record(trace)
        with connected(*drive.serve_nvme_tcp("127.0.0.1:0")) as (admin, queue):
            _, controller = admin.call(0x06, 0, (1,), given=4096)
            attributes, commands = controller[96:100], controller[256:258]
            assert int.from_bytes(attributes, "little") >> 19 & 1 == takes
            assert int.from_bytes(commands, "little") >> 5 & 1 == takes
            draw, pages = random.Random(1), int(60 * 16 * 0.75)
            for _ in range(4000):
                page, handle = draw.randrange(pages), draw.randrange(4)
                directive = 2 << 20 if takes else 0
                queue.call(0x01, 1, (page, 0, directive, handle << 16), bytes([handle]) * PAGE)
            if takes:
                _, log = admin.call(0x02, 0, (0x22 | 15 << 16, 1 << 16), given=64)
                counts = [int.from_bytes(log[at : at + 16], "little") for at in (0, 16, 32)]
        drive.record(None)
        stat = drive.stat()
    result = flashgc.run(str(trace), **options_of(json.loads(_core.device_configuration(file))))
    assert result.copied_pages == stat["counters"]["copied_pages"] > 0
    if not takes:
        assert stat["fdp"] is None
        return
    keys = ("host_bytes_with_metadata_written", "media_bytes_with_metadata_written")
    assert counts == [*(stat["fdp"][key] for key in keys), stat["fdp"]["media_bytes_erased"]]
    # Handle 3 does not exist.
    wrong = stat["fdp"]["events"]["invalid_placement_identifier"]
    assert 900 < wrong < 1100
    assert result.fdp is not None
    assert result.fdp.events.invalid_placement_identifier == wrong
    each = [one["copied_pages"] for one in stat["fdp"]["handles"]]
    assert [one.copied_pages for one in result.fdp.handles] == each
