"""Events for placements written in Python: they are right, and equal on every drive.

Equal requests go to the counting drive, to a timed one with one die and to a stored one, with
placements that log their events. A naive drive checks the log.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

import flashgc
from flashgc.policy_files import load_policy

FILE = Path(__file__).with_name("witness.py")
#: A drive of 64 blocks of 8 pages with 25% spare, so 384 logical pages.
DRIVE: dict[str, Any] = {"blocks": 64, "pages_per_block": 8, "spare": "25%"}
PAGES, BLOCK = 384, 8
ONE_DIE: dict[str, Any] = {
    "kind": "timed", "times": "read=1us,program=1us,erase=1us,transfer=0us",
    "arrivals": "closed:threads=1", "queue_depth": 1, "gc_low": 2,
}  # fmt: skip
Told = list[tuple[Any, ...]]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="stored drives are for Linux")


def requests() -> list[tuple[str, int]]:
    """Discards, and writes that go mostly to a sixth of the pages."""
    random = Random(5)
    ops = random.choices("WD", (9, 1), k=4000)
    pages = [random.randrange(60 if random.random() < 0.8 else PAGES) for _ in ops]
    # If a trace accesses every page, its page numbers are those of the drive.
    return [*(("W", page) for page in range(PAGES)), *zip(ops, pages, strict=True)]


def log() -> Told:
    told: Told = sys.modules["flashgc_policy_witness"].LOG
    return told


def simulated(witness: str, tmp_path: Path, **options: Any) -> Told:
    """The events of a placement on a simulated drive."""
    lines = [
        f"{time}.000,{op},{page * 4096},4096,0\n" for time, (op, page) in enumerate(requests())
    ]
    trace = tmp_path / "trace.csv"
    trace.write_text("time_us,op,offset_bytes,size_bytes,dev\n" + "".join(lines))
    placement: Any = load_policy(f"python:{FILE}:{witness}", "placement")
    flashgc.run(
        str(trace), placement=placement, victim="cost-benefit", fill="empty", passes=1, runs=1,
        warmup="0", numbering="given", **DRIVE, **options,
    )  # fmt: skip
    return log()


def stored(witness: str, tmp_path: Path) -> Told:
    """The events of a placement on a stored drive."""
    with flashgc.Device.create(
        tmp_path / "drive", placement=f"python:{FILE}:{witness}", victim="cost-benefit", **DRIVE
    ) as drive:
        serve(drive)
    return log()


def serve(drive: flashgc.Device) -> None:
    for op, page in requests():
        if op == "W":
            drive.write(page * 4096, page.to_bytes(4096, "little"))
        else:
            drive.trim(page * 4096, 4096)


def on_every_drive(witness: str, tmp_path: Path) -> list[Told]:
    return [
        simulated(witness, tmp_path, frontier="pool:low=2"),
        simulated(witness, tmp_path, **ONE_DIE),
        stored(witness, tmp_path),
    ]


class Follower:
    """A naive drive that follows the events, and fails if they are inconsistent."""

    def __init__(self) -> None:
        #: For each class, the pages programmed in its open block, and the time of its opening.
        self.open: dict[int, tuple[list[int], tuple[int, int]]] = {}
        #: The block of each page, by class and opening.
        self.block: dict[int, tuple[int, tuple[int, int]]] = {}
        self.clock = (0, 0)
        self.victim: object = None

    def tick(self, now: tuple[int, int], programs: int = 0, host: int = 0) -> None:
        self.clock = (self.clock[0] + programs, self.clock[1] + host)
        assert now == self.clock

    def class_of(self, page: int) -> int | None:
        return self.block[page][0] if page in self.block else None

    def program(self, page: int, class_: int) -> None:
        pages, since = self.open[class_]
        pages.append(page)
        assert len(pages) <= BLOCK
        self.block[page] = (class_, since)

    def opened(self, class_: int, *now: int) -> None:
        self.tick((now[0], now[1]))
        if class_ in self.open:
            assert len(self.open[class_][0]) == BLOCK
        self.open[class_] = ([], self.clock)

    def wrote(self, page: int, from_: int | None, to: int, *now: int) -> None:
        self.tick((now[0], now[1]), programs=1, host=1)
        assert from_ == self.class_of(page)
        self.program(page, to)

    def trimmed(self, page: int, from_: int, *now: int) -> None:
        self.tick((now[0], now[1]))
        assert from_ == self.class_of(page)
        del self.block[page]

    def collected(
        self, class_: int, since: tuple[int, int], valid: int, pages: int, *now: int
    ) -> None:
        self.tick((now[0], now[1]))
        # The victim before this one is empty.
        assert self.victim not in self.block.values()
        self.victim = (class_, since)
        assert valid == [*self.block.values()].count((class_, since))
        assert pages == BLOCK

    def copied(self, page: int, from_: int, to: int, *now: int) -> None:
        # The clock advances after the event of a copy.
        assert self.block[page] == self.victim
        assert from_ == self.class_of(page)
        self.tick((now[0], now[1]), programs=1)
        self.program(page, to)


def test_all_drives_tell_the_same_and_it_is_true(tmp_path: Path) -> None:
    counting, timed, stored_ = on_every_drive("Witness", tmp_path)
    assert counting == timed == stored_
    assert counting[0] == ("begin", PAGES, BLOCK)
    follower = Follower()
    for verb, *given in counting[1:]:
        getattr(follower, verb)(*given)
    counts = Counter(verb for verb, *_ in counting)
    assert counts["begin"] == 1
    assert counts["wrote"] == sum(op == "W" for op, _ in requests())
    assert min(counts[verb] for verb in ("trimmed", "copied", "opened", "collected")) > 300


def one_by_one(told: Told) -> Told:
    """Events of many pages as events of one page, without the time of each."""
    verbs = ("wrote", "trimmed", "copied")
    return [(verb, *page) for verb, pages, *_ in told if verb in verbs for page in pages]


def test_what_is_told_of_many_pages_is_what_was_told_of_each(tmp_path: Path) -> None:
    single = simulated("Witness", tmp_path, frontier="pool:low=2")
    every = 100
    counting, timed, stored_ = on_every_drive("WitnessOfMany", tmp_path)
    assert counting == timed == stored_
    events = [event for event in single if event[0] in ("wrote", "trimmed", "copied")]
    many = one_by_one(counting)
    assert many == [event[:-2] for event in events[: len(many)]]
    # Events after the last full hundred of writes are missing.
    assert sum(verb == "wrote" for verb, *_ in events[len(many) :]) < every
    # An event has the time of its last page, and comes with every hundredth write.
    done, host = 0, 0
    for verb, *given in counting:
        if verb in ("wrote", "trimmed", "copied"):
            done += len(given[0])
            assert events[done - 1][-2:] == (given[-2], given[-1])
            host = given[-1]
        elif verb in ("opened", "collected"):
            assert host % every == 0
            assert given[-1] - host <= every
    # Events of opened and collected blocks come at once.
    kept = [event for event in counting if event[0] in ("opened", "collected")]
    assert kept == [event for event in single if event[0] in ("opened", "collected")]


@pytest.mark.parametrize("witness", ["Witness", "WitnessOfMany"])
def test_first_contents_are_told_before_anything_else(witness: str) -> None:
    placement: Any = load_policy(f"python:{FILE}:{witness}", "placement")
    flashgc.run(
        "uniform", placement=placement, frontier="pool:low=2", writes="1000", runs=1,
        warmup="0", **DRIVE,
    )  # fmt: skip
    begun, *told = log()
    assert begun[0] == "begin"
    first = [event for event in told if event[0] != "opened"]
    # Before the first request, all events have time 0.
    assert {event[-2:] for event in told[: told.index(first[0])]} <= {(0, 0)}
    if witness == "Witness":
        assert first[:PAGES] == [("holds", page, 0, 0, 0) for page in range(PAGES)]
        assert first[PAGES][0] == "wrote"
    else:
        assert first[0] == ("holds", [(page, 0) for page in range(PAGES)], 0, 0)


def test_a_drive_that_is_opened_again_tells_what_it_holds(tmp_path: Path) -> None:
    told = stored("Witness", tmp_path)
    follower = Follower()
    for verb, *given in told[1:]:
        getattr(follower, verb)(*given)
    classes = {page: class_ for page, (class_, _) in follower.block.items()}
    with flashgc.Device.open(tmp_path / "drive", allow_python=True) as drive:
        drive.write(0, bytes(4096))
    again = log()
    assert again[0] == ("begin", PAGES, BLOCK)
    held = [event for event in again if event[0] == "holds"]
    assert {page: class_ for _, page, class_, *_ in held} == classes
    assert len(held) == len(classes)
    assert {event[-2:] for event in held} == {follower.clock}
    # The clocks continue when the drive is opened again.
    (wrote,) = (event for event in again if event[0] == "wrote")
    assert wrote[-1] == follower.clock[1] + 1
