"""Schemes in Python: the policies' view of blocks, and one object as placement and policy."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.conftest import Command
from tests.placements_in_python import Dac
from tests.schemes_in_python import Due, Planes, Watcher

import flashgc
from flashgc import Blocks, Now
from flashgc.policy_files import Files

FILE = Path(__file__).with_name("schemes_in_python.py")
OPEN = 1 << 30
SMALL: dict[str, Any] = {
    "frontier": "pool:low=1", "blocks": 200, "pages_per_block": 16, "spare": 0.2,
    "writes": "4x",
}  # fmt: skip
#: A drive of 64 blocks of 8 pages with 25% spare, so 384 logical pages.
DRIVE: dict[str, Any] = {"blocks": 64, "pages_per_block": 8, "spare": "25%"}
PAGES, BLOCK = 384, 8
ONE_DIE: dict[str, Any] = {
    "kind": "timed", "times": "read=1us,program=1us,erase=1us,transfer=0us",
    "arrivals": "closed:threads=1", "queue_depth": 1, "gc_low": 2,
}  # fmt: skip
Seen = list[tuple[Any, ...]]


def requests() -> list[tuple[str, int]]:
    random = Random(5)
    ops = random.choices("WD", (9, 1), k=3000)
    pages = [random.randrange(60 if random.random() < 0.8 else PAGES) for _ in ops]
    return [*(("W", page) for page in range(PAGES)), *zip(ops, pages, strict=True)]


def log() -> Seen:
    seen: Seen = sys.modules["flashgc_policy_schemes_in_python"].LOG
    return seen


def simulated(tmp_path: Path, **options: Any) -> Seen:
    lines = [
        f"{time}.000,{op},{page * 4096},4096,0\n" for time, (op, page) in enumerate(requests())
    ]
    trace = tmp_path / "trace.csv"
    trace.write_text("time_us,op,offset_bytes,size_bytes,dev\n" + "".join(lines))
    scheme: Any = Files().load(f"python:{FILE}:Watcher", "victim")
    flashgc.run(
        str(trace), victim=scheme, placement=scheme, fill="empty", passes=1, runs=1,
        warmup="0", numbering="given", **DRIVE, **options,
    )  # fmt: skip
    return log()


def stored(tmp_path: Path) -> Seen:
    both = f"python:{FILE}:Watcher"
    with flashgc.Device.create(tmp_path / "drive", victim=both, placement=both, **DRIVE) as drive:
        for op, page in requests():
            if op == "W":
                drive.write(page * 4096, page.to_bytes(4096, "little"))
            else:
                drive.trim(page * 4096, 4096)
    return log()


class Follower:
    """A naive drive that follows a watcher's log, and fails if the log is inconsistent."""

    def __init__(self) -> None:
        self.on: list[set[int]] = [set() for _ in range(DRIVE["blocks"])]
        self.block: dict[int, int] = {}
        self.classes = [0] * DRIVE["blocks"]
        #: For each block, both clocks at its last program.
        self.programmed = [(0, 0)] * DRIVE["blocks"]
        #: For each candidate, the time of its closing, and the latest possible time.
        self.closed: dict[int, tuple[int, int]] = {}
        self.closed_by: dict[int, tuple[int, int]] = {}
        #: The open block of each class.
        self.open: dict[int, int] = {}
        self.clock = (0, 0)
        self.picked: Seen = []

    def move(self, page: int, from_: Any, to: Any, clock: tuple[int, int]) -> None:
        self.clock = clock
        old = self.block.pop(page, None)
        assert from_[0] == old
        if old is not None:
            self.on[old].remove(page)
        if to is not None:
            self.block[page] = to[0]
            self.on[to[0]].add(page)
            self.programmed[to[0]] = clock
        for block, valid in [end for end in (from_, to) if end is not None]:
            assert valid == (None if block is None else len(self.on[block]))

    def see(self, first: int, blocks: int, pages: int) -> None:
        assert (first, blocks, pages) == (0, DRIVE["blocks"], BLOCK)

    def wrote(self, page: int, from_: Any, to: Any, *clock: int) -> None:
        self.move(page, from_, to, (clock[0], clock[1]))

    copied = wrote

    def trimmed(self, page: int, from_: Any, *clock: int) -> None:
        self.move(page, from_, None, (clock[0], clock[1]))

    def opened(self, class_: int, block: int, valid: int, *clock: int) -> None:
        assert not self.on[block]
        assert valid == 0
        if class_ in self.open:
            self.closed_by[self.open[class_]] = (clock[0], clock[1])
        self.open[class_] = block
        self.closed_by.pop(block, None)
        self.classes[block] = class_

    def collected(self, class_: int, block: int, valid: int) -> None:
        assert self.classes[block] == class_
        assert len(self.on[block]) == valid
        self.closed.pop(block, None)

    def pick(self, *seen: Any) -> None:
        clock, host_clock, count, candidates, classes, closed_at, closed_at_host = seen
        assert (clock, host_clock) == self.clock
        assert count == sum(candidates)
        assert classes == self.classes
        for block, time in enumerate(zip(closed_at, closed_at_host, strict=True)):
            if not candidates[block]:
                continue
            if block in self.closed:
                assert time == self.closed[block]
            first, last = self.programmed[block], self.closed_by.get(block, self.clock)
            assert first[0] <= time[0] <= last[0], (block, time)
            assert first[1] <= time[1] <= last[1], (block, time)
            self.closed[block] = time
        self.picked.append(seen)


