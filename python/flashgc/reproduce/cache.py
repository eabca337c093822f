"""Finished simulations on disk, one file each, so that stopped work goes on where it was.

A file is written whole or not at all, and read back only if it is whole, of this version, of this
build of the engine and of exactly this configuration: anything else is run again. Several
processes may use one folder at once.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from flashgc import _core, _files


class Cache:
    """Results of simulations in a folder, by configuration."""

    def __init__(self, folder: Path, mutant: str = "") -> None:
        """Makes the folder; raises :class:`OSError` where that cannot be.

        ``mutant`` is the fault in the engine whose results these are; empty for right results.
        """
        #: Where the files are; folders in it are others'.
        self.folder = folder
        self._mutant = mutant
        folder.mkdir(parents=True, exist_ok=True)

    def of(self, mutant: str) -> Cache:
        """The results of an engine with this fault, in the same folder."""
        return Cache(self.folder, mutant)

    def path(self, config: dict[str, Any]) -> Path:
        """The file of a configuration's result."""
        return self.folder / f"{_digest(self._identity(config))}.json"

    def load(self, config: dict[str, Any]) -> dict[str, Any] | None:
        """The result, if a whole one of this configuration and version is there."""
        try:
            entry = json.loads(self.path(config).read_bytes())
            result = entry["result"]
            whole = entry["checksum"] == _digest(result) and entry["of"] == self._identity(config)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return result if whole and isinstance(result, dict) else None

    def store(self, config: dict[str, Any], result: dict[str, Any]) -> None:
        """Keeps a result; raises :class:`OSError` where that cannot be."""
        entry = {"of": self._identity(config), "checksum": _digest(result), "result": result}
        _files.write(str(self.path(config)), json.dumps(entry, indent=1))

    def _identity(self, config: dict[str, Any]) -> dict[str, Any]:
        """All that a result depends on."""
        return {
            "version": _core.version(),
            "engine": _engine_digest(),
            "mutant": self._mutant,
            "config": config,
            "files": {name: _stamp(name) for name in files_of(config)},
        }


def files_of(config: dict[str, Any]) -> list[str]:
    """The files that a configuration's workload reads.

    >>> files_of({"workload": "frequency:path=a.csv"})
    ['a.csv']
    """
    workload = config["workload"]
    if _core.is_trace(workload):
        return [workload]
    return re.findall(r"\bpath=([^,\s]+)", workload)


def _stamp(name: str) -> list[int]:
    try:
        status = os.stat(name)
    except OSError:
        return []
    return [status.st_size, status.st_mtime_ns]


@functools.cache
def _engine_digest() -> str:
    """Of the engine as it was built: one that is built anew need not give the same digits."""
    return hashlib.blake2b(Path(_core.__file__).read_bytes(), digest_size=16).hexdigest()


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
