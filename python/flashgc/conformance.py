"""Conformance tests of policies in Python. The built-in policies must pass the same tests."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from flashgc import _core, _faults
from flashgc._core import DriveError, FlashgcError, PolicyError
from flashgc.simulation import policy_name

#: Write frontiers and workloads of a victim policy's runs. The workloads are uniform writes, a few
#: hot pages among cold ones, and uniform writes with discards.
_FRONTIERS = ("single", "double", "compact", "pool:low=2", "mixed:low=2")
_WORKLOADS = ("uniform", "hotcold:f=0.01,r=0.99", "0.9*uniform + 0.1*uniform:trim=1")
_BATCHES = (1, 7, 4096)
_WRITES = 20_000
#: Victim policies and workloads of a placement's runs, and their number of writes.
_VICTIMS = ("greedy", "cost-benefit")
_PLACED = ("hotcold:f=0.1,r=0.9", "0.9*uniform + 0.1*uniform:trim=1")
_PLACED_WRITES = 10_000
_OWN = "its own picks"


@dataclass(frozen=True)
class Conformance:
    """The checks that a policy has passed. It exists only if all of them passed."""

    #: The checks, in words.
    checks: tuple[str, ...]
    #: The number of blocks picked in all checks, by the policy or for the placement.
    picks: int


def check_policy(policy: object) -> Conformance:
    """Check ``policy`` by the tests of every built-in victim policy.

    - it picks from hand-built tables, among them some with a single candidate, and never an open
      block;
    - two drives with the same seed and writes collect the same blocks, however the writes are
      batched: all of its randomness is ``blocks.draw``, and drives share no state;
    - with each write frontier, under uniform writes, hot pages and TRIM, the drive goes on, and
      an audit of map and block table finds nothing wrong.

    Raises :class:`flashgc.PolicyError`, which names the fault and its place, or the policy's own
    exception.

    >>> def greedy(blocks):
    ...     return blocks.valid.argmin()
    >>> check_policy(greedy).picks > 10_000
    True
    >>> check_policy(lambda blocks: 3)
    Traceback (most recent call last):
    ...
    flashgc.PolicyError: hand-built table 1: the policy picked block 3, which is open; hint: \
candidates have blocks.valid[block] <= blocks.pages_per_block
    """
    _faults.check(policy, policy_name(policy))
    with _faults.contained():
        return _conformance(policy)


def _conformance(policy: object) -> Conformance:
    picks = _check_tables(policy)
    checks = ["picks candidates only, from hand-built tables"]
    for frontier in _FRONTIERS:
        for workload in _WORKLOADS:
            picks += _check_runs(policy, frontier, workload)
            checks.append(
                f"{frontier} frontier, {workload}: goes on, passes the audit, and repeats itself "
                f"in batches of {', '.join(map(str, _BATCHES))}"
            )
    return Conformance(tuple(checks), picks)


def check_placement(placement: object) -> Conformance:
    """Check ``placement``, an object or a class as :func:`flashgc.run` takes it.

    - it has the methods of a placement, or arrays instead of them, and names classes that exist;
    - called twice, it gives the same answer: ``host`` and ``copy`` change nothing;
    - while a collection copies a block, a report on one page does not change the answers for
      the others;
    - two drives with the same seed and writes take the same decisions, however the writes are
    batched;
    - with hot pages and TRIM, the drive goes on, and an audit of map and block table finds nothing
      wrong.

    If it picks victims too (it has a method ``pick``), its drives also run with its own picks.

    Raises :class:`flashgc.PolicyError`, which names the fault and its place, or the placement's own
    exception.

    >>> class Updates:
    ...     classes = 2
    ...     def host(self, page, stream, old, now):
    ...         return 0 if old is None else 1
    ...     def copy(self, page, from_, zombie, now):
    ...         return 0
    >>> check_placement(Updates).picks > 1000
    True
    """
    _faults.check_placement(placement, policy_name(placement))
    picks, checks = 0, ["has the verbs of a placement, and classes that take copies"]
    with _faults.contained():
        own: tuple[str | None, ...] = (None,) if hasattr(placement, "pick") else ()
        for victim in (*_VICTIMS, *own):
            for workload in _PLACED:
                picks += _check_placed(placement, victim, workload)
                checks.append(
                    f"{victim or _OWN}, {workload}: the same answer to the same question, passes "
                    f"the audit, and repeats itself in batches of {', '.join(map(str, _BATCHES))}"
                )
    return Conformance(tuple(checks), picks)


def _check_placed(placement: object, victim: str | None, workload: str) -> int:
    return _in_batches(
        f"{victim or _OWN}, {workload}",
        lambda batch: _core.placement_run(
            placement, victim, workload, _PLACED_WRITES, batch, seed=1
        ),
        "answer by the page, the clock and what the drive has told; keep state in the object, not "
        "in globals",
    )


def _in_batches(
    place: str,
    run: Callable[[int], tuple[int, int, int]],
    hint: str,
    of_batch: type[FlashgcError] = FlashgcError,
) -> int:
    """Return the number of collections of drives that differ only in the size of their batches.

    The message of an error of type ``of_batch`` names the size of the batches.
    """
    outcomes = []
    for batch in _BATCHES:
        try:
            outcomes.append(run(batch))
        except of_batch as error:
            raise PolicyError(f"{place}, batches of {batch}: {error}") from error
        except FlashgcError as error:
            raise PolicyError(f"{place}: {error}") from error
    for batch, outcome in zip(_BATCHES[1:], outcomes[1:], strict=True):
        if outcome != outcomes[0]:
            raise PolicyError(
                f"{place}: batches of {batch} led to other decisions than batches of "
                f"{_BATCHES[0]}, with the same seed and the same writes; hint: {hint}"
            )
    return sum(collections for _, collections, _ in outcomes)


def _tables() -> list[list[int | None]]:
    """Tables of live pages in blocks of 16 pages; ``None`` is an open block."""
    chance = random.Random(1)
    tables: list[list[int | None]] = [
        [5, 3, 9, None, 3, 16, None, 0],
        [None, None, 7, None],
        [16, 16, 16, 16, None, 15],
        [0, None, 0, None, 0],
    ]
    for _ in range(40):
        length = chance.randint(2, 70)
        table = [chance.choice([None, chance.randint(0, 16)]) for _ in range(length)]
        table[chance.randrange(length)] = chance.randint(0, 16)
        tables.append(table)
    return tables


def _check_tables(policy: object) -> int:
    tables = _tables()
    for number, table in enumerate(tables, 1):
        block = _core.policy_pick(policy, 16, table, number)
        place = f"hand-built table {number}"
        if block is None:
            raise PolicyError(
                f"{place}: the policy returned None, though there are candidates; "
                "hint: return the number of a candidate"
            )
        if block >= len(table):
            raise PolicyError(
                f"{place}: the policy picked block {block} of {len(table)}; "
                "hint: blocks are numbered from 0"
            )
        if table[block] is None:
            raise PolicyError(
                f"{place}: the policy picked block {block}, which is open; "
                "hint: candidates have blocks.valid[block] <= blocks.pages_per_block"
            )
    return len(tables)


def _check_runs(policy: object, frontier: str, workload: str) -> int:
    return _in_batches(
        f"{frontier} frontier, {workload}",
        lambda batch: _core.policy_run(
            policy,
            blocks=40,
            pages_per_block=16,
            spare=0.25,
            frontier=frontier,
            workload=workload,
            writes=_WRITES,
            batch=batch,
            seed=1,
        ),
        "draw random blocks with blocks.draw, and keep state in an object with a method pick, not "
        "in globals",
        DriveError,
    )