@pytest.mark.skipif(sys.platform != "linux", reason="stored drives are for Linux")
def test_all_drives_show_the_same_blocks_and_they_are_true(tmp_path: Path) -> None:
    counting = simulated(tmp_path, frontier="pool:low=2")
    assert counting == simulated(tmp_path, **ONE_DIE)
    assert counting == stored(tmp_path)
    follower = Follower()
    for verb, *given in counting:
        getattr(follower, verb)(*given)
    assert len(follower.picked) > 200
    assert {class_ for seen in follower.picked for class_ in seen[4]} == {0, 1, 2, 3}


def test_a_placement_that_looks_at_blocks_decides_alike_however_writes_are_batched() -> None:
    done = flashgc.check_placement(Watcher)
    # The methods, and two workloads each for two built-in victim policies and for its own picks.
    assert len(done.checks) == 7
    assert "its own picks" in done.checks[-1]
    assert done.picks > 1000


@pytest.mark.parametrize("both", [Due, Due()])
def test_a_drive_has_one_object_for_both(both: Any) -> None:
    begun = sys.modules["tests.schemes_in_python"].BEGUN
    begun.clear()
    one = flashgc.run("hotcold:f=0.1,r=0.9", victim=both, placement=both, runs=2, **SMALL)
    assert len(begun) == 2
    assert begun[0] is not begun[1]
    assert both is Due or vars(both) == {}
    # As a victim policy, the object has the state that it built as a placement.
    for scheme in begun:
        assert np.count_nonzero(scheme.life != scheme.pages) >= 3
    alone = [
        flashgc.run(
            "hotcold:f=0.1,r=0.9", victim=both, placement=both, runs=1, seed=seed, **SMALL
        ).run_values[0]
        for seed in (1, 2)
    ]
    assert one.run_values == tuple(alone) or list(one.run_values) == alone
    both_jobs = flashgc.run(
        "hotcold:f=0.1,r=0.9", victim=both, placement=both, runs=2, jobs=2, **SMALL
    )
    assert both_jobs.digest == one.digest
    assert both_jobs.run_values == one.run_values
    assert one.policy == "python:Due"


def test_two_classes_are_two_objects() -> None:
    class Other(Due):
        pass

    begun = sys.modules["tests.schemes_in_python"].BEGUN
    begun.clear()
    with pytest.raises(AttributeError, match="life"):
        flashgc.run("uniform", victim=Other, placement=Due, runs=1, **SMALL)


def test_one_object_picks_on_all_planes() -> None:
    log = sys.modules["tests.schemes_in_python"].LOG
    log.clear()
    flashgc.run(
        "uniform", kind="timed", victim=Planes, placement=Planes, blocks=400, pages_per_block=16,
        spare=0.3, requests=20_000, runs=1, channels=2, dies=2,
        times="read=60us,program=800us,erase=1.5ms,transfer=20us",
    )  # fmt: skip
    seen = [event[1:] for event in log if event[0] == "see"]
    assert [(first, blocks) for _, first, blocks in seen] == [
        (first, 100) for first in (0, 100, 200, 300)
    ]
    picks = [event[1:] for event in log if event[0] == "pick"]
    assert {first for _, first in picks} == {0, 100, 200, 300}
    assert len({scheme for scheme, *_ in (*seen, *picks)}) == 1


