"""Placements in Python that give classes as arrays and get events of many pages at once."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import Command
from tests.placements_in_python import Dac, DacTable, Pages, SepBitSeldom, SepBitSeldomByPage
from tests.test_python_placements import SMALL, TIMES, VICTIM, same

import flashgc
from flashgc import Now

FILE = Path(__file__).with_name("placements_in_python.py")
WORKLOADS = ["uniform", "hotcold:f=0.1,r=0.9", "0.9*uniform + 0.1*uniform:trim=1"]


@pytest.mark.parametrize(
    ("arrays", "rule"), [(DacTable, "dac"), (DacTable(), Dac), (SepBitSeldom, SepBitSeldomByPage)]
)
@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("fill", ["sequential", "empty"])
def test_arrays_decide_as_the_rule_asked_page_by_page(
    arrays: Any, rule: Any, workload: str, fill: str
) -> None:
    drive = {**SMALL, "fill": fill}
    same(
        flashgc.run(workload, placement=arrays, **drive),
        flashgc.run(workload, placement=rule, **drive),
    )


@pytest.mark.parametrize(
    ("arrays", "rule"), [(DacTable, "dac"), (SepBitSeldom, SepBitSeldomByPage)]
)
def test_arrays_decide_as_the_rule_on_a_drive_with_a_clock(arrays: Any, rule: Any) -> None:
    def run(placement: Any) -> flashgc.Result:
        return flashgc.run(
            WORKLOADS[2], kind="timed", placement=placement, victim=VICTIM, blocks=400,
            pages_per_block=16, spare=0.2, requests=20_000, runs=1, times=TIMES,
        )  # fmt: skip

    same(run(arrays), run(rule))


@pytest.mark.skipif(sys.platform != "linux", reason="stored drives are for Linux")
@pytest.mark.parametrize(
    ("arrays", "rule"),
    [
        (f"python:{FILE}:DacTable", "dac"),
        (f"python:{FILE}:SepBitSeldom", f"python:{FILE}:SepBitSeldomByPage"),
    ],
)
def test_arrays_decide_as_the_rule_on_a_stored_drive(
    tmp_path: Path, arrays: str, rule: str
) -> None:
    def worked(name: str, placement: str) -> dict[str, int]:
        options = {"blocks": 64, "pages_per_block": 16, "spare": "20%", "victim": VICTIM}
        draw = random.Random(1)
        with flashgc.Device.create(tmp_path / name, placement=placement, **options) as drive:
            pages = drive.size // 4096
            for number in range(8000):
                page = draw.randrange(pages if number % 10 == 0 else pages // 10)
                if draw.random() < 0.05:
                    drive.trim(page * 4096, 4096)
                else:
                    drive.write(page * 4096, number.to_bytes(4096, "little"))
            counters: dict[str, int] = drive.stat()["counters"]
            return counters

    mine, other = worked("mine", arrays), worked("other", rule)
    for count in ("host_pages_written", "copied_pages", "collections", "erases"):
        assert mine[count] == other[count] > 100, count


class ByPage(Dac):
    """Keeps classes in an array by page; a change takes effect at the page's next write."""

    classes = 2

    def begin(self, pages: int, pages_per_block: int) -> None:
        self.host: Any = np.zeros((pages, 1), np.uint8)
        self.copy: Any = np.zeros((1, 2), np.uint8)

    def takes_copies(self, class_: int) -> bool:
        return True

    def wrote(self, page: Any, from_: Any, to: Any, now: Now) -> None:
        self.host[page] = 1


class Updates(Dac):
    """As ``ByPage``, but classes depend on the current class of the data."""

    classes = 2

    def begin(self, pages: int, pages_per_block: int) -> None:
        self.known: set[int] = set()

    def takes_copies(self, class_: int) -> bool:
        return True

    def host(self, page: int, stream: int | None, old: int | None, now: Now) -> int:
        return 1 if page in self.known else 0

    def copy(self, page: int, from_: int, zombie: bool, now: Now) -> int:
        return 0

    def wrote(self, page: int, from_: int | None, to: int, now: Now) -> None:
        self.known.add(page)


def test_what_is_written_to_an_array_counts_at_once() -> None:
    drive = {**SMALL, "fill": "empty"}
    same(
        flashgc.run(WORKLOADS[0], placement=ByPage, **drive),
        flashgc.run(WORKLOADS[0], placement=Updates, **drive),
    )


