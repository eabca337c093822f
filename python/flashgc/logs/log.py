"""A log of a drive, whatever its format: its counts, and facts without rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flashgc.logs.counts import Count

#: Sources of counts. Bytes of the flash are compared with bytes of the host by :data:`PAIRS`.
SMART, OCP, FDP, GROUP, INTEL, SATA, PAGES, TABLE = (
    "smart", "ocp", "fdp", "endurance group", "intel", "sata", "sata pages", "table",
)  # fmt: skip

#: For each source that counts the flash's writes: the sources of the host's writes that count for
#: the same part of the drive, the finest first.
PAIRS: Mapping[str, tuple[str, ...]] = {
    OCP: (SMART,),
    TABLE: (TABLE,),
    INTEL: (SMART, INTEL),
    SATA: (SATA,),
    PAGES: (PAGES,),
    FDP: (FDP,),
    GROUP: (GROUP,),
}

#: Sources of the host's writes since the drive was new, in bytes: the finest first.
HOSTS = (SMART, TABLE, SATA, INTEL, FDP, GROUP)
#: Sources of the flash's writes in bytes, likewise.
MEDIA = (OCP, TABLE, INTEL, SATA, FDP, GROUP)


@dataclass(frozen=True)
class Erases:
    """Erases of blocks: the least, the mean, the most; ``None`` if the log has no such figure."""

    least: int | None = None
    mean: int | None = None
    most: int | None = None


@dataclass(frozen=True)
class Log:
    """The content of one log. Fields that it does not have are ``None`` or empty."""

    #: The command that prints such a log.
    kind: str
    #: File, line and column where it begins.
    place: str
    #: The host's writes, by source.
    host: Mapping[str, Count] = field(default_factory=dict)
    #: The flash's writes, by source.
    media: Mapping[str, Count] = field(default_factory=dict)
    #: Bytes of the host's view.
    capacity: int | None = None
    serial: str | None = None
    model: str | None = None
    #: Seconds since 1970.
    time: float | None = None
    #: The drive's own estimate of the part of its life that is used, in percent.
    used: int | None = None
    #: The spare blocks that are left, in percent.
    spare_left: int | None = None
    hours: int | None = None
    erases: Erases | None = None
    #: The bytes that may be programmed in a life, if amplification were 1, and the unit assumed.
    endurance: int | None = None
    endurance_unit: str | None = None
    write_commands: int | None = None
