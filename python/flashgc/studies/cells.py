"""Simulations that run side by side, each in a call of its own, and are kept as they come."""

from __future__ import annotations

import dataclasses
import errno
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
        #: Cells that failed and are not kept as such, since a file that they read has changed.
        self.unkept: dict[str, Kept] = {}

    def known(self, keys: Sequence[str]) -> dict[str, str]:
        """The status of each cell that is not to be run."""
        statuses = self.store.statuses(keys).items()
        return {key: status for key, status in statuses if not (self._retry and status == "failed")}

    def run(
        self,
        cells: Sequence[Cell],
        config: Callable[[Cell], dict[str, Any]],
        executor: Executor,
        *,
        work: Work = simulate_cell,
        contents: Contents | None = None,
        report: Callable[[Cell, Kept], None] | None = None,
    ) -> None:
        """Runs cells, the longest first: no core waits for a long one at the end.

        ``config`` makes the configuration of a cell, ``report`` hears of each that is kept. With
        ``contents``, a cell of which a file has changed since it had its key fails.
        """
        order = sorted(cells, key=lambda cell: -cell.cost)
        self.total = sum(cell.cost for cell in order) or 1.0
        mean = self.total / max(len(order), 1)

        def changed(index: int) -> str:
            if contents is not None:
                try:
                    check_unchanged(order[index].key, config(order[index]), contents)
                except OSError as error:
                    return f"{error.filename}: {error.strerror}"
            return ""

        def refused(index: int) -> Kept | None:
            reason = changed(index)
            return Kept("failed", config(order[index]), None, reason) if reason else None

        def complete(index: int, kept: Kept) -> None:
            cell = order[index]
            self.done += cell.cost
            reason = changed(index)
            if reason:
                # Under this key, what ran is not known.
                reason = reason if kept.status == "result" else kept.reason
                self.unkept[cell.key] = Kept("failed", kept.config, None, reason)
                return
            kept = self._put(cell, dataclasses.replace(kept, asked=cell.asked, place=cell.place))
            self.ran += 1
            if report is not None:
                report(cell, kept)

        def look(running: float) -> None:
            share = (self.done + running * mean) / self.total
            self.show(share, "simulating", self.ran, "cells")

        self.interrupted = not Execution(executor, self.control, work, contents).run(
            len(order), lambda index: config(order[index]), complete, look, refused
        )

    def _put(self, cell: Cell, kept: Kept) -> Kept:
        """Keeps a cell; one whose document is too large for the file has failed."""
        try:
            self.store.put(cell.key, kept, self._work)
        except OSError as error:
            if error.errno != errno.EFBIG:
                raise
            kept = dataclasses.replace(
                kept, status="failed", result=None, reason=f"{error.filename}: {error.strerror}"
            )
            self.store.put(cell.key, kept, self._work)
        return kept
