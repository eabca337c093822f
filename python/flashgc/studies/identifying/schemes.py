"""Possible schemes of a drive: victim policies, frontiers and placements, with parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flashgc._core import ConfigError
from flashgc.registry import brief, frontiers, placements

#: Victim policies that are combined with every frontier. N is the number of blocks.
VICTIMS = (
    "greedy",
    "fifo",
    "random",
    "windowed:w=N/64",
    "windowed:w=N/16",
    "windowed:w=N/4",
    "d-choices:d=2",
    "d-choices:d=3",
    "d-choices:d=5",
    "d-choices:d=10",
    "cost-benefit",
    "cost-benefit:form=sqrt",
)
#: Frontiers that are not tried, because they work only with their own victim policies.
LEFT_OUT = ("compact",)
#: Placements that are combined with the pool frontier, and the victim policies for them.
PLACED = ("dac:regions=2", "dac:regions=3", "dac:regions=6")
PLACED_VICTIMS = ("greedy", "fifo", "cost-benefit", "cost-benefit:form=sqrt")


@dataclass(frozen=True)
class Scheme:
    """A victim policy, a write frontier and a placement.

    >>> Scheme("windowed:w=N/16", "mixed").options(512)["victim"]
    'windowed:w=32'
    """

    victim: str
    frontier: str
    placement: str = "none"
    #: Number of blocks of the simulated drive; ``None`` for the default number.
    blocks: int | None = None

    @property
    def name(self) -> str:
        """The three specs as typed, separated by blanks; the placement ``none`` is omitted."""
        return f"{self.victim} {self.frontier}" + (
            "" if self.placement == "none" else f" {self.placement}"
        )

    def options(self, blocks: int) -> dict[str, str]:
        """The keywords of :func:`flashgc.run` for a drive with ``blocks`` blocks."""

        def part(match: re.Match[str]) -> str:
            return str(max(1, round(blocks / float(match[1]))))

        victim = re.sub(r"\bN/(\d+(?:\.\d+)?)", part, self.victim)
        return {"victim": victim, "frontier": self.frontier, "placement": self.placement}


def schemes() -> tuple[Scheme, ...]:
    """All schemes that are tried by default.

    >>> len(schemes())
    60
    """
    kinds = [frontier.name for frontier in frontiers() if frontier.name not in LEFT_OUT]
    apart = [Scheme(victim, kind) for kind in kinds for victim in VICTIMS]
    placed = [Scheme(victim, "pool", where) for where in PLACED for victim in PLACED_VICTIMS]
    return (*apart, *placed)


def parse(text: str, frontier: str = "single", place: str = "scheme") -> Scheme:
    """The scheme with this name; if it names no frontier, ``frontier`` is used.

    Raises :class:`flashgc.ConfigError`, which names ``place``.

    >>> parse("cost-benefit pool dac:regions=3").placement
    'dac:regions=3'
    """
    words = text.split()
    if not words:
        raise ConfigError(f"{place}: it is empty; hint: such as 'greedy pool'")
    parts = {"frontier": frontier, "placement": "none"}
    known = {
        "frontier": [frontier.name for frontier in frontiers()],
        "placement": [placement.name for placement in placements()],
    }
    for word in words[1:]:
        kind = next((kind for kind in known if word.split(":")[0] in known[kind]), None)
        if kind is None:
            raise ConfigError(
                f"{place}: unknown word '{word}'; hint: VICTIM FRONTIER PLACEMENT, frontiers are "
                f"{', '.join(known['frontier'])}"
            )
        parts[kind] = word
    if parts["placement"] != "none":
        parts["frontier"] = parts["frontier"] if parts["frontier"] in words else "pool"
    scheme = Scheme(brief(words[0]), parts["frontier"], parts["placement"])
    _check(scheme, place)
    return scheme


def _check(scheme: Scheme, place: str) -> None:
    from flashgc.described import Simulation

    try:
        Simulation({"workload": "uniform", **scheme.options(512)}).config()
    except ConfigError as fault:
        raise ConfigError(f"{place}: {fault}") from None
