"""The drive as a power cut leaves it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from flashgc import _core
from flashgc.device import mounts
from flashgc.device.cutting.log import Log, Piece
from flashgc.device.cutting.places import Cut
from flashgc.device.cutting.recording import create


class Images:
    """Makes the file of the drive as cuts leave it. It is quickest where ``flushed`` only grows."""

    def __init__(self, folder: Path, log: Log, capacity: str) -> None:
        """Will use a scratch folder."""
        self._folder, self.log, self._capacity = folder, log, capacity
        self._base = folder / "base.flash"
        self._replay: _core.DeviceReplay | None = None
        self._done = 0

    def pieces(self, cut: Cut) -> list[Piece]:
        """The pieces of commands that the cut may lose."""
        return self.log.pieces(cut.flushed, cut.given)

    def make(self, cut: Cut, lost: Collection[int]) -> Path:
        """The file of a drive that has all before the cut but the ``lost`` pieces."""
        self._advance(cut.flushed)
        image = self._folder / "cut.flash"
        image.unlink(missing_ok=True)
        mounts.run("cp", "--sparse=always", str(self._base), str(image))
        gone = set(lost)
        kept = [piece for at, piece in enumerate(self.pieces(cut)) if at not in gone]
        if kept:
            left = self._folder / "left.log"
            end = self.log.write(kept, left)
            _core.DeviceReplay(left, image).advance(end)
        return image

    def _advance(self, count: int) -> None:
        """Does the first ``count`` commands of the log on the base, from the first if need be."""
        if self._replay is None or count < self._done:
            self._replay = None
            self._base.unlink(missing_ok=True)
            create(self._base, self._capacity)
            self._replay = _core.DeviceReplay(self.log.path, self._base)
        self._replay.advance(self.log.entries[count - 1].end if count else 0)
        self._done = count
