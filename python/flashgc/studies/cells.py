"""Simulations that run in parallel, each in its own call, and are stored as they complete."""

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
    """A simulation that is to run."""

    key: str
    #: Its index among all cells of the study.
    place: int
    #: Its estimated time relative to other cells.
    cost: float
    #: The values of options that the user gave for it.
    asked: Mapping[str, Any] | None = None


class Cells(Study):
    """The cells of a study; results of earlier commands are in the file of results."""

    def __init__(
        self,
        store: Store,
        work: str,
        *,
        retry: bool,
        show: Show | None,
        control: Control | None,
    ) -> None:
        """``work`` is the command; ``retry`` is true to run cells again that failed before."""
        super().__init__(show, control)
        self.store, self._work, self._retry = store, work, retry
        #: Cells that failed and are not stored, because a file that they read has changed.
        self.unkept: dict[str, Kept] = {}

    def known(self, keys: Sequence[str]) -> dict[str, str]:
        """The status of each cell that need not run."""
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
        """Run cells, the longest first, so that at the end no core waits for a long cell.

        ``config`` makes the configuration of a cell. ``report`` is called with each cell that is
        stored. With ``contents``, a cell fails if a file has changed since its key was computed.
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
                # The simulation may have read a file with other contents than those in the key.
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
        """Store a cell; if its document is too large for the file, the cell counts as failed."""
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
