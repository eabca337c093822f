"""Victim policies written in Python: their view of blocks, their decisions, their failures."""

from __future__ import annotations

import traceback
from pathlib import Path

import numpy
import pytest

import flashgc
from conftest import ROOT, Command
from flashgc import Blocks

SMALL = {"blocks": 200, "pages_per_block": 16, "writes": "6x", "runs": 2}
OPEN = 1 << 30


def lowest_greedy(blocks: Blocks) -> int:
    return int(blocks.valid.argmin())


class Fifo:
    """Picks blocks in the order in which they were closed.

    The first picks are the blocks that are erased at the start. Under the single frontier, each
    victim is the next block to close, so the order is that of the block numbers.
    """

    def __init__(self) -> None:
        self.next = -1

    def pick(self, blocks: Blocks) -> int:
        if self.next < 0:
            self.next = int(blocks.valid.argmin()) - 1
        while True:
            self.next = (self.next + 1) % len(blocks)
            if blocks.counts[self.next] < OPEN:
                return self.next


def random_block(blocks: Blocks) -> int:
    return blocks.draw(1)[0]


def ten_choices(blocks: Blocks) -> int:
    counts, best = blocks.counts, OPEN
    for block in blocks.draw(10):
        if counts[block] < best:
            best, picked = counts[block], block
    return picked


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Fifo, "fifo"),
        (random_block, "random"),
        (ten_choices, "d-choices:d=10"),
        (lowest_greedy, "greedy:ties=lowest"),
    ],
)
@pytest.mark.parametrize("workload", ["uniform", "hotcold:f=0.1,r=0.9", "uniform:trim=0.1"])
def test_the_same_rule_in_python_gives_the_same_digits(
    ours: object, theirs: str, workload: str
) -> None:
    python = flashgc.run(workload, victim=ours, **SMALL)
    built_in = flashgc.run(workload, victim=theirs, **SMALL)
    assert python.run_values == built_in.run_values
    assert python.copied_pages == built_in.copied_pages
    assert python.erases == built_in.erases
    assert python.digest == built_in.digest


def test_hints_reach_the_placement_beside_a_policy_in_python() -> None:
    def run(victim: object) -> flashgc.Result:
        return flashgc.run(
            "zipf",
            victim=victim,
            frontier="pool",
            placement="dac:zombie-block=yes",
            host_cache="page-cache:size=1MiB",
            hints="piggyback",
            **SMALL,
        )

    mine, built_in = run(lowest_greedy), run("greedy:ties=lowest")
    assert mine.zombies is not None
    assert mine.zombies == built_in.zombies
    assert mine.run_values == built_in.run_values


def test_policies_are_named_and_may_be_compared_with_built_in_ones() -> None:
    ranking = flashgc.compare([lowest_greedy, Fifo, "random"], **SMALL)
    assert [rank.result.policy for rank in ranking] == [
        "python:lowest_greedy", "python:Fifo", "random",
    ]  # fmt: skip
    twice = flashgc.compare([random_block, random_block], **SMALL)
    assert {rank.result.policy for rank in twice} == {
        "python:random_block", "python:random_block#2",
    }  # fmt: skip


def test_views_are_read_only_current_and_not_copied() -> None:
    seen = []

    def look(blocks: Blocks) -> int:
        assert blocks.valid.dtype == numpy.uint32
        assert blocks.erases.dtype == numpy.uint32
        assert len(blocks) == len(blocks.valid) == len(blocks.counts) == len(blocks.erases) == 200
        assert blocks.pages_per_block == 16
        assert not blocks.valid.flags.writeable
        assert blocks.counts.readonly
        with pytest.raises(ValueError, match="read-only"):
            blocks.valid[0] = 0
        with pytest.raises(TypeError):
            blocks.counts[0] = 0
        candidates = numpy.count_nonzero(blocks.valid < OPEN)
        assert candidates == blocks.candidates
        assert numpy.array_equal(blocks.valid, numpy.frombuffer(blocks.counts, numpy.uint32))
        seen.append((id(blocks), blocks.valid.ctypes.data, int(blocks.erases.sum())))
        return lowest_greedy(blocks)

    flashgc.run(victim=look, **{**SMALL, "runs": 1})
    assert len({(block, address) for block, address, _ in seen}) == 1
    # With the single frontier, each collection erases one block, and the next pick sees it. The
    # first blocks were already erased at the start.
    assert seen[-1][2] - seen[100][2] == len(seen) - 101


