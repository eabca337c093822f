"""Runs what tasks ask for: all simulations in one call of the engine, kept as they come.

It knows neither papers nor verdicts.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from flashgc import _engine
from flashgc._core import Control, FlashgcError
from flashgc._faults import describe
from flashgc.kept.cache import Cache
from flashgc.results import Result
from flashgc_papers.reproduce.runner import Computation, Measured, Size, Study, Task

#: Called with the share that is done, what is being done, and pages programmed so far.
Progress = Callable[[float, str, int], None]

#: Page programs a second of one core, to weigh simulations against computations in progress.
SPEED = 80e6


class Work:
    """The tasks of a reproduction, by the ids of their claims, and what came of them."""

    def __init__(
        self,
        tasks: Mapping[str, Task],
        *,
        cache: Cache | None = None,
        jobs: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self._tasks = tasks
        self._cache = cache
        self._jobs = jobs
        self._progress = progress or (lambda _share, _what, _programs: None)
        #: True if Ctrl-C stopped it.
        self.interrupted = False
        #: The reason why a claim could not be run, by its id.
        self.failed: dict[str, str] = {}
        #: Why finished simulations are no longer kept.
        self.unkept: OSError | None = None
        #: Results that were kept by an earlier call.
        self.found = 0
        self._computed: dict[str, dict[str, Any]] = {name: {} for name in tasks}
        self._configs: dict[str, dict[str, Any]] = {}
        self._results: dict[str, dict[str, Any]] = {}
        self._needed: dict[str, dict[str, str]] = {}
        for name, task in tasks.items():
            self._needed[name] = {}
            for key, simulation in task.simulations.items():
                config = simulation.config()
                same = json.dumps(config, sort_keys=True)
                self._configs[same] = config
                self._needed[name][key] = same

    def perform(self) -> None:
        """Runs everything; Ctrl-C stops, and what there is stays."""
        if self._cache is not None:
            for same, config in self._configs.items():
                if (result := self._cache.load(config)) is not None:
                    self._results[same] = result
        self.found = len(self._results)
        missing = [same for same in self._configs if same not in self._results]
        simulating = sum(programs(self._configs[same]) for same in missing) / SPEED
        computing = sum(
            one.seconds for task in self._tasks.values() for one in task.computations.values()
        )
        try:
            self._compute(computing, computing + simulating)
            self._simulate(missing, computing + simulating)
        except KeyboardInterrupt:
            self.interrupted = True

    def measured(self, name: str, size: Size) -> Measured:
        """Return the results of the task of the claim ``name``."""
        results = {
            key: Result.from_dict(self._results[same])
            for key, same in self._needed[name].items()
            if same in self._results
        }
        reason = self.failed.get(name, "interrupted")
        return Measured(size, self._tasks[name], results, self._computed[name], reason)

    def _compute(self, computing: float, total: float) -> None:
        done = 0.0
        for name, task in self._tasks.items():
            for key, computation in task.computations.items():
                self._progress(done / max(total, 1e-9), f"computing {name}", 0)
                try:
                    self._computed[name][key] = self._call(name, computation, done, total)
                except Exception as error:  # One claim's fault must not take the others along.
                    self.failed.setdefault(name, _said(error))
                done += computation.seconds

    def _call(self, name: str, computation: Computation, done: float, total: float) -> Any:
        if not isinstance(computation, Study):
            return computation.call()

        def show(share: float, what: str, _number: int, _unit: str) -> None:
            self._progress((done + share * computation.seconds) / max(total, 1e-9), what, 0)

        if self._cache is not None:
            return computation.call(self._cache.folder / name, show)
        with tempfile.TemporaryDirectory(prefix="flashgc-") as folder:
            return computation.call(Path(folder), show)

    def _simulate(self, missing: list[str], total: float) -> None:
        if not missing:
            return
        try:
            self._engine(missing, total)
        except FlashgcError:
            # One of the configurations cannot be run: each claim on its own, to find out whose.
            for name in self._tasks:
                wanted = [one for one in self._needed[name].values() if one not in self._results]
                try:
                    self._engine(list(dict.fromkeys(wanted)), total)
                except FlashgcError as error:
                    self.failed.setdefault(name, _said(error))

    def _engine(self, wanted: list[str], total: float) -> None:
        if not wanted or self.interrupted:
            return
        configs = [self._configs[same] for same in wanted]
        costs = [programs(config) / SPEED for config in configs]
        runs = [int(config["runs"]) for config in configs]
        complete: list[int] = []

        def keep(index: int, result: dict[str, Any]) -> None:
            complete.append(index)
            self._results[wanted[index]] = result
            if self._cache is not None and self.unkept is None:
                try:
                    self._cache.store(configs[index], result)
                except OSError as error:  # What is being worked out is worth more than its copy.
                    self.unkept = error

        def show(control: Control) -> None:
            done = sum(costs[index] for index in complete)
            done_runs = sum(runs[index] for index in complete)
            # Of the runs under way only their number is known: each weighs as those to come.
            each = (sum(costs) - done) / max(sum(runs) - done_runs, 1)
            under_way = max(control.done - done_runs, 0.0) * each
            share = (total - sum(costs) + done + under_way) / total
            self._progress(min(share, 1.0), "simulating", control.programs)

        simulated = _engine.simulate(configs, jobs=self._jobs, progress=show, on_result=keep)
        self.interrupted = any(result["interrupted"] for result in simulated.results)


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, FlashgcError | OSError) else describe(error)


def programs(config: Mapping[str, Any]) -> float:
    """About how many pages a configuration programs, from FIFO's write amplification.

    For weighing one against another only.

    >>> programs({"blocks": 100, "pages_per_block": 10, "spare": 0.1, "warmup": "1/3",
    ...           "length": {"collections": 500}, "runs": 2})
    10000.0
    """
    amplification = 0.5 / float(config["spare"]) + 0.2
    logical = int(config["blocks"] or 0) * config["pages_per_block"] * (1 - config["spare"])
    (unit, amount), *_ = config["length"].items()
    if unit == "collections":
        pages = float(amount * config["pages_per_block"])
    elif unit == "until":
        # All that its blocks bear.
        erases = re.search(r"(?:mean=|scale=|limit=|^)(\d+)", str(config["endurance"]))
        each = float(erases[1]) if erases else 0.0
        pages = each * int(config["blocks"] or 0) * config["pages_per_block"]
    else:
        pages = _pages(str(amount), logical) * amplification
    pages += _pages(config["warmup"], logical) * amplification
    return pages * int(config["runs"])


def _pages(extent: str, logical: float) -> float:
    """Page writes of ``"20x"`` or ``"1000000"``; a part of the run (``"1/3"``) adds none."""
    try:
        return float(extent[:-1]) * logical if extent.endswith("x") else float(extent)
    except ValueError:
        return 0.0
