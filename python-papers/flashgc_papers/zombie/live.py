"""Zombie Chasing on real software: PostgreSQL and the micro-benchmark on the stored drive."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flashgc.device.live.plan import MIB, Plan
from flashgc.progress import Show
from flashgc_papers.claims import Claim
from flashgc_papers.published import Bars, Drawing, bars
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Figure, Outcome, Table, conclude, runner
from flashgc_papers.reproduce.tasks import Measured, NotMeasuredError, Size, Study, Task
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.zombie.experiment import PAIRS

PLANS = {
    Size.QUICK: Plan(
        capacity=512 * MIB, pages_per_block=128, micro_pages_per_block=256, warehouses=3,
        history_transactions=15_000, warmup_transactions=10_000, transactions=10_000,
        shared_buffers=48 * MIB, free=34 * MIB, h=(6,), dirty=24 * MIB,
    ),
    Size.DEFAULT: Plan(),
    Size.FULL: Plan(
        capacity=2048 * MIB, warehouses=14, history_transactions=60_000,
        warmup_transactions=60_000, transactions=60_000, shared_buffers=224 * MIB,
        free=150 * MIB, repetitions=5, dirty=96 * MIB,
    ),
}  # fmt: skip

Session = dict[str, Any]
#: A function that returns a figure of a session.
Reading = Callable[[Session], float]

#: Columns of a session besides its write amplification: names, and the keys of their values.
COLUMNS = {
    "share of dirty pages known": ("known_share",),
    "share of zombies among copies": ("copied_zombies_share",),
    "transactions/s": ("transactions_per_second",),
    "copies since the drive was made": ("totals", "copied_pages"),
    "the same, replayed": ("replayed", "copied_pages"),
}


def sessions_of(done: Sequence[Session], workload: str, collector: str) -> list[Session]:
    """The sessions of a workload and a collector, by repetition."""
    sessions = [
        session
        for session in done
        if (session["workload"], session["collector"]) == (workload, collector)
    ]
    if len(sessions) < 2:
        raise NotMeasuredError("interrupted")
    return sorted(sessions, key=lambda session: session["repetition"])


def values_of(done: Sequence[Session], workload: str, collector: str, of: Reading) -> list[float]:
    """Return the readings of the sessions of a workload and a collector, by repetition."""
    return [of(session) for session in sessions_of(done, workload, collector)]


def gain(
    done: Sequence[Session], workload: str, pair: tuple[str, str], of: Reading, sign: int
) -> Value:
    """The change in percent from the second of a pair to the first, repetition by repetition.

    The result is the increase with ``sign`` 1, and the decrease with -1.
    """
    taken = [values_of(done, workload, name, of) for name in pair]
    return Value.of(
        [100 * sign * (first / second - 1) for first, second in zip(*taken, strict=True)]
    )


def written(session: Session) -> float:
    """Write amplification, by the drive's own counts in the session."""
    return float(session["write_amplification"])


def amplification(done: Sequence[Session], workload: str, collector: str) -> Value:
    """The write amplification of the sessions of a workload and a collector."""
    return Value.of(values_of(done, workload, collector, written))


def _gain_row(
    measured: Measured, workload: str, less: str, more: str, published: float | str
) -> Row:
    def judge() -> tuple[Value, Judgement]:
        done = measured.compute("sessions")
        value = gain(done, workload, (less, more), written, -1)
        if not isinstance(published, str):
            return value, verdicts.sized(value, published)
        means = [amplification(done, workload, name).mean for name in (less, more)]
        why = f"{less}: {means[0]:.3f}, {more}: {means[1]:.3f}"
        return value, verdicts.over(value, 0, why)

    return row(f"{workload}, {less} below {more}, %", published, judge)


def _few_row(measured: Measured, workload: str, less: str, more: str, most: float) -> Row:
    def judge() -> tuple[Value, Judgement]:
        value = gain(measured.compute("sessions"), workload, (less, more), written, -1)
        return value, verdicts.true(value.mean < most, f"{value.mean:.1f}%")

    return row(f"{workload}, {less} below {more}, %", f"below {most:g}", judge)


def known_row(measured: Measured, workload: str, published: float | str) -> Row:
    """The share of the host's dirty pages on which the drive has hints."""

    def judge() -> tuple[Value, Judgement]:
        done = measured.compute("sessions")
        shares = [
            100 * share
            for name in ("ZGC-GD", "ZGC-CB")
            for share in values_of(
                done, workload, name, lambda session: float(session["known_share"])
            )
        ]
        low = float(published) if not isinstance(published, str) else 0.0
        value = Value(statistics.fmean(shares), 0.0)
        return value, verdicts.true(value.mean >= low, f"at least {low:g}% is as good")

    return row(f"{workload}, dirty pages known, %", published, judge, base=None)


def replay_row(measured: Measured) -> Row:
    """A row: in every session, the replay of its trace has the same counts as the drive."""

    def judge() -> tuple[str, Judgement]:
        done = measured.compute("sessions")
        same = sum(session["totals"] == session["replayed"] for session in done)
        text = f"{same} of {len(done)} sessions"
        return text, verdicts.true(same == len(done), "host pages, copies and erases are equal")

    return row("counting drive on the recorded traces", "to the digit", judge)