def test_a_view_outlives_its_drive() -> None:
    kept = []

    def keep(blocks: Blocks) -> int:
        kept[:] = [blocks, blocks.valid, blocks.counts]
        return lowest_greedy(blocks)

    result = flashgc.run(victim=keep, **{**SMALL, "runs": 1})
    flashgc.run(victim="greedy", **SMALL)  # Another run would reuse freed memory.
    blocks, valid, counts = kept
    # The drive is full: valid pages of all blocks are its logical pages.
    assert int((valid & 0x7FFF).sum()) == result.config.logical_pages
    assert [int(count) for count in valid] == list(counts)
    with pytest.raises(RuntimeError, match="inside a pick"):
        blocks.draw(1)


def test_every_run_gets_its_own_state() -> None:
    policy = Fifo()
    first = flashgc.run(victim=policy, **SMALL)
    assert policy.next == -1
    assert flashgc.run(victim=policy, **SMALL).digest == first.digest


def test_an_exception_reaches_the_caller_with_its_traceback() -> None:
    def divide(blocks: Blocks) -> int:
        return 1 // 0

    with pytest.raises(ZeroDivisionError) as caught:
        flashgc.run(victim=divide, **SMALL)
    assert any(frame.name == "divide" for frame in traceback.extract_tb(caught.value.__traceback__))


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("first", "returned 'first', a str, expected a block number"),
        (3.5, "returned 3.5, a float"),
        (200, "picked block 200, which does not exist"),
        (-1, "returned -1, which is not a block of this drive"),
        (2**40, "returned 1099511627776, which is not a block of this drive"),
    ],
)
def test_a_bad_block_number_is_a_clear_error(returned: object, message: str) -> None:
    with pytest.raises(flashgc.PolicyError, match=message):
        flashgc.run(victim=lambda blocks: returned, **SMALL)


def test_an_open_block_is_refused() -> None:
    def open_block(blocks: Blocks) -> int:
        return int(blocks.valid.argmax())

    with pytest.raises(flashgc.PolicyError, match="is open or erased"):
        flashgc.run(victim=open_block, frontier="double", **SMALL)


def test_none_is_refused_where_something_can_be_collected() -> None:
    with pytest.raises(flashgc.PolicyError, match="returned None, though there are candidates"):
        flashgc.run(victim=lambda blocks: None, **SMALL)


def test_a_policy_that_frees_nothing_is_stopped() -> None:
    def fullest(blocks: Blocks) -> int:
        return int(numpy.where(blocks.valid < OPEN, blocks.valid, 0).argmax())

    with pytest.raises(flashgc.DriveError, match="freed nothing"):
        flashgc.run(victim=fullest, blocks=20, pages_per_block=16, writes="6x")


def test_something_that_is_no_policy_is_refused() -> None:
    with pytest.raises(flashgc.PolicyError, match="is not a victim policy"):
        flashgc.run(victim=3, **SMALL)  # type: ignore[arg-type]


def test_the_command_loads_a_policy_from_a_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Mine:\n"
        "    def pick(self, blocks):\n"
        "        return blocks.valid.argmin()\n"
        "def broken(blocks):\n"
        "    return blocks.nothing\n"
    )
    small = ("--blocks", 100, "--pages-per-block", 16, "--writes", "2x")
    made = command("compare", *small, "--victim", "python:mine.py:Mine", "--victim", "fifo")
    assert made.returncode == 0, made.stderr
    assert "python:mine.py:Mine" in made.stdout
    made = command("run", *small, "--victim", "python:mine.py:broken")
    assert made.returncode == 1
    assert made.stderr.count("\n") == 1
    assert "mine.py:5: AttributeError" in made.stderr
    made = command("run", *small, "--victim", "python:mine.py:Mien")
    assert made.returncode == 2
    assert "'Mine'" in made.stderr


