"""Zombie Chasing's micro-benchmark on the drive's own block device, above a clock (section 4.3.1).

As in the paper, threads open the block device and write through the page cache; there is no file
system. Hints on dirty pages reach the drive with the reads and writes that follow. The host waits
for a drive with the times of flash (``--realtime``).
"""

from __future__ import annotations

from collections.abc import Sequence

from flashgc.device.live.plan import MIB, Clock, Plan
from flashgc_papers.claims import Claim
from flashgc_papers.published import bars
from flashgc_papers.reproduce.runner import Figure, Outcome, Table, conclude, runner
from flashgc_papers.reproduce.tasks import Measured, Size, Task
from flashgc_papers.zombie.experiment import PAIRS
from flashgc_papers.zombie.live import Session, known_row, replay_row
from flashgc_papers.zombie.transactions import (
    COLLECTORS,
    amplification,
    elapsed,
    gain_row,
    panels,
    sessions,
    summary,
    valid_row,
)


def _plan(capacity: int, repetitions: int, slower: float) -> Plan:
    """The paper's conditions as shares: 5.12 of 29.8 GB are written, and 2.3% are dirty.

    Each bank of the clock has hundreds of blocks, so only a small share is kept erased.
    """
    return Plan(
        capacity=capacity,
        micro_pages_per_block=capacity // MIB,
        repetitions=repetitions,
        collectors=COLLECTORS,
        raw=True,
        h=(6,),
        dirty=capacity * 23 // 1000,
        overwritten=2.0,
        past_written=1.0,
        written=0.17,
        clock=Clock(slower=slower, pages_per_block=capacity // (8 * MIB)),
    )


PLANS = {
    Size.QUICK: _plan(128 * MIB, 3, 4.0),
    Size.DEFAULT: _plan(512 * MIB, 3, 8.0),
    Size.FULL: _plan(1024 * MIB, 5, 8.0),
}

#: Functions that return a figure of a session, by its label.
_READINGS = {"elapsed time, s": elapsed, "write amplification": amplification}


@runner("zombie.raw")
class Raw:
    """The claims of Figure 5 at h = 6, where the paper measured them: on a block device."""

    def task(self, claim: Claim, size: Size) -> Task:
        """Sessions of every collector, interleaved."""
        plan = PLANS[size]
        clock = plan.clock
        assert clock is not None

        return Task(
            computations={"sessions": sessions(claim, plan, clock)},
            settings=(
                f"{plan.capacity // MIB} MiB of {clock.device} flash on {clock.channels} channels, "
                f"time {clock.slower:g} times slower, with the past of the stored drive, no file "
                f"system; fio's 16 threads write {plan.written:g}x of it for h = {plan.h[0]}, "
                f"{plan.dirty / MIB:.3g} MiB dirty at most; {plan.repetitions} sessions each; "
                f"hints: {clock.hints}"
            ),
            left_out="the paper's size (31.6 GB, 4 GB of cache), and its flash's times",
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge the gains, the known dirty pages, and whether the sessions are valid."""
        facts, plan = claim.facts, PLANS[measured.size]
        name = plan.workloads[0]
        rows = [
            gain_row(measured, name, pair, (what, of, -1), percent)
            for what, of, published in (
                ("less time, %", elapsed, facts["times"]),
                ("less write amplification, %", amplification, facts["gains"]),
            )
            for pair, percent in zip(PAIRS, published, strict=True)
        ]
        rows += [known_row(measured, name, facts["known"])]
        rows += [valid_row(measured), replay_row(measured)]
        return conclude(claim, measured, rows, figures=_figures(measured, plan))


def _told(done: Sequence[Session], workload: str, name: str) -> float | None:
    """The share of hinted pages whose hints reached the timed drive; ``None`` without hints."""
    counts = [
        (session["clock"]["told_pages"], session["clock"]["hinted_pages"])
        for session in done
        if (session["workload"], session["collector"]) == (workload, name)
    ]
    hinted = sum(each for _, each in counts)
    return sum(count for count, _ in counts) / hinted if hinted and name.startswith("Z") else None


def _figures(measured: Measured, plan: Plan) -> list[Figure]:
    done = measured.computed.get("sessions", [])
    [workload] = plan.workloads
    every = {name: summary(done, workload, name, _READINGS) for name in plan.collectors}
    summaries = {name: each for name, each in every.items() if each is not None}
    cells = [
        (name, what, value.mean, value.ci95, each.known, _told(done, workload, name), each.late)
        for name, each in summaries.items()
        for what, value in each.means.items()
    ]
    columns = ("collector", "of", "mean", "ci95", "known", "told", "late at most")
    caption = (
        "The micro-benchmark on a block device above a drive with a clock, with and without the "
        "host's hints"
    )
    parts = panels(summaries, workload, _READINGS)
    data = Table(columns, tuple(cells), keys=2)
    return [Figure("zombie-raw", caption, data, lambda: bars(parts, "workload"))]
