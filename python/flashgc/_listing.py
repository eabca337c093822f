"""The engine's lists of what there is to choose from, as the engine writes them."""

from __future__ import annotations

import functools
import json
from typing import Any

from flashgc import _core


@functools.cache
def listing() -> dict[str, Any]:
    """The lists by name; :mod:`flashgc.registry` has their entries, typed.

    >>> [entry["name"] for entry in listing()["endurances"]]
    ['fixed', 'normal', 'weibull']
    """
    lists: dict[str, Any] = json.loads(_core.registry())
    return lists
