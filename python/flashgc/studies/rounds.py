"""Runs simulations in rounds, each in one call of the engine; stores results as they complete."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Any

from flashgc import _engine
from flashgc._core import ConfigError, Control, FlashgcError, TraceError
from flashgc.policy_files import Files
from flashgc.progress import Show
from flashgc.store.cache import Cache
from flashgc.studies.study import Study

#: A result of the engine; a text if it is impossible; ``None`` if it was stopped before its end.
Outcome = dict[str, Any] | str | None


@dataclass
class Wanted:
    """A simulation, and its estimated time relative to others."""

    config: dict[str, Any]
    cost: float = 1.0


class Rounds(Study):
    """Rounds of simulations: stored results are looked up, and the others are run."""

    def __init__(
        self,
        cache: Cache | None,
        *,
        show: Show | None,
        control: Control | None = None,
        jobs: int = 0,
        resume: bool = True,
        limit: float | None = None,
        only: Collection[str] | None = None,
        by_round: bool = False,
        strict: bool = False,
        places: Mapping[str, str] | None = None,
    ) -> None:
        """``limit`` is the number of seconds after which to stop.

        With ``only``, just these keys of a result are kept. Progress is in pages programmed over
        all rounds, or with ``by_round`` in runs of a round. ``strict`` raises the error of a failed
        simulation. ``places`` are the places of the given options, for errors.
        """
        super().__init__(show, control)
        self._cache, self._resume, self._jobs = cache, resume, jobs
        self._begin, self._limit = monotonic(), limit
        self._only, self._by_round, self._strict = only, by_round, strict
        self._known: dict[str, Outcome] = {}
        self._places = places
        #: A short configuration that is possible, so that a call of the engine always has something
        #: to run.
        self.sure: dict[str, Any] | None = None
        #: True if the time limit was reached before the end.
        self.late = False
        #: The reason why finished simulations are no longer stored.
        self.unkept: OSError | None = None
        #: Pages programmed by the earlier calls of the engine.
        self._programs = 0
        #: The files of policies, each loaded once.
        self._files = Files()

    @property
    def stopped(self) -> bool:
        """True if no more simulations may run."""
        return self.interrupted or self.late

    def run(self, wanted: Sequence[Wanted], what: str, *, possible: bool) -> list[Outcome]:
        """Run the simulations and return the outcome of each; ``what`` is shown with the progress.

        ``possible`` is true if all are known to be possible. Raises :class:`flashgc.TraceError` for
        an error in the trace.
        """
        missing = self.look(wanted)
        if missing and not self.stopped:
            try:
                self._engine(missing, what, leave_out=not possible)
            except TraceError:
                raise
            except FlashgcError:
                if self._strict:
                    raise
                # One of them fails: run each alone to find out which.
                for key, entry in missing.items():
                    if key not in self._known and not self.stopped:
                        self._alone(key, entry, what)
        return [self.of(entry.config) for entry in wanted]

    def of(self, config: dict[str, Any]) -> Outcome:
        """Return the outcome of a simulation so far."""
        return self._known.get(_key(config))

    def look(self, wanted: Iterable[Wanted]) -> dict[str, Wanted]:
        """The simulations whose results are not known yet, nor stored by earlier commands."""
        each = {_key(entry.config): entry for entry in wanted}
        return {
            key: entry
            for key, entry in each.items()
            if key not in self._known and not self._look(key, entry)
        }

    def _look(self, key: str, entry: Wanted) -> bool:
        """Look up the stored result of a simulation; return true if there is one."""
        kept = None if self._cache is None else self._cache.load(entry.config)
        if kept is None or not self._resume:
            return False
        self._known[key] = kept
        self.found += 1
        self.done += entry.cost
        return True

    def _alone(self, key: str, entry: Wanted, what: str) -> None:
        try:
            self._engine({key: entry}, what, leave_out=False)
        except TraceError:
            raise
        except FlashgcError as error:
            self._known[key] = str(error)
            self.done += entry.cost

    def _engine(self, missing: dict[str, Wanted], what: str, *, leave_out: bool) -> None:
        keys, configs = list(missing), [entry.config for entry in missing.values()]
        sure = [self.sure] if leave_out and self.sure is not None else []
        cost = sum(entry.cost for entry in missing.values())
        if self._by_round:
            self.done, self.total = 0.0, cost
        mean_cost = cost / len(missing)
        # The engine counts runs, and a configuration may have several runs.
        runs = sum(int(config["runs"]) for config in configs) / len(configs)
        begun, complete = self.done, 0

        def keep(index: int, result: dict[str, Any]) -> None:
            nonlocal complete
            complete += 1
            if index < len(keys):  # The extra configuration is not kept.
                self._keep(keys[index], missing[keys[index]], result)

        def show(engine: Control) -> None:
            self._watch(engine)
            done = begun + max(engine.done / runs, complete) * mean_cost
            number, unit = self._programs + engine.programs, "programs"
            if self._by_round:
                number, unit = int(engine.done), "runs"
            self.show(self._share(done), what, number, unit)

        control = Control()
        simulated = _engine.simulate(
            [*configs, *sure],
            jobs=self._jobs,
            progress=show,
            control=control,
            on_result=keep,
            leave_out=leave_out,
            places=self._places,
            policies=self._in_python(configs),
        )
        self._programs += control.programs
        reasons = {entry["index"]: entry["reason"] for entry in simulated.left_out}
        for index, reason in reasons.items():
            self._known[keys[index]] = reason
            self.done += missing[keys[index]].cost
        if control.cancelled and not self.late:
            self.interrupted = True

    def _in_python(
        self, configs: Sequence[Mapping[str, Any]]
    ) -> dict[int, dict[str, tuple[str, object]]]:
        """The policies in files that configurations name; each run makes its own objects."""
        loaded = {index: self._files.of(config) for index, config in enumerate(configs)}
        return {index: policies for index, policies in loaded.items() if policies}

    def _keep(self, key: str, entry: Wanted, result: dict[str, Any]) -> None:
        if result["interrupted"]:
            return
        if self._only is not None:
            result = {name: result[name] for name in self._only}
        self._known[key] = result
        self.ran += 1
        self.done += entry.cost
        if self._cache is not None and self.unkept is None:
            try:
                self._cache.store(entry.config, result)
            except OSError as error:  # The work goes on without the cache.
                self.unkept = error

    def _watch(self, engine: Control) -> None:
        """Stop the engine if the time limit is reached, or somebody wants the study to end."""
        if self._limit is not None and monotonic() - self._begin > self._limit:
            self.late = True
        if self.late or self.control.cancelled:
            engine.cancel()

    def _share(self, done: float) -> float:
        """The share of the study that is done; with a time limit, the share of time."""
        if self._limit is not None:
            return (monotonic() - self._begin) / self._limit
        return done / max(self.total, 1e-9)


def _key(config: dict[str, Any]) -> str:
    return json.dumps(config, sort_keys=True)


def folder_of(folder: str | PathLike[str] | None, place: str, work: str) -> Cache | None:
    """The cache in a folder for ``work``; ``None`` without a folder.

    Raises :class:`flashgc.ConfigError`, which names ``place``.
    """
    if folder is None:
        return None
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise ConfigError(f"{place}: {path} is a file; hint: give a folder or a new name")
    try:
        return Cache(path, work, option=place)
    except OSError as error:
        raise ConfigError(f"{place}: {path}: {error.strerror}; hint: give another folder") from None
