"""The files that an experiment names, and the experiment with other names for them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashgc import _core, _neighbours
from flashgc._core import ConfigError
from flashgc._schemes import with_policies
from flashgc.policy_files import is_written, parted
from flashgc.store.identity import IN_SPEC

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
    """``values`` of an experiment or a grid, with ``name`` of each file in place of its name.

    Schemes are texts of their option, not tables; see :func:`flashgc._schemes.with_schemes`.
    """
    if isinstance(values, Mapping):
        return {key: renamed(value, name, f"{path}.{key}") for key, value in values.items()}
    if isinstance(values, list | tuple):
        return [renamed(value, name, path) for value in values]
    if not isinstance(values, str):
        return values
    option = ".".join(path.split(".")[-2:])
    if option in ("gc.victim", "gc.placement"):
        return _code(values, name)
    if option == "gc.scheme":
        return with_policies(values, lambda text: _code(text, name))
    if option == TRACE and _core.is_trace(values):
        return name(UsedFile("trace", values))
    if option == TRACE:
        return IN_SPEC.sub(lambda match: f"path={name(UsedFile('file', match[1]))}", values)
    if option in FILES and os.path.isfile(values):
        return name(UsedFile("file", values))
    return values


def _code(text: str, name: Callable[[UsedFile], str]) -> str:
    if not is_written(text):
        return text
    written = parted(text, "the policy")
    return written.text(name(UsedFile("code", written.file)))


def files_of(values: Any) -> Iterator[UsedFile]:
    """The files that an experiment names, each once."""
    seen: dict[UsedFile, None] = {}

    def note(file: UsedFile) -> str:
        seen[file] = None
        return file.path

    renamed(values, note)
    return iter(seen)


def check_whole(values: Mapping[str, Any], places: Mapping[str, str]) -> None:
    """Refuse an experiment that takes others from their files: a bundle has one."""
    own = values.get("sweep", {})
    if isinstance(own, Mapping) and "experiments" in own:
        place = places.get("sweep.experiments", "sweep.experiments")
        raise ConfigError(f"{place}: a bundle has one file; hint: write the experiments into it")


def within(root: Path, text: str) -> str:
    """``text`` with the names that files have in the bundle that lies in ``root``."""
    return text.replace(f"{root}{os.sep}", "")


def digest(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file, in hexadecimal digits; raises :class:`OSError`."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
