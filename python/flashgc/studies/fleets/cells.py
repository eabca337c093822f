"""The cells of a fleet: which there are, which are kept, and how the others are run."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flashgc._core import Control
from flashgc.progress import Show
from flashgc.results import Finding, findings
from flashgc.store import Kept, Store, key_of
from flashgc.studies.cell import simulate_cell
from flashgc.studies.cells import Cell, Cells
from flashgc.studies.executing import Threads
from flashgc.studies.fleets.outcome import FleetCell, cell_of
from flashgc.studies.fleets.volumes import Volume, Volumes


@dataclass(frozen=True)
class Policy:
    """One policy of the fleet, perhaps with other values that differ."""

    name: str
    config: dict[str, Any]


class Work(Cells):
    """The cells of a fleet: those that are kept, and those that are to run."""

    def __init__(
        self,
        volumes: Volumes,
        policies: Sequence[Policy],
        store: Store,
        *,
        retry: bool,
        show: Show | None,
        control: Control,
    ) -> None:
        super().__init__(store, "fleet", retry=retry, show=show, control=control)
        self._volumes, self._policies = volumes, policies
        self.cells: list[FleetCell] = []
        self._told: Counter[tuple[str, str, str]] = Counter()
        #: For each kind of finding, one example and its volume.
        self._examples: dict[tuple[str, str, str], tuple[int | str, Finding]] = {}
        #: The cells that are to run.
        self._missing: list[Cell] = []
        self._look_up()

    def _look_up(self) -> None:
        """Finds what is kept, and makes a cell for everything."""
        for at, volume in enumerate(self._volumes):
            if not volume.writes:
                reason = f"it is never written ({volume.reads} reads, {volume.discards} discards)"
                self.cells += [
                    FleetCell(volume.name, policy.name, "cannot", reason)
                    for policy in self._policies
                ]
                continue
            contents = self._volumes.contents(at)
            keys = [
                key_of(self._volumes.config(at, policy.config), contents)
                for policy in self._policies
            ]
            known = self.known(keys)
            for policy, key in zip(self._policies, keys, strict=True):
                kept = self.store.load(key) if key in known else None
                if kept is None:
                    self._missing.append(Cell(key, len(self.cells), volume.writes))
                self.found += kept is not None
                self.cells.append(self._cell(volume, policy, kept))
            if at % 100 == 0:
                self.show(at / len(self._volumes), "looking up what is kept", at, "volumes")

    @property
    def findings(self) -> list[Finding]:
        """The findings of all results, the most frequent first."""
        return [_of_cells(count, *self._examples[kind]) for kind, count in self._told.most_common()]

    def _cell(self, volume: Volume, policy: Policy, kept: Kept | None) -> FleetCell:
        result = {} if kept is None else kept.result or {}
        for one in findings.read(result):
            kind = one.kind
            self._told[kind] += 1
            name, example = self._examples.get(kind, (volume.name, one))
            hint = findings.hint_for_all([example.hint, one.hint])
            self._examples[kind] = name, dataclasses.replace(example, hint=hint)
        return cell_of(volume, policy.name, kept)

    def perform(self, jobs: int) -> None:
        """Runs what is missing."""
        count = len(self._policies)

        def told(cell: Cell, kept: Kept) -> None:
            volume, policy = self._volumes[cell.place // count], self._policies[cell.place % count]
            self.cells[cell.place] = self._cell(volume, policy, kept)

        def config(cell: Cell) -> dict[str, Any]:
            policy = self._policies[cell.place % count]
            return self._volumes.config(cell.place // count, policy.config)

        with Threads(jobs) as threads:
            self.run(self._missing, config, threads, work=self._simulate, told=told)

    def _simulate(self, config: dict[str, Any], control: Control | None) -> Kept | None:
        at = self._volumes.index(config)
        try:
            with self._volumes.file(at) as file:
                kept = simulate_cell(config, control, (file, True))
        except OSError as error:  # The folder for temporary files is full, for example.
            return Kept("failed", config, None, str(error))
        if kept is None:
            return None
        name = f"volume {self._volumes[at].name}"
        return dataclasses.replace(kept, reason=kept.reason.replace(str(file), name))


def _of_cells(count: int, volume: int | str, one: Finding) -> Finding:
    """A finding of this many cells, one of which is that of ``volume``."""
    cells = "cell" if count == 1 else "cells"
    claim = f"{count} {cells}, such as volume {volume}: {one.claim}"
    return dataclasses.replace(one, claim=claim, evidence={**one.evidence, "cells": count})
