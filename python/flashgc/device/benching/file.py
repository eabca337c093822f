"""The file of a bench: reads it, checks its keys, and reports errors."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from flashgc._core import ConfigError, DriveError, suggest
from flashgc._documents import Json
from flashgc.device.benching.texts import known_names, names_in
from flashgc.device.files.streams import Patterns
from flashgc.device.making import OPTIONS
from flashgc.experiment_file import load
from flashgc.options import PATHS

#: The most characters of an output that a message quotes.
QUOTED = 200


@dataclass(frozen=True)
class Count:
    r"""The place of the number of units in an output: first group of a pattern, or a JSON path.

    >>> Count(pattern="committed ([0-9]+)").of("x\ncommitted 12\n")
    12.0
    >>> Count(path="jobs.0.ios").of('{"jobs": [{"ios": 7}]}')
    7.0
    """

    pattern: str | None = None
    path: str | None = None

    def __post_init__(self) -> None:
        if self.pattern is not None:
            try:
                groups = re.compile(self.pattern).groups
            except re.error as error:
                raise ValueError(f"the pattern has an error: {error}") from None
            if groups < 1:
                raise ValueError("brackets around the number: 'committed ([0-9]+)'")

    def of(self, output: str, errors: str = "") -> float:
        """The number of units, from the last match of a pattern, or from JSON on standard output.

        Raises :class:`flashgc.DriveError` if there is no number, or it is not above zero.
        """
        figures = self._found(output, errors)
        try:
            number = float(figures)
        except (TypeError, ValueError):
            number = math.nan
        if not (math.isfinite(number) and number > 0):
            raise DriveError(f"found {figures!r} where {self.what} is, expected a number above 0")
        return number

    @property
    def what(self) -> str:
        """The pattern or the path, in words."""
        if self.pattern is not None:
            return f"the pattern {self.pattern!r}"
        return f"the JSON path {self.path}"

    def _found(self, output: str, errors: str) -> Any:
        if self.pattern is not None:
            matches = list(re.finditer(self.pattern, f"{output}\n{errors}"))
            if not matches:
                raise DriveError(f"{self.what} is not in the command's output{_quoted(output)}")
            return matches[-1][1]
        try:
            value: Any = json.loads(output)
        except ValueError:
            raise DriveError(f"the command's output is no JSON{_quoted(output)}") from None
        assert self.path is not None
        for part in self.path.split("."):
            try:
                value = value[int(part)] if isinstance(value, list) else value[part]
            except (KeyError, IndexError, TypeError, ValueError):
                has = (
                    ", ".join(list(value)[:8]) if isinstance(value, dict) else type(value).__name__
                )
                raise DriveError(f"{self.what}: no {part} in the output, which has {has}") from None
        return value


def counted(count: Count, log: Path) -> float:
    """The number of units in the output in file ``log``, or in the errors in the file beside it."""
    errors = log.with_suffix(".err")
    return count.of(
        log.read_text(errors="replace"),
        errors.read_text(errors="replace") if errors.exists() else "",
    )


def _quoted(output: str) -> str:
    words = " ".join(output.split())
    return f", which ends with: {words[-QUOTED:]}" if words else ", which is empty"


#: A value of an axis.
Value: TypeAlias = bool | int | float | str

#: Default number of repeats. With fewer, the interval is many times the spread.
REPEATS = 3
#: The maximum number of repeats.
MOST = 1000

#: The keys of the section ``[bench]``, each with a description of its values.
BENCH = {
    "command": "a text or a list of words",
    "unit": "a text",
    "count": "a pattern with one group",
    "json": "a path such as jobs.0.write.total_ios",
    "repeats": f"a whole number from 1 to {MOST}",
    "seed": "a whole number from 0",
    "setup": "a text or a list of words",
    "against": "the number of a cell, or its settings",
}
RUN = {
    "fs": "a text",
    "mount_options": "a text",
    "user": "a text",
    "copy_in": "a folder",
    "streams_by_file": "patterns of files with their streams",
}

#: The setting that assigns streams to files.
STREAMS = "streams_by_file"

#: The options of a new drive, by their names in the file. ``PAST`` are the options that age the
#: drive, ``OWN`` those of its file.
DRIVE = {PATHS[path].flag.replace("-", "_"): path for path in OPTIONS}
PAST = ("fill", "aged")
OWN = ("durability", "journal")


@dataclass(frozen=True)
class Bench:
    """A file that was read and checked."""

    path: Path
    #: A text for ``sh -c``, or a list of words.
    command: str | tuple[str, ...]
    setup: str | tuple[str, ...] | None
    unit: str
    count: Count
    repeats: int
    seed: int
    #: The values of each setting by its name. A setting with one value is the same in every cell.
    axes: Mapping[str, tuple[Value, ...]]
    drive: Mapping[str, tuple[Value, ...]]
    run: Mapping[str, tuple[Value, ...]]
    #: The cell with which others are compared: its number or its settings. ``None`` is the first.
    against: str | None = None
    #: The place of each key in the file, for messages.
    places: Mapping[str, str] = field(default_factory=dict)

    @property
    def here(self) -> Path:
        """The folder of the file."""
        return self.path.absolute().parent

    @property
    def varied(self) -> list[str]:
        """The names of the settings that have several values, in the order of the file."""
        every = {**self.axes, **self.drive, **self.run}
        return [name for name, values in every.items() if len(values) > 1]


def read(path: Path) -> Bench:
    """Read the file at ``path``.

    Raises :class:`flashgc.ConfigError`, which says where the file is wrong, why, and how to fix it.
    """
    if not path.is_file():
        raise ConfigError(f"{path}: no such file; hint: docs/bench.md has one to begin with")
    values, places = load(path)
    return _Reader(path, values, places).bench()


class _Reader:
    """Checks the values of a file, key by key."""

    def __init__(self, path: Path, values: Mapping[str, Any], places: Mapping[str, str]) -> None:
        self.path, self.values = path, values
        self.places = {key.replace("-", "_"): place for key, place in places.items()}

    def bench(self) -> Bench:
        """The bench that the file describes."""
        self._known("", self.values, ("bench", "axes", "drive", "run"))
        for name in ("bench", "axes", "drive", "run"):
            if not isinstance(self.values.get(name, {}), dict):
                self.refuse(name, self.values[name], "a section", f"[{name}]")
        own = self.values.get("bench", {})
        self._known("bench", own, BENCH)
        if "command" not in own:
            raise ConfigError(
                f'{self.path}: [bench] has no command; hint: command = "./benchmark.sh"'
            )
        bench = Bench(
            path=self.path,
            command=self._words("command", own["command"]),
            setup=self._words("setup", own["setup"]) if "setup" in own else None,
            unit=self._text("bench.unit", own.get("unit", "units"), "transactions"),
            count=self._count(own),
            repeats=self._number("bench.repeats", own.get("repeats", REPEATS), 1, MOST),
            seed=self._number("bench.seed", own.get("seed", 1), 0, 2**32),
            axes=self._axes("axes", None),
            drive=self._axes("drive", (*DRIVE, *PAST, *OWN)),
            run=self._axes("run", tuple(RUN)),
            against=self._against(own.get("against")),
            places=self.places,
        )
        self._check_names(bench)
        self._check_streams(bench)
        return bench

    def refuse(self, key: str, value: object, expected: str, hint: str) -> NoReturn:
        """Raise an error about the value of ``key``."""
        name = key.rpartition(".")[2]
        place = self.places.get(key, str(self.path))
        raise ConfigError(f"{place}: {name}: found {value!r}, expected {expected}; hint: {hint}")

    def _known(self, section: str, keys: Mapping[str, Any], known: Mapping[str, Any] | Any) -> None:
        for key in keys:
            if key not in known:
                path = f"{section}.{key}" if section else key
                place = self.places.get(path, str(self.path))
                where = f"[{section}]" if section else "the file"
                hint = suggest(key, list(known))
                raise ConfigError(f"{place}: {where} has no key '{key}'; hint: {hint}")

    def _text(self, key: str, value: object, example: str) -> str:
        if not isinstance(value, str) or not value.strip():
            self.refuse(key, value, "a text", f'"{example}"')
        return value

    def _against(self, value: object) -> str | None:
        if value is None or type(value) is int:
            return None if value is None else str(value)
        return self._text("bench.against", value, "victim=greedy")

    def _number(self, key: str, value: object, least: int, most: int) -> int:
        if type(value) is not int or not least <= value <= most:
            self.refuse(key, value, f"a whole number from {least} to {most}", str(max(least, 3)))
        return value

    def _words(self, key: str, value: object) -> str | tuple[str, ...]:
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return tuple(value)
        if not isinstance(value, str) or not value.strip():
            self.refuse(f"bench.{key}", value, BENCH[key], f'{key} = "./benchmark.sh"')
        return value

    def _count(self, own: Mapping[str, Any]) -> Count:
        if ("count" in own) == ("json" in own):
            both = "count and json" if "count" in own else "neither count nor json"
            raise ConfigError(
                f"{self.path}: [bench] has {both}, expected one of both, to find the units in the "
                "command's output; hint: count = 'committed ([0-9]+)'"
            )
        key = "count" if "count" in own else "json"
        text = self._text(f"bench.{key}", own[key], "committed ([0-9]+)")
        try:
            return Count(pattern=text) if key == "count" else Count(path=text)
        except ValueError as error:
            self.refuse(f"bench.{key}", text, BENCH[key], str(error))

    def _axes(self, section: str, known: tuple[str, ...] | None) -> dict[str, tuple[Value, ...]]:
        table = self.values.get(section, {})
        if known is not None:
            table = {key.replace("-", "_"): value for key, value in table.items()}
            self._known(section, table, known)
        return {key: self._axis(section, key, value) for key, value in table.items()}

    def _axis(self, section: str, key: str, given: object) -> tuple[Value, ...]:
        path = f"{section}.{key}"
        several = given if isinstance(given, list) else [given]
        if not several:
            self.refuse(path, given, "at least one value", f"leave out {key}, or give it a value")
        for value in several:
            if not isinstance(value, bool | int | float | str):
                self.refuse(path, value, "a text or a number, or a list of them", f'{key} = ["a"]')
        if len({str(value) for value in several}) < len(several):
            self.refuse(path, several, "values that differ", "[bench] repeats is for repeats")
        return tuple(several)

    def _check_streams(self, bench: Bench) -> None:
        """Check the patterns of files; an empty text means no streams."""
        for text in bench.run.get(STREAMS, ()):
            try:
                patterns_of(text)
            except ConfigError:
                expected = "'' for none, or PATTERN=STREAM,... with streams from 0 to 63"
                self.refuse(f"run.{STREAMS}", text, expected, "'pg_wal/*=1,base/*=2'")

    def _check_names(self, bench: Bench) -> None:
        """Check that texts name only settings that exist, and that every axis is used."""
        known = known_names(bench)
        used: set[str] = set()
        for key, text in (("command", bench.command), ("setup", bench.setup)):
            for name in names_in(text):
                if name not in known:
                    hint = f"{suggest(name, sorted(known))} {{{{{name}}}}} is text in braces"
                    self.refuse(f"bench.{key}", f"{{{name}}}", "the name of an axis", hint)
                used.add(name)
        for name in bench.axes:
            if name in {*bench.drive, *bench.run, "here", "repeat", "seed"}:
                self.refuse(f"axes.{name}", name, "a name of its own", f"my_{name}")
            if name not in used:
                hint = f'command = "... {{{name}}}"'
                self.refuse(f"axes.{name}", name, "an axis that the command or setup names", hint)


def patterns_of(text: Value | None) -> Patterns | None:
    """The patterns of files with streams in a setting; ``None`` for none.

    Raises :class:`flashgc.ConfigError` for anything else.
    """
    return None if text is None or text == "" else Patterns.parse(str(text))


def as_json(bench: Bench) -> dict[str, Json]:
    """The bench as plain values."""
    plain: Callable[[Any], Any] = lambda text: list(text) if isinstance(text, tuple) else text  # noqa: E731
    return {
        "file": str(bench.path),
        "command": plain(bench.command),
        "setup": plain(bench.setup),
        "unit": bench.unit,
        "count": bench.count.pattern,
        "json": bench.count.path,
        "repeats": bench.repeats,
        "seed": bench.seed,
        "against": bench.against,
        "axes": {name: list(values) for name, values in bench.axes.items()},
        "drive": {name: list(values) for name, values in bench.drive.items()},
        "run": {name: list(values) for name, values in bench.run.items()},
    }
