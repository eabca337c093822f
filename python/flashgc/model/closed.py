"""Functions for the models with fast formulas. Numbers broadcast as in numpy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Unpack

from flashgc import _core
from flashgc._core import ConfigError
from flashgc.model.answers import find, write_amplification
from flashgc.model.parameters import Numbers, Parameters, scalars
from flashgc.units import parse_share

#: The largest number of blocks drawn per collection that is tried.
MOST_CHOICES = 10_000


@dataclass(frozen=True)
class Spare:
    """Spare space, expressed in two ways."""

    #: Spare factor S_f = 1 - U/N, relative to the physical space.
    spare_factor: float
    #: Over-provisioning (N - U)/U, relative to the logical space.
    overprovision: float


def spare_for(model: str, wanted: float, **parameters: Unpack[Parameters]) -> Spare:
    """The spare space at which ``model`` has the write amplification ``wanted``.

    Superblocks with the frontier ``compact`` or ``mixed`` jump over some values just above a whole
    number. For these the answer is the spare space of the jump.

    Raises :class:`flashgc.ConfigError`, which names the possible range, if no spare factor gives
    it.

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
    """The smallest d with which d choices program at most ``share`` more pages than greedy.

    This is for uniform writes. With several values of ``c``, the number of blocks stored, the
    answer is a dictionary. ``None`` means that 10 000 choices are not enough.

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


def random(spare: Numbers) -> Any:
    """Write amplification if the victim is a random block: 1 / S_f, for every workload.

    >>> round(random("7%"), 4)
    14.2857
    """
    return write_amplification("random", spare=spare)


def fifo(
    spare: Numbers, *, workload: str | None = None, f: Numbers = None, r: Numbers = None
) -> Any:
    """Write amplification of FIFO, for any number of pages per block (Desnoyers 2012, equation 14).

    With ``f`` and ``r``, a share f of the pages gets a share r of the writes.

    >>> round(fifo(0.1), 6), round(fifo(0.1, f=0.2, r=0.8), 4)
    (5.178659, 5.5378)
    """
    return write_amplification("fifo", spare=spare, workload=workload, f=f, r=r)


def greedy(spare: Numbers, pages_per_block: Numbers = 64) -> Any:
    """Write amplification of greedy under uniform writes; exact for infinitely many blocks.

    >>> greedy(0.1, [16, 32, 64, 128]).round(4)
    array([3.9814, 4.5082, 4.8213, 4.9922])
    """
    return write_amplification("greedy", spare=spare, pages_per_block=pages_per_block)


def windowed(spare: Numbers, pages_per_block: Numbers = 64, *, window: Numbers = 0.1) -> Any:
    """Write amplification of greedy among the oldest blocks, a share ``window`` of all blocks.

    >>> windowed(0.1, window=[0, 1]).round(4)  # fifo, greedy
    array([5.1787, 4.8213])
    """
    return write_amplification(
        "windowed", spare=spare, pages_per_block=pages_per_block, window=window
    )


def desnoyers(
    spare: Numbers,
    pages_per_block: Numbers = 64,
    *,
    workload: str | None = None,
    f: Numbers = None,
    r: Numbers = None,
) -> Any:
    """Desnoyers' approximation of greedy, for any classes of pages (2012, equation 16).

    >>> round(desnoyers(0.1), 4)
    4.8159
    """
    return write_amplification(
        "desnoyers",
        spare=spare,
        pages_per_block=pages_per_block,
        workload=workload,
        f=f,
        r=r,
    )


def superblock(
    spare: Numbers,
    pages_per_block: Numbers = 64,
    *,
    blocks: Numbers = None,
    superblock: str | None = None,
    parity: str | None = None,
    frontier: str | None = None,
) -> Any:
    """Write amplification of greedy over superblocks, under uniform writes, without parity's pages.

    ``superblock``, ``parity`` and ``frontier`` are those of :func:`flashgc.run`, and ``spare`` is
    the share of the flash beside parity. ``blocks`` (10 000) are rounded up to whole superblocks.
    Numbers may be arrays, and the result has their common shape. Divide it by 1 - 1/N to count the
    pages of parity of 1/N. x, the space that is erased between two collections, is ours; see
    :func:`evaluate` for x and the other results.

    Raises :class:`flashgc.ConfigError` if the spare space is less than the superblocks that the
    frontier keeps erased or open.

    >>> size = {"superblock": "dies=16,planes=4", "parity": "1/16", "frontier": "pool:low=2"}
    >>> round(superblock(0.15, 768, blocks=64 * 256, **size), 3)
    3.726
    >>> pages, blocks = [6144, 768, 192], [2048, 64 * 256, 64 * 1024]
    >>> superblock(0.15, pages, blocks=blocks, **size).round(2)
    array([6.78, 3.73, 3.57])
    """
    return write_amplification(
        "superblock",
        spare=spare,
        pages_per_block=pages_per_block,
        blocks=blocks,
        superblock=superblock,
        parity=parity,
        frontier=frontier,
    )


def separation(
    spare: Numbers,
    pages_per_block: Numbers = 64,
    *,
    workload: str | None = None,
    f: Numbers = None,
    r: Numbers = None,
    cleaner: str = "greedy",
) -> Any:
    """The optimum of static separation with this cleaner: a strong reference, not a lower bound.

    ``cleaner`` is ``"greedy"``, ``"fifo"`` or ``"desnoyers"``.

    >>> round(separation(0.1, 32, f=0.1, r=0.9, cleaner="fifo"), 3)
    2.336
    """
    return write_amplification(
        "separation",
        spare=spare,
        pages_per_block=pages_per_block,
        workload=workload,
        f=f,
        r=r,
        cleaner=cleaner,
    )
