"""Runs an experiment: makes its configurations, simulates them, and stores results on request."""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from flashgc import _core, _engine, _faults, _notebook_progress
from flashgc._core import ConfigError, Control
from flashgc.checkpoints import Checkpoint, File, configuration
from flashgc.configuration import configurations
from flashgc.experiment import Experiment
from flashgc.options import PATHS, find
from flashgc.plot.files import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from flashgc._engine import Progress
    from flashgc._origins import Places
    from flashgc.policy_files import Policies
    from flashgc.store.keeping import Keeping

#: File name extensions of pictures; other files are written as JSON.
PICTURES = tuple(f".{kind}" for kind in FORMATS)


@contextmanager
def drawn(configs: Sequence[dict[str, Any]]) -> Iterator[None]:
    """After the ``with`` block, draw its timeline if the timeline's file is a picture."""
    values = [
        timed["timeline"]
        for timed in (config.get("timed") or {} for config in configs)
        if timed.get("timeline") and timed["timeline"]["file"].lower().endswith(PICTURES)
    ]
    if not values:
        yield
        return
    import tempfile
    from pathlib import Path

    from flashgc import plot

    with tempfile.TemporaryDirectory(prefix="flashgc-") as folder:
        path = Path(folder) / "timeline.json"
        (timeline,) = values  # Several configurations with one file were refused before.
        picture, timeline["file"] = timeline["file"], str(path)
        yield
        if path.exists():
            plot.save(plot.timeline(path), picture)


T = TypeVar("T")

#: Default number of runs of each configuration in a comparison.
COMPARED_RUNS = int(find("runs").case("compare"))


def simulate(
    experiment: Experiment,
    python: Policies | None = None,
    *,
    places: Places | None = None,
    default_runs: int = 1,
    progress: Progress | None = None,
    control: Control | None = None,
    keep: Checkpoint | None = None,
    leave_out: bool = False,
    keeping: Keeping | None = None,
) -> _engine.Simulated:
    """Run an experiment; ``python`` has the Python policies that it names.

    ``keep`` names the files of checkpoints; it needs a single configuration. With ``leave_out``,
    impossible combinations are listed, and the others run. Results that ``keeping`` has are not
    computed again.
    """
    python = python or {}
    for key, policies in python.items():
        for name, policy in policies.items():
            _faults.CHECKS[key](policy, name)
    configs = configurations(experiment, places, default_runs=default_runs, python=python)
    written = {
        index: {
            key: (config[key], policies[config[key]])
            for key, policies in python.items()
            if config[key] in policies
        }
        for index, config in enumerate(configs)
    }
    jobs = parse_jobs(experiment["run.jobs"], (places or {}).get("run.jobs", "jobs"))

    def run(
        wanted: Sequence[int],
        on_result: _engine.OnResult | None = None,
        *,
        or_none: bool = False,
    ) -> _engine.Simulated:
        policies = {at: written[index] for at, index in enumerate(wanted) if written[index]}
        runs = sum(configs[index]["runs"] for index in wanted)
        with _notebook_progress.of_runs(progress, runs) as look:
            return _engine.simulate(
                [configs[index] for index in wanted],
                jobs=jobs,
                progress=look,
                policies=policies,
                control=control,
                on_result=on_result,
                keep=keep,
                leave_out=leave_out,
                or_none=leave_out and or_none,
                places=places,
            )

    with drawn(configs):
        if keeping is None:
            return run(range(len(configs)))
        for option in (PATHS[path] for path in experiment):
            if option.once:
                raise ConfigError(
                    f"{(places or {}).get(option.path, option.key)}: only a run makes it, and a "
                    "kept result is not run again; hint: leave out the file of results"
                )
        return keeping.simulate(
            configs, _options_alone(experiment, configs, default_runs, python), run
        )


def _options_alone(
    experiment: Experiment,
    configs: Sequence[Mapping[str, Any]],
    default_runs: int,
    python: Policies,
) -> list[dict[str, Any] | None]:
    """For each configuration, return the options that make only this configuration, or ``None``."""
    given = {path: value for path, value in experiment.given.items() if path != "run.jobs"}
    if "run.runs" not in given and configs[0]["runs"] != 1:
        given["run.runs"] = configs[0]["runs"]
    lists = [
        value if isinstance(value, list) and not PATHS[path].listing else [value]
        for path, value in given.items()
    ]
    alone = []
    for values in itertools.product(*lists):
        choice = dict(zip(given, values, strict=True))
        with contextlib.suppress(ConfigError):
            variants = configurations(Experiment(choice), default_runs=default_runs, python=python)
            alone.append((variants, choice))
    return [
        next((choice for variants, choice in alone if variants == [config]), None)
        for config in configs
    ]


def resumed(
    keep: Checkpoint,
    *,
    places: Places | None = None,
    jobs: int = 0,
    progress: Progress | None = None,
    control: Control | None = None,
    keeping: Keeping | None = None,
) -> _engine.Simulated:
    """Resume the runs of a checkpoint, whatever their configuration is."""
    config = configuration(cast(str, keep.resume))

    def run(
        _: Sequence[int], on_result: _engine.OnResult | None = None, *, or_none: bool = False
    ) -> _engine.Simulated:
        with _notebook_progress.of_runs(progress, config["runs"]) as look:
            return _engine.simulate(
                [config],
                jobs=jobs,
                progress=look,
                control=control,
                keep=keep,
                on_result=on_result,
                places=places,
            )

    return run([0]) if keeping is None else keeping.simulate([config], [None], run)


def keeping_in(
    results: File | None,
    work: str,
    option: str = "results",
    expect: Callable[[int], None] | None = None,
) -> Keeping | None:
    """Return the :class:`Keeping` of ``work`` in the file ``results``; ``None`` without a file.

    ``expect`` is called with the number of runs whose results are not in the file.
    """
    if results is None:
        return None
    from pathlib import Path

    from flashgc.store.keeping import Keeping

    return Keeping(Path(results), work, option, expect)


def with_warning(result: T, keeping: Keeping | None) -> T:
    """Return ``result``; warn if it could not be stored."""
    if keeping is not None and keeping.error is not None:
        warnings.warn(f"results: not kept: {keeping.error}", stacklevel=4)
    return result


def parse_jobs(value: int | str, place: str) -> int:
    """The number of runs in parallel; 0 means one per core.

    Raises :class:`flashgc.ConfigError`, which names ``place``.

    >>> parse_jobs(5000, "--jobs")
    Traceback (most recent call last):
    ...
    flashgc.ConfigError: --jobs: found 5000, expected 0 to 4096
    """
    return _core.option_number("jobs", value, place)
