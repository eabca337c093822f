"""From what was asked for to the engine and back: what everything that simulates shares."""

from __future__ import annotations

from typing import cast

from flashgc import _engine, _faults, _timelines
from flashgc._core import ConfigError, Control
from flashgc._engine import Progress
from flashgc._places import Places
from flashgc.checkpoints import Checkpoint, configuration
from flashgc.configuration import configurations
from flashgc.experiment import Experiment
from flashgc.options import find
from flashgc.policy_files import Policies
from flashgc.units import parse_count

#: Runs of each configuration in a comparison if nobody says otherwise.
COMPARED_RUNS = int(find("runs").case("compare"))


def simulate(
    asked: Experiment,
    python: Policies | None = None,
    *,
    places: Places | None = None,
    default_runs: int = 1,
    progress: Progress | None = None,
    control: Control | None = None,
    keep: Checkpoint | None = None,
    leave_out: bool = False,
) -> _engine.Simulated:
    """Runs what was asked for; ``python`` has the policies written in Python that it names.

    ``keep`` says where the runs of the only configuration are kept, and where they go on from. With
    ``leave_out``, combinations that cannot be are named, and the others run.
    """
    python = python or {}
    for key, policies in python.items():
        for name, policy in policies.items():
            _faults.CHECKS[key](policy, name)
    configs = configurations(asked, places, default_runs=default_runs, python=python)
    written = {
        index: {
            key: (config[key], policies[config[key]])
            for key, policies in python.items()
            if config[key] in policies
        }
        for index, config in enumerate(configs)
    }
    with _timelines.drawn(configs):
        return _engine.simulate(
            configs,
            jobs=parse_jobs(asked["run.jobs"], (places or {}).get("run.jobs", "jobs")),
            progress=progress,
            policies={index: found for index, found in written.items() if found},
            control=control,
            keep=keep,
            leave_out=leave_out,
        )


def resumed(
    keep: Checkpoint,
    *,
    jobs: int = 0,
    progress: Progress | None = None,
    control: Control | None = None,
) -> _engine.Simulated:
    """Goes on with the runs of a checkpoint, whatever their configuration is."""
    config = configuration(cast(str, keep.resume))
    return _engine.simulate([config], jobs=jobs, progress=progress, control=control, keep=keep)


def parse_jobs(value: int | str, place: str) -> int:
    """The number of runs side by side that ``value`` asks for; 0 is one a core.

    Raises :class:`flashgc.ConfigError` with ``place``.

    >>> parse_jobs("x", "--jobs")
    Traceback (most recent call last):
    ...
    flashgc.ConfigError: --jobs: found 'x', expected a whole number from 0 (one a core) to 4096
    """
    least, most = find("jobs").range or (0, 0)
    try:
        jobs = parse_count(value)
    except ConfigError:
        jobs = -1
    if not least <= jobs <= most:
        raise ConfigError(
            f"{place}: found {value!r}, expected a whole number from {least} (one a core) to {most}"
        )
    return jobs
