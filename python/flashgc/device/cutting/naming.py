"""The files that pages of a drive belong to, as the file system says."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flashgc.device.cutting.log import PAGE, Piece

#: The request for the extents of a file, and its parts (linux/fiemap.h).
_FIEMAP = 0xC020660B
_HEAD, _EXTENT = struct.Struct("=QQIIII"), struct.Struct("=QQQQQIIII")

#: Write back first. Extents that are unknown, not yet placed, or inside of an inode.
_SYNC, _NO_PLACE = 0x1, 0x2 | 0x4 | 0x200

#: Extents of a file that are asked for.
_MOST = 512


@dataclass(frozen=True, slots=True)
class Extent:
    """A piece of a file: its first byte there, and its bytes on the drive."""

    file: str
    logical: int
    physical: int
    length: int


def extents(folder: Path) -> list[Extent]:
    """Return the extents of all files below ``folder``, by their names from there."""
    found = []
    for at, _, names in os.walk(folder):
        for name in names:
            path = Path(at) / name
            if path.is_symlink() or not path.is_file():
                continue
            file = os.fspath(path.relative_to(folder))
            found += [Extent(file, *extent) for extent in _of(path)]
    return found


def _of(path: Path) -> Iterator[tuple[int, int, int]]:
    import fcntl

    held = bytearray(_HEAD.pack(0, (1 << 64) - 1, _SYNC, 0, _MOST, 0) + bytes(_MOST * _EXTENT.size))
    with open(path, "rb") as file:
        fcntl.ioctl(file.fileno(), _FIEMAP, held)
    count = _HEAD.unpack_from(held)[3]
    for number in range(count):
        fields = _EXTENT.unpack_from(held, _HEAD.size + number * _EXTENT.size)
        logical, physical, length, _, _, flags, *_ = fields
        if not flags & _NO_PLACE:
            yield logical, physical, length


def told(piece: Piece, known: list[Extent]) -> str:
    """The piece in words, with the file that it belongs to where that is ``known``."""
    if piece.data is None:
        return piece.told
    for extent in known:
        inside = piece.page * PAGE - extent.physical
        if 0 <= inside < extent.length:
            return f"{piece.told} ({extent.file}, byte {extent.logical + inside})"
    return piece.told
