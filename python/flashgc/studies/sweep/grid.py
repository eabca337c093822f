"""The grid of a sweep: its axes, its cells, and the values of each cell."""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flashgc import _core
from flashgc._core import ConfigError
from flashgc._schemes import PATH as SCHEME
from flashgc._schemes import Scheme, with_schemes
from flashgc.experiment_file import load
from flashgc.options import ALTERNATIVES, PATHS
from flashgc.studies.sweep import ranges
from flashgc.units import parse_count, parse_share, parse_size

#: The word for an option that has its default in a cell, whatever the grid gives.
UNSET = "unset"

_COMPARED = re.compile(r"\s*(<=|>=|!=|<|>)\s*(.+)\Z")
_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class Condition:
    """A condition to leave cells out: for each option a value, several values, or a limit.

    A limit is a text such as ``<10%``. An option that is not in the grid has its default.
    """

    #: The wanted values, by path.
    wanted: Mapping[str, Any]
    #: Its place in the file.
    where: str

    def holds(self, values: Mapping[str, Any]) -> bool:
        """True if it holds for a cell with these values, by path."""
        return all(
            _agrees(path, values.get(path, PATHS[path].usual), wanted, self.where)
            or (path not in values and _has_unset(wanted))
            for path, wanted in self.wanted.items()
        )


def _has_unset(wanted: Any) -> bool:
    return UNSET in wanted if isinstance(wanted, list) else bool(wanted == UNSET)


def _agrees(path: str, value: Any, wanted: Any, where: str) -> bool:
    if isinstance(wanted, list):
        return any(_agrees(path, value, choice, where) for choice in wanted)
    match = _COMPARED.match(wanted) if isinstance(wanted, str) else None
    if match is not None and match[1] == "!=":
        return not _agrees(path, value, match[2], where)
    if match is not None:
        low, high = _measure(path, value), _measure(path, match[2])
        if high is None:
            raise ConfigError(
                f"{where}: '{wanted}' compares with no number; hint: write \"<10%\", or the value"
            )
        return low is not None and bool(_COMPARE[match[1]](low, high))
    if str(value) == str(wanted):
        return True
    low, high = _measure(path, value), _measure(path, wanted)
    if low is not None and low == high:
        return True
    # A bare name matches the policy with any parameters.
    is_name = PATHS[path].kind == "spec" and ":" not in str(wanted)
    return is_name and str(value).partition(":")[0] == str(wanted)


def sameness(path: str, value: Any) -> str | float:
    """Return a key that is the same for equal values of an option.

    >>> sameness("drive.spare", "20%") == sameness("drive.spare", 0.2)
    True
    """
    measured = None if PATHS[path].kind == "spec" else _measure(path, value)
    return str(value) if measured is None else measured


def _measure(path: str, value: Any) -> float | None:
    """The value as a number that can be compared with other values of its option."""
    kind = PATHS[path].kind
    # A fraction or a date is no valid count or size, but that is reported elsewhere.
    value = value if isinstance(value, int) else str(value)
    try:
        if kind == "share":
            return parse_share(value)
        if kind in ("size", "pages"):
            return float(parse_size(value))
        if kind == "count":
            return float(parse_count(value))
        return float(re.sub(r"[a-zA-Z%]+\Z", "", str(value).strip()))
    except (ConfigError, ValueError):
        return None


#: The section that only a grid has, and its keys.
SECTION = "sweep"
_KEYS = ("experiments", "zip", "leave_out")
#: The path of the option for tenants, and the name of its list of tables in a file.
PATH, TABLES = "workload.tenant", "tenant"
#: Options that a cell of a grid cannot have, each with an alternative.
_NOT_OF_A_CELL = {
    "run.jobs": "flashgc sweep --jobs",
    "run.timeline": "flashgc run --timeline, of one cell",
    PATH: "flashgc run, with a file for each set of tenants",
    "run.worst": "flashgc run --worst yes, of one cell",
    "run.trace_events": "flashgc run --trace-events, of one cell",
}
#: The maximum number of cells of a grid.
MOST = 10_000_000


@dataclass(frozen=True)
class Point:
    """One point of an axis: values by path, and their texts."""

    values: Mapping[str, Any]
    #: The text for each name of the axis at this point.
    words: tuple[Any, ...]
    #: The place of each value, for messages.
    places: Mapping[str, str] = field(default_factory=dict)
    #: Options that have their defaults here, whatever the grid or an experiment gives for them.
    unset: frozenset[str] = frozenset()

    @classmethod
    def of(cls, settings: Mapping[str, Any], places: Mapping[str, str]) -> Point:
        """The point with these values by path; ``None`` and ``unset`` stand for a default."""
        given = {path: UNSET if value is None else value for path, value in settings.items()}
        values = {path: value for path, value in given.items() if value != UNSET}
        words = tuple(_word(path, value, places) for path, value in given.items())
        return cls(values, words, places, frozenset(given.keys() - values.keys()))


