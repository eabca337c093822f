"""Streams of writes, given by generators or by address."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.conftest import Command

import flashgc

DRIVE = {"blocks": 64, "pages_per_block": 16, "writes": "4x", "runs": 1}
SMALL = ("--blocks", "64", "--pages-per-block", "16", "--writes", "4x")


def test_streams_that_no_placement_heeds_change_nothing(tmp_path: Path) -> None:
    ranges = tmp_path / "streams.csv"
    ranges.write_text("0, 1048576, 3\n")
    plain = flashgc.run("zipf:read=0.2", **DRIVE)
    ranged = flashgc.run("zipf:read=0.2", streams=str(ranges), **DRIVE)
    named = flashgc.run("zipf:read=0.2,stream=7", **DRIVE)
    assert ranged.config.streams == str(ranges)
    assert plain.config.streams is None
    assert named.config.workload == plain.config.workload + ",stream=7"
    assert plain.write_amplification == ranged.write_amplification == named.write_amplification


def test_a_tenant_leaves_the_pages_of_the_other_alone() -> None:
    """A tenant that writes only half of the drive does not pay for the other half.

    The initial fill gives each block to one tenant, and blocks of the idle one are never
    collected. The rest is like a drive with half of the data and all spare blocks.
    """
    half = flashgc.run("uniform:to=0.5", victim="greedy", blocks=400, pages_per_block=32,
                       spare=0.1, writes="20x", warmup="50%", runs=1)  # fmt: skip
    # 400 blocks, of which 180 hold the idle half: 220 with a spare factor of 40 / 220.
    alone = flashgc.run("uniform", victim="greedy", blocks=220, pages_per_block=32,
                        spare=40 / 220, writes="40x", warmup="50%", runs=1)  # fmt: skip
    assert half.write_amplification == pytest.approx(alone.write_amplification, rel=0.02)


def test_what_cannot_be_read_or_carried_is_refused_in_a_line(
    command: Command, tmp_path: Path
) -> None:
    ranges = tmp_path / "streams.csv"
    for text, found in (
        ("0, 4096, 3\n5, 4, 0\n", ":2:4: found the end 4, expected one behind the start 5"),
        ("0, 4096, none\n", ":1:10: found 'none', expected a stream from 0 to 254"),
    ):
        ranges.write_text(text)
        done = command("run", *SMALL, "--streams", str(ranges))
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: {ranges}{found}; hint: a line is START, END, STREAM")
        assert done.stderr.count("\n") == 1
    ranges.write_text("0, 4096, 3\n")
    done = command("run", *SMALL, "--streams", str(ranges), "--mapping", "fast")
    assert done.stderr == (
        "error: --streams does not go with --mapping fast: its log blocks take the writes of all "
        "streams together; hint: --mapping page, or leave --streams out\n"
    )
    done = command("run", *SMALL, "--workload", "zipf:from=0.6,to=0.5")
    assert "--workload: zipf: found from=0.6 and to=0.5, expected from below to" in done.stderr


@pytest.mark.parametrize("kind", ["counting", "timed"])
def test_a_trace_that_names_streams_runs_as_one_whose_addresses_do(
    kind: str, tmp_path: Path
) -> None:
    """Every page is accessed, so addresses in the trace equal those on the drive."""
    draw = random.Random(7)
    pages, third = 720, 240 * 4096
    order = list(range(pages)) + [draw.randrange(pages) for _ in range(2000)]
    rows, plain = [], []
    for time, page in enumerate(order):
        at = 4096 * page
        line = f"{100 * time},W,{at},4096,0"
        rows.append(f"{line},{'short' if at < third else '7' if at < 2 * third else 'none'}")
        plain.append(line)
    header = "time_us,op,offset_bytes,size_bytes,dev"
    named, unnamed, ranges = (tmp_path / name for name in ("named.csv", "plain.csv", "ranges.csv"))
    named.write_text("\n".join([f"{header},stream", *rows]))
    unnamed.write_text("\n".join([header, *plain]))
    ranges.write_text(f"0, {third}, 1\n{third}, {2 * third}, 7\n")
    counting = {"frontier": "pool", "placement": "fdp:handles=8"}
    timed = {"times": "read=60us,program=800us,erase=1.5ms,transfer=20us"}
    where = {"pages_per_block": 16, "spare": 0.25, "runs": 1, "victim": "greedy", "kind": kind,
             **(counting if kind == "counting" else timed)}  # fmt: skip
    by_trace = flashgc.run(str(named), **where)
    by_address = flashgc.run(str(unnamed), streams=str(ranges), **where)
    assert [one.stream for one in by_trace.streams] == [1, 7, None]
    assert by_trace.streams == by_address.streams
    assert by_trace.fdp == by_address.fdp
    assert by_trace.write_amplification == by_address.write_amplification


def test_response_times_are_those_of_the_requests_of_the_stream(tmp_path: Path) -> None:
    """Requests that do not wait, on a drive of one die that has not been full yet.

    A page read takes 60 + 20 us, and a page write 20 + 800 us.
    """
    pages = 400
    rows = ["time_us,op,offset_bytes,size_bytes,dev,stream"]
    rows += [f"{10_000 * page},W,{4096 * page},4096,0," for page in range(pages)]
    sizes = {("W", 1): 1, ("W", 5): 2, ("R", 1): 3, ("R", 5): 1, ("R", None): 2}
    for number in range(200):
        (op, stream), size = list(sizes.items())[number % len(sizes)]
        at = 4096 * (3 * number % (pages - 3))
        rows.append(f"{10_000 * (pages + number)},{op},{at},{4096 * size},0,{stream or ''}")
    trace = tmp_path / "named.csv"
    trace.write_text("\n".join(rows))
    result = flashgc.run(
        str(trace), kind="timed", times="read=60us,program=800us,erase=1.5ms,transfer=20us",
        pages_per_block=16, spare=0.5, runs=1, victim="greedy", fill="empty", warmup="0",
    )  # fmt: skip
    assert result.erases == 0
    assert {one.stream: one.host_pages for one in result.streams} == {1: 40, 5: 80, None: pages}
    sides = {(one.stream, "R"): one.read_us for one in result.streams}
    sides |= {(one.stream, "W"): one.write_us for one in result.streams}
    found = {
        (stream, op): (times.requests, times.mean, times.max)
        for (stream, op), times in sides.items()
        if times is not None
    }
    assert found == {
        (stream, op): (40, size * us, size * us)
        for (op, stream), size in sizes.items()
        for us in [80.0 if op == "R" else 820.0]
        if stream is not None
    }


def test_streams_of_a_trace_are_counted_kept_and_refused_in_a_line(
    command: Command, tmp_path: Path
) -> None:
    source, copy, back = (tmp_path / name for name in ("a.csv", "b.flashgc.zst", "c.csv"))
    text = (
        "time_us,op,offset_bytes,size_bytes,dev,stream\n"
        "0.000,W,8192,10000,0,3\n1.000,R,28672,4096,0,0\n2.000,W,28672,512,0,\n"
    )
    source.write_text(text)
    flashgc.trace_convert(source, copy)
    flashgc.trace_convert(copy, back)
    assert back.read_text() == text
    one = flashgc.results.StreamStat
    counts = (one(0, 1, 0, 0), one(3, 1, 1, 10_000), one(None, 1, 1, 512))
    assert flashgc.trace_stat(copy).streams == counts
    table = command("trace", "stat", str(source)).stdout.splitlines()[-4:]
    assert [line.split() for line in table] == [
        ["stream", "requests", "writes", "written"],
        ["0", "1", "0", "0", "B"],
        ["3", "1", "1", "9.77", "KiB"],
        ["none", "1", "1", "512", "B"],
    ]
    source.write_text(text + "3.000,W,0,4096,0,255\n")
    done = command("trace", "stat", str(source))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: {source}:5:18: found '255', expected a stream from 0 to 254, nothing, or a write "
        "life time hint (none, not-set, short, medium, long or extreme); hint: --on-bad-line skip "
        "counts and skips such lines\n"
    )


@pytest.mark.parametrize("name", ["made.csv", "made.flashgc"])
def test_a_trace_that_is_made_has_the_streams_of_its_generators(tmp_path: Path, name: str) -> None:
    """The generators' ranges do not overlap, so the address of a request implies its stream."""
    made, rows = tmp_path / name, tmp_path / "rows.csv"
    workload = (
        "0.5*uniform:to=0.25,stream=3,read=0.3 + 0.3*zipf:from=0.25,to=0.5 + "
        "0.2*uniform:from=0.5,stream=9"
    )
    flashgc.trace_synth(workload, made, pages=400, requests=2000)
    flashgc.trace_convert(made, rows)
    head, *lines = rows.read_text().splitlines()
    assert head == "time_us,op,offset_bytes,size_bytes,dev,stream"
    found = set()
    for line in lines:
        _, op, offset, _, _, stream = line.split(",")
        quarter = int(offset) // (100 * 4096)
        assert stream == {0: "3", 1: ""}.get(quarter, "9")
        found.add((op, stream))
    assert len(lines) == 2000
    assert found == {("W", "3"), ("R", "3"), ("W", ""), ("W", "9")}