FAULTY = """\
import sys, threading
def leaves(blocks):
    sys.exit(0)
def interrupts(blocks):
    raise KeyboardInterrupt
def draws(blocks):
    return blocks.draw(10**12)[0]
def lacks():
    return 0
class Locked:
    def __init__(self):
        self.lock = threading.Lock()
    def pick(self, blocks):
        return 0
locked = Locked()
"""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("leaves", "mine.py:3: SystemExit: 0"),
        ("interrupts", "mine.py:5: KeyboardInterrupt"),
        ("draws", "mine.py:7: ValueError: blocks.draw(1000000000000)"),
        ("lacks", "mine.py:8: python:mine.py:lacks(): too many positional arguments"),
        ("locked", "mine.py:13: python:mine.py:locked cannot be copied"),
    ],
)
def test_a_policy_cannot_end_the_program(
    command: Command, tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "mine.py").write_text(FAULTY)
    small = ("--blocks", 100, "--pages-per-block", 16, "--writes", "2x")
    made = command("run", *small, "--victim", f"python:mine.py:{name}")
    assert made.returncode == 1, made
    assert made.stderr.count("\n") == 1
    assert message in made.stderr


class Static:
    @staticmethod
    def pick(blocks: Blocks) -> int:
        return blocks.draw(1)[0]


class Assigned:
    def __init__(self) -> None:
        self.pick = random_block


class Called:
    def __call__(self, blocks: Blocks) -> int:
        return blocks.draw(1)[0]


@pytest.mark.parametrize("policy", [Static, Static(), Assigned, Called, Called()])
def test_whatever_can_be_called_is_a_policy(policy: object) -> None:
    drawn = flashgc.run(victim=random_block, **SMALL)
    assert flashgc.run(victim=policy, **SMALL).host_pages == drawn.host_pages


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys\nsys.exit(0)\n", "mine.py:2: SystemExit"),
        ("def f(:\n", "mine.py:1: SyntaxError"),
    ],
)
def test_a_file_of_policies_that_cannot_be_loaded(
    command: Command, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "mine.py").write_text(text)
    made = command("run", "--victim", "python:mine.py:f")
    assert made.returncode == 1, made
    assert made.stdout == ""
    assert message in made.stderr


class Stateful:
    """Takes random numbers from another source than the drive's stream."""

    count = 0

    def pick(self, blocks: Blocks) -> int:
        Stateful.count += 1
        candidates = numpy.flatnonzero(blocks.valid < OPEN)
        reclaimable = candidates[blocks.valid[candidates] < blocks.pages_per_block]
        return int(reclaimable[Stateful.count * 7 % len(reclaimable)])


def first_of_all(blocks: Blocks) -> int:
    return 0


def stuck(blocks: Blocks) -> int:
    return int(numpy.where(blocks.valid < OPEN, blocks.valid, 0).argmax())


@pytest.mark.parametrize("policy", [lowest_greedy, Fifo, random_block, ten_choices])
def test_good_policies_conform(policy: object) -> None:
    done = flashgc.check_policy(policy)
    # Hand-built tables, and three workloads on each of four frontiers.
    assert len(done.checks) == 16
    assert done.picks > 1000


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (first_of_all, "picked block 0, which is open"),
        (lambda blocks: None, "returned None, though there are candidates"),
        (len, "hint: blocks are numbered from 0"),
        (lambda blocks: "x", "returned 'x', a str"),
        (Stateful, "led to other decisions"),
        (stuck, "freed nothing"),
    ],
)
def test_bad_policies_are_told_what_is_wrong(policy: object, message: str) -> None:
    with pytest.raises(flashgc.PolicyError, match=message):
        flashgc.check_policy(policy)


def test_policies_of_the_readme_and_of_numpy_are_clean_for_type_checkers(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    readme = (ROOT / "README.md").read_text()
    policy = readme.split("<!-- file: mine.py -->\n```python\n")[1].split("```")[0]
    uses = (
        "\n\nimport flashgc\n\n\ndef typed(blocks: flashgc.Blocks) -> np.intp:\n"
        "    return blocks.valid.argmin()\n\n\n"
        "flashgc.run(victim=old_and_empty)\nflashgc.run(victim=typed)\n"
        "flashgc.compare([old_and_empty, typed, 'greedy'])\n"
    )
    file = tmp_path / "mine.py"
    file.write_text(policy + uses)
    out, _, code = api.run([str(file), "--config-file=", "--cache-dir", str(ROOT / ".mypy_cache")])
    assert code == 0, out
    file.write_text(f"{policy}{uses}flashgc.run(victim=str)\n")
    out, _, code = api.run([str(file), "--config-file=", "--cache-dir", str(ROOT / ".mypy_cache")])
    assert code == 1, "the check cannot fail"
