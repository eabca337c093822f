"""The search space of tuning: victim policies, placements, frontiers, and their parameters.

All are read from the registry, so that a new policy needs no change here.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from flashgc import _core, registry
from flashgc._core import ConfigError
from flashgc._schemes import Scheme
from flashgc.policy_files import is_written, load_policy, parted
from flashgc.registry import Entry, Param, brief

#: A real parameter is drawn on a logarithmic scale if its upper end is at least this many times the
#: lower.
_WIDE = 100.0
#: The upper end of an unbounded real parameter is this many times its default.
_UNBOUNDED = 100.0
#: After this many repeats of earlier draws in a row, the space counts as exhausted.
_REPEATS = 2000


@dataclass(frozen=True)
class Candidate:
    """A victim policy, a placement and a frontier, as they can be typed."""

    victim: str
    placement: str
    #: ``None`` on a drive without a choice of frontiers.
    frontier: str | None
    #: ``default``, ``drawn``, ``given``, or the name of a scheme.
    origin: str = field(default="drawn", compare=False)

    @property
    def name(self) -> str:
        """A short name for people.

        >>> Candidate("greedy:ties=latest", "dac:regions=3", "pool:low=2").name
        'greedy + dac, pool'
        >>> Candidate("d-choices:d=30,c=0", "none", None).name
        'd-choices:d=30'
        """
        parts = brief(self.victim)
        if self.placement != "none":
            parts += f" + {brief(self.placement)}"
        return parts if self.frontier is None else f"{parts}, {brief(self.frontier)}"


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``."""

    low: float
    high: float
    #: True if the numbers are whole.
    whole: bool

    def draw(self, source: random.Random) -> str:
        """Draw one: on a logarithmic scale if it is whole, or if the range is wide.

        >>> sorted({Range(1, 3, True).draw(random.Random(seed)) for seed in range(20)})
        ['1', '2', '3']
        """
        if self.whole:
            # Every whole number gets the interval up to the next one; 0 gets the interval below 1.
            low, high = math.log(max(self.low, 0.5)), math.log(self.high + 1)
            return str(min(max(int(math.exp(source.uniform(low, high))), int(self.low)), self._top))
        if self.low > 0 and self.high / self.low >= _WIDE:
            value = math.exp(source.uniform(math.log(self.low), math.log(self.high)))
        else:
            value = source.uniform(self.low, self.high)
        return f"{min(max(float(f'{value:.3g}'), self.low), self.high):g}"

    @property
    def _top(self) -> int:
        return int(self.high)


@dataclass(frozen=True)
class Family:
    """A policy, placement or frontier with the possible values of each parameter."""

    option: str
    name: str
    params: Mapping[str, Range | tuple[str, ...]]
    #: The default of each parameter.
    defaults: Mapping[str, str]

    @property
    def default(self) -> str:
        """The spec with default parameters, as in results."""
        return written_out(self.option, _spec(self.name, self.defaults))

    def draw(self, source: random.Random) -> str:
        """Draw a spec; each parameter has its default with probability 1/2."""
        chosen = {}
        for name, values in self.params.items():
            is_default = source.random() < 0.5
            value = values.draw(source) if isinstance(values, Range) else source.choice(values)
            if not is_default:
                chosen[name] = value
            elif name in self.defaults:  # A class in Python has its own defaults.
                chosen[name] = self.defaults[name]
        return written_out(self.option, _spec(self.name, chosen))


def _spec(name: str, values: Mapping[str, str]) -> str:
    text = ",".join(f"{key}={value}" for key, value in values.items())
    if not text:
        return name
    return f"{name},{text}" if is_written(name) else f"{name}:{text}"


def written_out(option: str, text: str) -> str:
    """The spec as in results; that of a policy in a file is its text."""
    return text if is_written(text) else _core.written_out(option, text)


#: A range of a parameter of a policy in a file.
_RANGE = re.compile(r"(\S+?)\.\.(\S+)")


