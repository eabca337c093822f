"""The main functions of flashgc: ``run`` and ``compare``."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Protocol,
    SupportsIndex,
    TypeAlias,
    Unpack,
    cast,
    runtime_checkable,
)

from flashgc import _core
from flashgc._core import Blocks, ConfigError, Control
from flashgc._engine import Progress
from flashgc._interruptions import interrupts_program
from flashgc._origins import Given
from flashgc._schemes import Scheme, python_parts
from flashgc._typed_keywords import typed_keywords
from flashgc.checkpoints import Checkpoint, File
from flashgc.checkpoints import checkpoint as kept
from flashgc.execution import COMPARED_RUNS, keeping_in, parse_jobs, resumed, simulate, with_warning
from flashgc.experiment import Experiment, experiment
from flashgc.frames import Table
from flashgc.keywords import CompareKeywords, RunKeywords
from flashgc.options import OPTIONS, find, known, several
from flashgc.policy_files import Files, Policies, in_file
from flashgc.results import Comparison, Result
from flashgc.traces import Trace, as_given

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


@runtime_checkable
class VictimPolicy(Protocol):
    """A victim policy in Python, as an object; a plain function is possible too."""

    def pick(self, blocks: Blocks) -> SupportsIndex:
        """Return the number of the block to collect, which must be a candidate."""


@runtime_checkable
class PlacementRule(Protocol):
    """A placement in Python: it gives pages their classes.

    Each class has an open block of its own.

    A drive may call :meth:`host` and :meth:`copy` any number of times; if they are arrays, it reads
    them. The drive reports its work through further methods, if the object has them;
    ``docs/placement.md`` lists all. A method may have further parameters for block numbers. If an
    object is also a :class:`VictimPolicy`, it may serve a drive as both: pass it, or its class, as
    ``victim`` and as ``placement``.
    """

    @property
    def classes(self) -> int | Callable[[], int]:
        """The number of classes, 1 to 255."""

    @property
    def host(self) -> Callable[..., SupportsIndex] | NDArray[numpy.uint8]:
        """``host(page, stream, old, now)`` returns the class of a page that the host writes.

        ``old`` is the class of the page's old data. After ``now``, the method may have a parameter
        ``old_block``; it gets the block of the old data. ``host`` may also be an array with the
        class of each page.
        """

    @property
    def copy(self) -> Callable[..., SupportsIndex] | NDArray[numpy.uint8]:
        """``copy(page, from_, zombie, now)`` returns the class of a page that a collection copies.

        ``from_`` is the class of the victim. After ``now``, the method may have a parameter
        ``from_block``; it gets the victim's number. ``copy`` may also be an array with the class of
        each page.
        """


#: The spec of a policy; a function from the blocks to a block number; an object with such a method
#: ``pick``; or a class of such objects, from which every run makes one.
Victim: TypeAlias = str | Callable[[Blocks], SupportsIndex] | VictimPolicy | type[VictimPolicy]

#: The spec of a placement; an object that is a placement, of which every run gets a copy; or a
#: class of such objects, from which every run makes one.
Placement: TypeAlias = str | PlacementRule | type[PlacementRule]


@interrupts_program
@typed_keywords(RunKeywords)
def run(
    workload: str | Trace | Table = "uniform",
    *,
    victim: Victim | None = None,
    checkpoint: File | None = None,
    resume: File | None = None,
    results: File | None = None,
    progress: Progress | None = None,
    control: Control | None = None,
    **options: Unpack[RunKeywords],
) -> Result:
    """Run one workload on one drive.

    ``workload`` is a generator (``"hotcold:f=0.2,r=0.8"``), a mixture (``"0.7*zipf +
    0.3*sequential"``), the path of a trace, a :class:`flashgc.Trace` or a table (a dict of arrays,
    a data frame; see :class:`flashgc.Trace`); ``victim`` is a policy's spec or a policy written in
    Python, by default that of the scheme or the device, or ``"d-choices:d=10"``. ``placement``
    may be written in Python, too (:class:`PlacementRule`). One object or class may be both: each
    drive then has one object, with one state. The options are the keys of an experiment file, and
    ``None`` means the default: ``blocks`` or ``capacity`` (``"64GiB"``), ``spare`` (``0.1`` or
    ``"10%"``), ``writes`` (``"20x"`` drive writes), ``runs``, ``seed`` and so on; with
    ``kind="timed"`` also those of drives with a clock (``device="tlc"``,
    ``arrivals="poisson:rate=20000"``). :class:`flashgc.keywords.RunKeywords` lists all of them.

    Ctrl-C stops the runs and raises :class:`flashgc.Interruption`, a :class:`KeyboardInterrupt`
    that has the results so far. A notebook shows a progress bar if the work takes over a second;
    ``progress``, called about 20 times a second, replaces it.

    ``checkpoint`` is a file that saves the state of the runs (``"run.ckpt,every=5min"``). From the
    file ``resume`` they continue, and give exactly the results of runs that were never stopped.
    With ``resume`` alone, workload, drive and policy come from the file; options that you give
    beside it must agree with it. ``results`` is a file of results: a result that it has is taken
    from it, and any other is stored in it.

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
    workload = as_given(workload)
    keep = kept(checkpoint, resume)
    keeping = keeping_in(results, "run")
    nothing_else = workload == "uniform" and victim is None and options.keys() <= {"jobs"}
    if resume is not None and nothing_else:
        simulated = resumed(
            cast(Checkpoint, keep),
            jobs=parse_jobs(options.get("jobs") or 0, "jobs"),
            progress=progress,
            control=control,
            keeping=keeping,
        )
        return Result.from_dict(simulated.results[0])
    experiment, python = _asked(workload, None if victim is None else [victim], {**options})
    ranked = simulate(
        experiment, python, progress=progress, control=control, keep=keep, keeping=keeping
    ).results
    if len(ranked) != 1:
        raise ConfigError(
            f"{len(ranked)} configurations to run, expected one; hint: use flashgc.compare"
        )
    return with_warning(Result.from_dict(ranked[0]), keeping)


