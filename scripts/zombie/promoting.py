"""Tries at what a DAC that promotes decides: footnote 4, and TPC-C beside Figure 5.

    python scripts/zombie/promoting.py              # some ten minutes on one core
    python scripts/zombie/promoting.py --table footnote

prints two tables in Markdown. The micro-benchmark has h = 6 and the full size, one run; TPC-C is
that of `flashgc reproduce --quick`, one bank with a clock.

- footnote: of all regions and thresholds of DAC, three regions and a threshold of zero have the
  best performance in the paper. A line is one DAC, and says how long each collector takes.
- database: TPC-C's transactions a second rise by 22 and 14.4%, write amplification falls by 26 and
  17.5%, reads wait 11.8 and 11.1% less; Figure 5's amplification falls by 47.3 and 32.9%; the
  zombie block takes 18% off ZGC-GD's at h = 6 (Figure 9). A line is the chosen reading with other
  answers.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import flashgc
from flashgc.described import Simulation
from flashgc.results import Result
from flashgc_papers.reproduce.runner import Size
from flashgc_papers.zombie.experiment import CHOSEN, PAIRS, READINGS, micro
from flashgc_papers.zombie.figures import FOUR
from flashgc_papers.zombie.timed import transactions
from flashgc_papers.zombie.tpcc import SPARES
from flashgc_papers.zombie.waits import read_wait

Options = Mapping[str, Any]

#: The DACs of the first table.
DACS = (
    "dac:regions=3,threshold=0",
    "dac:regions=3,threshold=1",
    *(f"dac:regions=3,threshold={programs}" for programs in (100_000, 400_000, 1_600_000)),
    *(f"dac:regions={regions},threshold=0" for regions in (1, 2, 4, 5, 6)),
)

_PROMOTES = {"placement": DACS[0]}
_PGC: Options = {"preemption": "pgc"}
_OFTEN = {"checkpoint=300s": "checkpoint=10s"}


def _threshold(programs: int) -> Options:
    return {"placement": f"dac:regions=3,threshold={programs}"}


#: The tries of the second: answers that are others, options of the drive, and what is written in
#: place of what in the database's cache.
TRIES: tuple[tuple[str, Options, Options, Mapping[str, str]], ...] = (
    ("the chosen reading: never promotes", {}, {}, {}),
    ("promotes", _PROMOTES, {}, {}),
    ("a page is young for 50,000 programs", _threshold(50_000), {}, {}),
    ("for 100,000", _threshold(100_000), {}, {}),
    ("for 200,000", _threshold(200_000), {}, {}),
    ("for 400,000", _threshold(400_000), {}, {}),
    ("for 800,000", _threshold(800_000), {}, {}),
    ("for 3,200,000", _threshold(3_200_000), {}, {}),
    ("promotes, two regions", {"placement": "dac:regions=2,threshold=0"}, {}, {}),
    ("promotes, five regions", {"placement": "dac:regions=5,threshold=0"}, {}, {}),
    ("promotes, no idle phase", {**_PROMOTES, "host": ""}, {}, {}),
    ("promotes, hot pages together", {**_PROMOTES, "scattered": False}, {}, {}),
    ("promotes, semi-preemptive", _PROMOTES, _PGC, {}),
    ("never promotes, semi-preemptive", {}, _PGC, {}),
    ("promotes, a checkpoint every 10 s", _PROMOTES, {}, _OFTEN),
    ("never promotes, a checkpoint every 10 s", {}, {}, _OFTEN),
    ("never promotes, first come, first served", {"options": {}}, {}, {}),
    ("never promotes, no search time", {}, {"victim_search_time": "0ms"}, {}),
    ("the literal reading", READINGS[1].answers, {}, {}),
)


class Tried:
    """The runs under a reading with other answers and options."""

    def __init__(
        self, answers: Options, options: Options, cached: Mapping[str, str], runs: int
    ) -> None:
        self._reading = replace(CHOSEN, answers={**CHOSEN.answers, **answers})
        self._options, self._cached, self._runs = options, cached, runs
        self._done: dict[str, list[Result]] = {}

    def micro(self, name: str) -> list[Result]:
        """The micro-benchmark with a collector."""
        return self._run(f"micro {name}", lambda: micro(Size.FULL, self._reading, name, 6), 1)

    def database(self, name: str) -> list[Result]:
        """TPC-C with a collector."""

        def made() -> Simulation:
            return transactions(Size.QUICK, self._reading, name, SPARES["TPC-C1"])

        return self._run(f"tpcc {name}", made, self._runs)

    def _run(self, key: str, made: Callable[[], Simulation], runs: int) -> list[Result]:
        if key not in self._done:
            options = {**made().options, **self._options, "runs": 1}
            for old, new in self._cached.items():
                options["host_cache"] = options["host_cache"].replace(old, new)
            self._done[key] = [flashgc.run(**{**options, "seed": n}) for n in range(1, runs + 1)]
        return self._done[key]


def seconds(result: Result) -> float:
    """Simulated seconds."""
    assert result.timing is not None
    return result.timing.simulated_seconds


def saved(of: Callable[[str], list[Result]], figure: Callable[[Result], float]) -> str:
    """By how many percent a figure is lower with hints, for both collectors."""
    return _ratios(of, lambda less, more: 1 - figure(less) / figure(more))


def more_transactions(of: Callable[[str], list[Result]]) -> str:
    """By how many percent more transactions a second there are with hints."""
    return _ratios(of, lambda less, more: seconds(more) / seconds(less) - 1)


def _ratios(of: Callable[[str], list[Result]], ratio: Callable[[Result, Result], float]) -> str:
    means = [
        statistics.fmean(100 * ratio(*pair) for pair in zip(of(less), of(more), strict=True))
        for less, more in PAIRS
    ]
    return " / ".join(f"{mean:.0f}" for mean in means)


def _amplification(result: Result) -> float:
    return result.page_amplification


def footnote(runs: int) -> Iterator[list[str]]:
    """Amplification and times of all collectors with each DAC."""
    yield [
        "DAC",
        "h = 6: amplification",
        "h = 6: time, s",
        "TPC-C: amplification",
        "TPC-C: time, s",
    ]
    for dac in DACS:
        tried = Tried({"placement": dac}, {}, {}, runs)
        cells = [dac.removeprefix("dac:").replace("=", " ").replace(",", ", ")]
        for of in (tried.micro, tried.database):
            for figure, digits in ((_amplification, 2), (seconds, 0)):
                means = [statistics.fmean(map(figure, of(name))) for name in FOUR]
                cells.append(" / ".join(f"{mean:.{digits}f}" for mean in means))
        yield cells


def database(runs: int) -> Iterator[list[str]]:
    """What both benchmarks gain under each try."""
    yield [
        "answers", "TPC-C: transactions", "TPC-C: amplification", "TPC-C: wait of a read",
        "F5: amplification", "F5: time", "F9, h = 6",
    ]  # fmt: skip
    for name, answers, options, cached in TRIES:
        tried = Tried(answers, options, cached, runs)
        block = 100 * (
            1
            - _amplification(tried.micro("ZGC-GD")[0]) / _amplification(tried.micro("ZGC-GD-NZ")[0])
        )
        yield [
            name,
            more_transactions(tried.database),
            saved(tried.database, _amplification),
            saved(tried.database, read_wait),
            saved(tried.micro, _amplification),
            saved(tried.micro, seconds),
            f"{block:.0f}",
        ]


TABLES: Mapping[str, Callable[[int], Iterator[list[str]]]] = {
    "footnote": footnote,
    "database": database,
}


def main() -> None:
    """Print the tables, a line as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--table", choices=TABLES, help="one of the two")
    parser.add_argument("--runs", type=int, default=2, help="runs of TPC-C")
    asked = parser.parse_args()
    for name, table in TABLES.items():
        if asked.table not in (None, name):
            continue
        for at, cells in enumerate(table(asked.runs)):
            print(f"| {' | '.join(cells)} |", flush=True)
            if not at:
                print(f"|{'---|' * len(cells)}", flush=True)


if __name__ == "__main__":
    main()
