"""The folder of a bench: finished runs, drives with a past, and what is made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashgc import _files
from flashgc._core import ConfigError
from flashgc._documents import dumps
from flashgc.device import trust
from flashgc.device.benching.cells import Run

#: Version of a run's document: one of another version is run anew.
FORMAT = 2


@dataclass(frozen=True)
class Folder:
    """The folder in which a bench keeps its results."""

    path: Path

    @classmethod
    def make(cls, path: Path) -> Folder:
        """Make the folder with its parts, or take the one that is there."""
        if path.exists() and not path.is_dir():
            raise ConfigError(f"{path} is no folder; hint: --out DIR with another name")
        real = trust.make_parent(path)
        for part in ("runs", "images"):
            (real / part).mkdir(exist_ok=True)
        return cls(real)

    def image(self, key: str) -> Path:
        """The file of the drive with this key."""
        return self.path / "images" / f"{key}.flash"

    def log(self, run: Run) -> Path:
        """The file for the output of a run; that for errors lies beside it."""
        return self.path / "runs" / f"{run.name}.out"

    def document(self, run: Run) -> Path:
        """The file for the figures of a run."""
        return self.path / "runs" / f"{run.name}.json"

    def keep(self, run: Run, told: Mapping[str, Any]) -> None:
        """Keeps the figures of a finished run."""
        _files.write(str(self.document(run)), dumps({"format": FORMAT, **told}) + "\n")

    def kept(self, run: Run) -> dict[str, Any] | None:
        """The figures of a run that is finished; ``None`` of another.

        A document that is damaged, or of another version, is as good as none.
        """
        try:
            told: dict[str, Any] = json.loads(self.document(run).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(told, dict) or told.get("format") != FORMAT:
            return None
        return told

    def forget(self, runs: Sequence[Run]) -> None:
        """Removes the figures of runs, so that they run again."""
        for run in runs:
            self.document(run).unlink(missing_ok=True)

    def all_kept(self, runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
        """The figures of those of ``runs`` that are finished, by the names of the runs."""
        found = ((run.name, self.kept(run)) for run in runs)
        return {name: told for name, told in found if told is not None}
