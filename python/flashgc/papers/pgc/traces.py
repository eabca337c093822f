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

import math
import os
from pathlib import Path
from typing import Any

from flashgc.papers.claims import Claim, claims
from flashgc.papers.pgc.experiment import DRIVE, FOOTPRINT, fall, figures, settings, timed
from flashgc.reproduce import verdicts
from flashgc.reproduce.runner import (
    Measured,
    Outcome,
    Row,
    Size,
    Task,
    conclude,
    row,
    runner,
    simulation,
)
from flashgc.reproduce.verdicts import Judgement

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


def workloads() -> dict[str, tuple[str, dict[str, Any]]]:
    """The stand-ins by name: requests, and when they come."""
    (claim,) = claims().select(("pgc.traces",))
    made = {}
    for name, kilobytes, reads, _ in claim.rows:
        size = f"exponential:{float(kilobytes) * 1000:g}B"
        made[str(name)] = (
            f"disksim:size={size},sequential=0%,reads={float(reads):g}%,footprint={FOOTPRINT:g}%",
            {"arrivals": ARRIVALS[str(name)]},
        )
    return made


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
    """What each trace writes a second at its printed size, read share and rate."""
    return ", ".join(
        f"{float(kilobytes) * (1 - float(reads) / 100) * float(rate):.0f} KB ({name})"
        for name, kilobytes, reads, rate in claim.rows
    )


def part() -> Path | None:
    """The public part of Financial, where it is at hand."""
    folder = os.environ.get(FOLDER)
    found = Path(folder) / PART if folder else None
    return found if found is not None and found.exists() else None


@runner("pgc.traces")
class Traces:
    """Mean and variance on four traces."""

    def task(self, claim: Claim, size: Size) -> Task:
        """NPGC and PGC on each stand-in, and on the part of Financial."""
        del claim
        simulations = {
            f"{name} {preemption}": timed(requests, size, preemption, **options)
            for name, (requests, options) in workloads().items()
            for preemption in ("none", "pgc")
        }
        file = part()
        if file is not None:
            for preemption in ("none", "pgc"):
                simulations[f"part {preemption}"] = simulation(
                    **{
                        "workload": str(file),
                        "paging": "floor",
                        "numbering": "address",
                        **DRIVE,
                        "preemption": preemption,
                        # As large as the part needs, with room for what every plane keeps.
                        "blocks": 2048,
                        "spare": "15%",
                        "passes": 1,
                        "runs": 1,
                    }
                )
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
        rows = []
        said = {"Financial": ("-6.5%", "-49.8%"), "Cello": ("-66.6%", "-83.3%")}
        for name in WRITING:
            for key, text in zip(("mean", "variance"), said[name], strict=True):
                rows.append(self._falls(measured, name, key, text))
        rows += [
            self._less(measured, reading, writing, key)
            for key in ("mean", "variance")
            for reading in READING
            for writing in WRITING
        ]
        rows += [self._served(measured, name) for name in workloads()]
        if part() is not None:
            rows += [
                self._falls(measured, "part", key, text)
                for key, text in zip(("mean", "variance"), said["Financial"], strict=True)
            ]
        notes = (
            "Arrivals of the stand-ins meet the printed share of writes in bursts, but for "
            "OpenMail, whose 0.01% independent reads and writes cannot have.",
            f"Written a second at the printed rates: {_writes_a_second(claim)}. OpenMail, which "
            "mostly reads, writes the most.",
        )
        return conclude(claim, measured, rows, heading="workload", notes=notes)

    @staticmethod
    def _gain(measured: Measured, name: str, key: str) -> float:
        return fall(key, measured.result(f"{name} pgc"), measured.result(f"{name} none"))

    def _falls(self, measured: Measured, name: str, key: str, text: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            gain = self._gain(measured, name, key)
            return f"{-gain:+.2f}%", verdicts.true(gain > 0, f"{-gain:+.2f}%")

        if name == "part":
            label, stand_in = f"Financial, 50 000 requests of it, {key}", "a part of the trace"
        else:
            label, stand_in = f"{name}, {key}", "made from its statistics"
        return row(label, text, judge, stand_in=stand_in)

    def _less(self, measured: Measured, reading: str, writing: str, key: str) -> Row:
        def judge() -> tuple[str, Judgement]:
            less, more = (self._gain(measured, name, key) for name in (reading, writing))
            text = f"{less:.2f}% and {more:.2f}%"
            return text, verdicts.true(less < more, text)

        label = f"{key}: {reading} gains less than {writing}"
        return row(label, "less", judge, stand_in="made from their statistics")

    @staticmethod
    def _served(measured: Measured, name: str) -> Row:
        """Response times of the requests that meet a collection."""

        def judge() -> tuple[str, Judgement]:
            found = []
            for preemption in ("none", "pgc"):
                met = figures(measured.result(f"{name} {preemption}")).during_collection
                found.append(met.mean / 1e3 if met else math.nan)
            text = f"{found[0]:.3f} ms, {found[1]:.3f} ms"
            return text, verdicts.true(found[1] < found[0], text)

        label = f"{name}: requests that meet a collection, without and with preemption"
        return row(label, "served sooner", judge, stand_in="made from its statistics")
