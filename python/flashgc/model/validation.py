"""A model and the simulation of the same drive, side by side."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Unpack

from flashgc._core import ConfigError, Control
from flashgc._documents import Document, Json
from flashgc._engine import Progress
from flashgc._summaries import Shown, figure
from flashgc.model.answers import ModelResult, evaluate, find, models
from flashgc.model.parameters import ModelConfig, Parameters
from flashgc.results import Result
from flashgc.units import parse_count

#: The relative difference allowed beyond chance, because a drive has finitely many blocks.
TOLERANCE = 0.0005
#: The default number of physical blocks of the simulated drive.
BLOCKS = 10_000


@dataclass(frozen=True, repr=False)
class Validation(Document):
    """The result of a model and that of a simulation."""

    model: ModelResult
    simulation: Result

    @property
    def difference(self) -> float:
        """The model's write amplification divided by the simulated one, minus 1."""
        return self.model.write_amplification / self.simulation.write_amplification - 1

    @property
    def standard_error(self) -> float | None:
        """The standard error of the simulated write amplification; ``None`` for a single run."""
        values = self.simulation.run_values
        if len(values) < 2:
            return None
        return statistics.stdev(values) / math.sqrt(len(values))

    @property
    def standard_errors(self) -> float | None:
        """The difference divided by the standard error; ``None`` for a single run."""
        error = self.standard_error
        if not error:
            return None
        return (self.model.write_amplification - self.simulation.write_amplification) / error

    @property
    def agrees(self) -> bool | None:
        """True if both agree within 3 standard errors plus 0.05%; ``None`` for a single run."""
        error = self.standard_error
        if error is None:
            return None
        measured = self.simulation.write_amplification
        off = abs(self.model.write_amplification - measured)
        return off <= 3 * error + TOLERANCE * measured

    @property
    def interrupted(self) -> bool:
        """True if the simulation was stopped before its end."""
        return self.simulation.interrupted

    def _shown(self) -> Shown:
        measured = self.simulation
        rows = [
            ("model", figure(self.model.write_amplification)),
            (
                "simulation",
                figure(measured.write_amplification, measured.write_amplification_ci95),
            ),
            ("difference", f"{self.difference:+.3%}"),
            ("agrees", {True: "yes", False: "no", None: "not known of a single run"}[self.agrees]),
        ]
        line = f"{self.model.model} {rows[0][1]}, simulation {rows[1][1]}: {rows[2][1]}"
        return Shown(line + ", interrupted" * self.interrupted, rows)

    def to_dict(self) -> dict[str, Json]:
        """All of it as plain Python values; the model's document with ``simulation`` added."""
        return {
            **self.model.to_dict(),
            "simulation": self.simulation.to_dict(),
            "difference": self.difference,
            "standard_error": self.standard_error,
            "standard_errors": self.standard_errors,
            "agrees": self.agrees,
        }


def validate(
    model: str,
    *,
    runs: int = 4,
    seed: int = 1,
    warmup: str | None = None,
    writes: str | None = None,
    jobs: int = 0,
    progress: Progress | None = None,
    control: Control | None = None,
    **parameters: Unpack[Parameters],
) -> Validation:
    """Simulate the policy of ``model`` on a drive with ``blocks`` (10 000) and random contents.

    ``warmup`` and ``writes`` are in drive writes. Without them the simulation runs until it is
    steady. The other options are those of :func:`flashgc.run`.

    >>> both = validate("fifo", blocks=1000, spare=0.1, pages_per_block=32, runs=3, writes="5x")
    >>> abs(both.difference) < 0.01
    True
    """
    from flashgc.simulation import run

    blocks = parse_count(parameters.setdefault("blocks", BLOCKS), "blocks")
    answer = evaluate(model, **parameters)
    config = answer.config
    result = run(
        config.workload or "uniform",
        victim=_policy(model, config, blocks),
        frontier=config.frontier or "single",
        blocks=blocks,
        pages_per_block=config.pages_per_block,
        spare=config.spare_factor,
        superblock=config.superblock or "plane",
        parity=config.parity or "none",
        fill="random",
        warmup=warmup,
        writes=writes,
        runs=runs,
        seed=seed,
        jobs=jobs,
        progress=progress,
        control=control,
    )
    return Validation(answer, result)


def _policy(name: str, config: ModelConfig, blocks: int) -> str:
    """The victim policy that the model is for."""
    policy = find(name).policy
    if policy is None:
        simulated = ", ".join(model.name for model in models() if model.policy)
        raise ConfigError(
            f"{name}: the simulator has no such policy; hint: these models have one: {simulated}"
        )
    if config.ties == "random":
        raise ConfigError(
            f"{name}: found ties=random, expected latest, as in the simulator; hint: for "
            "random ties, use meanfield with d=1000"
        )
    window = max(1, round((config.window or 0) * blocks))
    return policy.format(**{**config.given(), "window": window})
