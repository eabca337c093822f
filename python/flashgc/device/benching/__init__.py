"""A command that runs with many settings, each on a fresh drive: the flash cost per unit of work.

:mod:`.file` reads the settings and the counts of units. :mod:`.cells` makes the cells, their order,
and the folder from which a stopped bench goes on. :mod:`.running` runs the cells. :mod:`.outcome`
has figures with intervals, and :mod:`.budget` has budgets and baselines.
"""

from __future__ import annotations

from flashgc.device.benching.budget import Wanted, against, missed, wanted
from flashgc.device.benching.cells import Cell, Folder, Run, cells_of, order
from flashgc.device.benching.file import Bench, read
from flashgc.device.benching.outcome import FIGURES, Outcome, outcome
from flashgc.device.benching.running import Runner, StoppedError

__all__ = [
    "FIGURES",
    "Bench",
    "Cell",
    "Folder",
    "Outcome",
    "Run",
    "Runner",
    "StoppedError",
    "Wanted",
    "against",
    "cells_of",
    "missed",
    "order",
    "outcome",
    "read",
    "wanted",
]