@interrupts_program
@typed_keywords(CompareKeywords)
def compare(
    victims: Victim | Sequence[Victim],
    workload: str | Trace | Table = "uniform",
    *,
    results: File | None = None,
    progress: Progress | None = None,
    control: Control | None = None,
    **options: Unpack[CompareKeywords],
) -> Comparison:
    """Run one workload under several policies and rank them by their figure, the lowest first.

    The figure is write amplification; for drives with a clock, the mean response time; with a VM
    page cache, the time on flash.

    Options are those of :func:`run`. Options that :class:`flashgc.keywords.CompareKeywords` accepts
    as lists may have several values, and every combination is run. There are 5 runs of each unless
    ``runs`` says otherwise (1 of a trace under a VM page cache); run *i* of each sees the same
    workload, so that differences are paired. A combination that cannot run is in ``left_out`` with
    its reason. If none can run, it is an error. A single policy need not be in a list; with
    ``scheme`` the list may be empty (``[]``).

    >>> ranking = compare(["fifo", "greedy"], blocks=200, pages_per_block=64, runs=2)
    >>> [rank.result.policy for rank in ranking]
    ['greedy:ties=latest', 'fifo']
    >>> ranking.ranking[1].ratio > 1.05
    True
    """
    keeping = keeping_in(results, "compare")
    is_single = isinstance(victims, str) or not isinstance(victims, Iterable)
    experiment, python = _asked(
        workload,
        [cast(Victim, victims)] if is_single else list(cast(Iterable[Victim], victims)),
        {**options},
    )
    simulated = simulate(
        experiment,
        python,
        default_runs=COMPARED_RUNS,
        progress=progress,
        control=control,
        leave_out=True,
        keeping=keeping,
    )
    comparison = Comparison.from_dicts(simulated.ranking, simulated.results, simulated.left_out)
    return with_warning(comparison, keeping)


