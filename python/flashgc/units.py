"""Parses and formats numbers: ``64GiB``, ``7%``, ``0.1``. It does not depend on drives."""

from __future__ import annotations

from flashgc._core import parse_count, parse_page_size, parse_share, parse_size

__all__ = [
    "format_count",
    "format_duration",
    "format_rate",
    "format_share",
    "format_size",
    "format_time",
    "parse_count",
    "parse_page_size",
    "parse_share",
    "parse_size",
]

#: The bytes in each binary unit.
_UNITS = {"PiB": 2**50, "TiB": 2**40, "GiB": 2**30, "MiB": 2**20, "KiB": 2**10}


def many(number: object, singular: str, several: str = "") -> str:
    """A number of things, in words.

    >>> many(1, "cell"), many(3, "cell"), many(0, "pass", "passes")
    ('1 cell', '3 cells', '0 passes')
    """
    return f"{number} {singular if number == 1 else several or f'{singular}s'}"


def format_count(value: float) -> str:
    """A number as text, with a space between thousands.

    >>> format_count(1234567)
    '1 234 567'
    """
    return f"{value:,.0f}".replace(",", " ")


def format_size(size: float) -> str:
    """A number of bytes as text, in binary units.

    >>> format_size(68719476736), format_size(1500), format_size(1000 * 2**20), format_size(12)
    ('64 GiB', '1.46 KiB', '1000 MiB', '12 B')
    """
    for unit, size_of_unit in _UNITS.items():
        if size >= size_of_unit:
            count = size / size_of_unit
            return f"{count:.3g} {unit}" if count < 999.5 else f"{count:.0f} {unit}"
    return f"{size:.0f} B"


def format_share(share: float, digits: int = 1) -> str:
    """A share as text, in percent.

    >>> format_share(0.1), format_share(0.28), format_share(1 / 9, 2)
    ('10%', '28%', '11.11%')
    """
    text = f"{share * 100:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "%"


def format_rate(rate: float, what: str = "page programs") -> str:
    """A rate as text.

    >>> format_rate(158.4e6), format_rate(950), format_rate(999.8e3)
    ('158 M page programs/s', '950 page programs/s', '1 M page programs/s')
    """
    for factor, prefix in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if rate >= 0.9995 * factor:
            return f"{rate / factor:.3g}{prefix} {what}/s"
    return f"{rate:.3g} {what}/s"


def format_duration(seconds: float) -> str:
    """A duration as text.

    >>> format_duration(0.25), format_duration(75), format_duration(90_000)
    ('0.25 s', '1 min 15 s', '25 h 0 min')
    """
    if seconds < 60:
        return f"{seconds:.3g} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    if seconds < 48 * 3600:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"
    return f"{seconds / 86400:.3g} days"


def format_time(us: float) -> str:
    """A time in microseconds as text.

    >>> format_time(25), format_time(1234.5), format_time(1_950_000), format_time(0.6)
    ('25.0 us', '1.23 ms', '1.95 s', '600 ns')
    >>> format_time(999_700), format_time(4_321_000_000), format_time(3e-13)
    ('1.00 s', '4 321 s', '0 ns')
    """
    for factor, unit in ((1e6, "s"), (1e3, "ms"), (1, "us")):
        count = us / factor
        if count >= 999.5:
            return f"{format_count(count)} {unit}"
        if count >= 0.9995:
            return f"{count:#.3g}".rstrip(".") + f" {unit}"
    # Values below 0.0005 ns are rounding errors.
    return f"{us * 1e3:.3g} ns" if us >= 5e-7 else "0 ns"
