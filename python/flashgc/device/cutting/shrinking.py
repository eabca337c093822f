"""The search for fewer lost pieces with which a check still fails."""

from __future__ import annotations

from collections.abc import Callable


def shrunk(lost: list[int], fails: Callable[[list[int]], bool], tries: int) -> list[int]:
    """Gives pieces back, all, then halves, quarters and so on, as long as the check ``fails``.

    At most ``tries`` checks are run. If they suffice, each piece that is left is needed: with it
    given back the check passes.

    >>> shrunk([1, 2, 3, 4, 5, 6], lambda lost: {2, 5} <= set(lost), 40)
    [2, 5]
    """
    size = len(lost)
    while size and tries:
        first, is_shorter = 0, False
        while first < len(lost) and tries:
            less = lost[:first] + lost[first + size :]
            tries -= 1
            if fails(less):
                lost, is_shorter = less, True
            else:
                first += size
        if not is_shorter or size > 1:
            size //= 2
    return lost
