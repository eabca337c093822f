"""Drives with a clock: the keys of an experiment that are theirs, and what they come to.

``sections`` holds the keys, ``clock`` what they come to for the engine, with ``timeline``;
``refusals`` says which words are of the other kind of drive. Presets that give values for the keys
are in :mod:`flashgc.presets`. Nothing here runs a drive; what a run comes to is in
:mod:`flashgc.timing`.
"""

from flashgc.presets import devices, with_device
from flashgc.timed.clock import DEFAULT_REQUESTS, DEFAULT_WARMUP, configuration, preemptions
from flashgc.timed.sections import TimedDrive, TimedGc, TimedRun, TimedWorkload

__all__ = [
    "DEFAULT_REQUESTS",
    "DEFAULT_WARMUP",
    "TimedDrive",
    "TimedGc",
    "TimedRun",
    "TimedWorkload",
    "configuration",
    "devices",
    "preemptions",
    "with_device",
]
