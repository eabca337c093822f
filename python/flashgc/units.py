"""Numbers as people write them: ``64GiB``, ``7%``, ``0.1``. It knows no drive."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flashgc._core import ConfigError, suggest

if TYPE_CHECKING:
    from fractions import Fraction

#: Bytes a unit. Decimal and binary ones, as their standards define them.
SIZES: dict[str, int] = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "PB": 10**15,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "PiB": 2**50,
}

_NUMBER = re.compile(
    r"\s*((?:[0-9][0-9_]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?)\s*(.*?)\s*\Z", re.ASCII
)
#: No number of a drive is longer, or has a larger exponent; exact fractions of such ones take for
#: ever.
_LONGEST, _LARGEST_EXPONENT = 40, 40


def _split(text: str, what: str, example: str) -> tuple[Fraction, str]:
    match = _NUMBER.match(text)
    if not match and text.strip().startswith("-"):
        raise ConfigError(f"{what}: '{text}' is negative; hint: write {example}")
    if not match:
        raise ConfigError(f"{what}: '{text}' is not a number; hint: write {example}")
    number, exponent, unit = match[1], match[2] or "0", match[3]
    if len(number) > _LONGEST or abs(int(exponent)) > _LARGEST_EXPONENT:
        raise ConfigError(f"{what}: '{_short(text)}' is out of range; hint: write {example}")
    from fractions import Fraction

    try:
        return Fraction(number.replace("_", "")), unit
    except ValueError:
        raise ConfigError(f"{what}: '{text}' is not a number; hint: write {example}") from None


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def parse_size(text: str | int, what: str = "size", usual: str = "GiB") -> int:
    """Bytes that ``text`` stands for.

    In messages ``what`` names the value, and ``usual`` is the unit that they propose. A text needs
    a unit; an integer is a number of bytes.

    >>> parse_size("4KiB"), parse_size("1.5GB"), parse_size(512)
    (4096, 1500000000, 512)
    >>> parse_size("64")
    Traceback (most recent call last):
    ...
    flashgc.ConfigError: size: '64' has no unit; hint: write 64GiB, or another of B, kB, MB, GB, \
TB, PB, KiB, MiB, GiB, TiB, PiB
    """
    if isinstance(text, int):
        if text < 0:
            raise ConfigError(f"{what}: {text} bytes is negative; hint: write a size such as 64GiB")
        return text
    number, unit = _split(text, what, "a size such as 64GiB")
    if not unit:
        raise ConfigError(
            f"{what}: '{text}' has no unit; hint: write {text.strip()}{usual}, or another of "
            f"{', '.join(SIZES)}"
        )
    if unit not in SIZES:
        raise ConfigError(f"{what}: unknown unit '{unit}' in '{text}'; hint: {_nearest_unit(unit)}")
    size = number * SIZES[unit]
    if size.denominator != 1:
        raise ConfigError(
            f"{what}: '{text}' is not a whole number of bytes; hint: use a smaller unit"
        )
    return int(size)


#: Sizes of a page that drives have, and more: a power of two of these bytes.
SMALLEST_PAGE, LARGEST_PAGE = 512, 2**30


def parse_page_size(text: str | int, what: str = "size") -> int:
    """Bytes of a page: a power of two.

    >>> parse_page_size("4KiB")
    4096
    >>> parse_page_size("3B")
    Traceback (most recent call last):
    ...
    flashgc.ConfigError: size: found 3 bytes, expected a power of two from 512B to 1GiB; \
