"""The facts that are shown of a drive, wherever that drive is."""

from __future__ import annotations

import sys
from array import array
from dataclasses import dataclass
from typing import Any, Protocol, Self

#: The states of a block, by the numbers of :attr:`Blocks.state`.
STATES = ("erased", "open", "closed", "bad")


@dataclass(frozen=True)
class Blocks:
    """The blocks of a drive, one entry a block in each column."""

    #: Index into :data:`STATES`.
    state: bytes
    #: The class that the block was opened for last.
    cls: bytes
    #: Pages with current data.
    valid: array[int]
    #: Zombies among them: pages that the host will overwrite soon.
    zombies: array[int]
    #: Erases so far.
    erases: array[int]

    @classmethod
    def from_columns(
        cls, state: bytes, klass: bytes, valid: bytes, zombies: bytes, erases: bytes
    ) -> Self:
        """The blocks with these columns, numbers little endian: 1, 1, 2, 2 and 4 bytes."""
        return cls(
            state, klass, _numbers("H", valid), _numbers("H", zombies), _numbers("I", erases)
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
    """A drive that says what it does."""

    def stat(self) -> dict[str, Any]:
        """The state and the counts; see :meth:`flashgc.Device.stat`."""

    def blocks(self) -> Blocks:
        """All blocks."""