def in_file(option: str, text: str, place: str) -> Family:
    """The family of a policy in a file, whose parameters may have ranges: ``alpha=0.05..0.9``.

    Raises :class:`flashgc.ConfigError`, which names ``place``, if it cannot be loaded, or a range
    is none.

    >>> in_file("victim", "python:nosuch.py:Edt,alpha=1..2", "victim")
    Traceback (most recent call last):
    ...
    flashgc.ConfigError: victim: nosuch.py: no such file; hint: write python:FILE.py:NAME
    """
    written = parted(text, place)
    ranges: dict[str, Range] = {}
    fixed: dict[str, str] = {}
    for name, value in written.parameters.items():
        match = _RANGE.fullmatch(value)
        if match is None:
            fixed[name] = value
            continue
        try:
            low, high = float(match[1]), float(match[2])
        except ValueError:
            low, high = 1.0, 0.0
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise ConfigError(
                f"{place}: {name}={value} is no range of numbers; hint: {name}=0.1..0.9"
            )
        whole = all(re.fullmatch(r"-?\d+", end) for end in match.groups())
        ranges[name] = Range(low, high, whole)
    name = replace(written, parameters={}).text(written.file)
    for ends in ({}, {key: f"{each.low:g}" for key, each in ranges.items()}):
        load_policy(_spec(name, {**fixed, **ends}), place)
    return Family(option, name, {**{key: (fixed[key],) for key in fixed}, **ranges}, fixed)


@dataclass(frozen=True)
class Size:
    """The size of the drive, which limits parameters that count its blocks or pages."""

    blocks: int
    pages: int


def family(option: str, entry: Entry, size: Size) -> Family:
    """Return the family of an entry of the registry, for values of ``option`` (``victim``).

    Raises :class:`flashgc.ConfigError` if a parameter takes any text and has no default.

    >>> greedy = next(entry for entry in registry.policies() if entry.name == "greedy")
    >>> family("victim", greedy, Size(100, 6400)).params
    {'ties': ('latest', 'oldest', 'lowest')}
    """
    params: dict[str, Range | tuple[str, ...]] = {}
    defaults: dict[str, str] = {}
    for param in entry.params:
        values = _values(option, entry, param, size)
        if param.default is not None:
            defaults[param.name] = param.default
        elif values is None:
            raise ConfigError(
                f"{entry.name} needs {param.name}, a text; "
                f"hint: --{option} {entry.name}:{param.name}=TEXT"
            )
        else:
            low = values.low if isinstance(values, Range) else values[0]
            defaults[param.name] = f"{low:g}" if isinstance(low, float) else low
        params[param.name] = values or (defaults[param.name],)
    return Family(option, entry.name, params, defaults)


def _values(option: str, entry: Entry, param: Param, size: Size) -> Range | tuple[str, ...] | None:
    """Return the values of a parameter, from its declaration; ``None`` if it takes any text."""
    if param.values == "text":
        return None
    bounded = re.fullmatch(r"(\S+) to (\S+)", param.values)
    open_ended = re.fullmatch(r"(\S+) or more", param.values)
    if bounded is None and open_ended is None:
        return tuple(param.values.split(", "))
    low = float(bounded[1] if bounded else open_ended[1])  # type: ignore[index]
    high = float(bounded[2]) if bounded else math.inf
    whole = _is_whole(option, entry, param, low)
    if whole:
        # The help says what is counted. A number above that of the drive has no further effect.
        high = min(high, size.blocks if "block" in param.help else size.pages)
    elif math.isinf(high):
        high = _UNBOUNDED * max(float(param.default or 1), 1.0)
    return Range(low, max(low, high), whole)


def _is_whole(option: str, entry: Entry, param: Param, low: float) -> bool:
    """True if a parameter takes only whole numbers, by a test with the engine."""
    others = {
        other.name: other.default
        for other in entry.params
        if other.default is not None and other.name != param.name
    }
    try:
        _core.check(option, _spec(entry.name, {**others, param.name: f"{low + 0.5:g}"}))
    except ConfigError:
        return True
    return False


