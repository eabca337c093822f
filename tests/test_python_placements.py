"""Placements written in Python: their decisions on every kind of drive, and their failures."""

from __future__ import annotations

import json
import random
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Command, signalled
from tests.placements_in_python import Dac, SepBit, ZombieDac

import flashgc
from flashgc import Now

VICTIM = "cost-benefit"
TIMES = "read=60us,program=800us,erase=1.5ms,transfer=20us"
SMALL: dict[str, Any] = {
    "victim": VICTIM, "frontier": "pool:low=1", "blocks": 200, "pages_per_block": 16,
    "spare": 0.2, "writes": "6x", "runs": 2,
}  # fmt: skip


def same(mine: flashgc.Result, built_in: flashgc.Result) -> None:
    """Asserts that both results have equal counts, and that pages were copied."""
    assert mine.copied_pages == built_in.copied_pages
    assert mine.erases == built_in.erases
    assert mine.run_values == built_in.run_values
    assert mine.copied_pages > 50


@pytest.mark.parametrize(("mine", "built_in"), [(Dac, "dac"), (Dac(), "dac"), (SepBit, "sepbit")])
@pytest.mark.parametrize("workload", ["uniform", "hotcold:f=0.1,r=0.9", "uniform:trim=0.1"])
@pytest.mark.parametrize("fill", ["sequential", "empty"])
def test_the_same_rule_in_python_copies_the_same_pages(
    mine: Any, built_in: str, workload: str, fill: str
) -> None:
    drive = {**SMALL, "fill": fill}
    same(
        flashgc.run(workload, placement=mine, **drive),
        flashgc.run(workload, placement=built_in, **drive),
    )


@pytest.mark.parametrize(("mine", "built_in"), [(Dac, "dac"), (SepBit, "sepbit")])
def test_the_same_rule_in_python_on_a_drive_with_a_clock(mine: Any, built_in: str) -> None:
    def run(placement: Any) -> flashgc.Result:
        return flashgc.run(
            "hotcold:f=0.1,r=0.9", kind="timed", placement=placement, victim=VICTIM, blocks=400,
            pages_per_block=16, spare=0.2, requests=20_000, runs=1, times=TIMES,
        )  # fmt: skip

    same(run(mine), run(built_in))


def test_zombies_are_told_to_who_asks_for_them() -> None:
    hinted = {**SMALL, "host_cache": "page-cache:size=1MiB", "hints": "piggyback"}
    mine = flashgc.run("zipf", placement=ZombieDac, **hinted)
    built_in = flashgc.run("zipf", placement="dac:zombie-block=yes", **hinted)
    same(mine, built_in)
    assert mine.zombies == built_in.zombies


def test_victim_and_placement_may_both_be_written_in_python() -> None:
    def lowest(blocks: flashgc.Blocks) -> int:
        return int(blocks.valid.argmin())

    drive = {**SMALL, "victim": lowest}
    greedy = {**SMALL, "victim": "greedy:ties=lowest"}
    same(
        flashgc.run("zipf", placement=Dac, **drive), flashgc.run("zipf", placement="dac", **greedy)
    )


def test_every_run_has_an_object_of_its_own() -> None:
    given = SepBit()
    first = flashgc.run("zipf", placement=given, **SMALL)
    assert vars(given) == {}
    assert flashgc.run("zipf", placement=given, **SMALL).digest == first.digest


FILE = Path(__file__).with_name("placements_in_python.py")


def test_the_command_runs_and_compares_a_placement_of_a_file(command: Command) -> None:
    small = ("--victim", "cost-benefit", "--frontier", "pool", "--blocks", "100")
    small += ("--pages-per-block", "16", "--spare", "30%", "--writes", "2x", "--runs", "1")
    made = command("run", *small, "--placement", f"python:{FILE}:Dac")
    assert made.returncode == 0, made.stderr
    assert f"python:{FILE}:Dac" in made.stdout
    both = ("--placement", f"python:{FILE}:Dac", "--placement", "dac")
    made = command("compare", *small, *both)
    assert made.returncode == 0, made.stderr
    assert f"python:{FILE}:Dac" in made.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="stored drives are for Linux")
