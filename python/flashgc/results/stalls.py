"""The work of a die while a slow request waited: as rows, and as a chart in plain text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from flashgc.results import Worst, WorstOperation
from flashgc.units import format_time

#: The letters of a chart; if several operations fall on one character, the earlier entry is shown.
_LETTERS = {"erase": "e", "program": "p", "read": "r", "suspend": "s", "poll": "s"}
_BUS, _WAITS = "=", "."
LEGEND = "r read  p program  e erase  = bus  . the request waits"
#: The maximum number of rows of a chart.
MOST_ROWS = 10
_LABEL, _WIDTH = 20, 78


@dataclass(frozen=True)
class Row:
    """The operations for one request or one collection, as a row of a chart."""

    name: str
    of_collection: bool
    operations: tuple[WorstOperation, ...]


def rows(worst: Worst, most: int = MOST_ROWS) -> list[Row]:
    """A row for each collection and request that the die worked for, the earliest first.

    If there are more than ``most``, those with the least work share a row. The last row is for the
    slow request itself.
    """
    own, groups = [], defaultdict(list)
    for operation in worst.operations:
        if operation.request == worst.number:
            own.append(operation)
        else:
            groups[operation.collection, operation.request].append(operation)

    def work(key: tuple[int | None, int | None]) -> float:
        return sum(
            worst_operation.ended_us - worst_operation.began_us for worst_operation in groups[key]
        )

    keys = sorted(groups, key=work, reverse=True)
    if len(keys) >= most:
        kept, others = keys[: most - 2], keys[most - 2 :]
    else:
        kept, others = keys, []
    rows = [Row(_name(*key), key[0] is not None, tuple(groups[key])) for key in kept]
    rows.sort(key=lambda row: min(operation.began_us for operation in row.operations))
    if others:
        shared = (worst_operation for key in others for worst_operation in groups[key])
        rows.append(Row(f"{len(others)} others", False, tuple(shared)))
    return [*rows, Row(f"{worst.kind} {worst.number}", False, tuple(own))]


def _name(collection: int | None, request: int | None) -> str:
    if collection is not None:
        return f"collection {collection}"
    return "write cache or map" if request is None else f"request {request}"


def chart(worst: Worst) -> list[str]:
    """A chart of the die's work from the request's arrival to its completion, 80 columns wide.

    Empty if the die's operations were not kept.
    """
    if not worst.operations:
        return []
    begin, end = worst.arrived_us, worst.arrived_us + worst.response_us
    width = _WIDTH - _LABEL
    total = format_time(worst.response_us)
    lines = [f"die {worst.die}".ljust(_LABEL) + "0" + total.rjust(width - 1)]
    of_rows = rows(worst)
    for row in of_rows:
        places = [" "] * width
        if row is of_rows[-1]:
            places = [_WAITS] * width
        _draw(places, row.operations, begin, (end - begin) / width)
        lines.append((row.name[: _LABEL - 1].ljust(_LABEL) + "".join(places)).rstrip())
    lines.append(f"{'':{_LABEL}}{LEGEND}")
    if worst.is_cut:
        first = min(operation.began_us for operation in worst.operations) - begin
        lines.append(f"{'':{_LABEL}}(nothing is kept of the first {format_time(first)})")
    return lines


def _draw(
    places: list[str], operations: Iterable[WorstOperation], begin: float, step: float
) -> None:
    """Draw operations into ``places``, each at least one character wide."""

    def strength(worst_operation: WorstOperation) -> int:
        return (
            0
            if worst_operation.place == "bus"
            else len(_LETTERS) - list(_LETTERS).index(worst_operation.work)
        )

    for operation in sorted(operations, key=strength):
        first = min(max(int((operation.began_us - begin) / step + 1e-6), 0), len(places) - 1)
        last = min(max(int((operation.ended_us - begin) / step - 1e-6), first), len(places) - 1)
        letter = _BUS if operation.place == "bus" else _LETTERS[operation.work]
        places[first : last + 1] = letter * (last + 1 - first)
