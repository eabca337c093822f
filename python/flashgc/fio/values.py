"""Numbers, sizes and lists in a job file of fio."""

from __future__ import annotations

import re
from collections.abc import Sequence

from flashgc.fio.jobs import Setting

#: The operations, in the order in which fio lists values for them.
OPS = ("read", "write", "trim")

_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)([a-zA-Z]*)")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


def size(setting: Setting, text: str, base: int = 1024, at: int = 0) -> int:
    """Read a number of bytes, such as ``4k``.

    With the usual ``kb_base`` of 1024, fio takes ``4k`` and ``4kb`` for 4096 and ``4kib`` for 4000.
    """
    match = _NUMBER.fullmatch(text.strip())
    unit = match[2].lower() if match else ""
    letter = unit.removesuffix("ib") if len(unit) == 3 else unit.removesuffix("b")
    if match is None or letter not in _POWERS or unit == "b":
        raise setting.fault(f"found '{text}', expected a size", "4k, 1m or 8192, for example", at)
    is_other = len(unit) == 3
    factor = (1000 if base == 1024 else 1024) if is_other else base
    number = int(match[1], 16 if match[1][:2].lower() == "0x" else 10)
    for _ in range(_POWERS[letter]):
        number *= factor
    return number


def whole(setting: Setting, most: int = 2**32) -> int:
    """Read a whole number from 0 to ``most``."""
    if not re.fullmatch(r"[0-9]+", setting.value) or int(setting.value) > most:
        raise setting.fault(f"found '{setting.value}', expected a whole number from 0 to {most}")
    return int(setting.value)


def percent(setting: Setting, text: str, at: int = 0) -> int:
    """Read a percentage: a whole number from 0 to 100."""
    if not re.fullmatch(r"[0-9]+", text.strip()) or int(text) > 100:
        raise setting.fault(f"found '{text}', expected a percentage from 0 to 100", "", at)
    return int(text)


def split(text: str, separator: str) -> list[tuple[str, int]]:
    """The parts of a text, each with the number of the character where it begins."""
    pieces, at = [], 0
    for piece in text.split(separator):
        pieces.append((piece, at))
        at += len(piece) + len(separator)
    return pieces


def by_operation(setting: Setting) -> list[tuple[str, int] | None]:
    """The values for reads, writes and trims: ``a``, ``reads,writes`` or ``reads,writes,trims``.

    A value that is left empty is ``None``: fio's default.
    """
    pieces = split(setting.value, ",")
    if len(pieces) > 3:
        raise setting.fault("found more than three values, expected reads,writes,trims")
    given = [piece if piece[0].strip() else None for piece in pieces]
    return [given[min(number, len(given) - 1)] for number in range(3)]


def size_shares(setting: Setting, text: str, base: int, at: int) -> list[tuple[int, int]]:
    """The sizes of ``bssplit`` with their percentages, as fio draws them.

    Sizes without a percentage share the rest. fio looks for a size in the order of the percentages,
    so if these sum to less than 100, the last size gets what is left.
    """
    sizes: list[tuple[int, int | None]] = []
    for entry, begin in split(text, ":"):
        if not entry:
            break
        typed, _, share = entry.partition("/")
        number = size(setting, typed, base, at + begin)
        perc = percent(setting, share, at + begin + len(typed) + 1) if share else 0
        sizes.append((number, perc or None))
    if not sizes:
        raise setting.fault("found no sizes", "4k/60:64k/40, for example", at)
    given = sum(share for _, share in sizes if share is not None)
    unset = sum(share is None for _, share in sizes)
    if given > 100:
        raise setting.fault(f"the percentages sum to {given}, expected at most 100", "", at)
    rest = (100 - given) // unset if unset else 0
    ordered = sorted(
        [(number, rest if share is None else share) for number, share in sizes],
        key=lambda entry: entry[1],
    )
    last, most = ordered[-1]
    ordered[-1] = (last, most + 100 - sum(share for _, share in ordered))
    return [entry for entry in ordered if entry[1] > 0]


def rounded(shares: Sequence[tuple[int, int]], least: int) -> list[tuple[int, int]]:
    """The sizes rounded down to multiples of the smallest one, as fio does, joined if equal.

    >>> rounded([(4096, 50), (6144, 30), (8192, 20)], 4096)
    [(4096, 80), (8192, 20)]
    """
    joined: dict[int, int] = {}
    for number, share in shares:
        multiple = number - number % least
        joined[multiple] = joined.get(multiple, 0) + share
    return sorted(joined.items())


def zone_shares(
    setting: Setting, text: str, at: int, *, total: int | None, base: int
) -> list[tuple[int, int]]:
    """The zones of a distribution: percentages of the requests, each with a share of the space.

    With the ``total`` bytes of the space, the zones have sizes; otherwise they have percentages.
    A rest of the space that no zone has gets no request.
    """
    zones: list[tuple[int, int | None]] = []
    for entry, begin in split(text, ":"):
        access, slash, part = entry.partition("/")
        behind = at + begin + len(access) + 1
        requests = percent(setting, access, at + begin)
        if total is not None:
            if not slash:
                raise setting.fault(f"found '{entry}', expected a percentage and a size", "", at)
            zones.append((requests, size(setting, part, base, behind)))
        else:
            zones.append((requests, percent(setting, part, behind) if part else None))
    requests = sum(share for share, _ in zones)
    if requests != 100:
        raise setting.fault(f"the requests sum to {requests}%, expected 100%", "", at)
    space = 100 if total is None else total
    given = sum(part for _, part in zones if part is not None)
    unset = sum(part is None for _, part in zones)
    if given > space:
        raise setting.fault(f"the zones have {given} of {space}", "smaller zones", at)
    each = (space - given) // unset if unset else 0
    known = [(share, each if part is None else part) for share, part in zones]
    rest = space - sum(part for _, part in known)
    return [*known, (0, rest)] if rest else known
