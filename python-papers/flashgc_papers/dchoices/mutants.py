"""Wrong engines for Van Houdt's claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from flashgc_papers.dchoices.wrong import worst_remembered
from flashgc_papers.reproduce.mutants import Change, Mutant, forgotten, swap


def _choices(changed: Callable[[int, int], str]) -> Change:
    """Changes the policy of d choices and c blocks of memory."""

    def change(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
        match = re.fullmatch(r"d-choices:d=(\d+),c=(\d+)", str(options.get("victim")))
        if match is None:
            return None
        return {**options, "victim": changed(int(match[1]), int(match[2]))}

    return change


def _one_drawn(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if options.get("victim") == "greedy":
        return {**options, "victim": "random"}
    return _choices(lambda _d, _c: "d-choices:d=1,c=0")(options)


def _fewer(params: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return {**params, "d": _half(params["d"])} if "d" in params else None


def _half(d: Any) -> Any:
    import numpy

    return numpy.maximum(d // 2, 2) if hasattr(d, "shape") else max(d // 2, 2)


def _free_memory(params: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return {**params, "d": params["d"] + params["c"]} if {"c", "d"} <= params.keys() else None


def _overprovision(given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return {**given, "spare": given["spare"] / (1 + given["spare"])} if "spare" in given else None


def _remembering(options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The simulations of uniform writes with memory, as they are: those of traces take too long."""
    match = re.fullmatch(r"d-choices:d=\d+,c=([1-9]\d*)", str(options.get("victim")))
    return options if match and options.get("workload") == "uniform" else None


def _any_params(params: Mapping[str, Any]) -> Mapping[str, Any] | None:
    without = forgotten("c", 0)(params)
    return None if without is None else forgotten("d", 1)(without)


def _at_most_one(params: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if "c" not in params:
        return None
    import numpy

    c = params["c"]
    return {**params, "c": numpy.minimum(c, 1) if hasattr(c, "shape") else min(c, 1)}


MUTANTS = (
    Mutant(
        "memory of one block",
        "one candidate is remembered, however many should be",
        _choices(lambda d, c: f"d-choices:d={d},c={min(c, 1)}"),
        _at_most_one,
    ),
    Mutant(
        "no memory",
        "candidates are forgotten after each pick",
        _choices(lambda d, _: f"d-choices:d={d},c=0"),
        forgotten("c", 0),
    ),
    Mutant("random victims", "a victim is any block", _one_drawn, _any_params),
    Mutant(
        "greedy victims",
        "a victim is the best of all blocks",
        _choices(lambda _d, _c: "greedy"),
    ),
    Mutant(
        "one frontier for two",
        "copies go where host writes go",
        swap("frontier", {"double": "single"}),
    ),
    Mutant(
        "two frontiers for one",
        "copies go to a block of their own",
        swap("frontier", {"single": "double"}),
    ),
    Mutant(
        "memory of the wrong end",
        "the fullest of the candidates are remembered",
        _remembering,
        policies=worst_remembered,
    ),
    Mutant(
        "memory for nothing",
        "as many blocks are drawn as would be without memory",
        _choices(lambda d, c: f"d-choices:d={d + c},c={c}"),
        _free_memory,
    ),
    Mutant(
        "half of the choices",
        "half as many blocks are drawn, two at least",
        _choices(lambda d, c: f"d-choices:d={max(d // 2, 2)},c={c}"),
        _fewer,
    ),
    Mutant("FIFO victims", "a victim is the oldest block", _choices(lambda _d, _c: "fifo")),
    Mutant(
        "over-provisioning for spare factor",
        "the spare space is a share of the logical pages",
        _overprovision,
        _overprovision,
    ),
)
