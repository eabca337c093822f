"""The cells of a fleet: which there are, which are kept, and how the others are run."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flashgc._core import Control
from flashgc.fleets.outcome import FleetCell, FleetWarning, cell_of, kind_of
from flashgc.fleets.volumes import Volume, Volumes
from flashgc.kept import Kept, Store, key_of
from flashgc.pace import Show
from flashgc.sweeps.execution import Execution, Threads
from flashgc.sweeps.work import simulate_cell


@dataclass(frozen=True)
class Policy:
    """One policy of the fleet, perhaps with other values that differ."""

    name: str
    config: dict[str, Any]


class Work:
    """The cells of a fleet: those that are kept, and those that are to run."""

    def __init__(
        self,
        volumes: Volumes,
        policies: Sequence[Policy],
        store: Store,
        *,
        retry: bool,
        show: Show,
    ) -> None:
        self._volumes, self._policies, self._store, self._show = volumes, policies, store, show
        self.cells: list[FleetCell] = []
        self._warned: Counter[str] = Counter()
        #: A volume and the text of one warning of each kind.
        self._examples: dict[str, tuple[int | str, str]] = {}
        self.ran = self.found = 0
        #: Keys of the cells that are to run, by their place among all.
        self._missing: dict[int, str] = {}
        self._look_up(retry=retry)

    def _look_up(self, *, retry: bool) -> None:
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
            known = self._store.statuses(keys)
            for policy, key in zip(self._policies, keys, strict=True):
                status = known.get(key)
                to_run = status is None or (retry and status == "failed")
                kept = None if to_run else self._store.load(key)
                if kept is None:
                    self._missing[len(self.cells)] = key
                self.found += kept is not None
                self.cells.append(self._cell(volume, policy, kept))
            if at % 100 == 0:
                self._show(at / len(self._volumes), "looking up what is kept", at, "volumes")

    @property
    def warnings(self) -> tuple[FleetWarning, ...]:
        """The warnings of all results, the most frequent first."""
        each = self._warned.most_common()
        return tuple(FleetWarning(count, *self._examples[kind]) for kind, count in each)

    def _cell(self, volume: Volume, policy: Policy, kept: Kept | None) -> FleetCell:
        result = {} if kept is None else kept.result or {}
        for text in result.get("warnings", ()):
            self._warned[kind_of(text)] += 1
            self._examples.setdefault(kind_of(text), (volume.name, text))
        return cell_of(volume, policy.name, kept)

    def run(self, jobs: int, control: Control) -> bool:
        """Runs what is missing, large volumes first; whether all of it was run."""
        count = len(self._policies)
        costs = {at: self._volumes[at // count].writes for at in self._missing}
        order = sorted(self._missing, key=lambda at: -costs[at])
        total = sum(costs.values()) or 1
        done = 0

        def complete(index: int, kept: Kept) -> None:
            nonlocal done
            at = order[index]
            self._store.put(self._missing[at], dataclasses.replace(kept, place=at), "fleet")
            volume, policy = self._volumes[at // count], self._policies[at % count]
            self.cells[at] = self._cell(volume, policy, kept)
            self.ran += 1
            done += costs[at]

        def look(running: float) -> None:
            share = (done + running * total / max(len(order), 1)) / total
            self._show(min(share, 1.0), "simulating", self.ran, "cells")

        with Threads(jobs) as threads:
            execution = Execution(threads, control, self._simulate)
            return execution.run(_Configs(self, order), complete, look)

    def config(self, at: int) -> dict[str, Any]:
        """The configuration of a cell, by its place among all."""
        count = len(self._policies)
        return self._volumes.config(at // count, self._policies[at % count].config)

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


class _Configs(Sequence[dict[str, Any]]):
    """The configurations of cells, each made when it is asked for."""

    def __init__(self, work: Work, order: Sequence[int]) -> None:
        self._work, self._order = work, order

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, index: Any) -> Any:
        return self._work.config(self._order[index])
