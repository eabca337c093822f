"""Times of logs, as people write them."""

from __future__ import annotations

import datetime
import re

from flashgc.foreign import one_line
from flashgc.logs.text import refuse

#: The last second of a log, far beyond any: datetime knows it.
LATEST = 10**11 - 1


def seconds(text: str, place: str) -> float:
    """Seconds since 1970, from such a number or from a date with a time, which may have a zone.

    >>> seconds("1764504000", ""), seconds("2025-11-30T12:00:00Z", "")
    (1764504000.0, 1764504000.0)
    >>> seconds("yesterday", "--at")
    Traceback (most recent call last):
    ...
    flashgc.ConfigError: --at: found 'yesterday', expected a time; hint: 2026-11-30T12:00 or \
seconds since 1970
    """
    words = text.strip()
    if re.fullmatch(r"\d{9,11}(\.\d*)?", words):
        return float(words)
    try:
        return datetime.datetime.fromisoformat(words).timestamp()
    except (ValueError, OverflowError, OSError):
        refuse(place, f"found '{one_line(text)}', expected a time",
               "2026-11-30T12:00 or seconds since 1970")  # fmt: skip


#: Hours from UTC to the zones that ``smartctl`` prints, if a name means one zone alone.
_ZONES = {
    "UTC": 0, "GMT": 0, "WEST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "JST": 9,
    "KST": 9, "EDT": -4, "CDT": -5, "MDT": -6, "PDT": -7, "PST": -8,
}  # fmt: skip
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def printed(text: str) -> int | None:
    """Seconds since 1970 from the time that ``smartctl`` prints; ``None`` for a zone not known.

    >>> printed("Thu Jun  6 08:06:40 2019 UTC"), printed("Thu Jun  6 10:06:40 2019 CEST")
    (1559808400, 1559808400)
    >>> printed("Thu Jun  6 10:06:40 2019 IST"), printed("tomorrow")
    (None, None)
    """
    words = text.split()
    if len(words) != 6 or words[1] not in _MONTHS or words[5] not in _ZONES:
        return None
    month, zone = _MONTHS.index(words[1]) + 1, _ZONES[words[5]]
    try:
        at = datetime.datetime.fromisoformat(
            f"{words[4]}-{month:02}-{words[2]:>02}T{words[3]}+00:00"
        )
    except ValueError:
        return None
    return int(at.timestamp()) - zone * 3600


def shown(time: float) -> str:
    """A time as text.

    >>> shown(1764504000.4)
    '2025-11-30 12:00:00 UTC'
    """
    at = datetime.datetime.fromtimestamp(time, datetime.UTC)
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
