"""The output, files, refusals and findings of ``flashgc qualify``."""

from __future__ import annotations

import dataclasses
import json
import re
import signal
from pathlib import Path

import pytest

import flashgc
from conftest import Command, ended, started, under_way
from flashgc import Qualification
from flashgc.results import Finding
from flashgc.studies.qualifying.describe import findings
from flashgc.studies.qualifying.outcome import Rounds, Worked
from flashgc.studies.qualifying.sheet import sheet
from flashgc.studies.qualifying.steady import window

SMALL = (
    "qualify", "--times", "read=50us,program=500us,erase=3ms,transfer=10us", "--blocks", 128,
    "--pages-per-block", 64, "--spare", "25%", "--victim", "greedy", "--jobs", 1, "--quick",
)  # fmt: skip
KEYS = {
    "name", "command", "version", "seed", "quick", "interrupted", "tests", "drive_bytes",
    "logical_bytes", "used_bytes", "spare", "mapping_unit", "rounds", "wsat", "jesd219", "depth",
    "endurance", "worked", "refused", "findings",
}  # fmt: skip


def test_the_text_has_80_columns_and_the_document_and_the_page_the_same_figures(
    command: Command, tmp_path: Path
) -> None:
    options = ("--tests", "iops,wsat", "--cycles", 3000, "--keep", "kept", "--depth", 8)
    made = command(*SMALL, *options, "--out", "sheet.json", "--html", "sheet.html")
    assert made.returncode == 0
    lines = made.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)
    document = json.loads((tmp_path / "sheet.json").read_text())
    assert set(document) == KEYS
    assert document["tests"] == ["iops", "wsat"]
    # The finished runs are found, and a qualification stands beside another one.
    again = command(*SMALL, *options, "--json", "--against", "sheet.json", "--html", "both.html")
    assert json.loads(again.stdout) == document
    page = (tmp_path / "sheet.html").read_text()
    for line in Qualification.from_dict(document).lines():
        assert f"{line.name.strip()}  " in made.stdout.replace("\n", "  "), line
        assert line.value in made.stdout
        assert line.value in page
    assert "src=" not in page
    assert "<script" not in page
    assert "http-equiv" in page
    assert not re.search(r'(href|url)\(?=?"?https?:', page)
    for test in ("iops", "wsat"):
        assert f"{document['command']} --tests {test}</pre>".replace("'", "&#39;") in page
    both = (tmp_path / "both.html").read_text()
    assert both.count('<th scope="col">drive</th>') == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["qualify"], ["PRESET is missing", "flashgc qualify tlc"]),
        (["qualify", "tcl"], ["PRESET", "'tcl'", "'tlc'"]),
        (["qualify", "tlc", "--device", "qlc"], ["--device", "PRESET"]),
        (["qualify", __file__], ["PRESET", "a stored drive", "flashgc device exec --realtime"]),
        (["qualify", "tlc", "--tests", "iosp"], ["--tests", "'iosp'", "'iops'"]),
        (["qualify", "tlc", "--depth", 0], ["--depth", "found 0", "1 to 4096"]),
        (["qualify", "tlc", "--cycles", 0], ["--cycles", "found 0"]),
        (["qualify", "tlc", "--keep", ""], ["--keep", "empty"]),
        (["qualify", "tlc", "--blocks", 512], ["plane 0 has 16 blocks", "hint"]),
        (["qualify", "samsung-pm9d3a", "--scale", "1/128"], ["no handles", "--placement none"]),
        ([*SMALL[:3], "--blocks", 64, "--pages-per-block", 64], ["16777216", "--capacity"]),
        ([*SMALL, "--against", "none.json"], ["none.json", "no preset"]),
        (["qualify", "tlc", "--workload", "zipf"], ["--workload"]),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(command: Command, arguments: list[object], words: list[str]) -> None:
    failed = command(*arguments)
    assert failed.returncode == 2, failed.stderr
    assert all(word in failed.stderr for word in words), failed.stderr
    assert len(failed.stderr.splitlines()) == 1, failed.stderr


def test_ctrl_c_leaves_a_partial_sheet(tmp_path: Path) -> None:
    long = ["qualify", "tlc", "--blocks", 2048, "--tests", "latency,wsat", "--jobs", 1]
    running = started(
        *long, "--keep", tmp_path / "kept", "--out", tmp_path / "partial.json",
        "--html", tmp_path / "partial.html",
    )  # fmt: skip
    under_way(running)
    code, out, errors = ended(running, signal.SIGINT)
    assert code == 130, errors
    document = json.loads((tmp_path / "partial.json").read_text())
    assert document["interrupted"]
    assert document["wsat"] is None
    assert "qualify-interrupted" in [found["id"] for found in document["findings"]]
    assert "Partial:" in (tmp_path / "partial.html").read_text()
    assert out.startswith("tlc\n")
    assert "interrupted: give the same command again to go on" in errors


def test_ctrl_c_without_a_folder_names_the_option_that_keeps_runs() -> None:
    running = started("qualify", "tlc", "--blocks", 2048, "--tests", "wsat", "--jobs", 1)
    under_way(running)
    code, _, errors = ended(running, signal.SIGINT)
    assert code == 130, errors
    assert "interrupted: --keep DIR keeps finished runs" in errors
    assert "same command" not in errors


@pytest.fixture(scope="module")
def latency() -> Qualification:
    return flashgc.qualify(
        times="read=50us,program=500us,erase=3ms,transfer=10us", blocks=128, pages_per_block=64,
        spare="25%", victim="greedy", jobs=1, quick=True, tests="latency",
    )  # fmt: skip


def by_id(made: Qualification) -> dict[str, Finding]:
    return {found.id: found for found in findings(made)}


def test_findings_and_when_they_are_made(latency: Qualification) -> None:
    assert list(by_id(latency)) == ["quick-tests"]
    assert not by_id(dataclasses.replace(latency, quick=False))
    stopped = dataclasses.replace(latency, interrupted=True, quick=False)
    assert list(by_id(stopped)) == ["qualify-interrupted"]
    refused = dataclasses.replace(latency, refused={"depth": "no room; hint: a larger drive"})
    found = by_id(refused)["test-refused"]
    assert (found.claim, found.hint) == ("depth cannot run: no room", "a larger drive")
    for ratio, far in ((0.79, True), (0.81, False), (1.19, False), (1.21, True)):
        made = dataclasses.replace(latency, worked=Worked(1000.0, ratio))
        assert ("rate-by-hand-missed" in by_id(made)) == far


def test_a_test_that_is_not_steady_says_so(latency: Qualification) -> None:
    (test,) = latency.rounds
    verdict = window([100.0 * 1.3**at for at in range(25)])
    assert verdict is not None
    assert (verdict.first, verdict.last, verdict.met) == (21, 25, False)
    moving: Rounds = dataclasses.replace(test, window=verdict, tracked=(1.0,) * 25)
    made = dataclasses.replace(latency, rounds=(moving,))
    text = by_id(made)["rounds-unsteady"].text
    assert "not met in 25 of at most 25 rounds; figures come from rounds 21 to 25" in text
    assert "not reached" in sheet(made)
    assert "not reached" not in sheet(latency)


def test_a_quick_test_of_a_preset_without_a_smaller_part_runs_on_the_whole() -> None:
    made = flashgc.qualify("mlc", tests="latency", quick=True, jobs=1)
    assert made.command == "flashgc qualify mlc --quick"
    assert made.of("latency") is not None