hint: write 4KiB
    """
    size = parse_size(text, what, "B")
    if not SMALLEST_PAGE <= size <= LARGEST_PAGE or size & (size - 1):
        raise ConfigError(
            f"{what}: found {size} bytes, expected a power of two from 512B to 1GiB; "
            "hint: write 4KiB"
        )
    return size


def _nearest_unit(unit: str) -> str:
    spelled = {known.lower(): known for known in SIZES}
    short = {"k": "KiB", "m": "MiB", "g": "GiB", "t": "TiB", "p": "PiB"}
    found = spelled.get(unit.lower()) or short.get(unit.lower())
    return f"did you mean '{found}'?" if found else suggest(unit, list(SIZES))


def parse_share(text: str | float, what: str = "share") -> float:
    """The share that ``text`` stands for: ``7%`` and ``0.07`` are the same.

    >>> parse_share("7%"), parse_share("0.25"), parse_share(0.1)
    (0.07, 0.25, 0.1)
    """
    if not isinstance(text, str):
        try:
            return float(text)
        except OverflowError:
            raise ConfigError(f"{what}: a number is out of range; hint: write 7% or 0.07") from None
    number, unit = _split(text, what, "a share such as 7% or 0.07")
    if unit not in ("", "%"):
        raise ConfigError(f"{what}: unknown unit '{unit}' in '{text}'; hint: write 7% or 0.07")
    return float(number / 100 if unit else number)


def parse_count(text: str | int, what: str = "count") -> int:
    """A whole number: ``250000``, ``250_000`` and ``2.5e5`` are the same.

    >>> parse_count("2.5e5"), parse_count("250_000"), parse_count(7)
    (250000, 250000, 7)
    """
    if isinstance(text, int):
        return text
    number, unit = _split(text, what, "a whole number such as 250000 or 2.5e5")
    if unit or number.denominator != 1:
        raise ConfigError(
            f"{what}: '{text}' is not a whole number; hint: write one such as 250000 or 2.5e5"
        )
    return int(number)


def parse_pages(text: str | int, page_size: int, what: str = "pages") -> int:
    """A number of pages, or a size in whole pages of ``page_size`` bytes.

    >>> parse_pages("4096", 4096), parse_pages("16MiB", 4096)
    (4096, 4096)
    >>> parse_pages("6KiB", 4096)
    Traceback (most recent call last):
    ...
    flashgc.ConfigError: pages: 6KiB are 1.5 pages of 4 KiB, expected whole ones; hint: \
write 8KiB, or 2 for as many pages
    """
    if isinstance(text, int) or not _split(text, what, "a size such as 64MiB, or pages")[1]:
        return parse_count(text, what)
    size = parse_size(text, what, "MiB")
    pages, rest = divmod(size, page_size)
    if rest:
        above = pages + 1
        whole = above * page_size
        exact = f"{whole}B" if whole % SIZES["KiB"] else f"{whole // SIZES['KiB']}KiB"
        raise ConfigError(
            f"{what}: {text} are {size / page_size:g} pages of {format_size(page_size)}, "
            f"expected whole ones; hint: write {exact}, or {above} for as many pages"
        )
    return pages


def format_count(value: float) -> str:
    """A number for people, with a space between thousands.

    >>> format_count(1234567)
    '1 234 567'
    """
    return f"{value:,.0f}".replace(",", " ")


def format_size(size: float) -> str:
    """Bytes for people, in binary units.

    >>> format_size(68719476736), format_size(1500), format_size(1000 * 2**20), format_size(12)
    ('64 GiB', '1.46 KiB', '1000 MiB', '12 B')
    """
    for unit in ("PiB", "TiB", "GiB", "MiB", "KiB"):
        if size >= SIZES[unit]:
            count = size / SIZES[unit]
            return f"{count:.3g} {unit}" if count < 999.5 else f"{count:.0f} {unit}"
    return f"{size:.0f} B"


def format_share(share: float, digits: int = 1) -> str:
    """A share for people, in percent.

    >>> format_share(0.1), format_share(0.28), format_share(1 / 9, 2)
    ('10%', '28%', '11.11%')
    """
    text = f"{share * 100:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "%"


def format_rate(rate: float, what: str = "page programs") -> str:
    """A rate for people.

    >>> format_rate(158.4e6), format_rate(950), format_rate(999.8e3)
    ('158 M page programs/s', '950 page programs/s', '1 M page programs/s')
    """
    for factor, prefix in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if rate >= 0.9995 * factor:
            return f"{rate / factor:.3g}{prefix} {what}/s"
    return f"{rate:.3g} {what}/s"


def format_duration(seconds: float) -> str:
    """A time span for people.

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
    """Microseconds for people.

    >>> format_time(25), format_time(1234.5), format_time(1_950_000), format_time(0.6)
    ('25.0 us', '1.23 ms', '1.95 s', '600 ns')
    >>> format_time(999_700), format_time(4_321_000_000)
    ('1.00 s', '4 321 s')
    """
    for factor, unit in ((1e6, "s"), (1e3, "ms"), (1, "us")):
        count = us / factor
        if count >= 999.5:
            return f"{format_count(count)} {unit}"
        if count >= 0.9995:
            return f"{count:#.3g}".rstrip(".") + f" {unit}"
    return f"{us * 1e3:.3g} ns"
