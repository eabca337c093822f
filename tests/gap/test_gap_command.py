"""What ``flashgc gap`` prints, writes and refuses."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

from conftest import Command, ended, keeping, kept_results, started

SMALL = (
    "gap", "hotcold:f=0.1,r=0.9", "--blocks", 256, "--pages-per-block", 16, "--writes", "4x",
    "--spare", "20%", "--runs", 2, "--jobs", 1,
)  # fmt: skip
KEYS = {
    "workload", "blocks", "pages_per_block", "spare_factor", "runs", "classes", "horizon", "rows",
    "equal", "open", "simulations", "found", "interrupted", "seed", "version", "findings",
}  # fmt: skip
OF_ROWS = {
    "kind", "name", "victim", "placement", "sigma", "errors", "write_amplification",
    "write_amplification_ci95", "run_values", "digest", "without_copies", "difference",
    "difference_ci95", "inside_noise", "is_best", "reason", "findings",
}  # fmt: skip


def test_the_page_has_80_columns_and_the_document_its_keys(command: Command) -> None:
    made = command(*SMALL, "--out", "found.json")
    assert made.returncode == 0
    assert all(line.startswith("warning: ") for line in made.stderr.splitlines())
    lines = made.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)
    again = command("gap", "--workload", *SMALL[1:], "--json")
    document = json.loads(again.stdout)
    assert set(document) == KEYS
    assert all(set(row) == OF_ROWS for row in document["rows"])
    assert (document["simulations"], document["found"]) == (0, 14)
    for row in document["rows"]:
        assert f"{row['write_amplification']:.4f}" in made.stdout, row["name"]
    best = min(
        (row for row in document["rows"] if row["kind"] == "online"),
        key=lambda row: row["write_amplification"],
    )
    (marked,) = [line for line in lines if line.endswith("  best online")]
    assert f" {best['name']} " in marked
    told = " ".join(made.stdout.split())
    above, shown = best["write_amplification"] - 1, document["open"]
    assert f"So {shown:.4f} of {above:.4f} above 1 is open." in told
    assert f"best online scheme is {best['name']} with {above + 1:.4f}" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nosuch"], ["WORKLOAD", "unknown"]),
        (["none.csv"], ["none.csv"]),
        (["uniform", "--drive", "timed"], ["--drive: found timed", "hint: leave it out"]),
        (["disksim"], ["WORKLOAD: found disksim", "such as zipf"]),
        (["uniform", "--mapping", "fast"], ["--mapping: found fast, expected page"]),
        (["uniform", "--vm-page-cache", "1GiB"], ["unknown option '--vm-page-cache'"]),
        (["uniform", "--schemes", "gredy"], ["--schemes", "did you mean 'greedy'?"]),
        (["uniform", "--schemes", "fifo+nosuch"], ["--schemes", "nosuch"]),
        (["uniform", "--schemes", "fifo + oracle"], ["knows the future"]),
        (["uniform", "--schemes", "gc-gd + dac"], ["hint: gc-gd, or greedy + dac"]),
        (["uniform", "--schemes", "+ dac"], ["expected a victim policy"]),
        (["uniform", "--schemes", "python:a.py:f"], ["--schemes: a.py: no such file"]),
        (["uniform", "--schemes", "fifo", "--schemes", "fifo"], ["is the same as 'fifo'"]),
        (["uniform", "--sigma", "0"], ["--sigma: found 0, which is clairvoyance"]),
        (["uniform", "--sigma", "1,,2"], ["--sigma: found ''", "hint: 0.25,0.5,1,2,4"]),
        (["uniform", "--sigma", "1,1.0"], ["--sigma: '1' is given twice"]),
        (["uniform", "--classes", "33"], ["--classes: found '33', expected 1 to 32; hint: 16"]),
        (["uniform", "--horizon", "far"], ["--horizon: found 'far'", "hint: 8"]),
        (["uniform", "--errors", "wirte"], ["--errors", "did you mean 'write'?"]),
        (["uniform", "--spare", "7%", "--spare", "8%"], ["--spare: found 7%, 8%"]),
        (["uniform", "--cache", ""], ["--cache: the name is empty", "flashgc-gap"]),
        (["uniform", "--plot", "gap.xyz"], ["--plot"]),
        ([], ["WORKLOAD is missing"]),
        (["zipf", "--workload", "uniform"], ["found WORKLOAD and --workload"]),
        (["--workload", "nosuch"], ["--workload", "unknown"]),
    ],
    ids=lambda value: " ".join(map(str, value[-2:])) if isinstance(value, list) else None,
)
def test_what_cannot_be_compared_is_refused_in_one_line(
    command: Command, arguments: list[str], words: list[str]
) -> None:
    made = command("gap", *arguments)
    assert made.returncode == 2, (made.stdout, made.stderr)
    assert made.stdout == ""
    (line,) = made.stderr.splitlines()
    assert line.startswith("error: ")
    for word in words:
        assert word in line


def test_a_trace_that_can_be_read_once_is_refused(command: Command, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    made = command("gap", "pipe.csv")
    assert (made.returncode, made.stdout) == (2, "")
    assert "pipe.csv can be read once" in made.stderr


def test_each_hint_for_a_drive_that_is_too_small_works(command: Command) -> None:
    small = (
        "gap", "uniform", "--blocks", 100, "--pages-per-block", 16, "--writes", "1x", "--runs", 1,
        "--schemes", "fifo", "--sigma", 1, "--quiet",
    )  # fmt: skip
    made = command(*small)
    assert made.returncode == 2
    assert "are too few for the pool:low=2 frontier" in made.stderr
    hints = re.search(
        r"hint: --classes (\d+), or --blocks (\d+), or --spare (\S+),",
        made.stderr,
    )
    assert hints is not None, made.stderr
    classes, blocks, spare = hints.groups()
    assert command(*small, "--classes", classes).returncode == 0
    assert command(*small, "--classes", int(classes) + 1).returncode == 2
    assert command(*small[:2], "--blocks", blocks, *small[4:]).returncode == 0
    assert command(*small, "--spare", spare).returncode == 0


def test_ctrl_c_shows_the_rows_so_far_and_the_next_call_goes_on(tmp_path: Path) -> None:
    words = (
        "gap", "uniform", "--blocks", "500", "--pages-per-block", "32", "--writes", "30x",
        "--runs", "2", "--jobs", "1", "--cache", str(tmp_path / "kept"),
    )  # fmt: skip
    process = started(*words)
    keeping(process, tmp_path / "kept")
    code, out, errors = ended(process, signal.SIGINT)
    assert code == 130, errors
    # Two of the stored results are short runs that only measured the drive.
    kept = len(kept_results(tmp_path / "kept")) - 2
    assert f"Interrupted: {kept} of 14 rows were measured." in out
    assert "stopped" in out
    assert "give the same command again" in errors
    assert "Traceback" not in errors
    assert max(map(len, out.splitlines())) <= 80


def test_the_picture_has_a_row_for_each_scheme(command: Command, tmp_path: Path) -> None:
    made = command(*SMALL, "--plot", "found.svg", "--json")
    assert made.returncode == 0, made.stderr
    picture = (tmp_path / "found.svg").read_text()
    for row in json.loads(made.stdout)["rows"]:
        if row["kind"] != "bound":
            assert row["name"] in picture, row["name"]
