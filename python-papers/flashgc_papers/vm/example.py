"""Ji and Shin's worked example: Figures 1 to 3 and Table I, on the simulated drive.

The figures show one moment: the contents of the log blocks and of the page cache. Short traces of
page references lead to this moment, through a plain LRU cache whose older half is the LRU region.
The next reference evicts P6, and the oldest log block is merged to make room for P6. One trace goes
on until the pages that the merge left out are evicted, too. The files are in ``worked``; the test
of this module makes them again and says how.
"""

from __future__ import annotations

from pathlib import Path

from flashgc.described import Simulation, simulation
from flashgc_papers.claims import Claim
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Outcome, conclude, runner
from flashgc_papers.reproduce.tasks import Measured, Size, Task
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.vm.experiment import SCHEMES, merges, swap

FOLDER = Path(__file__).resolve().parent / "worked"
#: The cache's size in pages, by trace.
CACHED = {"figure": 6, "evicted": 6, "mru-dirty": 5, "mru-clean": 5, "lru-dirty": 5, "lru-clean": 5}
PAGE = 512

#: The cost of the erases and n copies of Figures 1 and 2 with the times of section V.A:
#: (2 + 1) 2 ms + n 0.225 ms.
COST_MS = {"DU-GC": 7.8, "DA-GC": 6.9}
#: A sentence that the runs are the paper's whole example.
WHOLE = "the worked example has all of its reads and writes"


def example(trace: str, scheme: str) -> Simulation:
    """The drive of the figures: three data blocks of four pages, two log blocks."""
    return simulation(
        workload=str(FOLDER / f"{trace}.csv"),
        numbering="first-touch",
        mapping="fast:log_blocks=2,sequential=0,victim=rr,log_only=yes",
        vm_page_cache=f"{CACHED[trace] * PAGE}B",
        page_policy="lru:parts=2",
        vm_scheme=SCHEMES[scheme],
        page_size=f"{PAGE}B",
        pages_per_block=4,
        spare="60%",
        passes=1,
        runs=1,
    )


@runner("vm.fig1-3")
class Figures:
    """Figures 1 to 3: the pages that the collection of PBN 3 moves, and those that turn dirty."""

    #: LDA-BM, and LDA-BM with LDE; both take their victims in turn.
    FURTHER = ("LDA-GC2", "LDA-GC4")

    def task(self, claim: Claim, _size: Size) -> Task:
        """One collection for each scheme."""
        schemes = [*map(str, claim.column("policy")), *self.FURTHER]
        return Task(
            {
                **{scheme: example("figure", scheme) for scheme in schemes},
                "evicted": example("evicted", "DA-GC"),
            },
            settings="the collection of Figures 1 to 3, at every size the same",
            whole=WHOLE,
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge migrated pages, their cost, and pages that change their state."""
        rows = [self._moved(claim, measured, *row) for row in claim.rows]
        rows += [self._cost(measured, scheme, cost) for scheme, cost in COST_MS.items()]
        # P1 and P9 turn dirty; LDA-BM copies P1; LDE writes P2 and makes it clean.
        for scheme, key, published, what in (
            ("DA-GC", "made_dirty", 2, "clean pages that turn dirty (P1, P9)"),
            ("DA-GC", "left_dirty", 2, "dirty pages left out (P2, P11)"),
            ("LDA-GC2", "made_dirty", 1, "clean pages that turn dirty (P9)"),
            ("LDA-GC2", "left_dirty", 2, "dirty pages left out (P2, P11)"),
            ("LDA-GC4", "flushed", 1, "dirty pages written back (P2)"),
        ):
            rows.append(self._count(measured, scheme, key, published, what))
        rows.append(self._logged(measured))
        return conclude(claim, measured, rows, heading="scheme")

    def _moved(self, claim: Claim, measured: Measured, scheme: object, published: object) -> Row:
        def judge() -> tuple[Value, Judgement]:
            value = Value(measured.result(str(scheme)).copied_pages)
            return value, verdicts.equal(value, float(str(published)), claim.tolerance)

        return row(f"{scheme}, pages migrated", float(str(published)), judge)

    def _cost(self, measured: Measured, scheme: str, published: float) -> Row:
        def judge() -> tuple[Value, Judgement]:
            value = Value(round(swap(measured.result(scheme), "collection_seconds") * 1e3, 9))
            return value, verdicts.true(value.mean == published, f"{value.mean:g} ms")

        return row(f"{scheme}, C_GC in ms", published, judge)

    @staticmethod
    def _logged(measured: Measured) -> Row:
        """The pages that DA-GC left out are written to log blocks once they are evicted.

        P6 and these four pages are one more than fit into a log block, so the next log block is
        merged.
        """
        published = 2

        def judge() -> tuple[Value, Judgement]:
            result = measured.result("evicted")
            value = Value(merges(result).total)
            why = f"{swap(result, 'swap_outs'):g} pages swapped out"
            return value, verdicts.true(value.mean == published, why)

        label = "DA-GC, collections once P1, P2, P9 and P11 are evicted"
        return row(label, published, judge)

    def _count(self, measured: Measured, scheme: str, key: str, published: int, what: str) -> Row:
        def judge() -> tuple[Value, Judgement]:
            value = Value(swap(measured.result(scheme), key))
            return value, verdicts.true(value.mean == published, f"{value.mean:g}")

        return row(f"{scheme}, {what}", published, judge)


#: The schemes of Table I's columns; all take their victims in turn.
VARIANTS = {"DA-GC": "DA-GC", "LDA-BM": "LDA-GC2", "LDA-BM+LDE": "LDA-GC4"}


@runner("vm.table1")
class States:
    """Table I: the state of one duplicated page after the collection."""

    def task(self, claim: Claim, _size: Size) -> Task:
        """One collection for each state and scheme."""
        return Task(
            {
                f"{before} {column}": example(str(before).lower().replace(" ", "-"), scheme)
                for before in claim.column("before")
                for column, scheme in VARIANTS.items()
            },
            settings="one duplicated page, one collection; at every size the same",
            whole=WHOLE,
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge a row for each cell of the table."""
        rows = [
            self._row(measured, str(before), column, str(claim.column(column)[at]))
            for at, before in enumerate(claim.column("before"))
            for column in VARIANTS
        ]
        return conclude(claim, measured, rows, heading="state before, scheme")

    def _row(self, measured: Measured, before: str, column: str, published: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            result = measured.result(f"{before} {column}")
            dirtied, flushed = swap(result, "made_dirty"), swap(result, "flushed")
            dirty = dirtied > 0 or (before.endswith("dirty") and not flushed)
            after = "dirty" if dirty else "clean"
            return after, verdicts.true(after == published, f"{before} becomes {after}")

        return row(f"{before}, {column}", published, judge)
