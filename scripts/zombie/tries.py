"""Tries at what Zombie Chasing's chosen reading does not hold: one answer is another, at full size.

    python scripts/zombie/tries.py              # some ten minutes on one core
    python scripts/zombie/tries.py --runs 2

prints a table in Markdown. Each line is the chosen reading with one change, or two, and the
figures of four statements that contradict the rest of the paper under it:

- Figure 7: on sixteen banks, at h = 6, overhead falls by up to 26% and time by up to 14.4%;
- Figure 6: with 2 GiB of cache, at h = 6, overhead falls by about 30%;
- Table 3: more zombies are known with two reads a write than with one (703 and 702 MB);
- Figure 8: ZGC-GD's write amplification falls with reads (here from one read a write to two).

The last column has Figure 5 at h = 6, with which a try must not do away: 47.3 and 32.9% less
amplification, 29.8 and 25.3% less time.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import flashgc
from flashgc.results import Result
from flashgc_papers.reproduce.readings import Reading
from flashgc_papers.reproduce.runner import Size
from flashgc_papers.zombie.experiment import CHOSEN, PAIRS, known, micro


def _times(read_us: float, program_us: float, transfer_us: float) -> str:
    return f"read={read_us}us,program={program_us}us,erase=1.5ms,transfer={transfer_us}us"


def _young(programs: int) -> dict[str, Any]:
    return {"placement": f"dac:regions=3,threshold={programs}"}


#: Host requests pass between the operations of a collection.
_PGC = {"preemption": "pgc"}
_64 = {"arrivals": "closed:threads=64"}
_PROMOTES = {"placement": "dac:regions=3,threshold=0"}

#: Each try: its name, the answers that are others, and the options that are others.
TRIES: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
    ("the chosen reading", {}, {}),
    ("no search time", {}, {"victim_search_time": "0ms"}),
    ("a search that is not linear", {"linear": False}, {}),
    ("queue depth 32", {}, {"queue_depth": 32}),
    ("queue depth 1024", {}, {"queue_depth": 1024}),
    ("first come, first served", {}, {"scheduling": "fifo"}),
    ("copy-back", {}, {"copy_back": "yes"}),
    ("collections from 8 erased blocks a bank", {}, {"gc_low": "8"}),
    ("collections from 1 erased block a bank", {}, {"gc_low": "1"}),
    ("semi-preemptive collections", {}, _PGC),
    ("pages go to the bank that is free", {}, {"striping": "dynamic"}),
    ("64 threads", {}, _64),
    ("4 threads", {}, {"arrivals": "closed:threads=4"}),
    ("transfers of half the time", {}, {"times": _times(60, 800, 102.4)}),
    ("reads and transfers of a quarter of the time", {}, {"times": _times(15, 800, 51.2)}),
    ("programs of half the time", {}, {"times": _times(60, 400, 204.8)}),
    ("programs of twice the time", {}, {"times": _times(60, 1600, 204.8)}),
    ("64 threads, DAC promotes", {"placement": "dac:regions=3,threshold=0"}, _64),
    ("64 threads, semi-preemptive collections", {}, {**_64, **_PGC}),
    ("semi-preemptive, all of the memory", {"memory": 1}, _PGC),
    ("semi-preemptive, half of the earlier run", {"before": 70_000}, _PGC),
    ("semi-preemptive, twice the earlier run", {"before": 280_000}, _PGC),
    ("semi-preemptive, from 8 erased blocks a bank", {}, {**_PGC, "gc_low": "8"}),
    ("semi-preemptive, not below a quarter of them", {}, {**_PGC, "gc_low": "8", "gc_hard": "2"}),
    ("semi-preemptive, no idle phase", {"host": ""}, _PGC),
    ("semi-preemptive, DAC promotes", {"placement": "dac:regions=3,threshold=0"}, _PGC),
    ("semi-preemptive, a page is young for 400,000 programs", _young(400_000), _PGC),
    ("semi-preemptive, until 4 blocks a bank are erased", {}, {**_PGC, "gc_high": "4"}),
    ("semi-preemptive, until 8", {}, {**_PGC, "gc_high": "8"}),
    ("semi-preemptive, until 16", {}, {**_PGC, "gc_high": "16"}),
    (
        "semi-preemptive, until 8, 1.25 of the earlier run",
        {"before": 175_000},
        {**_PGC, "gc_high": "8"},
    ),
    ("semi-preemptive, until 4, DAC promotes: passing", _PROMOTES, {**_PGC, "gc_high": "4"}),
    (
        "passing, half of the earlier run",
        {**_PROMOTES, "before": 70_000},
        {**_PGC, "gc_high": "4"},
    ),
    (
        "passing, twice the earlier run",
        {**_PROMOTES, "before": 280_000},
        {**_PGC, "gc_high": "4"},
    ),
    ("passing, 70% of the memory", {**_PROMOTES, "memory": 0.7}, {**_PGC, "gc_high": "4"}),
    ("until 8 blocks a bank are erased", {}, {"gc_high": "8"}),
    ("a page is young for 400,000 programs", _young(400_000), {}),
    ("semi-preemptive, queue depth 32", {}, {**_PGC, "queue_depth": 32}),
    ("semi-preemptive, first come, first served", {}, {**_PGC, "scheduling": "fifo"}),
    ("all of the memory for the cache", {"memory": 1}, {}),
    ("70% of the memory for the cache", {"memory": 0.7}, {}),
    ("no idle phase", {"host": ""}, {}),
    ("half of the earlier run", {"before": 70_000}, {}),
    ("twice the earlier run", {"before": 280_000}, {}),
    ("hints at once", {}, {"hints": "perfect"}),
    ("DAC promotes", {"placement": "dac:regions=3,threshold=0"}, {}),
    ("two regions", {"placement": "dac:regions=2,threshold=1"}, {}),
    ("hot pages together", {"scattered": False}, {}),
)


def reading(changed: dict[str, Any]) -> Reading:
    """The chosen reading with other answers."""
    return replace(CHOSEN, answers={**CHOSEN.answers, **changed})


class Tried:
    """A try, and what is simulated under it."""

    def __init__(self, answers: dict[str, Any], options: dict[str, Any], runs: int) -> None:
        self._reading, self._options, self._runs = reading(answers), options, runs
        self._done: dict[tuple[Any, ...], Result] = {}

    def run(self, name: str, **of: Any) -> Result:
        """The micro-benchmark at h = 6 with a collector."""
        key = (name, *sorted(of.items()))
        if key not in self._done:
            asked = {**of, **self._options, "runs": self._runs}
            described = micro(Size.FULL, self._reading, name, 6, **asked)
            self._done[key] = flashgc.run(**described.options)
        return self._done[key]

    def pairs(self, **of: Any) -> Iterator[tuple[Result, Result]]:
        """The collectors with hints, and those without."""
        return ((self.run(less, **of), self.run(more, **of)) for less, more in PAIRS)

    def overheads(self, **of: Any) -> str:
        """By how many percent fewer pages are copied for each that is written."""
        return _two(
            100 * (1 - (less.page_amplification - 1) / (more.page_amplification - 1))
            for less, more in self.pairs(**of)
        )

    def gains(self, **of: Any) -> str:
        """By how many percent write amplification is lower."""
        return _two(
            100 * (1 - less.page_amplification / more.page_amplification)
            for less, more in self.pairs(**of)
        )

    def times(self, **of: Any) -> str:
        """By how many percent the time is shorter."""
        return _two(100 * (1 - _seconds(less) / _seconds(more)) for less, more in self.pairs(**of))


def _two(values: Iterator[float]) -> str:
    return " / ".join(f"{value:.0f}" for value in values)


def _seconds(result: Result) -> float:
    assert result.timing is not None
    return result.timing.simulated_seconds


def row(name: str, tried: Tried) -> list[str]:
    """The figures of a try."""
    one, two = (tried.run("ZGC-GD", reads=reads) for reads in (1, 2))
    return [
        name,
        tried.overheads(banks=16),
        tried.times(banks=16),
        tried.overheads(cache=2),
        " to ".join(f"{known(result)[0]:.0f}" for result in (one, two)),
        " to ".join(f"{result.page_amplification:.2f}" for result in (one, two)),
        f"{tried.gains()}; {tried.times()}",
    ]


HEAD = (
    "change", "F7: overhead", "F7: time", "F6, 2 GiB: overhead", "T3: MB known",
    "F8: ZGC-GD", "F5: amplification; time",
)  # fmt: skip


def main() -> None:
    """Print the table, a line as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--only", metavar="WORD", default="", help="tries whose names have WORD")
    parser.add_argument("--runs", type=int, default=1, help="runs of each simulation")
    asked = parser.parse_args()
    print(f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}", sep="\n", flush=True)
    for name, answers, options in TRIES:
        if asked.only not in name:
            continue
        try:
            cells = row(name, Tried(answers, options, asked.runs))
        except flashgc.FlashgcError as error:
            cells = [name, str(error)]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
