"""The plan of a sweep: its cells with their configurations, checked before the work."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashgc._core import ConfigError, FlashgcError
from flashgc._faults import describe
from flashgc.configuration import configurations
from flashgc.experiment import experiment
from flashgc.policy_files import KEYS, announce, is_written, load_policy, named
from flashgc.store import Contents, key_of
from flashgc.store.tidy import EXPERIMENT
from flashgc.studies.sweep.grid import Cell, Grid


@dataclass(frozen=True)
class Planned:
    """One cell, with its configuration or why it cannot be."""

    at: Mapping[str, Any]
    #: As the engine takes it; ``None`` where it cannot be.
    config: dict[str, Any] | None
    key: str
    reason: str
    #: The values that the grid gives for it, by path, as typed.
    asked: Mapping[str, Any]
    #: Its number in the grid.
    place: int


def plan(grid: Grid, contents: Contents) -> list[Planned]:
    """All cells. A value of an axis with which no cell can be is refused at once: it is a mistake.

    Raises :class:`flashgc.ConfigError` with the place of what is wrong.
    """
    made: list[Planned] = []
    first: dict[tuple[str, str], tuple[ConfigError, bool]] = {}
    cells = list(grid.cells())
    announce(
        (text, place)
        for cell in cells
        for _, text, place in named(cell.values.get("gc"), cell.places)
    )
    for cell in cells:
        asked = experiment(cell.values, cell.places)
        given = _values_by_path(cell)
        error: ConfigError | None = None
        planned = Planned(cell.at, None, "", "", given, len(made))
        try:
            config = _configuration(asked, cell)
            planned = Planned(cell.at, config, key_of(config, contents), "", given, len(made))
        except ConfigError as refused:
            error = refused
            planned = Planned(cell.at, None, "", str(refused), given, len(made))
        made.append(planned)
        for name, word in cell.at.items():
            point = (name, str(word))
            if error is None:
                first[point] = (ConfigError(""), True)
            elif point not in first:
                first[point] = (error, False)
    if made and all(one.config is None for one in made):
        raise ConfigError(made[0].reason)
    for (name, word), (error, possible) in first.items():
        if not possible:
            raise ConfigError(f"{error} (no cell with {name} = {word} can run)")
    if not made:
        raise ConfigError("the conditions leave out every cell; hint: fewer of them")
    return made


def _values_by_path(cell: Cell) -> dict[str, Any]:
    given = {
        f"{section}.{key}": value
        for section, keys in cell.values.items()
        for key, value in keys.items()
    }
    if EXPERIMENT in cell.at:
        given[EXPERIMENT] = cell.at[EXPERIMENT]
    return given


def _configuration(asked: Any, cell: Cell) -> dict[str, Any]:
    python = {
        key: {text: _policy(text, cell.places.get(f"gc.{key}", key))}
        for key in KEYS
        if is_written(text := asked[f"gc.{key}"])
    }
    configs = configurations(asked, cell.places, python=python)
    if len(configs) != 1:
        raise ConfigError(f"{len(configs)} configurations in one cell, expected one")
    return configs[0]


@functools.lru_cache(maxsize=64)
def _policy(text: str, place: str) -> object:
    try:
        return load_policy(text, place)
    except FlashgcError:
        raise
    except Exception as error:
        raise ConfigError(f"{place}: {describe(error)}") from error
