"""The units of work that a command did, from what it printed."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashgc._core import DriveError

#: Characters of an output that a message quotes.
QUOTED = 200


@dataclass(frozen=True)
class Count:
    r"""The place of the number of units in an output: the first group of a pattern, or a path.

    >>> Count(pattern="committed ([0-9]+)").of("x\ncommitted 12\n")
    12.0
    >>> Count(path="jobs.0.ios").of('{"jobs": [{"ios": 7}]}')
    7.0
    """

    pattern: str | None = None
    path: str | None = None

    def __post_init__(self) -> None:
        if self.pattern is not None:
            try:
                groups = re.compile(self.pattern).groups
            except re.error as error:
                raise ValueError(f"the pattern has an error: {error}") from None
            if groups < 1:
                raise ValueError("brackets around the number: 'committed ([0-9]+)'")

    def of(self, output: str, errors: str = "") -> float:
        """The number of units; of several matches the last one. JSON is on standard output alone.

        Raises :class:`flashgc.DriveError` where there is none, or where it is not above zero.
        """
        found = self._found(output, errors)
        try:
            number = float(found)
        except (TypeError, ValueError):
            number = math.nan
        if not (math.isfinite(number) and number > 0):
            raise DriveError(f"found {found!r} where {self.what} is, expected a number above 0")
        return number

    @property
    def what(self) -> str:
        """The pattern or the path, in words."""
        if self.pattern is not None:
            return f"the pattern {self.pattern!r}"
        return f"the JSON path {self.path}"

    def _found(self, output: str, errors: str) -> Any:
        if self.pattern is not None:
            matches = list(re.finditer(self.pattern, f"{output}\n{errors}"))
            if not matches:
                raise DriveError(f"{self.what} is not in the command's output{_quoted(output)}")
            return matches[-1][1]
        try:
            value: Any = json.loads(output)
        except ValueError:
            raise DriveError(f"the command's output is no JSON{_quoted(output)}") from None
        assert self.path is not None
        for part in self.path.split("."):
            try:
                value = value[int(part)] if isinstance(value, list) else value[part]
            except (KeyError, IndexError, TypeError, ValueError):
                has = (
                    ", ".join(list(value)[:8]) if isinstance(value, dict) else type(value).__name__
                )
                raise DriveError(f"{self.what}: no {part} in the output, which has {has}") from None
        return value


def counted(count: Count, log: Path) -> float:
    """The units in the output that was written into ``log`` and beside it."""
    errors = log.with_suffix(".err")
    return count.of(
        log.read_text(errors="replace"),
        errors.read_text(errors="replace") if errors.exists() else "",
    )


def _quoted(output: str) -> str:
    words = " ".join(output.split())
    return f", which ends with: {words[-QUOTED:]}" if words else ", which is empty"
