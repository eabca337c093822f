"""Functions for the wrong engines for Van Houdt's claims, which ``mutants.toml`` names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from flashgc_papers.reproduce.mutants import Change, forgotten


def _choices(changed: Callable[[int, int], str]) -> Change:
    """Changes the policy of d choices and c blocks of memory."""

    def change(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
        match = re.fullmatch(r"d-choices:d=(\d+),c=(\d+)", str(options.get("victim")))
        if match is None:
            return None
        return {**options, "victim": changed(int(match[1]), int(match[2]))}

    return change


memory_for_nothing = _choices(lambda d, c: f"d-choices:d={d + c},c={c}")
half_of_the_choices = _choices(lambda d, c: f"d-choices:d={max(d // 2, 2)},c={c}")
without_memory = forgotten("c", 0)


def one_drawn(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Random victims instead of d choices or greedy."""
    if options.get("victim") == "greedy":
        return {**options, "victim": "random"}
    return _choices(lambda _d, _c: "d-choices:d=1,c=0")(options)


def remembering(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Selects simulations of uniform writes with memory; those of traces take too long."""
    match = re.fullmatch(r"d-choices:d=\d+,c=([1-9]\d*)", str(options.get("victim")))
    return options if match and options.get("workload") == "uniform" else None


def overprovision(given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Interprets the spare factor as a share of the logical pages."""
    return {**given, "spare": given["spare"] / (1 + given["spare"])} if "spare" in given else None


def fewer(params: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Half of the choices, but at least two."""
    return {**params, "d": _half(params["d"])} if "d" in params else None


def _half(d: Any) -> Any:
    import numpy

    return numpy.maximum(d // 2, 2) if hasattr(d, "shape") else max(d // 2, 2)


def free_memory(params: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Uses d + c choices, as if memory cost no choices."""
    return {**params, "d": params["d"] + params["c"]} if {"c", "d"} <= params.keys() else None


def any_block(params: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """One choice and no memory."""
    without = forgotten("c", 0)(params)
    return None if without is None else forgotten("d", 1)(without)


def at_most_one(params: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Memory of one block."""
    if "c" not in params:
        return None
    import numpy

    c = params["c"]
    return {**params, "c": numpy.minimum(c, 1) if hasattr(c, "shape") else min(c, 1)}
