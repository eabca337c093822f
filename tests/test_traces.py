"""Options for reading traces, in Python and the command: devices, actions, relation tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import flashgc
from conftest import Command

#: Events of a request on each of two devices. The elevator enlarged the first before its issue.
BLKPARSE = """\
8,0 1 1 0.000001 9 Q W 16 + 8 [x]
8,0 1 2 0.000002 9 D W 16 + 16 [x]
8,0 1 3 0.000003 9 C W 16 + 16 [0]
8,16 1 4 0.000004 9 Q W 64 + 32 [x]
8,16 1 5 0.000005 9 D W 64 + 32 [x]
"""

WAL = """\
rmgr: Heap desc: INSERT off 1, blkref #0: rel 1663/5/9 blk 0
rmgr: Transaction desc: COMMIT 2022-12-01 10:00:00.000001 UTC
rmgr: Heap desc: INSERT off 2, blkref #0: rel 1663/5/9 blk 1
rmgr: Transaction desc: COMMIT 2022-12-01 10:00:00.250001 UTC
rmgr: Heap desc: INSERT off 3, blkref #0: rel 1663/5/9 blk 0
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_devices_are_chosen_by_number_or_as_linux_names_them(tmp_path: Path) -> None:
    path = write(tmp_path / "disk.blkparse", BLKPARSE)
    sectors = {None: 48, "8:0": 16, "8:16": 32, 8 << 20: 16, f"{8 << 20 | 16}, 8:0": 48}
    for devices, expected in sectors.items():
        stat = flashgc.trace_stat(path, devices=devices)
        assert stat.written_bytes == 512 * expected, devices
        assert flashgc.Trace(path, devices=devices).stat() == stat
    stat = flashgc.trace_stat(path, devices="8:0,7")
    assert stat.notes[-1] == "no requests of device 7"


def test_the_action_of_a_linux_trace_is_chosen(tmp_path: Path) -> None:
    path = write(tmp_path / "disk.blkparse", BLKPARSE)
    for action, sectors in ((None, 48), ("D", 48), ("Q", 40), ("C", 16)):
        trace = flashgc.Trace(path, blkparse_action=action)
        assert trace.stat().written_bytes == 512 * sectors, action


def test_statistics_tell_short_writes_and_flushes(tmp_path: Path, command: Command) -> None:
    # 16 sectors from sector 16 on are whole pages. 9 sectors from 64 on end 3584 bytes before the
    # end of their second page. The second write counts two flushes: one before it, and FUA.
    events = "8,0 1 1 0.1 9 D W 16 + 16 [x]\n8,0 1 2 0.2 9 D FWFS 64 + 9 [x]\n"
    path = write(tmp_path / "disk.blkparse", events)
    stat = flashgc.trace_stat(path)
    assert (stat.page_writes, stat.short_write_share, stat.flushes) == (4, 0.25, 2)
    assert (stat.writes, stat.written_bytes, stat.ignored_lines) == (2, 25 * 512, 0)
    shown = " ".join(command("trace", "stat", "disk.blkparse").stdout.split())
    assert "and 2 flushes" in shown
    assert "; 25% of them less than a page" in shown


@pytest.mark.parametrize("merged", [False, True])
def test_times_that_go_back_are_counted_and_said(
    tmp_path: Path, command: Command, merged: bool
) -> None:
    # The file has 200 requests of one CPU, then 200 of another in the same 20 ms.
    times = [100 * i + 37 * cpu for cpu in (0, 1) for i in range(200)]
    lines = [
        f"{time}.000,W,{4096 * (time % 7)},4096,0\n"
        for time in (sorted(times) if merged else times)
    ]
    path = write(tmp_path / "a.csv", "time_us,op,offset_bytes,size_bytes,dev\n" + "".join(lines))
    stat = flashgc.trace_stat(path)
    expected = (0, 0.0) if merged else (1, (19_900 - 37) / 1e6)
    assert (stat.times_back, stat.furthest_back_seconds) == expected
    assert any("to be merged by time" in note for note in stat.notes) == (not merged)
    shown = " ".join(command("trace", "stat", "a.csv").stdout.split())
    assert ("times go back once, by up to" in shown) == (not merged)


