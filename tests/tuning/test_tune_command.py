"""The output, the files and the errors of ``flashgc tune``."""

from __future__ import annotations

import json
import os
import signal
import tomllib
from pathlib import Path

import pytest

import flashgc
from conftest import ROOT, Command, ended, keeping, kept_results, started

SMALL = (
    "tune", "hotcold:f=0.1,r=0.9", "--blocks", 128, "--pages-per-block", 16, "--writes", "4x",
    "--spare", "15%", "--runs", 2, "--jobs", 1,
)  # fmt: skip
LONG = (
    "tune", "uniform", "--blocks", 300, "--writes", "30x", "--budget", 60, "--jobs", 1,
    "--victim", "greedy", "--victim", "d-choices",
)  # fmt: skip
TRACE = ROOT / "data" / "pgbench-ext4.csv.zst"
TIMED = (
    "--device", "mlc", "--blocks", 64, "--pages-per-block", 16, "--requests", 500, "--spare", "20%",
)  # fmt: skip
KEYS = {
    "workload", "objective", "ranking", "holds_up", "beaten_by", "rungs", "held_back", "skipped",
    "simulations", "found", "interrupted", "out_of_time", "seed", "version", "experiment",
    "findings",
}  # fmt: skip
OF_ENTRIES = {
    "place", "victim", "placement", "frontier", "origin", "figure", "difference", "difference_ci95",
    "inside_noise", "is_reference", "held_back", "held_back_difference", "held_back_ci95",
    "findings",
}  # fmt: skip


def test_the_page_has_80_columns_and_the_document_its_keys(command: Command) -> None:
    made = command(*SMALL, "--budget", 45, "--out", "found.json", "--quiet")
    assert made.returncode == 0, made.stderr
    assert all(line.startswith("warning: ") for line in made.stderr.splitlines())
    assert max(map(len, made.stdout.splitlines())) <= 80
    assert all(line == line.rstrip() for line in made.stdout.splitlines())
    again = command("tune", "--workload", *SMALL[1:], "--budget", 45, "--json", "--quiet")
    document = json.loads(again.stdout)
    assert set(document) == KEYS
    assert all(set(entry) == OF_ENTRIES for entry in document["ranking"])
    assert document["simulations"] == 0
    best = document["ranking"][0]
    assert f"{best['figure']:.4f}" in made.stdout
    assert f"{best['held_back']:.4f}" in made.stdout
    told = " ".join(made.stdout.split())
    assert "less than greedy" in told
    assert "(held back) it holds up" in told
    assert "skipped: " in told
    assert document["rungs"][0]["candidates"] == 45


def test_the_winner_is_an_experiment_that_shows_its_figure_again(
    command: Command, tmp_path: Path
) -> None:
    made = command(*SMALL, "--budget", 40, "--save", "best.toml", "--json", "--quiet")
    assert made.returncode == 0, made.stderr
    best = json.loads(made.stdout)["ranking"][0]
    again = json.loads(command("run", "best.toml", "--json", "--quiet").stdout)
    assert again["write_amplification"] == pytest.approx(best["figure"])
    assert again["config"]["victim"] == best["victim"]
    written = tomllib.loads((tmp_path / "best.toml").read_text())
    assert written["drive"]["blocks"] == "128"
    traced = command(
        "tune", TRACE, "--pages-per-block", 64, "--spare", "7%", "--victim", "greedy:ties=latest",
        "--victim", "fifo", "--placement", "none", "--frontier", "pool", "--budget", 2,
        "--save", "traced.toml", "--json", "--quiet",
    )  # fmt: skip
    assert traced.returncode == 0, traced.stderr
    best = json.loads(traced.stdout)["ranking"][0]
    again = json.loads(command("run", "traced.toml", "--json", "--quiet").stdout)
    assert again["write_amplification"] == best["figure"]
    # Tuning uses the first 70% of 1 187 649 page writes; a third of them is warm-up.
    assert again["host_pages"] == 831_354 - 277_118


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nosuch"], ["WORKLOAD", "unknown"]),
        (["none.csv"], ["none.csv"]),
        (["uniform", "--objective", "life"], ["needs --endurance: ", "hint: add --endurance 1000"]),
        (["uniform", "--objective", "lief"], ["--objective", "did you mean 'life'?"]),
        ([TRACE, "--objective", "life", "--endurance", "100"], ["life needs a generator"]),
        (
            ["uniform:read=0.5", "--objective", "p99.9-read", "--device", "mlc"],
            ["needs times of arrival", "--arrivals poisson:rate=2000"],
        ),
        (
            ["uniform", "--objective", "p99.9-read", "--drive", "counting"],
            ["needs --drive timed", "hint:"],
        ),
        (
            ["uniform", "--objective", "p99.9-read", "--arrivals", "poisson:rate=9", *TIMED],
            ["nothing was measured: no reads", "uniform:read=0.5"],
        ),
        (["uniform", "--budget", "3"], ["--budget: found 3", "start with their defaults"]),
        (["uniform", "--budget", "many"], ["--budget", "hint: write 81"]),
        (["uniform", "--time", "5"], ["--time: found '5'", "hint: write 10min"]),
        (["uniform", "--time", "5min", "--budget", "50"], ["--time: found together with --budget"]),
        (["uniform", "--hold-back", "20%"], ["--hold-back only applies to traces"]),
        ([TRACE, "--hold-back", "99%"], ["--hold-back: found 99%, expected 5% to 90%"]),
        ([TRACE, "--hold-back", "much"], ["--hold-back", "much"]),
        ([TRACE, "--writes", "20x"], ["--writes only applies to generators"]),
        ([TRACE, "--runs", "3"], ["--runs only applies to generators"]),
        ([TRACE, "--warmup", "10x"], ["--warmup: found '10x', expected a share"]),
        (["uniform", "--runs", "1"], ["--runs: found 1, expected 2 to 30"]),
        (["uniform", "--until", "precision=1%"], ["--until", "hint:"]),
        (["uniform", "--until", "system-failure"], ["--until", "hint: give the objective life"]),
        (["uniform", "--spare", "7%", "--spare", "10%"], ["--spare: found 7%, 10%, expected one"]),
        (["uniform", "--mapping", "fast"], ["--mapping", "chooses its own blocks"]),
        (["uniform", "--victim", "gredy"], ["--victim", "did you mean 'greedy'?"]),
        (["uniform", "--victim", "python:mine.py:pick"], ["mine.py"]),
        (["uniform", "--victim", "fifo", "--victim", "fifo"], ["--victim", "given twice"]),
        (
            ["uniform", "--scheme", "gc-gd", "--victim", "fifo"],
            ["--victim does not go with --scheme: a scheme is a victim policy"],
        ),
        (["uniform", "--passes", "3"], ["unknown option '--passes'"]),
        (["uniform", "--save", "no/such/best.toml"], ["--save", "no such folder"]),
        (["uniform", "--plot", "best.xyz"], ["--plot"]),
        (["uniform", "--cache", ""], ["--cache: the name is empty"]),
        ([], ["WORKLOAD is missing"]),
        (["zipf", "--workload", "uniform"], ["found WORKLOAD and --workload"]),
        (["--workload", "nosuch"], ["--workload", "unknown"]),
    ],
    ids=lambda value: " ".join(map(str, value[-2:])) if isinstance(value, list) else None,
)
def test_what_cannot_be_searched_is_refused_in_one_line(
    command: Command, arguments: list[object], words: list[str]
) -> None:
    made = command("tune", *arguments)
    assert made.returncode == 2, (made.stdout, made.stderr)
    assert made.stdout == ""
    (line,) = made.stderr.splitlines()
    assert line.startswith("error: ")
    for word in words:
        assert word in line


