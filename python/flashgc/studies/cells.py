"""Simulations that run side by side, each in a call of its own, and are kept as they come."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from flashgc._core import Control
from flashgc.progress import Show
from flashgc.store import Contents, Kept, Store, check_unchanged
from flashgc.studies.cell import simulate_cell
from flashgc.studies.executing import Execution, Work
from flashgc.studies.study import Study


@dataclass(frozen=True)
class Cell:
    """A simulation that is to be run."""

    key: str
    #: Its place among all of the study.
    place: int
    #: The time that it takes beside the others.
    cost: float
    #: The values that a person gave for it.
    asked: Mapping[str, Any] | None = None


class Cells(Study):
    """Cells of a study; a file of results has those of earlier work."""

    def __init__(
        self,
        store: Store,
        work: str,
        *,
        retry: bool,
        show: Show | None,
        control: Control | None,
    ) -> None:
        """``work`` is the command; ``retry`` runs those again that failed in earlier work."""
        super().__init__(show, control)
        self.store, self._work, self._retry = store, work, retry

    def known(self, keys: Sequence[str]) -> dict[str, str]:
        """The status of each cell that is not to be run."""
        found = self.store.statuses(keys).items()
        return {key: status for key, status in found if not (self._retry and status == "failed")}

    def run(
        self,
        cells: Sequence[Cell],
        config: Callable[[Cell], dict[str, Any]],
        executor: Executor,
        *,
        work: Work = simulate_cell,
        contents: Contents | None = None,
        told: Callable[[Cell, Kept], None] | None = None,
    ) -> None:
        """Runs cells, the longest first: no core waits for a long one at the end.

        ``config`` makes the configuration of a cell, ``told`` hears of each that is kept. With
        ``contents``, no result is kept of a file that has changed meanwhile.
        """
        order = sorted(cells, key=lambda cell: -cell.cost)
        self.total = sum(cell.cost for cell in order) or 1.0
        mean = self.total / max(len(order), 1)

        def complete(index: int, kept: Kept) -> None:
            cell = order[index]
            if contents is not None:
                check_unchanged(cell.key, config(cell), contents)
            kept = dataclasses.replace(kept, asked=cell.asked, place=cell.place)
            self.store.put(cell.key, kept, self._work)
            self.done += cell.cost
            self.ran += 1
            if told is not None:
                told(cell, kept)

        def look(running: float) -> None:
            share = (self.done + running * mean) / self.total
            self.show(share, "simulating", self.ran, "cells")

        self.interrupted = not Execution(executor, self.control, work, contents).run(
            len(order), lambda index: config(order[index]), complete, look
        )
