"""The schemes that know only the past: the default list, and the check of a given one."""

from __future__ import annotations

from collections.abc import Sequence

from flashgc import _core
from flashgc._core import ConfigError
from flashgc._schemes import Scheme
from flashgc.policy_files import is_written, load_policy

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
    try:
        scheme = given if isinstance(given, Scheme) else Scheme.parse(given)
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from None
    if scheme.frontier is not None:
        raise ConfigError(
            f"{place}: '{scheme.name}' names a frontier, and all rows have the pool frontier; "
            "hint: leave it out"
        )
    for key, text in (("victim", scheme.victim), ("placement", scheme.placement)):
        if not isinstance(text, str):
            raise ConfigError(
                f"{place}: the {key} of '{scheme.name}' is in no file, so results could not be "
                "kept; hint: write python:FILE.py:NAME"
            )
        if is_written(text):
            load_policy(text, place)  # Its faults appear before the work.
            continue
        try:
            _core.check(key, text)
        except ConfigError as error:
            raise ConfigError(f"{place}: {error}") from None
    if scheme.specs[1].split(":")[0] == "oracle":
        raise ConfigError(
            f"{place}: '{scheme.name}' knows the future, expected a scheme that knows the past; "
            "hint: leave it out, clairvoyance has a row of its own"
        )
    return scheme
