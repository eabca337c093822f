"""Places of values, so that a message can say which option or line was wrong."""

from __future__ import annotations

from collections.abc import Mapping

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
