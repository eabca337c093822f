"""The state of a drive as programs show it; the drive is open in this process or in another one."""

from __future__ import annotations

import sys
from array import array
from dataclasses import dataclass
from typing import Any, Protocol, Self

#: The names of the states of a block; :attr:`Blocks.state` has indices into them.
STATES = ("erased", "open", "closed", "bad")


@dataclass(frozen=True)
class Blocks:
    """The blocks of a drive: a column per property, with one entry per block."""

    #: Index into :data:`STATES`.
    state: bytes
    #: The class for which the block was last opened.
    cls: bytes
    #: Number of live pages.
    valid: array[int]
    #: Number of zombies: live pages that the host will soon overwrite.
    zombies: array[int]
    #: Number of erases so far.
    erases: array[int]

    @classmethod
    def from_columns(
        cls, state: bytes, klass: bytes, valid: bytes, zombies: bytes, erases: bytes
    ) -> Self:
        """The blocks from columns of little-endian numbers of 1, 1, 4, 4 and 4 bytes."""
        return cls(
            state, klass, _numbers("I", valid), _numbers("I", zombies), _numbers("I", erases)
        )

    def __len__(self) -> int:
        return len(self.state)


def _numbers(kind: str, column: bytes) -> array[int]:
    numbers = array(kind)
    numbers.frombytes(column)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


class Source(Protocol):
    """A drive that can be asked for its state."""

    def stat(self) -> dict[str, Any]:
        """The state and the counts; see :meth:`flashgc.Device.stat`."""

    def blocks(self) -> Blocks:
        """All blocks."""
