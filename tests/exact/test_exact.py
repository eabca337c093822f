"""``docs/exact.md`` suffices: the simulator that was written from it agrees to the digit."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from tests.exact.drive import Block, Drive

import flashgc

PAGE = Path(__file__).parents[2] / "docs" / "exact.md"
Command = tuple[str, int]

VICTIMS = (
    "fifo", "greedy", "greedy:ties=oldest", "greedy:ties=lowest", "windowed:w=5", "windowed",
    "cost-benefit", "cost-benefit:form=lfs", "cost-benefit:form=sqrt",
)  # fmt: skip
FRONTIERS = ("single", "double", "compact", "pool:low=1", "pool:low=3", "mixed:low=2")
#: Random configurations, and the commands of each.
SEEDS, COMMANDS = range(36), 3000

#: For each wrong rule, a configuration on which it shows: blocks, pages of a block, spare, victim
#: policy, frontier, regions.
WRONG: dict[str, tuple[int, int, float, str, str, int]] = {
    "round down": (24, 4, 0.4, "greedy", "single", 0),
    "erased blocks close last": (24, 4, 0.3, "fifo", "single", 0),
    "copies in reverse": (32, 8, 0.3, "greedy", "double", 0),
    "touched when closed": (32, 8, 0.3, "greedy", "single", 0),
    "room as soon as full": (32, 8, 0.3, "greedy", "pool:low=1", 0),
    "the full block closes after the pick": (8, 8, 0.5, "greedy", "single", 0),
    "the victim is always the host's": (32, 8, 0.3, "greedy", "double", 0),
    "the first victim is compacted first": (32, 8, 0.3, "greedy", "compact", 0),
    "one block less in the pool": (32, 8, 0.4, "greedy", "pool:low=2", 0),
    "last erased, first opened": (32, 8, 0.3, "cost-benefit", "pool:low=3", 0),
    "copies stay in their region": (32, 8, 0.5, "greedy", "pool:low=1", 3),
    "ties by the lowest number": (32, 8, 0.3, "greedy", "single", 0),
    "age on the host's clock": (32, 8, 0.3, "cost-benefit", "single", 0),
    "ties without erases": (24, 4, 0.4, "cost-benefit", "pool:low=1", 0),
}


def commands(draw: Random, logical: int, count: int = COMMANDS) -> list[Command]:
    """Writes, most of them to a part of the pages, and discards of pages that are written."""
    hot = max(2, logical // 8)
    every = [
        (
            "D" if draw.random() < 0.06 else "W",
            draw.randrange(hot) if draw.random() < 0.6 else draw.randrange(logical),
        )
        for _ in range(count)
    ]
    written = {page for operation, page in every if operation == "W"}
    return [command for command in every if command[1] in written]


def figures(drive: Drive) -> tuple[float, ...]:
    erases = [block.erases for block in drive.blocks]
    counts = (drive.host_pages, drive.copied_pages, sum(erases), drive.collections)
    return (*counts, min(erases), max(erases), sum((each - sum(erases) / len(erases)) ** 2
                                                   for each in erases))  # fmt: skip


def simulated(
    given: list[Command], folder: Path, blocks: int, pages: int, spare: float, victim: str,
    frontier: str, regions: int,
) -> tuple[float, ...]:  # fmt: skip
    lines = [
        f"{time}.000,{operation},{page * 4096},4096,0\n"
        for time, (operation, page) in enumerate(given)
    ]
    trace = folder / "trace.csv"
    trace.write_text("time_us,op,offset_bytes,size_bytes,dev\n" + "".join(lines))
    result = flashgc.run(
        str(trace), numbering="given", passes=1, warmup="0", runs=1, blocks=blocks,
        pages_per_block=pages, spare=spare, victim=victim, frontier=frontier,
        placement=f"dac:regions={regions}" if regions else "none",
    )  # fmt: skip
    wear = result.wear
    assert wear is not None
    counts = (result.host_pages, result.copied_pages, result.erases, result.collections)
    return (*counts, wear.min, wear.max, wear.deviation**2 * blocks)


def replayed(given: list[Command], drive: Drive) -> tuple[float, ...]:
    for operation, page in given:
        (drive.write if operation == "W" else drive.trim)(page)
    return figures(drive)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_simulator_from_the_page_agrees_to_the_digit(seed: int, tmp_path: Path) -> None:
    draw = Random(seed)
    blocks, pages = draw.choice([(24, 4), (32, 8), (40, 5), (64, 16)])
    spare = draw.choice([0.25, 0.3, 0.33, 0.4, 0.5])
    victim, frontier = VICTIMS[seed % len(VICTIMS)], FRONTIERS[seed % len(FRONTIERS)]
    regions = draw.choice([0, 2, 3, 4]) if frontier.startswith("pool") else 0
    drive = Drive(blocks, pages, spare, victim, frontier, regions)
    given = commands(draw, drive.logical)
    mine = replayed(given, drive)
    theirs = simulated(given, tmp_path, blocks, pages, spare, victim, frontier, regions)
    assert mine == pytest.approx(theirs, rel=1e-9)
    assert mine[:6] == theirs[:6]
    assert mine[1] > 0


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_rule_shows(wrong: str, tmp_path: Path) -> None:
    shape = WRONG[wrong]
    drive = Drive(*shape)
    given = commands(Random(1), drive.logical - 1)
    theirs = simulated(given, tmp_path, *shape)
    assert replayed(given, drive) == pytest.approx(theirs, rel=1e-9)
    try:
        broken = replayed(given, Drive(*shape, wrong=wrong))
    except (AssertionError, IndexError, ValueError):
        return  # It finds no room at all.
    assert broken != pytest.approx(theirs, rel=1e-9)


#: The worked example: four blocks of three pages, nine logical pages.
EXAMPLE, WRITES = (4, 3, 0.25, "greedy"), (0, 3, 6, 1, 4, 7, 0)


def shown(drive: Drive, block: Block) -> str:
    pages = [
        str(page) if drive.where.get(page) == (block, at) else "-"
        for at, page in enumerate(block.pages)
    ]
    return " ".join(pages) or "erased"


def table() -> str:
    """The state after each write of the worked example, as the page has it."""
    drive = Drive(*EXAMPLE)
    lines = [
        "| write | collected | copied | block 0 | block 1 | block 2 | block 3 |",
        "|" + "---|" * 7,
    ]

    def add(*cells: object) -> None:
        blocks = [shown(drive, block) for block in drive.blocks]
        lines.append("| " + " | ".join(map(str, (*cells, *blocks))) + " |")

    add("before", "", "")
    for page in WRITES:
        valid = {block.number: drive.valid(block) for block in drive.blocks}
        erases = [block.erases for block in drive.blocks]
        collected = drive.collections
        drive.write(page)
        victims = [
            block.number
            for block, before in zip(drive.blocks, erases, strict=True)
            if block.erases != before
        ]
        if drive.collections > collected and not victims:
            victims = [block.number for block in drive.blocks if not valid[block.number]]
        add(
            page,
            ", ".join(map(str, victims)),
            " ".join(str(copy) for victim in victims for copy in valid[victim]),
        )
    return "\n".join(lines)


def test_the_worked_example_is_what_both_do(tmp_path: Path) -> None:
    assert table() in PAGE.read_text()
    given = [("W", page) for page in WRITES]
    mine = replayed(given, Drive(*EXAMPLE))
    assert mine[:6] == simulated(given, tmp_path, *EXAMPLE, "single", 0)[:6]


def test_each_rule_of_the_page_is_cited() -> None:
    """The page numbers its rules, and the simulator says which of them each part follows."""
    rules = {int(number) for number in re.findall(r"^(\d+)\. ", PAGE.read_text(), re.MULTILINE)}
    assert rules == set(range(1, max(rules) + 1))
    code = Path(__file__).with_name("drive.py").read_text()
    cited: set[int] = set()
    for words in re.findall(r"[Rr]ules? ([\d, and to]+)", code):
        numbers = [int(number) for number in re.findall(r"\d+", words)]
        cited |= {*range(numbers[0], numbers[1] + 1)} if " to " in words else {*numbers}
    assert cited <= rules
    assert rules - cited <= {19, 25}, "rules that no line follows"
