"""Deliberately wrong drives: the levels in memory must tell each from the right one.

A mutant that they do not find needs a reason in ``crates/device/src/mutants.toml`` why they cannot:
a test finds it, and `make test` runs that test with it, or its drive keeps its promises.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from typing import Any

from flashgc import _core
from flashgc._core import ConfigError, suggest
from flashgc.device.pace import Pace

#: All of them.
ALL = "all"


@dataclass(frozen=True)
class Mutant:
    """A way in which a drive can be wrong."""

    name: str
    #: The fault, as a sentence.
    what: str
    #: Why no level can find it; ``None`` where nobody has said so.
    justified: str | None
    #: The test in Rust that finds it; ``None`` where the reason names none.
    test: str | None


@dataclass(frozen=True)
class Hunt:
    """The verdict of the levels on a mutant."""

    mutant: Mutant
    seconds: float
    images: int
    steps: int
    #: The level that found a broken promise, with its seed and what was not as it should be.
    level: str | None
    seed: int | None
    told: str | None
    #: Somebody wanted the end before the time was over.
    stopped: bool

    @property
    def verdict(self) -> str:
        """The level that found it, ``test``, ``justified``, ``stopped``, or ``open``.

        One that is open is a gap.
        """
        if self.level is not None:
            return self.level
        if self.mutant.test is not None:
            return "test"
        if self.mutant.justified is not None:
            return "justified"
        return "stopped" if self.stopped else "open"

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        plain = asdict(self)
        return {**plain.pop("mutant"), **plain, "verdict": self.verdict}


def mutants(names: str = ALL) -> list[Mutant]:
    """Those with these names, separated by commas.

    Raises :class:`flashgc.ConfigError` where the module was built without them, and for a name that
    is none.
    """
    if not hasattr(_core, "device_mutants"):
        raise ConfigError(
            "--mutants: this module was built without wrong drives; hint: make dev builds one with "
            "them"
        )
    known = {
        one.name: one for one in (Mutant(**told) for told in json.loads(_core.device_mutants()))
    }
    if names == ALL:
        return list(known.values())
    words = [word for word in names.split(",") if word]
    for word in words or [""]:
        if word not in known:
            hint = suggest(word, [*known, ALL])
            raise ConfigError(f"--mutants: found '{word}'; hint: {hint}")
    return [known[word] for word in dict.fromkeys(words)]


def hunts(
    wanted: Sequence[Mutant],
    pace: Pace,
    *,
    seconds: float,
    seed: int = 1,
    report: Callable[[Hunt], None] = lambda hunt: None,
) -> list[Hunt]:
    """Hunts for each for so many seconds at most, until somebody wants the end.

    As many are hunted at once as the machine has processors. ``report`` gets them as they end; what
    is returned is in the order of ``wanted``.
    """
    pace.begin("hunting wrong drives", "mutants", len(wanted))

    def hunt(mutant: Mutant) -> Hunt | None:
        if pace.is_over:
            return None
        began = time.monotonic()
        told = json.loads(_core.device_hunt(mutant.name, seed, seconds, pace.control))
        took = round(time.monotonic() - began, 3)
        stopped = pace.is_over and told["level"] is None
        return Hunt(mutant=mutant, seconds=took, stopped=stopped, **told)

    done = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        left = {pool.submit(hunt, mutant) for mutant in wanted}
        while left:
            ready, left = wait(left, timeout=0.2, return_when=FIRST_COMPLETED)
            for one in filter(None, (future.result() for future in ready)):
                done.append(one)
                report(one)
                pace.step()
            pace.look()
    return sorted(done, key=lambda one: wanted.index(one.mutant))
