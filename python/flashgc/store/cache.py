"""Finished simulations of a command, in a folder, so that a stopped command can go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flashgc.store.file import Kept, Store
from flashgc.store.identity import Contents, check_unchanged, digest_of, key_of

#: The name of the file of results in the folder.
FILE = "flashgc.results"


class Cache:
    """Results of simulations in a folder, by configuration.

    A result is used only if it is complete, and has this version, this build of the engine, exactly
    this configuration, and files with the same contents. Otherwise the simulation runs again.
    Several processes may use one folder at once.
    """

    def __init__(
        self, folder: Path, work: str, *, option: str = "--cache", mutant: str = ""
    ) -> None:
        """Make the folder; ``work`` is the command that uses it.

        Raises :class:`OSError` if the folder cannot be made, and :class:`flashgc.ConfigError`,
        which names ``option``, if the file is no file of results. ``mutant`` is the name of the
        fault injected into the engine for these results; empty for correct results.
        """
        #: The folder of the file; other files in it are not ours.
        self.folder = folder
        self._work, self._option, self._mutant = work, option, mutant
        folder.mkdir(parents=True, exist_ok=True)
        self._store: Store | None = None
        self._contents = Contents()
        #: The key of each configuration at the time of its look-up.
        self._looked: dict[str, str] = {}
        try:
            self._store = Store(folder / FILE, option, whole=False)
            self._contents = self._store.contents()
        except OSError as error:  # Work goes on without a cache.
            self._unkept = error

    def of(self, mutant: str) -> Cache:
        """The results of an engine with this fault, in the same folder."""
        return Cache(self.folder, self._work, option=self._option, mutant=mutant)

    def load(self, config: dict[str, Any]) -> dict[str, Any] | None:
        """The stored result of a configuration, or ``None``."""
        key = key_of(config, self._contents, self._mutant)
        self._looked[digest_of(config)] = key
        try:
            kept = None if self._store is None else self._store.load(key)
        except OSError:
            return None
        return None if kept is None or kept.result is None else dict(kept.result)

    def store(self, config: dict[str, Any], result: dict[str, Any]) -> None:
        """Store the result of a configuration that was looked up before its run.

        Raises :class:`OSError` if that is not possible, or if a file that the configuration reads
        has changed meanwhile.
        """
        if self._store is None:
            raise self._unkept
        key = self._looked[digest_of(config)]
        check_unchanged(key, config, self._contents, self._mutant)
        self._store.put(key, Kept("result", config, result), self._work)
        if self._contents.new:
            self._store.remember(self._contents)
