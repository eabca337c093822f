"""Ranks existing results: from saved files, from several experiments, or from other sources."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from flashgc import _core
from flashgc._core import ConfigError
from flashgc._naming import FOLLOWS, fields
from flashgc.results import Comparison, Result


def rank(results: Sequence[Result], names: Sequence[str] | None = None) -> Comparison:
    """Rank existing results by their figure, the lowest first.

    The figure is write amplification; for timed drives the mean response time; with a VM page cache
    the time on flash. ``names`` are the names of the results; by default they are numbers from 1.
    Differences are paired if both results have the same writes.

    Raises :class:`flashgc.ConfigError` if there are no results, or they have different figures.

    >>> import flashgc
    >>> made = [flashgc.run(victim=name, blocks=200, writes="5x") for name in ("fifo", "greedy")]
    >>> [one.name for one in rank(made, ["first", "second"])]
    ['second', 'first']
    """
    called = list(names) if names is not None else [str(1 + at) for at in range(len(results))]
    if len(called) != len(results):
        raise ConfigError(f"names: found {len(called)}, expected one for each of {len(results)}")
    if not results:
        raise ConfigError("results: found none, expected at least one")
    kinds: dict[str, str] = {}
    for name, result in zip(called, results, strict=True):
        kinds.setdefault(figure_of(result), name)
    if len(kinds) > 1:
        text = ", ".join(f"{name} by {figure}" for figure, name in kinds.items())
        raise ConfigError(f"results are ranked by different figures: {text}; hint: rank one kind")
    raw = [result.to_dict() for result in results]
    ranks = json.loads(_core.ranking(json.dumps(raw)))
    rows = [{**rank, "name": called[rank["index"]]} for rank in ranks]
    return Comparison.from_dicts(rows, raw)


def together(comparisons: Sequence[Comparison]) -> Comparison:
    """Rank the results of several comparisons of one workload together."""
    raw = [result.to_dict() for comparison in comparisons for result in comparison.results]
    ranks = json.loads(_core.ranking(json.dumps(raw)))
    left_out = [
        {"name": each.name, "reason": each.reason}
        for comparison in comparisons
        for each in comparison.left_out
    ]
    return Comparison.from_dicts(ranks, raw, left_out)


def figure_of(result: Result) -> str:
    """Return the name of the figure by which a result is ranked."""
    if result.timing is not None:
        return "mean response time"
    return "write amplification" if result.swap is None else "time on flash"


def differences(results: Sequence[Result]) -> dict[str, list[str]]:
    """Return the options in which the configurations of the results differ, each with its values.

    >>> import flashgc
    >>> made = [flashgc.run(spare=spare, blocks=200, writes="5x") for spare in ("7%", "10%")]
    >>> differences(made)
    {'spare': ['0.07', '0.1']}
    """
    whole: list[Any] = [result.to_dict()["config"] for result in results]
    configs = [
        {name: value for name, value in fields(config) if value is not None} for config in whole
    ]
    names = dict.fromkeys(name for config in configs for name in config)
    return {
        name: [str(config.get(name, "none")) for config in configs]
        for name in names
        if name not in FOLLOWS and len({str(config.get(name)) for config in configs}) > 1
    }
