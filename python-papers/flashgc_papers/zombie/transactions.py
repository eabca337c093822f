"""Zombie Chasing on real software with a clock: the gain of hints in transactions per second.

The host waits for a drive with the times of flash (``--realtime``), which uses its hints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flashgc.device.live.plan import LATE, MIB, Clock, Plan, is_valid
from flashgc.progress import Show
from flashgc_papers.claims import Claim
from flashgc_papers.published import Bars, bars
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Figure, Outcome, Table, conclude, runner
from flashgc_papers.reproduce.tasks import Measured, NotMeasuredError, Size, Study, Task
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.zombie.experiment import PAIRS
from flashgc_papers.zombie.live import PLANS as UNTIMED
from flashgc_papers.zombie.live import Reading, Session, gain, known_row, replay_row, values_of

#: The collectors of the paper's pairs; greedy has no pair.
COLLECTORS = tuple(name for pair in PAIRS for name in reversed(pair))


def _timed(
    plan: Plan, seconds: tuple[int, int], written: float, repetitions: tuple[int, int]
) -> Plan:
    """The plan with a clock: the warm-up of ``plan`` is in the drive's past, and less is measured.

    ``seconds`` are the warm-up and the measured time of TPC-C; ``repetitions`` are those of TPC-C
    and of the micro-benchmark.
    """
    return replace(
        plan,
        clock=Clock(),
        # Otherwise a slow session would have one more checkpoint.
        checkpoint_timeout=3600,
        collectors=COLLECTORS,
        h=(6,),
        past_transactions=plan.warmup_transactions,
        past_written=plan.written / 2,
        # The paper's share of the drive.
        dirty=plan.capacity * 23 // 1000,
        warmup_seconds=seconds[0],
        seconds=seconds[1],
        written=written,
        repetitions=repetitions[0],
        micro_repetitions=repetitions[1],
    )


PLANS = {
    Size.QUICK: _timed(UNTIMED[Size.QUICK], (20, 40), 0.1, (3, 3)),
    Size.DEFAULT: _timed(UNTIMED[Size.QUICK], (60, 120), 0.1, (4, 3)),
    Size.FULL: _timed(UNTIMED[Size.DEFAULT], (300, 600), 0.25, (5, 5)),
}


def transactions(session: Session) -> float:
    """Transactions in a second of the drive's time, which passes slower than the host's."""
    return float(session["transactions_per_second"]) * float(session["slower"])


def amplification(session: Session) -> float:
    """Write amplification of the drive with the clock, for which the host waits."""
    return float(session["clock"]["write_amplification"])


def new_order_ms(session: Session) -> float:
    """The mean time of a new order, in milliseconds of the drive's time."""
    return float(session["mean_ms"]["new_order"]) / float(session["slower"])


def elapsed(session: Session) -> float:
    """Seconds of the drive's time that the micro-benchmark takes."""
    return float(session["seconds"]) / float(session["slower"])


def sessions(claim: Claim, plan: Plan, clock: Clock) -> Study:
    """The sessions of a plan with a clock; each has the factor by which drive time was slower."""

    def call(folder: Path, show: Show) -> list[Session]:
        from flashgc_papers.zombie.living import study

        return [{**session, "slower": clock.slower} for session in study.run(plan, folder, show)]

    return Study(f"flashgc reproduce {claim.id}", call)


