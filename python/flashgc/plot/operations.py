"""The single operations of every bus and every die."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from flashgc._core import ConfigError
from flashgc.plot.labels import header
from flashgc.plot.look import COLOURS, SOFT_INK, drawing, looks, new_figure
from flashgc.plot.series import literal
from flashgc.results import Worst
from flashgc.results.stalls import rows


def worst(request: Worst, *, title: str | None = None) -> Figure:
    """Draw what the die of a slow request did from the request's arrival to its completion.

    There is a row for each collection and each request that the die worked for. The lowest row is
    the request itself, which waits where the row is grey. ``to_svg`` turns it into an element of a
    page.

    Raises :class:`flashgc.ConfigError` if the die's operations were not kept.

    >>> import flashgc
    >>> result = flashgc.run(kind="timed", device="slc", blocks=1024, requests=500, worst="yes")
    >>> worst(result.worst).axes[0].get_xlabel().startswith("time since its arrival")
    True
    """
    if not request.operations:
        raise ConfigError(
            "the operations of the die were not kept; hint: run with worst=yes (--worst yes)"
        )
    of_rows = rows(request)
    operations = [
        Operation(
            "transfer" if operation.place == "bus" else kind_of(operation.work),
            row.of_collection,
            (0, place),
            max(operation.began_us - request.arrived_us, 0.0),
            operation.ended_us - request.arrived_us,
        )
        for place, row in enumerate(of_rows)
        for operation in row.operations
    ]
    factor, unit = time_unit(request.response_us)
    with drawing() as style:
        width, _ = style.size
        text = style.medium.small / 72
        figure = new_figure(1.3 * width, 1.9 * text * len(of_rows) + 6 * text)
        axes = figure.subplots()
        last = len(of_rows) - 1
        axes.barh(last, request.response_us / factor, height=0.12, color=SOFT_INK, linewidth=0)
        kinds = draw_operations(
            axes, operations, {(0, place): place for place in range(len(of_rows))}, factor
        )
        axes.set_yticks(range(len(of_rows)), [literal(row.name) for row in of_rows])
        axes.set_ylim(last + 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(f"time since its arrival ({unit})")
        axes.set_xlim(0, request.response_us / factor)
        handles: list[Any] = [Patch(color=KIND_COLOURS[kind], label=kind) for kind in kinds]
        handles.append(Patch(color=SOFT_INK, alpha=PALE, linewidth=0, label="pale: collections"))
        words = " ".join(request.story) if title is None else title
        header(figure, style, literal(words) if words else None, [handles])
    return figure


#: Kinds of operations by the first word of their names, with the words of the legend.
_KINDS = {"read": "read", "program": "program", "erase": "erase", "transfer": "transfer"}
#: In trace events, processes from this number on are channels. Lower numbers are requests and
#: collections.
_FIRST_CHANNEL = 10
#: All other operations: polls, suspends.
_OTHER = "other"
KIND_COLOURS = {**dict(zip(_KINDS, COLOURS, strict=False)), _OTHER: SOFT_INK}
#: The opacity of operations of collections.
PALE = 0.4
#: The maximum number of rows that fit on a page.
MOST_ROWS = 40
#: If there are more operations than this, they are drawn as pixels, even in SVG and PDF.
_MOST_OUTLINES = 5000


@dataclass(frozen=True)
class Operation:
    """A bar of a picture; its times are in microseconds."""

    kind: str
    of_collection: bool
    row: tuple[int, int]
    begin: float
    end: float


def timeline(file: str | os.PathLike[str], *, title: str | None = None) -> Figure:
    """Draws the timeline in ``file``, which ``--timeline FILE.json`` wrote.

    There is a row for each bus and die, with full colours for the host's operations and pale ones
    for those of collections. Above are the numbers of requests in the drive. If there are more than
    40 rows, only the first 40 are drawn.

    Raises :class:`flashgc.ConfigError` if the file is no such timeline, and :class:`OSError` if it
    cannot be read.

    >>> timeline("missing.json")
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] No such file or directory: 'missing.json'
    """
    events = _events_of(Path(file))
    try:
        names = _row_names(events)
        operations = [_operation(event) for event in events if _is_operation(event)]
        arrivals = _requests(events)
    except (KeyError, TypeError, ValueError):
        raise _no_timeline(file) from None
    if not operations:
        return _nothing(title)
    rows = {row: index for index, row in enumerate(sorted(names)[:MOST_ROWS])}
    left_out = len(names) - len(rows)
    begin = min(operation.begin for operation in operations)
    end = max(operation.end for operation in operations)
    factor, unit = time_unit(end - begin)
    with drawing() as style:
        width, _ = style.size
        text = style.medium.small / 72
        lower = 1.9 * text * len(rows)
        figure = new_figure(1.3 * width, lower + 10 * text + 1)
        upper, below = figure.subplots(2, 1, sharex=True, height_ratios=(10 * text, lower))
        lines = _draw_waiting(upper, arrivals, factor)
        kinds = draw_operations(below, operations, rows, factor)
        below.set_yticks(range(len(rows)), [names[row] for row in rows])
        below.set_ylim(len(rows) - 0.5, -0.5)
        below.tick_params(axis="y", length=0)
        below.grid(axis="y", visible=False)
        below.set_xlabel(f"time ({unit})")
        below.set_xlim(begin / factor, end / factor)
        handles: list[Any] = [Patch(color=KIND_COLOURS[kind], label=kind) for kind in kinds]
        handles.append(Patch(color=SOFT_INK, alpha=PALE, linewidth=0, label="pale: collections"))
        words = title
        if title is None and left_out:
            words = f"The first {len(rows)} of {len(names)} buses and dies"
        header(figure, style, literal(words) if words else None, [lines, handles])
    return figure


def _nothing(title: str | None) -> Figure:
    with drawing() as style:
        figure = new_figure(style.size[0], 1)
        text = "Nothing happens in this window of time." if title is None else title
        figure.text(0.5, 0.5, literal(text), ha="center", va="center")
    return figure


def _events_of(file: Path) -> list[dict[str, Any]]:
    try:
        document = json.loads(file.read_text())
        events = document["traceEvents"]
    except (ValueError, KeyError, TypeError):
        raise _no_timeline(file) from None
    if not isinstance(events, list) or not all(
        isinstance(event, dict) and "ph" in event for event in events
    ):
        raise _no_timeline(file)
    return events


def _no_timeline(file: str | os.PathLike[str]) -> ConfigError:
    return ConfigError(
        f"{os.fspath(file)}: this is not a timeline of flashgc; hint: write one with "
        "flashgc run --drive timed --timeline FILE.json"
    )


def _row_names(events: Iterable[dict[str, Any]]) -> dict[tuple[int, int], str]:
    """Names of the rows; a bus is named after its channel."""
    channels, rows = {}, {}
    for event in events:
        if event["ph"] == "M" and event["pid"] < _FIRST_CHANNEL:
            continue
        if event["ph"] == "M" and event["name"] == "process_name":
            channels[event["pid"]] = event["args"]["name"]
        elif event["ph"] == "M":
            rows[event["pid"], event["tid"]] = event["args"]["name"]
    return {
        (pid, tid): f"bus of {channels[pid]}" if name == "bus" else name
        for (pid, tid), name in rows.items()
    }


def _is_operation(event: dict[str, Any]) -> bool:
    """True for an operation of a bus or a die, but not for a request or a whole collection."""
    return bool(event["ph"] == "X" and event["pid"] >= _FIRST_CHANNEL)


def kind_of(name: str) -> str:
    """The kind of an operation called ``name``."""
    return _KINDS.get(name.split(maxsplit=1)[0], _OTHER)


def _operation(event: dict[str, Any]) -> Operation:
    begin = float(event["ts"])
    kind = kind_of(event["name"])
    row = (event["pid"], event["tid"])
    return Operation(kind, event["cat"] == "collection", row, begin, begin + float(event["dur"]))


def _requests(events: Iterable[dict[str, Any]]) -> dict[str, list[tuple[float, int]]]:
    """Return times of arrivals (1) and completions (-1) of reads and writes, in microseconds."""
    steps: dict[str, list[tuple[float, int]]] = {"read": [], "write": []}
    for event in events:
        if event.get("cat") == "request" and event["name"] in steps:
            begin = float(event["ts"])
            steps[event["name"]] += [(begin, 1), (begin + float(event["dur"]), -1)]
    return steps


def time_unit(span: float) -> tuple[float, str]:
    """Return the divisor from microseconds to the unit of time for a span, and that unit."""
    for factor, unit in ((1e6, "s"), (1e3, "ms")):
        if span >= 2 * factor:
            return factor, unit
    return 1.0, "µs"


def _draw_waiting(
    axes: Axes, steps: dict[str, list[tuple[float, int]]], factor: float
) -> list[Any]:
    """Draw the numbers of reads and writes in the drive; return samples for the legend."""
    lines = []
    for kind, look in looks(steps).items():
        if not steps[kind]:
            continue
        times, changes = zip(*sorted(steps[kind]), strict=True)
        at, there = np.array(times) / factor, np.cumsum(changes)
        axes.step(at, there, where="post", color=look.colour, linestyle=look.dash)
        lines.append(
            Line2D([], [], color=look.colour, linestyle=look.dash, label=f"{kind}s in the drive")
        )
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_ylabel("requests")
    return lines


def draw_operations(
    axes: Axes, operations: list[Operation], rows: dict[tuple[int, int], int], factor: float
) -> list[str]:
    """Draw the operations as bars; return the kinds that occur."""
    bars: dict[tuple[str, bool], list[list[tuple[float, float]]]] = {}
    for operation in operations:
        if operation.row in rows:
            y = rows[operation.row]
            left, right = operation.begin / factor, operation.end / factor
            bars.setdefault((operation.kind, operation.of_collection), []).append(
                [(left, y - 0.4), (right, y - 0.4), (right, y + 0.4), (left, y + 0.4)]
            )
    as_pixels = sum(len(some) for some in bars.values()) > _MOST_OUTLINES
    for (kind, pale), corners in bars.items():
        drawn = PolyCollection(
            corners, facecolor=KIND_COLOURS[kind], alpha=PALE if pale else 1, linewidth=0
        )
        drawn.set_rasterized(as_pixels)
        axes.add_collection(drawn)
    return [kind for kind in KIND_COLOURS if any(kind == drawn for drawn, _ in bars)]