def _word(path: str, value: Any, places: Mapping[str, str]) -> Any:
    """The text of a value on its axis: that of a scheme is its name."""
    if path != SCHEME or not isinstance(value, str) or value == UNSET:
        return value
    try:
        return Scheme.parse(value).name
    except ConfigError as error:
        raise ConfigError(f"{places.get(path, path)}: {error}") from None


@dataclass(frozen=True)
class Axis:
    """One dimension of the grid."""

    #: Keys of the options that the axis sets, or ``experiment``.
    names: tuple[str, ...]
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Cell:
    """One experiment of the grid."""

    #: Its values on the axes, by name, as typed.
    at: Mapping[str, Any]
    #: All its values, by section and key.
    values: Mapping[str, Mapping[str, Any]]
    #: The place of each value, for messages.
    places: Mapping[str, str]


@dataclass(frozen=True)
class Grid:
    """Axes, values that all cells share, and conditions that leave cells out."""

    base: Mapping[str, Any]
    axes: tuple[Axis, ...]
    left_out: tuple[Condition, ...]
    places: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the axes."""
        return tuple(name for axis in self.axes for name in axis.names)

    @property
    def size(self) -> int:
        """The number of cells, including those that conditions leave out."""
        return math.prod(len(axis.points) for axis in self.axes)

    def cells(self) -> Iterator[Cell]:
        """The cells in order, without those left out; the last axis changes fastest."""
        used = [False] * len(self.left_out)
        for points in itertools.product(*(axis.points for axis in self.axes)):
            values, places = dict(self.base), dict(self.places)
            for point in points:
                _lay(values, point.values)
                places.update(point.places)
                for path in point.unset:
                    values.pop(path, None)
            out = [condition.holds(values) for condition in self.left_out]
            used = [earlier or two for earlier, two in zip(used, out, strict=True)]
            if not any(out):
                words = itertools.chain.from_iterable(point.words for point in points)
                yield Cell(dict(zip(self.names, words, strict=True)), _sections(values), places)
        for condition, is_used in zip(self.left_out, used, strict=True):
            if not is_used:
                raise ConfigError(
                    f"{condition.where}: the condition holds for no cell; hint: compare it with "
                    "the lists of the grid"
                )


def _lay(values: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Put further values into ``values``; each replaces options that it excludes."""
    for path in more:
        for alternatives in ALTERNATIVES:
            if path in alternatives:
                for other in alternatives:
                    values.pop(other, None)
    values.update(more)


