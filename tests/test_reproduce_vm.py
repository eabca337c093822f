"""The worked example of Ji and Shin: the shipped traces lead to the state in the figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flashgc.simulation import run
from flashgc.traces import trace_stat
from flashgc_papers.reproduce.mutants import changed, mutants_of
from flashgc_papers.reproduce.rows import Row
from flashgc_papers.reproduce.runner import Outcome, runner_of
from flashgc_papers.reproduce.tasks import Measured, Size
from flashgc_papers.reproduce.verdicts import Verdict
from flashgc_papers.vm.example import CACHED, FOLDER, PAGE
from flashgc_papers.vm.experiment import mixtures, programs
from flashgc_papers.vm.schemes import FIGURES
from flashgc_papers.vm.sweeps import CACHES, LOG_BLOCKS, STATED, WINDOWS
from papers import claim_of, result_of, task_of

#: (page, is dirty) of the pages in the cache when P6 is evicted, in LRU order, without P6. In the
#: figures, P2, P1 and P6 are in the LRU region, and P5, P11 and P9 in the MRU region.
HELD = {
    "figure": [(2, True), (1, False), (5, False), (11, True), (9, False)],
    "mru-dirty": [(5, False), (4, False), (7, False), (11, True)],
    "mru-clean": [(5, False), (4, False), (7, False), (9, False)],
    "lru-dirty": [(2, True), (5, False), (4, False), (7, False)],
    "lru-clean": [(1, False), (5, False), (4, False), (7, False)],
}
#: Pages that one trace reads after the moment of the figures.
LATER = (3, 4, 7, 8, 10)
#: Pages in the log blocks: PBN 3, then PBN 4 (P4 was written three times).
LOGGED = [1, 3, 8, 10, 4, 5, 4, 4]


def references(held: list[tuple[int, bool]], capacity: int) -> list[tuple[int, bool]]:
    """The references that lead to the moment of the figures.

    First every page is read once, so that pages are numbered in order. Each logged page is written
    and then evicted by reads of others. Then come P6, the held pages, and P0, which evicts P6.
    """
    made = [(page, False) for page in range(12)]
    for page in LOGGED:
        others = [other for other in range(12) if other != page][:capacity]
        made += [(page, True), *((other, False) for other in others)]
    return [*made, (6, True), *held, (0, False)]


def text(made: list[tuple[int, bool]]) -> str:
    rows = [f"0.000,{'W' if write else 'R'},{page * PAGE},{PAGE},0" for page, write in made]
    return "\n".join(["time_us,op,offset_bytes,size_bytes,dev", *rows]) + "\n"


@pytest.mark.parametrize("name", HELD)
def test_the_traces_lead_to_the_moment_of_the_figures(name: str) -> None:
    made = references(HELD[name], CACHED[name])
    assert (FOLDER / f"{name}.csv").read_text() == text(made)
    # A plain LRU cache, to find the order of evicted dirty pages and the remaining content.
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


def test_one_trace_goes_on_until_what_the_merge_left_out_is_evicted() -> None:
    # P0 is cached last. The next five reads evict P2, P1, P5, P11 and P9. Only P5 is clean then.
    made = [*references(HELD["figure"], CACHED["figure"]), *((page, False) for page in LATER)]
    assert (FOLDER / "evicted.csv").read_text() == text(made)
    assert set(CACHED) == {*HELD, "evicted"}
    mutant = next(one for one in mutants_of("vm") if one.name == "left-out pages in place")
    task = task_of(claim_of("vm", "fig1-3"), Size.QUICK)
    merged = []
    for one in (task, changed(task, mutant)):
        options = dict(one.simulations["evicted"].options)
        result = run(options.pop("workload"), **options)
        assert result.swap is not None
        assert result.merges is not None
        merged.append((result.swap.swap_outs, result.merges.total))
    # Nine pages are logged before, the last of them P6; then P2, P1, P11 and P9. The log block with
    # P6 has room for three more pages, so P9 needs another block. If the merge writes left-out
    # pages in place, none of the four pages needs a block.
    assert merged == [(13, 2), (13, 1)]


def over_sizes(excluded: Callable[[int], float]) -> dict[str, Row]:
    """The rows of Figures 11 and 12 if LDA-GC saves 30% of the I/O time.

    ``excluded`` gives the duplicates that LDA-GC excludes at a size.
    """
    claim = claim_of("vm", "fig11-12")
    runner = runner_of(claim)
    assert runner is not None
    task = runner.task(claim, Size.QUICK)
    results = {}
    for key in task.simulations:
        name, scheme, _, point = key.partition(": ")[2].rsplit(" ", 3)
        assert name in mixtures()
        time = (1000 - int(point)) * (1 if scheme == "DU-GC" else 0.7)
        left_out = excluded(int(point))
        swap = {"io_seconds": time, "excluded_per_collection": left_out}
        results[key] = result_of({"swap": swap, "config": {}})
    made = runner.judge(claim, Measured(Size.QUICK, task, results, {}))
    return {row.label: row for row in made.chosen}


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


def judged(name: str, of: Callable[[str], dict[str, Any]]) -> Outcome:
    """The outcome under every reading, if ``of`` gives the raw result of a run by its name."""
    claim = claim_of("vm", name)
    runner = runner_of(claim)
    assert runner is not None
    task = runner.task(claim, Size.QUICK)
    results = {
        key: result_of({"config": {}, **of(key.partition(": ")[2])}) for key in task.simulations
    }
    return runner.judge(claim, Measured(Size.QUICK, task, results, {}))


#: Times of Figure 5 from the paper's text, and of a page map on which leaving out pages helps.
TIMES = {
    "DU-GC": 100.0, "DA-GC": 105.0, "LDA-GC1": 90.0, "LDA-GC2": 94.0, "LDA-GC3": 76.0,
    "LDA-GC4": 72.0, "LDA-GC5": 63.0, "LDA-P": 60.0, "DA-GC on a page map": 90.0,
    "DU-GC on a page map": 100.0,
}  # fmt: skip


def test_the_published_times_are_what_is_claimed_of_figure_5() -> None:
    def timed(changes: dict[str, float]) -> Outcome:
        times = TIMES | changes
        return judged(
            "fig5",
            lambda key: {
                "swap": {"io_seconds": times[key.partition(" ")[2]], "swap_outs": 1.0},
            },
        )

    # The first reading was fitted to this figure.
    assert timed({}).under == {"window": Verdict.FITTED, "literal": Verdict.IN_KIND}
    # At 95, LDA-VBS is not better than LDA-BM: both the order and the size are missed.
    missed = [row.label for row in timed({"LDA-GC1": 95.0}).chosen if row.verdict is Verdict.MISSED]
    assert missed == ["LDA-GC1 below LDA-GC2", "LDA-GC1 against DU-GC, %"]
    missed = [row.label for row in timed({"DA-GC": 93.0}).chosen if row.verdict is Verdict.MISSED]
    assert missed == ["DA-GC no better than DU-GC"]


def test_merges_that_nobody_makes_are_not_more() -> None:
    merges = {"full": 10, "partial": 0, "switch": 0, "dead": 0}
    swap = {"io_seconds": 1.0, "swap_outs": 1.0, "collection_seconds": 1.0}
    raw: dict[str, Any] = {"swap": swap, "merges": merges, "copied_pages": 1, "erases": 1}
    rows = {row.label: row for row in judged("fig6-10", lambda _: raw).chosen}
    assert "partial merges" in FIGURES
    for kind in ("partial", "switch"):
        row = rows[f"{kind} merges, DA-GC, %"]
        assert (row.verdict, row.why) == (Verdict.MISSED, "DU-GC makes none")


def test_a_wider_window_pays_up_to_32_log_blocks() -> None:
    def over_windows(times: dict[int, float]) -> list[Verdict]:
        def raw(key: str) -> dict[str, Any]:
            window = key.rpartition(" ")[2]
            time = times[STATED[-1] if window == "all" else int(window)]
            merges = {"full": 10, "partial": 0, "switch": 0, "dead": 0}
            return {"swap": {"io_seconds": time}, "merges": merges}

        return [row.verdict for row in judged("fig13", raw).chosen]

    assert over_windows({1: 120.0, 32: 101.0, 128: 100.0}) == [Verdict.IN_KIND] * 2
    assert over_windows({1: 110.0, 32: 105.0, 128: 97.0}) == [Verdict.IN_KIND, Verdict.MISSED]
    assert over_windows({1: 100.0, 32: 101.0, 128: 100.0}) == [Verdict.MISSED] * 2
    # From the default size on, all windows of the paper are run.
    task = task_of(claim_of("vm", "fig13"), Size.DEFAULT)
    assert len(task.simulations) == 2 * len(mixtures()) * (len(WINDOWS) + 1)


def test_a_mixture_has_the_pages_of_five_programs() -> None:
    """Each program has its own pages. The mixtures differ in the order of the programs."""
    alone = [
        trace_stat(path, page_size="2KiB") for name, path in programs().items() if name != "sqlite"
    ]
    pages = sum(one.pages for one in alone)
    together = [trace_stat(path, page_size="2KiB") for path in mixtures().values()]
    assert {one.pages for one in together} == {pages} == {44_760}
    assert len({path.read_bytes() for path in mixtures().values()}) == len(together) == 5


def test_readings_differ_in_regions_log_block_and_window_and_passes_are_one_number() -> None:
    task = task_of(claim_of("vm", "fig5"), Size.FULL)
    assert task.simulations == task_of(claim_of("vm", "fig5"), Size.QUICK).simulations
    chosen, literal = (
        task.simulations[f"{reading}: w3m LDA-GC5"].options for reading in ("window", "literal")
    )
    assert chosen["mapping"] == "fast:log_blocks=32,log_only=yes,window=12,sequential=0"
    assert chosen["page_policy"] == "3-region:initial=0.2,lru=0.6,resize=no"
    assert literal["mapping"] == "fast:log_blocks=32,log_only=yes"
    assert "page_policy" not in literal
    # A figure about windows sets its own window instead of the reading's.
    sweep = task_of(claim_of("vm", "fig13"), Size.QUICK)
    options = sweep.simulations["window: order-1 all"].options
    assert ",window=all," in options["mapping"]
    # A mixture is long enough for one pass, as in the paper.
    assert (options["passes"], chosen["passes"]) == (1, 5)


def test_pages_that_go_to_their_place_are_a_wrong_engine() -> None:
    (mutant,) = (one for one in mutants_of("vm") if one.name == "left-out pages in place")
    task = task_of(claim_of("vm", "fig5"), Size.QUICK)
    part = changed(task, mutant)
    # Only runs on FAST remain: a page map has no places in data blocks.
    assert set(task.simulations) - set(part.simulations) == {
        key for key in task.simulations if key.endswith("on a page map")
    }
