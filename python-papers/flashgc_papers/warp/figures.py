"""Cells of WARP's figures: the amplification of a drive, and that of each of its handles."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from flashgc_papers.claims import Claim, claims
from flashgc_papers.published import Bars, Drawing, bars
from flashgc_papers.reproduce import verdicts
from flashgc_papers.reproduce.rows import Row, row
from flashgc_papers.reproduce.runner import Figure, Outcome, Table, conclude, runner
from flashgc_papers.reproduce.tasks import Measured, NotMeasuredError, Size, Task
from flashgc_papers.reproduce.verdicts import Judgement, Value
from flashgc_papers.warp import experiment
from flashgc_papers.warp.experiment import MODES, Cell


def task(claim: Claim, size: Size) -> Task:
    """A simulation for each cell of ``claim``."""
    cells = experiment.cells(claim)
    share = experiment.SHARES[size]
    units, logical = claim.facts["units"], claim.facts["logical_units"]
    part = "the whole drive" if share == 1 else f"1/{share} of each reclaim unit"
    left_out = "" if share == 1 else f"{share - 1} of {share} pages of a unit"
    return Task(
        {cell.key: experiment.drive(claim, cell, size) for cell in cells},
        settings=f"{units} reclaim units, {logical} of them logical, {part}; lengths of the logs",
        left_out=left_out,
        whole="" if left_out else "a run has the drive writes of the log, from an empty drive on",
    )


class Cells:
    """The amplification of the drive in each cell."""

    def task(self, claim: Claim, size: Size) -> Task:
        """A simulation for each cell."""
        return task(claim, size)

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """A row for each cell."""
        rows = [cell_row(claim, measured, cell) for cell in experiment.cells(claim)]
        figures = _figures(claim, measured)
        return conclude(claim, measured, rows, heading="jumper's writes, handles", figures=figures)


class Handles:
    """The amplification of each handle, in the runs of another claim."""

    def task(self, claim: Claim, size: Size) -> Task:
        """The simulations of the claim whose runs these are, where handles are used."""
        whole = task(_drive_of(claim), size)
        keys = {f"{writes}, {mode}" for writes, mode, *_ in claim.rows}
        return Task(
            {key: run for key, run in whole.simulations.items() if key in keys},
            settings=whole.settings,
            left_out=whole.left_out,
            whole=whole.whole,
        )

    def judge(self, claim: Claim, measured: Measured) -> Outcome:
        """A row for each handle."""
        rows = []
        for writes, mode, handle, published in claim.rows:
            find = functools.partial(_of_handle, measured, f"{writes}, {mode}", int(handle))
            label = f"{writes}, {mode}, handle {handle}"
            rows.append(row(label, float(published), _within(claim, find, float(published))))
        return conclude(claim, measured, rows, heading="jumper's writes, handles, handle")


for _id in ("warp.fig14", "warp.persistent"):
    runner(_id)(Cells)
runner("warp.handles")(Handles)


def _drive_of(claim: Claim) -> Claim:
    """The claim that the runs of ``claim`` belong to."""
    return claims().select((claim.facts["of"],))[0]


def cell_row(claim: Claim, measured: Measured, cell: Cell) -> Row:
    """The row of a cell."""
    find = functools.partial(measured.value, cell.key)
    return row(cell.key, cell.amplification, _within(claim, find, cell.amplification))


def _within(
    claim: Claim, find: Callable[[], Value], published: float
) -> Callable[[], tuple[Value, Judgement]]:
    """Judge the value that ``find`` gives beside ``published``."""

    def judge() -> tuple[Value, Judgement]:
        value = find()
        return value, verdicts.equal(value, published, claim.tolerance)

    return judge


def _of_handle(measured: Measured, key: str, handle: int) -> Value:
    log = measured.result(key).fdp
    amplification = None if log is None else log.handles[handle].write_amplification
    if amplification is None:
        raise NotMeasuredError("nothing was written to this handle")
    return Value(amplification)


def _figures(claim: Claim, measured: Measured) -> list[Figure]:
    values = {cell: measured.get(cell.key) for cell in experiment.cells(claim)}
    lines = (
        (cell.writes, cell.mode, cell.amplification, value.mean, value.ci95)
        for cell, value in values.items()
    )
    data = Table(("writes", "handles", "published", "simulation", "ci95"), tuple(lines))
    caption = f"{claim.what}, simulated and as published"
    return [Figure(claim.id, caption, data, functools.partial(_draw, values))]


def _draw(values: Mapping[Cell, Value]) -> Drawing:
    writes = list(dict.fromkeys(cell.writes for cell in values))
    by_mode = {mode: [cell for cell in values if cell.mode == mode] for mode in MODES}
    panel = Bars(
        "write amplification",
        writes,
        {m: [(values[cell].mean, values[cell].ci95) for cell in by_mode[m]] for m in MODES},
        {m: [cell.amplification for cell in by_mode[m]] for m in MODES},
    )
    return bars([panel], x_label="writes of the jumper")
