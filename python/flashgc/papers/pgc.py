"""The semi-preemptive collector of Lee et al.: the worked example, the states, and what all share.

The drive is that of the paper (the preset ``pgc-slc``), smaller where that is said. NPGC is
``--preemption none``, PGC ``--preemption pgc``; merging and pipelining are told apart from it.

What part of the drive the requests address the paper does not say, and nothing matters more: it
decides how many pages a collection moves. The SSD extension of DiskSim comes with parameter files
of the very drive of table VI (``ssdmodel/valid/ssd-rw250k.parv``), whose synthetic requests address
7 018 904 sectors, an eighth of its logical space. So do ours.
"""

from __future__ import annotations

import math
from typing import Any

from flashgc.papers.claims import Claim
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
from flashgc.reproduce.verdicts import Judgement, Value
from flashgc.results import Result
from flashgc.timing import Timing

#: Blocks of the drive: 2, 8 and the paper's 32 GiB.
BLOCKS = {Size.QUICK: 8192, Size.DEFAULT: 32768, Size.FULL: 131072}
#: Requests of a run, and runs.
LENGTH = {Size.QUICK: (4000, 3), Size.DEFAULT: (20_000, 4), Size.FULL: (100_000, 5)}
DRIVE = {"kind": "timed", "device": "pgc-slc"}
#: Share of the logical space that requests address, in percent: see above.
FOOTPRINT = 12.5
#: Drive writes before the clock starts: eight times what the requests address.
WARMUP = "1x"


def timed(workload: str, size: Size, preemption: str = "none", **options: Any) -> Any:
    """A simulation of the paper's drive at a size."""
    requests, runs = LENGTH[size]
    return simulation(
        **{
            "workload": workload,
            **DRIVE,
            "preemption": preemption,
            "blocks": BLOCKS[size],
            "requests": requests,
            "runs": runs,
            "warmup": WARMUP,
            **options,
        }
    )


def settings(size: Size) -> str:
    """The size in words."""
    requests, runs = LENGTH[size]
    return (
        f"{BLOCKS[size] // 4096} GiB on 8 channels of 8 planes, {requests} requests on "
        f"{FOOTPRINT:g}% of it after {WARMUP} drive writes, {runs} runs"
    )


def clock(result: Result) -> Timing:
    """The timing of a result that has one."""
    timing = result.timing
    assert timing is not None
    return timing


def figures(result: Result, of: str = "all") -> dict[str, Any]:
    """The response times of a result."""
    found: dict[str, Any] = clock(result).latency_us[of]
    return found


def mean(result: Result) -> Value:
    """The mean response time, in milliseconds."""
    half = clock(result).mean_us_ci95
    return Value(figures(result)["mean"] / 1e3, math.nan if half is None else half / 1e3)


def reduction(less: Value, more: Value) -> Value:
    """By how many percent ``less`` is below ``more``; the two are taken as independent."""
    share = less.mean / more.mean
    spread = math.hypot(less.ci95 / less.mean, more.ci95 / more.mean) if less.mean else 0.0
    return Value(100 * (1 - share), 100 * share * spread)


def fall(key: str, less: Result, more: Result) -> float:
    """By how many percent a figure of all response times falls."""
    low, high = figures(less)[key], figures(more)[key]
    return float(100 * (1 - low / high)) if high else math.nan


def falls(measured: Measured, name: str, key: str, pair: tuple[str, str], published: str) -> Any:
    """A row: a figure of all response times is lower in the first simulation than in the second."""

    def judge() -> tuple[str, Judgement]:
        less, more = (measured.result(one) for one in pair)
        change = fall(key, less, more)
        return f"{-change:+.2f}%", verdicts.true(change > 0, f"{-change:+.2f}%")

    return row(name, published, judge)


#: Operations of the worked example.
TIMES = {"read": 0.025, "program": 0.2, "erase": 1.5}
_EXAMPLE = {
    "kind": "timed",
    "times": "read=25us,program=200us,erase=1.5ms",
    "blocks": 256,
    "pages_per_block": 64,
    "spare": "15%",
    "victim": "greedy",
    "gc_low": "4",
}


