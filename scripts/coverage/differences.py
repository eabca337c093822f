"""The share of differences, times and found values that hold the truth: ``make coverage``.

- **pairs**: two random schemes on a random workload. The interval of their difference, from 5 runs
  of the default length, holds the difference of long runs.
- **equal**: one scheme with different seeds. Any claimed difference is false.
- **timed**: the intervals of 5 runs hold the mean over all seeds. The figures are the mean latency
  of all requests, the 99th and 99.9th percentile of reads, and the requests per second.
- **found**: the bracket of ``find`` holds the least spare factor that long runs find.

``python -m scripts.coverage.differences pairs --count 200`` prints a line. The exit code is 1 if
fewer than 93% hold, or if a difference is claimed for more than 6% of the equal schemes.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

from scripts.coverage.intervals import DRIVES, DRIVES_OF_PLACEMENTS, WORKLOADS, schemes

import flashgc
from flashgc import ranking
from flashgc.results import ranked
from flashgc.results.figures import figures_of

#: The drive of all campaigns but `timed`.
SIZE: dict[str, Any] = {"blocks": 300, "pages_per_block": 32}

#: A timed drive with its requests.
TIMED: dict[str, Any] = {
    "kind": "timed", "blocks": 256, "pages_per_block": 32, "requests": 20_000, "runs": 5,
    "times": "read=60us,program=600us,erase=3ms,transfer=10us", "warmup": "auto",
}  # fmt: skip

#: The number of judged outcomes, and the number of wrong ones.
Counts = tuple[int, int]


def drawn(seed: int) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    """A workload, a drive and two different schemes for it."""
    draw = random.Random(seed)
    listed = list(schemes())
    first, other = draw.sample(listed, 2)
    sorts = first[1] != "none" or other[1] != "none"
    frontier, spare = draw.choice(DRIVES_OF_PLACEMENTS if sorts else DRIVES)
    drive = {**SIZE, "frontier": frontier, "spare": spare}
    pair = [{"victim": victim, "placement": placement} for victim, placement in (first, other)]
    return draw.choice(WORKLOADS), drive, pair


def pairs(count: int) -> Counts:
    """Counts differences of schemes, and intervals that miss the difference of long runs."""
    wrong = judged = 0
    for seed in range(1, count + 1):
        workload, drive, pair = drawn(seed)
        results = [flashgc.run(workload, **drive, **scheme, runs=5) for scheme in pair]
        rank_of = ranking.rank(results, ["0", "1"]).ranking
        last = rank_of[-1]
        # Unsteady results make no claim.
        if last.difference_ci95 is None or not all(result.steady for result in results):
            continue
        long = long_run(workload, drive)
        levels = [long(scheme, result) for scheme, result in zip(pair, results, strict=True)]
        worse, best = (levels[int(rank.name)] for rank in (last, rank_of[0]))
        distance = abs(last.difference - (worse[0] - best[0]))
        judged += 1
        wrong += distance > math.hypot(last.difference_ci95, worse[1], best[1])
    return judged, wrong


def long_run(
    workload: str, drive: dict[str, Any]
) -> Callable[[dict[str, Any], flashgc.Result], tuple[float, float]]:
    """Returns a function that runs a scheme 20 times as long, with another seed.

    The function returns the mean and half the interval.
    """

    def level(scheme: dict[str, Any], result: flashgc.Result) -> tuple[float, float]:
        pages = 20 * result.host_pages // 5
        result = flashgc.run(
            workload, **drive, **scheme, seed=10_000, runs=1, warmup=pages // 5, writes=pages
        )
        return result.write_amplification, result.write_amplification_ci95 or 0.0

    return level


def equal(count: int) -> Counts:
    """Counts comparisons of a scheme with itself under other seeds, and claimed differences."""
    wrong = judged = 0
    for seed in range(1, count + 1):
        workload, drive, (scheme, _) = drawn(seed)
        results = [
            flashgc.run(workload, **drive, **scheme, runs=5, seed=1000 * seed + 100 * at)
            for at in (1, 2)
        ]
        judged += 1
        wrong += any(ranked.differs(rank) for rank in ranking.rank(results).ranking[1:])
    return judged, wrong


def timed_cells() -> Iterator[dict[str, Any]]:
    """Twenty timed drives with their arrivals."""
    for victim in ("greedy", "d-choices"):
        for preemption in ("none", "pgc"):
            for arrivals in ("closed:threads=8", "poisson:rate=2000"):
                for workload in ("uniform:read=0.5", "hotcold:f=0.2,r=0.8,read=0.7"):
                    yield {
                        "victim": victim, "preemption": preemption, "arrivals": arrivals,
                        "workload": workload, "spare": "20%",
                    }  # fmt: skip
    for workload in ("zipf:theta=0.99,read=0.5", "uniform:read=0.9"):
        for arrivals in ("closed:threads=4", "poisson:rate=1000"):
            yield {"victim": "greedy", "arrivals": arrivals, "workload": workload, "spare": "15%"}


JUDGED = ("all_mean_us", "read_p99_us", "read_p99_9_us", "requests_per_second")


def timed(count: int) -> Counts:
    """Counts figures of 5 timed runs, and those whose interval misses the mean over all seeds."""
    wrong = judged = 0
    for cell in timed_cells():
        figures = [
            figures_of(flashgc.run(**TIMED, **cell, seed=100 * seed).to_dict())
            for seed in range(1, count + 1)
        ]
        for name in JUDGED:
            values = [float(run[name]) for run in figures]  # type: ignore[arg-type]
            whole = statistics.fmean(values)
            # Half the interval of the true value, which is a mean as well.
            own = 1.96 * statistics.stdev(values) / math.sqrt(len(values))
            for own_figures, value in zip(figures, values, strict=True):
                half = own_figures.get(f"{name}_ci95")
                if isinstance(half, float):
                    judged += 1
                    wrong += abs(value - whole) > math.hypot(half, own)
    return judged, wrong


def found(count: int, writes: str = "2000x") -> Counts:
    """Counts searches for the least spare factor, and brackets that miss that of long runs."""
    options = {**SIZE, "victim": "greedy", "low": "10%", "high": "30%", "step": "0.5%"}
    best = flashgc.find(
        "spare", "WA<2.5", "hotcold:f=0.2,r=0.8", **options, writes=writes, seed=9
    ).value
    wrong = 0
    for seed in range(1, count + 1):
        result = flashgc.find("spare", "WA<2.5", "hotcold:f=0.2,r=0.8", **options, seed=100 * seed)
        low, high = (float(str(end).rstrip("%")) for end in result.interval or ("nan", "nan"))
        wrong += not low <= float(str(best).rstrip("%")) <= high
    return count, wrong


KINDS: dict[str, tuple[Callable[[int], Counts], int, float]] = {
    "pairs": (pairs, 200, 0.07),
    "equal": (equal, 100, 0.06),
    "timed": (timed, 100, 0.07),
    "found": (found, 100, 0.07),
}


def main() -> int:
    """Prints the judged and the wrong outcomes; returns 1 if too many are wrong."""
    parser = argparse.ArgumentParser(description="Counts the sentences that hold the truth.")
    parser.add_argument("kind", choices=[*KINDS, "all"], nargs="?", default="all")
    parser.add_argument("--count", type=int, help="pairs, seeds or searches")
    given = parser.parse_args()
    bad = 0
    for kind in KINDS if given.kind == "all" else (given.kind,):
        function, usual, most = KINDS[kind]
        judged, wrong = function(given.count or usual)
        print(f"{kind}: {wrong} of {judged} wrong, {100 * wrong / max(judged, 1):.1f}%", flush=True)
        bad += wrong > most * judged
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
