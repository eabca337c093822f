"""The files that an experiment names, and the experiment with other names for them."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashgc import _core, _neighbours
from flashgc._core import ConfigError
from flashgc._schemes import SECTION, Scheme
from flashgc.policy_files import is_written, parted

#: Options that name a file other than a trace, by their paths.
FILES = ("workload.streams", "workload.relations", "workload.layout")
#: The option that names the trace.
TRACE = "workload.source"


@dataclass(frozen=True)
class UsedFile:
    """A file that an experiment names."""

    #: ``code``, ``trace`` or ``file``.
    kind: str
    path: str

    @property
    def beside(self) -> tuple[str, ...]:
        """The other files that it needs: those of its folder that code in Python imports."""
        if self.kind != "code":
            return ()
        _, beside = _neighbours.sources(self.path, lambda path: Path(path).read_bytes())
        return tuple(source.path for source in beside.values())


def renamed(values: Any, name: Callable[[UsedFile], str], path: str = "") -> Any:
    """``values`` of an experiment or a grid, with ``name`` of each file in place of its name."""
    if isinstance(values, Mapping):
        # The tables of schemes have keys as the section gc has.
        within = "gc" if path.startswith(f"{SECTION}.") else path
        inner = {key: f"{within}.{key}" if within else str(key) for key in values}
        return {key: renamed(value, name, inner[key]) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return [renamed(value, name, path) for value in values]
    if not isinstance(values, str):
        return values
    option = ".".join(path.split(".")[-2:])
    if option in ("gc.victim", "gc.placement"):
        return _code(values, name)
    if option == "gc.scheme":
        return _scheme(values, name)
    if option == TRACE:
        return name(UsedFile("trace", values)) if _core.is_trace(values) else values
    if option in FILES and os.path.isfile(values):
        return name(UsedFile("file", values))
    return values


def _code(text: str, name: Callable[[UsedFile], str]) -> str:
    if not is_written(text):
        return text
    written = parted(text, "the policy")
    return written.text(name(UsedFile("code", written.file)))


def _scheme(text: str, name: Callable[[UsedFile], str]) -> str:
    try:
        scheme = Scheme.parse(text)
    except ConfigError:
        return text  # The name of a table; the grid refuses what is none.
    victim, placement = (_code(spec, name) for spec in scheme.specs)
    moved = dataclasses.replace(scheme, victim=victim, placement=placement)
    return moved.couple if scheme.name == scheme.couple else moved.text


def files_of(values: Any) -> Iterator[UsedFile]:
    """The files that an experiment names, each once."""
    seen: dict[UsedFile, None] = {}

    def note(file: UsedFile) -> str:
        seen[file] = None
        return file.path

    renamed(values, note)
    return iter(seen)


def digest(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file, in hexadecimal digits; raises :class:`OSError`."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
