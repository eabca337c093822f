"""Runs a bundle again, and compares each figure."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from flashgc._core import ConfigError, Control
from flashgc._interruptions import interrupts_program
from flashgc._schemes import with_schemes
from flashgc.foreign import one_line
from flashgc.studies.bundles.files import check_whole, digest, files_of, renamed, within
from flashgc.studies.bundles.outcome import (
    ABOUT,
    EXPERIMENT,
    FORMAT,
    MANIFEST,
    Verdict,
    Verified,
)  # fmt: skip
from flashgc.studies.study import Progress
from flashgc.studies.sweep.outcome import Swept
from flashgc.studies.sweep.sweep import sweep

#: The most bytes of a file in a bundle, without traces.
_LARGEST = 64 << 20
#: A name of a file in a bundle: it stays in its folder.
_NAME = re.compile(r"(?!.*(?:^|/)\.\.?(?:/|$))[\w.+ -]+(?:/[\w.+ -]+)*")


@interrupts_program
def verify(
    path: str | os.PathLike[str],
    *,
    traces: Sequence[str | os.PathLike[str]] = (),
    allow_python: bool = False,
    jobs: int | str = 0,
    progress: Progress | None = None,
    control: Control | None = None,
) -> Verified:
    """Run a bundle again from its own files, and compare the figures of each cell.

    ``traces`` are files for the traces of which the bundle has the digest alone. Code in the bundle
    runs with your rights, and only with ``allow_python``. Nothing is left behind.

    Raises :class:`flashgc.ConfigError` for a file that is no bundle, for one of which a byte was
    changed, and for code without permission.
    """
    name = os.fspath(path)
    with tempfile.TemporaryDirectory(prefix="flashgc-verify-") as folder:
        root = Path(folder)
        manifest = _unpacked(name, root)
        values = _experiment(name, root)
        files = list(files_of(values))
        code = [file.path for file in files if file.kind == "code"]
        if code and not allow_python:
            raise ConfigError(
                f"{one_line(name)} has code, which would run with your rights: "
                f"{', '.join(code)}; hint: --allow-python if you trust it (in Python: "
                "allow_python=True)"
            )
        paths = _traces(manifest["traces"], traces)
        missing = [trace for trace in manifest["traces"] if trace not in paths]
        for file in files:
            if file.path not in manifest["files"] and file.path not in manifest["traces"]:
                _refuse(name, f"{EXPERIMENT} names {one_line(file.path)}, which is not in it")
        if missing:
            verdicts = tuple(
                Verdict(_place(cell), "not run", _absent(missing, manifest["traces"]))
                for cell in manifest["cells"]
            )
            return Verified(name, verdicts, manifest["version"])
        here = renamed(values, lambda file: paths.get(file.path) or str(root / file.path))
        swept = sweep(
            here, results=root / ".results", jobs=jobs, progress=progress, control=control
        )
        if len(swept) != len(manifest["cells"]):
            _refuse(name, f"{EXPERIMENT} has {len(swept)} cells, {MANIFEST} "
                          f"{len(manifest['cells'])}")  # fmt: skip
        pairs = zip(manifest["cells"], swept, strict=True)
        verdicts = tuple(_judged(expected, cell, root) for expected, cell in pairs)
    return Verified(name, verdicts, manifest["version"], swept.interrupted)


def _experiment(name: str, root: Path) -> dict[str, Any]:
    """The experiment, with its schemes as texts."""
    try:
        values = json.loads((root / EXPERIMENT).read_bytes())
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        _refuse(name, f"{EXPERIMENT} is no experiment")
    values, _ = with_schemes(values, {})
    check_whole(values, {})
    return values


def _refuse(name: str, fault: str) -> NoReturn:
    raise ConfigError(
        f"{one_line(name)}: {fault}; hint: get the file again from where it was published"
    )


def _unpacked(name: str, root: Path) -> dict[str, Any]:
    """Check the files of a bundle against its manifest, write them into ``root``."""
    try:
        packed = zipfile.ZipFile(name)
    except OSError as error:
        raise ConfigError(f"{one_line(name)}: {error.strerror}; hint: give a bundle") from None
    except zipfile.BadZipFile:
        _refuse(name, "is no bundle, or is cut off")
    with packed:
        entries = {entry.filename: entry for entry in packed.infolist()}

        def content(entry: str) -> bytes:
            if entries[entry].file_size > _LARGEST and not entry.startswith("traces/"):
                _refuse(name, f"{one_line(entry)} has {entries[entry].file_size} bytes")
            try:
                return packed.read(entry)
            except Exception as error:  # One of zipfile, of zlib or of the system.
                _refuse(name, f"{one_line(entry)} is damaged: {one_line(str(error))}")

        if MANIFEST not in entries:
            _refuse(name, f"has no {MANIFEST}, so it is no bundle")
        try:
            manifest = json.loads(content(MANIFEST))
            version, files = manifest[FORMAT], manifest["files"]
            traces, cells = manifest["traces"], manifest["cells"]
            manifest["version"], _ = str(manifest["version"]), [_place(cell) for cell in cells]
            shaped = _texts(files) and _texts(traces) and all(map(_is_expected, cells))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            _refuse(name, f"{MANIFEST} is damaged")
        if version != 1:
            raise ConfigError(
                f"{one_line(name)}: its form is {one_line(str(version))}, expected 1; "
                "hint: a later flashgc"
            )
        if not shaped or EXPERIMENT not in files:
            _refuse(name, f"{MANIFEST} is damaged")
        for entry in sorted(entries.keys() - {MANIFEST, ABOUT} - files.keys()):
            _refuse(name, f"{one_line(entry)} is not in {MANIFEST}")
        for entry, expected in files.items():
            if _NAME.fullmatch(entry) is None:
                _refuse(name, f"{one_line(entry)} is no name of a file in a bundle")
            if entry not in entries:
                _refuse(name, f"{one_line(entry)} is missing")
            bytes_ = content(entry)
            if hashlib.sha256(bytes_).hexdigest() != expected:
                _refuse(name, f"{one_line(entry)} was changed: its SHA-256 is another one")
            target = root / entry
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(bytes_)
    return dict(manifest)


def _traces(wanted: Mapping[str, str], given: Sequence[str | os.PathLike[str]]) -> dict[str, str]:
    """The given file of each wanted trace, by the trace's name in the bundle."""
    by_digest = {}
    for path in given:
        try:
            by_digest[digest(path)] = os.path.abspath(path)
        except OSError as error:
            raise ConfigError(
                f"{one_line(os.fspath(path))}: {error.strerror}; hint: give the file of a trace"
            ) from None
    return {name: by_digest[sha] for name, sha in wanted.items() if sha in by_digest}


