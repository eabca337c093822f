"""Models asked the other way round: how much spare space, how many choices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Unpack

from flashgc import _core
from flashgc._core import ConfigError
from flashgc.model.answers import find
from flashgc.model.parameters import Parameters, scalars
from flashgc.units import parse_share

#: Most blocks drawn a collection that are tried.
MOST_CHOICES = 10_000


@dataclass(frozen=True)
class Spare:
    """Spare space, said in both ways."""

    #: Spare factor S_f = 1 - U/N, of the physical space.
    spare_factor: float
    #: Over-provisioning (N - U)/U, of the logical space.
    overprovision: float


def spare_for(model: str, wanted: float, **parameters: Unpack[Parameters]) -> Spare:
    """The spare space at which ``model`` has the write amplification ``wanted``.

    Raises :class:`flashgc.ConfigError` where no spare factor gives it, with the range.

    >>> spare = spare_for("greedy", 3.0, pages_per_block=64)
    >>> round(spare.spare_factor, 4), round(spare.overprovision, 4)
    (0.1701, 0.2049)
    """
    for name in ("spare", "overprovision"):
        if parameters.get(name) is not None:
            raise ConfigError(f"{name}: spare_for solves for it; hint: leave it out")
    query = scalars(find(model).parameters, parameters, "ask for one at a time")
    spare = _core.model_spare_for(model, query, float(wanted))
    return Spare(spare, spare / (1 - spare))


def choices_within(
    share: float | str, **parameters: Unpack[Parameters]
) -> int | dict[int, int | None] | None:
    """The smallest d with which d choices write at most ``share`` more than greedy does.

    Uniform writes. With several ``c``, blocks stored, the answer is a dictionary. ``None`` says
    that 10 000 choices are not enough.

    >>> choices_within("1%"), choices_within(0.01, c=[1, 2])
    (25, {1: 17, 2: 16})
    """
    within = parse_share(share, "within")
    known = find("meanfield").parameters

    def fewest(c: Any) -> int | None:
        query = scalars(known, {**parameters, "c": c}, "ask for one at a time")
        return _core.model_choices_within(query, within, MOST_CHOICES)

    stored = parameters.get("c")
    if isinstance(stored, Iterable) and not isinstance(stored, str):
        return {int(c): fewest(c) for c in stored}
    return fewest(stored)
