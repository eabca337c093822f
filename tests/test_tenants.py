"""Tenants of one drive: declaration in files, options and Python; errors; output."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Command

import flashgc
from flashgc.results import Result
from flashgc.store import Store
from flashgc.store.tidy import tidy

DRIVE = (
    "--drive", "timed", "--times", "read=50us,program=200us,erase=1.5ms", "--blocks", "64",
    "--pages-per-block", "16", "--spare", "20%", "--warmup", "0", "--requests", "4000",
)  # fmt: skip
DB = "name=db; workload=zipf:read=0.8; arrivals=poisson:rate=500; priority=urgent; space=25%"
BULK = "name=bulk; workload=uniform; arrivals=closed:threads=8"
FILE = """\
[drive]
kind = "timed"
times = "read=50us,program=200us,erase=1.5ms"
blocks = 64
pages_per_block = 16
spare = "20%"

[[tenant]]
name = "db"
workload = "zipf:read=0.8"
arrivals = "poisson:rate=500"
priority = "urgent"
space = "25%"

[[tenant]]
name = "bulk"
workload = "uniform"
arrivals = "closed:threads=8"

[run]
warmup = "0"
requests = 4000
"""


def document(command: Command, *words: str) -> dict[str, object]:
    done = command("run", *words, "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    for key in ("page_programs_per_second", "peak_memory_bytes"):
        made.pop(key)
    return dict(made)


def refused(command: Command, *words: str) -> str:
    """Runs a command that must fail, and returns its one line of standard error."""
    done = command("run", *words, "--quiet")
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.startswith("error: ")
    return str(done.stderr)


def test_files_options_and_python_ask_for_the_same(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "tenants.toml"
    file.write_text(FILE)
    typed = document(command, *DRIVE, "--tenant", DB, "--tenant", BULK)
    read = document(command, str(file))
    # Findings are left out, because they name options as they were given.
    assert {**read, "findings": []} == {**typed, "findings": []}
    values = flashgc.run(
        kind="timed", times="read=50us,program=200us,erase=1.5ms", blocks=64, pages_per_block=16,
        spare=0.2, warmup=0, requests=4000,
        tenant=[
            {"name": "db", "workload": "zipf:read=0.8", "arrivals": "poisson:rate=500",
             "priority": "urgent", "space": 0.25},
            BULK,
        ],
    )  # fmt: skip
    assert values.digest == typed["digest"]
    assert values.timing is not None
    db, bulk = values.timing.tenants
    assert (db.name, bulk.name) == ("db", "bulk")
    assert db.requests + bulk.requests == 4000
    assert db.share == db.requests / 4000
    assert db.read_us is not None
    assert db.read_us.requests < db.requests
    assert bulk.read_us is None
    again = Result.from_dict(json.loads(values.to_json()))
    assert again.timing is not None
    assert again.timing.tenants == values.timing.tenants


def test_options_replace_the_tenants_of_a_file(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "tenants.toml"
    file.write_text(FILE)
    one = document(command, str(file), "--tenant", BULK)
    assert [tenant["name"] for tenant in one["tenants"]] == ["bulk"]  # type: ignore[attr-defined]


def test_a_result_shows_what_each_tenant_got_in_80_columns(command: Command) -> None:
    done = command("run", *DRIVE, "--tenant", DB, "--tenant", BULK, "--quiet")
    assert done.returncode == 0, done.stderr
    text = done.stdout
    assert "tenant db            zipf:theta=0.99,scatter=yes,read=0.8, arrivals " in text
    table = text[text.rindex("\n\ntenant") :].split("\n")[2:-1]
    assert table[0].split() == [
        "tenant",
        "share",
        "requests/s",
        "mean",
        "p50",
        "p99",
        "p99.9",
        "max",
    ]
    assert [line[:4].strip() for line in table[1:]] == ["db", "", "bulk"], text
    assert [" write " in line for line in table[1:]] == [False, True, True]
    assert max(map(len, table)) <= 80


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            'priority = "urgent"',
            'prioritty = "urgent"',
            "FILE:12:1: unknown key 'prioritty' of a tenant; hint: did you mean 'priority'?",
        ),
        (
            'priority = "urgent"',
            'priority = "urgnt"',
            "FILE:12:1: found 'urgnt', expected urgent, high, medium or low; hint: did you mean "
            "'urgent'?",
        ),
        (
            'workload = "uniform"',
            'workload = "unifrom"',
            "FILE:17:1: unknown workload 'unifrom'; hint: did you mean 'uniform'?",
        ),
        (
            'name = "bulk"\n',
            "",
            "FILE:15:1: a tenant has no name; hint: write name=db",
        ),
        (
            'space = "25%"',
            "space = true",
            "FILE:13:1: found true, expected a value; hint: write 25%",
        ),
        (
            'space = "25%"',
            'space = "120%"',
            "FILE:13:1: space=120% is not a share from 0% to 100%; hint: for example space=25%",
        ),
        (
            'name = "bulk"',
            'name = "db"',
            "FILE:8:3: tenant 'db' is the name of two; hint: give each a name of its own",
        ),
        (
            "requests = 4000",
            "passes = 3",
            "FILE:22:1: passes does not go with tenant: a tenant's trace begins again at its end, "
            "so that all tenants go on until the last; hint: give --requests, for example 1000000",
        ),
        (
            "[run]",
            '[workload]\nsource = "zipf"\n\n[run]',
            "FILE:21:1: source does not go with tenant: each tenant has its own; hint: write "
            "workload= in each tenant",
        ),
        (
            'kind = "timed"\ntimes = "read=50us,program=200us,erase=1.5ms"\n',
            "",
            "FILE:6:3: tenant only applies to --drive timed: tenants take turns in a queue, and a "
            "counting drive has none; hint: add --drive timed",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    command: Command, tmp_path: Path, old: str, new: str, expected: str
) -> None:
    file = tmp_path / "tenants.toml"
    assert FILE.count(old) == 1
    file.write_text(FILE.replace(old, new))
    assert refused(command, str(file)) == f"error: {expected.replace('FILE', str(file))}\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ("--tenant", BULK, "--workload", "zipf"),
            "--workload does not go with --tenant: each tenant has its own; hint: write workload= "
            "in each tenant",
        ),
        (
            ("--arbitration", "high=2"),
            "--arbitration only applies with --tenant: one host waits for no other; hint: add "
            "--tenant 'name=db; workload=zipf'",
        ),
        (
            ("--tenant", BULK, "--arbitration", "urgent=2"),
            "--arbitration: found 'urgent', expected the weights of high, medium and low; hint: "
            "for example high=4,medium=2,low=1; urgent goes first and has no weight",
        ),
        (
            ("--tenant", BULK, "--format", "msr"),
            "--format only applies to traces, and no tenant has one; hint: leave it out, or name "
            "a trace",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    command: Command, words: tuple[str, ...], expected: str
) -> None:
    assert refused(command, *DRIVE, *words) == f"error: {expected}\n"


def test_a_trace_fits_the_part_of_its_tenant_or_is_refused(
    command: Command, tmp_path: Path
) -> None:
    trace = tmp_path / "a.csv"
    rows = [f"{number},W,{number * 4096},4096,0" for number in range(512)]
    trace.write_text("\n".join(["time_us,op,offset_bytes,size_bytes,dev", *rows]) + "\n")
    tenant = f"name=replay; workload={trace}; arrivals=closed:threads=2"
    # 64 blocks of 16 pages at 20% spare have 819 pages.
    found = refused(command, *DRIVE, "--tenant", f"{tenant}; space=50%", "--tenant", BULK)
    assert found == (
        "error: --tenant replay: its workload addresses 512 pages, and its part of the drive has "
        "410; hint: space=63%, or more blocks\n"
    )
    made = document(command, *DRIVE, "--tenant", f"{tenant}; space=63%", "--tenant", BULK)
    replayed = made["tenants"][0]  # type: ignore[index]
    assert replayed["requests"] > 0


def test_kept_results_have_columns_for_each_tenant_and_a_command(
    command: Command, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.results"
    words = (*DRIVE, "--tenant", DB, "--tenant", BULK)
    made = document(command, *words, "--results", str(kept))
    other = document(command, *DRIVE, "--tenant", BULK, "--results", str(kept))
    assert other["digest"] != made["digest"]
    with Store(kept, make=False) as store:
        row, second = tidy(store)
    tenants: list[dict[str, dict[str, float]]] = made["tenants"]  # type: ignore[assignment]
    assert row["tenant"] == f"{DB} | {BULK}"
    assert row["tenant_db_share"] + row["tenant_bulk_share"] == pytest.approx(1)
    assert row["tenant_db_read_p99_us"] == tenants[0]["read_us"]["p99"]
    assert "tenant_db_share" not in second
    again = shlex.split(str(row["command"]))[2:]
    assert document(command, *again)["digest"] == made["digest"]


def test_a_search_runs_tenants_and_a_grid_refuses_them(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "tenants.toml"
    file.write_text(FILE)
    found = command(
        "find", "queue_depth", file, "--wanted", "all_mean_us<1000000", "--from", 4, "--to", 8,
        "--json",
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert '"all_mean_us":' in found.stdout
    refusal = f"error: {file}:8:3: no cell of a grid has it; hint: flashgc run, with a file for "
    assert command("sweep", file).stderr.startswith(refusal)


@pytest.mark.parametrize(("placement", "requests"), [("none", 200_000), ("fdp:handles=2", 10_000)])
def test_two_tenants_cost_what_their_mixture_does_without_a_clock(
    placement: str, requests: int
) -> None:
    """One tenant writes its half in order, the other at random; each has its own stream.

    Requests arrive at random, as those of a mixture do. Tenants that take turns would mix their
    pages evenly, which costs less without handles. With handles, a short run shows that streams
    are used during the warm-up, too.
    """
    drive: dict[str, Any] = {
        "blocks": 600, "pages_per_block": 32, "spare": "14.5%", "victim": "greedy",
        "placement": placement, "warmup": "8x", "runs": 4,
    }  # fmt: skip
    mixture = "0.5*sequential:to=0.5,stream=0 + 0.5*uniform:from=0.5,stream=1"
    counting = flashgc.run(**drive, frontier="pool:low=2", workload=mixture, writes="12x")
    rest = "space=50%; arrivals=poisson:rate=100"
    timed = flashgc.run(
        **drive, kind="timed", times="read=50us,program=500us,erase=3ms", requests=requests,
        tenant=[
            f"name=a; workload=sequential:stream=0; {rest}",
            f"name=b; workload=uniform:stream=1; {rest}",
        ],
    )  # fmt: skip
    assert timed.write_amplification == pytest.approx(counting.write_amplification, rel=0.02)
