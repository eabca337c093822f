"""``flashgc.sweep``: a grid of experiments, on all cores or on a cluster."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from flashgc import _notebook_progress
from flashgc._core import ConfigError, Control, FlashgcError
from flashgc._faults import describe
from flashgc._interruptions import interrupts_program
from flashgc.configuration import configurations
from flashgc.execution import parse_jobs
from flashgc.experiment import experiment
from flashgc.policy_files import KEYS, announce, is_written, load_policy, python_policies
from flashgc.results.findings import Finding, Rules, hint_for_all
from flashgc.store import Contents, Kept, Store, key_of
from flashgc.store.tidy import EXPERIMENT
from flashgc.studies.cells import Cell, Cells
from flashgc.studies.executing import Threads
from flashgc.studies.study import Progress, without_unit
from flashgc.studies.sweep.cost import kind_of, seconds_of, writes_of, written
from flashgc.studies.sweep.grid import Cell as Point
from flashgc.studies.sweep.grid import Grid
from flashgc.studies.sweep.grid import grid as grid_of
from flashgc.studies.sweep.outcome import WITHOUT, Sweep, Swept, swept


@dataclass(frozen=True)
class Planned:
    """One cell, with its configuration, or the reason why it is impossible."""

    at: Mapping[str, Any]
    #: The configuration for the engine; ``None`` if the cell is impossible.
    config: dict[str, Any] | None
    key: str
    reason: str
    #: The values that the grid gives to its options, by path, as typed.
    asked: Mapping[str, Any]
    #: Its number in the grid.
    place: int


def plan(grid: Grid, contents: Contents) -> list[Planned]:
    """All cells; a value with which no cell is possible is refused at once, since it is a mistake.

    Raises :class:`flashgc.ConfigError`, which names the place of an error.
    """
    points: list[Planned] = []
    first: dict[tuple[str, str], tuple[ConfigError, bool]] = {}
    cells = list(grid.cells())
    announce(
        (text, place)
        for cell in cells
        for _, text, place in python_policies(cell.values.get("gc"), cell.places)
    )
    for cell in cells:
        setup = experiment(cell.values, cell.places)
        given = _values_by_path(cell)
        error: ConfigError | None = None
        try:
            config = _configuration(setup, cell)
            planned = Planned(cell.at, config, key_of(config, contents), "", given, len(points))
        except ConfigError as refused:
            error = refused
            planned = Planned(cell.at, None, "", str(refused), given, len(points))
        points.append(planned)
        for name, word in cell.at.items():
            point = (name, str(word))
            if error is None:
                first[point] = (ConfigError(""), True)
            elif point not in first:
                first[point] = (error, False)
    if points and all(point.config is None for point in points):
        raise ConfigError(points[0].reason)
    for (name, word), (error, possible) in first.items():
        if not possible:
            raise ConfigError(f"{error} (no cell with {name} = {word} can run)")
    if not points:
        raise ConfigError("the conditions leave out every cell; hint: fewer of them")
    return points


def _values_by_path(cell: Point) -> dict[str, Any]:
    given = {
        f"{section}.{key}": value
        for section, keys in cell.values.items()
        for key, value in keys.items()
    }
    if EXPERIMENT in cell.at:
        given[EXPERIMENT] = cell.at[EXPERIMENT]
    return given


def _configuration(setup: Any, cell: Point) -> dict[str, Any]:
    python = {
        key: {text: _policy(text, cell.places.get(f"gc.{key}", key))}
        for key in KEYS
        if is_written(text := setup[f"gc.{key}"])
    }
    configs = configurations(setup, cell.places, python=python)
    if len(configs) != 1:
        raise ConfigError(f"{len(configs)} configurations in one cell, expected one")
    return configs[0]


@functools.lru_cache(maxsize=64)
def _policy(text: str, place: str) -> object:
    try:
        return load_policy(text, place)
    except FlashgcError:
        raise
    except Exception as error:
        raise ConfigError(f"{place}: {describe(error)}") from error


RULES = Rules("sweep")
#: The maximum number of reasons of a kind, and of findings of results, that are reported.
MOST = 10


def findings(swept: Sweep) -> Iterator[Finding]:
    """The findings: cells without a result, impossible values, and findings of results."""
    for status in WITHOUT:
        yield from _reasons(swept.of(status), status)
    for name, value, _ in swept.impossible:
        claim = f"no cell with {name} = {value} can run"
        yield RULES["impossible-value"].found(claim, axis=name, value=value)
    yield from _of_results(swept)


def _reasons(cells: Sequence[Swept], status: str) -> Iterator[Finding]:
    """A finding for each frequent reason why cells have ``status``, with their number."""
    counts = Counter(cell.reason for cell in cells)
    for reason, count in counts.most_common(MOST):
        such = f"{count} {WITHOUT[status]}" + (": " if reason else "")
        yield RULES[f"cells-{status}"].found_in(such, reason, cells=count)


def _of_results(swept: Sweep) -> Iterator[Finding]:
    """The most frequent findings of results; those that differ only in numbers are merged."""
    groups: dict[tuple[str, str, str], list[tuple[Swept, Finding]]] = {}
    for cell in swept:
        for finding in cell.findings:
            groups.setdefault(finding.kind, []).append((cell, finding))
    for cells in sorted(groups.values(), key=len, reverse=True)[:MOST]:
        (cell, finding), *_ = cells
        place = ", ".join(f"{name}={value}" for name, value in cell.at.items()) or "1 cell"
        if len(cells) > 1:
            alike = len({other.text for _, other in cells}) == 1
            place = f"{len(cells)} cells" if alike else f"{len(cells)} cells, such as {place}"
        evidence = {**finding.evidence, "cells": len(cells)}
        hint = hint_for_all([other.hint for _, other in cells])
        claim = f"{place}: {finding.claim}"
        yield dataclasses.replace(finding, claim=claim, hint=hint, evidence=evidence)


#: The extension of a file of results.
ENDING = ".results"


@dataclass(frozen=True)
class Plan:
    """The plan of a sweep."""

    #: The number of cells of the grid.
    cells: int
    #: The number of cells that cannot run, that are in the file of results, and that failed in
    #: earlier commands.
    cannot: int
    found: int
    failed: int
    #: The number of simulations to run.
    missing: int
    #: Their approximate duration, in seconds of one core.
    seconds: float
    #: True if the estimate is from results in the file, false if from default speeds.
    measured: bool
    #: The number of simulations to run with policies in Python of unknown speed, and their part of
    #: the seconds. In one process, Python runs them one at a time.
    in_python: int = 0
    seconds_in_python: float = 0.0

    def seconds_on(self, cores: int) -> float:
        """The approximate seconds of all simulations on this number of cores of this machine."""
        return max(self.seconds / cores, self.seconds_in_python)


@dataclass(frozen=True)
class _Part:
    """The cells of a shard; there may be none."""

    #: Names of the axes of the grid.
    axes: tuple[str, ...]
    cells: list[Planned]
    #: The digests of files, with the files of each cell at the time when its key was computed.
    contents: Contents


@interrupts_program
def sweep(
    grid: str | PathLike[str] | Mapping[str, Any],
    *,
    results: str | PathLike[str] | None = None,
    jobs: int | str = 0,
    executor: Executor | None = None,
    shard: str | None = None,
    retry: bool = False,
    progress: Progress | None = None,
    control: Control | None = None,
) -> Sweep:
    """Run a grid of experiments, and store each result as soon as it is complete.

    ``grid`` is a TOML file with the sections of an experiment, or a dictionary like it. Any option
    may be a list or a range (``{from = "5%", to = "30%", count = 6}``): each is an axis.
    ``[[sweep.zip]]`` has lists whose values are used together, ``sweep.experiments`` has whole
    experiment files, and ``[[sweep.leave_out]]`` has conditions for cells that are omitted.
    ``"unset"`` (or ``None``) in a list stands for the option's default.

    ``results`` is the file of results (``GRID.results`` beside the file by default). Results in it
    are not computed again. A cell that cannot run has a reason. The reason of a cell that failed is
    stored, and ``retry`` runs it again. ``jobs`` is the number of cores (0 for all). ``executor``
    is another place to run: an executor of :mod:`concurrent.futures`, such as that of a Dask
    client. ``shard`` (``"2/8"``) runs a part of the cells, for a job array on a cluster.

    Ctrl-C stops it and raises :class:`flashgc.Interruption`. Complete results are stored, and the
    same call continues.

    Raises :class:`flashgc.ConfigError` and :class:`OSError`.

    >>> import tempfile
    >>> cells = {"drive": {"blocks": 64, "pages_per_block": 16, "spare": ["10%", "20%"]},
    ...          "gc": {"victim": ["greedy", "fifo"]}, "run": {"writes": "2x"}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     swept = sweep(cells, results=folder + "/grid.results")
    >>> swept.axes, len(swept), swept.ran
    (('spare', 'victim'), 4, 4)
    """
    path = _results(grid, results)
    part = _planned(grid, path, _shard(shard))
    with Store(path, "results") as store, _notebook_progress.shown(progress) as show:
        if executor is not None:
            return _run(part, store, executor, retry, show, control)
        with Threads(parse_jobs(jobs, "jobs")) as threads:
            return _run(part, store, threads, retry, show, control)


def sweep_plan(
    grid: str | PathLike[str] | Mapping[str, Any],
    *,
    results: str | PathLike[str] | None = None,
    shard: str | None = None,
    retry: bool = False,
) -> Plan:
    """Return the plan of :func:`sweep`; it runs nothing."""
    path = _results(grid, results)
    planned = _planned(grid, path, _shard(shard)).cells
    known, speeds = dict[str, str](), dict[str, float]()
    if path.exists():
        with Store(path, "results", make=False) as store:
            known = store.statuses([point.key for point in planned if point.config])
            speeds = store.speeds(writes_of, kind_of)
    missing = {
        point.key: point.config
        for point in planned
        if point.config is not None
        and (point.key not in known or (retry and known[point.key] == "failed"))
    }
    # Measured speeds are of simulations that ran in parallel, so they include waits for each other.
    guessed = [
        config for config in missing.values() if written(config) and kind_of(config) not in speeds
    ]
    return Plan(
        cells=len(planned),
        cannot=sum(point.config is None or known.get(point.key) == "cannot" for point in planned),
        found=sum(known.get(point.key) == "result" for point in planned),
        failed=sum(known.get(point.key) == "failed" for point in planned),
        missing=len(missing),
        seconds=sum(seconds_of(config, speeds) for config in missing.values()),
        measured=all(kind_of(config) in speeds for config in missing.values()),
        in_python=len(guessed),
        seconds_in_python=sum(seconds_of(config, speeds) for config in guessed),
    )


def _results(grid: str | PathLike[str] | Mapping[str, Any], results: Any) -> Path:
    if results is not None:
        return Path(results)
    if isinstance(grid, Mapping):
        return Path(f"flashgc{ENDING}")
    if not Path(grid).is_file():
        raise ConfigError(f"{grid}: no such file; hint: give a grid, such as grid.toml")
    return Path(grid).with_suffix(ENDING)


def _shard(text: str | None) -> tuple[int, int]:
    """Number and count in ``2/8``; numbers begin at 1.

    >>> _shard("2/8"), _shard(None)
    ((2, 8), (1, 1))
    """
    if text is None:
        return 1, 1
    first, _, second = str(text).partition("/")
    if first.isdecimal() and second.isdecimal() and 1 <= int(first) <= int(second):
        return int(first), int(second)
    raise ConfigError(f"shard: found {text!r}, expected one of N parts; hint: write 1/4 to 4/4")


def _planned(
    grid: str | PathLike[str] | Mapping[str, Any], path: Path, shard: tuple[int, int]
) -> _Part:
    """The cells of a part. The file of results is only created after all checks."""
    spec = grid_of(grid if isinstance(grid, Mapping) else Path(grid))
    contents = Contents()
    if path.exists():
        with Store(path, "results", make=False) as store:
            contents = store.contents()
    planned = plan(spec, contents)
    if path.exists() and contents.new:
        with Store(path, "results", make=False) as store, contextlib.suppress(OSError):
            store.remember(contents)
    number, count = shard
    return _Part(spec.names, planned[number - 1 :: count], contents)


def _run(
    part: _Part,
    store: Store,
    executor: Executor,
    retry: bool,
    progress: Progress | None,
    control: Control | None,
) -> Sweep:
    planned = part.cells
    study = Cells(store, "sweep", retry=retry, show=without_unit(progress), control=control)
    known = study.known([point.key for point in planned if point.config is not None])
    configs: dict[str, dict[str, Any]] = {}
    missing: list[Cell] = []
    for point in planned:
        if point.config is not None and point.key not in known and point.key not in configs:
            configs[point.key] = point.config
            missing.append(Cell(point.key, point.place, seconds_of(point.config, {}), point.asked))
    if part.contents.new:
        store.remember(part.contents)
    with study.stoppable():
        study.run(missing, lambda cell: configs[cell.key], executor, contents=part.contents)
    cells = []
    for point in planned:
        kept = study.unkept.get(point.key)
        if kept is None and point.config is not None:
            kept = store.load(point.key)
        if point.config is None:
            kept = Kept("cannot", {}, None, point.reason, asked=point.asked)
        cells.append(swept(point.at, point.key, kept))
    count = sum(known.get(point.key) == "result" for point in planned)
    new = [cell.key for cell in cells if cell.key in configs and cell.status != "missing"]
    sweep = Sweep(
        part.axes,
        tuple(cells),
        study.ran,
        count,
        study.interrupted,
        results=str(store.path),
        same=len(new) - len(set(new)),
    )
    return dataclasses.replace(sweep, findings=tuple(findings(sweep)))
