"""``flashgc reproduce`` as people run it: its output, its files, and its errors."""

from __future__ import annotations

import csv
import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy
import pytest

from conftest import COMMAND, Command, environment, kept_results
from flashgc.store.cache import FILE
from flashgc_papers.reproduce.tasks import models

#: Two claims of models alone, which take a second.
MODELS = ("dchoices.table1.model", "dchoices.fig2")
SIMULATED = "dchoices.single-equals-double"
#: A claim with five simulations of a fraction of a second each.
BRIEF = "zombie.table3"
#: A simulated claim with few rows: its data files are small, but its page is not.
SMALL = "pgc.states"


def results(folder: Path) -> dict[str, object]:
    made: dict[str, object] = json.loads((folder / "results.json").read_text())
    return made


def test_rows_are_shown_with_verdicts(command: Command, snapshot: object) -> None:
    made = command("reproduce", *MODELS)
    assert (made.returncode, made.stderr) == (0, "")
    snapshot("reproduce-models.txt", made.stdout)


def test_the_list_runs_nothing(command: Command, tmp_path: Path) -> None:
    made = command("reproduce", "--list")
    assert made.returncode == 0
    assert made.stdout.count("\n") > 42
    assert "waits for" not in made.stdout
    listed = json.loads(command("reproduce", "dchoices.fig1", "--list", "--json").stdout)
    assert [claim["id"] for claim in listed["claims"]] == ["dchoices.fig1"]
    assert list(tmp_path.iterdir()) == []


def test_the_documents_agree(command: Command, tmp_path: Path) -> None:
    made = command("reproduce", *MODELS, "--json", "--out", "folder")
    document = json.loads(made.stdout)
    folder = tmp_path / "folder"
    assert document == results(folder)
    assert list(document) == [
        "version", "size", "what", "command", "interrupted", "counts", "rows", "papers", "claims",
    ]  # fmt: skip
    table = document["claims"][0]
    with open(folder / "tables" / "dchoices.table1.model.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["measured"]) for row in rows] == [row["measured"] for row in table["rows"]]
    # The first row of the paper's Table 1.
    assert (rows[0]["label"], rows[0]["published"]) == ("64, 0.08, 5, 2", "6.2461")
    names = {path.name for path in folder.glob("figures/*")}
    assert names == {"dchoices.fig2.csv", "dchoices.fig2.svg"}
    svg = (folder / "figures" / "dchoices.fig2.svg").read_text()
    page = (folder / "report.html").read_text()
    assert svg in page


def test_the_commands_on_the_page_give_the_numbers_one_by_one(
    command: Command, tmp_path: Path
) -> None:
    document = json.loads(command("reproduce", "dchoices.table1.model", "--json").stdout)
    (table,) = document["claims"]
    first, *words = shlex.split(table["commands"][0])
    assert first == "flashgc"
    alone = json.loads(command(*words, "--json").stdout)
    assert alone["write_amplification"] == table["rows"][0]["measured"]


def test_a_curve_is_one_line_of_python() -> None:
    made = models("meanfield", pages_per_block=16, spare=numpy.array([[0.1], [0.2]]), d=5,
                  c=numpy.array([0, 1, 2]))  # fmt: skip
    python, option, program = shlex.split(made.command)
    assert (python, option) == ("python", "-c")
    printed = subprocess.run(
        [sys.executable, option, program], env=environment(), text=True, capture_output=True
    )
    assert printed.stdout == f"{made.call()}\n", printed.stderr


def test_the_same_claims_give_the_same_bytes(command: Command, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        assert command("reproduce", "dchoices.fig2", "--out", folder).returncode == 0
    for name in ("report.html", "results.json", "figures/dchoices.fig2.svg"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dchoices.fig33"], "WHAT: nothing published is called 'dchoices.fig33'; hint: did you"),
        (["dchoices."], "WHAT: nothing published is called 'dchoices.'; hint: did you mean"),
        ([""], "WHAT: nothing published is called ''; hint: "),
        (
            ["ssdiq.zones.greedy", "zombie.fig2-3", "--readings", "all"],
            "--readings: found with ssdiq.zones.greedy, zombie.fig2-3, where no claim has "
            "readings; hint: leave it out",
        ),
        (["--quick", "--full"], "--full: found together with --quick; hint: give one of them"),
        (
            ["--jobs", "-1"],
            "--jobs: '-1' is negative; hint: write a whole number from 0 to 4096",
        ),
        (["--out", "file"], "--out: file is a file; hint: give a folder or a new name"),
        (["--out", "file/in"], "--out: file/in: Not a directory; hint: give another folder"),
        (["--out", ""], "--out: the name is empty; hint: give a folder"),
        (["--out", "/proc/nothing"], "--out: /proc/nothing: "),
    ],
)
def test_bad_input_is_one_line(
    command: Command, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "file").write_text("")
    made = command("reproduce", *arguments)
    assert made.returncode == 2
    assert made.stdout == ""
    assert made.stderr.startswith(f"error: {message}"), made.stderr
    assert made.stderr.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"file"}


