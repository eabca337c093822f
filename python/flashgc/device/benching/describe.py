"""The findings of a bench: sentences about its cells, with the number of runs behind each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flashgc.device.benching.outcome import COMPARED, Outcome
from flashgc.results.findings import Finding, Rules
from flashgc.results.intervals import mean

#: If a larger share of the written bytes never leaves the page cache, there is a finding.
STAYED = 0.01

RULES = Rules("bench")


def findings(done: Outcome) -> list[Finding]:
    """The findings of a bench."""
    return list(_all(done))


def _all(done: Outcome) -> Iterator[Finding]:
    runs = [run for cell in done.cells for run in cell.runs.values()]
    if done.missing:
        yield RULES["runs-missing"].found(
            f"{done.missing} of {done.missing + len(runs)} runs are missing",
            "the same command goes on where this one ended",
            runs=done.missing,
        )
    if done.bench.repeats == 1:
        yield RULES["one-repeat"].found(
            "one repeat has no interval: nobody knows what is noise", "repeats = 3 in [bench]"
        )
    yield from _noise(done)
    executed = [run["executed"] for run in runs]
    idle = [
        execution
        for execution in executed
        if execution["host_bytes"] and not execution["collections"]
    ]
    yield from _of_runs(
        "runs-never-collected",
        len(idle),
        len(runs),
        "the drive never collected: write amplification says nothing there",
        'fill = "72%" and aged = "uniform" in [drive], or a longer command',
    )
    moving = [
        execution for execution in executed if execution["collections"] and not execution["steady"]
    ]
    yield from _of_runs(
        "runs-not-steady",
        len(moving),
        len(runs),
        "write amplification was not steady while the command wrote",
        "a longer command",
    )
    left = [execution for execution in executed if execution["left_ended"]]
    yield from _of_runs(
        "runs-left-behind",
        len(left),
        len(runs),
        "processes outlived the command and were ended",
        "end them in the command itself",
    )
    yield from _stayed(done)
    unsettled = [run for run in runs if _is_unsettled(run.get("past"))]
    yield from _of_runs(
        "past-not-settled",
        len(unsettled),
        len(runs),
        "the drive had not settled when its past ended",
        "another fill, or aged = '10x'",
    )


def _stayed(done: Outcome) -> Iterator[Finding]:
    """The finding on cells whose written bytes did not all reach the drive, with their share."""
    shares: dict[str, float] = {}
    for cell in done.cells:
        values = [
            1 - run["executed"]["host_bytes"] / run["executed"]["written"]["least"]
            for run in cell.runs.values()
            if run["executed"]["written"]["least"]
        ]
        if values and (share := mean(values)) > STAYED:
            shares[cell.cell.name] = share
    if shares:
        text = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
        yield RULES["stayed-in-the-cache"].found(
            "of the written bytes at least these shares never reached the drive: pages were "
            f"overwritten or files removed in the page cache: {text}",
            "a sync behind each unit if its data must be durable, or a longer command",
            cells=shares,
        )


def _noise(done: Outcome) -> Iterator[Finding]:
    others = [cell for at, cell in enumerate(done.cells) if at != done.reference]
    changes = {cell.cell.name: done.change(cell) for cell in others}
    inside = [name for name, change in changes.items() if change is not None and change.holds_zero]
    if inside:
        yield RULES["inside-the-noise"].found(
            f"{len(inside)} of {len(others)} cells write as many flash bytes a unit as "
            f"{done.against}{' one' if done.reference == 0 else ''}, inside the noise: "
            f"{', '.join(inside)}",
            "more repeats, or a longer command",
            figure=COMPARED,
            cells=inside,
        )


def _of_runs(rule: str, count: int, all_: int, claim: str, hint: str) -> Iterator[Finding]:
    if count:
        text = f"in {count} of {all_} runs {claim}"
        yield RULES[rule].found(text, hint, runs=count, of=all_)


def _is_unsettled(past: Mapping[str, Any] | None) -> bool:
    return past is not None and past.get("is_settled") is False and bool(past.get("overwritten"))