@runner("pgc.cost")
class Cost:
    """The worked example: two reads, two programs, an erase."""

    def task(self, claim: Claim, size: Size) -> Task:
        """A drive whose collections are timed."""
        del claim, size
        return Task(
            {"run": simulation(workload="uniform", **_EXAMPLE, requests=20000, runs=1)},
            settings="one plane, no bus, 20 000 writes; at every size the same",
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """What collections took beyond their copies above two, for each of them."""

        def judge() -> tuple[Value, Judgement]:
            result = measured.result("run")
            timing = clock(result)
            spent = timing.utilisation["collection"] * timing.simulated_seconds * 1e3
            copy = TIMES["read"] + TIMES["program"]
            beyond = (result.copied_pages - 2 * result.erases) * copy
            # The clock has nanoseconds: what is beyond six digits of a millisecond is rounding.
            value = Value(round((spent - beyond) / result.erases, 6))
            return value, verdicts.equal(value, claim.only_value, claim.tolerance)

        label = "time of all collections, less the copies above two in each"
        return conclude(claim, measured, [row(label, claim.only_value, judge)])


#: The states of the paper, each as a configuration that comes to it.
_STATES: dict[int, dict[str, Any]] = {
    0: {"preemption": "pgc", "warmup": "0", "requests": 1000},
    1: {"preemption": "pgc"},
    2: {"preemption": "pgc", "gc_hard": "4"},
    3: {"preemption": "pgc", "gc_hard": "4"},
}


@runner("pgc.states")
class States:
    """The levels of allowed preemption."""

    def task(self, claim: Claim, size: Size) -> Task:
        """A run in each state; requests are so far apart that none waits for another."""
        del claim, size
        simulations = {}
        for state, options in _STATES.items():
            urgent = 1 if state == 3 else 0
            simulations[str(state)] = simulation(
                **{
                    "workload": "disksim:size=constant:4KiB,gap=constant:3ms,sequential=0,"
                    f"reads=0.3,urgent={urgent}",
                    **_EXAMPLE,
                    # Reads do not queue behind the writes that have waited for state 2 to end.
                    "scheduling": "reads-first",
                    "requests": 20000,
                    "runs": 1,
                    **options,
                }
            )
        return Task(simulations, settings="one plane, 20 000 requests 3 ms apart")

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Who waited for a collection for no more than one operation of it."""
        rows = [self._row(measured, state, expected) for state, expected in claim.rows]
        return conclude(claim, measured, rows, heading="state")

    def _row(self, measured: Measured, state: Any, expected: Any) -> Row:
        def judge() -> tuple[str, Judgement]:
            return self._judge(measured, int(state), expected)

        return row(f"state {state:g}", str(expected), judge)

    @staticmethod
    def _judge(measured: Measured, state: int, expected: Any) -> tuple[str, Judgement]:
        result = measured.result(str(state))
        counts = clock(result).collecting
        # A request that may preempt waits for one operation, an erase at most, and is then served;
        # but a read waits for an earlier write of its page, as one in hundreds does where writes
        # wait: so of a hundred 99.
        bound = 1e3 * (TIMES["erase"] + max(TIMES["read"], TIMES["program"]))
        longest = {
            side: met["p99"]
            for side in ("read", "write")
            if (met := figures(result, side)["during_collection"])
        }
        may = [f"{side}s" for side, us in longest.items() if us <= bound]
        found = " and ".join(may) or "nothing" if counts["started"] else "no collection"
        entered = {2: "entered_s2", 3: "entered_s3"}
        why = ", ".join(
            f"99 of 100 {side}s that met a collection took at most {us:.0f} us"
            for side, us in longest.items()
        )
        if state in entered:
            why += f"; state {state} was entered {counts[entered[state]]} times"
        return found, verdicts.true(found == expected, why or "nothing was collected")
