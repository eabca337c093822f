"""Where a value came from, so that a message can say which option or line was wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from flashgc._core import ConfigError

T = TypeVar("T")

#: Where a value came from: the option or the line of the file, by the value's path.
Places = Mapping[str, str]


def element(places: Places, path: str, index: int) -> str:
    """The path of an element of a list, where its place is known."""
    longer = f"{path}.{index}"
    return longer if longer in places else path


def elements(places: Places, path: str, values: Sequence[Any]) -> list[str]:
    """Where the elements of a list came from."""
    paths = [element(places, path, index) for index in range(len(values))]
    return [places.get(one, path.rsplit(".", maxsplit=1)[-1]) for one in paths]


def refuse_twins(where: Sequence[str], values: Sequence[Any]) -> None:
    """Refuses a value that is given twice."""
    for index, value in enumerate(values):
        if value in values[:index]:
            raise ConfigError(f"{where[index]}: '{value}' is given twice; hint: give each once")


def read(places: Places, path: str, reader: Callable[..., T], *values: Any) -> T:
    """What ``reader`` makes of ``values``; its error names the place."""
    try:
        return reader(*values)
    except ConfigError as error:
        where = places.get(path, path.rsplit(".", maxsplit=1)[-1])
        text = str(error)
        # The readers of units name what they read; the place says it better.
        for generic in ("size: ", "share: ", "count: ", "pages: "):
            text = text.removeprefix(generic)
        raise ConfigError(f"{where}: {text}") from None


def in_range(places: Places, path: str, value: int, low: int, high: int) -> None:
    """Refuses a number outside its range."""
    if not low <= value <= high:
        where = places.get(path, path.rsplit(".", maxsplit=1)[-1])
        raise ConfigError(f"{where}: found {value}, expected {low} to {high}")


def only_one(places: Places, given: dict[str, Any], hint: str) -> str | None:
    """The path of the one value that is given, or ``None``; more than one are refused."""
    named = [path for path, value in given.items() if value is not None]
    if len(named) > 1:
        words = [places.get(path, path.split(".")[-1]) for path in named]
        raise ConfigError(f"{words[1]}: found together with {words[0]}; hint: {hint}")
    return named[0] if named else None