def test_a_cache_that_is_a_file_is_refused(command: Command, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("")
    made = command(*SMALL, "--cache", "kept")
    assert (made.returncode, made.stdout) == (2, "")
    assert "--cache: kept is a file" in made.stderr


def test_a_trace_that_can_be_read_once_is_refused(command: Command, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    made = command("tune", "pipe.csv")
    assert (made.returncode, made.stdout) == (2, "")
    assert "pipe.csv can be read once" in made.stderr


def test_a_short_trace_is_refused(command: Command, tmp_path: Path) -> None:
    flashgc.trace_synth("uniform", tmp_path / "short.csv", pages=500, requests=600)
    made = command("tune", "short.csv", "--pages-per-block", 16)
    assert made.returncode == 2
    assert "the trace has 600 writes, expected at least 1000" in made.stderr


def test_ctrl_c_shows_the_ranking_so_far_and_the_next_search_goes_on(tmp_path: Path) -> None:
    words = (*LONG, "--cache", str(tmp_path / "kept"))
    process = started(*words)
    keeping(process, tmp_path / "kept")
    code, out, errors = ended(process, signal.SIGINT)
    assert code == 130, errors
    assert "Interrupted" in out
    assert "give the same command again" in errors
    assert "Traceback" not in errors
    assert max(map(len, out.splitlines())) <= 80


def test_a_search_that_is_killed_in_its_first_rung_has_kept_what_was_done(
    command: Command, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    words = (*LONG, "--cache", str(kept), "--quiet", "--json")
    process = started(*words)
    keeping(process, kept)
    process.kill()
    process.communicate(timeout=60)
    # One stored result is the short run that measures the drive.
    done = len(kept_results(kept))
    process = started(*words)
    keeping(process, kept, done + 1)
    code, out, _ = ended(process, signal.SIGINT)
    assert code == 130
    document = json.loads(out)
    assert document["found"] >= done - 1
    assert document["found"] + document["simulations"] < 60


def test_the_picture_has_a_row_for_each_configuration(command: Command, tmp_path: Path) -> None:
    made = command(*SMALL, "--budget", 40, "--plot", "found.svg", "--json", "--quiet")
    assert made.returncode == 0, made.stderr
    picture = (tmp_path / "found.svg").read_text()
    document = json.loads(made.stdout)
    assert "write amplification" in picture
    assert "held back" in picture
    victims = {entry["victim"].split(":")[0] for entry in document["ranking"]}
    assert all(victim in picture for victim in victims)


def test_a_file_that_is_no_experiment_is_not_lost(command: Command, tmp_path: Path) -> None:
    (tmp_path / "g.results").write_text("results of a week")
    made = command(*SMALL, "--save", "g.results")
    assert made.returncode == 2
    assert "--save: g.results exists and is no experiment file" in made.stderr
    assert (tmp_path / "g.results").read_text() == "results of a week"


def test_a_search_in_which_nothing_can_be_is_an_error(command: Command) -> None:
    made = command(
        *SMALL, "--frontier", "compact", "--placement", "sepbit", "--budget", 17, "--quiet"
    )
    assert made.returncode == 2
    assert "no combination was measured" in made.stderr
