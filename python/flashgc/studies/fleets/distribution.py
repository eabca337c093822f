"""The distribution of a figure over volumes, and a test if policies differ beyond chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


def at_rank(values: Sequence[float], share: float) -> float:
    """The least of ``values`` that at least ``share`` of them do not exceed: the nearest rank.

    >>> at_rank([4, 1, 3, 2], 0.5), at_rank([4, 1, 3, 2], 0.95), at_rank([4, 1, 3, 2], 0)
    (2, 4, 1)
    """
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered) - 1e-9), 1) - 1]


@dataclass(frozen=True)
class Signs:
    """Volumes on which a policy writes less, as much and more than another, and what that says."""

    less: int
    same: int
    more: int
    #: The chance of so uneven a split, or more, if both were as likely: the sign test, two-sided.
    p: float


#: Amplifications closer than this, relative to each other, are the same.
_SAME = 1e-9


def signs(values: Sequence[float], others: Sequence[float]) -> Signs:
    """Compares volume by volume; both have the same volumes in the same order.

    The sign test asks nothing of how the figures are distributed. Volumes that are the same say
    nothing and are left out, as usual (Dixon and Mood 1946).

    >>> signs([1.0, 1.0, 1.0, 1.0, 1.0], [1.5, 1.5, 1.5, 1.5, 1.0])
    Signs(less=4, same=1, more=0, p=0.125)
    """
    less = more = 0
    for one, other in zip(values, others, strict=True):
        if abs(one - other) > _SAME * other:
            less += one < other
            more += one > other
    return Signs(less, len(values) - less - more, more, sign_test(less, more))


def sign_test(less: int, more: int) -> float:
    """The two-sided sign test, exact.

    >>> sign_test(8, 1), sign_test(0, 0)
    (0.0390625, 1.0)
    """
    count = less + more
    term = tail = 1
    for k in range(min(less, more)):
        term = term * (count - k) // (k + 1)  # Binomial coefficients, one from the other.
        tail += term
    return min(1.0, 2 * tail / (1 << count))
