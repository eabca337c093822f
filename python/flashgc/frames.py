"""Tables in memory as traces: numpy, pandas, polars and Arrow, by the names of their columns."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from flashgc import _core
from flashgc._core import ConfigError, TraceError
from flashgc.foreign import one_line

#: Nanoseconds in each unit of time, and bytes in each unit of addresses and sizes.
_TIMES = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_BYTES = {"bytes": 1, "KiB": 1024, "sectors": 512}

#: The largest number of a trace's times, offsets and sizes.
_MOST = 2**63 - 1


class Table(Protocol):
    """Columns with names: a dict of arrays, a numpy array with fields, a data frame."""

    def __getitem__(self, name: Any, /) -> Any:
        """The column with this name."""


def is_table(value: object) -> bool:
    """True for an object with named columns: a dict of arrays, a structured array, a data frame."""
    if isinstance(value, str | bytes | os.PathLike):
        return False
    names = getattr(getattr(value, "dtype", None), "names", None)
    return isinstance(value, Mapping) or names is not None or _names_of(value) is not None


def file_of(table: object) -> str:
    """Write the requests of a table into a trace file, and return its path.

    The file is private to this process, named after the digest of the requests, and removed when
    the process ends. Contiguous numpy arrays of ``int64`` in nanoseconds and bytes are read without
    a copy; each other column is converted once. The table may be changed afterwards.

    Raises :class:`flashgc.ConfigError` if a column is missing, ambiguous or unusable, and
    :class:`flashgc.TraceError` which names the row of an invalid value.
    """
    import hashlib

    columns = _Columns(table)
    times = columns.times()
    if not len(times):
        raise TraceError("table: found no rows, expected at least one request")
    ops = columns.ops()
    offsets, sizes = columns.scaled("offset"), columns.scaled("size")
    devices = columns.numbers("device", 2**32 - 1)
    streams = columns.numbers("stream", 254, least=-1)
    every = (times, ops, offsets, sizes, devices, streams)
    lengths = {len(column) for column in every if column is not None}
    if len(lengths) > 1:
        raise ConfigError(f"table: found columns of {_listed(lengths)} rows, expected one length")
    folder = Path(_folder())
    path = folder / f"table.{os.urandom(4).hex()}.flashgc"
    try:
        _core.trace_of_columns(str(path), *every)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "blake2b").hexdigest()[:16]
        return str(path.replace(folder / f"table-{digest}.flashgc"))
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def temporary(name: str) -> Path:
    """The path of a file that is removed when the process ends."""
    return Path(_folder()) / name


@functools.cache
def _folder() -> str:
    """The folder for tables of this process; it is removed when the process ends."""
    import atexit
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="flashgc-tables-")
    process = os.getpid()

    def sweep() -> None:
        if os.getpid() == process:  # A forked process must not remove it.
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(sweep)
    return folder


def _names_of(value: object) -> list[str] | None:
    """The names of the columns of a data frame; ``None`` for anything else."""
    for attribute in ("column_names", "columns"):  # Arrow; pandas and polars.
        member = getattr(value, attribute, None)
        if member is not None and not callable(member) and hasattr(value, "__getitem__"):
            return [name if isinstance(name, str) else str(name) for name in member]
    return None


class _Columns:
    """The columns of a table by role."""

    def __init__(self, table: Any) -> None:
        import numpy as np

        self._np = np
        if isinstance(table, Mapping):
            names = [str(name) for name in table]
            get: Callable[[str], Any] = table.__getitem__
        elif getattr(getattr(table, "dtype", None), "names", None) is not None:
            names, get = list(table.dtype.names), table.__getitem__
        else:
            known = _names_of(table)
            assert known is not None
            names, get = known, table.__getitem__
        self._get = get
        meanings = _core.column_meanings(names)
        self._units: dict[str, tuple[str, str | None]] = {}
        for name, meaning in zip(names, meanings, strict=True):
            if meaning is None:
                continue
            role, unit = meaning
            if role in self._units:
                first = self._units[role][0]
                raise ConfigError(
                    f"table: columns {_shown(first)} and {_shown(name)} both say {role}; hint: "
                    "leave one out, or name it otherwise"
                )
            self._units[role] = (name, unit)
        self._all = names

    def _named(self, *roles: str) -> tuple[str, str, str | None]:
        """The role, name and unit of the only column that has one of the roles."""
        own_roles = [role for role in roles if role in self._units]
        if len(own_roles) == 1:
            return (own_roles[0], *self._units[own_roles[0]])
        names = ", ".join(map(_shown, self._all)) or "none"
        if own_roles:
            both = " and ".join(_shown(self._units[role][0]) for role in own_roles)
            raise ConfigError(f"table: {both} both say the operation; hint: leave one out")
        expected = {"time": "time_us", "offset": "offset_bytes", "size": "size_bytes"}
        example = expected.get(roles[0], roles[0])
        raise ConfigError(
            f"table: found no column for the {roles[0]} among {names}; hint: name it {example}"
        )

    def _array(self, name: str) -> Any:
        """A column as an array of one dimension."""
        column = self._get(name)
        if hasattr(column, "to_numpy"):
            column = column.to_numpy()
        array = self._np.asarray(column)
        if array.ndim != 1:
            raise ConfigError(
                f"table: column {_shown(name)} has {array.ndim} dimensions, expected one; hint: "
                "are two columns of one name?"
            )
        return array

    def times(self) -> Any:
        """The times in nanoseconds."""
        np = self._np
        _, name, unit = self._named("time")
        array = self._array(name)
        if array.dtype.kind in "mM":
            kind = "datetime64[ns]" if array.dtype.kind == "M" else "timedelta64[ns]"
            times = array.astype(kind, copy=False).astype(np.int64, copy=False)
            self._check(name, times, times >= 0, "a time since 1970 or later")
            return np.ascontiguousarray(times)
        return self._scaled(name, array, _scale(name, unit, _TIMES, "time_us"), least=0)

    def scaled(self, role: str) -> Any:
        """Offsets or sizes in bytes."""
        _, name, unit = self._named(role)
        scale = _scale(name, unit, _BYTES, f"{role}_bytes")
        array = self._array(name)
        if array.dtype.kind == "f":
            self._whole(name, array)
        return self._scaled(name, array, scale, least=0)

    def numbers(self, role: str, most: int, *, least: int = 0) -> Any:
        """The column of devices or streams; ``None`` without such a column."""
        if role not in self._units:
            return None
        name = self._units[role][0]
        array = self._array(name)
        if array.dtype.kind == "f":
            self._whole(name, array)
        numbers = self._scaled(name, array, 1, least=least)
        self._check(name, array, numbers <= most, f"at most {most}")
        return numbers

    def ops(self) -> Any:
        """The operations, as the engine's numbers for them."""
        np = self._np
        role, name, _ = self._named("op", "is_read", "is_write")
        array = self._array(name)
        if role != "op":
            if array.dtype.kind not in "biuf":
                self._check(name, array, np.zeros(len(array), bool), "True or False, or 1 or 0")
            self._check(name, array, (array == 0) | (array == 1), "True or False, or 1 or 0")
            return np.ascontiguousarray((array == 1) == (role == "is_read"), np.uint8)
        if array.dtype.kind not in "OUST":
            raise ConfigError(
                f"table: column {_shown(name)} has values of type {array.dtype}, expected words "
                "such as R and W; hint: a column is_read or is_write has numbers"
            )
        words, which = np.unique(array.astype(str), return_inverse=True)
        known = [_core.operation_of(str(word)) for word in words]
        is_known = np.array([op is not None for op in known], bool)
        self._check(name, array, is_known[which], "R, W or D (discard)")
        return np.array([op or 0 for op in known], np.uint8)[which]

    def _whole(self, name: str, array: Any) -> None:
        """Refuse numbers that are not whole, including missing values (NaN)."""
        np = self._np
        with np.errstate(invalid="ignore"):
            is_whole = np.isfinite(array) & (array == np.floor(array)) & (abs(array) < 2**53)
        self._check(name, array, is_whole, "a whole number below 2^53")

    def _scaled(self, name: str, array: Any, scale: int, *, least: int) -> Any:
        """The numbers times ``scale``, as ``int64``; no copy if that changes nothing."""
        np = self._np
        if array.dtype.kind not in "iuf":
            raise ConfigError(
                f"table: column {_shown(name)} has values of type {array.dtype}, expected numbers; "
                "hint: astype makes them numbers"
            )
        with np.errstate(invalid="ignore"):
            fits = (array >= least) & (array <= _MOST // scale)
        self._check(name, array, fits, f"a number from {least} to {_MOST // scale}")
        if array.dtype.kind == "f":
            whole = np.floor(array)
            rest = np.rint((array - whole) * scale).astype(np.int64)
            return np.ascontiguousarray(whole.astype(np.int64) * scale + rest)
        numbers = array.astype(np.int64, copy=False)
        return np.ascontiguousarray(numbers if scale == 1 else numbers * scale)

    def _check(self, name: str, array: Any, holds: Any, expected: str) -> None:
        """Raise an error about the first row, counted from 0, for which ``holds`` is false."""
        if not holds.all():
            row = int(self._np.argmin(holds))
            raise TraceError(
                f"table: row {row}, column {_shown(name)}: found {_shown(array[row])}, expected "
                f"{expected}; hint: rows count from 0"
            )


def _scale(name: str, unit: str | None, units: Mapping[str, int], example: str) -> int:
    """The factor of a column's unit."""
    if unit is None or unit not in units:
        raise ConfigError(
            f"table: column {_shown(name)} says no unit that is known ({', '.join(units)}); hint: "
            f"name it for example {example}"
        )
    return units[unit]


def _listed(numbers: set[int]) -> str:
    return " and ".join(map(str, sorted(numbers)))


def _shown(value: object) -> str:
    """A name or a value from a table, for a message; a text is in quotes."""
    text = str(value)
    shown = one_line(text if len(text) <= 80 else text[:77] + "...")
    return f"'{shown}'" if isinstance(value, str) else shown
