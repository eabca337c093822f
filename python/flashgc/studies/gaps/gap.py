"""``gap``: greedy, the best online scheme, predictors and clairvoyance, on the same writes."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Unpack

from flashgc import _core, _notebook_progress, _origins
from flashgc._core import ConfigError, Control
from flashgc._interruptions import interrupts_program
from flashgc._schemes import Scheme
from flashgc._typed_keywords import typed_keywords
from flashgc.frames import Table
from flashgc.keywords import RunKeywords
from flashgc.model import evaluate
from flashgc.results import Result
from flashgc.results.config import together_of
from flashgc.simulation import given_values
from flashgc.studies.gaps import task
from flashgc.studies.gaps.describe import findings
from flashgc.studies.gaps.outcome import MODEL, Gap, Row, bound, equals, ordered
from flashgc.studies.rounds import Outcome, Rounds, Wanted, folder_of
from flashgc.studies.study import Progress, jobs_of, without_unit
from flashgc.traces import Trace

#: The factor by which a run with foresight takes longer.
_AHEAD = 2.0


@interrupts_program
@typed_keywords(RunKeywords)
def gap(
    workload: str | Trace | Table,
    *,
    schemes: Sequence[str | Scheme] | None = None,
    classes: int | None = None,
    horizon: float | None = None,
    sigma: Sequence[float] | None = None,
    errors: str | None = None,
    cache: str | PathLike[str] | None = None,
    resume: bool = True,
    progress: Progress | None = None,
    control: Control | None = None,
    **options: Unpack[RunKeywords],
) -> Gap:
    """Measure the gap between one workload on one drive and what foresight could reach.

    ``schemes`` are online schemes: a victim policy (``"cost-benefit"``), one with a placement
    (``"cost-benefit + sepbit"``) or a scheme (``"sepbit-cb"``); greedy is always run.
    Clairvoyance knows when each page will be overwritten: it sorts pages into ``classes`` (16) by
    remaining life, and sees ``horizon`` (8) logical capacities ahead. Predictors have an error
    ``sigma`` (0.25, 0.5, 1, 2, 4), the standard deviation of the logarithm of a predicted life.
    ``errors`` are drawn for each ``"write"`` (the default for a generator) or each ``"request"``;
    ``"both"`` runs both kinds (the default for a trace). The other options are those of
    :func:`flashgc.run`, with 5 runs per row by default for a generator. Every row has the same
    seeds and the pool frontier.

    ``cache`` is a folder in which every finished simulation is stored; the next call with it does
    not repeat them, unless ``resume`` is false. ``progress`` is called with the share that is done,
    what is being done, and pages programmed. Ctrl-C stops the work and
    raises :class:`flashgc.Interruption`, which has the results so far.

    Raises :class:`flashgc.ConfigError` for options that cannot be compared, and
    :class:`flashgc.TraceError` for a trace that cannot be read.

    >>> found = gap("hotcold:f=0.1,r=0.9", blocks=200, pages_per_block=16, spare=0.2, writes="4x",
    ...             runs=2, schemes=["sepbit-cb"], sigma=[1])
    >>> [row.name for row in found][-3:]
    ['predictor, sigma 1', 'clairvoyance', 'lower bound']
    >>> found.best.write_amplification > found.clairvoyance.write_amplification > 1
    True
    """
    values, places = given_values(workload, {**options})
    with _notebook_progress.shown(progress) as show:
        jobs = jobs_of(values, places)
        job = task.checked(
            values,
            places,
            names=schemes,
            classes=classes,
            horizon=horizon,
            sigma=sigma,
            errors=errors,
        )
        study = Rounds(
            folder_of(cache, _origins.option(places, "cache"), "gap"),
            show=without_unit(show),
            control=control,
            jobs=jobs,
            resume=resume,
            places=places,
        )
        rows, drive = job.rows(), None
        ran, known = 0, 0
        with study.ending():
            drive = _fits(job, study, places)
            ran, known = study.ran, study.found
            if drive is not None:
                rows = _run(job, rows, study)
        if drive is not None:
            rows = [*rows, _separated(job, drive)]
        shown = ordered([_stopped_if_empty(row) for row in (*rows, bound(rows))])
        gap = Gap(
            workload=str(job.config["workload"]),
            blocks=None if drive is None else drive.config.blocks,
            pages_per_block=None if drive is None else drive.config.pages_per_block,
            spare_factor=None if drive is None else drive.config.spare_factor,
            runs=int(job.config["runs"]),
            classes=job.foresight.classes,
            horizon=job.foresight.horizon,
            rows=shown,
            equal=equals(shown),
            simulations=study.ran - ran,
            found=study.found - known,
            interrupted=study.interrupted,
            seed=int(job.config["seed"]),
            version=_core.version(),
            unkept=study.unkept,
        )
        return dataclasses.replace(gap, findings=tuple(findings(gap)))


def _fits(job: task.Task, study: Rounds, places: Mapping[str, str]) -> Result | None:
    """A run of one page with greedy; ``None`` if it was stopped.

    Raises :class:`flashgc.ConfigError` if the drive has no room for greedy or clairvoyance.
    """
    greedy = job.short("greedy", "none")
    study.sure = greedy
    # A placement with a prediction error is used, because it needs the most memory.
    ahead = [
        job.short(task.VICTIM, job.foresight.placement(1, errors))
        for errors in job.foresight.errors
    ]
    wanted = [Wanted(config, 0.0) for config in (greedy, *ahead)]
    raw, *others = study.run(wanted, "looking at the drive", possible=False)
    for config in (raw, *others):
        if isinstance(config, str):
            raise ConfigError(config if config is raw else _too_small(config, job, study, places))
    return Result.from_dict(raw) if isinstance(raw, dict) and all(others) else None


def _too_small(reason: str, job: task.Task, study: Rounds, places: Mapping[str, str]) -> str:
    """The reason why clairvoyance cannot run, with a hint: other classes, blocks, or horizon."""
    fault, _, hint = reason.partition("; hint: ")
    if sight := re.search(r"horizon=([0-9.e+-]+)", hint):
        horizon = _origins.written(places, "horizon", sight[1])
        return f"{fault.partition(' ')[2].replace('oracle', 'foresight', 1)}; hint: {horizon}"
    needed = re.search(r"keeps (\d+) blocks of", reason)
    if needed is None:
        return reason
    wanted = [
        Wanted(job.short(task.VICTIM, job.foresight.placement(classes=classes)), 0.0)
        for classes in range(1, job.foresight.classes)
    ]
    fitting = [
        classes
        for classes, row in enumerate(
            study.run(wanted, "looking at the drive", possible=False), start=1
        )
        if isinstance(row, dict)
    ]
    hints = []
    if fitting:
        hints.append(_origins.written(places, "classes", fitting[-1]))
    if job.config["blocks"] is not None:
        superblocks = math.ceil(int(needed[1]) / float(job.config["spare"])) + 1
        blocks = superblocks * together_of(job.config.get("superblock", "plane"))
        hints.append(_origins.written(places, "blocks", blocks))
    hints.append(hint)
    return f"{fault}; hint: {', or '.join(hints)}"


def _run(job: task.Task, rows: Sequence[Row], study: Rounds) -> list[Row]:
    """The rows with their figures, or with the reasons why they have none."""
    wanted = [Wanted(job.of(row), 1.0 if row.sigma is None else _AHEAD) for row in rows]
    study.total = sum(entry.cost for entry in wanted)
    outcomes = study.run(wanted, "schemes, and what looks ahead", possible=False)
    return [_measured(row, raw) for row, raw in zip(rows, outcomes, strict=True)]


def _measured(row: Row, raw: Outcome) -> Row:
    """The row with its figures, or with the reason why it has none; unchanged if it was stopped."""
    if isinstance(raw, dict):
        return row.of(Result.from_dict(raw))
    return row if raw is None else dataclasses.replace(row, reason=raw)


def _stopped_if_empty(row: Row) -> Row:
    """The row; if it has neither a figure nor a reason, it was stopped."""
    if row.write_amplification is not None or row.reason:
        return row
    return dataclasses.replace(row, reason="stopped")


def _separated(job: task.Task, drive: Result) -> Row:
    """The row of the model of static separation, if the frequencies of writes are known."""
    row = Row(MODEL, "static separation")
    config = drive.config
    if job.is_trace:
        return dataclasses.replace(row, reason="needs frequencies: a trace has none")
    if config.host or config.request_size or config.mapping_unit:
        reason = "needs frequencies: a cache, request sizes or mapping units change those of pages"
        return dataclasses.replace(row, reason=reason)
    if config.blocks_together > 1:
        reason = (
            f"needs many blocks: {config.superblocks} superblocks, some erased or open, are few"
        )
        return dataclasses.replace(row, reason=reason)
    try:
        answer = evaluate(
            "separation",
            workload=job.config["workload"],
            spare=config.spare_factor,
            pages_per_block=config.pages_per_block,
            blocks=config.blocks,
        )
    except ConfigError as error:
        fault = str(error).partition("; hint: ")[0].removeprefix("workload: ")
        return dataclasses.replace(row, reason=f"needs frequencies: {fault}")
    return dataclasses.replace(row, write_amplification=answer.write_amplification)