def test_a_disorder_is_sorted_or_refused_on_every_way(tmp_path: Path, command: Command) -> None:
    # The file has two streams of the same period, one after the other, in a format without CPUs.
    times = [100 * i + 37 * cpu for cpu in (0, 1) for i in range(600)]
    rows = [(time, 4096 * (at * 7919 % 400)) for at, time in enumerate(times)]
    head = "time_us,op,offset_bytes,size_bytes,dev\n"

    def text(rows: list[tuple[int, int]]) -> str:
        return head + "".join(f"{time}.000,W,{at},4096,0\n" for time, at in rows)

    joined, merged = write(tmp_path / "joined.csv", text(rows)), tmp_path / "merged.csv"
    merged.write_text(text(sorted(rows)))
    drive = {"pages_per_block": 8, "spare": "20%", "passes": 4, "warmup": 0}
    timed = {"kind": "timed", "times": "read=60us,program=800us,erase=1.5ms,transfer=20us"}
    for kind in ({}, {**timed, "arrivals": "closed:threads=1"}):
        options: dict[str, Any] = {**drive, **kind}
        sorted_here = flashgc.run(joined, **options, disorder="sort")
        right = flashgc.run(merged, **options)
        assert (sorted_here.copied_pages, sorted_here.erases) == (right.copied_pages, right.erases)
        assert right.copied_pages > 0
        with pytest.raises(flashgc.ConfigError, match=r"the time goes back by .* at request 601"):
            flashgc.run(joined, **options, disorder="refuse")
    assert flashgc.run(joined, **drive).copied_pages != flashgc.run(merged, **drive).copied_pages
    # The advice in the warning works.
    said = command("trace", "stat", "joined.csv").stderr
    assert "; hint: --disorder sort does that" in said
    again = command("trace", "stat", "joined.csv", "--disorder", "sort")
    assert "1 request of the trace went back in time and were sorted" in again.stderr
    assert "hint" not in again.stderr
    flashgc.trace_convert(joined, tmp_path / "made.csv", disorder="sort")
    assert (tmp_path / "made.csv").read_text().split() == merged.read_text().split()
    assert flashgc.Trace(joined, disorder="sort").stat().times_back == 0


def test_joined_streams_of_cpus_run_as_the_merged_capture(tmp_path: Path) -> None:
    rows = [
        (100 * i + 37 * cpu, cpu, i * 7919 % 300 + 300 * cpu) for cpu in (0, 1) for i in range(900)
    ]
    digests = []
    for name, ordered in (("joined", rows), ("merged", sorted(rows))):
        lines = [
            f"8,0 {cpu} {i} 0.{us:06} 9 D W {page * 8} + 8 [x]\n"
            for i, (us, cpu, page) in enumerate(ordered)
        ]
        path = write(tmp_path / f"{name}.blkparse", "".join(lines))
        assert flashgc.trace_stat(path).times_back == 0
        drive = {"pages_per_block": 8, "passes": 4, "spare": "20%", "warmup": 0}
        timed = {"kind": "timed", "times": "read=60us,program=800us,erase=1.5ms,transfer=20us"}
        digests.append(
            [
                flashgc.run(str(path), **drive).write_amplification,
                flashgc.run(str(path), **drive, **timed).write_amplification,
            ]
        )
    assert digests[0] == digests[1]


def test_a_jump_of_the_clock_is_said(tmp_path: Path) -> None:
    for jump in (0, 10**9):
        lines = [f"{100 * i + jump * (i > 150)}.000,W,0,4096,0\n" for i in range(200)]
        path = write(
            tmp_path / "a.csv", "time_us,op,offset_bytes,size_bytes,dev\n" + "".join(lines)
        )
        stat = flashgc.trace_stat(path)
        assert stat.longest_gap_seconds == (100 + jump) / 1e6
        assert any("the clock may have jumped" in note for note in stat.notes) == (jump > 0)


