"""The cost of a drive's writes, as a typed result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from flashgc import _core
from flashgc._documents import Document, Json, plain
from flashgc._summaries import Shown, short
from flashgc.logs.counts import Bytes, Range
from flashgc.logs.log import Erases
from flashgc.results.findings import Finding

DAY, YEAR = 86_400.0, 365.25 * 86_400.0


@dataclass(frozen=True)
class Written:
    """Bytes written, since the drive was new and in the interval."""

    #: The key of the log, and its unit.
    key: str
    unit: str
    life: Bytes
    interval: Bytes | None


@dataclass(frozen=True)
class Amplification:
    """Write amplification by one pair of counts."""

    #: The log that counts the flash's writes.
    source: str
    #: Since the drive was new; ``None`` if the host wrote nothing, or the two counts may not begin
    #: at one time.
    life: Range | None
    #: In the interval; ``None`` if only one log has both counts, or the host wrote nothing.
    interval: Range | None


@dataclass(frozen=True)
class Life:
    """Years until a limit at the rate of the interval."""

    #: The limit.
    by: str
    years: Range


@dataclass(frozen=True)
class Step:
    """The writes from one reading to the next."""

    #: Seconds since 1970.
    begin: float
    end: float
    host_bytes: int | None
    media_bytes: int | None
    amplification: Range | None


@dataclass(frozen=True)
class Change:
    """A change of the drive, and the amplification predicted for it by models or simulations."""

    change: str
    low: float
    high: float
    #: The assumption behind both figures.
    assumption: str


@dataclass(frozen=True)
class Explanation:
    """A scheme that has the measured amplification under the workload that the user names."""

    #: Victim policy, frontier and placement.
    scheme: str
    #: The spare factors at which it has the ends of the measured range.
    spare_low: float
    spare_high: float


@dataclass(frozen=True)
class Verdict:
    """One limit of a budget."""

    #: ``waf``, ``dwpd`` or ``years``.
    name: str
    limit: float
    figure: Range
    #: True if the whole range is within the limit, false if none of it is; else ``None``.
    met: bool | None


@dataclass(frozen=True, repr=False)
class Wear(Document):
    """The cost of the writes of a drive. Times are seconds since 1970, ranges due to rounding."""

    model: str | None
    serial: str | None
    capacity_bytes: int | None
    #: The times of all readings.
    times: tuple[float, ...]
    host: Written | None
    media: Written | None
    #: The main amplification is the first: the one with the narrowest range.
    amplifications: tuple[Amplification, ...]
    drive_writes_a_day: Range | None
    percentage_used: int | None
    spare_left_percent: int | None
    lives: tuple[Life, ...]
    erases: Erases | None
    #: Erases of a block in the interval, on average.
    erases_in_interval: int | None
    mean_write_bytes: float | None
    steps: tuple[Step, ...]
    changes: tuple[Change, ...]
    budget: tuple[Verdict, ...]
    #: The logs that were read, by kind.
    read: Mapping[str, int]
    #: The workload that the user named for simulations; ``None`` without one.
    workload: str | None = None
    #: The schemes that explain the amplification under the workload.
    explanations: tuple[Explanation, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def seconds(self) -> float:
        """The length of the interval."""
        return self.times[-1] - self.times[0]

    @property
    def amplification(self) -> Range | None:
        """The amplification of the interval; of a single log, that of the drive's life."""
        for each in self.amplifications:
            if each.interval is not None:
                return each.interval
        return next((each.life for each in self.amplifications if each.life is not None), None)

    @property
    def broken(self) -> tuple[Verdict, ...]:
        """The limits of the budget that are surely not met."""
        return tuple(verdict for verdict in self.budget if verdict.met is False)

    def to_dict(self) -> dict[str, Json]:
        """All of it as plain Python values, with the keys of the JSON document."""
        return dict(plain({"version": _core.version(), **vars(self)}))

    def _shown(self) -> Shown:
        name = short(self.serial or self.model or "drive")
        rows = [("logs", str(len(self.times)))]
        if self.amplification is not None:
            rows.append(("write amplification", ranged(self.amplification)))
        if self.drive_writes_a_day is not None:
            rows.append(("drive writes a day", ranged(self.drive_writes_a_day)))
        line = ", ".join(f"{key} {value}" for key, value in rows)
        rows += [(f"years left by {life.by}", ranged(life.years, 3)) for life in self.lives]
        return Shown(f"{name}: {line}", rows, notes=[finding.text for finding in self.findings])


def ranged(number: Range, significant: int = 5) -> str:
    """A number with its range, rounded outwards, with as many digits as the range has.

    It has three significant digits at least, and ``significant`` at most.

    >>> ranged(Range(1.4213, 1.4012, 1.4401)), ranged(Range(2.0, 2.0, 2.0))
    ('1.42 (1.40 to 1.45)', '2')
    >>> ranged(Range(1.5, 1.4, None)), ranged(Range(3.0, 3.0, None)), ranged(Range(0.0, 0.0, 0.0))
    ('1.50 (1.40 or more)', '3.00 or more', '0')
    >>> ranged(Range(1.42135, 1.421347, 1.421352)), ranged(Range(25.671, 25.67, 25.6712), 3)
    ('1.4213 (1.4213 to 1.4214)', '25.7 (25.6 to 25.7)')
    """
    if number.is_exact:
        return f"{number.value:.{significant}g}"
    magnitude = math.floor(math.log10(number.value)) if number.value > 0 else 0
    width = number.width if math.isfinite(number.width) else 0.1
    fine = math.ceil(-math.log10(max(width * number.value, 1e-9)))
    digits = max(0, min(significant - 1 - magnitude, max(2 - magnitude, fine)))
    scale = 10**digits
    low = math.floor(number.low * scale) / scale
    if number.high is None:
        more = f"{low:.{digits}f} or more"
        return more if number.low == number.value else f"{number.value:.{digits}f} ({more})"
    high = math.ceil(number.high * scale) / scale
    return f"{number.value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"
