"""The options that ``run`` and ``compare`` share.

Each is a key of an experiment file: what can be written there can be typed here, and is checked in
one place.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from flashgc._core import ConfigError, suggest
from flashgc._faults import contained
from flashgc.command import output
from flashgc.command.option import Option, names
from flashgc.command.timed_options import DRIVE, TIMED
from flashgc.registry import (
    allocations,
    caches,
    collectors,
    endurances,
    fills,
    frontiers,
    generators,
    hints,
    mappings,
    page_caches,
    placements,
    policies,
    schemes,
    trace_formats,
    wear_levellings,
)

F = TypeVar("F", bound=Callable[..., Any])

#: Keys that say the same thing in different ways: one given later replaces all.
ALTERNATIVES = (
    {"drive.blocks", "drive.capacity"},
    {"drive.spare", "drive.overprovision"},
    {"run.writes", "run.collections", "run.requests", "run.passes"},
)


_COMMON = (
    Option(
        "workload.source",
        "--workload",
        "SPEC|PATH",
        "Generator (hotcold:f=0.2,r=0.8), mixture (0.7*zipf + 0.3*sequential) or trace file. "
        "[default: uniform]",
        words=names(generators),
    ),
    Option(
        "gc.victim",
        "--victim",
        "SPEC",
        "Victim policy: greedy, d-choices:d=10,c=1, python:FILE.py:NAME; see flashgc policies. "
        "[default: d-choices:d=10]",
        several=True,
        words=names(policies),
    ),
    Option(
        "gc.frontier",
        "--frontier",
        "SPEC",
        "Write frontier: single, double, pool:low=2, mixed:low=2. [default: single]",
        several=True,
        words=names(frontiers),
    ),
    Option(
        "gc.allocation",
        "--allocation",
        "WORD",
        "Erased block of the pool that is used next: fifo, lowest-erase, sfl, random. "
        "[default: fifo]",
        several=True,
        words=names(allocations),
    ),
    Option(
        "gc.wear_levelling",
        "--wear-levelling",
        "SPEC",
        "How cold data are moved to level wear: none, static:threshold=50,interval=10; with the "
        "pool or mixed frontier. [default: none]",
        several=True,
        words=names(wear_levellings),
    ),
    Option(
        "gc.placement",
        "--placement",
        "SPEC",
        "Open block that a page goes to, with the pool frontier: none, "
        "dac:regions=3,zombie-block=yes. [default: none]",
        several=True,
        words=names(placements),
    ),
    Option(
        "gc.collector",
        "--collector",
        "NAME",
        "Victim policy and placement under one name, in place of both: gc-gd, zgc-gd, ...; see "
        "flashgc policies.",
        several=True,
        words=names(collectors),
    ),
    Option(
        "host.cache",
        "--cache",
        "SPEC",
        "Cache between the workload, which is then an application's, and the drive: "
        "page-cache:size=4GiB, buffer-cache:size=1GiB. [default: none]",
        several=True,
        words=names(caches),
    ),
    Option(
        "host.hints",
        "--hints",
        "SPEC",
        "How the drive is told of the cache's dirty pages: none, piggyback, command, dsm, "
        "frequency, perfect. [default: none]",
        several=True,
        words=names(hints),
    ),
    Option(
        "gc.mapping",
        "--mapping",
        "SPEC",
        "How pages are found: page, fast:log_blocks=32, bast, dftl; see flashgc policies. "
        "[default: page]",
        several=True,
        words=names(mappings),
    ),
    Option(
        "swap.page_cache",
        "--page-cache",
        "SIZE",
        "A page cache of a virtual memory system in front of the drive (4MiB). [default: none]",
    ),
    Option(
        "swap.page_policy",
        "--page-policy",
        "SPEC",
        "Which page leaves the page cache: 3-region, lru. [default: 3-region]",
        words=names(page_caches),
    ),
    Option(
        "swap.scheme",
        "--scheme",
        "SPEC",
        "What collections do about pages in memory: du-gc, da-gc, ba-gc, lda-gc1 to lda-gc5, "
        "lda-p. [default: du-gc]",
        several=True,
        words=names(schemes),
    ),
    Option(
        "drive.blocks",
        "--blocks",
        "N",
        "Physical blocks. [default: 4096; for a trace, as many as its pages need]",
    ),
    Option(
        "drive.capacity",
        "--capacity",
        "SIZE",
        "Physical size with its unit (64GiB, 1TB), instead of --blocks.",
    ),
    DRIVE,
    Option("drive.pages_per_block", "--pages-per-block", "N", "Pages a block. [default: 256]"),
    Option(
        "drive.page_size", "--page-size", "SIZE", "Size of a page with its unit. [default: 4KiB]"
    ),
    Option(
        "drive.spare",
        "--spare",
        "SHARE",
        "Spare factor 1 - U/N: share of the physical space (10%, 0.1). [default: 10%]",
        several=True,
    ),
    Option(
        "drive.overprovision",
        "--overprovision",
        "SHARE",
        "Over-provisioning (N - U)/U (28%, 0.28), instead of --spare.",
        several=True,
    ),
    Option(
        "drive.endurance",
        "--endurance",
        "N|SPEC",
        "Erases that a block bears before it is bad: 1000, normal:mean=1000,cv=0.1, "
        "weibull:scale=1000,shape=10; with the pool or mixed frontier. "
        "[default: any number]",
        words=names(endurances),
    ),
    Option(
        "drive.times",
        "--times",
        "TIMES",
        "How long operations keep the flash busy (read=60us,program=800us,erase=1.5ms,"
        "transfer=20us), for busy times in the result.",
    ),
    Option(
        "drive.fill",
        "--fill",
        "WORD",
        "What is on the drive at first: sequential, random, empty. [default: sequential]",
        words=lambda: list(fills()),
    ),
    Option(
        "run.warmup",
        "--warmup",
        "PART",
        "Part of the run (1/3, 30%), or before it: drive writes (10x), page writes (1000000); or "
        "auto. [default: 1/3; none of a run until a failure; with a clock 2x, which take no time]",
    ),
    Option(
        "run.writes",
        "--writes",
        "N|Nx",
        "Length in page writes (1000000) or drive writes (20x). [default: 20x]",
    ),
    Option("run.collections", "--collections", "N", "Length in collections, instead."),
    Option(
        "run.requests",
        "--requests",
        "N",
        "Length in page requests, reads included, instead; a trace is replayed whole. [default "
        "with a clock: 1000000]",
    ),
    Option(
        "run.passes",
        "--passes",
        "N",
        "Length in replays of a trace, instead. [default for traces: 3, with a clock 1]",
    ),
    Option(
        "run.until",
        "--until",
        "END",
        "Go on until the 95% interval is within this share of the mean (precision=0.1%), or until "
        "a drive with an endurance dies: first-failure, system-failure.",
        words=lambda: ["precision=", "first-failure", "system-failure"],
    ),
    Option("run.runs", "--runs", "N", "Runs, each with a seed of its own. [default: 1]"),
    Option("run.seed", "--seed", "N", "Seed of the first run. [default: 1]"),
    Option("run.jobs", "--jobs", "N", "Runs side by side; 0: one a core. [default: 0]"),
    Option(
        "workload.format",
        "--format",
        "NAME",
        "Format of the trace; see flashgc trace formats. [default: detected]",
        words=lambda: [format_.name for format_ in trace_formats()],
    ),
    Option(
        "workload.alignment_offset",
        "--alignment-offset",
        "SIZE",
        "Added to every offset of a trace before it is cut into pages. [default: 0B]",
    ),
    Option(
        "workload.on_bad_line",
        "--on-bad-line",
        "WORD",
        "Bad lines of a trace: stop, or skip and count them. [default: stop]",
        words=lambda: ["stop", "skip"],
    ),
)

OPTIONS: tuple[Option, ...] = (*_COMMON, *TIMED)

#: What ``compare`` does where ``run`` has another default.
COMPARED = {"gc.victim": "every built-in policy", "run.runs": "5"}

FLAGS = {option.path: option.flag for option in OPTIONS}


def _complete(words: Callable[[], list[str]]) -> Callable[..., list[CompletionItem]]:
    def complete(_ctx: Any, _param: Any, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in words() if word.startswith(incomplete)]

    return complete


def _once(option: Option) -> Callable[[Any, Any, tuple[str, ...]], str | None]:
    """Takes one value: of two that differ the last would win, and the first be lost unseen."""

    def once(_ctx: Any, _param: Any, given: tuple[str, ...]) -> str | None:
        if len(set(given)) > 1:
            hint = "flashgc compare runs several" if option.several else "give it once"
            found = ", ".join(given)
            raise ConfigError(f"{option.flag}: found {found}, expected one value; hint: {hint}")
        return given[-1] if given else None

    return once


def experiment_options(*, several: bool) -> Callable[[F], F]:
    """Adds the options of an experiment to a command; with ``several``, some may be repeated."""

    def decorate(command: F) -> F:
        for option in reversed(OPTIONS):
            extra: dict[str, Any] = {}
            if option.words is not None:
                extra["shell_complete"] = _complete(option.words)
            help_ = option.help
            if several and option.path in COMPARED:
                help_ = f"{help_.partition(' [default')[0]} [default: {COMPARED[option.path]}]"
            if option.several and several:
                help_ = help_.replace(" [default", " Repeat to compare. [default")
                if "Repeat" not in help_:
                    help_ += " Repeat to compare."
            command = click.option(
                option.flag,
                option.path.replace(".", "__"),
                metavar=option.metavar,
                multiple=True,
                callback=None if option.several and several else _once(option),
                help=help_,
                **extra,
            )(command)
        return command

    return decorate


def output_options(command: F) -> F:
    """Adds ``--json``, ``--out`` and ``--quiet`` to a command."""
    for decorator in (
        click.option("--quiet", "-q", is_flag=True, help="No progress and no warnings."),
        click.option(
            "--out",
            metavar="FILE",
            type=click.Path(),
            callback=output.option("result.json"),
            help="Write the JSON document to FILE as well.",
        ),
        click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout."),
    ):
        command = decorator(command)
    return command


def plot_kind_option(command: F) -> F:
    """Adds ``--plot-kind`` to a command."""
    return click.option(
        "--plot-kind",
        metavar="WORD",
        shell_complete=_complete(lambda: [*output.KINDS]),
        help="What --plot draws: amplification, histogram (of erases), evolution (of wear) or "
        "survival (of blocks). [default: amplification; of one life evolution, of several "
        "survival]",
    )(command)


def plot_option(command: F) -> F:
    """Adds ``--plot`` to a command."""
    return click.option(
        "--plot",
        "picture",
        metavar="FILE",
        type=click.Path(),
        callback=output.picture,
        help="Draw the result to FILE, as .svg, .pdf or .png.",
    )(command)


@dataclass(frozen=True)
class Asked:
    """What was asked for, and where each value came from."""

    values: dict[str, dict[str, Any]]
    places: dict[str, str]
    #: Victims that are written in Python, by their text.
    python: dict[str, object]


def asked(file: Path | None, typed: dict[str, Any]) -> Asked:
    """Puts an experiment file and the options typed together; options win."""
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    if file is not None:
        from flashgc.experiment_file import load

        values, places = load(file)
    for name, value in typed.items():
        if value is None or value == ():
            continue
        section, key = name.split("__")
        path = f"{section}.{key}"
        for alternatives in ALTERNATIVES:
            if path in alternatives:
                for other in alternatives:
                    if typed.get(other.replace(".", "__")) in (None, ()):
                        values.get(section, {}).pop(other.split(".")[1], None)
        keys = values.setdefault(section, {})
        if not isinstance(keys, dict):
            continue  # A fault of the file, which is reported when it is checked.
        keys[key] = list(value) if isinstance(value, tuple) else value
        # Of a list in the file, the places of its elements are no longer true.
        places = {at: where for at, where in places.items() if not at.startswith(f"{path}.")}
        places[path] = FLAGS[path]
    gc = values.get("gc")
    victims = gc.get("victim") if isinstance(gc, dict) else None
    python = {
        text: load_policy(text, places.get("gc.victim", "victim"))
        for text in (victims if isinstance(victims, list) else [victims])
        if isinstance(text, str) and text.startswith("python:")
    }
    return Asked(values, {**FLAGS, **places}, python)


def load_policy(text: str, place: str) -> object:
    """The policy ``python:FILE.py:NAME``."""
    file, separator, name = text.removeprefix("python:").rpartition(":")
    if not separator or not file or not name:
        raise ConfigError(f"{place}: '{text}' is not understood; hint: write python:FILE.py:NAME")
    path = Path(file)
    if not path.is_file():
        raise ConfigError(f"{place}: {file}: no such file; hint: write python:FILE.py:NAME")
    spec = importlib.util.spec_from_file_location(f"flashgc_policy_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{place}: {file} is no Python file; hint: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with contained():
        spec.loader.exec_module(module)
    if not hasattr(module, name):
        known = [word for word in vars(module) if callable(getattr(module, word))]
        raise ConfigError(f"{place}: {file} defines no '{name}'; hint: {suggest(name, known)}")
    policy: object = getattr(module, name)
    return policy
