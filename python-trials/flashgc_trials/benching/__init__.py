"""A command in many settings on drives of its own: what one unit of its work costs the flash."""

from __future__ import annotations

from flashgc_trials.benching.budget import Wanted, against, missed, wanted
from flashgc_trials.benching.cells import Cell, Run, cells_of, order
from flashgc_trials.benching.file import Bench, read
from flashgc_trials.benching.folder import Folder
from flashgc_trials.benching.outcome import FIGURES, Outcome, outcome
from flashgc_trials.benching.running import Runner, StoppedError

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
