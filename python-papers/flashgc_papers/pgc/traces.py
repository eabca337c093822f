"""Lee et al.: the four traces, or requests made from the statistics that the paper prints of them.

A stand-in has the trace's mean size (exponential), read share and rate. The extended paper also
prints how many writes come less than 1.5 ms after another. Arrivals are chosen to meet that:

- Financial, 0.14%: hardly any; times between requests are uniform from 1.43 to 40.95 ms.
- Cello, 31.32%, and TPC-H, 11.29%: bursts, whose lengths follow from the share. Requests are an
  interrupted Poisson process of rate l, mean burst 1/a and mean pause 1/b. The writes among them, a
  share p, are such a process of rate p l. Its gaps are hyperexponential (Kuczura 1973), which gives
  the share below 1.5 ms.
- OpenMail, 0.01%: its requests are 1.18 ms apart, and 37% are writes. For this share, writes and
  reads would have to take turns. The stand-in does not do so: its arrivals are even, and its writes
  are closer to each other than the trace's.

Addresses are random, because the paper does not print how sequential the traces are. Public parts
of Financial are replayed as well, if ``FLASHGC_TRACES`` names their folder.
"""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashgc.described import Simulation, simulation
from flashgc_papers.claims import Claim, claims
from flashgc_papers.pgc.experiment import (
    BLOCKS,
    DRIVE,
    HEAVY_RUNS,
    HEAVY_RUNS_BESIDE,
    both,
    clock,
    falls,
    falls_row,
    figures,
    of_runs,
    over_runs,
    settings,
    timed,
)
from flashgc_papers.pgc.sweeps import left_out, workload
from flashgc_papers.published import Bars, Drawing, bars
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.readings import Reading, UnderReading, runner_under
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Figure, Outcome, Table, conclude
from flashgc_papers.reproduce.tasks import Measured, NotMeasuredError, Size, Task, seeded
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
#: Workloads with mostly writes, for which the paper's gains are large, and the others.
WRITING, READING = ("Financial", "Cello"), ("TPC-H", "OpenMail")