def _absent(missing: Sequence[str], digests: Mapping[str, str]) -> str:
    first = missing[0]
    more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
    return f"needs --trace {first.rsplit('/', 1)[-1]}, whose SHA-256 is {digests[first]}{more}"


def _texts(names: Any) -> bool:
    """True for a mapping of texts to texts."""
    return isinstance(names, dict) and all(isinstance(value, str) for value in names.values())


def _is_expected(cell: Mapping[str, Any]) -> bool:
    """True for a cell with figures, or with a reason why it cannot run."""
    if "cannot" in cell:
        return True
    is_number = isinstance(cell["write_amplification"], int | float)
    return is_number and isinstance(cell["digest"], str)


def _place(cell: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in cell["at"].items()) or "the only cell"


def _judged(expected: Mapping[str, Any], cell: Swept, root: Path) -> Verdict:
    place = _place(expected)
    if cell.status == "missing":
        return Verdict(place, "not run", "stopped before")
    if "cannot" in expected:
        if cell.status == "cannot":
            return Verdict(place, "agrees", "cannot run, as expected")
        return Verdict(place, "differs", "expected that it cannot run")
    if cell.status != "result":
        return Verdict(place, "differs", one_line(within(root, cell.reason)))
    amplification = cell.figures["write_amplification"]
    if cell.figures["digest"] == expected["digest"]:
        return Verdict(place, "agrees", f"write amplification {amplification:.4f}")
    return Verdict(
        place,
        "differs",
        f"expected write amplification {expected['write_amplification']:.6g} (digest "
        f"{expected['digest']}), found {amplification:.6g} ({cell.figures['digest']})",
    )
