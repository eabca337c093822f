"""Cells, one for each choice of settings, and the order in which their repeats run."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashgc import _files
from flashgc._core import ConfigError, version
from flashgc._documents import dumps
from flashgc.device import trust
from flashgc.device.benching.file import STREAMS, Bench, Value, patterns_of
from flashgc.device.benching.texts import contents, shown, words_of

#: Format version of a run's document. A run whose document has another version runs again.
FORMAT = 2


@dataclass(frozen=True)
class Folder:
    """The folder in which a bench keeps its results."""

    path: Path

    @classmethod
    def make(cls, path: Path) -> Folder:
        """Make the folder with its parts, or use the existing folder."""
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
        """The file for the standard output of a run; the file for its errors is beside it."""
        return self.path / "runs" / f"{run.name}.out"

    def document(self, run: Run) -> Path:
        """The file for the figures of a run."""
        return self.path / "runs" / f"{run.name}.json"

    def keep(self, run: Run, document: Mapping[str, Any]) -> None:
        """Keeps the figures of a finished run."""
        _files.write(str(self.document(run)), dumps({"format": FORMAT, **document}) + "\n")

    def kept(self, run: Run) -> dict[str, Any] | None:
        """The figures of a run that is finished, or ``None``.

        A document that is damaged, or has another version, counts as missing.
        """
        try:
            document: dict[str, Any] = json.loads(self.document(run).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            return None
        return document

    def forget(self, runs: Sequence[Run]) -> None:
        """Removes the figures of runs, so that they run again."""
        for run in runs:
            self.document(run).unlink(missing_ok=True)

    def all_kept(self, runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
        """The figures of the finished runs among ``runs``, by the names of the runs."""
        documents = ((run.name, self.kept(run)) for run in runs)
        return {name: document for name, document in documents if document is not None}


#: Length of a key, in characters.
KEY = 16


@dataclass(frozen=True)
class Cell:
    """One choice of settings."""

    #: Its number, from 0, in the order of the file.
    number: int
    #: The settings of the cell by section; ``varied`` has those that differ between cells.
    axes: Mapping[str, Value]
    drive: Mapping[str, Value]
    run: Mapping[str, Value]
    varied: Mapping[str, Value]

    @property
    def name(self) -> str:
        """The settings in which the cell differs from others, in one line."""
        return (
            " ".join(f"{name}={shown(value)}" for name, value in self.varied.items())
            or "the command"
        )

    @property
    def image(self) -> str:
        """The key of the drive on which the cell runs."""
        return digest({**self.drive, "version": version()})


@dataclass(frozen=True)
class Run:
    """One run of a cell."""

    cell: Cell
    repeat: int
    words: tuple[str, ...]
    setup: tuple[str, ...] | None
    #: The digest of everything that the run depends on.
    key: str

    @property
    def name(self) -> str:
        """The name of the run's files, without extension."""
        return f"{self.key}-{self.repeat}"


def digest(document: Mapping[str, Any]) -> str:
    """A short digest of plain values."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY]


def cells_of(bench: Bench) -> list[Cell]:
    """The cells of ``bench``: the last axis of the file changes fastest."""
    sections = [("axes", bench.axes), ("drive", bench.drive), ("run", bench.run)]
    every = [(part, name, values) for part, axes in sections for name, values in axes.items()]
    varied, cells = set(bench.varied), []
    for number, chosen in enumerate(itertools.product(*(values for _, _, values in every))):
        parts: dict[str, dict[str, Value]] = {"axes": {}, "drive": {}, "run": {}}
        for (part, name, _), value in zip(every, chosen, strict=True):
            parts[part][name] = value
        all_ = {**parts["axes"], **parts["drive"], **parts["run"]}
        differ = {name: value for name, value in all_.items() if name in varied}
        patterns = patterns_of(parts["run"].get(STREAMS))
        if patterns is not None and not {"placement", "preset"} & parts["drive"].keys():
            parts["drive"]["placement"] = patterns.placement
        cells.append(Cell(number, parts["axes"], parts["drive"], parts["run"], differ))
    return cells


def reference(bench: Bench, cells: Sequence[Cell]) -> int:
    """The index in ``cells`` of the cell with which others are compared.

    Raises :class:`flashgc.ConfigError` if the setting names no cell, or several.
    """
    text = bench.against
    if text is None:
        return 0
    where = bench.places.get("bench.against", "--against")
    if text.strip().isdecimal():
        matches = [at for at in range(len(cells)) if at + 1 == int(text)]
    else:
        wanted = settings_of(text, where)
        matches = [
            at
            for at, cell in enumerate(cells)
            if wanted.items() <= {key: shown(value) for key, value in cell.varied.items()}.items()
        ]
    if len(matches) != 1:
        what = "no cell" if not matches else f"{len(matches)} cells"
        names = "; ".join(f"{at + 1} or {cell.name}" for at, cell in enumerate(cells[:3]))
        raise ConfigError(f"{where}: '{text}' means {what}, expected one; hint: {names}")
    return matches[0]


def settings_of(text: str, where: str) -> dict[str, str]:
    """The settings in a text, such as ``size=4096 victim=greedy``, with commas or blanks between.

    Raises :class:`flashgc.ConfigError` for anything else.
    """
    entries = {}
    for word in text.replace(",", " ").split():
        name, equals, value = word.partition("=")
        if not equals:
            raise ConfigError(f"{where}: found '{word}', expected NAME=VALUE of a cell")
        entries[name] = value
    return entries


def order(bench: Bench) -> list[Run]:
    """The runs of ``bench`` in the order in which they execute.

    All cells have their first repeat before any has its second, so that a change of the machine
    affects all cells alike. The order of the cells is shuffled by the seed. Each round begins
    further along that order, by an equal share of the cells, so that no cell is always the first.
    """
    cells, files = cells_of(bench), contents(bench)
    shuffled = random.Random(bench.seed).sample(cells, len(cells))
    step = max(1, round(len(cells) / bench.repeats))
    runs = []
    for repeat in range(bench.repeats):
        first = repeat * step % len(cells)
        runs += [run_of(bench, cell, repeat, files) for cell in shuffled[first:] + shuffled[:first]]
    return runs


def run_of(bench: Bench, cell: Cell, repeat: int, files: Mapping[str, str]) -> Run:
    """The run of a cell; ``files`` has the digests of the files that the bench reads, by name."""
    values = {
        **cell.axes,
        **cell.drive,
        **cell.run,
        "here": bench.here,
        "repeat": repeat,
        "seed": bench.seed + repeat,
    }
    words = words_of(bench.command, values)
    setup = None if bench.setup is None else words_of(bench.setup, values)
    captions = {
        "words": words,
        "setup": setup,
        "drive": dict(cell.drive),
        "run": dict(cell.run),
        "count": [bench.count.pattern, bench.count.path],
        "files": dict(files),
        "repeat": repeat,
        "version": version(),
    }
    return Run(cell, repeat, words, setup, digest(captions))