def test_a_stored_drive_decides_as_with_the_built_in_rule_and_opens_again(tmp_path: Path) -> None:
    def worked(name: str, placement: str) -> dict[str, Any]:
        options = {"blocks": 64, "pages_per_block": 32, "spare": "20%", "victim": VICTIM}
        with flashgc.Device.create(tmp_path / name, placement=placement, **options) as drive:
            work(drive, 12_000)
            state = drive.stat()
            assert state["placement"].startswith(placement)
            counters: dict[str, Any] = state["counters"]
            return counters

    def work(drive: flashgc.Device, writes: int) -> None:
        draw, pages = random.Random(1), drive.size // 4096
        for number in range(writes):
            page = draw.randrange(pages if number % 10 == 0 else pages // 10)
            if draw.random() < 0.05:
                drive.trim(page * 4096, 4096)
            else:
                drive.write(page * 4096, number.to_bytes(4096, "little"))

    mine, built_in = worked("mine", f"python:{FILE}:Dac"), worked("built-in", "dac")
    for count in ("host_pages_written", "copied_pages", "collections", "erases"):
        assert mine[count] == built_in[count] > 100, count
    # The object cannot be saved: a new one is created, and gets the drive's content as events.
    with flashgc.Device.open(tmp_path / "mine", allow_python=True) as drive:
        drive.write(0, bytes([7]) * 4096)
        work(drive, 3000)
        assert drive.stat()["counters"]["erases"] > mine["erases"]


BAD = """\
import sys
class Fine:
    classes = 2
    def host(self, page, stream, old, now):
        return 0
    def copy(self, page, from_, zombie, now):
        return 0
class High(Fine):
    def host(self, page, stream, old, now):
        return 2
class Low(Fine):
    def host(self, page, stream, old, now):
        return -1
class Nothing(Fine):
    def copy(self, page, from_, zombie, now):
        return None
class Refused(Fine):
    def takes_copies(self, class_):
        return class_ == 1
class NoCopies(Fine):
    def takes_copies(self, class_):
        return False
class Broken(Fine):
    def wrote(self, page, from_, to, now):
        return self.nothing
class Leaves(Fine):
    def copied(self, page, from_, to, now):
        sys.exit(0)
class Begins(Fine):
    def begin(self, pages, pages_per_block):
        return 1 // 0
class Many(Fine):
    classes = 256
class Short(Fine):
    def host(self, page):
        return 0
class Lacks:
    classes = 2
    def host(self, page, stream, old, now):
        return 0
class Word(Fine):
    copied = 3
"""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("High", "mine.py:9: host(page={page}) returned 2, expected a class from 0 to 1"),
        ("Low", "mine.py:12: host(page={page}) returned -1, expected a class from 0 to 1"),
        ("Nothing", "mine.py:15: copy(page={page}) returned None, expected a class from 0 to 1"),
        ("Refused", "mine.py:6: copy(page={page}) returned 0, expected a class that takes copies"),
        ("NoCopies", "takes_copies is false for all 2 classes"),
        ("Broken", "mine.py:25: AttributeError: 'Broken' object has no attribute 'nothing'"),
        ("Leaves", "mine.py:28: SystemExit: 0"),
        ("Begins", "mine.py:31: ZeroDivisionError"),
        ("Many", "classes is 256, expected a whole number from 1 to 255"),
        ("Short", "host(self, page): too many positional arguments"),
        ("Lacks", "python:mine.py:Lacks is not a placement: it has no copy"),
        ("Word", "copied is 3, expected a method; hint: write copied(page, from_, to, now)"),
    ],
)
@pytest.mark.parametrize("kind", ["counting", "timed"])
def test_a_fault_of_a_placement_is_one_line_with_its_place(
    command: Command, tmp_path: Path, name: str, message: str, kind: str
) -> None:
    (tmp_path / "mine.py").write_text(BAD)
    drive = {
        "counting": ("--frontier", "pool", "--writes", "2x"),
        "timed": ("--drive", "timed", "--requests", "20000", "--times", TIMES),
    }[kind]
    made = command(
        "run", *drive, "--blocks", "400", "--pages-per-block", "16", "--spare", "30%",
        "--placement", f"python:mine.py:{name}",
    )  # fmt: skip
    assert made.returncode == 1, made
    assert made.stderr.count("\n") == 1, made.stderr
    before, _, after = message.partition("{page}")
    assert before in made.stderr
    assert after in made.stderr


def test_an_exception_reaches_the_caller() -> None:
    class Divides(Dac):
        def wrote(self, page: int, from_: int | None, to: int, now: Now) -> None:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        flashgc.run("uniform", placement=Divides, **SMALL)


def test_what_a_placement_in_python_cannot_do_is_refused(command: Command) -> None:
    small = ("--blocks", "100", "--pages-per-block", "16", "--spare", "30%", "--writes", "2x")
    named = ("--placement", f"python:{FILE}:Dac")
    made = command("run", *small, *named, "--frontier", "double")
    assert made.returncode == 2
    assert "needs the pool frontier" in made.stderr
    made = command("run", *small, *named, "--frontier", "pool", "--checkpoint", "kept")
    assert made.returncode != 0
    assert "cannot be saved" in made.stderr
    made = command("run", *small, "--frontier", "pool", "--placement", f"python:{FILE}:Dca")
    assert made.returncode == 2
    assert "'Dac'" in made.stderr
    assert made.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_a_run_and_shows_what_there_is() -> None:
    code, out, errors = signalled(
        signal.SIGINT, "run", "--frontier", "pool", "--writes", "100000x", "--json",
        "--warmup", "0.001%", "--placement", f"python:{FILE}:Dac", "--blocks", "400",
    )  # fmt: skip
    assert code == 130, errors
    assert json.loads(out)["interrupted"] is True
    assert "Traceback" not in errors


class Counts(Dac):
    """Returns another class at every call."""

    asked = 0

    def host(self, page: int, stream: int | None, old: int | None, now: Now) -> int:
        self.asked += 1
        return self.asked % 3


class Moves(Dac):
    """Changes its answers while a block is copied."""

    done = 0

    def copy(self, page: int, from_: int, zombie: bool, now: Now) -> int:
        return self.done % 2

    def copied(self, page: int, from_: int, to: int, now: Now) -> None:
        self.done += 1


class Shared(Dac):
    """Keeps its state in the class, which all drives share."""

    done = 0

    def host(self, page: int, stream: int | None, old: int | None, now: Now) -> int:
        return Shared.done // 7 % 3

    def wrote(self, page: int, from_: int | None, to: int, now: Now) -> None:
        Shared.done += 1


@pytest.mark.parametrize("rule", [Dac, Dac(), ZombieDac, SepBit])
def test_good_placements_conform(rule: object) -> None:
    done = flashgc.check_placement(rule)
    # The methods, and two workloads for each of two victim policies.
    assert len(done.checks) == 5
    assert done.picks > 1000


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Counts, "when it was called again; hint: .* change nothing in host"),
        (Moves, r"copied\(page=\d+\) changed the answer for page \d+ of the same block from"),
        (Shared, "led to other decisions than batches of 1"),
        (object(), "is not a placement: it has no classes"),
    ],
)
def test_bad_placements_are_told_what_is_wrong(rule: object, message: str) -> None:
    with pytest.raises(flashgc.PolicyError, match=message):
        flashgc.check_placement(rule)
