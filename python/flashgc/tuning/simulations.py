"""Runs simulations one call of the engine after another, and keeps each as it ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from flashgc import _engine
from flashgc._core import ConfigError, Control, FlashgcError, TraceError
from flashgc.kept.cache import Cache

#: Called with the share that is done, what is being done, and pages programmed so far.
Progress = Callable[[float, str, int], None]

#: A result of the engine; why it cannot be; or ``None`` where it was stopped before its end.
Outcome = dict[str, Any] | str | None


@dataclass
class Wanted:
    """A simulation, and how long it takes beside the others."""

    config: dict[str, Any]
    cost: float


class Simulations:
    """Results of simulations: those of an earlier search are found, the others are run."""

    def __init__(
        self,
        cache: Cache | None,
        *,
        resume: bool,
        jobs: int,
        progress: Progress | None,
        control: Control | None,
        limit: float | None = None,
    ) -> None:
        self._cache, self._resume, self._jobs = cache, resume, jobs
        self._progress, self._control = progress, control
        #: Seconds from now on after which to stop; ``None`` for any number.
        self._begin, self._limit = monotonic(), limit
        self._known: dict[str, Outcome] = {}
        #: A short configuration that can be, with which a call of the engine has something to run.
        self.sure: dict[str, Any] | None = None
        #: Simulations that were run, and those that an earlier search had kept.
        self.ran, self.found = 0, 0
        #: True if Ctrl-C, or whoever has the control, stopped the work.
        self.interrupted = False
        #: True if the time was over before the end.
        self.late = False
        #: Why finished simulations are no longer kept.
        self.unkept: OSError | None = None
        #: Pages programmed by the calls of the engine before the present one.
        self._programs = 0
        #: Cost that is done, and that is expected in all.
        self.done, self.total = 0.0, 1.0

    @property
    def stopped(self) -> bool:
        """True if no more simulations may be run."""
        return self.interrupted or self.late

    def run(self, wanted: Sequence[Wanted], what: str, *, possible: bool) -> list[Outcome]:
        """Run the simulations and return an outcome of each; ``what`` is shown beside the progress.

        ``possible`` says that it is known of all of them that they can be. Raises
        :class:`flashgc.TraceError` where the trace is at fault.
        """
        keys = [json.dumps(one.config, sort_keys=True) for one in wanted]
        missing: dict[str, Wanted] = {}
        for key, one in zip(keys, wanted, strict=True):
            if key not in self._known and not self._look(key, one):
                missing[key] = one
        if missing and not self.stopped:
            try:
                self._engine(missing, what, leave_out=not possible)
            except TraceError:
                raise
            except FlashgcError:
                # One of them fails: each on its own, to find out which.
                for key, one in missing.items():
                    if key not in self._known and not self.stopped:
                        self._alone(key, one, what)
        return [self._known.get(key) for key in keys]

    def _look(self, key: str, one: Wanted) -> bool:
        """Load the result that an earlier search has kept; False if there is none."""
        kept = self._cache.load(one.config) if self._cache and self._resume else None
        if kept is not None:
            self._known[key] = kept
            self.found += 1
            self.done += one.cost
        return kept is not None

    def _alone(self, key: str, one: Wanted, what: str) -> None:
        try:
            self._engine({key: one}, what, leave_out=False)
        except TraceError:
            raise
        except FlashgcError as error:
            self._known[key] = str(error)
            self.done += one.cost

    def _engine(self, missing: dict[str, Wanted], what: str, *, leave_out: bool) -> None:
        keys, configs = list(missing), [one.config for one in missing.values()]
        sure = [self.sure] if leave_out and self.sure is not None else []
        mean_cost = sum(one.cost for one in missing.values()) / len(missing)
        # The engine counts runs, of which a configuration may have several.
        runs = sum(int(one["runs"]) for one in configs) / len(configs)
        begun, complete = self.done, 0

        def keep(index: int, result: dict[str, Any]) -> None:
            nonlocal complete
            complete += 1
            if index < len(keys):  # Not the one that is sure.
                self._keep(keys[index], missing[keys[index]], result)

        def show(engine: Control) -> None:
            self._watch(engine)
            if self._progress is not None:
                done = begun + max(engine.done / runs, complete) * mean_cost
                self._progress(self._share(done), what, self._programs + engine.programs)

        control = Control()
        simulated = _engine.simulate(
            [*configs, *sure],
            jobs=self._jobs,
            progress=show,
            control=control,
            on_result=keep,
            leave_out=leave_out,
        )
        self._programs += control.programs
        reasons = {one["index"]: one["reason"] for one in simulated.left_out}
        for index, reason in reasons.items():
            self._known[keys[index]] = reason
            self.done += missing[keys[index]].cost
        if control.cancelled and not self.late:
            self.interrupted = True

    def _keep(self, key: str, one: Wanted, result: dict[str, Any]) -> None:
        if result["interrupted"]:
            return
        self._known[key] = result
        self.ran += 1
        self.done += one.cost
        if self._cache is not None and self.unkept is None:
            try:
                self._cache.store(one.config, result)
            except OSError as error:  # The search is worth more than its copy.
                self.unkept = error

    def _watch(self, engine: Control) -> None:
        """Stops the engine where the time is over, or where somebody wants the end."""
        if self._limit is not None and monotonic() - self._begin > self._limit:
            self.late = True
        if self.late or (self._control is not None and self._control.cancelled):
            engine.cancel()

    def _share(self, done: float) -> float:
        """The share of the search that is done: of its time, if that is its budget."""
        if self._limit is not None:
            return min((monotonic() - self._begin) / self._limit, 1.0)
        return min(done / max(self.total, 1e-9), 1.0)


def folder_of(folder: Path, place: str, work: str) -> Cache:
    """The results kept in a folder for ``work``.

    Raises :class:`flashgc.ConfigError` with ``place``.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{place}: {folder} is a file; hint: give a folder or a new name")
    try:
        return Cache(folder, work, option=place)
    except OSError as error:
        raise ConfigError(
            f"{place}: {folder}: {error.strerror}; hint: give another folder"
        ) from None
