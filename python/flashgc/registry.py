"""The lists of everything that can be chosen: policies, frontiers, generators, formats, ...."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

from flashgc import _core
from flashgc._documents import read
from flashgc._schemes import Scheme


@functools.cache
def listing() -> dict[str, Any]:
    """The engine's lists by name, as the engine writes them.

    >>> [entry["name"] for entry in listing()["endurances"]]
    ['fixed', 'normal', 'weibull']
    """
    lists: dict[str, Any] = json.loads(_core.registry())
    return lists


@dataclass(frozen=True)
class Param:
    """A parameter of a policy, frontier or generator."""

    name: str
    #: A description of its possible values.
    values: str
    #: The default value; ``None`` if it must be given.
    default: str | None
    #: Its meaning, with its unit.
    help: str


@dataclass(frozen=True)
class Entry:
    """A policy, frontier, block allocation, wear levelling, law of endurance or generator."""

    #: The name, as typed.
    name: str
    #: A summary in one line.
    summary: str
    #: A description in Markdown: what it does, formula, cost, source.
    doc: str
    params: tuple[Param, ...]

    @property
    def usage(self) -> str:
        """The name with its parameters and their defaults, as it can be typed.

        >>> next(policy.usage for policy in policies() if policy.name == "d-choices")
        'd-choices:d=10,c=0'
        """
        params = ",".join(f"{p.name}={p.default or p.name.upper()}" for p in self.params)
        return f"{self.name}:{params}" if params else self.name


@dataclass(frozen=True)
class MappingEntry(Entry):
    """A mapping of logical to physical pages."""

    #: True if victim policy and write frontier apply to it.
    has_victims: bool


@dataclass(frozen=True)
class PlacementEntry(Entry):
    """A placement."""

    #: True if it must know future writes of the host, which no real drive does.
    needs_future: bool
    #: True if it needs the streams of writes, which most workloads do not have.
    needs_streams: bool
    #: Bytes of memory per logical page with the default parameters, on a drive of 2^20 logical
    #: pages.
    bytes_a_page: float


@dataclass(frozen=True)
class TraceLayout:
    """A layout that flashgc includes: the meaning of each column in the lines of a program."""

    #: The name for the option ``layout``.
    name: str
    #: The program that writes such lines.
    program: str
    #: The source of the information on them.
    source: str
    #: The text of the file that states the columns.
    text: str


@dataclass(frozen=True)
class TraceFormat:
    """A format of block traces or of references to memory that can be read."""

    name: str
    #: A summary in one line: which programs write it.
    summary: str
    #: The columns, left to right, with units.
    columns: str
    #: A line in this format; empty for binary formats.
    example: str
    #: The features by which the format is detected.
    detection: str
    #: Properties that often lead to mistakes.
    traps: str
    #: True if it holds references to memory, not requests to a drive.
    references: bool


def _entries(kind: str) -> tuple[Entry, ...]:
    return tuple(read(Entry, entry) for entry in listing()[kind])


def policies() -> tuple[Entry, ...]:
    """Every built-in victim policy.

    >>> [policy.name for policy in policies()][:2]
    ['fifo', 'greedy']
    """
    return _entries("policies")


def frontiers() -> tuple[Entry, ...]:
    """Every write frontier.

    >>> [frontier.name for frontier in frontiers()]
    ['single', 'double', 'compact', 'pool', 'mixed']
    """
    return _entries("frontiers")


def allocations() -> tuple[Entry, ...]:
    """Every block allocation of the pool, the default first.

    >>> [allocation.name for allocation in allocations()]
    ['fifo', 'lowest-erase', 'sfl', 'random']
    """
    return _entries("allocations")


def wear_levellings() -> tuple[Entry, ...]:
    """Every method of wear levelling, the default first.

    >>> [levelling.name for levelling in wear_levellings()]
    ['none', 'static']
    """
    return _entries("wear_levellings")


def placements() -> tuple[PlacementEntry, ...]:
    """Every placement, the default first.

    >>> " ".join(one.name for one in placements() if not (one.needs_future or one.needs_streams))
    'none dac sepbit multilog fadac sfr warcip intervals gdt sfs midas eti'
    """
    return tuple(read(PlacementEntry, entry) for entry in listing()["placements"])


def schemes() -> tuple[Scheme, ...]:
    """Every scheme that flashgc includes: a victim policy and a placement under one name.

    >>> [scheme.victim for scheme in schemes() if scheme.name == "zgc-gd"]
    ['z-greedy']
    """
    return tuple(Scheme(**entry) for entry in listing()["schemes"])


def caches() -> tuple[Entry, ...]:
    """Every cache that can stand in front of a drive.

    >>> [cache.name for cache in caches()]
    ['page-cache', 'buffer-cache']
    """
    return _entries("caches")


def hints() -> tuple[Entry, ...]:
    """Every way in which a host can give hints to a drive.

    >>> [way.name for way in hints()]
    ['none', 'piggyback', 'command', 'dsm', 'frequency', 'perfect', 'oracle']
    """
    return _entries("hints")


def brief(spec: str) -> str:
    """A spec, or several separated by blanks, without parameters that have their defaults.

    Specs of policies, frontiers, allocations, placements, mappings, caches and hints are shortened;
    other texts do not change.

    >>> brief("greedy:ties=latest")
    'greedy'
    >>> brief("d-choices:d=10,c=1")
    'd-choices:c=1'
    >>> brief("piggyback:lost=0,wrong=0,adverse=0,late=50")
    'piggyback:late=50'
    >>> brief("page-cache:size=4GiB,background=0.1,limit=0.3")
    'page-cache:size=4GiB,limit=0.3'
    >>> brief("bast:log_blocks=32,victim=scheme,window=all,strict_order=no,log_only=no")
    'bast:log_blocks=32'
    >>> brief("python:mine.py:Oldest")
    'python:mine.py:Oldest'
    >>> brief("dftl:entries=8192,per_page=512 greedy:ties=latest")
    'dftl:per_page=512 greedy'
    """
    return " ".join(map(_brief, spec.split(" ")))


def _brief(spec: str) -> str:
    name, _, text = spec.partition(":")
    usual = _defaults().get(name)
    if usual is None:
        return spec
    given = [part.split("=", maxsplit=1) for part in text.split(",") if part]
    changes = [f"{key}={value}" for key, value in given if not _same(value, usual.get(key))]
    return f"{name}:{','.join(changes)}" if changes else name


@functools.cache
def _defaults() -> dict[str, dict[str, str | None]]:
    """The defaults of the parameters of everything with a spec, by name."""
    kinds = (policies, frontiers, allocations, wear_levellings, placements, caches, hints, mappings)
    entries: list[Entry] = [entry for kind in kinds for entry in kind()]
    return {
        entry.name: {param.name: param.default for param in entry.params}
        for entry in entries
        if entry.params
    }


def _same(value: str, default: str | None) -> bool:
    """True if a value equals the default, which may be in percent."""
    if default is None or value == default:
        return value == default
    if default.endswith("%"):
        return float(value) == float(default.removesuffix("%")) / 100
    return False


def mappings() -> tuple[MappingEntry, ...]:
    """Every mapping, the default first.

    >>> [mapping.name for mapping in mappings()][:3]
    ['page', 'fast', 'bast']
    """
    return tuple(read(MappingEntry, entry) for entry in listing()["mappings"])


def page_caches() -> tuple[Entry, ...]:
    """Every page cache policy, the default first.

    >>> [policy.name for policy in page_caches()]
    ['3-region', 'lru']
    """
    return _entries("page_caches")


def vm_schemes() -> tuple[Entry, ...]:
    """Every scheme for collections of pages that are also in memory.

    >>> [scheme.name for scheme in vm_schemes()][:2]
    ['du-gc', 'da-gc']
    """
    return _entries("vm_schemes")


def endurances() -> tuple[Entry, ...]:
    """Every distribution of the number of erases that blocks endure.

    >>> [endurance.name for endurance in endurances()]
    ['fixed', 'normal', 'weibull']
    """
    return _entries("endurances")


def generators() -> tuple[Entry, ...]:
    """Every workload generator."""
    return _entries("generators")


def request_generators() -> tuple[Entry, ...]:
    """Every generator of requests with times, for drives with a clock.

    >>> [generator.name for generator in request_generators()]
    ['disksim']
    """
    return _entries("request_generators")


def has_own_times(generator: str) -> bool:
    """True if the requests of this generator have their own times; traces are not considered.

    >>> has_own_times("disksim:reads=0.5"), has_own_times("uniform")
    (True, False)
    """
    name = generator.split(":", maxsplit=1)[0].strip()
    return name in [request_generator.name for request_generator in request_generators()]


def arrivals() -> tuple[Entry, ...]:
    """Every arrival process of drives with a clock.

    >>> [process.name for process in arrivals()]
    ['poisson', 'periodic', 'gaps', 'bursts', 'closed', 'dependent']
    """
    return _entries("arrivals")


def fills() -> tuple[str, ...]:
    """The initial states of a drive."""
    return tuple(listing()["fills"])


@functools.cache
def trace_formats() -> tuple[TraceFormat, ...]:
    """Every trace format that can be read, the most common first."""
    return tuple(TraceFormat(**entry) for entry in json.loads(_core.trace_formats()))


@functools.cache
def trace_layouts() -> tuple[TraceLayout, ...]:
    """Every layout that flashgc includes, for traces of programs without a format of their own.

    >>> [layout.name for layout in trace_layouts()]
    ['microsoft', 'xperf', 'wpa', 'biosnoop', 'simplessd', 'replayer']
    """
    return tuple(TraceLayout(**entry) for entry in json.loads(_core.trace_layouts()))
