"""A command in many settings on drives of its own: what one unit of its work costs the flash.

:mod:`.file` reads the settings, :mod:`.cells` makes the cells and their order, :mod:`.running` runs
them, and :mod:`.counting` has what they counted. A bench goes on from its folder (:mod:`.folder`).
:mod:`.outcome` has figures with intervals, :mod:`.budget` budgets and baselines.
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
