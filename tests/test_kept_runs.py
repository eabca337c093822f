"""``run`` and ``compare`` with a file of results, and rankings of stored results."""

from __future__ import annotations

import json
import os
import resource
import shlex
import signal
import sqlite3
import subprocess
import warnings
import zlib
from pathlib import Path

import pytest

import flashgc
from conftest import COMMAND, Command, environment, kept_results
from flashgc.store import Store, schema
from flashgc.store.file import CEILING
from flashgc.store.schema import COUNTED
from flashgc.store.tidy import tidy

SMALL = ("--blocks", "256", "--pages-per-block", "16", "--writes", "40x")
DRIVE = {"blocks": 256, "pages_per_block": 16, "writes": "40x"}


def test_a_result_that_is_kept_is_not_run_again(tmp_path: Path, command: Command) -> None:
    first = command("run", *SMALL, "--results", "r", "--json")
    made = kept_results(tmp_path / "r")
    again = command("run", *SMALL, "--results", "r", "--json")
    assert json.loads(again.stdout) == json.loads(first.stdout)  # Speed and memory are stored, too.
    assert again.stderr == "found in r\n"
    assert len(made) == 1
    assert kept_results(tmp_path / "r") == made
    other = command("run", *SMALL, "--results", "r", "--seed", "2", "--json")
    assert json.loads(other.stdout)["digest"] != json.loads(first.stdout)["digest"]
    assert len(kept_results(tmp_path / "r")) == 2


def test_run_compare_and_sweep_share_what_they_keep(tmp_path: Path, command: Command) -> None:
    command("compare", *SMALL, "--victim", "greedy", "--victim", "fifo", "--results", "r")
    found = command("run", *SMALL, "--victim", "fifo", "--runs", "5", "--results", "r")
    assert found.stderr == "found in r\n"
    grid = {
        "drive": {"blocks": 256, "pages_per_block": 16},
        "gc": {"victim": ["greedy", "random"]},
        "run": {"writes": "40x", "runs": 5},
    }
    assert flashgc.sweep(grid, results=tmp_path / "r").found == 1


def test_a_comparison_of_found_results_is_the_one_that_runs_all(
    tmp_path: Path, command: Command
) -> None:
    policies = ("--victim", "greedy", "--victim", "fifo", "--victim", "random")
    whole = json.loads(command("compare", *SMALL, *policies, "--json").stdout)
    command("compare", *SMALL, *policies[:4], "--results", "r")
    parts = command("compare", *SMALL, *policies, "--results", "r", "--json")
    assert parts.stderr == "2 of 3 found in r\n"
    assert _ranks(json.loads(parts.stdout)) == _ranks(whole)


def _ranks(document: dict[str, object]) -> list[dict[str, object]]:
    ranking = document["ranking"]
    assert isinstance(ranking, list)
    return [{**rank, "result": rank["result"]["digest"]} for rank in ranking]


@pytest.mark.parametrize(
    "options",
    [
        ("--workload", "uniform:read=0.5"),
        ("--drive", "timed", "--times", "read=60us,program=800us,erase=1.5ms,transfer=20us"),
        ("--vm-page-cache", "1MiB", "--vm-scheme", "du-gc", "--vm-scheme", "da-gc"),
    ],
)
def test_every_kind_of_result_is_ranked_from_its_document(
    options: tuple[str, ...], tmp_path: Path, command: Command
) -> None:
    length = ("--requests", "2000") if options[0] != "--workload" else ("--writes", "2x")
    asked = ("compare", "--blocks", "64", "--pages-per-block", "64", *length, *options)
    policies = () if "--vm-scheme" in options else ("--victim", "greedy", "--victim", "fifo")
    whole = command(*asked, *policies, "--json")
    assert whole.returncode == 0, whole.stderr
    command(*asked, *policies, "--results", "r")
    found = command(*asked, *policies, "--results", "r", "--json")
    assert "found in r\n" in found.stderr
    assert _ranks(json.loads(found.stdout)) == _ranks(json.loads(whole.stdout))


