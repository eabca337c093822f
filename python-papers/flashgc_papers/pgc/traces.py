"""Lee et al.: the four traces, or requests made from the statistics that the paper prints of them.

A stand-in has the trace's mean size (exponential), read share and rate. The extended paper also
prints how many writes come less than 1.5 ms after another. Arrivals are chosen to meet that:

- Financial, 0.14%: hardly any; times between requests are even from 1.43 to 40.95 ms.
- Cello, 31.32%, and TPC-H, 11.29%: bursts, whose lengths follow from the share. Of an interrupted
  Poisson process of rate l, mean burst 1/a and mean pause 1/b, every request kept with probability
  p is one of rate p l; its gaps are hyperexponential (Kuczura 1973), which gives the share below
  1.5 ms.
- OpenMail, 0.01%: requests 1.18 ms apart, of which 37% are writes, would need writes and reads to
  take turns. They do not in a stand-in: its arrivals are even, and its writes closer.

Places are random: how sequential the traces are is not printed. Of Financial, parts that are
public are replayed as well, where ``FLASHGC_TRACES`` names their folder.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashgc.described import Simulation, simulation
from flashgc_papers.bars import Bars, bars
from flashgc_papers.claims import Claim, claims
from flashgc_papers.pgc.experiment import (
    BLOCKS,
    DRIVE,
    HEAVY_RUNS,
    falls,
    falls_row,
    figures,
    of_runs,
    over_runs,
    settings,
    timed,
)
from flashgc_papers.published import Drawing
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import Reading, UnderReading, runner_under
from flashgc_papers.reproduce.runner import (
    Figure,
    Measured,
    NotMeasuredError,
    Outcome,
    Row,
    Size,
    Table,
    Task,
    conclude,
    row,
    seeded,
)
from flashgc_papers.reproduce.verdicts import Judgement, Value

#: The environment variable that names the folder of the public traces.
FOLDER = "FLASHGC_TRACES"
#: A public part of Financial, 50 000 requests.
PART = "spc_fin1_flashsim50k/spc_fin1_flashsim50k.csv.zst"

#: Arrivals of each stand-in.
ARRIVALS = {
    "Financial": "gaps:gap=uniform:1.43ms:40.95ms",
    "Cello": "bursts:mean=1ms,on=0.5164ms,off=6.44ms",
    "TPC-H": "bursts:mean=0.2ms,on=0.2767ms,off=7.733ms",
    "OpenMail": "periodic:rate=846.62",
}
#: Percent of the writes that come less than 1.5 ms after another, as the extended paper prints it.
BURSTY = {"Financial": 0.14, "Cello": 31.32, "TPC-H": 11.29, "OpenMail": 0.01}
#: Workloads that mostly write, of which the paper's gains are large, and the others.
WRITING, READING = ("Financial", "Cello"), ("TPC-H", "OpenMail")


def workloads(reading: Reading) -> dict[str, tuple[str, dict[str, Any]]]:
    """The stand-ins by name: requests, and options of their runs, such as when they come."""
    (claim,) = claims().select(("pgc.traces",))
    by_name = {}
    for name, kilobytes, reads, _ in claim.rows:
        size = reading["sizes"].format(f"{float(kilobytes) * 1000:g}B")
        footprint = reading["footprint"][name]
        runs = {"runs": HEAVY_RUNS} if reading["heavy"] else {}
        by_name[str(name)] = (
            f"disksim:size={size},sequential=0%,reads={float(reads):g}%,footprint={footprint:g}%",
            {"arrivals": ARRIVALS[str(name)], **runs},
        )
    return by_name


def bursty(arrivals: tuple[float, float, float], writes: float, within: float) -> float:
    """The share of writes less than ``within`` after another, of bursts of requests.

    ``arrivals`` are mean gap, burst and pause in one unit of time, ``writes`` the share of writes.

    >>> round(100 * bursty((1, 0.5164, 6.44), 0.8037, 1.5), 2)
    31.32
    >>> round(100 * bursty((0.2, 0.2767, 7.733), 0.0817, 1.5), 2)
    11.29
    """
    gap, on, off = arrivals
    rate, ends, begins = writes / gap, 1 / on, 1 / off
    total = rate + ends + begins
    root = math.sqrt(total * total - 4 * rate * begins)
    fast, slow = (total + root) / 2, (total - root) / 2
    weight = (rate - slow) / (fast - slow)
    return 1 - weight * math.exp(-fast * within) - (1 - weight) * math.exp(-slow * within)


def _writes_a_second(claim: Claim) -> str:
    """The write rate of each trace, from its printed request size, read share and request rate."""
    return ", ".join(
        f"{float(kilobytes) * (1 - float(reads) / 100) * float(rate):.0f} KB ({name})"
        for name, kilobytes, reads, rate in claim.rows
    )


def part() -> Path | None:
    """The public part of Financial, where it is at hand."""
    folder = os.environ.get(FOLDER)
    path = Path(folder) / PART if folder else None
    return path if path is not None and path.exists() else None


def _draw(data: Table, facts: Mapping[str, Mapping[str, float]]) -> Drawing:
    names = list(dict.fromkeys(str(line[0]) for line in data.rows))

    def panel(label: str, at: int) -> Bars:
        series = {
            name: [
                (float(line[at] or 0), float(line[at + 1] or 0))
                for line in data.rows
                if line[1] == preemption
            ]
            for preemption, name in (("none", "NPGC"), ("pgc", "PGC"))
        }
        return Bars(label, names, series)

    def change(at: int) -> list[tuple[float, float]]:
        return [(_float(line[at]), _float(line[at + 1])) for line in data.rows if line[1] == "pgc"]

    falls = Bars(
        "change with PGC (%)",
        names,
        {key: change(at) for key, at in (("mean", 6), ("variance", 8))},
        {key: [facts[key].get(name, math.nan) for name in names] for key in ("mean", "variance")},
    )
    return bars([panel("mean response time (ms)", 2), panel("variance (ms²)", 4), falls], "trace")


def _float(cell: float | str | None) -> float:
    return math.nan if cell is None else float(cell)


@runner_under("pgc.traces")
class Traces(UnderReading):
    """Mean and variance on four traces."""

    def task(self, claim: Claim, size: Size) -> Task:
        """NPGC and PGC on each stand-in, and on the part of Financial."""
        del claim
        simulations: dict[str, Simulation] = {}
        for name, (requests, options) in workloads(self.reading).items():
            for preemption in ("none", "pgc"):
                key = f"{name} {preemption}"
                simulations |= timed(key, requests, size, self.reading, preemption, **options)
        file = part()
        if file is not None:
            for preemption in ("none", "pgc"):
                replay = simulation(
                    **{
                        "workload": str(file),
                        "paging": "floor",
                        "numbering": "address",
                        **DRIVE,
                        "preemption": preemption,
                        "blocks": BLOCKS[size],
                        "planes": self.reading["planes"],
                        "passes": 1,
                        "runs": 1,
                    }
                )
                simulations |= seeded(f"part {preemption}", replay)
        return Task(
            simulations,
            {},
            f"{settings(size)}; stand-ins made from the printed statistics",
            "the traces themselves; the drive's full size"
            if size is not Size.FULL
            else "the traces themselves",
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Falls, and by how much more where there are writes."""
        rows = [
            self._falls(claim, measured, name, key, name)
            for name in WRITING
            for key in ("mean", "variance")
        ]
        rows += [
            self._less(measured, reading, writing, key)
            for key in ("mean", "variance")
            for reading in READING
            for writing in WRITING
        ]
        rows += [self._served(measured, name) for name in BURSTY]
        if part() is not None:
            rows += [
                self._falls(claim, measured, "part", key, "Financial")
                for key in ("mean", "variance")
            ]
        notes = (
            "Arrivals of the stand-ins meet the printed share of writes in bursts, but for "
            "OpenMail, whose 0.01% independent reads and writes cannot have.",
            f"Written a second at the printed rates: {_writes_a_second(claim)}. OpenMail, which "
            "mostly reads, writes the most.",
        )
        figures = self._figures(claim, measured)
        return conclude(claim, measured, rows, heading="workload", figures=figures, notes=notes)

    @staticmethod
    def _figures(claim: Claim, measured: Measured) -> list[Figure]:
        """The slides' bars: mean and variance of each trace, without preemption and with."""
        lines: list[tuple[float | str | None, ...]] = []
        for name in BURSTY:
            for preemption in ("none", "pgc"):
                key = f"{name} {preemption}"
                try:
                    value = over_runs(measured, key, "mean", 1e-3)
                    two = over_runs(measured, key, "variance", 1e-6)
                    gains = [
                        falls(measured, of, key, f"{name} none") for of in ("mean", "variance")
                    ]
                except NotMeasuredError:
                    value = two = Value(math.nan, math.nan)
                    gains = [value, two]
                changes = [cell for gain in gains for cell in (-gain.mean, gain.ci95)]
                values = (value.mean, value.ci95, two.mean, two.ci95)
                lines.append((name, preemption, *values, *changes))
        columns = ("trace", "preemption", "mean (ms)", "ci95", "variance (ms2)", "variance ci95")
        changed = ("change of the mean (%)", "ci95", "change of the variance (%)", "ci95")
        data = Table((*columns, *changed), tuple(lines))
        caption = (
            "Response times of the four traces without preemption (NPGC) and with (PGC), and the "
            "change of both; published for Financial and Cello alone"
        )
        draw = functools.partial(_draw, data, claim.facts)
        return [Figure("pgc.traces", caption, data, draw)]

    def _falls(self, claim: Claim, measured: Measured, name: str, key: str, trace: str) -> Row:
        label, stand_in = f"{name}, {key}", "made from its statistics"
        if name == "part":
            label, stand_in = f"{trace}, 50 000 requests of it, {key}", "a part of the trace"
        pair = f"{name} pgc", f"{name} none"
        endless = key == "variance" and name != "part" and self.reading["heavy"]
        why = "sizes have no variance, so that of the times grows with the run" if endless else ""
        return falls_row(measured, label, key, pair, claim.facts[key][trace], stand_in, why)

    @staticmethod
    def _less(measured: Measured, reading: str, writing: str, key: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            less, more = (
                falls(measured, key, f"{name} pgc", f"{name} none") for name in (reading, writing)
            )
            text = f"{less.mean:.2f}% and {more.mean:.2f}%"
            return text, verdicts.below(less, more, (reading, writing))

        label = f"{key}: {reading} gains less than {writing}"
        return row(label, "less", judge, stand_in="made from their statistics")

    @staticmethod
    def _served(measured: Measured, name: str) -> Row:
        """Response times of the requests that meet a collection, with the same requests a run."""

        def judge() -> tuple[str, Judgement]:
            without, with_ = (
                [
                    met.mean / 1e3 if (met := figures(run).during_collection) else math.nan
                    for run in measured.runs(f"{name} {preemption}")
                ]
                for preemption in ("none", "pgc")
            )
            pairs = zip(without, with_, strict=True)
            fall = of_runs([100 * (1 - less / more) for more, less in pairs])
            text = f"{of_runs(without).mean:.3f} ms, {of_runs(with_).mean:.3f} ms"
            return text, verdicts.true(fall.low > 0, f"{fall}% sooner, run by run")

        label = f"{name}: requests that meet a collection, without and with preemption"
        return row(label, "served sooner", judge, stand_in="made from its statistics")
