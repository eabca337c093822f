"""Analytic models of write amplification: milliseconds instead of the minutes of a simulation.

They hold for a drive of infinitely many blocks, :func:`superblock` for one of few large blocks.
They are computed without the simulator. Numbers broadcast as in numpy: floats give a float, arrays
give an array.

>>> from flashgc import model
>>> round(model.greedy(0.1, pages_per_block=64), 4)
4.8213
>>> model.fifo([0.07, 0.1]).round(4)
array([7.3177, 5.1787])

:func:`evaluate` returns all results of a model, and :func:`write_amplification` its main figure,
for any model by name. :func:`spare_for` and :func:`choices_within` solve the inverse problem.
:func:`transient` follows a drive to its steady state. :func:`validate` compares a model with a
simulation.
"""

from flashgc.model.answers import (
    Model,
    ModelResult,
    Pool,
    Superblocks,
    evaluate,
    models,
    write_amplification,
)
from flashgc.model.closed import (
    Spare,
    choices_within,
    desnoyers,
    fifo,
    greedy,
    random,
    separation,
    spare_for,
    superblock,
    windowed,
)
from flashgc.model.parameters import ModelConfig, Parameters
from flashgc.model.transient import Transient, transient
from flashgc.model.validation import Validation, validate

__all__ = [
    "Model",
    "ModelConfig",
    "ModelResult",
    "Parameters",
    "Pool",
    "Spare",
    "Superblocks",
    "Transient",
    "Validation",
    "choices_within",
    "desnoyers",
    "evaluate",
    "fifo",
    "greedy",
    "models",
    "random",
    "separation",
    "spare_for",
    "superblock",
    "transient",
    "validate",
    "windowed",
    "write_amplification",
]
