"""Counts of logs, and the range of the true number behind a rounded one. All of it is exact.

A log counts in units. The host wrote 1 to 512,000 bytes for one data unit if the drive rounds up,
as NVMe says, and 512,000 to 1,023,999 bytes if it cuts off, as some drives do. A log does not say
which. So a single count of n units stands for any number of bytes above n - 1 and below n + 1
units. Two counts of one drive are rounded alike, so their difference has the same width, and not
twice as much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Range:
    """A number, and the least and greatest that the true one may be; ``None`` is no upper end."""

    value: float
    low: float
    high: float | None

    @property
    def is_exact(self) -> bool:
        """True if there is no doubt, except for the last digit of a float.

        >>> Range(1.7, 1.7, math.nextafter(1.7, 2)).is_exact, Range(1.7, 1.7, None).is_exact
        (True, False)
        """
        return self.high is not None and self.high <= math.nextafter(self.low, math.inf)

    @property
    def width(self) -> float:
        """The width as a share of the number; infinite if the range has no upper end.

        >>> Range(1.4, 1.33, 1.47).width
        0.1
        """
        if self.high is None or not self.value:
            return float("inf")
        return round((self.high - self.low) / self.value, 12)

    def to_dict(self) -> dict[str, float | None]:
        """The range as plain values."""
        return {"value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Bytes:
    """A number of bytes as counted, and the ends of the range of the true number."""

    value: int
    low: int
    high: int


@dataclass(frozen=True)
class Count:
    """A count of a log: a number of units, rounded up or down."""

    number: int
    #: The size of a unit in bytes. A unit of one byte is not rounded.
    unit: int
    #: The key of the log that has it.
    key: str
    #: File, line and column.
    place: str
    #: Units by which the printed number may be wrong, because digits were left out.
    blur: int = 0
    #: The name of the unit if it is not bytes.
    of: str = ""

    @property
    def unit_name(self) -> str:
        """The unit in words.

        >>> Count(1, 512_000, "data_units_written", "").unit_name
        'units of 512 000 bytes'
        """
        if self.of:
            return self.of
        for size, name in ((2**30, "GiB"), (2**20, "MiB")):
            if self.unit % size == 0:
                return f"units of {self.unit // size} {name}"
        return "bytes" if self.unit == 1 else f"units of {self.unit:,} bytes".replace(",", " ")

    def total(self) -> Bytes:
        """The bytes since the drive was new.

        >>> Count(3, 100, "", "").total()
        Bytes(value=300, low=201, high=399)
        """
        rounded = self.unit - 1
        low, high = self.number - self.blur, self.number + self.blur
        return Bytes(
            self.number * self.unit, max(0, low * self.unit - rounded), high * self.unit + rounded
        )

    def since(self, before: Count) -> Bytes:
        """The bytes since an earlier count of the same drive.

        >>> Count(3, 100, "", "").since(Count(1, 100, "", ""))
        Bytes(value=200, low=101, high=299)
        """
        number, blur = self.number - before.number, self.blur + before.blur
        rounded = self.unit - 1
        low = max(0, (number - blur) * self.unit - rounded)
        return Bytes(number * self.unit, low, (number + blur) * self.unit + rounded)


def ratio(above: Bytes, below: Bytes) -> Range | None:
    """A ratio with its range; ``None`` if the number below was counted as 0.

    >>> ratio(Bytes(142, 141, 143), Bytes(100, 99, 101))
    Range(value=1.42, low=1.396039603960396, high=1.4444444444444446)
    """
    if below.value == 0:
        return None
    high = None if below.low == 0 else _up(Fraction(above.high, below.low))
    return Range(
        float(Fraction(above.value, below.value)), _down(Fraction(above.low, below.high)), high
    )


def _down(exact: Fraction) -> float:
    """The greatest float that is not above a fraction, or the float before it."""
    near = float(exact)
    return near if Fraction(near) <= exact else math.nextafter(near, -math.inf)


def _up(exact: Fraction) -> float:
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)
