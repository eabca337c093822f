"""Stored results as a tidy table: one row each, with options, figures and command."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from flashgc import _core
from flashgc._core import ConfigError, scheme_parts
from flashgc.options import OPTIONS, PATHS, Option, find, known
from flashgc.results import findings
from flashgc.results.figures import figures_of
from flashgc.store.file import Kept, Store
from flashgc.store.query import Condition
from flashgc.units import parse_count, parse_share, parse_size

#: The path under which :attr:`Kept.asked` has an experiment's name, in grids of whole experiments.
EXPERIMENT = "experiment"

#: Other names of columns.
ALIASES = {
    "trace": "workload", "source": "workload", "WA": "write_amplification",
    "wa": "write_amplification", "policy": "victim",
}  # fmt: skip
#: Units at the ends of column names, and their form in labels.
UNITS = {"bytes": "bytes", "us": "µs", "seconds": "s", "terabytes": "TB"}

#: Columns of a row that are neither options nor figures.
ABOUT = ("key", "status", "work", "seconds", "reason", "findings", "command")


def tidy(
    store: Store, wanted: Sequence[Condition] = (), look: Callable[[int], None] = lambda _: None
) -> list[dict[str, Any]]:
    """One row for each result, in the order of the grid; results of one command are oldest first.

    A row has ``key``, ``status``, ``work``, ``seconds``; then the options that were given for any
    of the results (:func:`axis_value`); then the figures (:mod:`flashgc.results.figures`); and last
    ``reason``, ``findings`` (the ids of those that are more than notes) and ``command``, which runs
    it again. If an option was not given, its value is from the result, or the default. ``look``
    gets the number of results read so far.
    """
    matches = []
    for entry in store.each(wanted):
        matches.append(entry)
        look(len(matches))
    paths = _paths_given(kept for _, _, kept in matches)
    rows = []
    places: dict[str, int] = {}
    for key, work, kept in matches:
        row: dict[str, Any] = {
            "key": key, "status": kept.status, "work": work, "seconds": kept.seconds,
        }  # fmt: skip
        row.update(_option(path, kept) for path in paths)
        row.update(figures_of(kept.result) if kept.result else {})
        row["reason"] = kept.reason or None
        row["findings"] = _doubts(kept)
        row["command"] = command(kept.asked)
        rows.append(row)
        places[row["command"] or key] = kept.place
    return sorted(rows, key=lambda row: places[row["command"] or row["key"]])


def _doubts(kept: Kept) -> str | None:
    """The ids of findings that are more than notes, or ``None``."""
    notes = [] if kept.result is None else findings.read(kept.result)
    return (
        " ".join(dict.fromkeys(finding.id for finding in notes if finding.gravity != findings.NOTE))
        or None
    )


def varied(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of option columns that have more than one value in these rows."""
    names = dict.fromkeys(name for row in rows for name in row if is_option(name))
    return [name for name in names if len({str(row.get(name)) for row in rows}) > 1]


def is_option(column: str) -> bool:
    """True if a column is one of an option, named as by :func:`axis_value`.

    >>> is_option("spare"), is_option("capacity_bytes"), is_option("erases")
    (True, True, False)
    """
    return column in (EXPERIMENT, "workload") or known(column.removesuffix("_bytes"))


def column(heading: str, names: Sequence[str], what: str, likely: Sequence[str] = ()) -> str:
    """The column with this heading; raises :class:`flashgc.ConfigError`, which names ``what``.

    ``likely`` are columns that a hint may suggest. The unit at the end may be omitted, and hyphens
    may replace underscores.

    >>> column("trace", ["workload"], "x"), column("page-size", ["page_size_bytes"], "x")
    ('workload', 'page_size_bytes')
    >>> column("spar", ["workload", "spare"], "--x")
    Traceback (most recent call last):
    ...
    flashgc.ConfigError: --x: there is no column 'spar'; hint: did you mean 'spare'?
    """
    for name in (heading, ALIASES.get(heading, heading), heading.replace("-", "_")):
        if name in names:
            return name
        for unit in UNITS:
            if f"{name}_{unit}" in names:
                return f"{name}_{unit}"
    if not names:
        raise ConfigError(f"{what}: there is no column '{heading}': the table is empty")
    hint = _core.suggest(heading, list(likely or names))
    raise ConfigError(f"{what}: there is no column '{heading}'; hint: {hint}")


