"""The map of the blocks by the owners of their pages: where data lie, and whose were copied."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from flashgc import _core
from flashgc.device import code, making

#: The owners without a colour of their own, together.
REST = "all others"


@dataclass(frozen=True)
class FlashMap:
    """The blocks of a drive at the end of a run, by the owners of their pages.

    A cell is a block, or several with numbers in a row where a drive has more than 16,384. Counts
    of collections and copies are those of the command.
    """

    #: The owners by name; the last one is all others together.
    owners: list[str]
    pages_per_block: int
    blocks_per_cell: int
    #: Pages with current data, by owner and cell.
    live: list[list[int]]
    #: Pages programmed whose data are not current, by cell. All others are erased.
    invalid: list[int]
    #: The share of the current pages whose owner has the most of them in their block; ``None``
    #: where there are none.
    purity: float | None
    #: Collections, and those that copied nothing.
    collections: int
    empty: int
    #: Collections that copied pages of each owner.
    victims: list[int]
    #: Pages copied, by owner and by the owner of the most invalid pages in the block that they
    #: left. The last column is for blocks without an invalid page.
    company: list[list[int]]

    @property
    def copied(self) -> list[int]:
        """Pages copied, by owner."""
        return [sum(row) for row in self.company]


@dataclass(frozen=True)
class Layout:
    """A replay on the page store of a drive: its map, and its counts to compare with others."""

    map: FlashMap
    #: Current pages and erases by block, and copied pages by the number of the owner.
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
        """The replay of ``trace``, whose writes are named by owners, on a drive like ``file``.

        ``groups`` has the place in ``owners`` of each number of an owner. Copies count that
        make room for the host's pages from the first of ``counted`` to before the second.
        ``recordings`` have the streams that the host named, if it named some. ``placement`` is one
        in place of the drive's, with the stream of each of ``owners``.
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
