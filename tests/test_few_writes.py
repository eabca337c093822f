"""Traces with hardly any writes: each command ends soon, or refuses in one line."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

import flashgc
from conftest import Command
from flashgc.studies.gaps import gap as gaps

HEADER = "time_us,op,offset_bytes,size_bytes,dev\n"
#: Requests and page writes of a trace of some 20,000 pages. A row of it once took minutes.
REQUESTS, WRITES = 93_312, 8
#: Seconds that each command may take; it takes one or two.
SOON = 30


def trace(path: Path, op: str, requests: int, writes: int = 0) -> Path:
    """A trace of one-page requests: ``writes`` of them are writes, all others ``op``."""
    draw = random.Random(5)
    writing = set(draw.sample(range(requests), writes))
    rows = (
        f"{at}.000,{'W' if at in writing else op},{4096 * draw.randrange(20_000)},4096,0\n"
        for at in range(requests)
    )
    path.write_text(HEADER + "".join(rows))
    return path


@pytest.fixture
def few(tmp_path: Path) -> Path:
    return trace(tmp_path / "few.csv", "R", REQUESTS, WRITES)


def test_foresight_reads_the_writes_alone(command: Command, few: Path) -> None:
    began = time.monotonic()
    made = command(
        "gap", few.name, "--spare", "40%", "--schemes", "fifo", "--sigma", "1", "--horizon", "50"
    )
    assert (made.returncode, "clairvoyance" in made.stdout) == (0, True), made
    assert time.monotonic() - began < SOON


def test_decisions_with_foresight_do_not_depend_on_how_it_is_read(tmp_path: Path) -> None:
    """Reads between writes do not affect decisions."""
    draw = random.Random(9)
    rows = [
        f"0.000,{draw.choice('WWWD')},{4096 * draw.randrange(900)},4096,0\n" for _ in range(9000)
    ]
    rows[:0] = [f"0.000,W,{4096 * page},4096,0\n" for page in range(900)]
    reads = [f"0.000,R,{4096 * draw.randrange(900)},4096,0\n" for _ in range(9000)]
    both = [row for pair in zip(rows, reads, strict=False) for row in pair]
    for name, lines in (("alone.csv", rows[:9000]), ("mixed.csv", both)):
        (tmp_path / name).write_text(HEADER + "".join(lines))
    counts = []
    for name in ("alone.csv", "mixed.csv"):
        made = flashgc.run(
            str(tmp_path / name), pages_per_block=8, spare="40%", passes=3, victim="cost-benefit",
            frontier="pool", placement="oracle:classes=5,horizon=2,sigma=0.5,errors=request",
        )  # fmt: skip
        counts.append((made.host_pages, made.copied_pages, made.erases, made.trimmed_pages))
    assert counts[0] == counts[1]
    assert counts[0][1] > 0


@pytest.mark.parametrize(
    ("options", "said", "hint"),
    [
        (["--writes", "20x"], "the run waits for ", ["--passes", "100"]),
        (["--warmup", "30x"], "the run waits for ", ["--warmup", "1/3"]),
        (["--collections", "1e6"], "the run waits for at least ", ["--passes", "100"]),
    ],
)
def test_a_length_in_writes_is_refused_with_its_number_and_a_hint_that_works(
    command: Command, few: Path, options: list[str], said: str, hint: list[str]
) -> None:
    began = time.monotonic()
    for what in (["run"], ["compare", "--victim", "greedy", "--victim", "fifo"]):
        made = command(*what, "--workload", few.name, "--spare", "20%", *options)
        assert (made.returncode, made.stdout) == (2, "")
        (line,) = made.stderr.splitlines()
        found = re.fullmatch(
            rf"error: {said}(\d+) page writes, and they take (\d+) replays: the trace has 8 page "
            rf"writes among 93312 page commands; hint: {' '.join(hint)}( in place of that length)?",
            line,
        )
        assert found is not None, line
        assert int(found[2]) == -(-int(found[1]) // WRITES)
        made = command(*what, "--workload", few.name, "--spare", "20%", *hint, "--quiet")
        assert made.returncode == 0, made.stderr
    assert time.monotonic() - began < SOON


def test_sight_through_too_many_replays_is_refused_with_a_sight_that_works(
    command: Command, tmp_path: Path
) -> None:
    """Foresight must read discards as well as writes."""
    few = trace(tmp_path / "trims.csv", "D", 60_000, 4)
    text = few.read_text().splitlines(keepends=True)
    rows = [f"0.000,R,{4096 * page},4096,0\n" for page in range(20_000)]
    few.write_text("".join([text[0], *rows, *text[1:]]))
    began = time.monotonic()
    words = ["gap", few.name, "--spare", "40%", "--schemes", "fifo", "--sigma", "1"]
    made = command(*words)
    assert (made.returncode, made.stdout) == (2, "")
    found = re.fullmatch(
        r"error: foresight sees (\d+) page writes ahead, which are (\d+) replays of the trace: it "
        r"has 4 page writes among 60000 page commands that are read ahead; hint: --horizon (\S+)\n",
        made.stderr,
    )
    assert found is not None, made.stderr
    assert int(found[2]) == int(found[1]) / 4
    made = command(*words, "--horizon", found[3])
    assert made.returncode == 0, made.stderr
    made = command(
        "run",
        "--workload",
        few.name,
        "--spare",
        "40%",
        "--frontier",
        "pool",
        "--placement",
        "oracle",
    )
    assert f"hint: --placement oracle:classes=16,horizon={found[3]}," in made.stderr, made.stderr
    assert time.monotonic() - began < 2 * SOON


@pytest.mark.parametrize("op", ["R", "D"])
def test_a_trace_without_writes_is_refused_in_a_line(
    command: Command, tmp_path: Path, op: str
) -> None:
    none = trace(tmp_path / "none.csv", op, 3000)
    counts = "3000 reads, 0 discards" if op == "R" else "0 reads, 3000 discards"
    for words in (
        ["run", "--workload"], ["compare", "--victim", "greedy", "--victim", "fifo", "--workload"],
        ["gap"],
    ):  # fmt: skip
        made = command(*words, none.name)
        assert (made.returncode, made.stdout) == (2, ""), words
        assert made.stderr == (
            f"error: none.csv: the trace has no writes ({counts}), so there is nothing to collect; "
            "hint: choose a trace with writes\n"
        )


def test_a_drive_with_a_clock_serves_reads_and_nothing_from_discards_alone(
    command: Command, tmp_path: Path
) -> None:
    none = trace(tmp_path / "none.csv", "D", 3000)
    words = (
        "run", "--drive", "timed", "--times", "read=60us,program=800us,erase=1.5ms,transfer=20us",
        "--pages-per-block", 8, "--spare", "40%", "--workload", none.name,
    )  # fmt: skip
    made = command(*words)
    assert (made.returncode, made.stdout) == (2, "")
    assert made.stderr == (
        "error: none.csv: the trace has no page to read or write (3000 discards); hint: choose a "
        "trace with reads or writes\n"
    )
    trace(none, "R", 3000)
    made = command(*words)
    assert made.returncode == 0, made.stderr
    assert "response time" in made.stdout


def test_a_gap_that_is_stopped_at_once_names_no_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    # This stands for Ctrl-C during the first measurement of the drive.
    monkeypatch.setattr(gaps, "_fits", lambda *_: None)
    found = flashgc.gap("uniform", blocks=200, pages_per_block=16, schemes=["fifo"])
    assert (found.blocks, found.spare_factor, found.online) == (None, None, ())
