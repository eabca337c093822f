"""The folder of a run of cuts: the log, the acknowledgements, and the result of each cut.

A run that was stopped goes on from the folder. Nothing in the folder is executed: the command and
the check are always those that the user typed, and must be the same as when the folder was made.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from flashgc._core import ConfigError
from flashgc.device import trust
from flashgc.device.cutting.recording import Recording

#: Files of the folder.
ASKED, LOG, CUTS = "cut-test.json", "drive.log", "cuts.jsonl"
#: The report on the smallest cut that breaks a promise, and the drive after that cut.
SMALLEST, IMAGE = "smallest.json", "smallest.flash"

#: Format version. Raise it when a folder of an older version can no longer be used.
FORMAT = 1


@dataclass(frozen=True)
class Request:
    """The parameters of a run of cuts, without the number of cuts."""

    command: list[str]
    check: str
    filesystem: str
    capacity: str
    seed: int


@dataclass(frozen=True)
class Result:
    """The result of one cut. Commands are numbered from the first one that the drive was given."""

    number: int
    #: The number of commands before the cut, and of those that the last flush made durable.
    given: int
    flushed: int
    is_at_flush: bool
    #: The number of pieces of commands since that flush, and of pieces that the cut lost.
    pieces: int
    lost: int
    #: The number of lines that were acknowledged before the cut.
    acknowledged: int
    #: The broken promise; ``None`` if the check passed. ``said`` is the end of the check's output.
    why: str | None
    said: str


class Kept:
    """An open folder of a run, locked for one process at a time."""

    def __init__(self, folder: Path, request: Request) -> None:
        """Make the folder, or go on in it.

        Raises :class:`flashgc.ConfigError` if the folder is in use, or belongs to another run.
        """
        import fcntl

        was_there = folder.exists()
        folder = trust.make_folder(folder)
        if not was_there:  # The log has the command's data, so only this user may read the folder.
            folder.chmod(0o700)
        self.folder, self._asked = folder, request
        self._held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ConfigError(
                    f"--keep: {folder} is in use by another process; hint: wait, or name another"
                ) from None
            self.recording = self._read()
            if self.recording is None:
                self._begin()
        except BaseException:
            os.close(self._held)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._held)

    @property
    def log(self) -> Path:
        """The log of the drive's commands."""
        return self.folder / LOG

    @property
    def image(self) -> Path:
        """The drive after the smallest cut that breaks a promise."""
        return self.folder / IMAGE

    def _read(self) -> Recording | None:
        """The recording that the folder has; ``None`` if it has none yet."""
        try:
            document = json.loads((self.folder / ASKED).read_text(encoding="utf-8"))
            recording = document["recording"] and Recording.of(document["recording"])
            before, kept_format = dict(document["asked"]), document["format"]
        except FileNotFoundError:
            if any(path.name != f"{ASKED}.tmp" for path in self.folder.iterdir()):
                raise ConfigError(
                    f"--keep: {self.folder} has other files; hint: name an empty or a new folder"
                ) from None
            return None
        except (ValueError, TypeError, KeyError):
            raise ConfigError(
                f"--keep: {self.folder / ASKED} is damaged; hint: remove the folder"
            ) from None
        if recording is None:
            return None
        if kept_format != FORMAT:
            raise ConfigError(f"--keep: another version made {self.folder}; hint: name another")
        for key, value in asdict(self._asked).items():
            if before.get(key) != value:
                raise ConfigError(
                    f"--keep: {self.folder} has a run with {key} {_quoted(before.get(key))}, found "
                    f"{_quoted(value)}; hint: name another folder"
                )
        return recording

    def _begin(self) -> None:
        for name in (LOG, CUTS, SMALLEST, IMAGE):
            (self.folder / name).unlink(missing_ok=True)
        self._write(ASKED, self._document(None))

    def _document(self, recording: Recording | None) -> dict[str, Any]:
        document = None if recording is None else recording.to_dict()
        return {"format": FORMAT, "asked": asdict(self._asked), "recording": document}

    def _write(self, name: str, document: dict[str, Any]) -> None:
        partial = self.folder / f"{name}.tmp"
        partial.write_text(json.dumps(document), encoding="utf-8")
        partial.replace(self.folder / name)

    def keep(self, recording: Recording) -> None:
        """Keep the recording. Its log must be complete."""
        self._write(ASKED, self._document(recording))
        self.recording = recording

    def results(self) -> dict[int, Result]:
        """Return the results of the cuts that are done, by number."""
        try:
            lines = (self.folder / CUTS).read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return {}
        if lines and not lines[-1].endswith(b"\n"):  # An earlier process was killed as it wrote.
            lines.pop()
            (self.folder / CUTS).write_bytes(b"".join(lines))
        try:
            results = [Result(**json.loads(line)) for line in lines]
        except (ValueError, TypeError):
            raise ConfigError(
                f"--keep: {self.folder / CUTS} is damaged; hint: remove that file"
            ) from None
        return {result.number: result for result in results}

    def add(self, result: Result) -> None:
        """Keep the result of a cut."""
        with open(self.folder / CUTS, "a", encoding="utf-8") as file:
            file.write(f"{json.dumps(asdict(result))}\n")

    def smallest(self) -> dict[str, Any]:
        """Return the report on the smallest cut that was found before; empty if there is none."""
        try:
            document: dict[str, Any] = json.loads(
                (self.folder / SMALLEST).read_text(encoding="utf-8")
            )
        except (FileNotFoundError, ValueError):
            return {}
        return document

    def keep_smallest(self, document: dict[str, Any]) -> None:
        """Keep the report on the smallest cut."""
        self._write(SMALLEST, document)


def _quoted(value: object) -> str:
    return " ".join(value) if isinstance(value, list) else f"{value}"
