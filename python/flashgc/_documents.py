"""Conversion between dataclasses and JSON documents; nothing here depends on a class of results."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar, Union

from flashgc._summaries import Shows

#: A JSON value without parts.
Scalar: TypeAlias = bool | int | float | str | None
#: Any JSON value.
Json: TypeAlias = Union[Scalar, Sequence["Json"], Mapping[str, "Json"]]  # noqa: UP007 - of itself


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]


R = TypeVar("R", bound=_Dataclass)


class Document(Shows):
    """An object that can be written as JSON, and read back as the same object.

    Its classes are dataclasses with ``repr=False``, because :class:`Shows` gives them a one-line
    ``repr``.
    """

    _raw: dict[str, Json]

    def to_dict(self) -> dict[str, Json]:
        """All of it as plain Python values, with the keys of the JSON document."""
        return self._raw

    def to_json(self, indent: int | None = 2) -> str:
        """All of it as one JSON document."""
        return dumps(self.to_dict(), indent)


def plain(value: Any) -> Any:
    """``value`` as plain Python values: dataclasses as their fields, tuples as lists.

    An object that has a method ``to_dict`` is converted by that method.
    """
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if dataclasses.is_dataclass(value):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    return value


def dumps(value: Json, indent: int | None = 2) -> str:
    """``value`` as strict JSON; NaN and infinities become null."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value: Json) -> Json:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


def read(cls: type[R], raw: Mapping[str, Json], **more: object) -> R:
    """Make a ``cls`` (a dataclass) from the values in ``raw``, whose keys are names of fields.

    Nested dataclasses are read in the same way, and lists become tuples. A ``float`` that is null
    becomes NaN. A field missing in ``raw`` gets its default; without a default it becomes empty,
    NaN or ``None``, depending on its type. ``more`` has values of fields that are not in ``raw``.

    >>> @dataclasses.dataclass
    ... class Point:
    ...     at: float
    ...     heights: tuple[int, ...]
    >>> read(Point, {"at": None, "heights": [1, 2], "colour": "red"})
    Point(at=nan, heights=(1, 2))
    """
    values = {
        name: default if name not in raw else reader(raw[name])
        for name, reader, default in _readers(cls)
        if name not in more
    }
    return cls(**values, **more)


_Reader: TypeAlias = Callable[[Any], Any]


@functools.cache
def _readers(cls: type[_Dataclass]) -> tuple[tuple[str, _Reader, object], ...]:
    """For each field: its name, the reader of its value, and its value if missing."""
    readers = []
    for field in dataclasses.fields(cls):
        home = next(
            base for base in cls.__mro__ if field.name in vars(base).get("__annotations__", {})
        )
        reader = _late_reader(home, field.type)
        absent = reader(None) if field.default is dataclasses.MISSING else field.default
        readers.append((field.name, reader, absent))
    return tuple(readers)


def _late_reader(cls: type, hint: Any) -> _Reader:
    """Return the reader of a field of ``cls``; the type is resolved at the first value."""

    @functools.cache
    def reader() -> _Reader:
        if not isinstance(hint, str):
            return _reader(hint)
        return _reader(eval(hint, vars(sys.modules[cls.__module__])))

    if str(hint).endswith(" | None"):
        return lambda value: None if value is None else reader()(value)
    if str(hint).endswith(", ...]"):
        return lambda values: reader()(values) if values else ()
    return reader()


def _reader(hint: Any) -> _Reader:
    """Return the reader that converts a JSON value to the type ``hint``."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        (other, *further) = [kind for kind in inner if kind is not types.NoneType]
        read_other = _as_it_is if further else _reader(other)
        return lambda value: None if value is None else read_other(value)
    if origin is tuple and inner[-1] is Ellipsis:
        each = _reader(inner[0])
        if each is _as_it_is:
            return lambda values: tuple(values or ())
        return lambda values: tuple([each(value) for value in values or ()])
    if origin is tuple:
        parts = [_reader(kind) for kind in inner]
        return lambda values: tuple(
            part(value) for part, value in zip(parts, values or (None,) * len(parts), strict=True)
        )
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return lambda value: None if value is None else read(hint, value)
    return _number if hint is float else _as_it_is


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _as_it_is(value: object) -> object:
    return value