def workloads(reading: Reading) -> dict[str, tuple[str, dict[str, Any]]]:
    """The stand-ins by name: their requests, and options of their runs, such as the arrivals."""
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
    """The share of the writes that come less than ``within`` after another write, in bursts.

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
    """The path of the public part of Financial, if it exists."""
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

    def task(self, _claim: Claim, size: Size) -> Task:
        """NPGC and PGC on each stand-in, and on the part of Financial."""
        simulations: dict[str, Simulation] = {}
        for name, (requests, options) in workloads(self.reading).items():
            simulations |= both(name, requests, size, self.reading, **options)
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
        """Judge the reductions, and by how much they are larger on workloads with writes."""
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
        """A row: with preemption, requests that meet a collection are served sooner."""

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


#: T_hard as a share of all blocks, by its share of the soft threshold of 5%.
HARD = {"0.8": "4%", "0.2": "1%"}
#: Requests a second in bursts, with which collections cannot keep pace: the read share of Cello and
#: the 300 KB of the paper's heavy load keep a channel busy for 85% of the time, and collections
#: need another 27%. The paper's own load, 74.24 x 16 requests a second, is three times what eight
#: dies can program.
HEAVY = 340


def heavy(size: Size) -> dict[str, Any]:
    """Options of the heavy load; a burst uses 10% to 40% of the blocks that T_soft keeps erased."""
    seconds = BLOCKS[size] // BLOCKS[Size.QUICK]
    return {"arrivals": f"bursts:rate={HEAVY},on={seconds}s,off={seconds}s"}


@runner_under("pgc.extended")
class Extended(UnderReading):
    """The experiments that the extended paper adds."""

    def task(self, _claim: Claim, size: Size) -> Task:
        """Two sizes of requests, the traces with optimisations, and the hard threshold."""
        reading = self.reading
        traces = workloads(reading)
        simulations: dict[str, Simulation] = {}
        for kb in (8, 64):
            requests = workload(size=f"exponential:{kb}KiB")
            simulations |= both(str(kb), requests, size, reading)
        for name, (requests, options) in traces.items():
            simulations |= both(name, requests, size, reading, **options)
            simulations |= _on_the_bus(name, requests, size, reading, options)
        requests, options = traces[PIPELINED]
        requests = re.sub("footprint=[0-9.]+%", "footprint=100%", requests)
        for times in reading["rates"][1:]:
            faster = {**options, "arrivals": _faster(options["arrivals"], times)}
            simulations |= _on_the_bus(f"{PIPELINED} x{times}", requests, size, reading, faster)
        requests = workload(size="exponential:300kB", sequential="0%", reads="19.63%")
        for share, hard in HARD.items():
            key = f"hard {share}"
            simulations |= timed(key, requests, size, reading, "pgc", gc_hard=hard, **heavy(size))
        return Task(
            simulations,
            {},
            f"{settings(size)}; the traces are generators of their statistics; pipelining and "
            f"merging without copy-back; T_hard with 300 KB requests, {HEAVY} a second in bursts",
            left_out(size),
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge signs, orders and sizes of the changes."""
        facts = claim.facts
        rows: list[Row] = []
        for kb in (8, 64):
            for key in ("mean", "variance"):
                pair, label = (f"{kb} pgc", f"{kb} none"), f"{kb} KB requests, {key}"
                rows.append(falls_row(measured, label, key, pair, facts[key][str(kb)]))
        rows.append(self._larger(measured, facts["mean"]))
        for name, published in facts["max"].items():
            pair = (f"{name} pgc", f"{name} none")
            rows.append(falls_row(measured, f"{name}, largest", "max", pair, published))
        for times in self.reading["rates"]:
            name = _at_rate(times)
            pair = (f"{name} pgc+pipeline", f"{name} pgc on the bus")
            label = f"{PIPELINED}, pipelining on top"
            if times > 1:
                label += f", whole drive, {times} times its rate"
            for key, published in facts["pipeline"].items():
                rows.append(falls_row(measured, f"{label}, {key}", key, pair, published))
        pair = ("hard 0.2", "hard 0.8")
        label = "T_hard from 0.8 to 0.2 of T_soft, mean"
        rows.append(falls_row(measured, label, "mean", pair, facts["hard"]))
        rows += [self._merged(measured, name, facts["merged_below"]) for name in BURSTY]
        rows.append(self._some_merged(measured, facts["merged_below"]))
        notes = (
            "The paper has 10% of Cello's reads and 44% of its writes pipelined, at the printed 60 "
            f"writes a second of 7 KB. Here {self._collecting(measured)}.",
        )
        return conclude(claim, measured, rows, notes=notes)

    def _collecting(self, measured: Measured) -> str:
        """The share of the time in which dies collect, in words."""
        texts = []
        for times in self.reading["rates"]:
            key = f"{_at_rate(times)} pgc on the bus"
            try:
                shares = [clock(run).utilisation.collection for run in measured.runs(key)]
            except NotMeasuredError:
                return "it was not measured for how much of the time dies collect"
            share = f"{100 * sum(shares) / len(shares):.1f}% of the time"
            texts.append(f"{share} at {times} times the rate" if times > 1 else share)
        return f"dies collect for {', '.join(texts)}"

    @staticmethod
    def _larger(measured: Measured, published: Mapping[str, float]) -> Row:
        def judge() -> tuple[str, Judgement]:
            small, large = (falls(measured, "mean", f"{kb} pgc", f"{kb} none") for kb in (8, 64))
            text = f"{small.mean:.2f}% and {large.mean:.2f}%"
            return text, verdicts.below(small, large, ("8 KB", "64 KB"))

        published_text = " and ".join(f"{-published[kb]:g}%" for kb in ("8", "64"))
        return row("64 KB requests gain more in the mean than 8 KB", published_text, judge)

    @staticmethod
    def _merged(measured: Measured, name: str, most: float) -> Row:
        def judge() -> tuple[str, Judgement]:
            share, why = _merged_share(measured, name)
            return f"{share:.4f}%", verdicts.true(share < most, why)

        return row(f"{name}, merged commands", f"under {most:g}%", judge)

    @staticmethod
    def _some_merged(measured: Measured, most: float) -> Row:
        """The largest share of the four traces must be small, but not zero."""

        def judge() -> tuple[str, Judgement]:
            shares = {name: _merged_share(measured, name)[0] for name in BURSTY}
            name = max(shares, key=lambda trace: shares[trace])
            return f"{shares[name]:.4f}%", verdicts.true(0 < shares[name] < most, f"of {name}")

        return row("most merged commands of a trace", f"some, under {most:g}%", judge)


def _merged_share(measured: Measured, name: str) -> tuple[float, str]:
    """The share of a trace's commands merged with a collection, in percent, and their number."""
    merged = commands = 0
    for result in measured.runs(f"{name} pgc+merge+pipeline"):
        counts = clock(result).collecting
        merged += counts.merged_reads + counts.merged_writes
        commands += result.reads + result.host_pages
    return 100 * merged / commands, f"{merged} of {commands} commands"


#: The trace for which the paper gives the gain of pipelining. Further runs have its requests faster
#: than printed and over the whole drive, because otherwise hardly any request meets a collection.
PIPELINED = "Cello"


def _at_rate(times: int) -> str:
    return PIPELINED if times == 1 else f"{PIPELINED} x{times}"


def _faster(arrivals: str, times: int) -> str:
    """The arrivals with gaps, bursts and pauses divided by ``times``.

    >>> _faster("bursts:mean=1ms,on=0.5ms,off=6ms", 4)
    'bursts:mean=0.25ms,on=0.125ms,off=1.5ms'
    """
    return re.sub(r"([\d.]+)ms", lambda match: f"{float(match[1]) / times:.6g}ms", arrivals)


def _on_the_bus(
    name: str, requests: str, size: Size, reading: Reading, options: dict[str, Any]
) -> dict[str, Simulation]:
    """PGC alone, with pipelining, and with merging too, on drives that copy over the bus.

    With copy-back, pipelining would have little to overlap, and merging no transfer to share.
    """
    simulations: dict[str, Simulation] = {}
    if "runs" in options:
        options = {**options, "runs": HEAVY_RUNS_BESIDE}
    for preemption in ("pgc", "pgc+pipeline", "pgc+merge+pipeline"):
        key = f"{name} pgc on the bus" if preemption == "pgc" else f"{name} {preemption}"
        simulations |= timed(key, requests, size, reading, preemption, copy_back="no", **options)
    return simulations
