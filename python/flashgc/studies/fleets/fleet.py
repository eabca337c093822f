"""``fleet``: runs the volumes of a trace under several policies, each on a drive of its size."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from flashgc import _core, _files, _naming, _notebook_progress
from flashgc._core import ConfigError, Control
from flashgc._interruptions import interrupts_program
from flashgc._origins import Places
from flashgc._typed_keywords import typed_keywords
from flashgc.configuration import configurations
from flashgc.experiment import experiment
from flashgc.keywords import CompareKeywords
from flashgc.options import OPTIONS, Option
from flashgc.policy_files import load_policies
from flashgc.progress import Show
from flashgc.results import Finding, findings
from flashgc.simulation import given_values
from flashgc.store import Kept, Store, key_of
from flashgc.studies.cell import simulate_cell
from flashgc.studies.cells import Cell, Cells
from flashgc.studies.executing import Threads
from flashgc.studies.fleets import describe
from flashgc.studies.fleets.outcome import Fleet, FleetCell, cell_of, policies_of, rounded
from flashgc.studies.fleets.volumes import BY, Volume, Volumes, source_of, split
from flashgc.studies.study import jobs_of, refuse
from flashgc.units import many


@dataclass(frozen=True)
class Policy:
    """One policy of the fleet, with the other values by which it differs."""

    name: str
    config: dict[str, Any]


class Work(Cells):
    """The cells of a fleet: those with stored results, and those that are to run."""

    def __init__(
        self,
        volumes: Volumes,
        policies: Sequence[Policy],
        store: Store,
        *,
        retry: bool,
        show: Show | None,
        control: Control,
    ) -> None:
        super().__init__(store, "fleet", retry=retry, show=show, control=control)
        self._volumes, self._policies = volumes, policies
        self.cells: list[FleetCell] = []
        self._told: Counter[tuple[str, str, str]] = Counter()
        #: For each kind of finding, one example and the volume that has it.
        self._examples: dict[tuple[str, str, str], tuple[int | str, Finding]] = {}
        #: The cells that are to run.
        self._missing: list[Cell] = []
        self._look_up()

    def _look_up(self) -> None:
        """Look up stored results, and make a cell for every volume and policy."""
        for at, volume in enumerate(self._volumes):
            if not volume.writes:
                reason = f"it is never written ({volume.reads} reads, {volume.discards} discards)"
                self.cells += [
                    FleetCell(volume.name, policy.name, "cannot", reason)
                    for policy in self._policies
                ]
                continue
            contents = self._volumes.contents(at)
            keys = [
                key_of(self._volumes.config(at, policy.config), contents)
                for policy in self._policies
            ]
            known = self.known(keys)
            for policy, key in zip(self._policies, keys, strict=True):
                kept = self.store.load(key) if key in known else None
                if kept is None:
                    self._missing.append(Cell(key, len(self.cells), volume.writes))
                self.found += kept is not None
                self.cells.append(self._cell(volume, policy, kept))
            if at % 100 == 0:
                self.show(at / len(self._volumes), "looking up what is kept", at, "volumes")

    @property
    def findings(self) -> list[Finding]:
        """The findings of all results, the most frequent first."""
        return [_of_cells(count, *self._examples[kind]) for kind, count in self._told.most_common()]

    def _cell(self, volume: Volume, policy: Policy, kept: Kept | None) -> FleetCell:
        result = {} if kept is None else kept.result or {}
        for finding in findings.read(result):
            kind = finding.kind
            self._told[kind] += 1
            name, example = self._examples.get(kind, (volume.name, finding))
            hint = findings.hint_for_all([example.hint, finding.hint])
            self._examples[kind] = name, dataclasses.replace(example, hint=hint)
        return cell_of(volume, policy.name, kept)

    def perform(self, jobs: int) -> None:
        """Run the cells whose results are missing."""
        count = len(self._policies)

        def report(cell: Cell, kept: Kept) -> None:
            volume, policy = self._volumes[cell.place // count], self._policies[cell.place % count]
            self.cells[cell.place] = self._cell(volume, policy, kept)

        def config(cell: Cell) -> dict[str, Any]:
            policy = self._policies[cell.place % count]
            return self._volumes.config(cell.place // count, policy.config)

        with Threads(jobs) as threads:
            self.run(self._missing, config, threads, work=self._simulate, report=report)

    def _simulate(self, config: dict[str, Any], control: Control | None) -> Kept | None:
        at = self._volumes.index(config)
        try:
            with self._volumes.file(at) as file:
                kept = simulate_cell(config, control, (file, True))
        except OSError as error:  # For example, the folder for temporary files is full.
            return Kept("failed", config, None, str(error))
        if kept is None:
            return None
        name = f"volume {self._volumes[at].name}"
        return dataclasses.replace(kept, reason=kept.reason.replace(str(file), name))


def _of_cells(count: int, volume: int | str, finding: Finding) -> Finding:
    """A finding of ``count`` cells, with ``volume`` as the example."""
    claim = f"{many(count, 'cell')}, such as volume {volume}: {finding.claim}"
    return dataclasses.replace(finding, claim=claim, evidence={**finding.evidence, "cells": count})


#: The default file of results.
RESULTS = "fleet.results"
#: Options that the drives of a fleet cannot have.
UNUSED = (
    "source", "blocks", "capacity", "kind", "vm_page_cache", "page_policy", "vm_scheme",
    *(option.key for option in OPTIONS if option.drives == "timed"),
)  # fmt: skip


@interrupts_program
@typed_keywords(CompareKeywords)
def fleet(
    traces: str | PathLike[str] | Sequence[str | PathLike[str]],
    victims: str | Sequence[str],
    *,
    by: str = "volume",
    results: str | PathLike[str] = RESULTS,
    retry: bool = False,
    progress: Show | None = None,
    control: Control | None = None,
    **options: Unpack[CompareKeywords],
) -> Fleet:
    r"""Run each volume of a trace under each policy, on a drive of the volume's size.

    ``traces`` is a trace of many volumes, or several that follow each other. With ``by="volume"``,
    a volume is all requests with one volume (device) number; with ``by="file"``, all requests of a
    file. The traces are read once. Memory grows with the number of volumes and the largest volume,
    not with the length of the trace; the requests are in a spool in the folder for temporary files,
    with about 10 bytes each.

    ``victims`` and the options are those of :func:`flashgc.compare`, without those of a drive's
    size and of drives with a clock; ``jobs`` is the number of cores. The results of a volume equal
    those of ``flashgc.run(trace, devices=NUMBER)`` with the same options.

    ``results`` is a file in which each result is stored; cells that it has do not run again. For
    cells that failed, the error is stored, and ``retry`` runs them again. ``progress`` is called
    with the share that is done, what is being done, how many, and of what. Ctrl-C stops it
    and raises :class:`flashgc.Interruption`; complete results are stored, and the same call
    continues.

    Raises :class:`flashgc.ConfigError`, :class:`flashgc.TraceError` and :class:`OSError`.

    >>> import random, tempfile
    >>> draw = random.Random(1)
    >>> rows = [f"{at}.000,W,{draw.randrange(900) * 4096},4096,{at % 2}" for at in range(2000)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trace = Path(folder, "two.csv")
    ...     _ = trace.write_text("time_us,op,offset_bytes,size_bytes,dev\n" + "\n".join(rows))
    ...     made = fleet(trace, ["greedy", "fifo"], pages_per_block=16, results=folder + "/r")
    >>> [(policy.name, policy.volumes) for policy in made.policies]
    [('greedy', 2), ('fifo', 2)]
    >>> made.policies[1].ratio > 1
    True
    """
    paths = [traces] if isinstance(traces, str | PathLike) else list(traces)
    if not paths:
        raise ConfigError("traces: found none, expected at least one; hint: name a trace file")
    names = [victims] if isinstance(victims, str) else list(victims)
    if not all(isinstance(name, str) for name in names):
        raise ConfigError(
            "victims: found a policy that is no text; hint: write python:FILE.py:NAME, so that "
            "results can be kept"
        )
    values, places = given_values(source_of([os.fspath(path) for path in paths]), {**options})
    if names or "scheme" not in options:
        values["gc"] = {"victim": names, **values.get("gc", {})}
    with _notebook_progress.shown(progress) as show:
        return fleet_with(
            paths,
            values,
            {"gc.victim": "victims", **places},
            by=by,
            results=results,
            retry=retry,
            progress=show,
            control=control,
        )


def fleet_with(
    paths: Sequence[str | PathLike[str]],
    values: dict[str, dict[str, Any]],
    places: Places,
    *,
    by: str,
    results: str | PathLike[str],
    retry: bool = False,
    progress: Show | None = None,
    control: Control | None = None,
) -> Fleet:
    """Run :func:`fleet` for the values of options by section, and the place of each."""
    control = control or Control()
    traces = [os.fspath(path) for path in paths]
    policies = _policies(traces, values, places, by)
    option = places.get("results", "results")
    _check_results(Path(results), option)
    jobs = jobs_of(values, places)
    trace = policies[0].config["trace"]

    def reading(share: float) -> None:
        if progress is not None:
            progress(share, "splitting the trace", 0, "volumes")

    with split(traces, by, trace, control, reading, places) as volumes:
        with Store(Path(results), option) as store:
            work = Work(volumes, policies, store, retry=retry, show=progress, control=control)
            work.perform(jobs)
        spares = {policy.name: policy.config["spare"] for policy in policies}
        fleet = Fleet(
            workload=source_of(traces),
            by=by,
            policies=policies_of([policy.name for policy in policies], work.cells),
            cells=tuple(work.cells),
            volumes=len(volumes),
            never_written=sum(not volume.writes for volume in volumes),
            ran=work.ran,
            found=work.found,
            interrupted=work.interrupted,
            results=os.fspath(results),
            spool_bytes=volumes.spool_bytes,
            notes=tuple(_notes(volumes)),
            rounded=rounded(work.cells, spares),
        )
        findings = (*describe.findings(fleet), *work.findings)
        return dataclasses.replace(fleet, findings=findings)


def _policies(
    traces: Sequence[str], values: dict[str, dict[str, Any]], places: Places, by: str
) -> list[Policy]:
    """Return the policies to run on each volume, by name. Raises :class:`flashgc.ConfigError`."""
    if by not in BY:
        hint = _core.suggest(by, list(BY))
        raise ConfigError(f"{places.get('by', 'by')}: unknown word '{by}'; hint: {hint}")
    if not traces:
        raise ConfigError("traces: found none; hint: give a trace of many volumes")
    for trace, count in Counter(traces).items():
        if count > 1:
            raise ConfigError(f"{trace} is given {count} times, expected once")
    refuse(UNUSED, values, places, "cannot be given to a fleet", _hint)
    source = source_of(traces)
    if not _core.is_trace(source):
        source = os.path.join(os.curdir, source)
    sections = {**values, "workload": {**values.get("workload", {}), "source": source}}
    setup = experiment(sections, places)
    python = load_policies(values.get("gc"), places)
    configs = configurations(setup, places, python=python)
    return [Policy(_naming.name(config, configs), config) for config in configs]


def _hint(option: Option) -> str:
    return "leave it out" + ": each drive has the size of its volume" * (option.section == "drive")


def _check_results(path: Path, option: str) -> None:
    """Refuse a file that is no file of results, before the trace is read; create none."""
    if path.exists():
        Store(path, option, make=False).close()
    else:
        _files.check(os.fspath(path), option, RESULTS)


def _notes(volumes: Volumes) -> Iterator[str]:
    yield from volumes.notes
    if volumes.skipped:
        yield f"{many(volumes.skipped, 'bad line')} of the trace left out"
