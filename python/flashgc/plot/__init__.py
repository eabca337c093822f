"""Pictures of results and models, for papers and for screens: SVG, PDF and PNG.

>>> import flashgc.plot as plot
>>> model = plot.Series("model", [0.05, 0.1, 0.2], [9.2, 4.9, 2.7])
>>> figure = plot.against([model], x_label="spare factor")
>>> plot.save(figure, "spare.svg")  # doctest: +SKIP

Every function returns a :class:`matplotlib.figure.Figure`, which can be changed further, and which
notebooks display. No function needs a display or keeps global state, and all may be called from any
thread. Colour-blind readers can tell the colours apart. For print in grey, each colour has its own
dash and marker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashgc._lazy import lazily

if TYPE_CHECKING:
    from flashgc.plot.curves import Panel, against, panels, valid_pages
    from flashgc.plot.files import save, to_svg
    from flashgc.plot.grids import grid
    from flashgc.plot.latency import distribution, over_time, percentiles
    from flashgc.plot.look import rc_params, style
    from flashgc.plot.operations import timeline, worst
    from flashgc.plot.outcomes import compare, model_beside_simulation, run
    from flashgc.plot.series import Series
    from flashgc.plot.wear import survival, wear_evolution, wear_histogram

__all__ = [
    "Panel",
    "Series",
    "against",
    "compare",
    "distribution",
    "grid",
    "model_beside_simulation",
    "over_time",
    "panels",
    "percentiles",
    "rc_params",
    "run",
    "save",
    "style",
    "survival",
    "timeline",
    "to_svg",
    "valid_pages",
    "wear_evolution",
    "wear_histogram",
    "worst",
]

#: The module of each name; it is imported at its first use, because matplotlib loads slowly.
__getattr__ = lazily(
    __name__,
    {
        "curves": "Panel against panels valid_pages",
        "files": "save to_svg",
        "grids": "grid",
        "latency": "distribution over_time percentiles",
        "look": "rc_params style",
        "outcomes": "compare model_beside_simulation run",
        "series": "Series",
        "operations": "timeline worst",
        "wear": "survival wear_evolution wear_histogram",
    },
)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
