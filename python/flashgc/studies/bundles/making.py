"""Writes a bundle: the experiment, its files and its figures."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from flashgc import _core, _files
from flashgc._core import ConfigError, Control
from flashgc._interruptions import interrupts_program
from flashgc._schemes import with_schemes
from flashgc.experiment_file import load
from flashgc.policy_files import announce, python_policies
from flashgc.studies.bundles.files import UsedFile, check_whole, digest, files_of, renamed, within
from flashgc.studies.bundles.outcome import ABOUT, EXPERIMENT, FORMAT, MANIFEST, TEXT, Bundle
from flashgc.studies.study import Progress
from flashgc.studies.sweep.outcome import Sweep, Swept
from flashgc.studies.sweep.sweep import sweep

#: The time of each entry of the file, so that the same content has the same bytes.
_MADE = (1980, 1, 1, 0, 0, 0)
#: The text with which a stranger begins.
_READ_ME = """\
An experiment of flashgc {version}, with its code and the figures that it had.

    flashgc verify THIS.zip

runs it again and says line by line what agrees. {MANIFEST} has the digests of all files, and the
figures. {TEXT} is the experiment as it was written, {EXPERIMENT} the same with the names that its
files have here.
"""


@interrupts_program
def bundle(
    experiment: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    traces: bool = False,
    jobs: int | str = 0,
    progress: Progress | None = None,
    control: Control | None = None,
) -> Bundle:
    """Run an experiment, and write it into one file with its code and its figures.

    ``experiment`` is a file as :func:`flashgc.sweep` takes it, so lists are axes. ``out`` is a zip
    file, which is written as a whole, or not at all. Policies in files go into it, with what they
    import from their folder. Of traces it has the digests, and with ``traces`` the traces, too. The
    runs use the files of the bundle alone.

    Ctrl-C stops the runs, and nothing is written. Raises :class:`flashgc.ConfigError` and
    :class:`OSError`.
    """
    path = Path(experiment)
    values, places = with_schemes(*load(path))
    _check(values, places)
    _files.check(os.fspath(out), "out", "paper.zip")
    announce((text, place) for _, text, place in python_policies(values.get("gc"), places))
    with tempfile.TemporaryDirectory(prefix="flashgc-bundle-") as folder:
        root = Path(folder)
        moved, absent = _gathered(values, root, traces=traces)
        (root / TEXT).write_bytes(path.read_bytes())
        _write_json(root / EXPERIMENT, moved)
        here = renamed(moved, lambda file: absent.get(file.path) or str(root / file.path))
        swept = sweep(
            here,
            results=root / ".results",
            jobs=jobs,
            progress=progress,
            control=control,
        )
        (root / ".results").unlink(missing_ok=True)
        failed = [cell for cell in swept if cell.status not in ("result", "cannot")]
        if failed:
            raise ConfigError(f"{path}: a cell has no result: {failed[0].reason or 'stopped'}")
        kept = {name: digest(original) for name, original in absent.items()}
        manifest = _manifest(root, swept, kept)
        (root / ABOUT).write_text(
            _READ_ME.format(
                version=_core.version(), MANIFEST=MANIFEST, TEXT=TEXT, EXPERIMENT=EXPERIMENT
            )
        )
        _write_json(root / MANIFEST, manifest)
        _files.write(os.fspath(out), _packed(root))
    return Bundle(os.fspath(out), len(swept), tuple(manifest["files"]), tuple(kept))


def _check(values: dict[str, Any], places: dict[str, str]) -> None:
    """Refuse what no bundle has: experiments in other files, and files that are not there."""
    check_whole(values, places)
    for file in files_of(values):
        if not os.path.isfile(file.path):
            raise ConfigError(f"{file.path}: no such file; hint: check the path")


def _gathered(
    values: dict[str, Any], root: Path, *, traces: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """Copy the files into ``root``, and return the values with the names that they have there.

    Traces that are not copied are in the second mapping: their original path by their name.
    """
    names: dict[UsedFile, str] = {}
    absent: dict[str, str] = {}
    for number, file in enumerate(files_of(values)):
        folder = f"{'traces' if file.kind == 'trace' else file.kind}/{number}"
        name = f"{folder}/{os.path.basename(file.path)}"
        names[file] = name
        if file.kind == "trace" and not traces:
            absent[name] = os.path.abspath(file.path)
            continue
        base = os.path.dirname(file.path)
        for source in (file.path, *file.beside):
            target = root / folder / os.path.relpath(source, base)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    return renamed(values, names.__getitem__), absent


def _manifest(root: Path, swept: Sweep, absent: dict[str, str]) -> dict[str, Any]:
    files = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    return {
        FORMAT: 1,
        "version": _core.version(),
        "files": {name: digest(root / name) for name in files},
        "traces": absent,
        "cells": [_cell(cell, root) for cell in swept],
    }


def _cell(cell: Swept, root: Path) -> dict[str, Any]:
    at = {name: within(root, str(value)) for name, value in cell.at.items()}
    if cell.status == "cannot":
        return {"at": at, "cannot": within(root, cell.reason)}
    return {
        "at": at,
        "digest": cell.figures["digest"],
        "write_amplification": cell.figures["write_amplification"],
    }


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")


def _packed(root: Path) -> bytes:
    """The folder as a zip file; the same content has the same bytes."""
    import io

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(root.rglob("*")):
            if path.is_file():
                name = path.relative_to(root).as_posix()
                file.writestr(zipfile.ZipInfo(name, _MADE), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return packed.getvalue()