def test_a_combination_that_cannot_be_is_named_beside_found_ones(command: Command) -> None:
    asked = ("compare", "--blocks", "64", "--pages-per-block", "16", "--victim", "greedy")
    spares = ("--spare", "20%", "--spare", "0.01%")
    first = json.loads(command(*asked, *spares, "--results", "r", "--json").stdout)
    again = json.loads(command(*asked, *spares, "--results", "r", "--json").stdout)
    assert len(again["left_out"]) == 1
    assert again["left_out"] == first["left_out"]


def test_the_command_of_a_kept_comparison_runs_one_of_it(tmp_path: Path, command: Command) -> None:
    command("compare", *SMALL, "--victim", "greedy", "--victim", "fifo", "--results", "r")
    with Store(tmp_path / "r", make=False) as store:
        rows = tidy(store)
    for row in rows:
        words = str(row["command"]).split()[1:]
        assert json.loads(command(*words, "--json").stdout)["digest"] == row["digest"]


def test_an_interrupted_run_is_not_kept(tmp_path: Path) -> None:
    words = [*COMMAND, "run", "--writes", "100000x", "--results", "r"]
    process = subprocess.Popen(words, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE)
    while not (tmp_path / "r").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert kept_results(tmp_path / "r") == {}


def test_a_full_disk_loses_no_result(tmp_path: Path) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    done = subprocess.run(
        [*COMMAND, "run", *SMALL, "--results", "r"],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, preexec_fn=limited,
    )  # fmt: skip
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_policy_that_is_in_no_file_is_refused(tmp_path: Path) -> None:
    def first(blocks: object) -> int:
        return 0

    with pytest.raises(flashgc.ConfigError, match=r"not in a file.*python:FILE.py:NAME"):
        flashgc.run(victim=first, results=tmp_path / "r", **DRIVE)  # type: ignore[arg-type]


def test_what_python_keeps_is_found(tmp_path: Path) -> None:
    first = flashgc.run(results=tmp_path / "r", **DRIVE)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = flashgc.run(results=tmp_path / "r", **DRIVE)  # type: ignore[arg-type]
    assert again.to_dict() == first.to_dict()
    both = flashgc.compare(["greedy", "fifo"], results=tmp_path / "r", **DRIVE)  # type: ignore[arg-type]
    assert flashgc.compare(["greedy", "fifo"], results=tmp_path / "r", **DRIVE) == both  # type: ignore[arg-type]


def test_results_of_one_run_and_of_five_are_not_paired_by_batches() -> None:
    """Batches come from the first run, so both have equal batches, but different figures."""
    one = flashgc.run(victim="greedy", **DRIVE)  # type: ignore[arg-type]
    five = flashgc.run(victim="greedy", runs=5, **DRIVE)  # type: ignore[arg-type]
    assert one.run_values[0] == five.run_values[0]
    last = flashgc.rank([one, five]).ranking[1]
    assert last.basis == "apart"
    halves = [result.write_amplification_ci95 or 0.0 for result in (one, five)]
    assert last.difference_ci95 == pytest.approx((halves[0] ** 2 + halves[1] ** 2) ** 0.5)


def test_saved_results_are_paired_as_those_of_one_comparison(
    tmp_path: Path, command: Command
) -> None:
    for name in ("greedy", "fifo"):
        command("run", *SMALL, "--victim", name, "--out", f"{name}.json")
    saved = json.loads(command("compare", "fifo.json", "greedy.json", "--json").stdout)
    made = command(
        "compare", *SMALL, "--runs", "1", "--victim", "greedy", "--victim", "fifo", "--json"
    )
    assert [rank.pop("name") for rank in saved["ranking"]] == ["greedy", "fifo"]
    assert _ranks(saved) == _ranks(json.loads(made.stdout))
    assert {rank["basis"] for rank in saved["ranking"][1:]} == {"batches"}


