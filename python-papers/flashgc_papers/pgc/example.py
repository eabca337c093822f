"""Lee et al.: the worked example of a collection's cost, and the states of allowed preemption."""

from __future__ import annotations

from typing import Any

from flashgc.described import simulation
from flashgc_papers.claims import Claim
from flashgc_papers.pgc.experiment import clock, figures
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.runner import (
    Measured,
    Outcome,
    Row,
    Size,
    Task,
    conclude,
    row,
    runner,
)
from flashgc_papers.reproduce.verdicts import Judgement, Value

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
        """Judge the mean time of a collection with two copies: that of more is subtracted."""

        def judge() -> tuple[Value, Judgement]:
            result = measured.result("run")
            timing = clock(result)
            spent = timing.utilisation.collection * timing.simulated_seconds * 1e3
            copy = TIMES["read"] + TIMES["program"]
            beyond = (result.copied_pages - 2 * result.erases) * copy
            # The clock has nanoseconds: what is beyond six digits of a millisecond is rounding.
            value = Value(round((spent - beyond) / result.erases, 6))
            return value, verdicts.equal(value, claim.only_value, claim.tolerance)

        label = "time of all collections, less the copies above two in each"
        return conclude(claim, measured, [row(label, claim.only_value, judge)])


#: The states of the paper, each as a configuration that reaches it.
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
        """Judge who waited for a collection for no more than one operation of it."""
        rows = [self._row(measured, state, expected) for state, expected in claim.rows]
        rows.append(self._longest(measured))
        return conclude(claim, measured, rows, heading="state")

    def _row(self, measured: Measured, state: Any, expected: Any) -> Row:
        def judge() -> tuple[str, Judgement]:
            return self._judge(measured, int(state), expected)

        return row(f"state {state:g}", str(expected), judge)

    @staticmethod
    def _longest(measured: Measured) -> Row:
        """The longest read: a collection lets it in between two operations, not inside an erase."""
        most = TIMES["erase"] + TIMES["program"] + TIMES["read"]

        def judge() -> tuple[Value, Judgement]:
            longest = Value(figures(measured.result("1"), "read").max / 1e3)
            return longest, verdicts.within(longest, TIMES["erase"], most)

        label = "state 1, the longest read, in ms: it waits for the erase under way"
        return row(label, f"{TIMES['erase']:g} to {most:g}", judge)

    @staticmethod
    def _judge(measured: Measured, state: int, expected: Any) -> tuple[str, Judgement]:
        result = measured.result(str(state))
        counts = clock(result).collecting
        # A request that may preempt waits for one operation, an erase at most, and is then served;
        # but a read waits for an earlier write of its page, as one in hundreds does where writes
        # wait: so of a hundred 99.
        bound = 1e3 * (TIMES["erase"] + max(TIMES["read"], TIMES["program"]))
        longest = {
            side: met.p99
            for side in ("read", "write")
            if (met := figures(result, side).during_collection)
        }
        may = [f"{side}s" for side, us in longest.items() if us <= bound]
        text = " and ".join(may) or "nothing" if counts.started else "no collection"
        entered = {2: counts.entered_s2, 3: counts.entered_s3}
        why = ", ".join(
            f"99 of 100 {side}s that met a collection took at most {us:.0f} us"
            for side, us in longest.items()
        )
        if state in entered:
            why += f"; state {state} was entered {entered[state]} times"
        return text, verdicts.true(text == expected, why or "nothing was collected")
