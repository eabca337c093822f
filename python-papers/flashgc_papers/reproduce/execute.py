"""Runs the work of tasks: all simulations in one call of the engine, each result stored at once.

It knows neither papers nor verdicts.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashgc import FlashgcError
from flashgc.described import Simulation
from flashgc.results import Result
from flashgc.store.cache import Cache
from flashgc.studies.rounds import Rounds, Wanted
from flashgc.studies.study import Progress, without_unit
from flashgc_papers.engine import describe
from flashgc_papers.reproduce.tasks import Computation, Measured, Size, Study, Task

#: Page programs that one core simulates in a second. The progress bar weighs simulations against
#: computations with it.
SPEED = 80e6


class Work(Rounds):
    """The tasks of a reproduction, by the ids of their claims, and their results."""

    def __init__(
        self,
        tasks: Mapping[str, Task],
        *,
        cache: Cache | None = None,
        jobs: int = 0,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(cache, show=without_unit(progress), jobs=jobs, strict=True)
        self._tasks = tasks
        #: The reason why a claim could not be run, by its id.
        self.failed: dict[str, str] = {}
        self._computed: dict[str, dict[str, Any]] = {name: {} for name in tasks}
        self._wanted = {
            name: {key: _wanted(simulation) for key, simulation in task.simulations.items()}
            for name, task in tasks.items()
        }

    def perform(self) -> None:
        """Runs everything; Ctrl-C stops it, and finished results stay."""
        every = [simulation for some in self._wanted.values() for simulation in some.values()]
        simulating = sum(simulation.cost for simulation in self.look(every).values())
        computing = sum(
            work.seconds for task in self._tasks.values() for work in task.computations.values()
        )
        with self.ending():
            self._compute(computing + simulating)
            self.done, self.total = computing, computing + simulating
            self._simulate(every)

    def measured(self, name: str, size: Size) -> Measured:
        """Return the results of the task of the claim ``name``."""
        results = {
            key: Result.from_dict(kept)
            for key, simulation in self._wanted[name].items()
            if isinstance(kept := self.of(simulation.config), dict)
        }
        reason = self.failed.get(name, "interrupted")
        return Measured(size, self._tasks[name], results, self._computed[name], reason)

    def _compute(self, total: float) -> None:
        done = 0.0
        for name, task in self._tasks.items():
            for key, computation in task.computations.items():
                self.show(done / max(total, 1e-9), f"computing {name}", 0, "")
                try:
                    self._computed[name][key] = self._call(name, computation, done, total)
                except Exception as error:  # A claim that fails must not stop the others.
                    self.failed.setdefault(name, _said(error))
                done += computation.seconds

    def _call(self, name: str, computation: Computation, done: float, total: float) -> Any:
        if not isinstance(computation, Study):
            return computation.call()

        def show(share: float, what: str, _number: int, _unit: str) -> None:
            self.show((done + share * computation.seconds) / max(total, 1e-9), what, 0, "")

        if self._cache is not None:
            return computation.call(self._cache.folder / name, show)
        with tempfile.TemporaryDirectory(prefix="flashgc-") as folder:
            return computation.call(Path(folder), show)

    def _simulate(self, every: list[Wanted]) -> None:
        try:
            self.run(every, "simulating", possible=True)
        except FlashgcError:
            # One of the configurations cannot be run. Each claim is run alone to find it.
            for name, wanted in self._wanted.items():
                try:
                    self.run([*wanted.values()], "simulating", possible=True)
                except FlashgcError as error:
                    self.failed.setdefault(name, _said(error))


def _wanted(simulation: Simulation) -> Wanted:
    config = simulation.config()
    return Wanted(config, programs(config) / SPEED)


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, FlashgcError | OSError) else describe(error)


def programs(config: Mapping[str, Any]) -> float:
    """An estimate of the pages that a configuration programs, from FIFO's write amplification.

    It serves only to compare configurations.

    >>> programs({"blocks": 100, "pages_per_block": 10, "spare": 0.1, "warmup": "1/3",
    ...           "length": {"collections": 500}, "runs": 2})
    10000.0
    """
    amplification = 0.5 / float(config["spare"]) + 0.2
    block = int(config["pages_per_block"] or 0)
    logical = int(config["blocks"] or 0) * block * (1 - config["spare"])
    (unit, amount), *_ = config["length"].items()
    if unit == "collections":
        pages = float(amount * block)
    elif unit == "until":
        # All page writes that the blocks endure.
        erases = re.search(r"(?:mean=|scale=|limit=|^)(\d+)", str(config["endurance"]))
        each = float(erases[1]) if erases else 0.0
        pages = each * int(config["blocks"] or 0) * block
    else:
        pages = _pages(str(amount), logical) * amplification
    pages += _pages(config["warmup"], logical) * amplification
    return pages * int(config["runs"])


def _pages(extent: str, logical: float) -> float:
    """Page writes of an extent such as ``"20x"`` or ``"1000000"``; 0 for a share (``"1/3"``)."""
    try:
        return float(extent[:-1]) * logical if extent.endswith("x") else float(extent)
    except ValueError:
        return 0.0
