"""Times of logs, as people write them."""

from __future__ import annotations

import datetime
import re

from flashgc.foreign import one_line
from flashgc.logs.text import refuse


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


def shown(time: float) -> str:
    """A time as text.

    >>> shown(1764504000.4)
    '2025-11-30 12:00:00 UTC'
    """
    at = datetime.datetime.fromtimestamp(time, datetime.UTC)
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
