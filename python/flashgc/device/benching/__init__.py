"""A command in many settings on drives of its own: what one unit of its work costs the flash."""

from __future__ import annotations

from flashgc.device.benching.budget import Wanted, against, missed, wanted
from flashgc.device.benching.cells import Cell, Run, cells_of, order
from flashgc.device.benching.file import Bench, read
from flashgc.device.benching.folder import Folder
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