def test_a_quick_run_has_the_chosen_reading_alone_unless_all_are_asked_for(
    command: Command,
) -> None:
    claims = []
    for asked in ((), ("--readings", "all")):
        made = command("reproduce", "zombie.written", "--quick", *asked, "--json", "--out", "made")
        assert made.returncode == 0, made.stderr
        document = json.loads(made.stdout)
        assert document["command"] == " ".join(("flashgc reproduce zombie.written --quick", *asked))
        claims += document["claims"]
    alone, beside = claims
    assert list(alone["readings"]) == ["idle"]
    assert list(beside["readings"]) == ["idle", "literal", "passing"]
    assert alone["left_out"].endswith("; the reading literal; the reading passing")
    assert "the reading" not in beside["left_out"]
    assert [row for row in beside["rows"] if row["reading"] == "idle"] == alone["rows"]
    assert alone["verdict"] == beside["verdict"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unwritable to root")
def test_a_folder_that_may_not_be_written(command: Command, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    for name in ("locked", "locked/new"):
        made = command("reproduce", "dchoices.fig2", "--out", name)
        assert made.returncode == 2
        assert "hint: give another folder" in made.stderr


def test_where_nothing_can_be_written_the_rows_are_still_shown(tmp_path: Path) -> None:
    def no_file_grows() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    made = subprocess.run(
        [*COMMAND, "reproduce", SMALL, "--quick"],
        cwd=tmp_path,
        env=environment(),
        text=True,
        capture_output=True,
        timeout=120,
        preexec_fn=no_file_grows,
    )
    assert made.returncode == 1
    assert "state 1, the longest read, in ms" in made.stdout
    assert "page:" not in made.stdout
    assert made.stderr.startswith("error: flashgc-reproduce/")
    assert made.stderr.endswith("File too large\n")
    folder = tmp_path / "flashgc-reproduce"
    # SQLite's three files may remain; they are empty so far.
    left = {path.name for path in folder.rglob("*") if path.is_file() and FILE not in path.name}
    assert left == {"results.json", f"{SMALL}.csv"}, "small files, and no torn one"
    counts = results(folder)["counts"]
    assert isinstance(counts, dict)
    assert {verdict: n for verdict, n in counts.items() if n} == {"met": 1}
    again = subprocess.run(
        [*COMMAND, "reproduce", SMALL, "--quick"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=120,
    )
    assert (again.returncode, again.stderr) == (0, b"")


def start(folder: Path, claim: str = SIMULATED) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "reproduce", claim, "--quick", "--out", "made"],
        cwd=folder,
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def kept(folder: Path) -> dict[str, float]:
    return kept_results(folder / "made" / "cache" / FILE)


def until_something_is_kept(folder: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not kept(folder):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_killed_work_goes_on_where_it_was(tmp_path: Path) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    whole.mkdir()
    torn.mkdir()
    process = start(torn, BRIEF)
    until_something_is_kept(torn, process)
    process.kill()
    process.communicate()
    before = kept(torn)
    assert not (torn / "made" / "results.json").exists()
    for folder in (torn, whole):
        process = start(folder, BRIEF)
        _, error = process.communicate(timeout=120)
        assert (process.returncode, error) == (0, "")
    assert before.items() <= kept(torn).items()
    assert (torn / "made/report.html").read_bytes() == (whole / "made/report.html").read_bytes()


def test_ctrl_c_leaves_a_page_of_what_there_is(tmp_path: Path) -> None:
    process = start(tmp_path)
    until_something_is_kept(tmp_path, process)
    process.send_signal(signal.SIGINT)
    printed, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "warning: interrupted: give the same command again to go on\n" in error
    document = results(tmp_path / "made")
    assert document["interrupted"] is True
    (claim,) = document["claims"]  # type: ignore[misc]
    assert claim["verdict"] == "not-run"
    not_run = [row for row in claim["rows"] if row["verdict"] == "not-run"]
    assert not_run
    assert {row["why"] for row in not_run} == {"interrupted"}
    assert "not-run" in printed
    assert "It was interrupted" in (tmp_path / "made" / "report.html").read_text()


def test_two_at_once_in_one_folder(tmp_path: Path) -> None:
    processes = [start(tmp_path, BRIEF), start(tmp_path, BRIEF)]
    printed = [process.communicate(timeout=600) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], printed
    (tmp_path / "alone").mkdir()
    alone = start(tmp_path / "alone", BRIEF).communicate(timeout=600)
    assert printed == [alone, alone]
    assert len(kept(tmp_path)) == 15
    assert not list(tmp_path.rglob("*.part"))
    (claim,) = results(tmp_path / "made")["claims"]  # type: ignore[misc]
    assert "not-run" not in {claim["verdict"], *(row["verdict"] for row in claim["rows"])}
