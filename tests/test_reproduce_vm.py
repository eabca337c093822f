"""The worked example of Ji and Shin: that the shipped traces lead to the moment of the figures."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flashgc.results import Result
from flashgc_papers.reproduce.runner import Measured, Row, Size, runner_of
from flashgc_papers.reproduce.verdicts import Verdict
from flashgc_papers.vm.example import CACHED, FOLDER, PAGE
from flashgc_papers.vm.experiment import programs
from flashgc_papers.vm.sweeps import CACHES, LOG_BLOCKS
from papers import claim_of

#: (page, written), the page used longest ago first: what the cache holds beside P6 when that goes.
#: Of the figures: P2 and P1 in the LRU region, with P6 itself; P5, P11 and P9 in the MRU region.
HELD = {
    "figure": [(2, True), (1, False), (5, False), (11, True), (9, False)],
    "mru-dirty": [(5, False), (4, False), (7, False), (11, True)],
    "mru-clean": [(5, False), (4, False), (7, False), (9, False)],
    "lru-dirty": [(2, True), (5, False), (4, False), (7, False)],
    "lru-clean": [(1, False), (5, False), (4, False), (7, False)],
}
#: What the log blocks hold: PBN 3, then PBN 4 (P4 written three times).
LOGGED = [1, 3, 8, 10, 4, 5, 4, 4]


def references(held: list[tuple[int, bool]], capacity: int) -> list[tuple[int, bool]]:
    """The references that lead to the moment of the figures.

    Every page once, so that they get their numbers in order; each logged page written and then
    pushed out by reads of others; then P6, what is held, and P0, for which P6 goes.
    """
    made = [(page, False) for page in range(12)]
    for page in LOGGED:
        others = [other for other in range(12) if other != page][:capacity]
        made += [(page, True), *((other, False) for other in others)]
    return [*made, (6, True), *held, (0, False)]


def text(made: list[tuple[int, bool]]) -> str:
    rows = [f"0.000,{'W' if write else 'R'},{page * PAGE},{PAGE},0" for page, write in made]
    return "\n".join(["time_us,op,offset_bytes,size_bytes,dev", *rows]) + "\n"


@pytest.mark.parametrize("name", CACHED)
def test_the_traces_lead_to_the_moment_of_the_figures(name: str) -> None:
    made = references(HELD[name], CACHED[name])
    assert (FOLDER / f"{name}.csv").read_text() == text(made)
    # A plain LRU cache, by hand: which dirty pages go, in which order, and what is left.
    cache: dict[int, bool] = {}
    gone = []
    for page, write in made:
        dirty = cache.pop(page, False) or write
        if len(cache) == CACHED[name]:
            oldest = next(iter(cache))
            if cache.pop(oldest):
                gone.append(oldest)
                held = list(cache.items())
        cache[page] = dirty
    assert gone == [*LOGGED, 6]
    assert held == HELD[name]


def over_sizes(excluded: Callable[[int], float]) -> dict[str, Row]:
    """The rows of Figures 11 and 12 where LDA-GC saves 30% and leaves out so many duplicates."""
    claim = claim_of("vm", "fig11-12")
    runner = runner_of(claim)
    assert runner is not None
    task = runner.task(claim, Size.QUICK)
    results = {}
    for key in task.simulations:
        name, scheme, _, point = key.rsplit(" ", 3)
        assert name in programs()
        time = (1000 - int(point)) * (1 if scheme == "DU-GC" else 0.7)
        left_out = excluded(int(point))
        swap = {"io_seconds": time, "excluded_per_collection": left_out}
        results[key] = Result.from_dict({"swap": swap, "config": {}})
    made = runner.judge(claim, Measured(Size.QUICK, task, results, {}))
    return {row.label: row for row in made.rows}


def test_the_peak_of_the_duplicates_is_where_they_are_most() -> None:
    peak = "LDA-GC5, log blocks at which N_dup is largest"
    rises = "LDA-GC5, N_dup over page cache in MiB"
    published = over_sizes(lambda point: 30 - abs(point - 32) / 4)
    assert published[peak].verdict is Verdict.IN_KIND
    assert published[peak].measured == "32 log blocks"
    assert published[rises].verdict is Verdict.IN_KIND
    assert published["LDA-GC5 below DU-GC at every size of the cache"].verdict is Verdict.IN_KIND
    assert published["LDA-GC5, I/O time in s over log blocks"].verdict is Verdict.IN_KIND
    falling = over_sizes(lambda point: 30 - point / 10)
    assert falling[peak].measured == f"{LOG_BLOCKS[0]} log blocks"
    assert falling[peak].verdict is Verdict.MISSED
    assert falling[rises].verdict is Verdict.MISSED
    assert len(CACHES) == len(LOG_BLOCKS) == 5
