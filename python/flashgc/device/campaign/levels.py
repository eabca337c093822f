"""The levels of the campaign, one after the other."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashgc import _core
from flashgc._core import DriveError
from flashgc.device import mounts, programs
from flashgc.device.campaign import cuts, databases, hints, kills, postgres
from flashgc.device.campaign.report import Broken, BrokenPromiseError, Level
from flashgc.device.pace import Pace
from flashgc.device.postgres import PostgresError, cluster
from flashgc.device.scratch import scratch

#: The levels, each with a description.
LEVELS = {
    "images": "a small drive in memory, cut off at every write",
    "fuzz": "random commands, crashes and faults of the medium",
    "kill": "servers that are killed below a writer",
    "files": "file systems on drives that lose power",
    "databases": "SQLite and LMDB on a drive whose server is killed",
    "postgres": "PostgreSQL, killed together with its drive",
    "hints": "PostgreSQL, its drive and the followers that hint it, killed in any mixture",
}

#: The purpose in the name of the folder in which the levels work.
PURPOSE = "crash-test"

#: The levels that run in memory.
IN_MEMORY = ("images", "fuzz")


@dataclass(frozen=True)
class Sizes:
    """The amount of work of each level."""

    images: int = 100_000
    operations: int = 200_000
    kills: int = 50
    cuts: int = 50
    #: Seconds for PostgreSQL without hints, for PostgreSQL with hints, and for each other database.
    seconds: float = 30.0


def campaign(
    levels: Sequence[str],
    sizes: Sizes,
    pace: Pace,
    *,
    seed: int = 1,
    filesystems: Sequence[str] = ("ext4",),
    report: Callable[[Level], None] = lambda level: None,
) -> list[Level]:
    """Run ``levels`` until one finds a broken promise, or somebody wants the campaign to end.

    If only one level is given, and this machine lacks something that it needs, that is an error.
    Among several levels, such a level is skipped.
    """
    done = []
    for name in levels:
        level = Level(name)
        began = time.monotonic()
        if len(levels) > 1 and (lacks := _lacks(name, filesystems)) is not None:
            level.skipped = lacks
        else:
            try:
                _run(level, sizes, pace, seed, list(filesystems))
            except (BrokenPromiseError, DriveError, OSError) as error:
                # Ctrl-C reaches every program that a level runs, so that errors after it do not
                # count.
                if not pace.is_over:
                    if not isinstance(error, BrokenPromiseError):
                        raise
                    level.broken = Broken(seed, str(error))
            level.stopped = pace.is_over
        level.seconds = time.monotonic() - began
        done.append(level)
        report(level)
        if level.broken is not None or level.stopped:
            break
    return done


def _lacks(name: str, filesystems: Sequence[str]) -> str | None:
    """Return what this machine lacks for a level, or ``None``."""
    try:
        if name in ("files", "databases", "postgres", "hints"):
            for filesystem in filesystems if name == "files" else ("ext4",):
                mounts.check(f"the level {name}", filesystem)
        if name == "files":
            for filesystem in filesystems:
                checker = cuts.CHECKERS[filesystem][0]
                if programs.find(checker) is None:
                    return f"{checker} is not installed"
        if name in ("postgres", "hints"):
            cluster.programs(*postgres.PROGRAMS)
        if name == "hints":
            return hints.lacks()
    except (DriveError, PostgresError) as error:
        return str(error)
    return None


def _run(
    level: Level,
    sizes: Sizes,
    pace: Pace,
    seed: int,
    filesystems: list[str],
) -> None:
    name = level.name
    if name in IN_MEMORY:
        sweeps = name == "images"
        count = sizes.images if sweeps else sizes.operations
        run = _core.device_sweep if sweeps else _core.device_fuzz
        unit = "images" if sweeps else "operations"
        what = "cutting a drive off" if sweeps else "fuzzing"
        pace.begin(what, unit, count)
        control = pace.control
        answer = json.loads(run(seed, count, control, lambda: pace.at(control.programs)))
        level.counts = answer["counts"]
        level.broken = None if answer["broken"] is None else Broken(**answer["broken"])
        return
    lacks = _lacks(name, filesystems)
    if lacks is not None:
        raise DriveError(lacks)
    with scratch(PURPOSE) as folder:
        _run_in(folder, level, sizes, pace, seed, filesystems)


def _run_in(
    folder: Path, level: Level, sizes: Sizes, pace: Pace, seed: int, filesystems: list[str]
) -> None:
    if level.name == "kill":
        kills.run(level, pace, folder, seed, sizes.kills)
    elif level.name == "files":
        cuts.run(level, pace, folder, seed, sizes.cuts, filesystems)
    elif level.name == "databases":
        databases.run(level, pace, folder, seed, sizes.seconds)
    elif level.name == "postgres":
        postgres.run(level, pace, folder, seed, sizes.seconds)
    else:
        hints.run(level, pace, folder, seed, sizes.seconds)
