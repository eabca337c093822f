"""The cost of victim policies in Python: equal rules, built in and written in Python.

    .venv/bin/python scripts/bench/python_policies.py [PAGES...]

Uniform writes, 256 pages a block, 28% over-provisioning, one core. Both runs of a pair make equal
decisions, as their write amplification shows. Each figure is the best of three. The last column
is the additional time of each pick in Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import flashgc

PAGES_PER_BLOCK = 256


def d_choices(d: int) -> Callable[[flashgc.Blocks], int]:
    """The best of ``d`` random candidates, as a loop."""

    def pick(blocks: flashgc.Blocks) -> int:
        counts, best, picked = blocks.counts, blocks.pages_per_block + 1, -1
        for block in blocks.draw(d):
            if counts[block] < best:
                best, picked = counts[block], block
        return picked

    return pick


def shortest_ten(blocks: flashgc.Blocks) -> int:
    """The best of ten random candidates, as one expression."""
    return min(blocks.draw(10), key=blocks.count)


def greedy(blocks: flashgc.Blocks) -> int:
    """The emptiest of all blocks, by numpy."""
    return int(blocks.valid.argmin())


class Fifo:
    """Picks blocks in the order of their numbers."""

    def __init__(self) -> None:
        self.last = -1

    def pick(self, blocks: flashgc.Blocks) -> int:
        """The next block that may be picked."""
        while True:
            self.last = (self.last + 1) % len(blocks)
            if blocks.counts[self.last] <= blocks.pages_per_block:
                return self.last


PAIRS = (
    ("fifo", Fifo, "in turn, one look"),
    ("d-choices:d=2", d_choices(2), "loop over 2 draws"),
    ("d-choices:d=5", d_choices(5), "loop over 5 draws"),
    ("d-choices:d=10", d_choices(10), "loop over 10 draws"),
    ("d-choices:d=10", shortest_ten, "min(10 draws, key=blocks.count)"),
    ("greedy:ties=lowest", greedy, "blocks.valid.argmin()"),
)


def measure(victim: flashgc.Victim, pages: int) -> flashgc.Result:
    """The fastest of three runs."""
    runs = [
        flashgc.run(
            victim=victim,
            blocks=round(pages * 1.28 / PAGES_PER_BLOCK),
            pages_per_block=PAGES_PER_BLOCK,
            overprovision="28%",
            fill="random",
            warmup="0",
            writes=max(2 * pages, 8_000_000),
            jobs=1,
        )
        for _ in range(3)
    ]
    return max(runs, key=lambda run: run.page_programs_per_second)


def main() -> None:
    """Prints a table for each size of drive."""
    for pages in [int(text) for text in sys.argv[1:]] or [1 << 20, 1 << 24]:
        print(f"{pages} logical pages, {PAGES_PER_BLOCK} a block; M page programs a second")
        print(
            f"{'rule':20}{'in Python':34}{'WA':>8}{'built in':>10}{'Python':>8}{'ratio':>7}"
            f"{'us a pick':>11}"
        )
        for name, policy, how in PAIRS:
            built_in, python = measure(name, pages), measure(policy, pages)
            assert built_in.copied_pages == python.copied_pages, "the rules decide differently"
            rates = [run.page_programs_per_second / 1e6 for run in (built_in, python)]
            programs = python.host_pages + python.copied_pages
            longer = programs * (1 / rates[1] - 1 / rates[0])
            print(
                f"{name:20}{how:34}{python.write_amplification:8.4f}"
                f"{rates[0]:10.0f}{rates[1]:8.0f}{rates[0] / rates[1]:7.2f}"
                f"{longer / python.collections:11.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