def test_experiments_are_compared(tmp_path: Path, command: Command) -> None:
    drive = "[drive]\nblocks = 64\npages_per_block = 16\n"
    (tmp_path / "old.toml").write_text(f'{drive}[gc]\nvictim = "fifo"\n')
    (tmp_path / "new.toml").write_text(f'{drive}[gc]\nvictim = ["greedy", "random"]\n')
    done = command("compare", "old.toml", "new.toml", "--writes", "3x", "--json")
    ranking = json.loads(done.stdout)["ranking"]
    assert [rank["name"] for rank in ranking] == [
        "new: greedy:ties=latest", "old", "new: random",
    ]  # fmt: skip
    assert {rank["basis"] for rank in ranking[1:]} == {"runs"}
    shown = command("compare", "old.toml", "new.toml", "--writes", "3x").stdout
    assert "They differ in\nvictim  greedy:ties=latest, fifo, random" in shown


def test_results_of_a_grid_are_named_by_their_options(tmp_path: Path, command: Command) -> None:
    """Names leave out derived values, such as logical pages, and folders of traces."""
    for name, pages in (("one", 40), ("two", 60)):
        rows = "".join(f"0,{8 * (at % pages)},8,1,1\n" for at in range(3 * pages))
        (tmp_path / f"{name}.csv").write_text(rows)
    (tmp_path / "grid.toml").write_text(
        '[drive]\npages_per_block = 4\nspare = ["40%", "50%"]\n[gc]\nvictim = "fifo"\n'
        f'[workload]\nsource = ["{tmp_path}/one.csv", "{tmp_path}/two.csv"]\n[run]\npasses = 9\n'
    )
    command("sweep", "grid.toml")
    done = command("compare", "grid.results", "--json")
    assert {rank["name"] for rank in json.loads(done.stdout)["ranking"]} == {
        "grid: fifo, blocks 17, spare 40%, workload one",
        "grid: fifo, blocks 20, spare 50%, workload one",
        "grid: fifo, blocks 25, spare 40%, workload two",
        "grid: fifo, blocks 30, spare 50%, workload two",
    }


@pytest.mark.parametrize(
    ("files", "error"),
    [
        (["a.json", "--spare", "7%"], "--spare only applies to experiments"),
        (["a.json", "--results", "r"], "--results only applies to experiments"),
        (["a.json", "none.json"], "none.json: no such file; hint: flashgc run --out writes one"),
        (["a.json", "bad.json"], "bad.json: no JSON document: "),
        (["a.json", "empty.json"], "empty.json: neither a result nor a comparison"),
        (["a.json", "three.json"], "three.json: neither a result nor a comparison"),
        (["a.json", "deep.json"], "deep.json: no JSON document: "),
        (["a.json", "nan.json"], "nan.json: not as flashgc wrote it: "),
        (["a.json", "word.json"], "word.json: not as flashgc wrote it: "),
        (["a.json", "a.json"], "a.json is given twice; hint: give it once"),
        (
            ["a.json", "t.toml"],
            "results are ranked by different figures: a by write amplification,",
        ),
        (["a.json", "none.results"], "EXPERIMENT: none.results: no such file"),
    ],
)
def test_files_that_cannot_be_compared_are_refused(
    files: list[str], error: str, tmp_path: Path, command: Command
) -> None:
    command("run", *SMALL, "--out", "a.json")
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "empty.json").write_text("[1]")
    (tmp_path / "three.json").write_text('{"ranking": 3}')
    (tmp_path / "deep.json").write_text("[" * 100_000)
    result = json.loads((tmp_path / "a.json").read_text())
    for name, found in (("nan", float("nan")), ("word", "x")):
        (tmp_path / f"{name}.json").write_text(json.dumps(result | {"write_amplification": found}))
    (tmp_path / "t.toml").write_text(
        '[drive]\nkind = "timed"\nblocks = 64\n'
        'times = "read=60us,program=800us,erase=1.5ms,transfer=20us"\n[run]\nrequests = 10\n'
    )
    done = command("compare", *files)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {error}")
    assert done.stderr.count("\n") == 1


