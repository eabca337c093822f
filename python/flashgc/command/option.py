"""An option of the command that is a key of experiment files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Option:
    """One option and the key of an experiment file that it sets."""

    path: str
    flag: str
    metavar: str
    help: str
    #: Given several times, it makes several configurations to compare.
    several: bool = False
    words: Callable[[], list[str]] | None = None


def names(entries: Callable[[], Any]) -> Callable[[], list[str]]:
    """The words that complete an option whose values are ``entries``."""
    return lambda: [entry.usage for entry in entries()]
