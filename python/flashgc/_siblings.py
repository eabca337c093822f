"""Our other packages: the commands and functions that each has, and how to get it.

A package names them as entry points, and nothing else here imports it. Where it is not installed,
a command or function says how to get it.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoint

#: Groups of entry points: the name of one is the words of a command after ``flashgc``, with dots.
#: Those of findings are modules that declare the rules of the command's.
COMMANDS, FUNCTIONS, FINDINGS = "flashgc.commands", "flashgc.functions", "flashgc.findings"

#: The commands of each package, by its name after ``flashgc-``, and the summary that each has
#: without the package. Those of studies have a function of their name, too.
SUMMARIES = {
    "studies": {
        "find": "Find the value of OPTION from which, or up to which, a drive is good enough.",
        "fleet": "Run each volume of a TRACE on a drive of its size, under each policy.",
        "tune": "Search victim policies, placements, frontiers and their parameters for one "
        "WORKLOAD.",
        "gap": "Compare WORKLOAD on this drive with what foresight could reach.",
        "identify": "Find the garbage collection of a drive whose write amplification was "
        "measured.",
    },
    "trials": {
        "device.bench": "Run the command of FILE in all its settings, and say what a unit of its "
        "work costs.",
        "device.cut-test": "Run COMMAND on a recorded drive, cut the power again and again, and "
        "check its promises.",
    },
    "papers": {
        "reproduce": "Repeat published experiments, and compare the papers' results with the "
        "measured ones.",
        "device.crash-test": "Crash drives in many ways, and check that they keep what they "
        "promised.",
        "hints.demo": "Show what a drive saves when it begins to receive hints.",
    },
}

#: The package of each command.
PACKAGES = {command: name for name, commands in SUMMARIES.items() for command in commands}


@cache
def _points(package: str, group: str) -> Mapping[str, EntryPoint]:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        points = distribution(f"flashgc-{package}").entry_points
    except PackageNotFoundError:
        return {}
    return {point.name: point for point in points if point.group == group}


def found(group: str, name: str) -> Any:
    """Return the thing that a package has by this name; ``None`` where it is not installed."""
    point = _points(PACKAGES[name], group).get(name)
    return None if point is None else point.load()


def absent(name: str) -> str:
    """Return the words for a command or function whose package is not installed."""
    package = PACKAGES[name]
    return (
        f"the package flashgc-{package} is not installed; "
        f"hint: pip install 'flashgc[{package}]', or make dev in a clone"
    )


def folders() -> tuple[str, ...]:
    """The folders of all our packages that are imported."""
    names = ("flashgc", *(f"flashgc_{package}" for package in SUMMARIES))
    files = [sys.modules[name].__file__ for name in names if name in sys.modules]
    return tuple(os.path.dirname(os.path.abspath(file)) + os.sep for file in files if file)
