"""Pictures of results and models, for papers and for screens: SVG, PDF and PNG.

>>> import flashgc.plot as plot
>>> model = plot.Series("model", [0.05, 0.1, 0.2], [9.2, 4.9, 2.7])
>>> figure = plot.against([model], x_label="spare factor")
>>> plot.save(figure, "spare.svg")  # doctest: +SKIP

Every function returns a :class:`matplotlib.figure.Figure`, which can be changed further and which
notebooks show by itself. None needs a display or keeps a global state, and all may be used from
threads. Colour-blind readers can tell the colours apart. For print in grey, each colour has its own
dash and marker.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flashgc.plot.curves import Panel, against, panels
    from flashgc.plot.distributions import valid_pages
    from flashgc.plot.files import save, to_svg
    from flashgc.plot.grids import grid
    from flashgc.plot.latency import distribution, over_time, percentiles
    from flashgc.plot.look import rc_params, style
    from flashgc.plot.operations import timeline
    from flashgc.plot.outcomes import compare, model_beside_simulation, run
    from flashgc.plot.series import Series
    from flashgc.plot.stalls import worst
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

#: The home of each name; imported when it is first used, for matplotlib takes a while.
_HOMES = {
    **dict.fromkeys(("Panel", "against", "panels"), "curves"),
    **dict.fromkeys(("save", "to_svg"), "files"),
    "grid": "grids",
    **dict.fromkeys(("distribution", "over_time", "percentiles"), "latency"),
    **dict.fromkeys(("rc_params", "style"), "look"),
    **dict.fromkeys(("compare", "model_beside_simulation", "run"), "outcomes"),
    "Series": "series",
    "timeline": "operations",
    "worst": "stalls",
    **dict.fromkeys(("survival", "wear_evolution", "wear_histogram"), "wear"),
    "valid_pages": "distributions",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'flashgc.plot' has no attribute '{name}'")
    found = getattr(importlib.import_module(f"flashgc.plot.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *__all__]
