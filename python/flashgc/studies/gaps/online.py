"""The schemes that know only the past: the default list, and the check of a given one."""

from __future__ import annotations

from collections.abc import Sequence

from flashgc._core import ConfigError
from flashgc._schemes import Scheme
from flashgc.policy_files import load_scheme

#: The schemes that are run by default. Greedy without a placement is always run.
USUAL = (
    "greedy", "cost-benefit", "gc-gd", "cost-benefit + dac:regions=6", "sepbit", "sepbit-cb",
    "cost-benefit + multilog",
    "cost-benefit + fadac",
)  # fmt: skip

#: The scheme with which all others are compared.
GREEDY = Scheme("greedy", "greedy")


def online(given: Sequence[str | Scheme], place: str) -> tuple[Scheme, ...]:
    """Greedy and the ``given`` schemes.

    Raises :class:`flashgc.ConfigError`, which names ``place``.

    >>> [(each.victim, each.placement) for each in online(["gc-gd", "fifo + sepbit"], "schemes")]
    [('greedy', 'none'), ('greedy', 'dac:regions=3'), ('fifo', 'sepbit')]
    """
    if not given:
        raise ConfigError(f"{place}: found none, expected a scheme; hint: sepbit-cb")
    schemes = [_scheme(each, place) for each in given]
    for index, scheme in enumerate(schemes):
        for twin in schemes[:index]:
            if twin.specs == scheme.specs:
                raise ConfigError(
                    f"{place}: '{scheme.name}' is the same as '{twin.name}'; hint: give each once"
                )
            if twin.name == scheme.name:
                raise ConfigError(
                    f"{place}: two schemes have the name '{twin.name}'; hint: give each its own"
                )
    return (GREEDY, *(scheme for scheme in schemes if scheme.specs != GREEDY.specs))


def _scheme(given: str | Scheme, place: str) -> Scheme:
    if isinstance(given, Scheme) and not all(
        isinstance(part, str) for part in (given.victim, given.placement)
    ):
        raise ConfigError(
            f"{place}: a policy of '{given.name}' is in no file, so results could not be kept; "
            "hint: write python:FILE.py:NAME"
        )
    scheme = load_scheme(given, place)
    if scheme.frontier is not None:
        raise ConfigError(
            f"{place}: '{scheme.name}' names a frontier, and all rows have the pool frontier; "
            "hint: leave it out"
        )
    if scheme.specs[1].split(":")[0] == "oracle":
        raise ConfigError(
            f"{place}: '{scheme.name}' knows the future, expected a scheme that knows the past; "
            "hint: leave it out, clairvoyance has a row of its own"
        )
    return scheme