def test_a_run_reads_a_trace_as_its_statistics_do(tmp_path: Path) -> None:
    path = write(tmp_path / "disk.blkparse", BLKPARSE)
    drive = {"pages_per_block": 2, "page_size": "512B", "passes": 2, "spare": "50%"}
    for given in ({"devices": "8:0"}, {"blkparse_action": "Q"}, {}):
        stat = flashgc.Trace(path, **given).stat("512B")
        run = flashgc.run(flashgc.Trace(path, **given), warmup=0, **drive)
        assert run.config.logical_pages == stat.pages
        assert flashgc.run(str(path), warmup=0, **given, **drive).digest == run.digest
        assert run.config.trace.devices == given.get("devices")


COLUMNS = "time=2:ms,op=5:0=write/1=read,offset=3:sector,size=4:sector"
#: Columns: index, time in ms, first sector, number of sectors, 1 for a read.
INDEXED = "".join(f"{i},{i}.5,{i * 7 % 31 * 8},8,{i % 3 % 2}\n" for i in range(60))


def test_stated_columns_are_the_same_everywhere(tmp_path: Path, command: Command) -> None:
    path = write(tmp_path / "indexed.csv", INDEXED)
    toml = "".join(
        f'{key} = "{value}"\n'
        for key, _, value in (one.partition("=") for one in COLUMNS.split(","))
    )
    write(tmp_path / "own.toml", toml)
    stat = flashgc.trace_stat(path, columns=COLUMNS)
    assert (stat.reads, stat.written_bytes, stat.duration_seconds) == (20, 40 * 4096, 0.059)
    assert flashgc.trace_stat(path, layout=tmp_path / "own.toml").to_dict() == stat.to_dict()
    made = command("trace", "stat", "indexed.csv", "--layout", "own.toml", "--json")
    assert json.loads(made.stdout) == stat.to_dict()
    made = command("trace", "convert", "indexed.csv", "copy.csv", "--columns", COLUMNS)
    assert made.returncode == 0, made
    drive = {"pages_per_block": 4, "passes": 3, "spare": "30%", "warmup": 0}
    digests = {
        flashgc.run(str(tmp_path / "copy.csv"), **drive).write_amplification,
        flashgc.run(str(path), columns=COLUMNS, **drive).write_amplification,
        flashgc.run(flashgc.Trace(path, layout=tmp_path / "own.toml"), **drive).write_amplification,
    }
    assert len(digests) == 1
    write(
        tmp_path / "run.toml",
        f'[workload]\nsource = "indexed.csv"\ncolumns = "{COLUMNS}"\n'
        '[run]\nwarmup = 0\npasses = 3\n[drive]\npages_per_block = 4\nspare = "30%"\n',
    )
    made = command("run", "run.toml", "--json")
    assert made.returncode == 0, made
    assert json.loads(made.stdout)["write_amplification"] in digests


def test_one_statement_of_columns_is_taken(tmp_path: Path, command: Command) -> None:
    write(tmp_path / "indexed.csv", INDEXED)
    other = ["--layout", "replayer", "--columns", COLUMNS]
    for arguments in (["trace", "stat", "indexed.csv"], ["run", "--workload", "indexed.csv"]):
        made = command(*arguments, *other)
        assert made.returncode == 2
        assert "which column is which" in made.stderr
    made = command("trace", "layouts", "replayer")
    assert 'op = "5:0=write/1=read"' in made.stdout
    assert command("trace", "layouts", "none").returncode == 2


