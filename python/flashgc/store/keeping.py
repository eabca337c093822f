"""Stored simulations of ``run`` and ``compare``: results in the file are not computed again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from flashgc import _core, _naming
from flashgc._core import ConfigError
from flashgc._engine import OnResult, Simulated, peak_memory_bytes
from flashgc.policy_files import KEYS, in_file, is_written
from flashgc.store.file import Kept, Store
from flashgc.store.identity import check_unchanged, key_of


class Run(Protocol):
    """A function that runs the configurations whose results are missing."""

    def __call__(
        self, wanted: Sequence[int], on_result: OnResult, /, *, or_none: bool
    ) -> Simulated:
        """Run the configurations with the indices ``wanted``.

        ``on_result`` gets each complete result, and the position of its configuration in
        ``wanted``. With ``or_none``, it is no error if all of these configurations are impossible.
        """


class Keeping:
    """A file of results: ``work`` takes results that the file has, and stores others in it."""

    def __init__(
        self,
        path: Path,
        work: str,
        option: str = "--results",
        expect: Callable[[int], None] | None = None,
    ) -> None:
        """``expect`` is called with the number of runs whose results the file does not have."""
        #: The file.
        self.path = path
        self._work, self._option, self._expect = work, option, expect
        #: The number of results found in the file.
        self.found = 0
        #: The reason why the file does not have all results; ``None`` if it has.
        self.error: OSError | None = None

    def simulate(
        self,
        configs: Sequence[Mapping[str, Any]],
        questions: Sequence[Mapping[str, Any] | None],
        run: Run,
    ) -> Simulated:
        """The results of ``configs``; missing ones are computed by ``run``.

        A result that cannot be stored is still returned, and :attr:`error` has the reason.

        Raises :class:`flashgc.ConfigError` if the file is no file of results, or a policy has no
        source file.
        """
        for config in configs:
            self._check(config)
        with Store(self.path, self._option, whole=False) as store:
            contents = store.contents()
            keys = [key_of(config, contents) for config in configs]
            entries = {index: self._found(store, key) for index, key in enumerate(keys)}
            results = {index: result for index, result in entries.items() if result is not None}
            self.found = len(results)
            missing = [index for index in range(len(configs)) if index not in results]
            left_out: dict[int, str] = {}
            complete: dict[int, dict[str, Any]] = {}

            def keep(at: int, result: dict[str, Any]) -> None:
                index = missing[at]
                result["peak_memory_bytes"] = peak_memory_bytes()
                complete[index] = result
                kept = Kept("result", configs[index], result, asked=questions[index], place=index)
                try:
                    check_unchanged(keys[index], configs[index], contents)
                    store.put(keys[index], kept, self._work)
                    if contents.new:
                        store.remember(contents)
                except OSError as error:
                    self.error = error

            if self._expect is not None:
                self._expect(sum(int(configs[index]["runs"]) for index in missing))
            if missing:
                simulation = run(missing, keep, or_none=bool(results))
                left_out = {
                    missing[entry["index"]]: entry["reason"] for entry in simulation.left_out
                }
                ran = [index for index in missing if index not in left_out]
                results |= dict(zip(ran, simulation.results, strict=True)) | complete
        ordered = [results[index] for index in sorted(results)]
        return Simulated(
            ordered,
            json.loads(_core.ranking(json.dumps(ordered))),
            [
                {"index": index, "name": _naming.name(configs[index], configs), "reason": reason}
                for index, reason in sorted(left_out.items())
            ],
        )

    def _found(self, store: Store, key: str) -> dict[str, Any] | None:
        kept = store.load(key)
        return None if kept is None or kept.result is None else dict(kept.result)

    def _check(self, config: Mapping[str, Any]) -> None:
        for key in KEYS:
            text = config.get(key)
            if is_written(text) and not in_file(str(text)):
                raise ConfigError(
                    f"{self._option}: {text} is not in a file, so no later run can recognise it; "
                    "hint: name it as python:FILE.py:NAME"
                )
