"""A map of the blocks by the owners of their pages: where data lie, and whose pages were copied."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from flashgc import _core
from flashgc.device import code, making

#: The name for all owners together that have no colour of their own.
REST = "all others"


@dataclass(frozen=True)
class FlashMap:
    """The blocks of a drive at the end of a run, by the owners of their pages.

    A cell of the map is a block. On a drive with more than 16,384 blocks, a cell is several
    consecutive blocks. Counts of collections and copies are those of the command alone.
    """

    #: Names of the owners; the last is for all others together.
    owners: list[str]
    pages_per_block: int
    blocks_per_cell: int
    #: Number of live pages, by owner and cell.
    live: list[list[int]]
    #: Number of programmed pages whose data are no longer current, by cell. All other pages are
    #: erased.
    invalid: list[int]
    #: The share of live pages whose owner has the most live pages in their block; ``None`` without
    #: live pages.
    purity: float | None
    #: The number of collections, and of those that copied nothing.
    collections: int
    empty: int
    #: The number of collections that copied pages of each owner.
    victims: list[int]
    #: Number of pages copied, by their owner and by the owner of most invalid pages in the victim.
    #: The last column is for victims without an invalid page.
    company: list[list[int]]

    @property
    def copied(self) -> list[int]:
        """Pages copied, by owner."""
        return [sum(row) for row in self.company]


@dataclass(frozen=True)
class Layout:
    """The result of a replay on a simulated drive: its map, and counts that are checked."""

    map: FlashMap
    #: Number of live pages and of erases by block, and number of copied pages by owner.
    valid: list[int]
    erases: list[int]
    copied_of: list[int]

    @classmethod
    def of(
        cls,
        file: Path,
        trace: Path,
        owners: list[str],
        groups: list[int],
        counted: tuple[int, int],
        placement: tuple[str, list[int]] | None = None,
        recordings: Sequence[Path] = (),
    ) -> Self:
        """Replay ``trace``, whose writes are marked with owners, on a drive like that in ``file``.

        ``groups`` maps each owner's number to an index of ``owners``. Copies count if they make
        room for host pages from the first number of ``counted`` up to, but not including, the
        second. ``recordings`` have the streams that the host named, if any. ``placement`` replaces
        that of the drive; it has the stream of each of ``owners``.
        """
        configuration = making.configuration(file)
        written = code.loaded(file, configuration, allowed=any(configuration["outside"].values()))
        document: dict[str, Any] = json.loads(
            _core.device_owners(
                file, trace, groups, len(owners), counted, written, recordings, placement
            )
        )
        own = {name: document.pop(name) for name in ("valid", "erases", "copied_of")}
        purest, pages = document.pop("purest"), sum(own["valid"])
        map_ = FlashMap(
            owners=owners,
            pages_per_block=configuration["pages_per_block"],
            purity=purest / pages if pages else None,
            **document,
        )
        return cls(map_, **own)
