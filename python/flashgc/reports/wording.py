"""The texts for columns and values of tidy tables, for people."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from flashgc.registry import brief
from flashgc.store.tidy import UNITS, is_option
from flashgc.units import format_size

#: Labels of columns, if they differ from the names.
_LABELS = {
    "write_amplification": "write amplification",
    "spare": "spare factor",
    "overprovision": "over-provisioning",
    "wear_cv": "variation of wear",
    "first_failure_drive_writes": "drive writes to the first failure",
    "first_failure_terabytes": "TB written to the first failure",
    "system_failure_drive_writes": "drive writes to the drive's failure",
    "system_failure_terabytes": "TB written to the drive's failure",
}
#: Columns whose values are shares.
_SHARES = ("spare", "overprovision", "die_share", "bus_share", "collection_share")
#: Ends of the names of figures for which more is better.
_MORE_IS_BETTER = ("_per_second", "_drive_writes", "_terabytes")


def label(name: str) -> str:
    """The axis label of a column, with its unit.

    >>> label("spare"), label("read_p99_us"), label("page_size_bytes"), label("host_bytes")
    ('spare factor (%)', 'read p99 (µs)', 'page size', 'host bytes')
    """
    if name in _SHARES:
        return f"{_LABELS.get(name, name.replace('_', ' '))} (%)"
    if name in _LABELS:
        return _LABELS[name]
    stem, _, unit = name.rpartition("_")
    if not stem or unit not in UNITS:
        stem, unit = name, ""
    words = re.sub(r"(p\d+)_(\d+)", r"\1.\2", stem).replace("_", " ")
    if unit == "bytes" and not is_option(name):
        return f"{words} bytes"
    # Values that are sizes include their units.
    return f"{words} ({UNITS[unit]})" if unit and unit != "bytes" else words


def scaled(name: str, value: float) -> float:
    """A number of a column as its axis shows it: shares are in percent.

    >>> scaled("spare", 0.07), scaled("erases", 12)
    (7.0, 12)
    """
    return round(100 * value, 10) if name in _SHARES else value


def text(name: str, value: Any) -> str:
    """A value of a column as text for people.

    >>> text("spare", 0.07), text("page_size_bytes", 4096), text("victim", "greedy:ties=latest")
    ('7%', '4 KiB', 'greedy')
    """
    if value is None:
        return "default"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        if not math.isfinite(value):
            return str(value)
        if name in _SHARES:
            return f"{100 * value:.6g}%"
        return format_size(value) if name.endswith("_bytes") else f"{value:.6g}"
    return brief(str(value)) if name != "workload" else str(value)


def texts(name: str, values: Iterable[Any]) -> list[str]:
    """Values of a column as texts; file names are shortened as far as they stay distinct.

    >>> texts("workload", ["data/a.csv.zst", "data/b.csv.zst", "uniform"])
    ['a', 'b', 'uniform']
    >>> texts("victim", ["fifo", "d-choices:d=2", "d-choices:d=10"])
    ['fifo', 'd-choices:d=2', 'd-choices:d=10']
    >>> texts("workload", ["x/a.csv", "y/a.csv"])
    ['x/a', 'y/a']
    """
    given = list(values)
    whole = [text(name, value) for value in given]
    if name not in ("workload", "experiment"):
        # If two policies of one kind are shown, their parameters stay as given.
        kinds = [str(path).partition(":")[0] for path in given]
        alike = len(set(whole)) < len(whole)
        return [
            str(value) if isinstance(value, str) and (alike or kinds.count(kind) > 1) else path
            for value, kind, path in zip(given, kinds, whole, strict=True)
        ]
    stems = [_stem(path) for path in whole]
    for parts in range(2, 1 + max((len(PurePath(path).parts) for path in whole), default=0)):
        stems = [
            stem if stems.count(stem) == 1 else _stem(full, parts)
            for stem, full in zip(stems, whole, strict=True)
        ]
    return [
        stem if stems.count(stem) == 1 else full for stem, full in zip(stems, whole, strict=True)
    ]


#: Extensions of the names of traces and experiments.
_ENDINGS = re.compile(r"(\.(csv|toml|txt|trace|bin|flashgc|parquet|blkparse))?(\.(zst|gz|xz))?$")


def _stem(name: str, parts: int = 1) -> str:
    """The last parts of a file's name without extensions; a generator does not change."""
    short = _ENDINGS.sub("", "/".join(PurePath(name).parts[-parts:]))
    return short if _ENDINGS.sub("", name) != name else name


def more_is_better(name: str) -> bool:
    """True if more of a figure is better.

    >>> more_is_better("requests_per_second"), more_is_better("read_p99_us")
    (True, False)
    """
    return name.endswith(_MORE_IS_BETTER)
