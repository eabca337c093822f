"""Runs all sessions of a plan, interleaved, and stores each as soon as it ends."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flashgc
from flashgc.device import mounts
from flashgc.device.hints.page_cache import check_tracepoints
from flashgc.device.hints.stream import load
from flashgc.device.live import stand
from flashgc.device.live.plan import Plan, is_valid
from flashgc.device.pace import Pace, terminating
from flashgc.device.postgres.cluster import programs
from flashgc.progress import Show
from flashgc_papers.engine import Control, write
from flashgc_papers.zombie.living import session

#: In the progress, the making of an image counts as ``IMAGE`` sessions.
IMAGE = 3


@dataclass(frozen=True)
class Session:
    """One repetition of a workload on a collector."""

    workload: str
    collector: str
    repetition: int

    @property
    def name(self) -> str:
        """The name of the session, and of its file without the suffix."""
        return f"{self.workload}-{self.collector}-{self.repetition}"


def check(plan: Plan) -> None:
    """Check that this machine can run a study; an error says in one line what is missing."""
    if plan.raw:
        mounts.check("flashgc reproduce zombie.raw")
    else:
        mounts.check("flashgc reproduce zombie.live", "ext4")
        programs()
        load()
    stand.find_fio()
    check_tracepoints()


def sessions(plan: Plan) -> list[Session]:
    """All sessions: in each repetition, each workload with one collector after the other."""
    return [
        Session(workload, collector, repetition)
        for repetition in range(max(map(plan.times, plan.workloads)))
        for workload in plan.workloads
        if repetition < plan.times(workload)
        for collector in plan.collectors
    ]


def run(plan: Plan, folder: Path, show: Show) -> list[dict[str, Any]]:
    """Runs the missing sessions, and returns the outcomes of all.

    Finished sessions are in ``folder``, under a digest of the plan and the engine. If a timed drive
    did not keep its times in a session, the session runs again, at most :attr:`Clock.tries` times.
    ``tried`` is the number of times that it ran.
    """
    check(plan)
    home = folder / _digest(plan)
    home.mkdir(parents=True, exist_ok=True)
    wanted = sessions(plan)
    results = {name: _kept(home / f"{name.name}.json") for name in wanted}
    missing = [name for name in wanted if not _is_done(plan, results[name])]
    images = {name.workload for name in missing}
    whole = len(missing) + IMAGE * len(images)
    done = 0.0

    def part(weight: float) -> Pace:
        begun = done

        def shown(share: float, what: str, _number: int, _unit: str) -> None:
            show((begun + weight * min(share, 1.0)) / whole, what, 0, "")

        return Pace(shown, Control())

    with terminating():
        states = {}
        for name in sorted(images):
            states[name] = session.image_of(plan, name, home / name, part(IMAGE))
            done += IMAGE
        for task in missing:
            state = states[task.workload]
            while not _is_done(plan, results[task]):
                tried = (results[task] or {}).get("tried", 0) + 1
                measurement = session.run(
                    plan, task.workload, task.collector, task.repetition, state, part(1)
                )
                measurement = {**measurement, "tried": tried}
                write(str(home / f"{task.name}.json"), json.dumps(measurement, indent=1))
                results[task] = measurement
            done += 1
    return [outcome for outcome in results.values() if outcome is not None]


def _is_done(plan: Plan, outcome: Mapping[str, Any] | None) -> bool:
    if outcome is None:
        return False
    return plan.clock is None or is_valid(outcome) or outcome["tried"] >= plan.clock.tries


def _kept(path: Path) -> dict[str, Any] | None:
    try:
        outcome: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return outcome


def _digest(plan: Plan) -> str:
    """Return the digest of all that a session depends on, without the number of repetitions."""
    numbers = ("repetitions", "micro_repetitions")
    planned = {key: value for key, value in plan.to_dict().items() if key not in numbers}
    text = json.dumps([planned, flashgc.version()], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
