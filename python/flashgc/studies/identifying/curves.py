"""Simulated write amplification of schemes: run once, stored, interpolated over spare factors."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flashgc.described import Simulation
from flashgc.progress import Show
from flashgc.store.cache import Cache
from flashgc.studies.identifying.schemes import Scheme
from flashgc.studies.identifying.workloads import Condition
from flashgc.studies.rounds import Rounds, Wanted

Numbers = NDArray[np.float64]

#: Relative standard error of a simulated value, from chance and from the size of the simulated
#: drive. docs/identify.md describes how it was measured.
SIMULATION_ERROR = 0.01
#: Spare factors at which curves are simulated first: 4% to 47%, each 1.25 times the one before.
GRID = tuple(round(0.04 * 1.25**step, 4) for step in range(12))
#: The number of interpolated spare factors from one of the grid to the next.
_FINE = 64


@dataclass(frozen=True)
class Size:
    """The size of the simulated drive, and the default length of its runs."""

    blocks: int = 512
    pages_per_block: int = 256
    writes: str = "20x"
    warmup: str = "1/3"
    #: The number of runs for a measurement that gives its length, which may be short.
    short_runs: int = 3


@dataclass(frozen=True)
class Ask:
    """One simulation: a scheme with a spare factor under a workload."""

    scheme: Scheme
    condition: Condition
    spare: float


@dataclass(frozen=True)
class Curve:
    """The curve of one scheme: logarithms of write amplification by spare factor and condition."""

    #: The spare factors, ascending.
    spares: Numbers
    #: The logarithms, with a row per spare factor and a column per condition.
    logs: Numbers

    def fine(self) -> tuple[Numbers, Numbers]:
        """Closely spaced spare factors, and the interpolated curve at them.

        It is interpolated by parabolas through three neighbours, over the logarithm of the spare
        factor.

        >>> spares, logs = Curve(np.array([0.1, 0.2]), np.log([[4.0], [2.0]])).fine()
        >>> float(np.exp(np.interp(np.log(np.sqrt(0.02)), np.log(spares), logs[:, 0])).round(3))
        2.828
        """
        spares, weights = _between(tuple(map(float, self.spares)))
        return spares, weights @ self.logs


@functools.lru_cache(maxsize=4096)
def _between(spares: tuple[float, ...]) -> tuple[Numbers, Numbers]:
    """Closely spaced spare factors, and the weights of the known spare factors at each."""
    known = np.log(spares)
    if len(known) == 1:
        return np.array(spares), np.ones((1, 1))
    steps = [
        np.linspace(low, high, _FINE, endpoint=False) for low, high in itertools.pairwise(known)
    ]
    x = np.concatenate([*steps, known[-1:]])
    weights = np.zeros((len(x), len(known)))
    for row, at in enumerate(x):
        middle = int(np.argmin(np.abs(known - at)))
        first = min(max(middle - 1, 0), max(len(known) - 3, 0))
        near = range(first, min(first + 3, len(known)))
        for i in near:
            others = [known[j] for j in near if j != i]
            weights[row, i] = math.prod((at - other) / (known[i] - other) for other in others)
    return np.exp(x), weights


class Curves(Rounds):
    """Runs the simulations that are needed, each once; after Ctrl-C complete results remain."""

    def __init__(
        self, size: Size, *, cache: Cache | None = None, jobs: int = 0, show: Show | None = None
    ) -> None:
        only = ("write_amplification",)
        super().__init__(cache, show=show, jobs=jobs, only=only, by_round=True, strict=True)
        self.size = size
        # All configurations of a round may be impossible, because schemes reserve blocks. The
        # configuration below always runs.
        sure = {"workload": "uniform", "blocks": 64, "pages_per_block": 16, "writes": "1x"}
        self.sure = Simulation({**sure, "spare": 0.25}).config()
        self._values: dict[Ask, float] = {}

    def simulate(self, asks: Iterable[Ask], what: str) -> None:
        """Run the simulations whose results are not known; ``what`` is shown meanwhile."""
        missing = [ask for ask in dict.fromkeys(asks) if ask not in self._values]
        wanted = [Wanted(self._config(ask)) for ask in missing]
        outcomes = self.run(wanted, what, possible=False)
        for ask, outcome in zip(missing, outcomes, strict=True):
            if isinstance(outcome, dict):
                self._values[ask] = outcome["write_amplification"]

    def curve(
        self, scheme: Scheme, conditions: Sequence[Condition], spares: Iterable[float]
    ) -> Curve | None:
        """The curve over the spare factors at which the values of all conditions are known."""
        rows = {
            spare: [self.value(Ask(scheme, condition, spare)) for condition in conditions]
            for spare in sorted(spares)
        }
        whole = {spare: row for spare, row in rows.items() if not any(map(math.isnan, row))}
        if not whole:
            return None
        return Curve(np.array([*whole]), np.log([*whole.values()]))

    def value(self, ask: Ask) -> float:
        """The simulated write amplification; NaN if unknown."""
        return self._values.get(ask, math.nan)

    def _config(self, ask: Ask) -> dict[str, Any]:
        size = self.size
        blocks = ask.scheme.blocks or size.blocks
        pages = int(blocks * size.pages_per_block * (1 - ask.spare))
        return Simulation(
            {
                "workload": ask.condition.source(pages),
                "blocks": blocks,
                "pages_per_block": size.pages_per_block,
                "spare": ask.spare,
                "writes": ask.condition.writes or size.writes,
                "warmup": ask.condition.warmup or size.warmup,
                "runs": 1 if ask.condition.writes is None else size.short_runs,
                **ask.scheme.options(blocks),
            }
        ).config()