@runner("zombie.live")
class Live:
    """The claims of TPC-C and of Figure 5, on real software."""

    def task(self, claim: Claim, size: Size) -> Task:
        """Sessions of every collector, interleaved."""
        plan = PLANS[size]

        def call(folder: Path, show: Show) -> list[Session]:
            from flashgc_papers.zombie.living import study

            return study.run(plan, folder, show)

        return Task(
            computations={"sessions": Study("flashgc reproduce zombie.live", call)},
            settings=(
                f"{plan.capacity // MIB} MiB of flash; PostgreSQL with {plan.warehouses} "
                f"warehouses, {plan.shared_buffers // MIB} MiB of buffers and its log elsewhere, "
                f"{plan.repetitions} sessions of {plan.transactions} transactions each; fio's "
                f"16 threads for h = {', '.join(map(str, plan.h))}, {plan.dirty // MIB} MiB dirty "
                "at most"
            ),
            left_out="the paper's size (31.6 GB, 4 GB of cache), its Oracle, and its flash's times",
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """Judge the gains, the known dirty pages, and the replays."""
        facts, plan = claim.facts, PLANS[measured.size]
        rows = [
            _gain_row(measured, "tpcc", z, gc, published)
            for (z, gc), published in zip(PAIRS, facts["gains"], strict=True)
        ]
        rows.append(known_row(measured, "tpcc", facts["known"]))
        for h in plan.h:
            published = facts["micro_gains"] if h == facts["micro_h"] else ["over 0"] * 2
            for (z, gc), percent in zip(PAIRS, published, strict=True):
                if h in facts["few_at"]:
                    rows.append(_few_row(measured, f"micro-{h}", z, gc, facts["few"]))
                else:
                    rows.append(_gain_row(measured, f"micro-{h}", z, gc, percent))
        rows.append(replay_row(measured))
        return conclude(
            claim, measured, rows, figures=_figures(measured, plan), notes=_notes(measured, plan)
        )


def _mean(sessions: Sequence[Session], *keys: str) -> float | None:
    """The mean of the sessions' values under these keys; ``None`` if a session has no value."""
    values: list[float] = []
    for session in sessions:
        value: Any = session
        for key in keys:
            value = None if value is None else value.get(key)
        if value is None:
            return None
        values.append(value)
    return statistics.fmean(values)


def _figures(measured: Measured, plan: Plan) -> list[Figure]:
    done = measured.computed.get("sessions", [])
    workloads = plan.workloads
    cells: list[tuple[float | str | None, ...]] = []
    values: dict[str, list[tuple[float, float]]] = {name: [] for name in plan.collectors}
    for workload in workloads:
        for name in plan.collectors:
            try:
                value = amplification(done, workload, name)
            except NotMeasuredError:
                values[name].append((float("nan"), float("nan")))
                continue
            values[name].append((value.mean, value.ci95))
            means = [_mean(sessions_of(done, workload, name), *keys) for keys in COLUMNS.values()]
            cells.append((workload, name, value.mean, value.ci95, *means))
    columns = ("workload", "collector", "write amplification", "ci95", *COLUMNS)
    table = Table(columns, tuple(cells))
    shown = {name: value for name, value in values.items() if name != "greedy"}
    draw: Any = functools.partial(_draw, workloads, shown)
    caption = "Write amplification on a living system, with and without the host's hints"
    return [Figure("zombie-live", caption, table, draw), *_over_time(done, workloads)]


def _over_time(done: Sequence[Session], workloads: Sequence[str]) -> list[Figure]:
    """Dirty and known pages in the course of the first session of ZGC-GD of each workload."""
    first = {
        session["workload"]: session["samples"]
        for session in reversed(done)
        if session["collector"] == "ZGC-GD" and session["samples"]
    }
    shown = {workload: first[workload] for workload in workloads if workload in first}
    if not shown:
        return []
    cells = [(workload, *sample) for workload, samples in shown.items() for sample in samples]
    table = Table(("workload", "seconds", "dirty", "known", "zombies"), tuple(cells))
    caption = (
        "Pages that were dirty in the host, and zombies of the drive, in the course of a session "
        "(ZGC-GD)"
    )
    return [Figure("zombie-live-known", caption, table, functools.partial(_draw_known, shown))]


def _draw_known(shown: dict[str, list[list[float]]]) -> Drawing:
    from flashgc import plot

    def panel(workload: str, samples: list[list[float]]) -> Any:
        seconds, dirty, _known, zombies = zip(*samples, strict=True)
        return {
            "title": workload,
            "series": [
                plot.Series("dirty", seconds, dirty),
                plot.Series("zombies", seconds, zombies),
            ],
        }

    parts = [panel(workload, samples) for workload, samples in shown.items()]
    figure = plot.panels(parts, x_label="seconds", y_label="pages", at_ends=False)
    for axes in figure.axes:
        axes.set_ylim(bottom=0)
    return figure


def _draw(workloads: tuple[str, ...], values: dict[str, list[tuple[float, float]]]) -> Drawing:
    return bars([Bars("write amplification", workloads, values)], "workload")


def _notes(measured: Measured, plan: Plan) -> list[str]:
    done = measured.computed.get("sessions", [])
    notes = []
    for workload in plan.workloads:
        texts = []
        for name in plan.collectors:
            try:
                value = amplification(done, workload, name)
            except NotMeasuredError:
                continue
            texts.append(f"{name} {value.mean:.3f} ±{value.ci95:.3f}")
        if texts:
            notes.append(f"Write amplification, {workload}: {', '.join(texts)}.")
    return notes