@runner("zombie.transactions")
class Transactions:
    """The claims of TPC-C on real software, above a drive with the times of flash."""

    def task(self, claim: Claim, size: Size) -> Task:
        """Sessions of every collector, interleaved."""
        plan = PLANS[size]
        clock = plan.clock
        assert clock is not None

        return Task(
            computations={"sessions": sessions(claim, plan, clock)},
            settings=(
                f"{plan.capacity // MIB} MiB of {clock.device} flash on {clock.channels} channels, "
                f"time {clock.slower:g} times slower, with the past of the stored drive; "
                f"PostgreSQL with {plan.warehouses} warehouses and "
                f"{plan.shared_buffers // MIB} MiB of buffers, {plan.repetitions} sessions of "
                f"{plan.seconds} s each, after {plan.warmup_seconds} s; fio's 16 threads write "
                f"{plan.written:g}x of their file for h = {', '.join(map(str, plan.h))} in "
                f"{plan.micro_repetitions} sessions; "
                f"hints: {clock.hints}"
            ),
            left_out=(
                "the paper's size (31.6 GB, 300 warehouses, 4 GB of cache), its Oracle, and its "
                "flash's times"
            ),
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge the gains, the known dirty pages, and whether the sessions are valid."""
        facts = claim.facts
        rows: list[Row] = []
        micro = f"micro-{facts['micro_h']}"
        for workload, what, of, sign, published in (
            ("tpcc", "more transactions/s, %", transactions, 1, facts["transactions"]),
            ("tpcc", "less write amplification, %", amplification, -1, facts["gains"]),
            (micro, "less time, %", elapsed, -1, facts["micro_times"]),
            (micro, "less write amplification, %", amplification, -1, facts["micro_gains"]),
        ):
            for pair, percent in zip(PAIRS, published, strict=True):
                rows.append(gain_row(measured, workload, pair, (what, of, sign), percent))
        rows.append(known_row(measured, "tpcc", facts["known"]))
        rows += [valid_row(measured), replay_row(measured)]
        plan = PLANS[measured.size]
        return conclude(claim, measured, rows, figures=_figures(measured, plan))


def gain_row(
    measured: Measured,
    workload: str,
    pair: tuple[str, str],
    of: tuple[str, Reading, int],
    published: float,
) -> Row:
    """A row that is met if the gain has the published sign, and its size within a factor of 1.5."""
    what, reading, sign = of

    def judge() -> tuple[Value, Judgement]:
        value = gain(measured.compute("sessions"), workload, pair, reading, sign)
        return value, verdicts.sized(value, published)

    return row(f"{workload}, {pair[0]} over {pair[1]}: {what}", published, judge)


def valid_row(measured: Measured) -> Row:
    """A row: the number of sessions in which answers left in time."""

    def judge() -> tuple[str, Judgement]:
        done = measured.compute("sessions")
        valid = sum(map(is_valid, done))
        again = sum(session["tried"] - 1 for session in done)
        text = f"{valid} of {len(done)} sessions"
        why = f"at most {LATE:.1%} of the answers are late; {again} runs were thrown away"
        return text, verdicts.true(valid == len(done), why)

    return row("sessions whose answers left in time", "all", judge)


#: The figures of the sessions of each workload, by label: transactions or times, and write
#: amplification.
_READINGS: dict[str, dict[str, Reading]] = {
    "tpcc": {
        "transactions/s": transactions,
        "new order, ms": new_order_ms,
        "write amplification": amplification,
    },
    "micro": {"elapsed time, s": elapsed, "write amplification": amplification},
}


@dataclass(frozen=True)
class Summary:
    """The sessions of a workload and a collector."""

    #: The mean of each reading.
    means: Mapping[str, Value]
    #: The share of the dirty pages that the drive knew.
    known: float
    #: The largest share of late answers of a session.
    late: float


def summary(
    done: Sequence[Session], workload: str, collector: str, readings: Mapping[str, Reading]
) -> Summary | None:
    """The sessions of a workload and a collector; ``None`` where they were interrupted."""

    def values(of: Reading) -> list[float]:
        return values_of(done, workload, collector, of)

    try:
        known = values(lambda session: float(session["known_share"] or 0.0))
        late = max(values(lambda session: session["clock"]["late_share"]))
        means = {what: Value.of(values(of)) for what, of in readings.items()}
    except NotMeasuredError:
        return None
    return Summary(means, sum(known) / len(known), late)


def panels(
    summaries: Mapping[str, Summary], workload: str, readings: Iterable[str], before: str = ""
) -> list[Bars]:
    """A panel for each reading, with a bar for each collector."""
    return [
        Bars(before + what, (workload,), {
            name: [(each.means[what].mean, each.means[what].ci95)]
            for name, each in summaries.items()
        })
        for what in readings
    ]  # fmt: skip


def _figures(measured: Measured, plan: Plan) -> list[Figure]:
    done = measured.computed.get("sessions", [])
    cells: list[tuple[Any, ...]] = []
    parts: list[Bars] = []
    for workload in ("tpcc", *(f"micro-{h}" for h in plan.h)):
        readings = _READINGS[workload.partition("-")[0]]
        every = {name: summary(done, workload, name, readings) for name in plan.collectors}
        summaries = {name: each for name, each in every.items() if each is not None}
        for name, each in summaries.items():
            cells += [
                (workload, name, what, value.mean, value.ci95, each.known, each.late)
                for what, value in each.means.items()
            ]
        if summaries:
            parts += panels(summaries, workload, readings, f"{workload}, ")
    columns = ("workload", "collector", "of", "mean", "ci95", "known", "late at most")
    caption = (
        "A TPC-C-like load and the micro-benchmark above a drive with a clock, with and without "
        "the host's hints"
    )
    table = Table(columns, tuple(cells))
    return [Figure("zombie-transactions", caption, table, lambda: bars(parts, "workload"))]
