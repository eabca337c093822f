"""Finished simulations of one piece of work, in a folder: stopped work goes on where it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flashgc.store.file import Kept, Store
from flashgc.store.identity import Contents, check_unchanged, digest_of, key_of

#: The file of results in the folder.
FILE = "flashgc.results"


class Cache:
    """Results of simulations in a folder, by configuration.

    A result is found only if it is whole, of this version, of this build of the engine, of exactly
    this configuration and of files with the same content: anything else is run again. Several
    processes may use one folder at once.
    """

    def __init__(
        self, folder: Path, work: str, *, option: str = "--cache", mutant: str = ""
    ) -> None:
        """Makes the folder; ``work`` is the command whose work it is.

        Raises :class:`OSError` where that cannot be made, and :class:`flashgc.ConfigError`, naming
        ``option``, where the file of results is none. ``mutant`` is the fault in the engine whose
        results these are; empty for right results.
        """
        #: The folder of the file; all else there is others'.
        self.folder = folder
        self._work, self._option, self._mutant = work, option, mutant
        folder.mkdir(parents=True, exist_ok=True)
        self._store: Store | None = None
        self._contents = Contents()
        #: The keys of configurations when they were looked for.
        self._looked: dict[str, str] = {}
        try:
            self._store = Store(folder / FILE, option, whole=False)
            self._contents = self._store.contents()
        except OSError as error:  # What is worked out is worth more than its copy.
            self._unkept = error

    def of(self, mutant: str) -> Cache:
        """The results of an engine with this fault, in the same folder."""
        return Cache(self.folder, self._work, option=self._option, mutant=mutant)

    def load(self, config: dict[str, Any]) -> dict[str, Any] | None:
        """The result of a configuration, if there is one."""
        key = key_of(config, self._contents, self._mutant)
        self._looked[digest_of(config)] = key
        try:
            kept = None if self._store is None else self._store.load(key)
        except OSError:
            return None
        return None if kept is None or kept.result is None else dict(kept.result)

    def store(self, config: dict[str, Any], result: dict[str, Any]) -> None:
        """Keeps the result of a configuration that was looked for before it was run.

        Raises :class:`OSError` where that cannot be, or a file that it reads has changed meanwhile.
        """
        if self._store is None:
            raise self._unkept
        key = self._looked[digest_of(config)]
        check_unchanged(key, config, self._contents, self._mutant)
        self._store.put(key, Kept("result", config, result), self._work)
        if self._contents.new:
            self._store.remember(self._contents)
