"""Bad input ends in one line with the place and a hint, and exit code 2; never in a traceback."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from conftest import Command

SMALL = ("--blocks", 100, "--pages-per-block", 16, "--writes", "2x")
POOL = ("--blocks", 100, "--pages-per-block", 16, "--frontier", "pool")
MSR_LINE = "128166372003061629,usr,0,{op},{offset},{size},1331\n"


def refused(made: object, *parts: str) -> str:
    """The one line on standard error, which must have all of ``parts``."""
    assert made.returncode == 2, made  # type: ignore[attr-defined]
    assert made.stdout == "", made  # type: ignore[attr-defined]
    error: str = made.stderr  # type: ignore[attr-defined]
    assert error.count("\n") == 1, error
    assert error.startswith("error: "), error
    for part in parts:
        assert part in error, error
    return error


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        # An unknown policy, parameter, option, command, word: the nearest one is suggested.
        (["run", "--victim", "gredy"], ["--victim", "unknown victim policy 'gredy'", "'greedy'"]),
        (["run", "--victim", "d-choices:q=3"], ["--victim", "no parameter 'q'"]),
        (["run", "--victim", "d-choices:d=0"], ["--victim", "d=0", "1 to 100000"]),
        (["run", "--frontier", "duble"], ["--frontier", "unknown write frontier", "'double'"]),
        (["run", "--allocation", "slf"], ["--allocation", "unknown block allocation", "'sfl'"]),
        (["run", "--allocation", "sfl:x=1"], ["--allocation", "sfl has no parameter 'x'"]),
        (
            ["run", "--allocation", "sfl"],
            ["--allocation sfl needs the pool", "found --frontier single", "hint"],
        ),
        (["run", "--frontier", "double", "--allocation", "random"], ["--frontier double"]),
        (
            ["run", "--wear-levelling", "static"],
            ["--wear-levelling static needs the pool", "found --frontier single", "hint"],
        ),
        (["run", *POOL, "--wear-levelling", "sttic"], ["--wear-levelling", "'sttic'", "'static'"]),
        (["run", *POOL, "--wear-levelling", "static:x=1"], ["--wear-levelling", "parameter 'x'"]),
        (
            ["run", *POOL, "--wear-levelling", "static:threshold=0"],
            ["--wear-levelling", "threshold=0", "from 1"],
        ),
        (
            ["run", *SMALL, "--frontier", "pool:low=8", "--wear-levelling", "static"],
            ["pool:low=8 frontier", "with static wear levelling keeps 11 blocks", "--spare 11%"],
        ),
        (
            ["run", *SMALL, "--frontier", "pool:low=200"],
            ["keeps 202 blocks", "hint: a smaller low, or more --blocks"],
        ),
        (["run", *POOL, "--endurance", "0"], ["--endurance", "limit=0", "from 1"]),
        (["run", *POOL, "--endurance", "nromal"], ["--endurance", "'nromal'", "'normal'"]),
        (["run", *POOL, "--endurance", "normal:mean=9,cv=3"], ["--endurance", "cv=3", "0 to 1"]),
        (["run", *SMALL, "--endurance", "9"], ["--endurance needs the pool", "--frontier single"]),
        (
            ["run", *SMALL, "--endurance", "9", "--frontier", "pool:low=9"],
            ["pool:low=9 frontier", "keeps 11 blocks", "hint"],
        ),
        (
            ["run", "--until", "first-failure"],
            ["--until first-failure needs --endurance", "hint: add --endurance 1000"],
        ),
        (["run", *POOL, "--until", "frist-failure"], ["--until", "'first-failure'"]),
        (
            ["run", *POOL, "--endurance", "9", "--until", "first-failure", "--writes", "2x"],
            ["--until", "--writes", "ends at the failure"],
        ),
        (
            ["run", *POOL, "--endurance", "9", "--until", "first-failure", "--warmup", "1/3"],
            ["--warmup is a share of the run", "until a failure"],
        ),
        (
            ["run", "--until", "first-failure", "--until", "system-failure"],
            ["--until: found first-failure, system-failure, expected one value"],
        ),
        (["run", "--victim", "fifo", "--victim", "greedy"], ["--victim", "hint: flashgc compare"]),
        (["run", "--times", "read=60us"], ["--times", "'program' is missing"]),
        (["run", "--times", "read=60,program=1us,erase=1us"], ["--times", "no unit", "60us"]),
        (["run", "--times", "raed=60us"], ["--times", "'raed'", "'read'"]),
        (["compare", "--allocation", "sfl", "--allocation", "sfl"], ["given twice"]),
        (["run", "--workload", "unifrom"], ["--workload", "unknown workload", "'uniform'"]),
        (["run", "--workload", "hotcold:f=2"], ["--workload", "f=2", "0 to 1"]),
        (["run", "--workload", "0.7*zipf + 0.4*uniform"], ["--workload", "sum to 1.1"]),
        (["run", "--fill", "randm"], ["--fill", "'random'"]),
        (["run", "--victm", "greedy"], ["unknown option '--victm'", "'--victim'"]),
        (["rn"], ["unknown command 'rn'", "'run'"]),
        (["trace", "stta", "x"], ["unknown command 'stta'", "'stat'"]),
        (["policies", "gredy"], ["unknown policy 'gredy'", "'greedy'"]),
        (["trace", "formats", "mrs"], ["'mrs'", "'msr'"]),
        (["completion", "bsh"], ["unknown shell 'bsh'", "'bash'"]),
        (["run", "--on-bad-line", "skp"], ["--on-bad-line", "'skp'", "'skip'"]),
        # A unit missing or unknown.
        (["run", "--capacity", "64"], ["--capacity", "'64' has no unit", "64GiB", "TiB"]),
        (["run", "--capacity", "64Gb"], ["--capacity", "unknown unit 'Gb'", "'GB'"]),
        (["run", "--capacity", "big"], ["--capacity", "'big' is not a number"]),
        (["run", "--page-size", "4096"], ["--page-size", "no unit"]),
        (["run", "--spare", "7 pct"], ["--spare", "unknown unit 'pct'"]),
        # Shapes that do not work.
        (["run", *SMALL, "--spare", "0.1%"], ["spare", "too few", "hint"]),
        (["run", *SMALL, "--spare", "0"], ["--spare", "0%", "hint"]),
        (["run", *SMALL, "--spare", "120%"], ["--spare", "120%"]),
        (["run", "--pages-per-block", "1"], ["--pages-per-block is 1", "expected 2 to 16777216"]),
        (["run", "--blocks", "1"], ["--blocks is 1, expected 2 to", "hint: --blocks 64"]),
        (["run", "--blocks", "9e9"], ["--blocks", "9000000000"]),
        (["run", "--blocks", "10", "--capacity", "1GiB"], ["--capacity", "--blocks"]),
        (["run", "--spare", "7%", "--overprovision", "7%"], ["--overprovision", "--spare"]),
        (["run", "--writes", "2x", "--passes", "2"], ["--passes", "--writes", "one length"]),
        (["run", "--writes", "two"], ["'two'", "20x"]),
        (["run", "--passes", "2"], ["passes", "traces"]),
        (["run", "--warmup", "3/2"], ["--warmup", "3/2"]),
        (["run", "--runs", "0"], ["--runs", "0"]),
        (["run", "--seed", "-1"], ["--seed", "-1"]),
        (["run", "--until", "precison=1%"], ["--until", "precision=0.1%"]),
        (["run", "--until", "precision=0"], ["--until"]),
        (
            ["run", "--jobs", "many"],
            ["--jobs: 'many' is not a number; hint: write a whole number from 0 to 4096"],
        ),
        (["run", "--jobs", "5000"], ["--jobs: found 5000, expected 0 to 4096"]),
        # Numbers that are out of range, or would make a run too long.
        (["run", "--spare", "1e400"], ["--spare", "out of range"]),
        (["run", "--overprovision", "1e400"], ["--overprovision", "out of range"]),
        (["run", "--overprovision", "1e30"], ["--overprovision", "below 100000000%"]),
        (["run", "--blocks", "1e999999999"], ["--blocks", "out of range"]),
        (["run", "--capacity", "1e99999999GiB"], ["--capacity", "out of range"]),
        (["run", "--seed", "9" * 5000], ["--seed", "out of range"]),
        (["run", "--spare", "7"], ["--spare", "did you mean 7%?"]),
        (["run", "--page-size", "3B"], ["--page-size", "power of two"]),
        (["trace", "stat", "x", "--page-size", "0B"], ["--page-size", "power of two"]),
        (["trace", "stat", "x", "--page-size", "1PiB"], ["--page-size", "power of two"]),
        # Options of traces only.
        (["run", "--format", "msr"], ["--format", "generator"]),
        (["run", "--on-bad-line", "stop"], ["--on-bad-line", "generator"]),
        (["compare", "--alignment-offset", "1B"], ["--alignment-offset", "generator"]),
        (["run", "--devices", "0"], ["--devices", "generator"]),
        (["run", "--blkparse-action", "D"], ["--blkparse-action", "generator"]),
        (["run", "--relations", "table"], ["--relations", "generator"]),
        # How a trace is read.
        (["run", "--devices", "sda"], ["--devices", "'sda'", "a device number", "8:0"]),
        (["trace", "stat", "x", "--devices", "0,0"], ["--devices", "device 0 is there twice"]),
        (["run", "--blkparse-action", "X"], ["--blkparse-action", "'X'", "D, Q, C, I, G"]),
        (["trace", "stat", "x", "--blkparse-action", "d"], ["--blkparse-action", "'d'", "D, Q"]),
        (["trace", "convert", "x", "y.csv", "--relations", "missing"], ["missing", "No such file"]),
        (["compare", "--victim", "fifo", "--victim", "fifo"], ["--victim", "given twice"]),
        (["compare", "--spare", "7%", "--spare", "0.07"], ["--spare", "given twice"]),
        (["trace", "synth", "uniform", "x.csv", "--pages", "9"], ["--requests is missing"]),
        # Files that are not there.
        (["run", "--workload", "missing.csv"], ["missing.csv", "No such file"]),
        (["trace", "stat", "missing.csv"], ["missing.csv", "No such file"]),
        (["run", "missing.toml"], ["missing.toml", "No such file"]),
        (["run", "--victim", "python:missing.py:f"], ["--victim", "missing.py", "no such file"]),
        (["run", "--victim", "python:x"], ["--victim", "python:FILE.py:NAME"]),
        (["trace", "synth", "uniform", "x.txt", "--pages", "9", "--requests", "9"], ["x.txt"]),
        (["trace", "stat"], ["PATH is missing"]),
        (["run", "--blocks"], ["--blocks"]),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value[0], str) else "",
)
def test_bad_options(command: Command, arguments: list[object], parts: list[str]) -> None:
    refused(command(*arguments), *parts)


def write_trace(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(lines))
    return path


def good_lines(count: int, op: str = "Write") -> list[str]:
    return [MSR_LINE.format(op=op, offset=4096 * i, size=4096) for i in range(count)]


def test_a_truncated_gzip_names_the_file(command: Command, tmp_path: Path) -> None:
    packed = gzip.compress("".join(good_lines(5000)).encode())
    (tmp_path / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    for arguments in (["trace", "stat", "cut.csv.gz"], ["run", "--workload", "cut.csv.gz"]):
        refused(command(*arguments), "cut.csv.gz", "hint")


def test_garbage_behind_gzip_is_named(command: Command, tmp_path: Path) -> None:
    packed = gzip.compress("".join(good_lines(50)).encode())
    (tmp_path / "more.csv.gz").write_bytes(packed + b"more")
    for arguments in (["trace", "stat", "more.csv.gz"], ["run", "--workload", "more.csv.gz"]):
        refused(command(*arguments), "more.csv.gz: the gzip data end", "'more' behind them", "hint")


def test_a_trace_of_two_formats_is_refused_and_read_when_one_is_named(
    command: Command, tmp_path: Path
) -> None:
    """No evidence tells the formats apart: six decimals fit both, and no request is sequential."""
    lines = [f"{i}.000000 0 {80 * i} {1 + i % 3} {i % 2}\n" for i in range(300)]
    write_trace(tmp_path / "fin.trace", lines)
    for arguments in (["trace", "stat"], ["run", "--workload"]):
        refused(
            command(*arguments, "fin.trace"),
            "fin.trace: several formats fit: disksim, flashsim; hint: choose ",
            "--format disksim",
        )
    # Even lines are writes, of 1, 3 and 2 units in turn, 50 times.
    for name, unit in (("disksim", 512), ("flashsim", 4096)):
        made = command("trace", "stat", "fin.trace", "--format", name, "--json")
        assert f'"written_bytes": {300 * unit},' in made.stdout, made


def test_cut_lines_of_blkparse_are_named(command: Command, tmp_path: Path) -> None:
    good = "8,0 1 1 0.5 9 D W 16 + 8 [x]\n"
    for rest, column, found in (
        ("W 16 + 1e9 [x]", 24, "'1e9'"),
        ("W 16 + 3.5 [x]", 24, "'3.5'"),
        ("W 16 + 25", 26, "nothing"),
        ("W NaN + 8 [x]", 19, "'NaN'"),
        ("W -5682520 + 8 [x]", 19, "'-5682520'"),
    ):
        write_trace(tmp_path / "disk.blkparse", [good, f"8,0 1 2 0.6 9 D {rest}\n", good])
        place = f"disk.blkparse:2:{column}: found {found}, expected"
        for arguments in (["trace", "stat"], ["run", "--workload"]):
            refused(command(*arguments, "disk.blkparse"), place, "hint: --on-bad-line skip")


def test_options_that_a_format_has_no_use_for_are_refused(command: Command, tmp_path: Path) -> None:
    write_trace(tmp_path / "some.csv", good_lines(10))
    write_trace(tmp_path / "table", ["1663/5/9 main 0 -> 0+8192\n"])
    write_trace(tmp_path / "wrong", ["1663/5/9 main 0 -> 0-8192\n"])
    for option, value, parts in (
        ("--blkparse-action", "Q", ["only applies to blkparse, blktrace, ftrace, found msr"]),
        ("--relations", "table", ["only applies to pg-waldump, found msr"]),
        ("--relations", "wrong", ["wrong:1:20: found '0-8192', expected an extent"]),
        ("--devices", "7", ["no requests", "devices"]),
    ):
        for arguments in (["trace", "stat", "some.csv"], ["run", "--workload", "some.csv"]):
            refused(command(*arguments, option, value), *parts, "hint")


def test_a_line_with_three_columns_is_named(command: Command, tmp_path: Path) -> None:
    lines = good_lines(2000)
    lines[1041] = "1,2,3\n"
    write_trace(tmp_path / "bad.csv", lines)
    for arguments in (["trace", "stat", "bad.csv"], ["run", "--workload", "bad.csv"]):
        refused(command(*arguments), "bad.csv:1042", "3 columns", "hint")


def test_skipping_counts_what_it_skipped(command: Command, tmp_path: Path) -> None:
    lines = good_lines(2000)
    lines[1041] = "1,2,3\n"
    write_trace(tmp_path / "bad.csv", lines)
    made = command("trace", "stat", "bad.csv", "--on-bad-line", "skip", "--json")
    assert made.returncode == 0, made
    assert '"skipped_lines": 1' in made.stdout
    assert "1 bad line" in made.stderr
    made = command("run", "--workload", "bad.csv", "--on-bad-line", "skip", "--pages-per-block", 16)
    assert made.returncode == 0, made
    assert "1 bad line" in made.stderr


def test_an_offset_past_2_to_63_is_refused(command: Command, tmp_path: Path) -> None:
    lines = [*good_lines(10), MSR_LINE.format(op="Write", offset=2**63 + 4096, size=4096)]
    write_trace(tmp_path / "far.csv", lines)
    refused(command("trace", "stat", "far.csv"), "far.csv:11", "hint")


def test_an_empty_trace_is_refused(command: Command, tmp_path: Path) -> None:
    write_trace(tmp_path / "empty.csv", [])
    refused(command("trace", "stat", "empty.csv"), "empty.csv", "empty")
    refused(command("run", "--workload", "empty.csv"), "empty.csv", "empty")


def test_a_trace_without_writes_is_refused(command: Command, tmp_path: Path) -> None:
    write_trace(tmp_path / "reads.csv", good_lines(100, "Read"))
    refused(command("run", "--workload", "reads.csv"), "reads.csv", "no writes", "hint")


def test_a_wrong_format_is_refused(command: Command, tmp_path: Path) -> None:
    write_trace(tmp_path / "some.csv", good_lines(100))
    refused(command("trace", "stat", "some.csv", "--format", "spc"), "some.csv")
    refused(command("run", "--workload", "some.csv", "--format", "mrs"), "--format", "'msr'")


def test_an_unreadable_output_is_a_failure_in_one_line(command: Command) -> None:
    made = command("run", *SMALL, "--out", "/dev/full", "--quiet")
    assert made.returncode == 1, made
    assert made.stderr == "error: /dev/full: No space left on device\n"


@pytest.mark.parametrize(
    ("name", "part"), [("", "empty"), ("missing/result.json", "no such folder"), (".", "a folder")]
)
def test_an_output_that_cannot_be_is_refused_before_the_work(
    command: Command, name: str, part: str
) -> None:
    forever = ("--writes", "1000000000x")
    refused(command("run", *SMALL[:4], *forever, "--out", name), "--out", name, part, "hint")


def test_names_that_are_not_utf_8_are_refused(command: Command) -> None:
    name = os.fsdecode(b"bad\xff.csv")
    refused(command("run", "--workload", name), "--workload", "UTF-8")
    refused(command("trace", "stat", name), "No such file")
    refused(command("policies", name), "UTF-8")


def test_messages_quote_no_endless_and_no_dangerous_words(command: Command) -> None:
    error = refused(command("run", "--victim", "x" * 100_000))
    assert len(error) < 1500
    assert "\x1b" not in refused(command("run", "--victim", "\x1b[2J"), "\\x1b[2J")


def test_a_trace_in_place_of_an_experiment_is_told(command: Command, tmp_path: Path) -> None:
    write_trace(tmp_path / "some.csv", good_lines(10))
    (tmp_path / "long.csv").write_text("x" * 2**21)
    (tmp_path / "some.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd\0\0")
    for name in ("some.csv", "long.csv", "some.csv.zst"):
        refused(command("run", name), name, f"--workload {name}")
    refused(command("compare", "/dev/zero"), "/dev/zero", "1 MiB")
