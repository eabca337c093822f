"""The subject of a search: an option, or a parameter of one, and its possible values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from flashgc import _core
from flashgc._core import ConfigError
from flashgc.options import OPTIONS, PATHS, find, known
from flashgc.policy_files import is_written, parted
from flashgc.studies.sweep import ranges

#: Kinds of options whose values are numbers, or begin with one.
_NUMBERS = ("count", "amount", "size", "pages", "share", "number", "time")
#: Default ranges of options.
_USUAL: Mapping[str, Mapping[str, Any]] = {
    "spare": {"from": "2%", "to": "60%", "step": "0.1%"},
    "overprovision": {"from": "2%", "to": "150%", "step": "0.1%"},
}


@dataclass(frozen=True)
class Subject:
    """An option, or one parameter of an option that is a spec."""

    #: The name, as typed: ``spare``, ``victim.d``.
    name: str
    #: The option's path.
    path: str
    #: The name of the parameter; empty for the option itself.
    parameter: str
    #: The possible values in order, as the option takes them.
    values: tuple[Any, ...]

    def lay(self, values: Mapping[str, Mapping[str, Any]], value: Any) -> dict[str, dict[str, Any]]:
        """Return the values of an experiment, with ``value`` set for the subject."""
        section, key = self.path.split(".")
        copy = {name: dict(keys) for name, keys in values.items()}
        keys = copy.setdefault(section, {})
        if self.parameter:
            spec = keys.get(key, PATHS[self.path].usual)
            if not isinstance(spec, str):
                raise ConfigError(
                    f"{self.name}: {key} is {spec!r}, expected one spec; hint: give one --{key}"
                )
            value = with_parameter(spec, self.parameter, value)
        keys[key] = value
        return copy


def subject(name: str, table: Mapping[str, Any], place: str = "OPTION") -> Subject:
    """The option called ``name``, with the range in ``table``; raises :class:`flashgc.ConfigError`.

    >>> subject("spare", {"from": "5%", "to": "6%", "step": "0.5%"}).values
    ('5%', '5.5%', '6%')
    >>> subject("victim.d", {"from": 2, "to": 4}).values
    (2, 3, 4)
    """
    key, _, parameter = name.replace("-", "_").partition(".")
    key = {"workload": "source"}.get(key, key)
    if not known(key):
        names = [option.key for option in OPTIONS if option.kind in _NUMBERS]
        raise ConfigError(f"{place}: unknown option '{key}'; hint: {_core.suggest(key, names)}")
    option = find(key)
    if bool(parameter) != (option.kind == "spec"):
        hint = f"write {name}.d, for its parameter d" if option.kind == "spec" else f"write {key}"
        raise ConfigError(f"{place}: {name} is no number; hint: {hint}")
    if not parameter and option.kind not in _NUMBERS:
        raise ConfigError(f"{place}: {name} is no number; hint: flashgc compare has several words")
    given = {word: value for word, value in table.items() if value is not None}
    usual = _USUAL.get(key, {})
    if not given:
        given = dict(usual)
    if "from" not in given or "to" not in given:
        raise ConfigError(f"{place}: {name} needs a range; hint: give --from and --to")
    if not {"step", "factor"} & given.keys():
        given["step"] = _step(name, given, usual)
    return Subject(name, option.path, parameter, tuple(ranges.values(given, "--from, --to")))


def _step(name: str, given: Mapping[str, Any], usual: Mapping[str, Any]) -> Any:
    ends = [str(given["from"]), str(given["to"])]
    if usual and all(end.endswith("%") for end in ends):
        return usual["step"]
    if all(end.isdecimal() for end in ends):
        return 1
    raise ConfigError(f"--step: {name} needs one; hint: give --step with the unit of --from")


def with_parameter(spec: str, name: str, value: Any) -> str:
    """A spec with one parameter changed, or added.

    >>> with_parameter("d-choices:d=10,c=1", "d", 4), with_parameter("d-choices", "d", 4)
    ('d-choices:d=4,c=1', 'd-choices:d=4')
    >>> with_parameter("python:edt.py:Edt,alpha=0.25", "alpha", 0.5)
    'python:edt.py:Edt,alpha=0.5'
    """
    if is_written(spec):
        code = parted(spec, "the policy")
        return replace(code, parameters={**code.parameters, name: str(value)}).text(code.file)
    head, colon, rest = spec.partition(":")
    if not re.fullmatch(r"[A-Za-z0-9_-]+", head):
        raise ConfigError(f"'{spec}' is no spec with parameters; hint: write name:a=1,b=2")
    parts = dict(part.partition("=")[::2] for part in rest.split(",")) if colon else {}
    parts[name] = str(value)
    return f"{head}:" + ",".join(f"{key}={text}" for key, text in parts.items())
