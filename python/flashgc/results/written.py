"""The bytes behind a result, by cause."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Bytes:
    """The bytes written in the measured part, summed over the runs.

    ``programmed`` is ``host - merged + rounding + padding + copies``.
    """

    #: Written by the host.
    host: int
    #: Overwritten in the drive's write cache before they were programmed.
    merged: int
    #: Programmed beside them because a write changes whole mapping units.
    rounding: int
    #: Programmed without data, in flash pages that were not full when they had to be programmed.
    padding: int
    #: Copied by collections, and by a map on flash.
    copies: int
    #: All that was programmed.
    programmed: int

    def per_host_byte(self, part: str) -> float:
        """A part, named as the field, for each byte that the host wrote.

        >>> Bytes(host=4, merged=0, rounding=12, padding=0, copies=2, programmed=18).per_host_byte(
        ...     "rounding")
        3.0
        """
        return int(getattr(self, part)) / self.host if self.host else math.nan
