"""The causes of a slow request: the work of its die while it waited."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from flashgc._core import ConfigError
from flashgc.plot.labels import header
from flashgc.plot.look import SOFT_INK, drawing, new_figure
from flashgc.plot.operations import (
    KIND_COLOURS,
    PALE,
    Operation,
    draw_operations,
    kind_of,
    time_unit,
)
from flashgc.plot.series import literal
from flashgc.results import Worst
from flashgc.results.stalls import rows


def worst(request: Worst, *, title: str | None = None) -> Figure:
    """Draws what the die of a slow request did from its arrival to its completion.

    A row for each collection and each request that the die worked for; the lowest row is the
    request itself, which waits where its row is grey. ``to_svg`` makes it an element of a page.

    Raises :class:`flashgc.ConfigError` where the operations of the die were not kept.

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
            "transfer" if one.place == "bus" else kind_of(one.work),
            row.of_collection,
            (0, place),
            max(one.began_us - request.arrived_us, 0.0),
            one.ended_us - request.arrived_us,
        )
        for place, row in enumerate(of_rows)
        for one in row.operations
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