def axis_value(name: str, value: Any) -> tuple[str, Any]:
    """The column of an option, with its unit, and its value, as a number if it is one.

    >>> axis_value("spare", "7%"), axis_value("capacity", "1GiB"), axis_value("victim", "greedy")
    (('spare', 0.07), ('capacity_bytes', 1073741824), ('victim', 'greedy'))
    """
    if name == "source":
        return "workload", value
    kind = find(name).kind if known(name) else "text"
    if name == "scheme" and isinstance(value, str):
        return name, _scheme(value)
    if isinstance(value, list):
        return name, " | ".join(map(str, value))
    if kind == "share":
        return name, None if value is None else parse_share(value)
    if kind == "size":
        return f"{name}_bytes", _number(parse_size, value)
    if kind == "count":
        return name, _number(parse_count, value)
    return name, value


def _scheme(value: str) -> str:
    """The name of a scheme, from its text or from its name.

    >>> _scheme("EDT (ours) = greedy"), _scheme("EDT (ours)"), _scheme("greedy  +sepbit")
    ('EDT (ours)', 'EDT (ours)', 'greedy + sepbit')
    """
    try:
        return scheme_parts(value)[0]
    except ConfigError:
        return value  # A name with blanks, which is no text of a scheme.


def _number(parse: Callable[[str], int], value: Any) -> Any:
    """``value`` as a number; ``None`` for words that mean a default (``the page size``)."""
    if not isinstance(value, str):
        return value
    try:
        return parse(value)
    except ConfigError:
        return None


def command(question: Mapping[str, Any] | None) -> str | None:
    """The command that runs a result again; ``None`` if the given options are unknown.

    >>> command({"drive.spare": "7%", "gc.victim": "greedy", "workload.source": "my trace.csv"})
    "flashgc run --workload 'my trace.csv' --spare 7% --victim greedy"
    """
    if question is None:
        return None
    words = ["flashgc", "run"]
    for option in OPTIONS:
        value = question.get(option.path)
        if value is not None and option.listing:
            words += [word for item in value for word in (f"--{option.flag}", item)]
        elif value is not None:
            bytes_ = option.kind == "size" and not isinstance(value, str)
            words += [f"--{option.flag}", f"{value}B" if bytes_ else str(value)]
    return shlex.join(words)


#: Options that every result contains, whatever command ran it.
_ALWAYS_TOLD = (
    "workload.source",
    "drive.spare",
    "drive.blocks",
    "gc.victim",
    "gc.placement",
    "run.seed",
)


def _paths_given(results: Iterable[Kept]) -> list[str]:
    """Paths of the options that were given for any of the results, in the order of the help."""
    given = {
        path for kept in results for path in (_ALWAYS_TOLD if kept.asked is None else kept.asked)
    }
    return [path for path in (EXPERIMENT, *PATHS) if path in given]


def _option(path: str, kept: Kept) -> tuple[str, Any]:
    question = kept.asked or {}
    if path == EXPERIMENT:
        return EXPERIMENT, question.get(EXPERIMENT)
    option = PATHS[path]
    value = question.get(path)
    return not_given(path, kept) if value is None else axis_value(option.key, value)


def not_given(path: str, kept: Kept) -> tuple[str, Any]:
    """Column and value of an option that was not given: from the result, or the default."""
    option = PATHS[path]
    return axis_value(option.key, _value_not_given(option, kept))


def _value_not_given(option: Option, kept: Kept) -> Any:
    config = (kept.result or {}).get("config") or kept.config
    if option.usual is not None and kept.asked is not None:
        return option.usual
    return config.get(option.field)
