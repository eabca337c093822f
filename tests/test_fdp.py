"""Streams of writes: the costs of each, handles of FDP, and equal counts on every drive."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path

import pytest
from tests.conftest import Command

import flashgc
from flashgc import ConfigError, Device
from flashgc.results import Result

#: Two tenants that write their parts in order; the first writes its smaller part more often.
RINGS = "0.5*sequential:to=0.2,stream=0 + 0.5*sequential:from=0.2,stream=1"
DRIVE = {
    "blocks": 300,
    "pages_per_block": 32,
    "spare": 0.15,
    "victim": "greedy",
    "frontier": "pool",
    "writes": "8x",
}


def run(workload: str = RINGS, **options: object) -> Result:
    return flashgc.run(workload, **{**DRIVE, **options})


def test_streams_share_the_counts_of_the_drive() -> None:
    result = run()
    assert [one.stream for one in result.streams] == [0, 1]
    assert sum(one.host_pages for one in result.streams) == result.host_pages
    assert sum(one.copied_pages for one in result.streams) == result.copied_pages
    for one in result.streams:
        expected = (one.host_pages + one.copied_pages) / one.host_pages
        assert one.write_amplification == expected
    first, second = result.streams
    assert (first.write_amplification or 0) < 1.05
    assert (second.write_amplification or 0) > 2
    assert result.fdp is None
    # Counts by stream do not affect decisions.
    unnamed = run(RINGS.replace(",stream=0", "").replace(",stream=1", ""))
    assert unnamed.streams == ()
    assert unnamed.write_amplification == result.write_amplification
    assert (unnamed.erases, unnamed.copied_pages) == (result.erases, result.copied_pages)


def test_aligned_lifetimes_need_no_copies() -> None:
    result = run(placement="fdp:handles=2")
    assert (result.copied_pages, result.write_amplification) == (0, 1.0)
    assert result.fdp is not None
    written = result.host_pages * 4096
    assert result.fdp.host_bytes_with_metadata_written == written
    assert result.fdp.media_bytes_with_metadata_written == written
    assert result.fdp.media_bytes_erased == result.erases * 32 * 4096
    assert result.fdp.events.media_reallocated == 0


def test_a_stream_that_is_no_handle_goes_to_handle_0_and_is_an_event() -> None:
    result = run(
        "0.4*uniform:stream=0 + 0.5*uniform:stream=7 + 0.1*uniform", placement="fdp:handles=3"
    )
    assert result.fdp is not None
    by_stream = {one.stream: one for one in result.streams}
    assert set(by_stream) == {0, 7, None}
    assert result.fdp.events.invalid_placement_identifier == by_stream[7].host_pages
    first, second, third = result.fdp.handles
    assert (second.host_pages, third.host_pages) == (0, 0)
    assert first.host_pages == result.host_pages
    assert first.copied_pages == result.copied_pages
    assert second.write_amplification is None
    # Every collected reclaim unit held valid data.
    assert result.fdp.events.media_reallocated == result.collections


@pytest.mark.parametrize("kind", ["counting", "timed"])
def test_streams_that_no_write_has_and_those_that_are_no_handle_are_said(
    kind: str, tmp_path: Path
) -> None:
    """JSON has the finding, too. There is no finding if every stream has writes and a handle."""
    table = tmp_path / "streams.csv"
    timed = {"frontier": None, "writes": None, "requests": 3000}
    timed |= {"times": "read=60us,program=800us,erase=1.5ms,transfer=20us", "warmup": "1x"}
    more = {"streams": str(table), "kind": kind, **(timed if kind == "timed" else {})}
    offered = run().config.logical_pages * 4096
    texts = {
        f"0, {offered}, 1": [],
        f"0, {offered}, 1\n{offered}, {2 * offered}, 2\n0, 4096, 60\n": [
            f'no write of the measured part has streams 2, 60 of streams="{table}"; hint: its '
            f"ranges are in bytes, and the drive has {offered}"
        ],
        f"{offered}, {offered + 1}, 1": [
            f'no write of the measured part has stream 1 of streams="{table}"; hint: its '
            f"ranges are in bytes, and the drive has {offered}"
        ],
    }
    for lines, expected in texts.items():
        table.write_text(lines)
        result = run("uniform", placement="fdp:handles=2", **more)
        about = [one for one in result.findings if "stream" in one.id]
        assert [one.text for one in about] == expected
        said = [one["id"] for one in json.loads(result.to_json())["findings"]]
        assert [one for one in said if "stream" in one] == [one.id for one in about]
    table.write_text(f"0, {offered // 2}, 2\n0, {offered}, 200\n")
    result = run("uniform", placement="fdp:handles=2", **more)
    assert [text for text in result.warnings if "stream" in text] == [
        f"{result.host_pages} page writes of streams 2, 200 went to handle 0, because the "
        "drive has no handle for them; hint: its handles are streams 0 to 1; "
        'placement="fdp:handles=N" sets their number'
    ]


def test_persistent_handles_are_those_below_the_number() -> None:
    result = run(
        "0.5*uniform:stream=0 + 0.5*uniform:stream=1", placement="fdp:handles=3,persistent=1"
    )
    assert result.fdp is not None
    assert [one.persistently_isolated for one in result.fdp.handles] == [True, False, False]


def test_streams_by_address_are_those_of_the_workload(tmp_path: Path) -> None:
    table = tmp_path / "streams.csv"
    # The parts of the workload: the first is a fifth of the logical pages.
    border = round(0.2 * run().config.logical_pages) * 4096
    table.write_text(f"0, {border}, 0\n{border}, {1 << 40}, 1\n")
    unnamed = RINGS.replace(",stream=0", "").replace(",stream=1", "")
    named, by_address = (
        run(workload, placement="fdp:handles=2", streams=streams)
        for workload, streams in ((RINGS, None), (unnamed, str(table)))
    )
    assert by_address.streams == named.streams
    assert by_address.fdp == named.fdp


def test_a_drive_with_a_clock_has_response_times_of_each_stream() -> None:
    result = flashgc.run(
        "0.5*sequential:to=0.3,stream=0,read=0.5 + 0.5*uniform:from=0.3,stream=4",
        kind="timed", device="tlc", blocks=1600, pages_per_block=32, spare=0.2, victim="greedy",
        placement="fdp:handles=5", requests=20_000,
    )  # fmt: skip
    by_stream = {one.stream: one for one in result.streams}
    reader, writer = by_stream[0], by_stream[4]
    assert reader.read_us is not None
    assert reader.write_us is not None
    assert (writer.read_us, writer.write_us is None) == (None, False)
    assert result.timing is not None
    reads, writes = result.timing.latency_us.read, result.timing.latency_us.write
    assert reads is not None
    assert writes is not None
    assert reader.read_us.requests == reads.requests
    assert reader.write_us.requests + writer.write_us.requests == writes.requests  # type: ignore[union-attr]


def test_a_drive_with_a_clock_sorts_and_counts_as_one_without(tmp_path: Path) -> None:
    """With one die and one request at a time, the timed drive makes equal decisions."""
    trace = tmp_path / "made.flashgc"
    workload = "0.5*hotcold:stream=0,to=0.5 + 0.3*uniform:from=0.5,stream=1 + 0.2*uniform:stream=7"
    flashgc.trace_synth(workload, trace, pages=1300, requests=15_000)
    drive = {
        "blocks": 120, "pages_per_block": 16, "spare": 0.3, "victim": "greedy", "fill": "empty",
        "placement": "fdp:handles=3,persistent=1", "numbering": "given", "warmup": "0", "runs": 1,
    }  # fmt: skip
    counting = flashgc.run(str(trace), frontier="pool:low=2", passes=1, **drive)
    timed = flashgc.run(
        str(trace), kind="timed", arrivals="closed:threads=1",
        times="read=60us,program=800us,erase=3ms,transfer=20us", **drive,
    )  # fmt: skip
    plain = [dataclasses.replace(one, read_us=None, write_us=None) for one in timed.streams]
    assert [one.stream for one in plain] == [0, 1, 7]
    assert all(one.host_pages > 2000 and one.copied_pages > 1000 for one in plain)
    assert plain == list(counting.streams)
    assert timed.fdp == counting.fdp


def test_a_stored_drive_takes_streams_by_address_and_its_recording_replays(tmp_path: Path) -> None:
    table, trace = tmp_path / "streams.csv", tmp_path / "drive.flashgc"
    table.write_text("0, 400000, 0\n400000, 100000000, 1\n")
    options = {"blocks": 64, "pages_per_block": 32, "spare": "25%"}
    draw = random.Random(3)
    with Device.create(
        tmp_path / "d.flash",
        placement="fdp:handles=2",
        streams=str(table),
        victim="greedy",
        **options,
    ) as drive:
        drive.record(trace)
        pages = drive.size // 4096
        for number in range(12_000):
            page = number % 98 if number % 2 else draw.randrange(98, pages)
            drive.write(page * 4096, number.to_bytes(8, "little") * 512)
        drive.record(None)
        stat = drive.stat()
    # The drive keeps the table, so the file may be removed.
    table.rename(tmp_path / "moved.csv")
    with Device.open(tmp_path / "d.flash") as drive:
        assert drive.stat()["streams"] == stat["streams"]
        assert drive.stat()["fdp"] == stat["fdp"]
    result = flashgc.run(
        str(trace), victim="greedy", frontier="pool:low=2", placement="fdp:handles=2",
        streams=str(tmp_path / "moved.csv"), fill="empty", numbering="given", warmup="0", passes=1,
        runs=1, **options,
    )  # fmt: skip
    shown = [
        {
            "stream": one.stream, "host_pages": one.host_pages, "copied_pages": one.copied_pages,
            "write_amplification": one.write_amplification,
        }
        for one in result.streams
    ]  # fmt: skip
    assert shown == stat["streams"]
    assert result.fdp is not None
    events = stat["fdp"]["events"]
    assert result.fdp.events.media_reallocated == events["media_reallocated"] > 10
    assert (
        result.fdp.media_bytes_with_metadata_written
        == stat["fdp"]["media_bytes_with_metadata_written"]
    )
    assert result.fdp.media_bytes_erased == stat["fdp"]["media_bytes_erased"]


def test_a_stored_drive_refuses_streams_that_none_of_its_bytes_has(tmp_path: Path) -> None:
    table = tmp_path / "streams.csv"
    options = {"blocks": 64, "pages_per_block": 32, "spare": "25%", "streams": str(table)}
    offered = 64 * 32 * 3 // 4 * 4096
    table.write_text(f"{offered}, {1 << 40}, 1\n{1 << 30}, {1 << 40}, 2\n")
    with pytest.raises(ConfigError) as error:
        Device.create(tmp_path / "d.flash", **options)
    assert str(error.value).endswith(
        f"the ranges of streams begin at byte {offered}, behind the drive's end; hint: they are "
        f"bytes of the drive, which offers {offered}"
    )
    assert not (tmp_path / "d.flash").exists()
    table.write_text(f"{1 << 30}, {1 << 40}, 2\n{offered - 1}, {1 << 40}, 1\n")
    with Device.create(tmp_path / "d.flash", **options) as drive:
        assert drive.size == offered


def test_the_command_shows_streams_and_the_log(command: Command) -> None:
    done = command(
        "run", "--workload", RINGS, "--blocks", "300", "--pages-per-block", "32", "--spare", "15%",
        "--frontier", "pool", "--victim", "greedy", "--placement", "fdp:handles=2",
        "--writes", "8x",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("stream "))
    assert lines[at].split() == ["stream", "host", "pages", "copied", "WA"]
    assert lines[at + 1].split()[0] == "0"
    assert lines[at + 1].split()[-2:] == ["0", "1.000"]
    assert any(line.startswith("FDP log     HBMW ") for line in lines)


@pytest.mark.parametrize(
    ("workload", "options", "said"),
    [
        ("uniform", {"placement": "fdp"}, "needs writes with streams, and the workload has none"),
        (RINGS, {"placement": "fdp:handles=65"}, "handles=65 is not a whole number from 1 to 64"),
        (
            RINGS,
            {"placement": "fdp:handles=2,persistent=5"},
            "found persistent=5 and handles=2, expected at most as many persistently isolated "
            "handles as handles; hint: persistent=2 isolates all of them",
        ),
        (
            RINGS,
            {"placement": "fdp:handles=64,groups=4"},
            "found handles=64 and groups=4, expected at most 254 placement identifiers, one a "
            "stream; hint: groups=3",
        ),
        (
            RINGS,
            {"placement": "fdp:handles=60"},
            'hint: spare="21%", or more blocks',
        ),
        (
            RINGS,
            {"mapping": "fast", "victim": None, "frontier": None},
            'which do not go with mapping="fast": ',
        ),
        ("uniform:stream=255", {}, "stream=255"),
        ("uniform", {"streams": "missing.csv"}, "missing.csv: cannot read the ranges of streams"),
    ],
)
def test_bad_streams_are_said_in_one_line(
    workload: str, options: dict[str, object], said: str
) -> None:
    with pytest.raises((ConfigError, flashgc.FlashgcError)) as error:
        run(workload, **options)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert "hint: " in str(error.value)


def test_the_least_spare_factor_that_is_named_works() -> None:
    result = run(placement="fdp:handles=60", spare=0.21)
    assert result.fdp is not None
    assert len(result.fdp.handles) == 60


def test_results_go_to_json_and_back() -> None:
    result = run(placement="fdp:handles=2")
    again = Result.from_dict(json.loads(result.to_json()))
    assert (again.streams, again.fdp) == (result.streams, result.fdp)
