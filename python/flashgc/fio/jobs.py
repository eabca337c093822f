"""Reads a job file of fio: sections of settings, each with its place in the file.

The rules are those of fio: ``#`` and ``;`` begin a comment, also behind a setting. A key without a
value is a switch that is on. The settings of a section ``[global]`` hold for all sections behind
it, and a later ``[global]`` adds to them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from flashgc._core import ConfigError

#: Other names of fio for its keys.
ALIASES = {
    "readwrite": "rw",
    "blocksize": "bs",
    "blockalign": "blockalign",
    "ba": "blockalign",
    "blocksize_range": "bsrange",
    "blocksize_unaligned": "bs_unaligned",
    "fileoffset": "offset",
    "io_limit": "io_size",
    "timeout": "runtime",
    "nr_files": "nrfiles",
    "wait_for_previous": "stonewall",
    "fdp_pli": "plids",
    "fdp_pli_select": "plid_select",
    "data_placement": "dataplacement",
}


@dataclass(frozen=True)
class Setting:
    """A key with its value, and its place: the line and the columns, from 1."""

    key: str
    value: str
    path: str
    line: int
    column: int
    #: The column of the value, or of the key if there is no value.
    value_column: int

    def place(self) -> str:
        """The place of the key."""
        return f"{self.path}:{self.line}:{self.column}"

    def fault(self, text: str, hint: str = "", at: int = 0) -> ConfigError:
        """An error at character ``at`` of the value."""
        place = f"{self.path}:{self.line}:{self.value_column + at}"
        return ConfigError(f"{place}: {self.key}: {text}" + (f"; hint: {hint}" if hint else ""))


@dataclass
class Section:
    """A job: its name, and its settings with those of the global sections before it."""

    name: str
    line: int
    settings: dict[str, Setting] = field(default_factory=dict)

    def text(self, key: str) -> str | None:
        """The value of a key, or ``None`` if it is not set."""
        setting = self.settings.get(key)
        return None if setting is None else setting.value


def sections(text: str, path: str) -> list[Section]:
    r"""The jobs in the text of the file called ``path``.

    >>> [job.name for job in sections("[global]\nbs=8k\n[a]\nrw=write ; all\n[b]\n", "x")]
    ['a', 'b']
    """
    shared: dict[str, Setting] = {}
    jobs: list[Section] = []
    into: dict[str, Setting] | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.split("[;#]", raw, maxsplit=1)[0].rstrip()
        body = line.lstrip()
        column = len(line) - len(body) + 1
        if not body:
            continue
        at = f"{path}:{number}:{column}"
        if body.startswith("["):
            if not body.endswith("]") or len(body) < 3:
                raise ConfigError(f"{at}: found '{body}', expected a section; hint: [job]")
            name = body[1:-1]
            if name.startswith("global"):
                into = shared
            else:
                jobs.append(Section(name, number, dict(shared)))
                into = jobs[-1].settings
            continue
        if into is None:
            raise ConfigError(
                f"{at}: found '{body}' outside of a section; hint: begin with [global] or [job]"
            )
        if re.match(r"include\b", body):
            raise ConfigError(
                f"{at}: an included file is not read; hint: put its lines in place of this one"
            )
        _add(into, body, Setting("", "", path, number, column, column))
    if not jobs:
        raise ConfigError(f"{path}: the file has no job; hint: a section such as [job]")
    return jobs


def _add(into: dict[str, Setting], body: str, place: Setting) -> None:
    key, equals, value = body.partition("=")
    typed = key.strip().lower()
    name = ALIASES.get(typed, typed)
    if not re.fullmatch(r"[a-z0-9_]+", name):
        raise ConfigError(f"{place.place()}: found '{body}', expected a key or key=value")
    stripped = value.strip()
    behind = len(key) + 1 + len(value) - len(value.lstrip()) if equals else 0
    if equals and not stripped:
        raise ConfigError(f"{place.place()}: {name} has no value; hint: write {name}=VALUE")
    into[name] = Setting(
        name,
        stripped if equals else "1",
        place.path,
        place.line,
        place.column,
        place.column + behind,
    )


def switched(settings: Mapping[str, Setting], key: str) -> bool:
    """Return ``True`` if a switch is on."""
    setting = settings.get(key)
    if setting is None:
        return False
    if setting.value not in ("0", "1"):
        raise setting.fault(f"found '{setting.value}', expected 0 or 1")
    return setting.value == "1"
