"""``flashgc.fleet``: the volumes of a trace under several policies, each on a drive of its size."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from flashgc import _core, _files, _places, _varied
from flashgc._core import ConfigError, Control
from flashgc._places import Places
from flashgc._signature import typed_keywords
from flashgc.configuration import configurations
from flashgc.experiment import experiment
from flashgc.fleets.outcome import (
    Fleet,
    FleetCell,
    FleetWarning,
    cell_of,
    fleet_of,
    kind_of,
    policies_of,
    rounded,
)
from flashgc.fleets.volumes import BY, Volume, Volumes, source_of, split
from flashgc.kept import Kept, Store, key_of
from flashgc.keywords import CompareKeywords
from flashgc.options import OPTIONS, find
from flashgc.pace import Show
from flashgc.policy_files import load_policies
from flashgc.simulation import given_values, parse_jobs
from flashgc.sweeps.execution import Execution, Threads
from flashgc.sweeps.work import simulate_cell

#: The file of results if nobody says otherwise.
RESULTS = "fleet.results"
#: Options that the drives of a fleet cannot have.
UNUSED = (
    "source", "blocks", "capacity", "kind", "vm_page_cache", "page_policy", "scheme",
    *(option.key for option in OPTIONS if option.drives == "timed"),
)  # fmt: skip


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
    r"""Runs each volume of a trace under each policy, on a drive of the volume's size.

    ``traces`` is a trace of many volumes, or several that follow each other. ``by="volume"`` takes
    all requests to one volume (device) number for a volume, ``by="file"`` all requests of a file.
    The traces are read once. Memory grows with the number of volumes and the largest volume, not
    with the length of the trace; a spool in the folder for temporary files has the requests, some
    10 bytes each.

    ``victims`` and the options are those of :func:`flashgc.compare`, without those of a drive's
    size and of drives with a clock; ``jobs`` is the number of cores. A volume's digits are those
    of ``flashgc.run(trace, devices=NUMBER)`` with the same options.

    ``results`` is a file in which each result is kept: what it has is not run again. Of cells that
    failed, the error is kept, and ``retry`` runs them again. ``progress`` is called with the share
    that is done, what is being done, how many, and of what. Ctrl-C ends it; what is complete is
    kept, and the same call goes on.

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
    names = [victims] if isinstance(victims, str) else list(victims)
    if not all(isinstance(name, str) for name in names):
        raise ConfigError(
            "victims: found a policy that is no text; hint: write python:FILE.py:NAME, so that "
            "results can be kept"
        )
    values, places = given_values(source_of([os.fspath(path) for path in paths]), {**options})
    if names or "gc_preset" not in options:
        values["gc"] = {"victim": names, **values.get("gc", {})}
    return fleet_with(
        paths,
        values,
        {"gc.victim": "victims", **places},
        by=by,
        results=results,
        retry=retry,
        progress=progress,
        control=control,
    )


@dataclass(frozen=True)
class _Policy:
    """One policy of the fleet, perhaps with other values that differ."""

    name: str
    config: dict[str, Any]


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
    """:func:`fleet` for the values of options by section, and the place of each."""
    control = control or Control()
    traces = [os.fspath(path) for path in paths]
    policies = _policies(traces, values, places, by)
    option = places.get("results", "results")
    _check_results(Path(results), option)
    jobs = parse_jobs(values.get("run", {}).get("jobs", 0), places.get("run.jobs", "jobs"))
    show = progress or (lambda *_: None)
    trace = policies[0].config["trace"]

    def reading(share: float) -> None:
        show(share, "splitting the trace", 0, "volumes")

    with split(traces, by, trace, control, reading) as volumes:
        with Store(Path(results), option) as store:
            work = _Work(volumes, policies, store, retry=retry, show=show)
            whole = work.run(jobs, control)
            cells = work.cells
        facts = {
            "workload": source_of(traces),
            "by": by,
            "volumes": len(volumes),
            "never_written": sum(not volume.writes for volume in volumes),
            "ran": work.ran,
            "found": work.found,
            "interrupted": not whole,
            "results": os.fspath(results),
            "spool_bytes": volumes.spool_bytes,
            "notes": tuple(_notes(volumes)),
        }
    spares = {policy.name: policy.config["spare"] for policy in policies}
    return fleet_of(
        policies=policies_of([policy.name for policy in policies], cells),
        cells=cells,
        warnings=work.warnings,
        rounded=rounded(cells, spares),
        **facts,
    )


