"""``run`` and ``compare``: the main job, as functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypedDict, Unpack, cast, runtime_checkable

from flashgc import _engine, _faults, _timelines
from flashgc._core import Blocks, ConfigError, Control
from flashgc._engine import Progress
from flashgc._places import Places
from flashgc.checkpoints import Checkpoint, File, configuration
from flashgc.checkpoints import checkpoint as kept
from flashgc.configuration import configurations
from flashgc.experiment import Experiment, experiment, home
from flashgc.results import Comparison, Result
from flashgc.traces import Trace
from flashgc.units import parse_count


@runtime_checkable
class VictimPolicy(Protocol):
    """A victim policy written in Python, as an object; a plain function does as well."""

    def pick(self, blocks: Blocks) -> int:
        """The number of the block to collect: one of those that may be picked."""


#: A policy's spec, a function from the blocks to a block number, an object with such a method
#: ``pick``, or a class of such objects, of which every run gets one of its own.
Victim: TypeAlias = str | Callable[[Blocks], int] | VictimPolicy | type[VictimPolicy]


#: The victim policy if nobody says otherwise.
DEFAULT_VICTIM = "d-choices:d=10"


class Options(TypedDict, total=False):
    """The options of :func:`run` and :func:`compare`: keys of an experiment file."""

    blocks: int | str | None
    capacity: str | None
    pages_per_block: int | str
    page_size: int | str
    spare: float | str | Sequence[float | str] | None
    overprovision: float | str | Sequence[float | str] | None
    endurance: int | str | None
    times: str | None
    fill: str
    mapping: str | Sequence[str]
    page_cache: int | str | None
    page_policy: str
    scheme: str | Sequence[str]
    frontier: str | Sequence[str]
    allocation: str | Sequence[str]
    wear_levelling: str | Sequence[str]
    placement: str | Sequence[str]
    collector: str | Sequence[str] | None
    cache: str | Sequence[str] | None
    hints: str | Sequence[str]
    format: str | None
    alignment_offset: int | str
    on_bad_line: str
    warmup: str | None
    writes: int | str | None
    collections: int | str | None
    requests: int | str | None
    passes: int | str | None
    until: str | None
    runs: int | str | None
    seed: int | str
    jobs: int | str
    # Of drives with a clock.
    kind: str
    device: str | None
    channels: int | str | None
    ways: int | str | None
    dies: int | str | None
    planes: int | str | None
    striping: str | None
    scheduling: str | None
    multi_plane: str | None
    cache_commands: str | None
    write_cache: int | str | None
    queue_depth: int | str | None
    collect_in: str | None
    gc_low: int | str | None
    gc_high: int | str | None
    gc_hard: int | str | None
    preemption: str | Sequence[str] | None
    suspend: str | None
    search: str | None
    poll: str | None
    copy_back: str | None
    holds_unit: str | None
    idle: str | None
    arrivals: str | None
    rate_scale: float | str | None
    disorder: str | None
    resolution: str | None
    timeline: str | None
    window: str | None


def run(
    workload: str | Trace = "uniform",
    *,
    victim: Victim | None = None,
    checkpoint: File | None = None,
    resume: File | None = None,
    progress: Progress | None = None,
    control: Control | None = None,
    **options: Unpack[Options],
) -> Result:
    """Runs one workload on one drive.

    ``workload`` is a generator (``"hotcold:f=0.2,r=0.8"``), a mixture
    (``"0.7*zipf + 0.3*sequential"``), the path of a trace or a :class:`flashgc.Trace`;
    ``victim`` is a policy's spec or a policy written in Python, by default what the collector or
    the device says, or ``"d-choices:d=10"``. The options are the keys of an experiment file:

    ``blocks`` or ``capacity`` (``"64GiB"``), ``pages_per_block``, ``page_size`` (``"4KiB"``),
    ``spare`` or ``overprovision`` (``0.1`` or ``"10%"``), ``fill``, ``mapping``
    (``"fast:log_blocks=32"``), ``page_cache`` (``"4MiB"``) with ``page_policy`` and ``scheme``,
    ``frontier``,
    ``allocation`` and ``placement`` (of the pool frontier: ``"sfl"``, ``"dac"``),
    ``wear_levelling`` (``"static:threshold=50"``), ``collector`` (a victim policy and a placement
    under one name: ``"zgc-gd"``), ``cache`` and ``hints`` (of a host:
    ``"page-cache:size=64MiB"``, ``"piggyback"``), ``warmup`` (``"1/3"``, ``"10x"``, ``"auto"``),
    one of ``writes`` (``"20x"`` drive writes), ``collections``, ``requests``, ``passes``;
    ``until`` (``"precision=0.1%"``, ``"system-failure"``), ``endurance`` (``1000``), ``times``
    (``"read=60us,program=800us,erase=1.5ms"``), ``runs``, ``seed``, ``jobs``; for
    traces ``format``, ``alignment_offset``, ``on_bad_line``. With ``kind="timed"``
    the drive has a clock, and the other keys of an experiment file for such drives hold
    (``device="tlc"``, ``arrivals="poisson:rate=20000"``, ``preemption="pgc"``).

    Ctrl-C stops the runs and returns what there is, with ``interrupted`` set.

    ``checkpoint`` is a file in which the runs are kept (``"run.ckpt,every=5min"``), and ``resume``
    one from which they go on, with the digits of runs that were never stopped. With ``resume``
    alone workload, drive and policy come from the file; what is given beside it must be the same.

    Raises :class:`flashgc.ConfigError`, :class:`flashgc.TraceError` or
    :class:`flashgc.DriveError`, and whatever a Python policy raises.

    >>> result = run("uniform", blocks=200, pages_per_block=64, spare="10%", victim="greedy")
    >>> 4 < result.write_amplification < 5.5
    True
    >>> run("uniform", blocks=200, victim="gredy")
    Traceback (most recent call last):
    ...
    flashgc.ConfigError: victim: unknown victim policy 'gredy'; hint: did you mean 'greedy'?
    """
    keep = kept(checkpoint, resume)
    nothing_else = workload == "uniform" and victim is None and options.keys() <= {"jobs"}
    if resume is not None and nothing_else:
        simulated = resumed(
            cast(Checkpoint, keep),
            jobs=parse_jobs(options.get("jobs", 0), "jobs"),
            progress=progress,
            control=control,
        )
        return Result.from_dict(simulated.results[0])
    asked, python = _asked(workload, None if victim is None else [victim], {**options})
    results = simulate(asked, python, progress=progress, control=control, keep=keep).results
    if len(results) != 1:
        raise ConfigError(
            f"{len(results)} configurations to run, expected one; hint: use flashgc.compare"
        )
    return Result.from_dict(results[0])


def compare(
    victims: Victim | Sequence[Victim],
    workload: str | Trace = "uniform",
    *,
    progress: Progress | None = None,
    control: Control | None = None,
    **options: Unpack[Options],
) -> Comparison:
    """Runs one workload under several policies and ranks them, least write amplification first.

    Options are those of :func:`run`; ``mapping``, ``scheme``, ``frontier``, ``allocation``,
    ``wear_levelling``, ``placement``, ``cache``, ``hints``, ``preemption`` and ``spare`` (or
    ``overprovision``) may be lists too, and every combination is run. There are 5 runs of each
    unless ``runs`` says otherwise (1 of a trace under a page cache); run *i* of each sees the same
    workload, so that differences are paired. A single policy need not be in a list; with
    ``collector`` there need be none (``[]``).

    >>> ranking = compare(["fifo", "greedy"], blocks=200, pages_per_block=64, runs=2)
    >>> [rank.result.policy for rank in ranking]
    ['greedy:ties=latest', 'fifo']
    >>> ranking.ranking[1].ratio > 1.05
    True
    """
    one = isinstance(victims, str) or not isinstance(victims, Iterable)
    asked, python = _asked(
        workload,
        [cast(Victim, victims)] if one else list(cast(Iterable[Victim], victims)),
        {**options},
    )
    simulated = simulate(
        asked, python, default_runs=COMPARED_RUNS, progress=progress, control=control
    )
    return Comparison.from_dicts(simulated.ranking, simulated.results)


#: Runs of each configuration in a comparison if nobody says otherwise.
COMPARED_RUNS = 5

#: Runs that can be asked for side by side.
MOST_JOBS = 4096


def simulate(
    asked: Experiment,
    python: Mapping[str, object] | None = None,
    *,
    places: Places | None = None,
    default_runs: int = 1,
    progress: Progress | None = None,
    control: Control | None = None,
    keep: Checkpoint | None = None,
) -> _engine.Simulated:
    """Runs what was asked for; ``python`` maps names among its victims to Python policies.

    ``keep`` says where the runs of the only configuration are kept, and where they go on from.
    """
    python = python or {}
    for name, policy in python.items():
        _faults.check(policy, name)
    configs = configurations(asked, places, default_runs=default_runs, python_victims=tuple(python))
    policies = {
        index: (config["victim"], python[config["victim"]])
        for index, config in enumerate(configs)
        if config["victim"] in python
    }
    with _timelines.drawn(configs):
        return _engine.simulate(
            configs,
            jobs=parse_jobs(asked.run.jobs, (places or {}).get("run.jobs", "jobs")),
            progress=progress,
            policies=policies,
            control=control,
            keep=keep,
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
    try:
        jobs = parse_count(value)
    except ConfigError:
        jobs = -1
    if not 0 <= jobs <= MOST_JOBS:
        raise ConfigError(
            f"{place}: found {value!r}, expected a whole number from 0 (one a core) to {MOST_JOBS}"
        )
    return jobs


def _asked(
    workload: str | Trace, victims: list[Victim] | None, options: dict[str, Any]
) -> tuple[Experiment, dict[str, object]]:
    python: dict[str, object] = {}
    names = []
    for victim in victims or []:
        if isinstance(victim, str):
            names.append(victim)
            continue
        name = unique(policy_name(victim), python)
        python[name] = victim
        names.append(name)
    values: dict[str, dict[str, Any]] = {
        "workload": {"source": str(workload)},
        "gc": {"victim": names},
    }
    collected = options.get("collector") is not None and names in ([], [DEFAULT_VICTIM])
    if victims is None or collected:
        del values["gc"]["victim"]
    if isinstance(workload, Trace):
        reading = {**vars(workload)}
        del reading["path"]
        options = {**reading, **options}
    for key, value in options.items():
        if value is not None:
            given = list(value) if isinstance(value, tuple) else value
            values.setdefault(section_of(key), {})[key] = given
    places = {f"{section_of(key)}.{key}": key for key in options}
    return experiment(values, {"gc.victim": "victim", **places}), python


def section_of(key: str) -> str:
    """The section that an option belongs to; an unknown one is an error with a suggestion."""
    from flashgc import _core
    from flashgc.experiment import sections

    try:
        return home(key)
    except StopIteration:
        known = [name for section in sections().values() for name in section.model_fields]
        known.remove("source")
        raise ConfigError(f"unknown option '{key}'; hint: {_core.suggest(key, known)}") from None


def policy_name(policy: object) -> str:
    """The name by which a Python policy is reported."""
    name = getattr(policy, "__name__", None) or type(policy).__name__
    return f"python:{name}"


def unique(name: str, taken: Mapping[str, object]) -> str:
    """``name``, or with a number where that is taken."""
    number, candidate = 2, name
    while candidate in taken:
        candidate, number = f"{name}#{number}", number + 1
    return candidate