def _asked(
    workload: str | Trace | Table, victims: list[Victim] | None, options: dict[str, Any]
) -> tuple[Experiment, Policies]:
    python: dict[str, dict[str, object]] = {"victim": {}, "placement": {}}
    names = [_name_of(victim, python["victim"]) for victim in victims or []]
    placement = options.get("placement")
    if isinstance(placement, list | tuple):
        placement = [_name_of(entry, python["placement"]) for entry in placement]
    elif placement is not None:
        placement = _name_of(placement, python["placement"])
    options["placement"] = placement
    given = options.get("scheme")
    if isinstance(given, list | tuple):
        options["scheme"] = [_text_of(each, python) for each in given]
    else:
        options["scheme"] = _text_of(given, python)
    texts = [("victim", name) for name in names]
    texts += [("placement", text) for text in several(options["placement"])]
    files = Files()
    for key, text in (*texts, *python_parts(options["scheme"])):
        if text not in python[key] and in_file(str(text)):
            python[key][text] = files.load(text, key)
    values, places = given_values(workload, options)
    collected = options.get("scheme") is not None and names in ([], [find("victim").default])
    if victims is not None and not collected:
        values["gc"] = {"victim": names, **values.get("gc", {})}
    return experiment(values, {"gc.victim": "victim", **places}), python


def _text_of(scheme: object, python: dict[str, dict[str, object]]) -> object:
    """The text of a scheme; its policies in Python are added to ``python``."""
    if not isinstance(scheme, Scheme):
        return scheme
    victim = _name_of(scheme.victim, python["victim"])
    placement = _name_of(scheme.placement, python["placement"])
    return dataclasses.replace(scheme, victim=victim, placement=placement).text


def _name_of(policy: object, known: dict[str, object]) -> str:
    """The name of a policy; a policy in Python is added to ``known``."""
    if isinstance(policy, str):
        return policy
    name = unique(policy_name(policy), known)
    known[name] = policy
    return name


def given_values(
    workload: str | Trace | Table | Given, options: Mapping[str, Any]
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Keywords as the values of an experiment, by section, and the place of each value.

    ``None`` counts as not given. The fields of a :class:`flashgc.Trace` apply unless an option is
    given.
    """
    if isinstance(workload, Given):
        return workload.values, workload.places
    workload = as_given(workload)
    values: dict[str, dict[str, Any]] = {"workload": {"source": str(workload)}}
    if options.get("tenant") is not None and workload == find("source").default:
        values = {}  # The user did not give a source.
    if isinstance(workload, Trace):
        reading = {**vars(workload)}
        del reading["path"]
        for key in ("layout", "relations"):
            if reading[key] is not None:
                reading[key] = os.fspath(reading[key])
        options = {**reading, **options}
    for key, value in options.items():
        if value is not None:
            given = list(value) if isinstance(value, tuple) else value
            values.setdefault(section_of(key), {})[key] = given
    return values, {f"{section_of(key)}.{key}": key for key in options}


def section_of(key: str) -> str:
    """The section of an option; an unknown option is an error with a suggestion."""
    if not known(key):
        as_flag = [option.key for option in OPTIONS if option.flag.replace("-", "_") == key]
        hint = f"did you mean '{as_flag[0]}'?" if as_flag else ""
        if not hint:
            hint = _core.suggest(key, [option.key for option in OPTIONS if option.key != "source"])
        if not hint.startswith("did you mean"):
            hint = "flashgc run --help lists the options, and flashgc.keywords their types"
        raise ConfigError(f"unknown option '{key}'; hint: {hint}")
    return find(key).section


def policy_name(policy: object) -> str:
    """The name by which a Python policy is reported."""
    name = getattr(policy, "__name__", None) or type(policy).__name__
    return f"python:{name}"


def unique(name: str, taken: Mapping[str, object]) -> str:
    """``name``, with a number added if that name is taken."""
    number, candidate = 2, name
    while candidate in taken:
        candidate, number = f"{name}#{number}", number + 1
    return candidate