def _policies(
    traces: Sequence[str], values: dict[str, dict[str, Any]], places: Places, by: str
) -> list[_Policy]:
    """What runs on each volume, by name. Raises :class:`flashgc.ConfigError`."""
    if by not in BY:
        hint = _core.suggest(by, list(BY))
        raise ConfigError(f"{places.get('by', 'by')}: unknown word '{by}'; hint: {hint}")
    if not traces:
        raise ConfigError("traces: found none; hint: give a trace of many volumes")
    for trace, count in Counter(traces).items():
        if count > 1:
            raise ConfigError(f"{trace} is given {count} times, expected once")
    for option in map(find, UNUSED):
        if option.key != "source" and option.key in values.get(option.section, {}):
            hint = "each drive has the size of its volume" if option.section == "drive" else ""
            raise ConfigError(
                f"{_places.subject(places, option.path)} cannot be given to a fleet; hint: leave "
                f"it out{': ' if hint else ''}{hint}"
            )
    source = source_of(traces)
    if not _core.is_trace(source):
        source = os.path.join(os.curdir, source)
    sections = {**values, "workload": {**values.get("workload", {}), "source": source}}
    asked = experiment(sections, places)
    python = load_policies(values.get("gc"), places)
    configs = configurations(asked, places, python=python)
    return [_Policy(_varied.name(config, configs), config) for config in configs]


def _check_results(path: Path, option: str) -> None:
    """Refuses what is no file of results before the trace is read; it makes none."""
    if path.exists():
        Store(path, option, make=False).close()
    else:
        _files.check(os.fspath(path), option, RESULTS)


def _notes(volumes: Volumes) -> Iterator[str]:
    yield from volumes.notes
    if volumes.skipped:
        lines = "1 bad line" if volumes.skipped == 1 else f"{volumes.skipped} bad lines"
        yield f"{lines} of the trace left out"


class _Work:
    """The cells of a fleet: those that are kept, and those that are to run."""

    def __init__(
        self,
        volumes: Volumes,
        policies: Sequence[_Policy],
        store: Store,
        *,
        retry: bool,
        show: Show,
    ) -> None:
        self._volumes, self._policies, self._store, self._show = volumes, policies, store, show
        self.cells: list[FleetCell] = []
        self._warned: Counter[str] = Counter()
        #: A volume and the text of one warning of each kind.
        self._examples: dict[str, tuple[int | str, str]] = {}
        self.ran = self.found = 0
        #: Keys of the cells that are to run, by their place among all.
        self._missing: dict[int, str] = {}
        self._look_up(retry=retry)

    def _look_up(self, *, retry: bool) -> None:
        """Finds what is kept, and makes a cell for everything."""
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
            known = self._store.statuses(keys)
            for policy, key in zip(self._policies, keys, strict=True):
                status = known.get(key)
                to_run = status is None or (retry and status == "failed")
                kept = None if to_run else self._store.load(key)
                if kept is None:
                    self._missing[len(self.cells)] = key
                self.found += kept is not None
                self.cells.append(self._cell(volume, policy, kept))
            if at % 100 == 0:
                self._show(at / len(self._volumes), "looking up what is kept", at, "volumes")

    @property
    def warnings(self) -> tuple[FleetWarning, ...]:
        """The warnings of all results, the most frequent first."""
        each = self._warned.most_common()
        return tuple(FleetWarning(count, *self._examples[kind]) for kind, count in each)

    def _cell(self, volume: Volume, policy: _Policy, kept: Kept | None) -> FleetCell:
        result = {} if kept is None else kept.result or {}
        for text in result.get("warnings", ()):
            self._warned[kind_of(text)] += 1
            self._examples.setdefault(kind_of(text), (volume.name, text))
        return cell_of(volume, policy.name, kept)

    def run(self, jobs: int, control: Control) -> bool:
        """Runs what is missing, large volumes first; whether all of it was run."""
        count = len(self._policies)
        costs = {at: self._volumes[at // count].writes for at in self._missing}
        order = sorted(self._missing, key=lambda at: -costs[at])
        total = sum(costs.values()) or 1
        done = 0

        def complete(index: int, kept: Kept) -> None:
            nonlocal done
            at = order[index]
            self._store.put(self._missing[at], kept, "fleet")
            volume, policy = self._volumes[at // count], self._policies[at % count]
            self.cells[at] = self._cell(volume, policy, kept)
            self.ran += 1
            done += costs[at]

        def look(running: float) -> None:
            share = (done + running * total / max(len(order), 1)) / total
            self._show(min(share, 1.0), "simulating", self.ran, "cells")

        with Threads(jobs) as threads:
            execution = Execution(threads, control, self._simulate)
            return execution.run(_Configs(self, order), complete, look)

    def config(self, at: int) -> dict[str, Any]:
        """The configuration of a cell, by its place among all."""
        count = len(self._policies)
        return self._volumes.config(at // count, self._policies[at % count].config)

    def _simulate(self, config: dict[str, Any], control: Control | None) -> Kept | None:
        at = self._volumes.index(config)
        try:
            with self._volumes.file(at) as file:
                kept = simulate_cell(config, control, file)
        except OSError as error:  # The folder for temporary files is full, for example.
            return Kept("failed", config, None, str(error))
        if kept is None:
            return None
        name = f"volume {self._volumes[at].name}"
        return dataclasses.replace(kept, reason=kept.reason.replace(str(file), name))


class _Configs(Sequence[dict[str, Any]]):
    """The configurations of cells, each made when it is asked for."""

    def __init__(self, work: _Work, order: Sequence[int]) -> None:
        self._work, self._order = work, order

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, index: Any) -> Any:
        return self._work.config(self._order[index])