def test_the_command_and_experiment_files_have_one_object_too(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "both.py").write_text(FILE.read_text())
    expected = flashgc.run(
        "hotcold:f=0.1,r=0.9", victim=Due, placement=Due, runs=2, **SMALL
    ).write_amplification
    both = ("--victim", "python:both.py:Due", "--placement", "python:both.py:Due")
    small = ("--workload", "hotcold:f=0.1,r=0.9", "--frontier", "pool:low=1", "--blocks", "200")
    small += ("--pages-per-block", "16", "--spare", "20%", "--writes", "4x", "--runs", "2")
    made = command("run", *small, *both)
    assert made.returncode == 0, made.stderr
    assert f"{expected:.4f}" in made.stdout
    (tmp_path / "both.toml").write_text(
        '[gc]\nvictim = "python:both.py:Due"\nplacement = "python:./both.py:Due"\n'
    )
    made = command("run", "both.toml", *small, "--jobs", "2")
    assert made.returncode == 0, made.stderr
    assert f"{expected:.4f}" in made.stdout


def test_two_policies_of_a_file_share_its_globals(command: Command, tmp_path: Path) -> None:
    (tmp_path / "both.py").write_text(FILE.read_text())
    made = command(
        "run", "--victim", "python:both.py:listener", "--placement", "python:./both.py:Teller",
        "--frontier", "pool", "--blocks", "100", "--pages-per-block", "16", "--spare", "30%",
        "--writes", "3x",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr


def test_a_method_gets_the_blocks_that_it_takes_and_no_more() -> None:
    heard: list[tuple[Any, ...]] = []

    class Old(Dac):
        def host(self, *given: Any) -> int:  # type: ignore[override]
            assert len(given) == 4
            return super().host(*given)

        def wrote(self, page: int, from_: int | None, to: int, now: Now, seen: Any = heard) -> None:
            seen.append((page, from_, to))

        def opened(self, class_: int, now: Now, block: int) -> None:
            heard.append((class_, block))

    flashgc.run("uniform", placement=Old, victim="greedy", runs=1, **SMALL)
    assert len(heard) > 1000

    class KeywordOnly(Dac):
        def opened(self, class_: int, now: Now, *, block: int) -> None:
            raise AssertionError

    with pytest.raises(
        flashgc.PolicyError, match=r"write opened\(class_, now\), and behind these block if you"
    ):
        flashgc.run("uniform", placement=KeywordOnly, victim="greedy", runs=1, **SMALL)


def test_blocks_are_told_of_many_pages_at_once() -> None:
    where: dict[int, int] = {}
    moved = 0

    class Many(Dac):
        every = 64

        def holds(self, pages: Any, class_: Any, now: Now, block: Any) -> None:
            assert block.dtype == np.uint32
            where.update(zip(pages.tolist(), block.tolist(), strict=True))

        def wrote(
            self, pages: Any, from_: Any, to: Any, now: Now, from_block: Any, to_block: Any
        ) -> None:
            nonlocal moved
            for page, old, new in zip(
                pages.tolist(), from_block.tolist(), to_block.tolist(), strict=True
            ):
                assert where.get(page, 2**32 - 1) == old
                where[page] = new
                moved += 1

        def copied(
            self, pages: Any, from_: Any, to: Any, now: Now, to_block: Any, from_block: Any
        ) -> None:
            self.wrote(pages, from_, to, now, from_block, to_block)

        def trimmed(self, pages: Any, from_: Any, now: Now, from_block: Any) -> None:
            for page, old in zip(pages.tolist(), from_block.tolist(), strict=True):
                assert where.pop(page) == old

    flashgc.run("uniform:trim=0.1", placement=Many, victim="greedy", runs=1, **SMALL)
    assert moved > 5000


def test_a_victim_policy_sees_history_without_a_placement() -> None:
    def oldest(blocks: Blocks) -> int:
        assert blocks.classes.tolist() == [255] * 200
        assert blocks.zombies is None
        assert blocks.first == 0
        for column in (blocks.classes, blocks.closed_at, blocks.closed_at_host):
            assert len(column) == 200
            assert not column.flags.writeable
        assert blocks.closed_at.dtype == blocks.closed_at_host.dtype == np.uint64
        closed = np.where(blocks.valid < OPEN, blocks.closed_at, 2**63)
        return int(closed.argmin())

    drive = {**SMALL, "frontier": "single", "runs": 1}
    mine = flashgc.run("uniform", victim=oldest, **drive)
    built_in = flashgc.run("uniform", victim="fifo", **drive)
    assert mine.run_values == built_in.run_values
    assert mine.erases == built_in.erases


def test_hand_built_tables_have_a_history() -> None:
    def by_history(blocks: Blocks) -> int:
        age = blocks.clock - blocks.closed_at + blocks.classes
        score = np.where(blocks.valid < OPEN, age + 1, 0) * (blocks.valid < blocks.pages_per_block)
        return int(score.argmax()) if score.any() else int(blocks.valid.argmin())

    assert flashgc.check_policy(by_history).picks > 1000


def test_zombies_are_shown_where_the_placement_asks() -> None:
    seen = []

    class Asks(Due):
        asks_for_zombies = True

        def pick(self, blocks: Blocks) -> int:
            assert blocks.zombies is not None
            seen.append(int(blocks.zombies.sum()))
            return super().pick(blocks)

    made = flashgc.run(
        "zipf", victim=Asks, placement=Asks, runs=1, host_cache="page-cache:size=1MiB",
        hints="piggyback", **SMALL,
    )  # fmt: skip
    assert made.zombies is not None
    assert max(seen) > 0


def test_a_view_of_a_placement_outlives_its_drive() -> None:
    kept: list[Any] = []

    class Keeps(Due):
        def see(self, blocks: Blocks) -> None:
            kept[:] = [blocks.valid, blocks.closed_at, blocks.closed_at_host, blocks.classes]

    made = flashgc.run("uniform", victim=Keeps, placement=Keeps, runs=1, **SMALL)
    flashgc.run("uniform", victim="greedy", **SMALL)  # Another run would reuse freed memory.
    valid, closed_at, closed_at_host, classes = kept
    assert int((valid & (OPEN - 1)).sum()) == made.config.logical_pages
    assert (closed_at_host <= closed_at).all()
    assert set(classes.tolist()) <= {0, 1, 2, 3}


def test_faults_of_such_schemes_are_told() -> None:
    class Raises(Due):
        def see(self, blocks: Blocks) -> None:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        flashgc.run("uniform", victim=Raises, placement=Raises, runs=1, **SMALL)

    class Picks(Due):
        def pick(self, blocks: Blocks) -> int:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        flashgc.run("uniform", victim=Picks, placement=Picks, runs=1, **SMALL)
    with pytest.raises(flashgc.PolicyError, match="is not a victim policy"):
        flashgc.run("uniform", victim=Dac, placement=Dac, runs=1, **SMALL)


@pytest.mark.parametrize(("victim", "placement"), [("Due", "Due"), ("listener", "Teller")])
def test_cells_of_a_grid_share_nothing(
    command: Command, tmp_path: Path, victim: str, placement: str
) -> None:
    (tmp_path / "both.py").write_text(FILE.read_text())
    (tmp_path / "grid.toml").write_text(
        "[drive]\nblocks = 200\npages_per_block = 16\nspare = [0.2, 0.25, 0.3]\n"
        f'[gc]\nfrontier = "pool:low=1"\nvictim = "python:both.py:{victim}"\n'
        f'placement = "python:both.py:{placement}"\n'
        '[workload]\nsource = "hotcold:f=0.1,r=0.9"\n[run]\nwrites = "4x"\nruns = 1\n'
    )
    made = command("sweep", "grid.toml", "--jobs", "2", "--quiet")
    assert made.returncode == 0, made.stdout + made.stderr
    assert "3 cells: 3 run" in made.stdout
    if victim == "Due":
        for spare in (0.2, 0.25, 0.3):
            drive = {**SMALL, "spare": spare}
            one = flashgc.run("hotcold:f=0.1,r=0.9", victim=Due, placement=Due, runs=1, **drive)
            assert f"{one.write_amplification:.4f}" in made.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="stored drives are for Linux")
def test_a_stored_drive_that_is_opened_again_has_one_object_that_knows_its_pages(
    tmp_path: Path,
) -> None:
    told = stored(tmp_path)
    follower = Follower()
    for verb, *given in told:
        getattr(follower, verb)(*given)
    with flashgc.Device.open(tmp_path / "drive", allow_python=True) as drive:
        for page in range(PAGES):
            drive.write(page * 4096, bytes([7]) * 4096)
    again = log()
    held = {page: block for verb, page, _, block in (e for e in again if e[0] == "holds")}
    assert held == follower.block
    verbs = [event[0] for event in again]
    assert verbs.count("pick") > 20
    # The clocks continue, and each block keeps the class that it was opened for.
    before = again[: verbs.index("pick")]
    _, clock, host_clock, _, candidates, classes, *_ = again[len(before)]
    assert clock >= follower.clock[0]
    assert host_clock >= follower.clock[1]
    opened = {event[2] for event in before if event[0] == "opened"}
    known = [block for block in range(DRIVE["blocks"]) if candidates[block] and block not in opened]
    assert len(known) > 40
    assert [classes[block] for block in known] == [follower.classes[block] for block in known]