def test_statistics_show_columns_and_evidence(tmp_path: Path, command: Command) -> None:
    write(tmp_path / "indexed.csv", INDEXED)
    made = command("trace", "stat", "indexed.csv", "--columns", COLUMNS, "--explain")
    assert "column 3 as offset in sectors of 512 bytes" in made.stdout
    assert "evidence: the columns as stated: nothing speaks against it" in made.stdout
    made = command("trace", "stat", "indexed.csv", "--columns", COLUMNS, "--explain", "--json")
    document = json.loads(made.stdout)
    assert "the columns as stated: nothing speaks against it" in document["evidence"]
    assert "evidence" not in made.stderr
    # A wrong unit, bytes for sectors, is accepted with a warning that shows the evidence.
    made = command("trace", "stat", "indexed.csv", "--columns", COLUMNS.replace(":sector", ":1"))
    assert made.returncode == 0
    assert "warning: is this columns? requests have 8 bytes on average" in made.stderr
    # For a refused file, the evidence is shown, too.
    text = "".join(f"{i}.5 0 {i * 7 % 31 * 4096} 4096 {i % 2}\n" for i in range(60))
    write(tmp_path / "replayed.txt", text)
    made = command("trace", "stat", "replayed.txt", "--explain")
    assert made.returncode == 2
    assert "evidence: disksim: 60 of 60 lines are its requests; all sectors are" in made.stdout
    assert "evidence: --layout replayer: most lines fit; nothing speaks against it" in made.stdout
    refused = command("trace", "stat", "replayed.txt", "--explain", "--json")
    assert refused.stdout == ""
    assert made.stdout in refused.stderr
    assert flashgc.trace_stat(tmp_path / "replayed.txt", layout="replayer").columns.startswith(
        "column 1 as time in milliseconds"
    )


def test_kept_results_know_the_layout_by_its_content(tmp_path: Path) -> None:
    path = write(tmp_path / "indexed.csv", INDEXED)
    layout = tmp_path / "own.toml"
    drive = {"pages_per_block": 4, "passes": 3, "spare": "30%", "warmup": 0}
    amplifications = []
    for size in ("4:sector", "4:1024"):
        write(
            layout,
            f'time = "2:ms"\nop = "5:0=write/1=read"\noffset = "3:sector"\nsize = "{size}"\n',
        )
        run = flashgc.run(flashgc.Trace(path, layout=layout), results=tmp_path / "kept.db", **drive)
        amplifications.append(run.host_pages)
    assert amplifications[1] > amplifications[0]


def test_relations_lie_where_the_table_says(tmp_path: Path, command: Command) -> None:
    write(tmp_path / "wal.txt", WAL)
    # Block 0 is in one extent, block 1 half in the next.
    write(tmp_path / "table", "1663/5/9 main 0 -> 1048576+12288 65536+4096\n")
    made = command("trace", "convert", "wal.txt", "wal.csv", "--as-dirty", "--relations", "table")
    assert made.returncode == 0, made
    assert "blocks are where the table of relations has them" in made.stderr
    assert "since the first commit or abort, 2022-12-01 10:00:00.000001 UTC" in made.stderr
    assert (tmp_path / "wal.csv").read_text().split()[1:] == [
        "0.000,M,1048576,8192,0",
        "0.000,M,1056768,4096,0",
        "0.000,M,65536,4096,0",
        "250000.000,M,1048576,8192,0",
    ]
    # Without the table, files are numbered in order of appearance, and a note says so.
    made = command("trace", "convert", "wal.txt", "plain.csv")
    assert "1 fork of the database's files, each a device, in the order" in made.stderr
    assert (tmp_path / "plain.csv").read_text().split()[2] == "0.000,W,8192,8192,0"


@pytest.mark.parametrize(
    "options",
    [
        {"writes": "3x"},
        {
            "requests": 500,
            "kind": "timed",
            "times": "read=60us,program=800us,erase=1.5ms,transfer=20us",
        },
    ],
    ids=["counting", "timed"],
)
def test_no_warmup_is_the_same_as_a_number_and_as_a_text(options: dict[str, object]) -> None:
    digests = {
        flashgc.run(blocks=64, pages_per_block=16, warmup=warmup, **options).digest  # type: ignore[arg-type]
        for warmup in (0, "0", 0.0)
    }
    assert len(digests) == 1
