"""The places at which values were given, for messages. The engine makes these messages' texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flashgc import _core

if TYPE_CHECKING:
    from flashgc.policy_files import Policies

#: The place of each value (the option, or the line of a file), by the value's path
#: (``drive.blocks``).
Places = Mapping[str, str]


@dataclass(frozen=True)
class Given:
    """The values of an experiment by section, the place of each, and policies in Python.

    The command passes it to a study, in place of a workload and keywords.
    """

    values: dict[str, dict[str, Any]]
    places: dict[str, str]
    python: Policies


def subject(places: Places, path: str) -> str:
    """Return the subject of a message about a value: the option's name, after its place in a file.

    >>> subject({"gc.victim": "--victim"}, "gc.victim"), subject({}, "gc.victim")
    ('--victim', 'victim')
    >>> subject({"gc.victim": "a.toml:2:1"}, "gc.victim")
    'a.toml:2:1: victim'
    """
    return _core.name_subject(places, _key(path))


def written(places: Places, path: str, value: object) -> str:
    """Return a value in the form in which the user wrote the other values.

    >>> written({"drive.kind": "--drive"}, "drive.kind", "timed")
    '--drive timed'
    >>> written({}, "drive.kind", "timed")
    'kind="timed"'
    >>> written({"drive.kind": "a.toml:2:1"}, "drive.kind", "timed")
    'kind = "timed" in [drive]'
    """
    return _core.name_choice(places, _key(path), str(value))


def option(places: Places, path: str) -> str:
    """Return the name of an option in the form in which the user wrote the other values.

    >>> option({"gc.victim": "--victim"}, "hold_back"), option({}, "gc.victim")
    ('--hold-back', 'victim')
    """
    return _core.name_option(places, _key(path))


def _key(path: str) -> str:
    return path.rsplit(".", maxsplit=1)[-1]