@dataclass(frozen=True)
class Space:
    """All candidates: those at the start, and an endless sequence of drawn ones."""

    victims: Sequence[Family]
    placements: Sequence[Family]
    #: Empty on a drive without a choice of frontiers.
    frontiers: Sequence[Family]
    #: The schemes: name, victim policy and placement.
    presets: Sequence[tuple[str, str, str]]
    #: The frontier of the candidates at the start; ``None`` if there is no choice.
    home: str | None

    def starts(self) -> list[Candidate]:
        """Every policy with defaults, without a placement if possible, and every preset."""
        plain = [
            Candidate(victim.default, self.placements[0].default, self.home, "default")
            for victim in self.victims
        ]
        candidates = [
            Candidate(victim, placement, self.home, name)
            for name, victim, placement in self.presets
        ]
        return list(dict.fromkeys([*plain, *candidates]))

    def draws(self, seed: int) -> Iterator[Candidate]:
        """Drawn candidates, each once; the sequence ends if nothing new is found.

        The sequence does not depend on how many are needed. If there are no policies to draw, it
        consists of the presets with every frontier.
        """
        source = random.Random(seed)
        seen = set(self.starts())
        for _ in itertools.count():
            for _ in range(_REPEATS):
                drawn = self._draw(source)
                if drawn not in seen:
                    break
            else:
                return
            seen.add(drawn)
            yield drawn

    def _draw(self, source: random.Random) -> Candidate:
        frontier = source.choice(self.frontiers).draw(source) if self.frontiers else None
        if not self.victims:
            name, victim, placement = source.choice(self.presets)
            return Candidate(victim, placement, frontier, name)
        victim = source.choice(self.victims).draw(source)
        return Candidate(victim, source.choice(self.placements).draw(source), frontier)


def space(given: Mapping[str, Sequence[str]], size: Size, home: str | None) -> Space:
    """The space for values of ``victim``, ``placement``, ``frontier`` and ``scheme``.

    The search varies the parameters of a bare name, and uses a spec with parameters as it is.
    Without any value, everything is searched, including the presets. Candidates at the start have
    the frontier ``home``; it is ``None`` on a drive without a choice of frontiers.
    """
    chosen = [Scheme.parse(text) for text in given.get("scheme", ())]
    # No drive knows what its host will write, and most hosts name no streams. So placements that
    # need either are searched only if the user names them.
    placements = [
        placement
        for placement in registry.placements()
        if not (placement.needs_future or placement.needs_streams)
    ]
    if given.get("placement"):
        placements = list(registry.placements())
    free = not (given.get("victim") or given.get("placement"))
    presets = chosen or (list(registry.schemes()) if free else [])
    known = registry.frontiers()
    frontiers = [] if home is None else _families("frontier", known, given, size)
    return Space(
        [] if chosen else _families("victim", registry.policies(), given, size),
        [] if chosen else _families("placement", placements, given, size),
        frontiers,
        [
            (
                preset.name,
                written_out("victim", preset.specs[0]),
                written_out("placement", preset.specs[1]),
            )
            for preset in presets
        ],
        None if home is None else _core.written_out("frontier", home),
    )


def _families(
    option: str, entries: Sequence[Entry], given: Mapping[str, Sequence[str]], size: Size
) -> list[Family]:
    """The families of the ``entries`` that were given, or of all entries."""
    texts = given.get(option) or [entry.name for entry in entries]
    known = {entry.name: entry for entry in entries}
    families = []
    for text in texts:
        name = text.split(":")[0].strip()
        if is_written(text):
            families.append(in_file(option, text, option))
        elif ":" not in text:
            families.append(family(option, known[name], size))
        else:
            fixed = _core.written_out(option, text)
            values = dict(part.split("=", 1) for part in fixed.partition(":")[2].split(",") if part)
            families.append(
                Family(option, name, {key: (value,) for key, value in values.items()}, values)
            )
    return families
