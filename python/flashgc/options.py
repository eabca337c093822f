"""The options of an experiment, as the engine declares them: one table for all uses.

The command line, experiment files, the JSON schema, the keywords of :func:`flashgc.run` and the
reference pages are made from this table. No other Python code repeats facts about an option.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashgc import _core
from flashgc._documents import read


@dataclass(frozen=True)
class Case:
    """A case in which an option has another default."""

    name: str
    #: The case in words for people.
    words: str
    #: The default in this case.
    value: str


@dataclass(frozen=True)
class Option:
    """One option."""

    #: The section of an experiment file that has it.
    section: str
    #: Its key in that section, and its keyword in Python.
    key: str
    #: Its name on the command line, without the leading hyphens.
    flag: str
    #: The kind of its value, with the unit.
    kind: str
    #: The word for the value in help texts.
    metavar: str
    #: The default as typed, or in words; empty if there is none.
    default: str
    cases: tuple[Case, ...]
    #: The help in plain sentences; :func:`render` replaces names in braces.
    help: str
    #: An example of a value; empty if there is none.
    example: str
    #: True if a number without a unit is refused.
    needs_unit: bool
    #: The smallest and the largest number.
    range: tuple[int, int] | None
    #: ``all``, or the kind of drive that it applies to.
    drives: str
    #: Advice if it is used with another kind of drive; empty if there is none.
    instead: str
    #: True if a stored drive can be made with it.
    stored: bool
    #: True if it applies to the clock of a stored drive.
    of_clock: bool
    #: True if it makes a file and only ``run`` has it, for a single configuration.
    once: bool
    #: True if several values make several configurations to compare.
    several: bool
    #: True if several values are parts of one configuration.
    listing: bool
    #: The possible words, if they are fixed.
    words: tuple[str, ...]
    #: The list of the registry with the possible names; empty if there is none.
    list: str
    #: The engine's struct and field with the value; empty if there is none.
    holder: str
    field: str

    @property
    def path(self) -> str:
        """Section and key, separated by a dot.

        >>> find("blocks").path
        'drive.blocks'
        """
        return f"{self.section}.{self.key}"

    @property
    def usual(self) -> str | None:
        """The default as typed; ``None`` if there is none, or it depends on other values.

        >>> find("victim").usual, find("endurance").usual
        ('d-choices:d=10', None)
        """
        return None if not self.default or " " in self.default else self.default

    def case(self, name: str) -> str:
        """The default in a case.

        >>> find("runs").case("compare")
        '5'
        """
        return next(case.value for case in self.cases if case.name == name)


@dataclass(frozen=True)
class TenantKey:
    """A key of a tenant."""

    name: str
    #: The word for the value in help texts.
    metavar: str
    #: The default as typed, or in words; empty if it must be given.
    default: str
    #: An example of a value.
    example: str
    #: The help in plain sentences.
    help: str


@dataclass(frozen=True)
class Section:
    """A section of an experiment file."""

    name: str
    #: A summary in one line.
    summary: str


_LISTING: Any = json.loads(_core.options())


#: Every section and every option, in the order in which help lists them, and the keys of tenants.
SECTIONS = tuple(Section(**raw) for raw in _LISTING["sections"])
OPTIONS = tuple(read(Option, raw) for raw in _LISTING["options"])
TENANT_KEYS: Mapping[str, TenantKey] = {raw["name"]: TenantKey(**raw) for raw in _LISTING["tenant"]}
#: Sets of options that exclude each other: one that is given later replaces the others.
ALTERNATIVES: tuple[frozenset[str], ...] = tuple(map(frozenset, _LISTING["alternatives"]))
PATHS: Mapping[str, Option] = {option.path: option for option in OPTIONS}
_KEYS: Mapping[str, Option] = {option.key: option for option in OPTIONS}


def find(key: str) -> Option:
    """The option with this key; raises :class:`KeyError` if there is none."""
    return _KEYS[key]


def known(key: str) -> bool:
    """True if there is an option with this key."""
    return key in _KEYS


def of_section(name: str) -> tuple[Option, ...]:
    """The options of a section."""
    return tuple(option for option in OPTIONS if option.section == name)


def several(value: Any) -> list[Any]:
    """A value that may be a list, as a list."""
    return value if isinstance(value, list) else [value]


@functools.cache
def choices(option: Option) -> tuple[str, ...]:
    """Return the completions of the option: words, or names with their parameters."""
    if not option.list:
        return ("yes", "no") if option.kind == "yes-no" else option.words
    from flashgc import presets, registry

    if option.list == "devices":
        return tuple(device.name for device in presets.devices())
    if option.list == "fills":
        return registry.fills()
    if option.list == "trace_formats":
        return tuple(format_.name for format_ in registry.trace_formats())
    return tuple(entry.usage for entry in getattr(registry, option.list)())


def names(option: Option) -> list[str]:
    """The possible words, without parameters.

    >>> names(find("hints"))[:2], names(find("scheduling"))
    (['none', 'piggyback'], ['fifo', 'reads-first'])
    """
    return [choice.split(":")[0] for choice in choices(option)]


def render(option: Option, text: str, *, flags: bool) -> str:
    """Replace names in braces in ``text`` by the option's words, or by other options' names.

    >>> render(find("gc_high"), "above {gc_low}", flags=True)
    'above --gc-low'
    >>> render(find("gc_high"), "above {gc_low}", flags=False)
    'above gc_low'
    """

    def words_for(match: re.Match[str]) -> str:
        if match[1] == "words":
            return ", ".join(names(option))
        other = find(match[1])
        return f"--{other.flag}" if flags else other.key

    return re.sub(r"\{(\w+)\}", words_for, text)


def help_of(option: Option, *, flags: bool) -> str:
    """Return the help of the option, with an example if that adds information."""
    text = render(option, option.help, flags=flags)
    if not option.example or option.example in text or option.kind == "word":
        return text
    return f"{text} For example {option.example}."


def default_of(option: Option, *, compare: bool | None = None) -> str:
    """The default in words, with the cases in which it differs.

    ``compare`` is true for a command that compares, and false for others; with ``None``, both cases
    are listed.

    >>> default_of(find("runs"))
    '1; to compare 5; for a trace 1; for a trace with a VM page cache 1'
    >>> default_of(find("runs"), compare=True)
    '5; for a trace 1; for a trace with a VM page cache 1'
    """
    default, cases = option.default, option.cases
    if compare is not None:
        own = [case.value for case in cases if case.name == "compare"]
        default = own[0] if own and compare else default
        cases = tuple(case for case in cases if case.name != "compare")
    parts = [f"{case.words} {case.value}" for case in cases]
    return "; ".join([default, *parts] if default else parts)