def test_two_at_once_keep_both(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [*COMMAND, "run", *SMALL, "--seed", str(seed), "--results", "r"],
            cwd=tmp_path, env=environment() | os.environ, stdout=subprocess.DEVNULL,
        )
        for seed in range(1, 5)
    ]  # fmt: skip
    assert [process.wait(60) for process in processes] == [0] * 4
    assert len(kept_results(tmp_path / "r")) == 4


def put_packed(store: Path, packed: bytes) -> None:
    """Replaces the stored document of a file of results, with valid checksums."""
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE documents SET result = ?", (packed,))
        names = (*schema.SUMMED, "config", "asked", "result")
        query = f"SELECT {', '.join(names)} FROM results JOIN documents USING (id)"
        row = dict(zip(names, connection.execute(query).fetchone(), strict=True))
        documents = [row[name] for name in ("config", "asked", "result")]
        row["document"] = schema.of_documents(row["key"], documents)
        signed = (row["document"], schema.of_row(row))
        connection.execute("UPDATE results SET document = ?, sum = ?", signed)
        counted = connection.execute(COUNTED).fetchone()
        connection.execute("UPDATE state SET results = ?, total = ?", counted)
    connection.close()


def test_a_document_that_inflates_without_end_is_refused_in_one_line(
    tmp_path: Path, command: Command
) -> None:
    command("run", *SMALL, "--results", "r")
    (key,) = kept_results(tmp_path / "r")
    small = '{"x":"%s"}' % ("0" * (CEILING - 8))
    put_packed(tmp_path / "r", zlib.compress(small.encode()))
    with Store(tmp_path / "r") as store:
        kept = store.load(key)
        assert kept is not None
        assert kept.result is not None
        assert len(kept.result["x"]) == CEILING - 8
    # A gigabyte packed into 5 MB: inflating all of it would exceed the memory limit.
    packing = zlib.compressobj(1)
    begin = packing.flush(zlib.Z_FULL_FLUSH)
    part = packing.compress(b"1," * (32 << 20)) + packing.flush(zlib.Z_FULL_FLUSH)
    put_packed(tmp_path / "r", b"".join((begin, part * 16, packing.flush())))
    limit = (1 << 30, 1 << 30)
    for words in (
        ("report", "r", "-o", "page.html"),
        ("results", "show", "r", key[:10]),
        ("run", *SMALL, "--results", "r"),
    ):
        refused = subprocess.run(
            [*COMMAND, *map(str, words)],
            cwd=tmp_path, env=environment(), capture_output=True, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, limit),
        )  # fmt: skip
        assert refused.returncode == 2, refused.stderr
        assert refused.stderr.count("\n") == 1
        assert "more than 16777216 bytes, expected at most that; hint: " in refused.stderr
    # The command in the hint works.
    hint = shlex.split(refused.stderr.strip().split("hint: ")[1])
    assert command(*hint[1:]).returncode == 0
    assert kept_results(tmp_path / "r") == {}


def test_runs_that_draw_nothing_are_said_to_count_as_one(tmp_path: Path, command: Command) -> None:
    flashgc.trace_synth("hotcold:f=0.1,r=0.9", tmp_path / "t.csv", pages=500, requests=3000)
    trace = ("--workload", "t.csv", "--pages-per-block", "16", "--passes", "4", "--runs", "3", "-q")
    said = ", all identical: one counts"
    times = "read=60us,program=800us,erase=1.5ms,transfer=20us"
    assert f"3 runs{said}" in command("run", *trace, "--victim", "greedy").stdout
    assert said not in command("run", *trace, "--victim", "random").stdout
    assert said not in command("run", *trace[:-3], "-q", "--victim", "greedy").stdout
    both = ("--victim", "greedy", "--victim", "fifo")
    assert f"3 of each, on the same writes{said}" in command("compare", *trace, *both).stdout
    assert said not in command("compare", *trace, *both, "--victim", "random").stdout
    timed = ("--drive", "timed", "--times", times, "--victim", "greedy")
    assert f"3 runs{said}" in command("run", *trace[:4], *trace[6:], *timed).stdout
