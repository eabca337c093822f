"""Results of models: everything at one point, or the write amplification at many points."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack, cast

import numpy

from flashgc import _core
from flashgc._core import ConfigError
from flashgc._documents import Document, Json
from flashgc._documents import read as from_document
from flashgc._summaries import Shown, figure
from flashgc.model.parameters import ModelConfig, Parameters, read, scalars, to_json


@dataclass(frozen=True)
class Model:
    """A model, with its description."""

    #: The name, as typed.
    name: str
    #: A summary in one line.
    summary: str
    #: A description in Markdown: the model, its formula, its validity, and its source.
    doc: str
    #: The parameters on which its result depends, besides ``pages_per_block`` and ``spare``.
    takes: tuple[str, ...]
    #: The victim policy that it models, with parameters in braces; ``None`` if there is none.
    policy: str | None

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters that it accepts.

        >>> "d" in find("meanfield").parameters, "d" in find("fifo").parameters
        (True, False)
        """
        shares = ("f", "r", "theta") if "workload" in self.takes else ()
        return (*ALWAYS, *self.takes, *shares)


#: Parameters that every model accepts, even if its result does not depend on them.
ALWAYS = ("pages_per_block", "spare", "overprovision", "blocks")


@functools.cache
def models() -> tuple[Model, ...]:
    """Every model.

    >>> [model.name for model in models()][:3]
    ['meanfield', 'greedy', 'fifo']
    """
    return tuple(from_document(Model, entry) for entry in json.loads(_core.model_registry()))


def find(name: str) -> Model:
    """The model called ``name``; an unknown name is an error with a suggestion."""
    for model in models():
        if model.name == name:
            return model
    hint = _core.suggest(name, [model.name for model in models()])
    raise ConfigError(f"unknown model '{name}'; hint: {hint}")


@dataclass(frozen=True)
class Pool:
    """The blocks of one class of pages, with placement by class."""

    #: The share of the logical pages in the pool.
    pages: float
    #: The share of the writes that go to the pool.
    writes: float
    #: The spare factor of the pool.
    spare_factor: float
    #: The write amplification of the pool.
    write_amplification: float


@dataclass(frozen=True)
class Superblocks:
    """The rest of the result for a drive of superblocks."""

    #: The number of superblocks (S).
    count: int
    #: Pages of data of a superblock, without those of its parity (n).
    data_pages: int
    #: The space that is erased between two collections, on average and in superblocks (x).
    out_of_play: float
    #: The spare factor of the other space, 1 - U / ((S - x) n).
    spare_in_play: float
    #: The share of all flash, that of parity included, beyond the logical capacity.
    spare_of_flash: float
    #: Pages programmed per host write, those of parity included; ``None`` without parity.
    write_amplification_with_parity: float | None


@dataclass(frozen=True, repr=False)
class ModelResult(Document):
    """All results of a model at one point."""

    #: The model's name.
    model: str
    #: Pages programmed per host write, without those of parity.
    write_amplification: float
    #: The relative residual of the model's equation; for a mean field, the largest drift.
    residual: float
    #: Share of blocks with i live pages just before a collection, i = 0..b; empty if the model does
    #: not give it.
    valid: tuple[float, ...]
    #: Probability that the victim has i live pages, i = 0..b; empty if the model does not give it.
    victim: tuple[float, ...]
    #: Probability that the least number of live pages among the stored blocks is i; ``None`` for a
    #: policy without memory, and with hot and cold data.
    memory: tuple[float, ...] | None
    #: The pools of a separation, one per class of pages.
    pools: tuple[Pool, ...]
    #: The parameters on which the result depends, including defaults.
    config: ModelConfig
    #: The version of flashgc.
    version: str
    _raw: dict[str, Json] = dataclasses.field(repr=False, compare=False)
    #: The rest of the result of the model ``superblock``; ``None`` of other models.
    superblocks: Superblocks | None = None

    @classmethod
    def from_dict(cls, raw: Mapping[str, Json]) -> ModelResult:
        """The result from the values of :meth:`to_dict`."""
        pools = tuple(
            # JSON has no infinity; null stands for it.
            Pool(**{key: math.inf if value is None else value for key, value in pool.items()})
            for pool in cast(list[dict[str, float | None]], raw.get("pools", []))
        )
        return from_document(cls, raw, pools=pools, _raw=raw)

    def _shown(self) -> Shown:
        given = ", ".join(f"{name} {value}" for name, value in self.config.given().items())
        rows = [("write amplification", figure(self.write_amplification)), ("of", given)]
        rows.append(("residual", f"{self.residual:.1e}"))
        return Shown(f"{self.model}: write amplification {figure(self.write_amplification)}", rows)


