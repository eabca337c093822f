"""Tasks of claims: their simulations and computations, and the measurements of a task."""

from __future__ import annotations

import functools
import importlib
import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from flashgc.described import Simulation, flags
from flashgc.results import Result
from flashgc_papers.reproduce.steadiness import Noted
from flashgc_papers.reproduce.verdicts import Value

T = TypeVar("T")
M = TypeVar("M")

#: The value of a figure that was not measured.
UNKNOWN = Value(math.nan, math.nan)


class Size(StrEnum):
    """The size of a reproduction."""

    #: Minutes for all claims together; every task says what it leaves out.
    QUICK = "quick"
    DEFAULT = "default"
    #: The paper's own sizes.
    FULL = "full"


def seeded(key: str, simulation: Simulation) -> dict[str, Simulation]:
    """The runs of a simulation one by one, so that each of their figures has an interval.

    :meth:`Measured.runs` finds them again by ``key``.
    """
    runs = range(1, simulation.options["runs"] + 1)
    return {
        f"{key} run {n}": Simulation({**simulation.options, "runs": 1, "seed": n}) for n in runs
    }


@dataclass(frozen=True)
class Computation:
    """Anything that is computed rather than simulated: a model, the statistics of a trace."""

    #: The command that repeats this computation alone; empty if there is none.
    command: str
    call: Callable[[], Any]
    #: Expected seconds on one core, for the progress bar.
    seconds: float = 0.1
    #: The parameters of a model.
    params: Mapping[str, Any] = field(default_factory=dict)
    #: Makes the computation with other parameters; ``None`` if it is not a model.
    remade: Callable[..., Computation] | None = None


@dataclass(frozen=True)
class Study(Computation):
    """Work of hours. ``call`` takes a folder for finished parts, and a function for progress."""

    call: Callable[..., Any]


def model(name: str, **params: Any) -> Computation:
    """The model ``name`` at one point; gives a :class:`flashgc.model.ModelResult`."""

    def call() -> Any:
        return importlib.import_module("flashgc.model").evaluate(name, **params)

    command = " ".join([f"flashgc model {name}", *flags(params)])
    return Computation(command, call, 0.01, params, functools.partial(model, name))


def models(name: str, **params: Any) -> Computation:
    """The write amplification of the model ``name`` over arrays of parameters, as an array."""
    import numpy

    points = numpy.broadcast(*params.values()).size

    def call() -> Any:
        return importlib.import_module("flashgc.model").write_amplification(name, **params)

    given = ", ".join(f"{key}={numpy.asarray(value).tolist()!r}" for key, value in params.items())
    program = f"from flashgc import model; print(model.write_amplification({name!r}, {given}))"
    command = f"python -c {shlex.quote(program)}"
    return Computation(command, call, 0.001 * points, params, functools.partial(models, name))


@dataclass(frozen=True)
class Task:
    """The work that a claim needs at a size. Equal configurations of several claims run once."""

    simulations: Mapping[str, Simulation] = field(default_factory=dict)
    computations: Mapping[str, Computation] = field(default_factory=dict)
    #: The size in words: blocks, lengths, runs.
    settings: str = ""
    #: The parts of the published experiment that this size leaves out; empty if none.
    left_out: str = ""
    #: The reason why nothing can be run at all; empty if it can.
    not_run: str = ""
    #: A sentence if each run is a whole experiment of the paper, from a defined beginning to its
    #: end. The figures of a run are then those of the whole experiment, and need not be steady.
    #: Empty if a figure is that of a steady level, or if a part of the experiment is left out.
    whole: str = ""


class NotMeasuredError(Exception):
    """A wanted value was not measured, because its run was interrupted or failed."""


def measured_or(missing: M, measure: Callable[[], T]) -> T | M:
    """Return the result of ``measure``, or ``missing`` where something was not measured."""
    try:
        return measure()
    except NotMeasuredError:
        return missing


@dataclass(frozen=True)
class Measured:
    """The results of a claim's task; some may be missing."""

    size: Size
    task: Task
    results: Mapping[str, Result]
    computed: Mapping[str, Any]
    #: The reason why something is missing.
    reason: str = "interrupted"

    def __post_init__(self) -> None:
        """Wraps the measurements, so that the keys that a row takes are recorded."""
        object.__setattr__(self, "results", Noted(self.results))
        object.__setattr__(self, "computed", Noted(self.computed))

    def result(self, key: str) -> Result:
        """The result of a simulation; raises :class:`NotMeasuredError` without one."""
        if key not in self.results:
            raise NotMeasuredError(self.reason)
        return self.results[key]

    def runs(self, key: str) -> list[Result]:
        """The results of :func:`seeded`; raises :class:`NotMeasuredError` unless all are there."""
        wanted = [name for name in self.task.simulations if name.rpartition(" run ")[0] == key]
        if not wanted:
            raise NotMeasuredError(self.reason)
        return [self.result(name) for name in wanted]

    def value(self, key: str) -> Value:
        """Write amplification of a simulation with its interval, in pages as papers count it."""
        result = self.result(key)
        half = result.write_amplification_ci95
        figure, pages = result.write_amplification, result.page_amplification
        return Value(pages, math.nan if half is None else half * pages / figure)

    def get(self, key: str) -> Value:
        """As :meth:`value`, but NaN instead of an error, for figures."""
        return self.value(key) if key in self.results else UNKNOWN

    def compute(self, key: str) -> Any:
        """Return the result of a computation; raises :class:`NotMeasuredError` without it."""
        if key not in self.computed:
            raise NotMeasuredError(self.reason)
        return self.computed[key]