BAD = """\
import numpy as np
class Fine:
    classes = 2
    def begin(self, pages, pages_per_block):
        self.host = np.zeros((pages, 1), np.uint8)
        self.copy = np.zeros(2, np.uint8)
class High(Fine):
    def begin(self, pages, pages_per_block):
        super().begin(pages, pages_per_block)
        self.host[:] = 2
class Refused(Fine):
    def takes_copies(self, class_):
        return class_ == 1
class Floats(Fine):
    def begin(self, pages, pages_per_block):
        super().begin(pages, pages_per_block)
        self.host = np.zeros((pages, 1))
class Long(Fine):
    def begin(self, pages, pages_per_block):
        super().begin(pages, pages_per_block)
        self.copy = np.zeros(pages, np.uint8)
class Deep(Fine):
    def begin(self, pages, pages_per_block):
        super().begin(pages, pages_per_block)
        self.copy = np.zeros((1, 1, 2), np.uint8)
class Word(Fine):
    def begin(self, pages, pages_per_block):
        self.host = "0"
class Nothing:
    classes = 2
    def begin(self, pages, pages_per_block):
        self.host = np.zeros(3, np.uint8)
class Told(Fine):
    every = 100
    def wrote(self, pages, from_, to, now):
        pass
class Another(Told):
    def wrote(self, pages, from_, to, now):
        self.host = self.host.copy()
class Divides(Told):
    def wrote(self, pages, from_, to, now):
        return 1 // 0
class Writes(Told):
    def wrote(self, pages, from_, to, now):
        pages[0] = 1
class Never(Told):
    every = 0
class Half(Told):
    every = 0.5
class Deaf(Fine):
    every = 10
class Zombies(Fine):
    asks_for_zombies = True
"""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("High", "mine.py:7: host[page={page}] is 2, expected a class from 0 to 1"),
        ("Refused", "mine.py:11: copy[page={page}] is 0, expected a class that takes copies"),
        ("Floats", "mine.py:14: host is an array of float64 and shape ({pages}, 1), expected a "
         "method or a numpy array of uint8 and shape ({pages}, 3), ({pages}, 1) or (3,); hint: "
         "host = numpy.zeros(({pages}, 1), numpy.uint8)"),
        ("Long", "mine.py:18: copy is an array of uint8 and shape ({pages},), expected a method"),
        ("Deep", "mine.py:22: copy is an array of uint8 and shape (1, 1, 2), expected a method"),
        ("Word", "mine.py:26: host is '0', expected a method or a numpy array of uint8"),
        ("Nothing", "mine.py:29: it has no copy after begin; hint: write a method copy, or"),
        ("Another", "mine.py:37: host is another array than the drive reads; hint: change it in "
         "place: self.host[:] = ..."),
        ("Divides", "mine.py:42: ZeroDivisionError"),
        ("Writes", "mine.py:45: ValueError: assignment destination is read-only"),
        ("Never", "mine.py:46: every is 0, expected a whole number of host writes from 1 to"),
        ("Half", "mine.py:48: every is 0.5, expected a whole number of host writes from 1 to"),
        ("Deaf", "Deaf has every, but nothing is told to it; hint: write one of holds, wrote"),
        ("Zombies", "mine.py:52: asks_for_zombies is true, but copy is an array, which knows none"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["counting", "timed"])
def test_a_fault_is_one_line_with_its_place(
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
    # 6400 pages with 30% spare give 4480 logical pages.
    before, _, after = message.replace("{pages}", "4480").partition("={page}")
    assert before in made.stderr
    assert after in made.stderr


class Young(ByPage):
    """Gets events of many pages, and keeps state in the class, which all drives share."""

    every = 7
    shared: Any = np.zeros(2000, np.uint8)

    def begin(self, pages: int, pages_per_block: int) -> None:
        super().begin(pages, pages_per_block)
        self.host = self.shared[:pages, np.newaxis]

    def wrote(self, page: Pages, from_: Any, to: Any, now: Now) -> None:
        self.host[page] ^= 1


class Wrong(ByPage):
    """Returns a class that does not exist, once."""

    every = 1000

    def wrote(self, page: Pages, from_: Any, to: Any, now: Now) -> None:
        self.host[page] = 1 + (now.host > 5000)


class Moves(ByPage):
    """Changes its answers while a block is copied."""

    def copied(self, page: int, from_: int, to: int, now: Now) -> None:
        self.copy[:] ^= 1


@pytest.mark.parametrize("rule", [DacTable, SepBitSeldom, ByPage])
def test_good_placements_conform(rule: object) -> None:
    assert flashgc.check_placement(rule).picks > 1000


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Young, "led to other decisions than batches of 1"),
        (Moves, r"copied\(page=\d+\) changed the answer for page \d+ of the same block from"),
        (Wrong, r"host\[page=\d+, old=(\d|None)\] is 2, expected a class from 0 to 1"),
    ],
)
def test_bad_placements_are_told_what_is_wrong(rule: object, message: str) -> None:
    with pytest.raises(flashgc.PolicyError, match=message):
        flashgc.check_placement(rule)