def evaluate(model: str, **parameters: Unpack[Parameters]) -> ModelResult:
    """All results of ``model`` at one point.

    A model accepts those of these parameters that its description names: ``pages_per_block`` (64),
    ``spare`` or ``overprovision`` (``0.1`` or ``"10%"``), ``d`` (10), ``c`` (0), ``window`` (0.1, a
    share of the blocks), ``workload`` (``"uniform"``, ``"hotcold:f=0.2,r=0.8"``,
    ``"zipf:theta=0.99"``, ``"classes:pages=1/9/90,shares=60/30/10"``) or its numbers ``f``, ``r``,
    ``theta``; ``blocks`` (10 000), which gives zipf its number of pages and superblocks their
    number; ``frontier`` (``"single"``, ``"double"``; for superblocks also ``"pool:low=2"`` and
    others), ``ties`` (``"latest"``, ``"random"``), ``cleaner`` (``"greedy"``, ``"fifo"``,
    ``"desnoyers"``), ``superblock`` (``"plane"``, ``"dies=16,planes=4"``), ``parity`` (``"none"``,
    ``"1/16"``).

    Raises :class:`flashgc.ConfigError` for parameters outside of the model's validity.

    >>> result = evaluate("meanfield", pages_per_block=64, spare=0.1, d=10, c=1)
    >>> round(result.write_amplification, 4), result.residual < 1e-10
    (4.9264, True)
    >>> round(sum(i * share for i, share in enumerate(result.valid)), 6)  # b (1 - S_f)
    57.6
    """
    query = scalars(
        find(model).parameters, parameters, "flashgc.model.write_amplification takes arrays"
    )
    return ModelResult.from_dict(json.loads(_core.model_evaluate(model, query)))


def write_amplification(model: str, *, jobs: int = 0, **parameters: Unpack[Parameters]) -> Any:
    """The write amplification by ``model``.

    Any numbers may be arrays, which are broadcast as in numpy. Then the result is an array of their
    common shape, computed on ``jobs`` cores (0: all). Without arrays it is a float.

    Raises :class:`flashgc.ConfigError`, which names the first element without a result.

    >>> round(write_amplification("random", spare="10%"), 9)
    10.0
    >>> write_amplification("meanfield", d=[1, 10, 100], spare=0.1).round(4)
    array([10.    ,  5.0002,  4.8278])
    >>> write_amplification("fifo", spare=0.1, f=[0.2, 0.1], r=[0.8, 0.9]).round(4)
    array([5.5378, 6.1676])
    """
    query, columns = read(find(model).parameters, parameters)
    arrays = list(columns.values())
    try:
        shape = numpy.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in columns.items())
        raise ConfigError(
            f"arrays of shapes that do not go together: {shapes}; hint: give one of them another "
            "axis, as in spare[:, None]"
        ) from None
    out = numpy.empty(math.prod(shape))
    flat = [
        (name, numpy.ascontiguousarray(numpy.broadcast_to(array, shape)).reshape(-1))
        for name, array in columns.items()
    ]
    fault = _core.model_grid(model, to_json(query), flat, out, jobs)
    if fault is None:
        return out.reshape(shape) if columns else float(out[0])
    index, what = fault
    at = ", ".join(str(int(i)) for i in numpy.unravel_index(index, shape)) if columns else ""
    raise ConfigError(f"element [{at}]: {what}" if columns else what)
