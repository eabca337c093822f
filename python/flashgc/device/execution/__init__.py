"""A command on a fresh drive with a file system, and the effects of the command on the flash."""

from __future__ import annotations

from flashgc.device.execution.execute import FOLDER, NOWHERE, execute
from flashgc.device.execution.outcome import Executed, Phase
from flashgc.device.execution.running import Command
from flashgc.device.execution.samples import Sample, parts_of
from flashgc.device.execution.source import Source
from flashgc.device.execution.tree import Left
from flashgc.device.execution.written import Written

__all__ = [
    "FOLDER",
    "NOWHERE",
    "Command",
    "Executed",
    "Left",
    "Phase",
    "Sample",
    "Source",
    "Written",
    "execute",
    "parts_of",
]
