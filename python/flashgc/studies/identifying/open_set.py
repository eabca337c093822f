"""The share of drives with a scheme outside the list that are explained by one of it.

`experiments/identify/recover.py` makes such drives, identifies them, and writes `open_set.json`:
each drive with its measured points, its best explanation and the limit of its chi-square.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from flashgc._documents import Json

#: Words for the drives: their scheme is in the list, or it is not.
KNOWN, UNKNOWN = "known", "unknown"


@dataclass(frozen=True)
class FalseBest:
    """Drives with a scheme outside the list, and those that the list explained."""

    drives: int
    explained: int
    #: Workloads and relative error of the measurement.
    workloads: int
    noise: float

    @property
    def share(self) -> float:
        """The share that was explained.

        >>> FalseBest(50, 20, 7, 0.02).share
        0.4
        """
        return self.explained / self.drives

    def to_dict(self) -> dict[str, Json]:
        """As in the JSON document."""
        return {**dataclasses.asdict(self), "share": self.share}


def rate_of(document: Mapping[str, Any]) -> FalseBest:
    """The rate that the drives of a document give."""
    unknown = [row for row in document["drives"] if row["set"] == UNKNOWN]
    explained = sum(is_explained(row) for row in unknown)
    return FalseBest(len(unknown), explained, len(document["workloads"]), document["noise"])


def is_explained(row: Mapping[str, Any]) -> bool:
    """True if the best explanation of a drive stays within its limit."""
    return bool(row["chi_square"] <= row["limit"])


@functools.cache
def false_best() -> FalseBest:
    """The rate that was measured, for the list of all schemes."""
    return rate_of(document())


def document() -> dict[str, Any]:
    """The file that `experiments/identify/recover.py` wrote."""
    text = resources.files(__package__).joinpath("open_set.json").read_text("utf-8")
    made: dict[str, Any] = json.loads(text)
    return made
