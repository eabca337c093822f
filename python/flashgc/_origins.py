"""Places of values, so that a message can say which option or line was wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from flashgc._core import ConfigError

T = TypeVar("T")

#: The place of a value: the option or the line of the file, by the value's path.
Places = Mapping[str, str]


def subject(places: Places, path: str) -> str:
    """Return the subject of a message about a value: the option's name, after the place in a file.

    >>> subject({"gc.victim": "--victim"}, "gc.victim"), subject({}, "gc.victim")
    ('--victim', 'victim')
    >>> subject({"gc.victim": "a.toml:2:1"}, "gc.victim")
    'a.toml:2:1: victim'
    """
    key = path.rsplit(".", maxsplit=1)[-1]
    place = places.get(path, key)
    return place if place == key or place.startswith("--") else f"{place}: {key}"


def written(places: Places, path: str, value: str) -> str:
    """Return a value as a person who wrote the other values writes it.

    >>> written({"drive.kind": "--drive"}, "drive.kind", "timed")
    '--drive timed'
    >>> written({}, "drive.kind", "timed")
    'kind="timed"'
    >>> written({"drive.kind": "a.toml:2:1"}, "drive.kind", "timed")
    'kind = "timed" in [drive]'
    """
    section, _, key = path.partition(".")
    place = places.get(path, key)
    if place.startswith("--"):
        return f"{place} {value}"
    return f'{key}="{value}"' if place == key else f'{key} = "{value}" in [{section}]'


def flags(places: Places) -> bool:
    """True if the values were typed as options of the command."""
    return any(place.startswith("--") for place in places.values())


def option(places: Places, path: str) -> str:
    """Return the name of an option that has no place yet, as the person wrote the other values.

    >>> option({"gc.victim": "--victim"}, "hold_back"), option({}, "gc.victim")
    ('--hold-back', 'victim')
    """
    key = path.rsplit(".", maxsplit=1)[-1]
    return f"--{key.replace('_', '-')}" if flags(places) else key


def element(places: Places, path: str, index: int) -> str:
    """The path of an element of a list, where its place is known."""
    longer = f"{path}.{index}"
    return longer if longer in places else path


def elements(places: Places, path: str, values: Sequence[Any]) -> list[str]:
    """Return the places of the elements of a list."""
    paths = [element(places, path, index) for index in range(len(values))]
    return [places.get(one, path.rsplit(".", maxsplit=1)[-1]) for one in paths]


def refuse_twins(where: Sequence[str], values: Sequence[Any]) -> None:
    """Refuses a value that is given twice."""
    for index, value in enumerate(values):
        if value in values[:index]:
            raise ConfigError(f"{where[index]}: '{value}' is given twice; hint: give each once")


def read(places: Places, path: str, reader: Callable[..., T], *values: Any) -> T:
    """Return ``reader`` of ``values``; its error names the place."""
    try:
        return reader(*values)
    except ConfigError as error:
        key = path.split(".")[1] if "." in path else path
        where = places.get(path, path.rsplit(".", maxsplit=1)[-1])
        text = str(error)
        # Readers name what they read; the place says it better.
        for named in ("size", "share", "count", "pages", key, key.replace("_", " ")):
            if text.lower().startswith(f"{named}: "):
                text = text[len(named) + 2 :]
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