def _sections(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    groups: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        section, key = path.split(".")
        groups.setdefault(section, {})[key] = value
    return groups


def grid(source: Path | Mapping[str, Any]) -> Grid:
    """The grid in a file, or in a dictionary with the same sections.

    Raises :class:`flashgc.ConfigError`, which names the place of an error.
    """
    values: Mapping[str, Any]
    places: Mapping[str, str]
    values, places = with_schemes(*((source, {}) if isinstance(source, Mapping) else load(source)))
    own = _own(values, places)
    base: dict[str, Any] = {}
    axes: list[Axis] = []
    for path, given in _options(values, places):
        where = places.get(path, path)
        value = ranges.values(given, where) if isinstance(given, Mapping) else given
        if not isinstance(value, list):
            base[path] = value
        elif not value:
            raise ConfigError(f"{where}: found an empty list; hint: name at least one")
        else:
            axes.append(_axis(path, value, places))
    zipped = [_zip(table, index, places) for index, table in enumerate(own.get("zip", []))]
    experiments = own.get("experiments")
    if experiments is not None:
        axes.insert(0, _experiments(experiments, {*base}, places))
    grid = Grid(base, (*axes, *zipped), _conditions(own, places), places)
    _once(grid, places)
    if grid.size > MOST:
        raise ConfigError(f"{grid.size} cells, expected at most {MOST}; hint: shorter lists")
    return grid


def _own(values: Mapping[str, Any], places: Mapping[str, str]) -> Mapping[str, Any]:
    """The section ``sweep`` of a grid."""
    own = values.get(SECTION, {})
    where = places.get(SECTION, SECTION)
    if not isinstance(own, Mapping):
        raise ConfigError(f"{where}: found {own!r}, expected a section; hint: write [{SECTION}]")
    for key in own:
        if key not in _KEYS:
            at = places.get(f"{SECTION}.{key}", key)
            hint = _core.suggest(key, list(_KEYS))
            raise ConfigError(f"{at}: unknown key '{key}' in [{SECTION}]; hint: {hint}")
    for key in ("zip", "leave_out"):
        tables = own.get(key, [])
        if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
            at = places.get(f"{SECTION}.{key}", key)
            raise ConfigError(
                f"{at}: found {tables!r}, expected tables; hint: write [[{SECTION}.{key}]]"
            )
    return own


def _options(values: Mapping[str, Any], places: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Path and value of each given option."""
    if TABLES in values:
        where = places.get(TABLES, TABLES)
        raise ConfigError(f"{where}: no cell of a grid has it; hint: {_NOT_OF_A_CELL[PATH]}")
    sections = {section: keys for section, keys in values.items() if section != SECTION}
    _core.check_names(sections, places)
    for section, keys in sections.items():
        for key, value in keys.items():
            path = f"{section}.{key}"
            if path in _NOT_OF_A_CELL:
                at = places.get(path, path)
                raise ConfigError(f"{at}: no cell of a grid has it; hint: {_NOT_OF_A_CELL[path]}")
            yield path, _native(_in_words(value) if PATHS[path].kind == "yes-no" else value)


def _in_words(value: Any) -> Any:
    """A boolean, or a list of booleans, as ``yes`` and ``no``.

    >>> _in_words([True, "no", None]), _in_words(False)
    (['yes', 'no', None], 'no')
    """
    if isinstance(value, list | tuple):
        return [_in_words(item) for item in value]
    return value if not isinstance(value, bool) else "yes" if value else "no"


def _native(value: Any) -> Any:
    """Convert arrays, numbers of numpy, tuples and ranges to lists and numbers.

    >>> import numpy
    >>> _native(numpy.array([0.5, 1])), _native(range(2)), _native((numpy.int64(3), "7%"))
    ([0.5, 1.0], [0, 1], [3, '7%'])
    """
    if hasattr(value, "tolist"):
        return value.tolist()
    return [_native(item) for item in value] if isinstance(value, list | tuple | range) else value


def _axis(path: str, values: Sequence[Any], places: Mapping[str, str]) -> Axis:
    points = []
    taken: set[str | float] = set()
    for index, value in enumerate(values):
        at = places.get(f"{path}.{index}", places.get(path, path))
        if isinstance(value, list | Mapping):
            raise ConfigError(f"{at}: found {value!r} in a list, expected a value; hint: one list")
        key = sameness(path, UNSET if value is None else value)
        if key in taken:
            raise ConfigError(f"{at}: {value!r} is given twice; hint: give each once")
        taken.add(key)
        points.append(Point.of({path: value}, {path: at}))
    return Axis((PATHS[path].key,), tuple(points))


def _zip(table: Mapping[str, Any], index: int, places: Mapping[str, str]) -> Axis:
    """Lists that are used together: the first values of all, then the second values, and so on."""
    where = places.get(f"{SECTION}.zip", f"{SECTION}.zip")
    groups: dict[str, list[Any]] = {}
    for path, value in _options(table, {}):
        lists = ranges.values(value, where) if isinstance(value, Mapping) else value
        if not isinstance(lists, list) or not lists:
            raise ConfigError(
                f"{where}: {path} is {value!r}, expected a list; hint: zip takes lists"
            )
        groups[path] = lists
    lengths = {path: len(values) for path, values in groups.items()}
    if len(set(lengths.values())) != 1:
        text = ", ".join(f"{path} {length}" for path, length in lengths.items()) or "nothing"
        raise ConfigError(
            f"{where}: lists of different lengths: {text}; hint: as many values in each"
        )
    points = tuple(
        Point.of(dict(zip(groups, values, strict=True)), dict.fromkeys(groups, where))
        for values in zip(*groups.values(), strict=True)
    )
    return Axis(tuple(PATHS[path].key for path in groups), points)


def _experiments(names: Any, given: set[str], places: Mapping[str, str]) -> Axis:
    """An axis of experiment files, each with its values except for those that the grid gives."""
    path = f"{SECTION}.experiments"
    where = places.get(path, path)
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ConfigError(f'{where}: found {names!r}, expected files; hint: write ["a.toml"]')
    points = []
    for name in names:
        values, own = with_schemes(*load(Path(name)))
        fields: dict[str, Any] = {}
        for inner, value in _options(values, own):
            if isinstance(value, list | Mapping):
                at = own.get(inner, inner)
                raise ConfigError(
                    f"{at}: found several values in an experiment of a grid, expected one; hint: "
                    "give the list in the grid"
                )
            if inner not in given:
                fields[inner] = value
        points.append(Point(fields, (Path(name).stem,), own))
    return Axis(("experiment",), tuple(points))


def _conditions(own: Mapping[str, Any], places: Mapping[str, str]) -> tuple[Condition, ...]:
    where = places.get(f"{SECTION}.leave_out", f"{SECTION}.leave_out")
    conditions = []
    for table in own.get("leave_out", []):
        wanted = dict(_options(table, {}))
        if not wanted:
            raise ConfigError(f'{where}: an empty condition; hint: write gc.victim = "fifo"')
        conditions.append(Condition(wanted, where))
    return tuple(conditions)


def _once(grid: Grid, places: Mapping[str, str]) -> None:
    """Refuse a grid in which two axes set the same option."""
    taken = set(grid.base)
    for axis in grid.axes:
        paths = axis.points[0].unset.union(axis.points[0].values)
        if axis.names == ("experiment",):
            continue
        for path in sorted(paths & taken):
            where = axis.points[0].places.get(path, places.get(path, path))
            raise ConfigError(f"{where}: {path} is given twice; hint: leave one out")
        taken |= paths
