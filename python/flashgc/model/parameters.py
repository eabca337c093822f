"""The parameters of models, as users give them and as the engine takes them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict

import numpy
from numpy.typing import NDArray

from flashgc._core import ConfigError
from flashgc.units import parse_count, parse_share

#: A number, a text such as ``"10%"``, or anything that numpy converts to an array of numbers.
Numbers: TypeAlias = Any


class Parameters(TypedDict, total=False):
    """The parameters of models; each model accepts those that its description names."""

    #: Pages per block, b. The default is 64.
    pages_per_block: Numbers
    #: Spare factor S_f = 1 - U/N: ``0.1`` and ``"10%"`` are the same. The default is 0.1.
    spare: Numbers
    #: Over-provisioning (N - U)/U, instead of the spare factor.
    overprovision: Numbers
    #: Blocks drawn per collection. The default is 10.
    d: Numbers
    #: Blocks stored between collections. The default is 0.
    c: Numbers
    #: The window of windowed greedy, as a share of all blocks.
    window: Numbers
    #: ``"uniform"``, ``"hotcold:f=0.2,r=0.8"``, ``"zipf:theta=0.99"`` or
    #: ``"classes:pages=1/9/90,shares=60/30/10"``, as for :func:`flashgc.run`.
    workload: str | None
    #: The hot share of the pages, and the share of writes to it, instead of those in ``workload``.
    f: Numbers
    r: Numbers
    #: The exponent of a Zipf distribution, instead of that in ``workload``.
    theta: Numbers
    #: Physical blocks, which give the number of pages of a Zipf distribution, and the number of
    #: superblocks (rounded up). The default is 10,000.
    blocks: Numbers
    #: ``"single"`` or ``"double"``; for superblocks ``"pool:low=2"`` or any other write frontier of
    #: :func:`flashgc.run`.
    frontier: str | None
    #: Blocks that are opened, filled, collected and erased together: ``"plane"`` (each on its own)
    #: or ``"dies=16,planes=4"``.
    superblock: str | None
    #: The share of each superblock that is parity: ``"1/16"``, or ``"none"``. ``spare`` is the
    #: share of the flash beside parity.
    parity: str | None
    #: The choice of greedy among blocks with the fewest live pages.
    ties: str | None
    #: The cleaner of the pools of a separation: ``"greedy"``, ``"fifo"`` or ``"desnoyers"``.
    cleaner: str | None


@dataclass(frozen=True)
class ModelConfig:
    """The parameters on which a model's result depends; all others are ``None``."""

    #: Pages per block (b).
    pages_per_block: int
    #: Spare factor: 1 - U / (N b). With parity, it is the share of the flash beside parity.
    spare_factor: float
    #: Over-provisioning: (N b - U) / U. With parity, it is that of the flash beside parity.
    overprovision: float
    #: The spec of the workload.
    workload: str | None = None
    #: The spec of the write frontier.
    frontier: str | None = None
    #: Blocks drawn for each collection.
    d: int | None = None
    #: Blocks kept in memory between collections.
    c: int | None = None
    #: The window of blocks, as a share of all blocks.
    window: float | None = None
    #: The choice of greedy among blocks with the fewest live pages: ``latest`` or ``random``.
    ties: str | None = None
    #: The cleaner of the pools of a separation.
    cleaner: str | None = None
    #: Physical blocks (N), if the workload depends on them or they form superblocks.
    blocks: int | None = None
    #: Blocks that are opened, collected and erased together: ``plane`` or ``dies=N,planes=N``.
    superblock: str | None = None
    #: The share of each superblock that is parity: ``1/N`` or ``none``.
    parity: str | None = None

    def given(self) -> dict[str, int | float | str]:
        """The parameters on which the result depends, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


_COUNTS = ("pages_per_block", "d", "c", "blocks")
_WORDS = ("workload", "frontier", "ties", "cleaner", "superblock", "parity")
#: Parameters of superblocks alone.
OF_SUPERBLOCKS = ("superblock", "parity")
#: For each parameter of a single workload: this workload, which the parameter implies if none is
#: given.
_OF_WORKLOADS = {"f": "hotcold", "r": "hotcold", "theta": "zipf"}

Query: TypeAlias = dict[str, Any]
Columns: TypeAlias = dict[str, NDArray[numpy.float64]]


def read(known: Iterable[str], parameters: Mapping[str, Any]) -> tuple[Query, Columns]:
    """Single values as a query, and arrays by name; parameters not in ``known`` are refused.

    >>> query, columns = read(["spare", "d"], {"spare": [0.1, 0.2], "d": "10"})
    >>> query, columns["spare"]
    ({'d': 10}, array([0.1, 0.2]))
    """
    given = {name: value for name, value in parameters.items() if value is not None}
    for name in given:
        if name not in known and name in OF_SUPERBLOCKS:
            raise ConfigError(
                f"{name}: the model has infinitely many blocks, each on its own; hint: the model "
                "superblock, which is greedy with finitely many superblocks"
            )
        if name not in known:
            hint = f"it takes {', '.join(known)}"
            raise ConfigError(f"the model has no parameter '{name}'; hint: {hint}")
    _imply_workload(given)
    query: Query = {}
    columns: Columns = {}
    for name, value in given.items():
        if name in _WORDS:
            query[name] = _word(name, value)
        else:
            number = _number(name, value)
            if name == "overprovision":
                if "spare" in given:
                    raise ConfigError("overprovision: spare is given too; hint: give one of them")
                number = _spare_of(number)
            key = "spare" if name == "overprovision" else name
            if isinstance(number, numpy.ndarray):
                columns[key] = number
            else:
                query[key] = number
    return query, columns


def scalars(known: Iterable[str], parameters: Mapping[str, Any], hint: str) -> str:
    """The query for one point, as the engine takes it; arrays are refused with ``hint``."""
    query, columns = read(known, parameters)
    for name in columns:
        raise ConfigError(f"{name}: found an array, expected one number; hint: {hint}")
    return to_json(query)


def to_json(query: Query) -> str:
    """The query as the engine takes it: values are texts, so that numbers keep all digits."""
    return json.dumps({name: str(value) for name, value in query.items()})


def _imply_workload(given: dict[str, Any]) -> None:
    for name, kind in _OF_WORKLOADS.items():
        if name in given:
            workload = given.setdefault("workload", kind)
            if str(workload).split(":", maxsplit=1)[0].strip() != kind:
                raise ConfigError(
                    f"{name} only applies to workload {kind!r}, found '{workload}'; hint: "
                    f"workload={kind!r}"
                )


def _word(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    raise ConfigError(f"{name}: found {value!r}, expected a text; hint: see flashgc.model.models")


def _number(name: str, value: Any) -> float | NDArray[numpy.float64]:
    if isinstance(value, str):
        return parse_count(value, name) if name in _COUNTS else parse_share(value, name)
    try:
        array = numpy.asarray(value)
        if array.dtype.kind not in "iuf":
            raise TypeError
        floats = array.astype(numpy.float64)
    except (TypeError, ValueError):
        raise ConfigError(
            f"{name}: found {_short(value)}, expected numbers; hint: {name}=0.1, or an array"
        ) from None
    if floats.ndim:
        return floats
    number = float(floats)
    if not math.isfinite(number):
        raise ConfigError(f"{name}: found {number}, expected a number; hint: {name}=0.1")
    return number


def _spare_of(overprovision: Any) -> Any:
    bad = numpy.argwhere(~(numpy.asarray(overprovision) > 0))
    if len(bad):
        at = tuple(int(i) for i in bad[0])
        place = f"element [{', '.join(map(str, at))}]: " if at else ""
        value = float(numpy.asarray(overprovision)[at])
        raise ConfigError(
            f"{place}overprovision: found {value}, expected more than 0: without spare space "
            "nothing can be collected; hint: write 0.28 or 28%"
        )
    return overprovision / (1.0 + overprovision)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
