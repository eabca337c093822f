"""Experiments: the values of options, checked against their declarations.

The command's options, the keyword arguments of the API and experiment files all become one
:class:`Experiment`. The engine's configuration is made in :mod:`flashgc.configuration`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flashgc import _core, _tenant_texts, options
from flashgc._core import ConfigError
from flashgc._origins import Places
from flashgc.options import Option
from flashgc.presets import with_device


@dataclass(frozen=True)
class Experiment:
    """One drive and one workload, or several to compare: values by path (``drive.blocks``)."""

    #: The values that were given; the rest is as by default.
    given: Mapping[str, Any]

    def __getitem__(self, path: str) -> Any:
        """The value as given, or the default as typed; ``None`` without either.

        >>> asked = experiment({"drive": {"blocks": 1000}})
        >>> asked["drive.blocks"], asked["gc.frontier"], asked["drive.times"]
        (1000, 'single', None)
        """
        return self.given[path] if path in self.given else options.PATHS[path].usual

    def __contains__(self, path: str) -> bool:
        return path in self.given

    def __iter__(self) -> Iterator[str]:
        """The paths of what was given, in the order of the declarations."""
        return (path for path in options.PATHS if path in self.given)


#: The values that are expected, by kind.
_EXPECTED = {
    "count": "a whole number",
    "amount": "a number or a text",
    "size": "a size",
    "pages": "a size or a number of pages",
    "share": "a share",
    "number": "a number",
}


def experiment(values: Mapping[str, Mapping[str, Any]], places: Places | None = None) -> Experiment:
    """The experiment with these values (``{"drive": {"blocks": 1000}}``), the rest by default.

    Raises :class:`flashgc.ConfigError` with the value's place.
    """
    places = places or {}
    given: dict[str, Any] = {}
    values = _tenant_texts.gathered(values, places)
    for section, keys in with_device(_sections(values, places), places).items():
        for key, value in keys.items():
            option = _option(section, key, places)
            where = places.get(option.path, option.key)
            given[option.path] = _checked(option, value, where)
    return Experiment(given)


def _sections(values: Mapping[str, Any], places: Places) -> Mapping[str, Mapping[str, Any]]:
    """``values``, in which there is nothing but sections."""
    known = [section.name for section in options.SECTIONS]
    for name, keys in values.items():
        where = places.get(name, name)
        if name in known and isinstance(keys, Mapping):
            continue
        if name in known:
            raise ConfigError(
                f"{where}: found {keys!r}, expected a section; hint: write [{name}] on a line"
            )
        if options.known(name):
            section = options.find(name).section
            raise ConfigError(
                f"{where}: '{name}' stands outside its section; hint: put it in [{section}]"
            )
        if name == "sweep":
            raise ConfigError(
                f"{where}: it is a grid, expected one experiment; hint: flashgc sweep"
            )
        hint = _core.suggest(name, known)
        raise ConfigError(f"{where}: unknown section or key '{name}'; hint: {hint}")
    return values


def _option(section: str, key: str, places: Places) -> Option:
    path = f"{section}.{key}"
    if path in options.PATHS:
        return options.PATHS[path]
    where = places.get(path, path)
    if options.known(key):
        hint = f"it belongs in [{options.find(key).section}]"
    else:
        hint = _core.suggest(key, [option.key for option in options.of_section(section)])
    raise ConfigError(f"{where}: unknown key '{key}' in [{section}]; hint: {hint}")


def _checked(option: Option, value: Any, where: str) -> Any:
    """The value, of the type that the option takes."""
    if value == []:
        raise ConfigError(f"{where}: found an empty list; hint: name at least one")
    if isinstance(value, list) and (option.several or option.listing):
        return [_single(option, one, where) for one in value]
    return _single(option, value, where)


def _single(option: Option, value: Any, where: str) -> Any:
    if isinstance(value, bool):
        raise ConfigError(f"{where}: found {str(value).lower()}; hint: no key is true or false")
    if isinstance(value, str):
        return _text(str(value), where)
    if isinstance(value, list | Mapping):
        raise ConfigError(
            f"{where}: found several values, expected one; hint: flashgc sweep runs a grid"
        )
    number = None if option.needs_unit or option.kind not in _EXPECTED else _number(option, value)
    if number is not None:
        if isinstance(number, int) and abs(number) >= 2**64:
            raise ConfigError(f"{where}: the number is out of range")
        return number
    expected = _EXPECTED.get(option.kind, "a text")
    if option.needs_unit:
        expected += "; it needs a unit"
    hint = f"write {_example(option)}" if _example(option) else _help(option)
    raise ConfigError(f"{where}: found {value!r}, expected {expected}; hint: {hint}")


def _example(option: Option) -> str:
    return option.example or (option.usual or "")


def _help(option: Option) -> str:
    return options.help_of(option, flags=False)


def _text(value: str, where: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{where}: {value!r} is not UTF-8; hint: rename the file") from None
    return value


def _number(option: Option, value: Any) -> int | float | None:
    """``value`` as the number that the option takes; ``None`` if it is none."""
    try:
        return operator.index(value)
    except TypeError:
        pass
    if not isinstance(value, float):
        return None
    if option.kind in ("share", "number"):
        return float(value)
    if value.is_integer():
        return int(value)
    return float(value) if option.kind == "amount" else None
