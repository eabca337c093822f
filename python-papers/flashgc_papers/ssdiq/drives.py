"""Two drives that the paper measured, as presets fitted to its figures: rate, median, p99."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from flashgc.described import Simulation, simulation
from flashgc.results import Latency, Timing
from flashgc_papers.claims import Cell, Claim
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Outcome, conclude, runner
from flashgc_papers.reproduce.tasks import Measured, Size, Task
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.ssdiq import experiment

DEVICES = {"MAX": "micron-7450-max", "PRO": "micron-7450-pro"}
#: The number of 64ths of a drive that the presets simulate.
PRESET = 1
#: The number of simulated 64ths for rows in which single pages matter; the quick size has none.
LARGER = {Size.QUICK: 0, Size.DEFAULT: 16, Size.FULL: 64}
#: Drive writes of the warm-up, and measured requests.
LENGTHS = {Size.QUICK: (2, 100_000), Size.DEFAULT: (5, 500_000), Size.FULL: (5, 500_000)}


def workload(writes: Cell) -> str:
    """The writes of a row: ``uniform``, ``90/10`` or ``zipf 0.8``."""
    name, _, theta = str(writes).partition(" ")
    if theta:
        return experiment.zipf(float(theta))
    return experiment.zones(0.5 if name == "uniform" else int(name.partition("/")[0]) / 100)


def drive(name: Cell, writes: Cell, size: Size, parts: int = PRESET) -> Simulation:
    """``parts`` 64ths of a drive under the writes of a row."""
    warmup, requests = LENGTHS[size]
    options: dict[str, Any] = {
        "workload": workload(writes),
        "kind": "timed",
        "device": DEVICES[str(name)],
        "arrivals": "closed:threads=512",
        "fill": "random",
        "warmup": f"{warmup}x",
        "requests": requests,
        "runs": 1,
    }
    if parts > PRESET:
        # Larger parts have the same number of blocks, but larger ones. A block has at most 16384
        # units of the map, so the whole drive has twice the number.
        more = max(parts // 32, 1)
        options |= {
            "blocks": 8992 * more,
            "pages_per_block": 32 * parts // more,
            "times": f"read=40us,program=775us,erase={47 * parts / more:g}us,transfer=27us",
        }
    return simulation(**options)


class Figure:
    """A column of published figures: a row for each pair of drive and writes."""

    def __init__(self, number: Callable[[Timing, Latency], float]) -> None:
        self._number = number

    def value(self, measured: Measured, key: str) -> Value:
        """The simulated figure."""
        timing = measured.result(key).timing
        assert timing is not None
        latency = timing.latency_us.write
        assert latency is not None
        return Value(self._number(timing, latency))

    def task(self, claim: Claim, size: Size) -> Task:
        """A simulation for each row, and one of a larger drive where single pages matter."""
        simulations = {
            label(name, writes, parts): drive(name, writes, size, parts)
            for name, writes, parts in _sizes(claim, size)
        }
        warmup, requests = LENGTHS[size]
        settings = f"1/64 of the drives, {requests} requests of 4 KiB after {warmup} drive writes"
        if LARGER[size]:
            settings += f"; zipf 0.8 also on {_share(LARGER[size])}"
        left_out = "63 of 64 parts of the drives"
        if size is not Size.FULL:
            left_out += "; of zipf 0.8 the whole drives"
        return Task(simulations, settings=settings, left_out=left_out)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """A row for each drive, its writes and the size that is simulated."""
        published = {(str(name), str(writes)): float(value) for name, writes, value in claim.rows}
        rows = [
            self._row(
                claim, measured, label(name, writes, parts), published[str(name), str(writes)]
            )
            for name, writes, parts in _sizes(claim, measured.size)
        ]
        return conclude(claim, measured, rows, heading="drive and writes")

    def _row(self, claim: Claim, measured: Measured, key: str, published: float) -> Row:
        def judge() -> tuple[Value, Judgement]:
            value = self.value(measured, key)
            return value, judgement(claim, value, published)

        if not _ends(claim, published):
            return row(key, published, judge)
        return row(key, f"over {published:g}", judge, least=published)


def judgement(claim: Claim, value: Value, published: float) -> Judgement:
    """Judge ``value`` beside a published figure; the end of a histogram is a lower bound."""
    if _ends(claim, published):
        return verdicts.over(value, published, "the published histogram ends there")
    return verdicts.equal(value, published, claim.tolerance)


def _ends(claim: Claim, published: float) -> bool:
    return published == claim.facts.get("histogram_end")


def _rate(timing: Timing, latency: Latency) -> float:
    """MiB of writes of 4 KiB a second."""
    return latency.requests / 256 / timing.simulated_seconds


_FIGURES: dict[str, Callable[[Timing, Latency], float]] = {
    "ssdiq.drives.rate": _rate,
    # Microseconds.
    "ssdiq.drives.median": lambda _, latency: latency.p50,
    "ssdiq.drives.p99": lambda _, latency: latency.p99,
}
for _id, _number in _FIGURES.items():
    runner(_id)(functools.partial(Figure, _number))


def label(name: Cell, writes: Cell, parts: int) -> str:
    """A row in words: ``MAX zipf 0.8``, with the share of the drive where that is not 1/64."""
    return f"{name} {writes}" + (f", {_share(parts)}" if parts > PRESET else "")


def _share(parts: int) -> str:
    return "the whole drive" if parts == 64 else f"1/{64 // parts} of the drive"


def _sizes(claim: Claim, size: Size) -> list[tuple[Cell, Cell, int]]:
    """The rows with the parts of the drive that are simulated."""
    sizes: list[tuple[Cell, Cell, int]] = []
    for name, writes, _ in claim.rows:
        sizes.append((name, writes, PRESET))
        if writes == "zipf 0.8" and LARGER[size]:
            sizes.append((name, writes, LARGER[size]))
    return sizes
